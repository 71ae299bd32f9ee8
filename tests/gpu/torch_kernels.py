"""What PyTorch's operators take at the shapes of kprof bench, as JSON: {operator: {shape: {how: µs}}}.

As kprof bench measures its own: bf16 of random numbers, buffers that rotate through four times the L2
cache, one CUDA graph of all of them, the median of 21 replays. Ends with 77 where PyTorch sees no GPU.
"""

import json
import sys

try:
    import torch
    from torch.nn import functional
except ImportError:
    sys.exit(77)

SETS_MOST = 512
COLD_L2 = 4
SHAPES = {
    "rmsnorm": ((8, 4096), (64, 8192), (1024, 2048), (1024, 8192), (4096, 4096), (16384, 4096),
                (16384, 8192), (4096, 16384)),
    "add_rmsnorm": ((8, 4096), (1024, 8192), (4096, 4096), (16384, 8192)),
    "layernorm": ((8, 4096), (1024, 8192), (4096, 4096), (16384, 8192)),
    "silu_mul": ((8, 14336), (1024, 8192), (4096, 14336), (16384, 14336)),
    "gelu_mul": ((8, 14336), (4096, 14336)),
    "gelu": ((8, 14336), (4096, 14336)),
    "softmax": ((32, 4096), (65536, 1024), (8192, 8192), (4096, 32768)),
}


def rms(x, weight):
    return functional.rms_norm(x, (x.shape[-1],), weight, 1e-5)


def add_rms(x, residual, weight):
    total = x + residual
    return total, rms(total, weight)


# The function, how many arrays of rows × columns it takes, how many it writes, how many weights.
WORK = {
    "rmsnorm": (rms, 1, 1, 1),
    "add_rmsnorm": (add_rms, 2, 2, 1),
    "layernorm": (lambda x, weight, bias: functional.layer_norm(x, (x.shape[-1],), weight, bias, 1e-5),
                  1, 1, 2),
    "silu_mul": (lambda x, up: functional.silu(x) * up, 2, 1, 0),
    "gelu_mul": (lambda x, up: functional.gelu(x, approximate="tanh") * up, 2, 1, 0),
    "gelu": (functional.gelu, 1, 1, 0),
    "softmax": (lambda x: torch.softmax(x, -1), 1, 1, 0),
}


def graph_us(function, sets):
    """µs of one call. Outputs stay alive until the graph is captured, so that each has its own."""
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        for arguments in sets[:2]:
            function(*arguments)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    calls = sets if len(sets) >= 20 else [sets[i % len(sets)] for i in range(20)]
    with torch.cuda.graph(graph, stream=stream):
        kept = [function(*arguments) for arguments in calls]
    times = []
    for replay in range(26):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        graph.replay()
        end.record()
        end.synchronize()
        if replay >= 5:
            times.append(begin.elapsed_time(end) * 1e3 / len(calls))
    del kept
    return sorted(times)[10]


def measure(name, rows, columns):
    function, inputs, outputs, weights = WORK[name]
    l2_bytes = torch.cuda.get_device_properties(0).L2_cache_size
    set_bytes = 2 * rows * columns * (inputs + outputs)
    count = max(2, min(SETS_MOST, -(-COLD_L2 * l2_bytes // set_bytes)))
    sets = [[*(torch.randn(rows, columns, device="cuda").bfloat16() for _ in range(inputs)),
             *(torch.randn(columns, device="cuda").bfloat16() for _ in range(weights))]
            for _ in range(count)]
    torch._dynamo.reset()
    compiled = torch.compile(function, dynamic=False)
    return {"eager": graph_us(function, sets), "compile": graph_us(compiled, sets)}


def main():
    if not torch.cuda.is_available():
        sys.exit(77)
    results = {name: {f"{rows}x{columns}": measure(name, rows, columns) for rows, columns in shapes}
               for name, shapes in SHAPES.items()}
    json.dump(results, sys.stdout, indent=1)


if __name__ == "__main__":
    main()
