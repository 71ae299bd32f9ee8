"""The checks of shapes: products that llm_decode asks of cuBLAS, on a real GPU; rows of checks.py."""

import re

from runner import Check, require

STEPS = 32


def sizes(ran):
    """The program's own words about its model and run."""
    words = ran.stdout.decode()
    model = re.search(r"model layers (\d+) width (\d+) heads (\d+) ffn (\d+) vocab (\d+)", words)
    batch = re.search(r"run batch (\d+)", words)
    require(model and batch, "the program does not say its sizes")
    layers, width, _, ffn, vocab = map(int, model.groups())
    return layers, width, ffn, vocab, int(batch[1])


def product_shapes(seen):
    """{(m, n, k): launches} of single products; the time of operators that calls explain, percent."""
    shapes, time_ns, called_ns = {}, 0, 0
    for row in seen.document["operators"]:
        if row["name"] not in ("gemm", "gemv"):
            continue
        time_ns += row["total_ns"]
        called_ns += row["total_ns"] * row["stability"]["library_calls_pct"] / 100
        for shape in row["stability"]["shapes"]:
            if shape["source"] == "library call" and shape["batch"] == 1:
                shapes[shape["m"], shape["n"], shape["k"]] = shape
    require(time_ns > 0, "no products in the report")
    return shapes, 100 * called_ns / time_ns


def decode_shapes(ran):
    """What cuBLAS is asked for in a step: column-major, so m is what a layer gives."""
    _, width, ffn, vocab, batch = sizes(ran)
    return [(width, batch, width), (ffn, batch, width), (width, batch, ffn), (vocab, batch, width)]


def rows(sample, record_with):
    """The rows of checks.py; the arguments are its functions."""
    def shapes(options):
        def check(bench):
            argv = [sample(bench, "llm_decode"), "--steps", str(STEPS), *options]
            ran, seen = record_with(bench, [], argv)
            found, called_pct = product_shapes(seen)
            require(called_pct >= 95, f"calls explain {called_pct:.1f} % of the products' time")
            missing = [shape for shape in decode_shapes(ran) if shape not in found]
            require(not missing, f"shapes (m, n, k) that are not there: {missing}")
            return f"calls explain {called_pct:.1f} % of the products' time, {len(found)} shapes"
        return check

    def waste(bench):
        """Weights of a step are far more than L2 holds: each product reads them once."""
        argv = [sample(bench, "llm_decode"), "--steps", "512"]
        ran, seen = record_with(bench, ["--counters", "on"], argv)
        found, _ = product_shapes(seen)
        told = {shape: found[shape]["waste"] for shape in decode_shapes(ran)
                if shape in found and found[shape]["waste"] is not None}
        require(told, "no product has a waste")
        require(all(0.9 <= value <= 1.3 for value in told.values()), f"waste by shape: {told}")
        return ", ".join(f"{shape}: {value:.2f}" for shape, value in told.items())

    return [
        Check("shapes-eager", 180, shapes([]), "llm_decode: m, n, k of every product of a step"),
        Check("shapes-graph", 180, shapes(["--graph"]), "the same, CUDA graph"),
        Check("shapes-waste", 300, waste, "bytes of weight-bound products ÷ modelled: 0.9 to 1.3"),
    ]
