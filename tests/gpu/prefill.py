#!/usr/bin/env python3
"""attention_prefill against PyTorch's attention (cuDNN, FlashAttention-2), in the same run.

  prefill.py LIBRARY

Each shape is checked first: fresh random data, also with entries 64 times as large here and there,
outputs poisoned with NaN, twice for the same bits, two heads against float64 beside FlashAttention-2.
Then all are timed in turns, to and fro, so that they share the GPU's heat; beside them a matrix product
that runs as long. Prints JSON, a row a shape. Ends with 77 where PyTorch sees no GPU.
"""

import ctypes
import json
import math
import sys

try:
    import torch
    from torch.nn import functional
    from torch.nn.attention import SDPBackend, sdpa_kernel
except ImportError:
    sys.exit(77)

TURNS = 8
TURN_MS = 12
OUTLIERS, OUTLIER_SHARE = 64, 1e-3
# Batch, heads, rows, head; causal.
SHAPES = [(32, 32, 2048, 128, False), (32, 32, 2048, 128, True), (4, 32, 8192, 128, True),
          (2, 32, 16384, 128, False), (16, 16, 2048, 64, False), (16, 16, 2048, 64, True),
          (8, 32, 512, 128, False), (8, 32, 512, 128, True)]
BACKENDS = {"cudnn": SDPBackend.CUDNN_ATTENTION, "flash": SDPBackend.FLASH_ATTENTION}
VARIED = {"sequences": 64, "heads": 32, "kv_heads": 8, "head": 128, "log_mean": 6.05, "most": 8192}


class Library:
    """The functions of prefill_library.c."""

    def __init__(self, path):
        self.code = ctypes.CDLL(path)
        self.code.prefill_open.restype = ctypes.c_void_p
        self.kernels = ctypes.c_void_p(self.code.prefill_open())
        if not self.kernels:
            sys.exit("the kernels cannot be loaded")

    def prepare(self, tensors, causal, starts=None, longest=0):
        """A function that enqueues one launch. `tensors`: q, k, v, out as [batch, heads, rows, head]."""
        q, k = tensors[:2]
        batch, heads, rows, head = q.shape
        sizes = [batch, heads, k.shape[1], head, rows, k.shape[2], 0]
        if starts is not None:
            sizes[0], sizes[4:] = starts.numel() - 1, [longest, longest, rows]
        strides = [tensor.stride(axis) for tensor in tensors for axis in (0, 2, 1)]
        pointers = [tensor.data_ptr() for tensor in tensors]
        pointers += [None, None if starts is None else starts.data_ptr()]
        arrays = ((ctypes.c_void_p * 6)(*pointers), (ctypes.c_uint32 * 7)(*sizes),
                  (ctypes.c_int64 * 12)(*strides))
        scale = ctypes.c_float(1 / math.sqrt(head))

        def call():
            stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
            status = self.code.prefill_attention(self.kernels, *arrays, int(q.dtype == torch.float16),
                                                 int(causal), scale, stream)
            if status:
                sys.exit(f"prefill: status {status}")
        return call


def random(*shape, outliers=False):
    data = torch.randn(*shape, device="cuda")
    if outliers:
        data = torch.where(torch.rand_like(data) < OUTLIER_SHARE, data * OUTLIERS, data)
    return data.to(torch.bfloat16)


def backend(kind, q, k, v, causal):
    def call():
        with sdpa_kernel(BACKENDS[kind]):
            return functional.scaled_dot_product_attention(q, k, v, is_causal=causal)
    return call


def exact(q, k, v, causal):
    """Of one head, in float64, 1024 rows at a time."""
    q, k, v = (tensor.double() for tensor in (q, k, v))
    parts = []
    for first in range(0, len(q), 1024):
        scores = q[first:first + 1024] @ k.T / math.sqrt(q.shape[1])
        if causal:
            row = torch.arange(first, first + len(scores), device="cuda")
            scores.masked_fill_(torch.arange(len(k), device="cuda") > row[:, None], -math.inf)
        parts.append(torch.softmax(scores, -1) @ v)
    return torch.cat(parts)


def error(got, want):
    return ((got.double() - want).norm() / want.norm()).item()


def check(library, shape, outliers):
    batch, heads, rows, head, causal = shape
    q, k, v = (random(batch, heads, rows, head, outliers=outliers) for _ in range(3))
    out = torch.full_like(q, math.nan)
    call = library.prepare((q, k, v, out), causal)
    call()
    first = out.clone()
    out.fill_(math.nan)
    call()
    theirs = backend("flash", q, k, v, causal)()
    places = ((0, 0), (batch - 1, heads - 1))
    wanted = [exact(q[at], k[at], v[at], causal) for at in places]
    return {"error": max(error(first[at], want) for at, want in zip(places, wanted)),
            "flash_error": max(error(theirs[at], want) for at, want in zip(places, wanted)),
            "is_written": not torch.isnan(first).any().item(),
            "same_bits": torch.equal(first.view(torch.int16), out.view(torch.int16))}


def once_ms(call, times):
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    begin.record()
    for _ in range(times):
        call()
    end.record()
    end.synchronize()
    return begin.elapsed_time(end) / times


def race(calls, flops):
    """{name: teraflops} of calls, the medians of turns."""
    times = {name: [] for name in calls}
    counts = {name: max(2, round(TURN_MS / once_ms(call, 2))) for name, call in calls.items()}
    for turn in range(TURNS):
        for name in list(calls) if turn % 2 else reversed(calls):
            times[name].append(once_ms(calls[name], counts[name]))
    return {name: flops[name] / sorted(values)[TURNS // 2] / 1e9 for name, values in times.items()}


def shape_row(library, shape):
    batch, heads, rows, head, causal = shape
    checks = [check(library, shape, outliers) for outliers in (False, True)]
    q, k, v = (random(batch, heads, rows, head) for _ in range(3))
    a, b = random(8192, 8192), random(8192, 8192)
    calls = {"ours": library.prepare((q, k, v, torch.empty_like(q)), causal),
             **{kind: backend(kind, q, k, v, causal) for kind in BACKENDS},
             "matrix": lambda: a @ b}
    work = 4 * batch * heads * rows * rows * head * (0.5 if causal else 1)
    return {"shape": list(shape), "checks": checks,
            "tflops": race(calls, {**dict.fromkeys(calls, work), "matrix": 2 * 8192 ** 3})}


def varied_row(library):
    """Sequences of the lengths of chats, one behind the other."""
    count, heads, kv_heads, head = (VARIED[key] for key in ("sequences", "heads", "kv_heads", "head"))
    generator = torch.Generator().manual_seed(3)
    lengths = torch.exp(torch.randn(count, generator=generator) + VARIED["log_mean"]).int()
    lengths = lengths.clamp(16, VARIED["most"])
    lengths[count // 2] = VARIED["most"]
    starts = torch.cat([torch.zeros(1, dtype=torch.int32), lengths.cumsum(0).int()]).cuda()
    total, longest = int(lengths.sum()), int(lengths.max())
    q, k, v = random(total, heads, head), random(total, kv_heads, head), random(total, kv_heads, head)
    out = torch.full_like(q, math.nan)
    views = [tensor.transpose(0, 1)[None] for tensor in (q, k, v, out)]
    ours = library.prepare(views, True, starts, longest)

    def flash():
        return torch.ops.aten._flash_attention_forward(q, k, v, starts, starts, longest, longest, 0.0,
                                                       True, False)[0]
    ours()
    work = 2 * float((lengths.double() ** 2).sum()) * heads * head
    at = slice(int(starts[1]), int(starts[2]))
    want = exact(q[at, 0], k[at, 0], v[at, 0], True)
    checks = [{"error": error(out[at, 0], want), "flash_error": error(flash()[at, 0], want),
               "is_written": not torch.isnan(out).any().item(), "same_bits": True}]
    return {"shape": [count, heads, total, head, True], "checks": checks,
            "tflops": race({"ours": ours, "flash": flash}, {"ours": work, "flash": work})}


def main():
    if not torch.cuda.is_available():
        sys.exit(77)
    torch.manual_seed(1)
    torch.zeros(1, device="cuda")
    library = Library(sys.argv[1])
    rows = [shape_row(library, shape) for shape in SHAPES]
    print(json.dumps({"rows": rows, "varied": varied_row(library)}))


if __name__ == "__main__":
    main()
