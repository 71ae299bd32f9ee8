#!/usr/bin/env python3
"""What other libraries take for an operator of kprof bench, through PyTorch: a line of JSON a shape.

  bench_references.py LIBRARY OPERATOR --against torch,cudnn,cublas,compile [--device N] SHAPE…

kprof bench --against runs this. LIBRARY is libkprof_bench.so (bench_library.h): buffers, their
contents, kprof's kernels and the reference in float64 come from there. Kernels and references work on
the same buffers, in CUDA graphs: cold over buffers that rotate through four times the L2 cache, hot
over one set; in turns, forth and back, twice. A ratio is that of two neighbouring turns.

Exit status 3: what is missing has been said.
"""

import argparse
import ctypes
import json
import math
import statistics
import sys

try:
    import torch
    from torch.nn import functional
except ImportError:
    torch = None

GROUPS = ("torch", "cudnn", "cublas", "compile")
COLD_L2 = 4
SETS_MOST = 512
LARGE_BYTES = 256 << 20  # moved by a launch: fewer of them make a graph
NODES_LEAST, NODES_LARGE = 20, 4
ROUNDS = 2  # of turns forth and back
REPLAYS, REPLAYS_FIRST = 11, 2  # the first of a turn do not count
EPS = 1e-5
TEMPERATURE, TOP_K, TOP_P = 0.8, 50, 0.9  # as bench_logits.c has them
NARROW = {3: "float8_e4m3fn", 4: "int8"}  # by enum kp_dtype


def leave(words):
    """Ends the program with a line that says why."""
    print(f"kprof: {words}", file=sys.stderr)
    sys.exit(3)


# ---- the library ----

class Buffer(ctypes.Structure):
    """struct kprof_bench_buffer."""
    _fields_ = [(name, ctypes.c_uint64) for name in ("bytes", "unit_bytes", "fill_bytes")] + \
        [(name, ctypes.c_uint32) for name in ("planes", "element_bytes")] + \
        [(name, ctypes.c_int32) for name in ("is_shared", "is_output", "is_checked", "is_whole")]


class Library:
    """libkprof_bench.so."""

    def __init__(self, path):
        self.code = ctypes.CDLL(path)
        for name in ("kernels", "create", "some"):
            self.function(name).restype = ctypes.c_void_p
        for name in ("buffers", "units", "size", "sample"):
            self.function(name).restype = ctypes.c_uint32
        self.function("moved_bytes").restype = ctypes.c_uint64

    def function(self, name):
        return getattr(self.code, f"kprof_bench_{name}")

    def kernels(self):
        """Of the current context; None: they cannot be loaded."""
        found = self.function("kernels")()
        return ctypes.c_void_p(found) if found else None


class Work:
    """An operator at a shape, or some units of one."""

    def __init__(self, library, handle):
        self.library, self.handle = library, ctypes.c_void_p(handle)
        self.units = library.function("units")(self.handle)
        self.moved_bytes = library.function("moved_bytes")(self.handle)
        self.buffers = []
        for number in range(library.function("buffers")(self.handle)):
            self.buffers.append(Buffer())
            library.function("describe")(self.handle, number, ctypes.byref(self.buffers[-1]))
        self.checked = [buffer.is_checked for buffer in self.buffers].index(1)

    def __del__(self):
        self.library.function("destroy")(self.handle)

    @classmethod
    def create(cls, library, operator, shape, sms):
        handle = library.function("create")(operator.encode(), shape.encode(), sms)
        if not handle:
            leave(f"{operator} has no shape {shape}")
        return cls(library, handle)

    def some(self, units):
        return Work(self.library, self.library.function("some")(self.handle, units))

    def size(self, key):
        return self.library.function("size")(self.handle, key.encode())

    def fill(self, number, address):
        self.library.function("fill")(self.handle, number, ctypes.c_void_p(address))

    def sample(self):
        units = (ctypes.c_uint32 * 64)()
        return list(units[:self.library.function("sample")(self.handle, units)])

    def reference(self, addresses, expected, slack):
        pointers = (ctypes.c_void_p * len(addresses))(*addresses)
        self.library.function("reference")(self.handle, pointers, ctypes.c_void_p(expected),
                                           ctypes.c_void_p(slack))

    def prepare(self, kernels, addresses):
        """A function that enqueues one launch on a stream."""
        pointers = (ctypes.c_void_p * len(addresses))(*addresses)

        def call(stream):
            status = self.library.function("call")(self.handle, kernels, pointers, 0,
                                                   ctypes.c_void_p(stream))
            if status:
                leave(f"kprof's kernel cannot be launched: status {status}")
        return call


# ---- buffers ----

def dtype_of(work, buffer):
    if buffer.element_bytes == 1:
        return getattr(torch, NARROW.get(work.size("narrow"), "uint8"))
    return {2: torch.bfloat16, 4: torch.int32, 8: torch.int64}[buffer.element_bytes]


def shape_of(work, buffer):
    if buffer.is_shared:
        return (-1,)
    return (buffer.planes, work.units, -1) if buffer.planes > 1 else (work.units, -1)


def filled(work, number, device):
    """A buffer with its contents, as bytes; outputs hold NaN."""
    buffer = work.buffers[number]
    if buffer.is_output or not buffer.bytes:
        return torch.full((buffer.bytes,), 255, dtype=torch.uint8, device=device)
    pattern = torch.empty(buffer.fill_bytes, dtype=torch.uint8)
    work.fill(number, pattern.data_ptr())
    times = -(-buffer.bytes // buffer.fill_bytes)
    return pattern.to(device).repeat(times)[:buffer.bytes].contiguous()


def viewed(work, number, raw):
    buffer = work.buffers[number]
    if not buffer.bytes or (buffer.is_output and buffer.element_bytes == 1):
        return raw
    return raw.view(dtype_of(work, buffer)).view(shape_of(work, buffer))


def make_sets(work):
    """Buffers for as many launches as it takes to go round the cache: lists of bytes."""
    l2_bytes = torch.cuda.get_device_properties(torch.cuda.current_device()).L2_cache_size
    size = sum(buffer.bytes for buffer in work.buffers)
    first = [filled(work, number, "cuda") for number in range(len(work.buffers))]
    count = max(2, min(SETS_MOST, -(-COLD_L2 * l2_bytes // size)))
    return [first] + [[raw.clone() for raw in first] for _ in range(count - 1)]


def part(work, raw, number, units):
    """Some units of a buffer on the host, as bytes."""
    buffer = work.buffers[number]
    if buffer.is_shared or not buffer.bytes:
        return raw.cpu()
    rows = raw.view(buffer.planes, work.units, buffer.unit_bytes)
    return rows[:, torch.tensor(units, device=raw.device)].contiguous().cpu()


def expected_of(work, raws):
    """The units that kprof bench checks, and their result in float64; NaN where it is not known."""
    units = work.sample()
    some = work.some(len(units))
    host = []
    for number, buffer in enumerate(some.buffers):
        host.append(filled(some, number, "cpu") if buffer.is_whole
                    else part(work, raws[number], number, units))
    checked = some.buffers[some.checked]
    expected = torch.empty(checked.bytes // checked.element_bytes, dtype=torch.float64)
    slack = torch.empty_like(expected)
    some.reference([raw.data_ptr() for raw in host], expected.data_ptr(), slack.data_ptr())
    return units, expected.masked_fill(slack.isinf(), math.nan)


def error_of(work, result, units, expected):
    """The length of the error of those units over the length of the result; of indices how many of
    them are others."""
    dtype = dtype_of(work, work.buffers[work.checked])
    raw = result.to(dtype).contiguous().view(torch.uint8).view(-1)
    got = part(work, raw, work.checked, units).view(dtype).double().view(-1)
    known = ~expected.isnan()
    if not dtype.is_floating_point:
        return (got[known] != expected[known]).double().mean().item()
    return ((got[known] - expected[known]).norm() / expected[known].norm()).item()


# ---- the references: of an operator a list of (name, group, prepare) ----
# prepare(work, tensors) gives a function without arguments that returns the checked output, or
# None where it cannot do that shape.

def rms(x, weight):
    return functional.rms_norm(x, (x.shape[-1],), weight, EPS)


def add_rms(x, residual, weight):
    total = x + residual
    return rms(total, weight), total


def layer(x, weight, bias):
    return functional.layer_norm(x, (x.shape[-1],), weight, bias, EPS)


def sample(x, uniforms):
    """By sorting, as frameworks do; the draw itself goes through the columns in their order, as
    kprof's does, so that the same numbers give the same tokens."""
    ordered, columns = (x.float() / TEMPERATURE).sort(-1, descending=True)
    ordered[:, TOP_K:] = -math.inf
    parts = torch.softmax(ordered, -1)
    parts = parts.where(parts.cumsum(-1) - parts < TOP_P, 0)
    sums = torch.zeros_like(parts).scatter(-1, columns, parts).cumsum(-1)
    return (sums <= uniforms.view(torch.float32) * sums[:, -1:]).sum(-1)


# The function, and which buffers it takes.
EAGER = {
    "rmsnorm": (rms, (0, 1)),
    "add_rmsnorm": (add_rms, (0, 3, 1)),
    "layernorm": (layer, (0, 1, 3)),
    "silu_mul": (lambda x, up: functional.silu(x) * up, (0, 2)),
    "gelu_mul": (lambda x, up: functional.gelu(x, approximate="tanh") * up, (0, 2)),
    "gelu": (lambda x: functional.gelu(x), (0,)),
    "softmax": (lambda x: torch.softmax(x, -1), (0,)),
    "argmax": (lambda x: torch.argmax(x, -1), (0,)),
    "topk_topp_sample": (sample, (0, 3)),
}


def eager_of(operator, compiled):
    """One compiled function for all sets of a shape: `prepare` is asked for each."""
    function, inputs = EAGER[operator]
    of_shape = {}

    def prepare(work, tensors):
        chosen = [tensors[number] for number in inputs]
        if compiled and work not in of_shape:
            torch._dynamo.reset()
            of_shape[work] = torch.compile(function, dynamic=False)
        return lambda: of_shape.get(work, function)(*chosen)
    return prepare


def linear(multiply):
    def prepare(work, tensors):
        x = tensors[0].view(work.size("tokens"), work.size("inputs"))
        weight = tensors[1]
        if weight.dtype != torch.bfloat16:
            # Nobody has weights of 8 bits by themselves: they read the 16 that these stand for.
            scales = tensors[3].view(torch.float32)
            weight = (weight.to(torch.float32) * scales).bfloat16()
        return lambda: multiply(x, weight)
    return prepare


def attention(backend):
    def prepare(work, tensors):
        from torch.nn.attention import SDPBackend, sdpa_kernel
        if work.size("page_tokens") or work.size("varied") or work.size("narrow"):
            return None
        heads = work.size("head_dim")
        q = tensors[0].view(work.units, -1, 1, heads)
        k, v = (cache.view(work.units, work.size("keys"), -1, heads).transpose(1, 2)
                for cache in tensors[1:3])
        chosen = getattr(SDPBackend, backend)

        def call():
            with sdpa_kernel(chosen):
                return functional.scaled_dot_product_attention(q, k, v, enable_gqa=True)
        return call if is_usable(call) else None
    return prepare


def prefill(backend):
    def prepare(work, tensors):
        from torch.nn.attention import SDPBackend, sdpa_kernel
        rows, head = work.size("keys"), work.size("head_dim")
        q, k, v = (tensor.view(work.units, -1, rows, head) for tensor in tensors[:3])
        chosen, causal = getattr(SDPBackend, backend), bool(work.size("causal"))

        def call():
            with sdpa_kernel(chosen):
                return functional.scaled_dot_product_attention(q, k, v, is_causal=causal,
                                                               enable_gqa=q.shape[1] != k.shape[1])
        return call if is_usable(call) else None
    return prepare


def is_usable(call):
    try:
        call()
        torch.cuda.synchronize()
    except RuntimeError:
        return False
    return True


def references_of(operator):
    if operator == "linear_skinny":
        return [("eager", "torch", linear(lambda x, weight: functional.linear(x, weight))),
                ("cublas", "cublas", linear(lambda x, weight: torch.mm(x, weight.t())))]
    if operator == "attention_decode":
        return [("flash", "torch", attention("FLASH_ATTENTION")),
                ("efficient", "torch", attention("EFFICIENT_ATTENTION")),
                ("cudnn", "cudnn", attention("CUDNN_ATTENTION"))]
    if operator == "attention_prefill":
        return [("flash", "torch", prefill("FLASH_ATTENTION")),
                ("efficient", "torch", prefill("EFFICIENT_ATTENTION")),
                ("cudnn", "cudnn", prefill("CUDNN_ATTENTION"))]
    if operator in EAGER:
        return [("eager", "torch", eager_of(operator, False)),
                ("compile", "compile", eager_of(operator, True))]
    return []


def choose(operator, words):
    """Those of the groups in a list."""
    wanted = words.split(",")
    for word in wanted:
        if word not in GROUPS:
            leave(f"--against has no {word or 'empty word'}: {', '.join(GROUPS)}")
    chosen = [row for row in references_of(operator) if row[1] in wanted]
    if not chosen:
        groups = sorted({row[1] for row in references_of(operator)})
        leave(f"{operator} can be compared with {' and '.join(groups) or 'nothing'}, not with {words}")
    return chosen


# ---- time ----

def turns(names):
    """The order of measurement: forth and back, so that a drift concerns all alike."""
    return [*names, *reversed(names)] * ROUNDS


def times_of(values):
    """{median_us, least_us, most_us} of lists of a turn each."""
    every = sorted(value for turn in values for value in turn)
    return {"median_us": statistics.median(every), "least_us": every[0], "most_us": every[-1]}


def ratio_of(theirs, ours):
    """Their time over ours, turn by turn."""
    ratios = sorted(statistics.median(a) / statistics.median(b) for a, b in zip(theirs, ours))
    return {"median": statistics.median(ratios), "least": ratios[0], "most": ratios[-1]}


def graph_of(calls):
    """A graph of all calls. What they return stays alive with it: each has an output of its own."""
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        for call in calls[:2]:
            call()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=stream):
        graph.kept = [call() for call in calls]
    return graph


def replay_us(graph, nodes):
    times = []
    for _ in range(REPLAYS):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        graph.replay()
        end.record()
        end.synchronize()
        times.append(begin.elapsed_time(end) * 1e3 / nodes)
    return times[REPLAYS_FIRST:]


def around(calls, moved_bytes):
    least = NODES_LARGE if moved_bytes >= LARGE_BYTES else NODES_LEAST
    return calls * max(1, math.ceil(least / len(calls)))


def measure(ways, moved_bytes):
    """{name: lists of µs, one a turn} of {name: calls}."""
    nodes = {name: around(calls, moved_bytes) for name, calls in ways.items()}
    graphs = {name: graph_of(calls) for name, calls in nodes.items()}
    times = {name: [] for name in ways}
    for name in turns(list(ways)):
        times[name].append(replay_us(graphs[name], len(nodes[name])))
    return times


# ---- a shape ----

def ours_of(work, kernels, raws):
    call = work.prepare(kernels, [raw.data_ptr() for raw in raws])
    return lambda: call(torch.cuda.current_stream().cuda_stream)


def ways_of(work, kernels, chosen, sets):
    """{name: calls, one a set}; references that cannot do this are left out."""
    ways = {"ours": [ours_of(work, kernels, raws) for raws in sets]}
    views = [[viewed(work, number, raw) for number, raw in enumerate(raws)] for raws in sets]
    for name, _, prepare in chosen:
        calls = [prepare(work, tensors) for tensors in views]
        if all(calls):
            ways[name] = calls
    return ways


def errors_of(work, ways, raws):
    units, expected = expected_of(work, raws)
    errors = {}
    for name, calls in ways.items():
        result = calls[0]()
        torch.cuda.synchronize()
        if name == "ours":
            result = viewed(work, work.checked, raws[work.checked])
        errors[name] = error_of(work, result[0] if isinstance(result, tuple) else result, units,
                                expected)
    return errors


def row_of(work, kernels, chosen):
    sets = make_sets(work)
    ways = ways_of(work, kernels, chosen, sets)
    errors = errors_of(work, ways, sets[0])
    cold = measure(ways, work.moved_bytes)
    hot = measure({name: calls[:1] for name, calls in ways.items()}, work.moved_bytes)
    return {"ours_cold": times_of(cold["ours"]), "ours_hot": times_of(hot["ours"]),
            "error": errors["ours"], "references": [
                {"name": name, "group": group, "cold": times_of(cold[name]),
                 "hot": times_of(hot[name]), "cold_ratio": ratio_of(cold[name], cold["ours"]),
                 "hot_ratio": ratio_of(hot[name], hot["ours"]), "error": errors[name]}
                for name, group, _ in chosen if name in ways]}


def run(arguments, chosen):
    torch.cuda.set_device(arguments.device)
    torch.zeros(1, device="cuda")
    library = Library(arguments.library)
    kernels = library.kernels()
    if not kernels:
        leave("kprof's kernels cannot be loaded beside PyTorch")
    sms = torch.cuda.get_device_properties(arguments.device).multi_processor_count
    for shape in arguments.shapes:
        work = Work.create(library, arguments.operator, shape, sms)
        try:
            row = row_of(work, kernels, chosen)
        except torch.cuda.OutOfMemoryError:
            leave(f"{arguments.operator} of {shape} and its references need more memory than the "
                  "GPU has free")
        print(json.dumps({"shape": shape, **row}), flush=True)
        torch.cuda.empty_cache()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("library")
    parser.add_argument("operator")
    parser.add_argument("--against", required=True)
    parser.add_argument("--check", action="store_true", help="say what is missing, measure nothing")
    parser.add_argument("--device", type=int, default=0)
    parser.add_argument("shapes", nargs="*")
    arguments = parser.parse_intermixed_args()
    chosen = choose(arguments.operator, arguments.against)
    if not torch:
        leave(f"--against needs PyTorch, which {sys.executable} does not have: install it there, or "
              "name a Python that has it in KPROF_PYTHON")
    if not torch.cuda.is_available():
        leave(f"the PyTorch of {sys.executable} sees no GPU")
    if not arguments.check:
        run(arguments, chosen)


if __name__ == "__main__":
    main()
