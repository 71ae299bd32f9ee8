"""The checks of sizes that are no matrix product's: by the parameters of PyTorch's kernels, and of
cuDNN's graphs, against operations whose sizes are known; rows of checks.py."""

import csv
import io
import sys

from runner import Check, require

TIMES = 4  # each operation runs so often, and so often does a graph of all
PRELUDE = """
import torch, torch.nn.functional as F
from torch.nn.attention import sdpa_kernel, SDPBackend
half, bf, f32 = torch.float16, torch.bfloat16, torch.float32
def r(*shape, dt=bf):
    return torch.randn(*shape, device="cuda", dtype=dt)
def attend(backend, q, k, causal=False):
    with sdpa_kernel(getattr(SDPBackend, backend)):
        F.scaled_dot_product_attention(q, k, k, is_causal=causal, enable_gqa=q.shape[1] != k.shape[1])
x, y, w = r(1237, 4096), r(1237, 4096), r(4096)
"""
RUN = """
def step():
    for operation in operations:
        operation()
for _ in range(3 if GRAPH else TIMES):
    step()
torch.cuda.synchronize()
if GRAPH:
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        step()
    for _ in range(TIMES):
        graph.replay()
    torch.cuda.synchronize()
"""

# What PyTorch is asked for, and the shape that must be told: a row each.
PARAMETERS = [
    ("lambda: x + y", "elementwise n 5066752"),
    ("lambda a=r(1237, 13): F.silu(a)", "elementwise n 16081"),
    ("lambda a=x.t(): a.contiguous()", "elementwise, strided n 5066752"),
    ("lambda: x.float()", "elementwise n 5066752"),
    ("lambda a=r(1237, 1024), b=r(1024): F.layer_norm(a, (1024,), b, b)", "norm rows 1237 n 1024"),
    ("lambda: F.rms_norm(x, (4096,), w)", "norm rows 1237 n 4096"),
    ("lambda a=r(77, 5003), b=r(5003): F.layer_norm(a, (5003,), b, b)", "norm rows 77 n 5003"),
    ("lambda a=r(1237, 77): F.softmax(a, -1)", "softmax rows 1237 n 77"),
    ("lambda a=r(33, 5003): F.softmax(a, -1)", "softmax rows 33 n 5003"),
    ("lambda a=r(33, 151936, dt=f32): F.softmax(a, -1)", "softmax rows 33 n 151936"),
    ("lambda a=r(1237, 77, 13, dt=f32): F.softmax(a, 1)", "softmax outer 1237 n 77 inner 13"),
    ("lambda a=r(33, 16384): F.softmax(a, -1)", "softmax rows 33 n 16384"),
    ("lambda a=r(43, 5003, dt=torch.float64): a.sum(-1)", "reduction rows 43 n 5003"),
    ("lambda a=r(4, 151936, dt=f32): a.topk(50)", "top k rows 4 n 151936 k 50"),
    ("lambda: x.sum(-1)", "reduction rows 1237 n 4096"),
    ("lambda a=r(41, 5003, dt=f32): a.argmax(-1)", "reduction rows 41 n 5003"),
    ("lambda a=r(1001, 37): a.amax(0)", "reduction rows 37 n 1001"),
    ("lambda a=r(31, 5003, dt=f32): a.cumsum(-1)", "scan rows 31 n 5003"),
    ("lambda i=torch.arange(21, device='cuda'), t=r(5003, 1024): F.embedding(i, t)",
     "gather of rows rows 21 row bytes 2048"),
    ("lambda q=r(3, 12, 517, 64), k=r(3, 12, 771, 64): attend('FLASH_ATTENTION', q, k)",
     "attention b 3 h 12 hk 12 sq 517 sk 771 d 64 dv 64, bf16, flash 2"),
    ("lambda q=r(3, 12, 517, 128): attend('FLASH_ATTENTION', q, q, True)",
     "attention b 3 h 12 hk 12 sq 517 sk 517 d 128 dv 128, causal, bf16, flash 2"),
    ("lambda q=r(3, 12, 517, 64), k=r(3, 4, 771, 64): attend('FLASH_ATTENTION', q, k)",
     "attention b 3 h 12 hk 4 sq 517 sk 771 d 64 dv 64, bf16, flash 2"),
    ("lambda q=r(5, 16, 1, 128), k=r(5, 16, 4099, 128): attend('FLASH_ATTENTION', q, k)",
     "attention b 5 h 16 hk 16 sq 1 sk 4099 d 128 dv 128, bf16, flash 2, split keys"),
    ("lambda q=r(2, 8, 2050, 128, dt=half): attend('FLASH_ATTENTION', q, q, True)",
     "attention b 2 h 8 hk 8 sq 2050 sk 2050 d 128 dv 128, causal, f16, flash 2"),
    ("lambda q=r(3, 12, 517, 64), k=r(3, 12, 771, 64): attend('EFFICIENT_ATTENTION', q, k)",
     "attention b 3 h 12 hk 12 sq 517 sk 771 d 64 dv 64, bf16, memory-efficient"),
    ("lambda q=r(3, 12, 517, 64, dt=half): attend('EFFICIENT_ATTENTION', q, q)",
     "attention b 3 h 12 hk 12 sq 517 sk 517 d 64 dv 64, f16, memory-efficient"),
    ("lambda q=r(2, 8, 300, 64, dt=f32): attend('EFFICIENT_ATTENTION', q, q, True)",
     "attention b 2 h 8 hk 8 sq 300 sk 300 d 64 dv 64, causal, f32, memory-efficient"),
]
CUDNN = [
    ("lambda q=r(3, 12, 520, 64), k=r(3, 12, 776, 64): attend('CUDNN_ATTENTION', q, k)",
     "attention b 3 h 12 hk 12 sq 520 sk 776 d 64 dv 64, bf16, forward"),
    ("lambda q=r(3, 12, 520, 128): attend('CUDNN_ATTENTION', q, q, True)",
     "attention b 3 h 12 hk 12 sq 520 sk 520 d 128 dv 128, causal, bf16, forward"),
    ("lambda q=r(2, 8, 1024, 64), k=r(2, 4, 1024, 64): attend('CUDNN_ATTENTION', q, k)",
     "attention b 2 h 8 hk 4 sq 1024 sk 1024 d 64 dv 64, bf16, forward"),
    ("lambda a=r(2, 32, 56, 48), b=r(64, 32, 3, 3): F.conv2d(a, b, padding=1)",
     "convolution n 2 c 32 h 56 w 48 k 64 r 3 s 3 p 56 q 48, bf16, forward, channels first, "
     "padding 1x1"),
    ("lambda a=r(2, 64, 56, 48, dt=half).to(memory_format=torch.channels_last), "
     "b=r(128, 64, 1, 1, dt=half).to(memory_format=torch.channels_last): F.conv2d(a, b)",
     "convolution n 2 c 64 h 56 w 48 k 128 r 1 s 1 p 56 q 48, f16, forward, channels last"),
    ("lambda a=r(2, 32, 56, 48, dt=f32), b=r(64, 32, 3, 3, dt=f32): "
     "F.conv2d(a, b, stride=2, padding=1)",
     "convolution n 2 c 32 h 56 w 48 k 64 r 3 s 3 p 28 q 24, f32, forward, channels first, "
     "stride 2x2, padding 1x1"),
    ("lambda a=r(2, 32, 56, 48), b=r(64, 8, 3, 3): F.conv2d(a, b, padding=1, groups=4)",
     "convolution n 2 c 32 h 56 w 48 k 64 r 3 s 3 p 56 q 48, groups 4, bf16, forward, "
     "channels first, padding 1x1"),
    ("lambda a=r(2, 32, 28, 24), b=r(32, 16, 2, 2): F.conv_transpose2d(a, b, stride=2)",
     "convolution n 2 c 16 h 56 w 48 k 32 r 2 s 2 p 28 q 24, bf16, gradient of data, "
     "channels first, stride 2x2"),
    ("lambda a=r(2, 32, 56, 48), b=r(64, 32, 3, 3), c=r(64): "
     "torch.cudnn_convolution_relu(a, b, c, (1, 1), (1, 1), (1, 1), 1)",
     "convolution n 2 c 32 h 56 w 48 k 64 r 3 s 3 p 56 q 48, bf16, forward, channels first, "
     "padding 1x1 + add + bias + relu"),
]
TRITON = """
def norm(x, w):
    y = x.float()
    return (y * torch.rsqrt(y.pow(2).mean(-1, keepdim=True) + 1e-6)).to(x.dtype) * w
def act(x):
    return F.silu(x[:, :2048]) * x[:, 2048:]
def turn(x):
    return x.t().contiguous() + 1
def softmax(x):
    return torch.softmax(x.float(), -1).to(x.dtype)
norm, act, turn, softmax = (torch.compile(f, dynamic=False) for f in (norm, act, turn, softmax))
"""
COMPILED = [
    ("lambda: norm(x, w)", "reduction x 1237 r 4096"),
    ("lambda: act(x)", "pointwise x 2533376"),
    ("lambda a=r(1237, 517): turn(a)", "pointwise y 517 x 1237"),
    ("lambda a=r(1237, 512): softmax(a)", "reduction x 1237 r 512"),
]


def told_shapes(bench, trace):
    """{shape in words: launches} of all kernels whose sizes are known."""
    ran = bench.run([bench.build / "kprof", "report", "--shapes", "--by", "kernel", "--format",
                     "csv", trace])
    shapes = {}
    for row in csv.DictReader(io.StringIO(ran.text())):
        if row["source"] != "launch":
            shapes[row["shape"]] = shapes.get(row["shape"], 0) + int(row["launches"])
    return shapes


def rows(record, need_torch):
    """The rows of checks.py; the arguments are its functions."""
    def check_table(table, graph, prelude=""):
        program = "\n".join([
            f"GRAPH, TIMES = {graph}, {TIMES}", PRELUDE, prelude,
            "operations = [", *(f"    {operation}," for operation, _ in table), "]", RUN])

        def check(bench):
            need_torch(bench)
            _, trace = record(bench, [sys.executable, "-c", program])
            told = told_shapes(bench, trace)
            missing = [shape for _, shape in table if told.get(shape, 0) < TIMES]
            require(not missing, f"not told: {missing}; told: {sorted(told)}")
            return f"{len(table)} operations, {len(told)} shapes told"
        return check

    return [
        Check("parameters-torch", 180, check_table(PARAMETERS, False),
              "sizes by the parameters of PyTorch's kernels: eager"),
        Check("parameters-torch-graph", 180, check_table(PARAMETERS, True),
              "the same, in a CUDA graph"),
        Check("parameters-compiled", 240, check_table(COMPILED, False, TRITON),
              "the same, of TorchInductor's Triton kernels"),
        Check("parameters-cudnn", 180, check_table(CUDNN, False),
              "sizes of cuDNN's convolutions and attention: eager"),
        Check("parameters-cudnn-graph", 180, check_table(CUDNN, True),
              "the same, in a CUDA graph"),
    ]
