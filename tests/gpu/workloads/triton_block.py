#!/usr/bin/env python3
"""A decoder block whose kernels are written in Triton: norm with residual, rotary positions, cache
write, attention, softmax, gated activation, matrix product, quantisation."""

import torch
import triton
import triton.language as tl

from common import parser, steady

BATCH, HEADS, SEQ, DIM = 4, 16, 512, 128
WIDTH, FFN = HEADS * DIM, 5632


@triton.jit
def fused_add_rms_norm_kernel(x, residual, weight, out, width, eps, block: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, block)
    inside = at < width
    total = tl.load(x + row * width + at, inside, 0.0).to(tl.float32)
    total += tl.load(residual + row * width + at, inside, 0.0).to(tl.float32)
    tl.store(residual + row * width + at, total, inside)
    scale = tl.rsqrt(tl.sum(total * total) / width + eps)
    tl.store(out + row * width + at, total * scale * tl.load(weight + at, inside, 0.0), inside)


@triton.jit
def layer_norm_fwd_kernel(x, weight, out, width, eps, block: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, block)
    inside = at < width
    value = tl.load(x + row * width + at, inside, 0.0).to(tl.float32)
    mean = tl.sum(value) / width
    centred = tl.where(inside, value - mean, 0.0)
    scale = tl.rsqrt(tl.sum(centred * centred) / width + eps)
    tl.store(out + row * width + at, centred * scale * tl.load(weight + at, inside, 0.0), inside)


@triton.jit
def rotary_kernel(x, cos, sin, seq, half: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, half)
    position = row % seq
    c, s = tl.load(cos + position * half + at), tl.load(sin + position * half + at)
    first = tl.load(x + row * 2 * half + at)
    second = tl.load(x + row * 2 * half + half + at)
    tl.store(x + row * 2 * half + at, first * c - second * s)
    tl.store(x + row * 2 * half + half + at, first * s + second * c)


@triton.jit
def store_kv_cache_kernel(key, value, keys, values, slots, dim: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, dim)
    slot = tl.load(slots + row)
    tl.store(keys + slot * dim + at, tl.load(key + row * dim + at))
    tl.store(values + slot * dim + at, tl.load(value + row * dim + at))


@triton.jit
def _attn_fwd(query, key, value, out, seq, scale, dim: tl.constexpr, rows: tl.constexpr,
              columns: tl.constexpr):
    head = tl.program_id(1) * seq * dim
    at_row = tl.program_id(0) * rows + tl.arange(0, rows)
    at_dim = tl.arange(0, dim)
    q = tl.load(query + head + at_row[:, None] * dim + at_dim[None, :])
    peak = tl.full([rows], float("-inf"), tl.float32)
    total = tl.zeros([rows], tl.float32)
    sums = tl.zeros([rows, dim], tl.float32)
    for begin in range(0, (tl.program_id(0) + 1) * rows, columns):
        at_column = begin + tl.arange(0, columns)
        k = tl.load(key + head + at_column[None, :] * dim + at_dim[:, None])
        scores = tl.dot(q, k) * scale
        scores = tl.where(at_row[:, None] >= at_column[None, :], scores, float("-inf"))
        new_peak = tl.maximum(peak, tl.max(scores, 1))
        weights = tl.exp(scores - new_peak[:, None])
        old = tl.exp(peak - new_peak)
        total = total * old + tl.sum(weights, 1)
        v = tl.load(value + head + at_column[:, None] * dim + at_dim[None, :])
        sums = sums * old[:, None] + tl.dot(weights.to(v.dtype), v)
        peak = new_peak
    tl.store(out + head + at_row[:, None] * dim + at_dim[None, :],
             (sums / total[:, None]).to(tl.bfloat16))


@triton.jit
def softmax_kernel(x, out, width, block: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, block)
    value = tl.load(x + row * width + at, at < width, float("-inf")).to(tl.float32)
    weights = tl.exp(value - tl.max(value))
    tl.store(out + row * width + at, weights / tl.sum(weights), at < width)


@triton.jit
def silu_and_mul_kernel(gate, up, out, count, block: tl.constexpr):
    at = tl.program_id(0) * block + tl.arange(0, block)
    value = tl.load(gate + at, at < count).to(tl.float32)
    product = value * tl.sigmoid(value) * tl.load(up + at, at < count)
    tl.store(out + at, product, at < count)


@triton.jit
def matmul_kernel(a, b, c, m, n, k, rows: tl.constexpr, columns: tl.constexpr,
                  depth: tl.constexpr):
    at_m = tl.program_id(0) * rows + tl.arange(0, rows)
    at_n = tl.program_id(1) * columns + tl.arange(0, columns)
    at_k = tl.arange(0, depth)
    sums = tl.zeros([rows, columns], tl.float32)
    for begin in range(0, k, depth):
        left = tl.load(a + at_m[:, None] * k + begin + at_k[None, :])
        right = tl.load(b + at_n[None, :] * k + begin + at_k[:, None])
        sums += tl.dot(left, right)
    tl.store(c + at_m[:, None] * n + at_n[None, :], sums.to(tl.bfloat16))


@triton.jit
def per_token_quant_fp8_kernel(x, out, scales, width, block: tl.constexpr):
    row = tl.program_id(0)
    at = tl.arange(0, block)
    value = tl.load(x + row * width + at, at < width, 0.0).to(tl.float32)
    scale = tl.max(tl.abs(value)) / 448.0
    tl.store(scales + row, scale)
    tl.store(out + row * width + at, (value / scale).to(tl.float8e4nv), at < width)


@triton.jit
def add_kernel(x, y, out, count, block: tl.constexpr):
    at = tl.program_id(0) * block + tl.arange(0, block)
    total = tl.load(x + at, at < count) + tl.load(y + at, at < count)
    tl.store(out + at, total, at < count)


def matmul(a, b):
    """a [m, k] times b [n, k] transposed; all are multiples of the tile."""
    m, n = a.shape[0], b.shape[0]
    out = torch.empty(m, n, dtype=a.dtype, device=a.device)
    matmul_kernel[(m // 128, n // 128)](a, b, out, m, n, a.shape[1], 128, 128, 64, num_warps=8)
    return out


def split(x):
    """[batch * seq, width] -> [batch, heads, seq, dim], copied."""
    return x.view(BATCH, SEQ, HEADS, DIM).transpose(1, 2).contiguous()


def block(weights, x, residual, caches, angles, slots):
    rows = BATCH * SEQ
    normed = torch.empty_like(x)
    fused_add_rms_norm_kernel[(rows,)](x, residual, weights["norm"], normed, WIDTH, 1e-6, 2048)
    query, key, value = (split(matmul(normed, weights[name])) for name in ("q", "k", "v"))
    for part in (query, key):
        rotary_kernel[(rows * HEADS,)](part, *angles, SEQ, DIM // 2)
    store_kv_cache_kernel[(rows * HEADS,)](key, value, *caches, slots, DIM)
    out = torch.empty_like(query)
    _attn_fwd[(SEQ // 64, BATCH * HEADS)](query, key, value, out, SEQ, DIM**-0.5, DIM, 64, 64)
    mixed = matmul(out.transpose(1, 2).reshape(rows, WIDTH), weights["o"])
    add_kernel[(triton.cdiv(mixed.numel(), 1024),)](mixed, x, mixed, mixed.numel(), 1024)
    layer_norm_fwd_kernel[(rows,)](mixed, weights["norm"], normed, WIDTH, 1e-6, 2048)
    gate, up = matmul(normed, weights["gate"]), matmul(normed, weights["up"])
    gated = torch.empty_like(gate)
    silu_and_mul_kernel[(triton.cdiv(gate.numel(), 1024),)](gate, up, gated, gate.numel(), 1024)
    narrow = torch.empty(gated.shape, dtype=torch.float8_e4m3fn, device=x.device)
    scales = torch.empty(rows, device=x.device)
    per_token_quant_fp8_kernel[(rows,)](gated, narrow, scales, FFN, 8192)
    x = matmul(gated, weights["down"])
    softmax_kernel[(rows,)](x, normed, WIDTH, 2048)
    return x


def main():
    args = parser(__doc__.splitlines()[0]).parse_args()
    torch.manual_seed(1)
    shapes = {"norm": (WIDTH,), "q": (WIDTH, WIDTH), "k": (WIDTH, WIDTH), "v": (WIDTH, WIDTH),
              "o": (WIDTH, WIDTH), "gate": (FFN, WIDTH), "up": (FFN, WIDTH), "down": (WIDTH, FFN)}
    options = {"device": args.device, "dtype": torch.bfloat16}
    weights = {name: torch.randn(shape, **options) * 0.02 for name, shape in shapes.items()}
    x = torch.randn(BATCH * SEQ, WIDTH, **options)
    residual = torch.zeros_like(x)
    caches = [torch.zeros(BATCH * SEQ * HEADS, DIM, **options) for _ in range(2)]
    slots = torch.arange(BATCH * SEQ * HEADS, device=args.device)
    turns = torch.arange(SEQ, device=args.device)[:, None] * torch.linspace(
        1, 0, DIM // 2, device=args.device)
    angles = (turns.cos().to(torch.bfloat16), turns.sin().to(torch.bfloat16))
    block(weights, x, residual, caches, angles, slots)
    with steady(args):
        for _ in range(8):
            x = block(weights, x, residual, caches, angles, slots)
    print("shape", *x.shape)


if __name__ == "__main__":
    main()
