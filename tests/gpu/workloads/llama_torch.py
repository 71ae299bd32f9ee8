#!/usr/bin/env python3
"""A Llama-like decoder in plain PyTorch: prefill, then decode steps with top-k sampling.

Attention is grouped, and either PyTorch's own function (--attention sdpa) or written out
(--attention eager: two batched products with scale, mask and softmax between them). With --compile
prefill is compiled by TorchInductor, and decode steps are compiled into CUDA graphs.
"""

import torch
import torch.nn.functional as F
from torch import nn

from common import parser, steady


def parse_args():
    out = parser(__doc__.splitlines()[0])
    out.add_argument("--attention", choices=("sdpa", "eager", "both"), default="both")
    out.add_argument("--compile", action="store_true")
    out.add_argument("--steps", type=int, default=16)
    out.add_argument("--layers", type=int, default=4)
    args = out.parse_args()
    small = args.device == "cpu"
    args.width, args.ffn = (64, 128) if small else (2048, 5632)
    args.heads, args.groups, args.vocab = (4, 2, 100) if small else (16, 4, 32000)
    args.batch, args.prompt = (2, 8) if small else (4, 512)
    args.dtype = torch.float32 if small else torch.bfloat16
    return args


class RMSNorm(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x):
        wide = x.float()
        wide = wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + 1e-6)
        return self.weight * wide.to(x.dtype)


def rotate(x, cos, sin):
    first, second = x.chunk(2, dim=-1)
    return x * cos + torch.cat((-second, first), dim=-1) * sin


class Attention(nn.Module):
    def __init__(self, args):
        super().__init__()
        self.args, self.dim = args, args.width // args.heads
        self.query = nn.Linear(args.width, args.width, bias=False)
        self.key = nn.Linear(args.width, args.groups * self.dim, bias=False)
        self.value = nn.Linear(args.width, args.groups * self.dim, bias=False)
        self.out = nn.Linear(args.width, args.width, bias=False)
        capacity = args.prompt + 2 * args.steps + 8
        cache = torch.zeros(args.batch, args.groups, capacity, self.dim)
        self.register_buffer("keys", cache)
        self.register_buffer("values", cache.clone())

    def heads(self, x, count):
        return x.view(x.shape[0], x.shape[1], count, self.dim).transpose(1, 2)

    def forward(self, x, positions, mask, cos, sin, eager):
        args = self.args
        query = rotate(self.heads(self.query(x), args.heads), cos, sin)
        key = rotate(self.heads(self.key(x), args.groups), cos, sin)
        self.keys.index_copy_(2, positions, key)
        self.values.index_copy_(2, positions, self.heads(self.value(x), args.groups))
        keys = self.keys.repeat_interleave(args.heads // args.groups, dim=1)
        values = self.values.repeat_interleave(args.heads // args.groups, dim=1)
        if eager:
            scores = torch.matmul(query, keys.transpose(2, 3)) * self.dim**-0.5 + mask
            weights = F.softmax(scores, dim=-1, dtype=torch.float32).to(x.dtype)
            out = torch.matmul(weights, values)
        else:
            out = F.scaled_dot_product_attention(query, keys, values, attn_mask=mask)
        return self.out(out.transpose(1, 2).reshape(x.shape))


class Layer(nn.Module):
    def __init__(self, args):
        super().__init__()
        self.before, self.after = RMSNorm(args.width), RMSNorm(args.width)
        self.attention = Attention(args)
        self.gate = nn.Linear(args.width, args.ffn, bias=False)
        self.up = nn.Linear(args.width, args.ffn, bias=False)
        self.down = nn.Linear(args.ffn, args.width, bias=False)

    def forward(self, x, *rest):
        x = x + self.attention(self.before(x), *rest)
        normed = self.after(x)
        return x + self.down(F.silu(self.gate(normed)) * self.up(normed))


class Model(nn.Module):
    def __init__(self, args):
        super().__init__()
        self.embedding = nn.Embedding(args.vocab, args.width)
        self.layers = nn.ModuleList(Layer(args) for _ in range(args.layers))
        self.norm = RMSNorm(args.width)
        self.head = nn.Linear(args.width, args.vocab, bias=False)
        capacity = self.layers[0].attention.keys.shape[2]
        dim = args.width // args.heads
        powers = 10000.0 ** (-torch.arange(0, dim, 2) / dim)
        angles = torch.arange(capacity)[:, None] * powers.repeat(2)
        self.register_buffer("cos", angles.cos())
        self.register_buffer("sin", angles.sin())
        self.register_buffer("slots", torch.arange(capacity))

    def forward(self, tokens, positions, eager):
        x = self.embedding(tokens)
        cos, sin = self.cos[positions], self.sin[positions]
        ahead = self.slots[None, :] > positions[:, None]
        mask = torch.zeros(ahead.shape, dtype=x.dtype, device=x.device)
        mask = mask.masked_fill(ahead, float("-inf"))[None, None]
        for layer in self.layers:
            x = layer(x, positions, mask, cos, sin, eager)
        return self.head(self.norm(x[:, -1]))


def sample(logits):
    top, which = torch.topk(logits.float() / 0.8, 40)
    return which.gather(1, torch.multinomial(F.softmax(top, dim=-1), 1))


def generate(args, prefill, decode, prompt, eager):
    slots = torch.arange(args.prompt + args.steps, device=args.device)
    tokens = sample(prefill(prompt, slots[: args.prompt], eager))
    for number in range(args.steps - 1):
        if args.compile and args.device == "cuda":
            torch.compiler.cudagraph_mark_step_begin()
        position = slots[args.prompt + number : args.prompt + number + 1].clone()
        tokens = sample(decode(tokens, position, eager))
    return tokens


def main():
    args = parse_args()
    torch.manual_seed(1)
    with torch.no_grad():
        model = Model(args).to(args.dtype).to(args.device)
        prefill = decode = model
        if args.compile:
            prefill = torch.compile(model, dynamic=False)
            decode = torch.compile(model, dynamic=False, mode="reduce-overhead")
        prompt = torch.randint(args.vocab, (args.batch, args.prompt), device=args.device)
        ways = [False, True] if args.attention == "both" else [args.attention == "eager"]
        for eager in ways:
            generate(args, prefill, decode, prompt, eager)
        with steady(args):
            for eager in ways:
                tokens = generate(args, prefill, decode, prompt, eager)
        print("shape", *tokens.shape)


if __name__ == "__main__":
    main()
