#!/usr/bin/env python3
"""Unfused norm chain: RMS norms written out in eager PyTorch, a cast, a square, a mean, a root and
products, each a kernel that reads and writes everything. A small projection follows each.

The remedy is torch.nn.functional.rms_norm, one kernel. tolerance: 2 % of the largest output, bf16,
against float64 of some rows.
"""

import torch
import torch.nn.functional as F

from timing import Timing, near

ROWS, WIDTH, PROJECTED, LAYERS, EPSILON = 8192, 4096, 512, 4, 1e-6
SMALL = (64, 64, 16)


def norm_written_out(x, weight):
    wide = x.float()
    inverse = torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + EPSILON)
    return weight * (wide * inverse).to(x.dtype)


def norm_fused(x, weight):
    return F.rms_norm(x, (x.shape[-1],), weight, EPSILON)


def main():
    timing = Timing("RMS norms written out in eager PyTorch.",
                    "call torch.nn.functional.rms_norm")
    rows, width, projected = (ROWS, WIDTH, PROJECTED) if timing.on_gpu else SMALL
    torch.manual_seed(1)
    options = {"device": timing.args.device, "dtype": torch.bfloat16}
    x = torch.randn(rows, width, **options)
    weights = [1 + 0.1 * torch.randn(width, **options) for _ in range(LAYERS)]
    projections = [torch.randn(projected, width, **options) for _ in range(LAYERS)]
    norm = norm_fused if timing.remedy else norm_written_out

    def iterate():
        for weight, projection in zip(weights, projections):
            F.linear(norm(x, weight), projection)

    with torch.no_grad():
        timing.report(timing.run(iterate))
        some = x[:64].double()
        mean = some.pow(2).mean(-1, keepdim=True) + EPSILON
        right = all(near(norm(x, weight)[:64], some * mean.rsqrt() * weight.double(), 0.02)
                    for weight in weights)
    timing.verdict(right)


if __name__ == "__main__":
    main()
