#!/usr/bin/env python3
"""Kernels that read and write known bytes: what attributed memory traffic is judged by.

    traffic_program.py [--graph | --streams] [--seed N]

Each launch goes over arrays of its own, the next ones of a pool of which L2 holds a hundredth, so that
each byte comes from and goes to device memory. Arrays of a kernel and size are launched a number of times that no other
has: that number is how their launches are known in a report. One line a kernel on stdout:
«kernel CALLS READ_BYTES WRITTEN_BYTES NAME». With --graph all of it runs in replays of one CUDA
graph, with --streams copies run beside sums on a second stream. A seed changes sizes and the order of kernels, so
that neighbours and those that run side by side are others.
"""

import argparse
import random

import torch

POOL_BYTES = 6 << 30
ALIGNED = 256  # values: arrays that begin elsewhere are copied by another kernel
SIZES_MB = (16, 24, 40, 64, 128, 1024)
CALLS = 600
# PyTorch's reduction has the same grid for these: one shape, whose bytes are no single number.
SUMS_OF_ONE_GRID = (40, 64, 128)
SCALES = (0.75, 1.05)  # of sizes, with a seed: beyond, sums of 16 MB would have the grid of 24 MB


def operations():
    """{name: (function of two arrays, arrays read, arrays written)}"""
    result = torch.empty(1, device="cuda")
    return {
        "fill": (lambda a, b: b.fill_(1.5), 0, 1),
        "add": (lambda a, b: torch.add(a, 1.0, out=b), 1, 1),
        "sum": (lambda a, b: torch.sum(a, dim=0, keepdim=True, out=result), 1, 0),
        "mul": (lambda a, b: torch.mul(a, b, out=b), 2, 1),
    }


class Pool:
    """Hands out arrays, each behind the one before, from the start again at the end."""

    def __init__(self):
        self.values = torch.ones(POOL_BYTES // 4, device="cuda")
        self.at = 0

    def take(self, count):
        if self.at + count > self.values.numel():
            self.at = 0
        self.at += count
        return self.values[self.at - count:self.at]


def steps(pool, seed):
    """One step a kernel and size: (calls, function, read, written, name)"""
    draw = random.Random(seed)
    made = []
    for size_mb in SIZES_MB:
        count = size_mb * 1000000 // 4
        if seed is not None:
            count = int(count * draw.uniform(*SCALES)) // ALIGNED * ALIGNED
        for name, (function, reads, writes) in operations().items():
            if name == "sum" and size_mb in SUMS_OF_ONE_GRID:
                continue
            def run(function=function, count=count):
                function(pool.take(count), pool.take(count))
            made.append([run, 4 * count * reads, 4 * count * writes, f"{name}-{size_mb}MB"])
    if seed is not None:
        draw.shuffle(made)
    return [[CALLS + number, *step] for number, step in enumerate(made)]


def issue(made, other=None):
    """All steps in turn, so that unlike kernels alternate."""
    for turn in range(max(step[0] for step in made)):
        for number, step in enumerate(made):
            stream = other if other and number % 2 else torch.cuda.current_stream()
            if turn < step[0]:
                with torch.cuda.stream(stream):
                    step[1]()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--graph", action="store_true")
    parser.add_argument("--streams", action="store_true")
    parser.add_argument("--seed", type=int)
    arguments = parser.parse_args()
    made = steps(Pool(), arguments.seed)
    replays = 4 if arguments.graph else 1
    for step in made:
        step[0] //= replays
    if arguments.graph:
        made = [[(CALLS + 4 * number) // replays, *step[1:]] for number, step in enumerate(made)]
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            issue(made)
        for _ in range(replays):
            graph.replay()
    else:
        issue(made, torch.cuda.Stream() if arguments.streams else None)
    torch.cuda.synchronize()
    for calls, _, read, written, name in made:
        print("kernel", calls * replays, read, written, name)


if __name__ == "__main__":
    main()
