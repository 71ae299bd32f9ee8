#!/usr/bin/env python3
"""Greedy decoding with a Llama-like transformer of random weights in PyTorch, to be profiled.

stdout is the same in every run with the same options, with or without a profiler: the tokens and
the number of decode iterations. Times go to stderr.

With --profile FILE the program profiles itself with torch.profiler (CUDA activities only) and
writes {kernel name: {"calls": N, "total_ns": N, "average_ns": N}}, so that another run under kprof
can be compared kernel by kernel. Profiling changes nothing in what is launched:
  --profile-scope decode  (default) the decode loop only: compare with the NVTX range `decode`
  --profile-scope all     from before the weights are made to the end of decode: compare with the
                          whole program
kprof shares CUPTI with torch.profiler, so both can watch one run; to compare their costs, use two.
"""

import argparse
import contextlib
import json
import os
import sys
import tempfile
import time
import zlib
from dataclasses import dataclass

import torch
import torch.nn.functional as F

TOKENS_SHOWN = 16
DTYPES = {"bfloat16": torch.bfloat16, "float16": torch.float16, "float32": torch.float32}


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
        description="Greedy decoding with a Llama-like transformer of random weights.",
        formatter_class=argparse.ArgumentDefaultsHelpFormatter,
    )
    parser.add_argument("--layers", type=positive, default=16)
    parser.add_argument("--width", type=positive, default=2048)
    parser.add_argument("--heads", type=positive, default=16)
    parser.add_argument("--ffn", type=positive, default=5632, help="width of the gated layer")
    parser.add_argument("--vocab", type=positive, default=32000)
    parser.add_argument("--batch", type=positive, default=4, help="sequences")
    parser.add_argument("--prompt", type=positive, default=128, help="tokens of each prompt")
    parser.add_argument("--warmup", type=positive, default=3, help="eager decode iterations first")
    parser.add_argument("--steps", type=positive, default=64, help="decode iterations after them")
    parser.add_argument("--rounds", type=positive, default=1,
                        help="decode so often, from the same position: a longer run")
    parser.add_argument("--dtype", choices=DTYPES, default="bfloat16")
    parser.add_argument("--device", choices=("cuda", "cpu"), default="cuda",
                        help="cpu only tries the script out")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--graph", action="store_true", help="replay decode as a CUDA graph")
    parser.add_argument("--compile", action="store_true", help="torch.compile the decode step")
    parser.add_argument("--nvtx", action="store_true", help="NVTX ranges: prefill, decode, token")
    parser.add_argument("--profile", metavar="FILE", help="write torch.profiler's kernels as JSON")
    parser.add_argument("--profile-scope", choices=("decode", "all"), default="decode")
    args = parser.parse_args()
    if args.width % args.heads or args.width // args.heads % 8:
        parser.error("--width over --heads must be a multiple of 8")
    if args.device == "cpu" and (args.graph or args.nvtx or args.profile):
        parser.error("--graph, --nvtx and --profile need --device cuda")
    return args


@dataclass
class Layer:
    attention_norm: torch.Tensor  # [width]
    qkv: torch.Tensor  # [3 * width, width]
    attention_out: torch.Tensor  # [width, width]
    ffn_norm: torch.Tensor  # [width]
    gate: torch.Tensor  # [ffn, width]
    up: torch.Tensor  # [ffn, width]
    down: torch.Tensor  # [width, ffn]
    keys: torch.Tensor  # [batch, heads, capacity, head_dim], zero where nothing was written
    values: torch.Tensor  # the same


def rmsnorm(x, weight):
    wide = x.float()
    return (wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + 1e-5)).to(x.dtype) * weight


def rotate(x, cos, sin):
    """x [batch, heads, seq, head_dim] turned by the angles of cos and sin [seq, head_dim / 2]."""
    first, second = x.chunk(2, dim=-1)
    return torch.cat((first * cos - second * sin, first * sin + second * cos), dim=-1)


class Decoder:
    """Weights, caches, and the state that a decode step reads and writes in place.

    Position and tokens are tensors, and every shape is fixed, so that a captured step can be
    replayed: attention always covers the whole cache and masks what lies ahead.
    """

    def __init__(self, args):
        self.args = args
        self.dtype = DTYPES[args.dtype]
        self.head_dim = args.width // args.heads
        self.capacity = -(-(args.prompt + args.warmup + args.steps) // 64) * 64
        self.random = torch.Generator(device=args.device).manual_seed(args.seed)
        self.embedding = self.weight(args.vocab, args.width, scale=1)
        self.layers = [self.make_layer() for _ in range(args.layers)]
        self.final_norm = self.norm()
        self.head = self.weight(args.vocab, args.width)
        half = self.head_dim // 2
        frequencies = 10000.0 ** (-torch.arange(half, device=args.device) / half)
        angles = torch.arange(self.capacity, device=args.device)[:, None] * frequencies
        self.cos = angles.cos().to(self.dtype)
        self.sin = angles.sin().to(self.dtype)
        self.slots = torch.arange(self.capacity, device=args.device)
        self.prompt = torch.randint(args.vocab, (args.batch, args.prompt),
                                    generator=self.random, device=args.device)
        self.tokens = torch.zeros(args.batch, 1, dtype=torch.int64, device=args.device)
        self.position = torch.full((1,), args.prompt, dtype=torch.int64, device=args.device)
        self.history = torch.zeros(args.batch, 1 + args.warmup + args.steps, dtype=torch.int64,
                                   device=args.device)

    def weight(self, out, into, scale=None):
        tensor = torch.empty(out, into, dtype=self.dtype, device=self.args.device)
        return tensor.normal_(0, scale or into**-0.5, generator=self.random)

    def norm(self):
        tensor = torch.empty(self.args.width, dtype=self.dtype, device=self.args.device)
        return tensor.uniform_(0.75, 1.25, generator=self.random)

    def make_layer(self):
        args = self.args
        cache = (args.batch, args.heads, self.capacity, self.head_dim)
        return Layer(
            attention_norm=self.norm(),
            qkv=self.weight(3 * args.width, args.width),
            attention_out=self.weight(args.width, args.width),
            ffn_norm=self.norm(),
            gate=self.weight(args.ffn, args.width),
            up=self.weight(args.ffn, args.width),
            down=self.weight(args.width, args.ffn),
            keys=torch.zeros(cache, dtype=self.dtype, device=args.device),
            values=torch.zeros(cache, dtype=self.dtype, device=args.device),
        )

    def attend(self, layer, x, positions, mask, cos, sin):
        batch, seq, width = x.shape
        qkv = F.linear(x, layer.qkv).view(batch, seq, 3, self.args.heads, self.head_dim)
        query, key, value = (part.transpose(1, 2) for part in qkv.unbind(2))
        layer.keys.index_copy_(2, positions, rotate(key, cos, sin))
        layer.values.index_copy_(2, positions, value)
        out = F.scaled_dot_product_attention(rotate(query, cos, sin), layer.keys, layer.values,
                                             attn_mask=mask)
        return F.linear(out.transpose(1, 2).reshape(batch, seq, width), layer.attention_out)

    def forward(self, ids, positions):
        """ids [batch, seq] at positions [seq] -> logits [batch, vocab] after the last of them."""
        x = F.embedding(ids, self.embedding)
        cos, sin = self.cos[positions], self.sin[positions]
        ahead = self.slots[None, :] > positions[:, None]
        mask = torch.zeros(ahead.shape, dtype=self.dtype, device=x.device)
        mask = mask.masked_fill(ahead, float("-inf"))[None, None]
        for layer in self.layers:
            normed = rmsnorm(x, layer.attention_norm)
            x = x + self.attend(layer, normed, positions, mask, cos, sin)
            normed = rmsnorm(x, layer.ffn_norm)
            gated = F.silu(F.linear(normed, layer.gate)) * F.linear(normed, layer.up)
            x = x + F.linear(gated, layer.down)
        return F.linear(rmsnorm(x[:, -1], self.final_norm), self.head)

    def keep(self, logits):
        """The next tokens, the lowest of equals, become the state and go into the history."""
        self.tokens.copy_(logits.argmax(-1, keepdim=True))
        self.history.index_copy_(1, self.position - self.args.prompt, self.tokens)

    def prefill(self):
        self.keep(self.forward(self.prompt, self.slots[: self.args.prompt]))

    def step(self):
        logits = self.forward(self.tokens, self.position)
        self.position.add_(1)
        self.keep(logits)

    def rewind(self):
        self.position.sub_(self.args.steps)


def synchronize(args):
    if args.device == "cuda":
        torch.cuda.synchronize()


@contextlib.contextmanager
def nvtx_range(args, name):
    if not args.nvtx:
        yield
        return
    torch.cuda.nvtx.range_push(name)
    try:
        yield
    finally:
        torch.cuda.nvtx.range_pop()


def write_kernels(profiler, path):
    """Sums the trace's kernels by name; memory copies and fills are not kernels."""
    with tempfile.TemporaryDirectory() as folder:
        trace = os.path.join(folder, "trace.json")
        profiler.export_chrome_trace(trace)
        with open(trace, encoding="utf-8") as file:
            events = json.load(file)["traceEvents"]
    kernels = {}
    for event in events:
        if event.get("cat") != "kernel":
            continue
        kernel = kernels.setdefault(event["name"], {"calls": 0, "total_ns": 0})
        kernel["calls"] += 1
        kernel["total_ns"] += round(event["dur"] * 1000)
    for kernel in kernels.values():
        kernel["average_ns"] = round(kernel["total_ns"] / kernel["calls"], 1)
    with open(path, "w", encoding="utf-8") as file:
        json.dump(kernels, file, indent=1, sort_keys=True)
        file.write("\n")


@contextlib.contextmanager
def profiled(args, scope):
    if args.profile is None or args.profile_scope != scope:
        yield
        return
    activities = [torch.profiler.ProfilerActivity.CUDA]
    with torch.profiler.profile(activities=activities) as profiler:
        yield
        torch.cuda.synchronize()
    write_kernels(profiler, args.profile)


def warm_up(decoder, step):
    """The prompt and the first iterations, always eager launches. Returns seconds of prefill."""
    args = decoder.args
    begin = time.perf_counter()
    with nvtx_range(args, "prefill"):
        decoder.prefill()
        synchronize(args)
    seconds = time.perf_counter() - begin
    for _ in range(args.warmup):
        step()
    synchronize(args)
    return seconds


def capture(step):
    """Captures a step, which does not run it. Its tensors are the decoder's own and stay put."""
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        step()
    return graph.replay


def decode(decoder, step):
    """Returns the seconds of args.rounds times args.steps iterations."""
    args = decoder.args
    with profiled(args, "decode"):
        begin = time.perf_counter()
        with nvtx_range(args, "decode"):
            for number in range(args.rounds * args.steps):
                if number and number % args.steps == 0:
                    decoder.rewind()
                with nvtx_range(args, "token"):
                    step()
            synchronize(args)
        return time.perf_counter() - begin


def run(args):
    decoder = Decoder(args)
    step = torch.compile(decoder.step, dynamic=False) if args.compile else decoder.step
    prefill_s = warm_up(decoder, step)
    if args.graph:
        step = capture(step)
    decode_s = decode(decoder, step)
    return decoder.history.tolist(), prefill_s, decode_s


def report(args, history, prefill_s, decode_s):
    print(f"model layers {args.layers} width {args.width} heads {args.heads} ffn {args.ffn} "
          f"vocab {args.vocab} dtype {args.dtype}")
    print(f"run batch {args.batch} prompt {args.prompt} graph {'yes' if args.graph else 'no'} "
          f"compile {'yes' if args.compile else 'no'} seed {args.seed}")
    for number, tokens in enumerate(history):
        print(f"tokens sequence {number}:", *tokens[:TOKENS_SHOWN])
    print(f"tokens_checksum {zlib.crc32(json.dumps(history).encode()):08x}")
    print(f"warmup_iterations {args.warmup}")
    iterations = args.rounds * args.steps
    print(f"decode_iterations {iterations}")
    print(f"graph_replays {iterations if args.graph else 0}")
    print(f"prefill: {prefill_s * 1e3:.3f} ms", file=sys.stderr)
    print(f"decode: {decode_s * 1e3 / iterations:.3f} ms an iteration, "
          f"{args.batch * iterations / decode_s:.0f} tokens/s", file=sys.stderr)


def main():
    args = parse_args()
    if args.device == "cuda" and not torch.cuda.is_available():
        sys.exit("torch_decode.py: no CUDA device")
    with torch.no_grad(), profiled(args, "all"):
        results = run(args)
    report(args, *results)


if __name__ == "__main__":
    main()
