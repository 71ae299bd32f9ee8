"""The checks of --host: calls that launch, tied to kernels, on a real GPU; rows of checks.py."""

import re

from compare import median
from runner import Check, require

SHAPES = {"eager": [], "graph": ["--graph"], "streams": ["--streams", "4"]}
EMPTY = ["--empty", "200000"]
RUNS = 3


def account(seen):
    """Every call is there, every kernel is tied to one; a few words."""
    host = seen.document["host"]
    require(host is not None, "no host side in the report")
    counts = seen.document["counts"]
    calls = counts["kernels"] - counts["kernels_in_graphs"] + host["graph_launch_calls"]
    require(host["launch_calls_lost"] == 0, f"{host['launch_calls_lost']} calls lost")
    require(host["launch_calls"] == calls, f"{host['launch_calls']} calls recorded, {calls} made")
    require(host["kernels_tied"] == seen.issued and host["kernels_untied"] == 0,
            f"{host['kernels_tied']} kernels tied, {host['kernels_untied']} not, "
            f"{seen.issued} issued")
    return f"{calls} calls ({host['graph_launch_calls']} of graphs), {seen.issued} kernels tied"


def queue_times(seen):
    """No kernel waits longer than the program lasts, and most start within it."""
    for row in seen.document["kernels"]:
        if row["queue_max_ns"] is not None:
            require(row["queue_max_ns"] <= seen.span_ns + 1e9,
                    f"{row['name']} waited {row['queue_max_ns']} ns in {seen.span_ns}")


def rows(sample, record_with, need_torch, torch):
    """The rows of checks.py; the arguments are its functions and its command for PyTorch."""
    def tied(options):
        def check(bench):
            _, seen = record_with(bench, ["--host"], [sample(bench, "llm_decode"), "--steps", "32",
                                                      *options])
            queue_times(seen)
            return account(seen)
        return check

    def tied_torch(options):
        def check(bench):
            need_torch(bench)
            _, seen = record_with(bench, ["--host"], [*torch, *options])
            queue_times(seen)
            return account(seen)
        return check

    def times(bench):
        """The call is most of what a launch takes bare, and not more than it takes under kprof."""
        def issue_ns(ran):
            return float(re.search(r"empty: ([\d.]+) ns", ran.stderr.decode())[1])

        argv = [sample(bench, "spin"), *EMPTY]
        bare = median(issue_ns(bench.run(argv)) for _ in range(RUNS))
        plain = median(issue_ns(record_with(bench, [], argv)[0]) for _ in range(RUNS))
        timed, calls = [], []
        for _ in range(RUNS):
            ran, seen = record_with(bench, ["--host"], argv)
            host = seen.document["host"]
            account(seen)
            timed.append(issue_ns(ran))
            calls.append(host["launch_call_total_ns"] / host["launch_calls"])
        took, call = median(timed), median(calls)
        words = (f"bare {bare:.0f} ns a launch, kprof {plain:.0f}, --host {took:.0f}, of which "
                 f"{call:.0f} in the call")
        require(0.4 * bare <= call <= 1.05 * took, f"{words}: that cannot be")
        require(took - plain <= 1000, f"{words}: --host adds more than 1000 ns")
        return words

    return [
        *[Check(f"host-{shape}", 180, tied(options), "--host: every call recorded and tied"
                if shape == "eager" else f"the same, {shape}")
          for shape, options in SHAPES.items()],
        Check("host-torch", 300, tied_torch([]), "the same, PyTorch eager"),
        Check("host-torch-graph", 300, tied_torch(["--graph"]), "the same, PyTorch in a CUDA graph"),
        Check("host-times", 300, times, "--host: a call takes what a launch takes"),
    ]
