#!/usr/bin/env python3
"""Tensor-parallel layers with an all-reduce each, one process a GPU: what NCCL looks like.

    torchrun --nproc-per-node 2 samples/torch_allreduce.py

Prints, from rank 0, the world size and a checksum; times go to stderr.
"""

import argparse
import os
import sys
import time

import torch
import torch.distributed as dist


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--layers", type=int, default=8)
    parser.add_argument("--width", type=int, default=4096)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--steps", type=int, default=50)
    return parser.parse_args()


def step(x, weights):
    """One pass: each rank has a slice of every layer's columns, then of its rows."""
    for up, down in weights:
        part = torch.nn.functional.gelu(x @ up) @ down
        dist.all_reduce(part)
        x = x + part
    return x


def main():
    args = parse()
    rank, local = int(os.environ["RANK"]), int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local)
    dist.init_process_group("nccl", device_id=torch.device("cuda", local))
    world = dist.get_world_size()
    torch.manual_seed(1 + rank)
    slice_width = 4 * args.width // world
    scale = args.width ** -0.5 / 4
    weights = [(torch.randn(args.width, slice_width, device="cuda", dtype=torch.bfloat16) * scale,
                torch.randn(slice_width, args.width, device="cuda", dtype=torch.bfloat16) * scale)
               for _ in range(args.layers)]
    torch.manual_seed(0)
    x = torch.randn(args.batch, args.width, device="cuda", dtype=torch.bfloat16)
    step(x, weights)
    torch.cuda.synchronize()
    start = time.perf_counter()
    for _ in range(args.steps):
        y = step(x, weights)
    torch.cuda.synchronize()
    seconds = time.perf_counter() - start
    if rank == 0:
        print(f"world {world} layers {args.layers} width {args.width} steps {args.steps}")
        print(f"checksum {y.float().abs().sum().item():.6e}")
        print(f"{seconds / args.steps * 1e3:.3f} ms a step", file=sys.stderr)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
