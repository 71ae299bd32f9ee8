#!/usr/bin/env python3
"""A PyTorch program that profiles itself with torch.profiler, twice, between work that it does not.

stdout holds what must be the same with and without kprof, as JSON: for each session the calls of
every kernel and the number of copies and sets, and whether each kernel has the call that launched
it. --times FILE gets what may differ a little: by how much a kernel begins before its launch, or
lies outside its session, at worst, in microseconds.
"""

import argparse
import collections
import json
import tempfile
from pathlib import Path

import torch
from torch.profiler import ProfilerActivity, profile

SESSIONS = 2
LAUNCHES = ("cuda_runtime", "cuda_driver")
GPU_WORK = ("kernel", "gpu_memcpy", "gpu_memset")


def work(size=512, rounds=20):
    x = torch.randn(size, size, device="cuda")
    y = torch.zeros_like(x)
    for _ in range(rounds):
        y = torch.softmax(x @ y + x, dim=-1)
        y.cpu()
    torch.cuda.synchronize()
    return y


def events_of(trace):
    """The complete events of a Chrome trace, by category."""
    found = collections.defaultdict(list)
    for event in json.loads(trace.read_text())["traceEvents"]:
        if event.get("ph") == "X":
            found[event.get("cat", "")].append(event)
    return found


def correlation(event):
    return event.get("args", {}).get("correlation")


def describe(found):
    """The facts of a session, and its worst times."""
    calls = {correlation(event): event for category in LAUNCHES for event in found[category]}
    window = [event for event in found["user_annotation"] if event["name"] == "session"]
    begin, end = window[0]["ts"], window[0]["ts"] + window[0]["dur"]
    work_done = [event for category in GPU_WORK for event in found[category]]
    linked = [event for event in work_done if correlation(event) in calls]
    facts = {
        "kernels": dict(sorted(collections.Counter(e["name"] for e in found["kernel"]).items())),
        "copies": len(found["gpu_memcpy"]),
        "sets": len(found["gpu_memset"]),
        "without_launch": len(work_done) - len(linked),
    }
    early_us = max((calls[correlation(e)]["ts"] - e["ts"] for e in linked), default=0)
    outside_us = max(max(begin - e["ts"], e["ts"] + e["dur"] - end) for e in work_done)
    return facts, {"early_us": early_us, "outside_us": outside_us}


def session(folder, number):
    trace = Path(folder) / f"{number}.json"
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as profiler:
        with torch.profiler.record_function("session"):
            work()
    profiler.export_chrome_trace(str(trace))
    return describe(events_of(trace))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--times", type=Path)
    args = parser.parse_args()
    torch.manual_seed(1)
    work()
    facts, times = [], []
    with tempfile.TemporaryDirectory() as folder:
        for number in range(SESSIONS):
            fact, worst = session(folder, number)
            facts.append(fact)
            times.append(worst)
            work()
    print(json.dumps(facts, indent=1))
    if args.times:
        args.times.write_text(json.dumps(times))


if __name__ == "__main__":
    main()
