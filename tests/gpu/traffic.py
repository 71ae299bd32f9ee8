"""Checks of memory traffic: what reports say against known bytes, and against ncu."""

import csv
import io
import shutil
import sys
from collections import defaultdict
from pathlib import Path

from report import Report
from runner import Skip, require

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = [sys.executable, "-B", ROOT / "tests/gpu/traffic_program.py"]
TORCH = [sys.executable, ROOT / "samples/torch_decode.py"]
NCU_LAUNCHES = 1000
NEAR_BYTES = 0.2e6
COVERED = 0.9
# What is written leaves L2 when it must, perhaps in a later kernel: only far beyond L2 is it known.
WRITTEN_BYTES = 1e9
WRITTEN_PART = 0.06


def known_bytes(text):
    """{calls: (read, written, name)} of what traffic_program.py printed."""
    rows = [line.split() for line in text.splitlines() if line.startswith("kernel ")]
    return {int(calls): (float(read), float(written), name)
            for _, calls, read, written, name in rows}


def shapes(seen):
    """Every shape of every kernel of a report, with the kernel's mangled name."""
    return [{**shape, "mangled_name": kernel["mangled_name"]}
            for kernel in seen.document["kernels"] for shape in kernel.get("shapes", [])]


def judge(pairs):
    """pairs: (what, told, ci95, truth, part that it may be off), told None where nothing is."""
    told = [row for row in pairs if row[1] is not None]
    much = [row for row in pairs if row[3] > NEAR_BYTES]
    told_much = sum(row[1] is not None for row in much)
    require(told and told_much >= 0.8 * len(much),
            f"{told_much} of {len(much)} that move more than {NEAR_BYTES / 1e6} MB are told at all")
    off = [(what, value, truth) for what, value, _, truth, part in told
           if abs(value - truth) > max(part * truth, NEAR_BYTES)]
    require(not off, "; ".join(f"{what} {value / 1e6:.2f} MB, is {truth / 1e6:.2f}"
                               for what, value, truth in off))
    covered = sum(abs(value - truth) <= ci95 for _, value, ci95, truth, _ in told)
    require(covered >= COVERED * len(told), f"intervals cover {covered} of {len(told)}")
    worst = max((abs(value - truth) / truth for _, value, _, truth, _ in told if truth > 1e6),
                default=0)
    return f"{len(told)} of {len(pairs)} told, {covered} covered, at most {100 * worst:.2f} % off"


def check_unattributed(seen):
    for gpu in seen.document["gpus"]:
        if not gpu["traffic"]:
            continue
        for key in ("dram_read_bytes", "dram_write_bytes"):
            totals = gpu["traffic"][key]
            require(abs(totals["unattributed"]) <= 0.02 * totals["sampled"],
                    f"{key}: {totals['unattributed']} of {totals['sampled']} unattributed")


def recorded(bench, argv):
    trace = bench.folder / f"{bench.count + 1:02d}.kprof"
    kprof = bench.build / "kprof"
    ran = bench.run([kprof, "record", "--counters", "on", "-o", trace, "--", *argv])
    seen = Report(bench.run([kprof, "report", "--format", "json", trace]).stdout)
    if not any(gpu["traffic"] for gpu in seen.document["gpus"]):
        raise Skip(f"no samples: {seen.document['traffic_absent']}")
    return ran, seen


def traffic_known(options, part):
    """Reads and writes of kernels whose bytes are known by arithmetic."""
    def check(bench):
        ran, seen = recorded(bench, [*PROGRAM, *options])
        truths = known_bytes(ran.text())
        pairs = []
        for shape in shapes(seen):
            if shape["timed_calls"] not in truths:
                continue
            read, written, name = truths[shape["timed_calls"]]
            pairs.append((f"{name} read", shape["dram_read_bytes_per_call"],
                          shape["dram_read_bytes_per_call_ci95"], read, part))
            if written < WRITTEN_BYTES or not shape["dram_write_bytes_per_call"]:
                continue
            error = max(shape["dram_write_bytes_per_call_ci95"], WRITTEN_PART * written)
            pairs.append((f"{name} written", shape["dram_write_bytes_per_call"], error, written,
                          WRITTEN_PART))
        require(len(pairs) >= len(truths), f"{len(pairs)} rows for {len(truths)} kernels")
        check_unattributed(seen)
        return judge(pairs)
    return check


def ncu_reads(text):
    """{(mangled name, grid, block): mean bytes read} of ncu's CSV."""
    found = defaultdict(list)
    start = text.index('"ID"')
    for row in csv.DictReader(io.StringIO(text[start:])):
        triples = tuple(tuple(int(n) for n in row[key].strip("()").split(","))
                        for key in ("Grid Size", "Block Size"))
        found[row["Kernel Name"], *triples].append(float(row["Metric Value"].replace(",", "")))
    return {key: sum(values) / len(values) for key, values in found.items()}


READ_BY_NCU = {}  # by the one run of ncu that several checks are judged by


def read_by_ncu(bench):
    ncu = shutil.which("ncu")
    if not ncu:
        raise Skip("no ncu")
    if not READ_BY_NCU:
        text = bench.run([ncu, "--csv", "--print-kernel-base", "mangled", "--print-units", "base",
                          "--clock-control", "none", "--cache-control", "none",
                          "--metrics", "dram__bytes_read.sum", "--launch-skip", "3000",
                          "--launch-count", NCU_LAUNCHES, *TORCH]).text()
        READ_BY_NCU.update(ncu_reads(text))
    return READ_BY_NCU


def traffic_ncu(options, part):
    """Reads of PyTorch's kernels against ncu of the same program, eager, without its controls."""
    def check(bench):
        truths = read_by_ncu(bench)
        _, seen = recorded(bench, [*TORCH, *options])
        pairs = []
        for shape in shapes(seen):
            key = (shape["mangled_name"], tuple(shape["grid_blocks"]),
                   tuple(shape["block_threads"]))
            if key in truths and shape["timed_calls"] >= 500:
                pairs.append((shape["mangled_name"][:40], shape["dram_read_bytes_per_call"],
                              shape["dram_read_bytes_per_call_ci95"], truths[key], part))
        require(pairs, "ncu and the report have no kernel in common")
        check_unattributed(seen)
        return judge(pairs)
    return check
