#!/usr/bin/env python3
"""Stands for the Python that kprof bench --against runs: says what it was asked, prints what
KP_STUB asks for: good, none, short, garbage, status, said or signal."""

import json
import os
import signal
import sys


def times(us):
    return {"median_us": us, "least_us": us - 0.5, "most_us": us + 0.5}


def ratio(value):
    return {"median": value, "least": value - 0.25, "most": value + 0.25}


def row(shape, count):
    return {"shape": shape, "ours_cold": times(10), "ours_hot": times(8), "error": 0.001,
            "references": [{"name": f"other{i}", "group": "torch", "cold": times(15 + i),
                            "hot": times(9), "cold_ratio": ratio(1.5 + i), "hot_ratio": ratio(1.125),
                            "error": 0.002} for i in range(count)]}


words = sys.argv[1:]
print("asked:", *words[3:], file=sys.stderr)
how = os.environ["KP_STUB"]
shapes = words[words.index("--device") + 2:] if "--device" in words else []
if how == "said":
    print("kprof: no such thing here", file=sys.stderr)
    sys.exit(3)
if shapes:
    if how == "signal":
        os.kill(os.getpid(), signal.SIGKILL)
    if how == "status":
        sys.exit(7)
    print("PyTorch says something of its own")
    for shape in shapes[:-1] if how == "short" else shapes:
        line = row(shape, 0 if how == "none" else 2)
        if how == "garbage":
            line["references"][1]["cold"]["least_us"] = 99
        print(json.dumps(line), flush=True)
