#!/usr/bin/env python3
"""Imbalance: ranks with unequal work, one a GPU, which wait for each other in an all-reduce.

    torchrun --nproc-per-node 2 samples/pathologies/imbalance.py

The first rank does half more products than the mean of all, the last one half less. The remedy
gives each rank as many. Rank 0 prints; its iterations end with those of the others. The output:
what all ranks did adds up to all products. Exact.
"""

import os

import torch
import torch.distributed as dist

from timing import Timing

SIZE, SHARE, SMALL = 4096, 8, 64


def products_of(rank, world, equal):
    """How many products a rank does: SHARE on average, 3/2 and 1/2 of it on the first and last."""
    if equal or world == 1:
        return SHARE
    return SHARE + (SHARE // 2 if rank == 0 else -(SHARE // 2) if rank == world - 1 else 0)


class Ranks:
    """Iterates with the others: they run as many iterations as rank 0 wants."""

    def __init__(self, timing):
        self.timing, self.rank = timing, dist.get_rank()
        self.device = torch.device(timing.args.device, *([torch.cuda.current_device()]
                                                          if timing.on_gpu else []))
        size = SIZE if timing.on_gpu else SMALL
        torch.manual_seed(1)
        self.a = torch.randn(size, size, dtype=torch.bfloat16, device=self.device)
        self.b = torch.randn(size, size, dtype=torch.bfloat16, device=self.device)
        self.c = torch.empty_like(self.a)
        self.products = products_of(self.rank, dist.get_world_size(), timing.remedy)
        self.sum = torch.zeros(1024, device=self.device)

    def iterate(self):
        for _ in range(self.products):
            torch.mm(self.a, self.b, out=self.c)
        self.sum.fill_(self.products)
        dist.all_reduce(self.sum)

    def wanted(self, count):
        """The number that rank 0 has."""
        number = torch.tensor([count], dtype=torch.int64, device=self.device)
        dist.broadcast(number, 0)
        return int(number.item())

    def run(self):
        """Seconds of an iteration: all ranks run as many as fill the time on rank 0."""
        timing = self.timing
        timing.part(self.iterate, 3)
        seconds = timing.part(self.iterate, 10) / 10
        count = self.wanted(max(10, int(1e-3 * timing.args.milliseconds / seconds)))
        return timing.part(self.iterate, count) / count


def main():
    timing = Timing("Ranks with unequal work.", "give all ranks equal work")
    local = int(os.environ["LOCAL_RANK"])
    if timing.on_gpu:
        torch.cuda.set_device(local)
        dist.init_process_group("nccl", device_id=torch.device("cuda", local))
    else:
        dist.init_process_group("gloo")
    ranks = Ranks(timing)
    seconds = ranks.run()
    right = bool((ranks.sum == SHARE * dist.get_world_size()).all())
    dist.destroy_process_group()
    if ranks.rank == 0:
        timing.report(seconds)
        timing.verdict(right)


if __name__ == "__main__":
    main()
