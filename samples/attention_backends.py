#!/usr/bin/env python3
"""Runs scaled_dot_product_attention through each of PyTorch's backends, to be profiled.

One operator, four implementations: what a profiler should tell apart, and what replacing one by
another is worth. stdout is the same in every run with the same options: for each backend whether it
ran, the largest error against a float32 reference on one head of one sequence, and a checksum of
the output. Times go to stderr. A backend that is not available here is reported and skipped.
"""

import argparse
import contextlib
import sys
import time
import warnings

import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

BACKENDS = ("MATH", "EFFICIENT_ATTENTION", "FLASH_ATTENTION", "CUDNN_ATTENTION")
DTYPES = {"bfloat16": torch.bfloat16, "float16": torch.float16}
WARMUP = 2


class Parser(argparse.ArgumentParser):
    """Says what is wrong in one line."""

    def error(self, message):
        self.exit(2, f"{self.prog}: {message}\n")


def positive(text):
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"must be at least 1, not {number}")
    return number


def parse_args():
    parser = Parser(
        description="Attention through each backend of PyTorch.",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    parser.add_argument("--batch", type=positive, default=32)
    parser.add_argument("--heads", type=positive, default=32)
    parser.add_argument("--seq", type=positive, default=2048, help="queries and keys of a head")
    parser.add_argument("--dim", type=positive, default=128, help="elements of a head")
    parser.add_argument("--dtype", choices=DTYPES, default="bfloat16")
    parser.add_argument("--causal", action="store_true")
    parser.add_argument("--iterations", type=positive, default=10,
                        help=f"timed calls of each backend, after {WARMUP} that are not timed")
    parser.add_argument("--backends", nargs="+", choices=BACKENDS, default=list(BACKENDS),
                        metavar="BACKEND", help=", ".join(BACKENDS))
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda",
                        help="cpu only tries the script out")
    parser.add_argument("--seed", type=int, default=1)
    return parser.parse_args()


def synchronize(args):
    if args.device == "cuda":
        torch.cuda.synchronize()


@contextlib.contextmanager
def nvtx_range(args, name):
    if args.device != "cuda":
        yield
        return
    torch.cuda.nvtx.range_push(name)
    try:
        yield
    finally:
        torch.cuda.nvtx.range_pop()


def make_inputs(args):
    random = torch.Generator(device=args.device).manual_seed(args.seed)
    shape = (args.batch, args.heads, args.seq, args.dim)
    return tuple(
        torch.empty(shape, dtype=DTYPES[args.dtype], device=args.device).normal_(generator=random)
        for _ in range(3)
    )


def reference(args, inputs):
    """float32 attention of the last head of the last sequence: [seq, dim]."""
    query, key, value = (tensor[-1, -1].float() for tensor in inputs)
    scores = query @ key.T * args.dim**-0.5
    if args.causal:
        ahead = torch.ones(args.seq, args.seq, dtype=torch.bool, device=args.device).triu(1)
        scores = scores.masked_fill(ahead, float("-inf"))
    return torch.softmax(scores, dim=-1) @ value


def attend(args, inputs):
    return F.scaled_dot_product_attention(*inputs, is_causal=args.causal)


def run_backend(args, name, inputs):
    """Returns the output and the seconds of one call; raises RuntimeError if it cannot run."""
    with sdpa_kernel(getattr(SDPBackend, name)), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(WARMUP):
            out = attend(args, inputs)
        synchronize(args)
        begin = time.perf_counter()
        with nvtx_range(args, name):
            for _ in range(args.iterations):
                out = None
                out = attend(args, inputs)
            synchronize(args)
        return out, (time.perf_counter() - begin) / args.iterations


def report_backend(args, name, inputs, expected):
    try:
        out, seconds = run_backend(args, name, inputs)
    except (RuntimeError, AttributeError) as error:
        print(f"backend {name} not available")
        print(f"{name}: {str(error).splitlines()[0]}", file=sys.stderr)
        return
    error = (out[-1, -1].float() - expected).abs().max().item()
    total = out.abs().sum(dtype=torch.float64).item()
    flops = 4 * args.batch * args.heads * args.seq**2 * args.dim / (2 if args.causal else 1)
    print(f"backend {name} ran max_error {error:.3g} sum_of_magnitudes {total:.6g}")
    print(f"{name}: {seconds * 1e3:.3f} ms a call, {flops / seconds * 1e-12:.1f} TFLOP/s",
          file=sys.stderr)


def main():
    args = parse_args()
    if args.device == "cuda" and not torch.cuda.is_available():
        sys.exit("attention_backends.py: no CUDA device")
    print(f"attention batch {args.batch} heads {args.heads} seq {args.seq} dim {args.dim} "
          f"dtype {args.dtype} causal {'yes' if args.causal else 'no'} seed {args.seed}")
    print(f"iterations {args.iterations} warmup {WARMUP}")
    with torch.no_grad():
        inputs = make_inputs(args)
        expected = reference(args, inputs)
        for name in args.backends:
            report_backend(args, name, inputs, expected)
            if args.device == "cuda":
                torch.cuda.empty_cache()


if __name__ == "__main__":
    main()
