"""The checks of library calls: what cuBLAS was asked for, tied to kernels, on a real GPU; rows of
checks.py."""

import json
import re
import sys

from runner import Check, require

# One product of each kind; sizes that no other has. Prints nothing.
PRODUCTS = """
import torch
torch.backends.cuda.matmul.allow_tf32 = False
device = torch.device("cuda")
half = lambda *shape: torch.randn(*shape, device=device, dtype=torch.bfloat16)
weights, x, bias = half(1536, 1024), half(48, 1024), half(1536)
batch_a, batch_b = half(6, 80, 96), half(6, 96, 112)
single_a = torch.randn(160, 176, device=device)
single_b = torch.randn(176, 192, device=device)
def step():
    torch.nn.functional.linear(x, weights, bias)
    x @ weights.t()
    torch.bmm(batch_a, batch_b)
    single_a @ single_b
for _ in range(3):
    step()
torch.cuda.synchronize()
if GRAPH:
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        step()
    for _ in range(20):
        graph.replay()
else:
    for _ in range(20):
        step()
torch.cuda.synchronize()
"""
PRODUCT = re.compile(r"gemm|nvjet|cutlass|splitK|gemv", re.IGNORECASE)


def tied_share(bench, record_with, argv):
    """What kprof info says of the calls; kernels in calls that are tied, and kernels of products."""
    trace = bench.folder / f"{bench.count + 1:02d}.kprof"
    _, seen = record_with(bench, [], argv)
    ran = bench.run([bench.build / "kprof", "info", "--format", "json", trace])
    said = json.loads(ran.stdout)["library_calls"]
    products = sum(row["calls"] for row in seen.document["kernels"]
                   if PRODUCT.search(row["mangled_name"]))
    tied = said["launches_tied"] + said["graph_kernels_tied"]
    require(said["launches_lost"] == 0, f"{said['launches_lost']} launches lost")
    require(said["launches_tied"] == said["launches"],
            f"{said['launches_tied']} of {said['launches']} launches in calls tied")
    require(tied >= 0.98 * products > 0, f"{tied} launches tied, {products} kernels of products")
    return said, f"{said['calls']} calls, {tied} launches tied, {products} kernels of products"


def rows(record_with, need_torch, torch):
    """The rows of checks.py; the arguments are its functions and its command for PyTorch."""
    def products(graph):
        def check(bench):
            need_torch(bench)
            said, words = tied_share(bench, record_with, [
                sys.executable, "-c", f"GRAPH = {graph}\n{PRODUCTS}"])
            require(said["calls"] >= 4 * (4 if graph else 23), f"{said['calls']} calls seen")
            if graph:
                require(said["graph_kernels_tied"] >= 20 * said["graph_nodes"] > 0,
                        f"{said['graph_kernels_tied']} kernels of {said['graph_nodes']} nodes")
            return words
        return check

    def decode(options):
        def check(bench):
            need_torch(bench)
            return tied_share(bench, record_with, [*torch, *options])[1]
        return check

    return [
        Check("calls-products", 300, products(False), "kernels of cuBLAS have their call: eager"),
        Check("calls-products-graph", 300, products(True), "the same, in a CUDA graph"),
        Check("calls-decode", 300, decode([]), "the same, PyTorch decode"),
        Check("calls-decode-graph", 300, decode(["--graph"]), "the same, PyTorch decode in a graph"),
    ]
