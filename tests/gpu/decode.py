#!/usr/bin/env python3
"""linear_skinny and attention_decode against cuBLAS and PyTorch's attention, in the same run.

  decode.py LIBRARY linear|attention [--budget SECONDS]

Each shape is checked first: fresh random data, outputs poisoned with NaN, twice for the same bits, and
against float64, where the error may be twice that of the library. Then it is timed: in CUDA graphs,
over buffers that rotate through four times the L2 cache, in the order ABBA. `chain`: with dependent
launches. Prints JSON, a row a shape; shapes that the budget has no time for are named. Ends with 77
where PyTorch sees no GPU.
"""

import argparse
import ctypes
import json
import math
import sys
import time

try:
    import torch
    from torch.nn import functional
    from torch.nn.attention import SDPBackend, sdpa_kernel
except ImportError:
    sys.exit(77)

TYPES = {torch.bfloat16: 0, torch.float16: 1, torch.float8_e4m3fn: 3, torch.int8: 4}
COLD_L2 = 4
SETS_MOST = 64
NODES_LEAST = 20
REPLAYS = 15
# Outputs × inputs of the targets; tokens; types of the weight.
LINEAR = [(m, n, k, "bf16") for n, k in ((4096, 4096), (14336, 4096), (4096, 14336), (28672, 8192),
                                         (128256, 4096)) for m in (1, 2, 4, 8, 16)]
LINEAR += [(m, 14336, 4096, w) for w in ("e4m3", "int8") for m in (1, 8, 16)]
LINEAR += [(1, 1024, 4096, "bf16"), (8, 1024, 4096, "bf16"), (1, 64, 65536, "bf16")]
# Batch, query heads, key heads, keys, head; page (0: contiguous), whether lengths vary, cache.
ATTENTION = [(32, 32, 8, 4096, 128, 0, False, "bf16"), (64, 32, 32, 2048, 128, 0, False, "bf16"),
             (1, 32, 8, 32768, 128, 0, False, "bf16"), (128, 64, 8, 8192, 128, 0, False, "bf16"),
             (32, 32, 8, 4096, 128, 16, False, "bf16"), (64, 32, 8, 8192, 128, 16, True, "bf16"),
             (32, 32, 8, 4096, 128, 0, False, "e4m3"), (1, 32, 8, 4096, 64, 0, False, "bf16"),
             (32, 16, 16, 4096, 256, 0, False, "bf16"), (1, 64, 4, 32768, 128, 0, False, "bf16")]
WIDE = {"bf16": torch.bfloat16, "e4m3": torch.float8_e4m3fn, "int8": torch.int8}


class Library:
    """The functions of decode_library.c."""

    def __init__(self, path):
        self.code = ctypes.CDLL(path)
        self.code.decode_open.restype = ctypes.c_void_p
        for name in ("linear", "attention"):
            getattr(self.code, f"decode_{name}_workspace").restype = ctypes.c_uint64
        self.kernels = ctypes.c_void_p(self.code.decode_open())
        if not self.kernels:
            sys.exit("the kernels cannot be loaded")

    def prepare(self, name, tensors, sizes, types, scale=()):
        """A function that enqueues one launch; its workspace lives with it."""
        arrays = ((ctypes.c_void_p * (len(tensors) + 1))(
                      *(None if t is None else t.data_ptr() for t in tensors)),
                  (ctypes.c_uint32 * len(sizes))(*sizes), (ctypes.c_uint32 * 2)(*types))
        size = getattr(self.code, f"decode_{name}_workspace")(self.kernels, *arrays)
        workspace = torch.full((size // 4 + 4,), math.nan, device="cuda")
        arrays[0][len(tensors)] = workspace.data_ptr()
        extra = [ctypes.c_float(value) for value in scale]

        def call(dependent=False):
            stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
            status = getattr(self.code, f"decode_{name}")(self.kernels, *arrays, *extra,
                                                          int(dependent), stream)
            if status:
                sys.exit(f"{name}: status {status}")
            return workspace
        return call


def random(*shape, dtype=torch.bfloat16):
    if dtype == torch.int8:
        return torch.randint(-127, 128, shape, device="cuda", dtype=torch.int8)
    return torch.randn(*shape, device="cuda", dtype=torch.bfloat16).to(dtype)


def graph_of(calls):
    """A graph of all calls. What they return stays alive with it."""
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
    return sorted(times[3:])


def measure(ways):
    """{name: {median, least, most}} of lists of calls, in the order ABBA."""
    graphs = {name: graph_of(calls) for name, calls in ways.items()}
    times = {name: [] for name in ways}
    for name in [*graphs, *reversed(graphs)]:
        times[name] += replay_us(graphs[name], len(ways[name]))
    return {name: {"median_us": sorted(values)[len(values) // 2], "least_us": min(values),
                   "most_us": max(values)} for name, values in times.items()}


def sets_for(size):
    l2_bytes = torch.cuda.get_device_properties(0).L2_cache_size
    return max(2, min(SETS_MOST, -(-COLD_L2 * l2_bytes // size)))


def around(calls):
    return [calls[i % len(calls)] for i in range(max(NODES_LEAST if len(calls) > 2 else 4,
                                                     len(calls)))]


def error(got, want):
    return ((got.double() - want).norm() / want.norm()).item()


def run_twice(call, out):
    """The result on a poisoned output, and whether a second time gives the same bits."""
    results = []
    for _ in range(2):
        out.fill_(math.nan)
        call()
        torch.cuda.synchronize()
        results.append(out.clone())
    return results[0], torch.equal(*(part.view(torch.int16) for part in results))


def judged(got, want, library, same_bits):
    """`library`: the result of the library, or None: then an error of 1 % is allowed."""
    ours = error(got, want)
    theirs = None if library is None else error(library, want)
    return {"error": ours, "library_error": theirs, "same_bits": same_bits,
            "is_right": ours <= (0.01 if theirs is None else 2 * theirs)}


def linear(library, shape):
    tokens, outputs, inputs, kind = shape
    size = outputs * inputs * (2 if kind == "bf16" else 1)
    ours, theirs, chain, kept = [], [], [], []
    for _ in range(sets_for(size)):
        x, weight = random(tokens, inputs), random(outputs, inputs, dtype=WIDE[kind])
        scale = torch.rand(outputs, device="cuda") / 64
        y = torch.empty(tokens, outputs, device="cuda", dtype=torch.bfloat16)
        call = library.prepare("linear", [x, weight, None if kind == "bf16" else scale, y],
                               [tokens, outputs, inputs], [0, TYPES[WIDE[kind]]])
        kept.append((x, weight, scale, y))
        ours.append(call)
        chain.append(lambda call=call: call(dependent=True))
        # cuBLAS has no weights of 8 bits by themselves: there it reads 16.
        wide = weight if kind == "bf16" else weight.to(torch.bfloat16)
        theirs.append(lambda x=x, wide=wide: functional.linear(x, wide))
    x, weight, scale, y = kept[0]
    want = x.double() @ weight.to(torch.float32).double().T
    own = theirs[0]()
    if kind != "bf16":
        want, own = want * scale.double(), (own.float() * scale).bfloat16()
    got, same_bits = run_twice(ours[0], y)
    row = judged(got, want, own, same_bits)
    del want, own
    row["times"] = measure({"ours": around(ours), "chain": around(chain), "cublas": around(theirs)})
    return {**row, "bytes": size + 2 * tokens * (inputs + outputs)}


def attention_set(shape):
    batch, q_heads, kv_heads, keys, head, page, varies, kind = shape
    q = random(batch, 1, q_heads, head)
    tokens = page or keys
    pages = batch * (keys // tokens)
    k, v = (random(pages, tokens, kv_heads, head, dtype=WIDE[kind]) for _ in range(2))
    lengths = torch.full((batch,), keys, device="cuda", dtype=torch.int32)
    if varies:
        lengths = torch.randint(1, keys + 1, (batch,), device="cuda", dtype=torch.int32)
    table = torch.randperm(pages, device="cuda").int().view(batch, -1) if page else None
    return q, k, v, torch.empty_like(q), lengths, table


def sequence(cache, table, number, length):
    """Keys or values of a sequence: heads × keys × elements, in float64."""
    rows = cache[number] if table is None else cache[table[number].long()].flatten(0, 1)
    return rows[:length].to(torch.float32).double().transpose(0, 1)


def attention_want(tensors, number):
    q, k, v, _, lengths, table = tensors
    keys, values = (sequence(c, table, number, int(lengths[number])) for c in (k, v))
    group = q.shape[2] // k.shape[2]
    keys, values = (part.repeat_interleave(group, 0) for part in (keys, values))
    scores = (q[number, 0].double()[:, None] @ keys.transpose(1, 2)) / math.sqrt(q.shape[3])
    return (scores.softmax(-1) @ values)[:, 0]


def sdpa(tensors, backend):
    q, k, v = (part.transpose(1, 2) for part in tensors[:3])

    def call():
        with sdpa_kernel(backend):
            return functional.scaled_dot_product_attention(q, k, v, enable_gqa=True)
    return call


def usable(call):
    try:
        call()
        torch.cuda.synchronize()
    except RuntimeError:
        return False
    return True


def attention(library, shape):
    batch, q_heads, kv_heads, keys, head, page, varies, kind = shape
    size = 2 * batch * kv_heads * keys * head * (2 if kind == "bf16" else 1)
    sets = [attention_set(shape) for _ in range(sets_for(size))]
    sizes = [batch, 1, q_heads, kv_heads, head, page or keys, keys, keys // page if page else 1]
    ours = [library.prepare("attention", tensors, sizes, [0, TYPES[WIDE[kind]]],
                            [1 / math.sqrt(head)]) for tensors in sets]
    chain = [lambda call=call: call(dependent=True) for call in ours]
    ways = {"ours": around(ours), "chain": around(chain)}
    if not page and not varies and kind == "bf16":
        for name, backend in (("flash", SDPBackend.FLASH_ATTENTION),
                              ("cudnn", SDPBackend.CUDNN_ATTENTION)):
            calls = [sdpa(tensors, backend) for tensors in sets]
            if usable(calls[0]):
                ways[name] = around(calls)
    some = sorted({0, batch // 2, batch - 1})
    want = torch.stack([attention_want(sets[0], number) for number in some])
    flash = ways["flash"][0]().transpose(1, 2)[some, 0] if "flash" in ways else None
    got, same_bits = run_twice(ours[0], sets[0][3])
    row = judged(got[some, 0], want, flash, same_bits)
    row["times"] = measure(ways)
    read = sum(int(t[4].sum()) for t in sets) / len(sets) * 2 * kv_heads * head
    return {**row, "bytes": int(read * (2 if kind == "bf16" else 1))}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("library")
    parser.add_argument("what", choices=("linear", "attention"))
    parser.add_argument("--budget", type=float, default=110)
    arguments = parser.parse_args()
    if not torch.cuda.is_available():
        sys.exit(77)
    torch.cuda.init()
    torch.zeros(1, device="cuda")
    library = Library(arguments.library)
    work, shapes = {"linear": (linear, LINEAR), "attention": (attention, ATTENTION)}[arguments.what]
    rows, late, until = [], [], time.monotonic() + arguments.budget
    for shape in shapes:
        if time.monotonic() > until:
            late.append(list(shape))
            continue
        rows.append({"shape": list(shape), **work(library, shape)})
        torch.cuda.empty_cache()
    json.dump({"rows": rows, "not_measured": late}, sys.stdout, indent=1)


if __name__ == "__main__":
    main()
