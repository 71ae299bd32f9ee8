#!/usr/bin/env python3
"""What PyTorch's eager kernels are launched for, case by case, with the sequences that are in it.

    CUDA_INJECTION64_PATH=libtorch_parameters.so TORCH_PARAMETERS=FILE torch_launches.py LIBRARY

LIBRARY is the same library: it is told which case begins. Sizes are odd, so that each is seen in the
bytes. torch_told says what the file tells; SEQUENCES, what it must tell, as «kind rows x columns».
"""

import ctypes
import sys

# One row a case: its name, the sequences in it, its operands and what is run with them (by the names of
# `Names`).
SEQUENCES = [
    (f"rms hand {t} {rows}x2048", [f"rms norm {rows} x 2048"],
     f"r({rows}, 2048, dt={t}), r(2048, dt={t})", "hand_rms(a, b, 1e-5)")
    for t in ("bf16", "f16", "f32") for rows in (1, 4, 1237)
] + [
    (f"rms llama {t} {rows}x2048", [f"rms norm {rows} x 2048"],
     f"r({rows}, 2048, dt={t}), r(2048, dt={t})", "llama_rms(a, b, 1e-6)")
    for t in ("bf16", "f16", "f32") for rows in (1, 37)
] + [
    (f"rms residual {t} {rows}x2048", [f"residual, rms norm {rows} x 2048"],
     f"r({rows}, 2048, dt={t}), r(2048, dt={t}), r({rows}, 2048, dt={t})",
     "llama_rms(a + c, b, 1e-6)")
    for t in ("bf16", "f16", "f32") for rows in (1, 37)
] + [
    ("rms 1 + weight 7x2048", ["rms norm, 1 + weight 7 x 2048"], "r(7, 2048), r(2048)",
     "gemma_rms(a, b, 1e-6)"),
    ("rms heads 3x17x5x128", ["rms norm 255 x 128"], "r(3, 17, 5, 128), r(128)",
     "llama_rms(a, b, 1e-6)"),
    ("silu mul 37x5632", ["silu mul 1 x 208384"], "r(37, 5632), r(37, 5632)", "F.silu(a) * b"),
    ("silu mul halves 37x5632", ["silu mul 37 x 5632"], "r(37, 11264),",
     "F.silu(a[:, :5632]) * a[:, 5632:]"),
    ("gelu mul 37x5632", ["gelu mul 1 x 208384"], "r(37, 5632), r(37, 5632)", "F.gelu(a) * b"),
    ("gelu tanh mul 37x5632", ["gelu tanh mul 1 x 208384"], "r(37, 5632), r(37, 5632)",
     "F.gelu(a, approximate='tanh') * b"),
] + [
    (f"rope {t} 3x8x{s}x128", [f"rope {24 * s} x 128", f"rope {6 * s} x 128"],
     f"heads(3, {s}, 8, {t}), heads(3, {s}, 2, {t}), r(3, {s}, 128, dt={t}), r(3, {s}, 128, dt={t})",
     "llama_rope(a, b, c, d)")
    for t in ("bf16", "f32") for s in (17, 1)
] + [
    (f"rope halves {t} 3x8x{s}x128", [f"rope, halves {24 * s} x 128"],
     f"heads(3, {s}, 8, {t}), r({s}, 64, dt={t}), r({s}, 64, dt={t})", "hand_rope(a, b, c)")
    for t in ("bf16", "f32") for s in (17, 1)
] + [
    ("softmax mask 3x8x17x93", ["scale, mask, softmax 408 x 93"],
     "r(3, 8, 17, 93), r(3, 1, 17, 93)", "F.softmax(a * 0.088 + b, -1, dtype=f32).to(bf16)"),
    ("softmax mask f32 3x8x17x93", ["scale, mask, softmax 408 x 93"],
     "r(3, 8, 17, 93, dt=f32), r(17, 93, dt=f32)", "F.softmax(a * 0.125 + b, -1)"),
    ("softmax 2x4x5x5003", ["scale, softmax 40 x 5003"], "r(2, 4, 5, 5003, dt=f32),",
     "F.softmax(a * 0.125, -1)"),
    # What only looks like one.
    ("no rms: another mean", [], "r(7, 2048, dt=f32), r(7, 2048, dt=f32), r(2048, dt=f32)",
     "a * torch.rsqrt(b.pow(2).mean(-1, keepdim=True) + 1e-6) * c"),
    ("no silu mul: transposed", [], "r(64, 64), r(64, 64)", "F.silu(a) * b.t()"),
]
OPERATIONS = [
    f"x.pow({n})" for n in (2, 3, -2, -1, 0.5, -0.5, 4, 1.7)
] + [
    f"torch.{n}(x)" for n in ("rsqrt", "sqrt", "exp", "neg", "reciprocal", "abs", "sigmoid", "tanh",
                              "log", "cos", "sin")
] + [
    "x + 1.5", "1.5 - x", "x * 1.5", "x / 1.5", "1.5 / x", "torch.add(x, x, alpha=0.75)", "x - x",
    "x * x", "x / x", "x * x[0]", "x * x[:, :1]", "x + x[0]", "x / x[:, :1]", "x.mean(-1)",
    "x.mean(0)", "x.view(1237, 12, 32).mean(1)", "x.sum(-1)", "x.amax(-1)", "x.t().contiguous()",
    "x[:, :100].float()", "x[:, :100].bfloat16()", "x.t().half()", "x.float()", "x.bfloat16()",
    "x.half()", "F.silu(x[:, :100])", "F.gelu(x)", "F.gelu(x, approximate='tanh')",
    "x.view(-1)[1:1001] * x.view(-1)[1:1001]", "F.silu(x.view(-1)[1:1001])",
    "x.masked_fill(x > 0, float('-inf'))", "torch.where(x > 0, x, x)", "torch.cat((x, x), -1)",
    "torch.cat((x[:, :192], x[:, 192:]), -1)", "x.softmax(-1)", "x.log_softmax(-1)",
    "F.rms_norm(x, (384,), x[0], 1e-5)", "F.layer_norm(x, (384,), x[0], x[0])", "x.fill_(1.5)",
    "torch.addcmul(x, x, x)", "x * x.float()[0]",
]


class Names:
    """What the cases call. torch is imported here, so that checks can read the tables without."""

    def __init__(self):
        import torch
        import torch.nn.functional as F
        self.torch, self.F = torch, F
        self.bf16, self.f16, self.f32 = torch.bfloat16, torch.float16, torch.float32

    def r(self, *shape, dt=None):
        return self.torch.empty(*shape, device="cuda", dtype=dt or self.bf16).fill_(0.5)

    def heads(self, batch, positions, heads, dt):
        """As a projection gives them: [batch, heads, positions, 128], positions before heads."""
        return self.r(batch, positions, heads * 128, dt=dt).view(
            batch, positions, heads, 128).transpose(1, 2)

    def hand_rms(self, x, w, eps):
        wide = x.float()
        scale = self.torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + eps)
        return (wide * scale).to(x.dtype) * w

    def llama_rms(self, x, w, eps):
        dtype = x.dtype
        x = x.to(self.f32)
        x = x * self.torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + eps)
        return w * x.to(dtype)

    def gemma_rms(self, x, w, eps):
        y = x.float()
        y = y * self.torch.rsqrt(y.pow(2).mean(-1, keepdim=True) + eps)
        return (y * (1.0 + w.float())).type_as(x)

    def llama_rope(self, q, k, cos, sin):
        def turn(x):
            half = x.shape[-1] // 2
            return self.torch.cat((-x[..., half:], x[..., :half]), dim=-1)
        cos, sin = cos.unsqueeze(1), sin.unsqueeze(1)
        return q * cos + turn(q) * sin, k * cos + turn(k) * sin

    def hand_rope(self, x, cos, sin):
        a, b = x.chunk(2, dim=-1)
        return self.torch.cat((a * cos - b * sin, a * sin + b * cos), dim=-1)


def main():
    library = ctypes.CDLL(sys.argv[1])
    names = Names()
    scope = {name: getattr(names, name) for name in dir(names) if not name.startswith("_")}

    def begin(name):
        names.torch.cuda.synchronize()
        library.torch_parameters_case(name.encode())

    with names.torch.no_grad():
        for name, _, operands, text in SEQUENCES:
            begin("operands")
            values = dict(zip("abcd", eval(operands, scope)))
            begin(name)
            eval(text, {**scope, **values})
        for dtype in ("bf16", "f16", "f32"):
            for text in OPERATIONS:
                begin("operands")
                values = {"x": names.r(1237, 384, dt=scope[dtype])}
                begin(f"{text} {dtype}")
                eval(text, {**scope, **values})
    names.torch.cuda.synchronize()
    print(names.torch.__version__)


if __name__ == "__main__":
    main()
