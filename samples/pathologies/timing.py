"""What the Python samples share: their options, the measured time of an iteration, the verdict on
the output, and what they print of these; see timing.h."""

import argparse
import statistics
import sys
import time

import torch

WARM_UP = 3
PART_S = 0.05


class Timing:
    def __init__(self, purpose, remedy):
        parser = argparse.ArgumentParser(description=purpose)
        parser.add_argument("--remedy", action="store_true", help=remedy)
        parser.add_argument("--milliseconds", type=int, default=2000,
                            help="how long iterations run (default 2000)")
        parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda",
                            help="cpu only tries the script out, with small sizes")
        self.args = parser.parse_args()
        self.on_gpu = self.args.device == "cuda"
        self.iterations = 0
        if self.on_gpu and not torch.cuda.is_available():
            sys.exit(f"{parser.prog}: no CUDA device")

    @property
    def remedy(self):
        return self.args.remedy

    def part(self, iterate, count):
        """Runs iterations to their end; returns seconds."""
        begin = time.perf_counter()
        for _ in range(count):
            iterate()
        if self.on_gpu:
            torch.cuda.synchronize()
        self.iterations += count
        return time.perf_counter() - begin

    def run(self, iterate):
        """Runs iterations as long as was asked for; returns the median of their time in seconds."""
        self.part(iterate, WARM_UP)
        count = 1
        while self.part(iterate, count) < PART_S:
            count *= 2
        end = time.perf_counter() + 1e-3 * self.args.milliseconds
        means = [self.part(iterate, count) / count]
        while time.perf_counter() < end:
            means.append(self.part(iterate, count) / count)
        return statistics.median(means)

    def report(self, seconds):
        print("remedy", "yes" if self.remedy else "no")
        print("iterations", self.iterations)
        print("iteration_ns", round(1e9 * seconds))

    @staticmethod
    def verdict(right):
        """Says whether the output was right, and ends the program with it."""
        print("output", "right" if right else "wrong", flush=True)
        sys.exit(0 if right else 1)


def near(seen, expected, tolerance):
    """Whether two tensors differ by no more than a part of the largest magnitude."""
    error = (seen.double() - expected.double()).abs().max()
    return bool(error <= tolerance * expected.double().abs().max())
