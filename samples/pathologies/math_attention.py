#!/usr/bin/env python3
"""Math attention: a layer of two projections and scaled_dot_product_attention by its math backend,
which writes the scores to memory, in fp32 without tensor cores, and reads them back for each step.

The remedy is the flash backend. tolerance: 2 % of the largest output, bf16, against float32
attention of one head.
"""

import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

from timing import Timing, near

HEADS, SEQ, DIM = 32, 2048, 128
BATCH_MOST, SEQUENCE_BYTES = 4, 4 << 30  # what the scores of a sequence and their copies take
SMALL = (1, 2, 64, 16)


def shape_for(timing):
    """Batch, heads, queries and keys, elements of a head, as memory allows."""
    if not timing.on_gpu:
        return SMALL
    fitting = torch.cuda.get_device_properties(0).total_memory // SEQUENCE_BYTES
    return max(1, min(BATCH_MOST, fitting)), HEADS, SEQ, DIM


def split(projected, shape):
    """Query, key, value [batch, heads, seq, dim] of [batch, seq, 3 * heads * dim]."""
    batch, heads, seq, dim = shape
    return projected.view(batch, seq, 3, heads, dim).permute(2, 0, 3, 1, 4)


def attention_of_one_head(qkv, dim):
    query, key, value = (tensor[-1, -1].float() for tensor in qkv)
    return torch.softmax(query @ key.T * dim**-0.5, dim=-1) @ value


def main():
    timing = Timing("Attention by PyTorch's math backend.", "use the flash backend")
    shape = shape_for(timing)
    batch, heads, seq, dim = shape
    width, scale = heads * dim, (heads * dim)**-0.5
    torch.manual_seed(1)
    options = {"device": timing.args.device, "dtype": torch.bfloat16}
    x = torch.randn(batch, seq, width, **options)
    into = torch.randn(3 * width, width, **options) * scale
    out_of = torch.randn(width, width, **options) * scale
    backend = SDPBackend.FLASH_ATTENTION if timing.remedy else SDPBackend.MATH

    def attend(qkv):
        return F.scaled_dot_product_attention(*qkv)

    def iterate():
        attended = attend(split(F.linear(x, into), shape))
        return F.linear(attended.transpose(1, 2).reshape(batch, seq, width), out_of)

    with torch.no_grad(), sdpa_kernel(backend):
        timing.report(timing.run(iterate))
        qkv = split(F.linear(x, into), shape)
        right = near(attend(qkv)[-1, -1], attention_of_one_head(qkv, dim), 0.02)
    timing.verdict(right)


if __name__ == "__main__":
    main()
