#!/usr/bin/env python3
"""Judges what kprof says of memory traffic on recordings whose truth is known; see README.md here.

    judge.py KPROF      one line a recording; status 1 where less holds than did when it was added
"""

import json
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
NEAR_BYTES = 0.2e6
NCU_CALLS = 500  # launches that make a shape one to be judged
# recording: (truth, part that reads may be off, told at least, of these right, of these covered)
RECORDINGS = {
    "torch_decode_counters": ("torch_decode_ncu", 0.02, 18, 18, 18),
    "torch_decode_graph_counters": ("torch_decode_ncu", 0.02, 13, 13, 13),
    "traffic_alternating": ("traffic_alternating", 0.02, 21, 21, 21),
    "traffic_alternating_3": ("traffic_alternating_3", 0.02, 21, 19, 20),
    "traffic_graph": ("traffic_graph", 0.05, 21, 20, 21),
    "traffic_graph_4": ("traffic_graph_4", 0.05, 21, 20, 20),
    "traffic_streams": ("traffic_streams", 0.05, 21, 20, 21),
    "traffic_streams_3": ("traffic_streams_3", 0.05, 18, 16, 17),
    "traffic_streams_again": ("traffic_streams_again", 0.05, 21, 20, 20),
}


def shapes_of(kprof, name):
    ran = subprocess.run([kprof, "report", "--format", "json", HERE / f"{name}.kprof"],
                         capture_output=True, check=True)
    return [{**shape, "mangled_name": kernel["mangled_name"]}
            for kernel in json.loads(ran.stdout)["kernels"] for shape in kernel["shapes"]]


def by_ncu(lines):
    """Of a shape: bytes read, by kernel, grid and block; None where ncu saw none."""
    truth = {}
    for line in lines:
        value, grid, block, name = line.split(" ", 3)
        truth[name, grid, block] = float(value)

    def of(shape):
        key = (shape["mangled_name"], ",".join(map(str, shape["grid_blocks"])),
               ",".join(map(str, shape["block_threads"])))
        return truth.get(key) if shape["timed_calls"] >= NCU_CALLS else None
    return of


def by_calls(lines):
    """The same, by the number of launches, of what tests/gpu/traffic_program.py printed."""
    truth = {int(line.split()[1]): float(line.split()[2]) for line in lines}
    return lambda shape: truth.get(shape["timed_calls"])


def judge(kprof, name, truth_name, part):
    lines = (HERE / f"{truth_name}.txt").read_text().splitlines()
    truth = by_calls(lines) if lines[0].startswith("kernel ") else by_ncu(lines)
    told = right = covered = 0
    for shape in shapes_of(kprof, name):
        known, value = truth(shape), shape["dram_read_bytes_per_call"]
        if known is None or value is None:
            continue
        told += 1
        right += abs(value - known) <= max(part * known, NEAR_BYTES)
        covered += abs(value - known) <= shape["dram_read_bytes_per_call_ci95"]
    return told, right, covered


def main():
    failed = False
    for name, (truth, part, *least) in RECORDINGS.items():
        seen = judge(sys.argv[1], name, truth, part)
        bad = any(a < b for a, b in zip(seen, least))
        failed |= bad
        print(f"{'FAIL' if bad else 'ok  '} {name}: {seen[0]} told, {seen[1]} within "
              f"{100 * part:.0f} % or 0.2 MB, {seen[2]} covered; before: {least}")
    return failed


if __name__ == "__main__":
    sys.exit(main())
