#!/usr/bin/env python3
"""Eager norms, gates and softmax of PyTorch, each row compared with float64.

    torch_sequences.py native|async ROUNDS

«async» has PyTorch take its memory from the driver's own allocator, so that what lies between is given
back in the order of the stream. Prints how many results are right («all N right»), and a hash of all of
them: with «native» nothing may be replaced for good, so that it is the same under kprof ab.
"""

import hashlib
import os
import sys

if sys.argv[1] == "async":
    os.environ["PYTORCH_CUDA_ALLOC_CONF"] = "backend:cudaMallocAsync"

import torch  # noqa: E402 (the allocator is chosen when it is loaded)
import torch.nn.functional as F  # noqa: E402

BF16 = torch.bfloat16


def rms(x, weight, eps=1e-6):
    """As transformers' Llama has it."""
    wide = x.to(torch.float32)
    variance = wide.pow(2).mean(-1, keepdim=True)
    wide = wide * torch.rsqrt(variance + eps)
    return weight * wide.to(x.dtype)


def residual(a, b, weight):
    total = a + b
    return rms(total, weight), total


def gemma(x, weight, eps=1e-6):
    wide = x.float()
    wide = wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + eps)
    return (wide * (1.0 + weight.float())).type_as(x)


def exact_rms(x, weight, eps=1e-6):
    x = x.double()
    return x / torch.sqrt((x * x).mean(-1, keepdim=True) + eps) * weight


# Name, what is run on a, b, w, and the same in float64.
CASES = [
    ("rms", lambda a, b, w: rms(a, w), lambda a, b, w: exact_rms(a, w.double())),
    ("residual", lambda a, b, w: residual(a, b, w)[0],
     lambda a, b, w: exact_rms((a + b).double(), w.double())),
    ("gemma", lambda a, b, w: gemma(a, w), lambda a, b, w: exact_rms(a, 1 + w.double())),
    ("silu", lambda a, b, w: F.silu(a) * b, lambda a, b, w: F.silu(a.double()) * b.double()),
    ("gelu", lambda a, b, w: F.gelu(a) * b, lambda a, b, w: F.gelu(a.double()) * b.double()),
    ("tanh", lambda a, b, w: F.gelu(a, approximate="tanh") * b,
     lambda a, b, w: F.gelu(a.double(), approximate="tanh") * b.double()),
    ("softmax", lambda a, b, w: torch.softmax(a * 0.25, -1),
     lambda a, b, w: torch.softmax(a.double() * 0.25, -1)),
]


def is_right(result, exact):
    """Eager rounds to bf16 up to four times."""
    off = (result.double() - exact).abs()
    return bool((off <= 0.02 * exact.abs() + 0.01 * exact.std()).all())


def main():
    torch.manual_seed(1)
    rounds, right, digest = int(sys.argv[2]), 0, hashlib.sha256()
    for number in range(rounds):
        rows, columns = ((4, 2048), (37, 1536), (256, 512))[number % 3]
        a, b = (torch.randn(rows, columns, device="cuda", dtype=BF16) for _ in range(2))
        w = torch.rand(columns, device="cuda", dtype=BF16) + 0.5
        for _, run, exact in CASES:
            for _ in range(3):
                result = run(a, b, w)
            right += is_right(result, exact(a, b, w))
            digest.update(result.float().cpu().numpy().tobytes())
    count = rounds * len(CASES)
    print("all" if right == count else "not all,", right, "right")
    print(digest.hexdigest())


if __name__ == "__main__":
    main()
