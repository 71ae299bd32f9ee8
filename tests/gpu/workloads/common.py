"""What the workloads share: options, the steady part that is looked at, and its kernels' counts.

A workload builds a model of random weights, warms it up, and runs the part that counts within an
NVTX range called `steady`, so that `kprof record --range steady` records just that. With
--profile FILE the same part runs under torch.profiler instead, and {kernel: calls} is written to
FILE: what kprof's counts are compared with.
"""

import argparse
import collections
import contextlib
import json
import tempfile
from pathlib import Path

import torch


def parser(about):
    out = argparse.ArgumentParser(description=about)
    out.add_argument("--device", choices=("cuda", "cpu"), default="cuda",
                     help="cpu only tries the program out, with a tiny model")
    out.add_argument("--profile", metavar="FILE", help="torch.profiler's kernels as JSON")
    return out


def synchronize(args):
    if args.device == "cuda":
        torch.cuda.synchronize()


def write_counts(profiler, path):
    """Copies and fills are not kernels."""
    with tempfile.TemporaryDirectory() as folder:
        trace = Path(folder) / "trace.json"
        profiler.export_chrome_trace(str(trace))
        events = json.loads(trace.read_text())["traceEvents"]
    calls = collections.Counter(e["name"] for e in events if e.get("cat") == "kernel")
    Path(path).write_text(json.dumps(calls, indent=1, sort_keys=True) + "\n")


@contextlib.contextmanager
def steady(args):
    """The part that counts."""
    synchronize(args)
    if args.device == "cpu":
        yield
        return
    watching = contextlib.nullcontext()
    if args.profile:
        watching = torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA])
    with watching as profiler:
        torch.cuda.nvtx.range_push("steady")
        yield
        torch.cuda.synchronize()
        torch.cuda.nvtx.range_pop()
    if args.profile:
        write_counts(profiler, args.profile)
