#!/usr/bin/env python3
"""A long run under kprof: are all launches counted exactly, and does memory stay flat?

The program is samples/spin: replays of a graph of empty kernels, then empty launches one by one. It
runs bare first (a tenth of the work: its memory does not depend on how long it runs), then all of it
with CUPTI's kernel records alone (tests/gpu/raw_cupti.c), whose memory does (CUPTI 13.0 keeps about
30 bytes a launch once a graph was instantiated), then under kprof; each is looked at every second.
kprof's part is what it adds to CUPTI's.
"""

import argparse
import dataclasses
import os
import re
import sys
import tempfile
import time
from pathlib import Path

from checks import facts
from report import Report
from runner import Bench, Failure, require
from watch import watch

ROOT = Path(__file__).resolve().parents[2]
MIB = 1 << 20
PART_LIMIT = 64 * MIB    # of resident memory that kprof adds
GROWTH_LIMIT = 8 * MIB   # from the second quarter of the run to the last, at their lowest
GROWTH_PART = 0.25       # of CUPTI's own on top: quarters of two runs hold unlike numbers of launches
GPU_GROWTH_LIMIT = 32 * MIB
GRAPH_LAUNCHES, LAUNCHES, GRAPH_NODES, BUDGET_S = 50_000_000, 20_000_000, 10_000, 480


# ---- judgements: pure functions of what was seen ----

def judge_counts(issued, report):
    """issued = recorded + dropped, and what has no times is counted as such."""
    recorded, dropped = report.kernels, report.dropped
    counts = report.document["counts"]
    words = (f"{issued} issued, {recorded} recorded, "
             f"{'unknown' if dropped is None else dropped} dropped, "
             f"{counts['kernels_untimed']} untimed, {counts['kernels_invalid']} invalid")
    if report.issued is not None:
        words += f"; {report.issued} at the driver's door"
        require(report.issued == issued, f"{words}: the hooks miscounted")
    require(dropped is not None, f"{words}: what was dropped is not known")
    require(issued == recorded + dropped, f"{words}: {issued - recorded - dropped} lost silently")
    timed = counts["kernels_timed"] + counts["kernels_untimed"] + counts["kernels_invalid"]
    require(timed == recorded, f"{words}: {recorded - timed} neither timed nor said to be untimed")
    return words


def mib(number):
    return "not measured" if number is None else f"{number / MIB:.1f} MiB"


def judge_resident(bare, raw, profiled, part_limit=PART_LIMIT):
    """kprof's part of the resident memory is small, and does not grow. raw: with CUPTI alone; None
    where that was not run and kprof answers for all."""
    floor = raw or bare
    require(floor.peak and profiled.peak, "the resident memory was not seen")
    part = profiled.peak - floor.peak
    words = f"peak {mib(bare.peak)} bare, "
    if raw:
        words += f"{mib(raw.peak)} with CUPTI alone (growth {mib(raw.growth)}), "
    words += (f"{mib(profiled.peak)} under kprof: {mib(part)} added; "
              f"growth {mib(profiled.growth)}")
    require(part <= part_limit, f"{words}: more than {mib(part_limit)}")
    require(profiled.growth is not None and (not raw or raw.growth is not None),
            f"{words}: too short a run to see growth")
    own = (1 + GROWTH_PART) * raw.growth if raw else 0
    require(profiled.growth <= own + GROWTH_LIMIT, f"{words}: it grows")
    return words


def judge_gpu(bare, profiled):
    if profiled.peak is None:
        return "not measured (no NVML)"
    words = (f"peak {mib(bare.peak)} bare, {mib(profiled.peak)} under kprof; "
             f"growth {mib(profiled.growth)}")
    require(profiled.growth is not None and profiled.growth <= GPU_GROWTH_LIMIT,
            f"{words}: it grows")
    return words


# ---- the run ----

SPIN_SAYS = rb"^kernel_launches (\d+)$"


def issued_by(watched, pattern=SPIN_SAYS):
    """What the program says that it launched: the sum of the pattern's groups."""
    match = re.search(pattern, watched.stdout, re.M)
    require(match, "the program does not say what it launched")
    return sum(int(number) for number in match.groups())


@dataclasses.dataclass
class Plan:
    """What runs, for how long, and how it is looked at."""

    argv: object           # of a part of the work, 0 to 1: the command
    program: str           # the name of its executable
    budget_s: float
    env: dict = None
    says: bytes = SPIN_SAYS  # how the program says what it launched
    period_s: float = 1.0
    bare_part: float = 0.1  # of the work, for the bare run: it only shows what memory it uses
    part_limit: int = PART_LIMIT
    raw: object = None      # a library that records with CUPTI alone


def soak(build, folder, plan):
    """Rows (what, verdict, words) of one soak."""
    begin = time.monotonic()
    trace = folder / "soak.kprof"
    bare = watch(plan.argv(plan.bare_part), folder, plan.budget_s, env=plan.env, period_s=plan.period_s)
    require(bare.status == 0, f"bare, the program ended with {bare.status}")
    raw = None
    if plan.raw:
        env = {**(plan.env or os.environ), "CUDA_INJECTION64_PATH": str(plan.raw)}
        ran = watch(plan.argv(1), folder, plan.budget_s - (time.monotonic() - begin), env=env,
                    period_s=plan.period_s)
        require(b"bytes of records" in ran.stderr, "CUPTI alone recorded nothing")
        raw = ran.resident
    left_s = plan.budget_s - (time.monotonic() - begin)
    profiled = watch([build / "kprof", "record", "-o", trace, "--", *plan.argv(1)], folder, left_s,
                     program=plan.program, env=plan.env, period_s=plan.period_s)
    said = profiled.stderr.decode("utf-8", "replace").strip().splitlines()
    require(profiled.status == 0, f"ended with {profiled.status}: {' '.join(said[-1:])}")
    issued = issued_by(profiled, plan.says)
    bench = Bench(build, folder, 120)
    ran = bench.run([build / "kprof", "report", "--format", "json", trace])
    report = Report(ran.stdout)
    rows = []
    for what, judge in (("counts", lambda: judge_counts(issued, report)),
                        ("resident memory",
                         lambda: judge_resident(bare.resident, raw, profiled.resident,
                                                plan.part_limit)),
                        ("GPU memory", lambda: judge_gpu(bare.gpu, profiled.gpu))):
        try:
            rows.append((what, "PASS", judge()))
        except Failure as reason:
            rows.append((what, "FAIL", str(reason)))
    size = trace.stat().st_size
    rows += [
        ("run", "", f"{profiled.seconds:.1f} s, {len(profiled.resident.numbers)} looks"),
        ("trace", "", f"{size / 1e6:.1f} MB, {size / issued:.3f} bytes a launch"),
        ("report", "", f"{ran.seconds:.2f} s, {ran.peak_bytes / 1e6:.0f} MB"),
    ]
    trace.unlink()
    return rows


def spin_argv(build, args):
    """samples/spin with a part of the work."""
    def argv(part):
        replays = max(1, round(part * args.graph_launches / args.graph_nodes))
        return [build / "samples/spin", "--graph-nodes", args.graph_nodes, "--node-cycles", 0,
                "--replays", replays, "--empty", max(1, round(part * args.launches))]
    return argv


def page_of(about, rows):
    lines = ["# A long run under kprof", ""] + [f"- {name}: {value}" for name, value in about]
    lines += ["", "| what | verdict | measured |", "|---|---|---|"]
    lines += [f"| {what} | {verdict} | {words} |" for what, verdict, words in rows]
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", default=ROOT / "build")
    parser.add_argument("--out", help="folder for soak.md")
    parser.add_argument("--launches", type=int, default=LAUNCHES, metavar="N")
    parser.add_argument("--graph-launches", type=int, default=GRAPH_LAUNCHES, metavar="N",
                        help="launches of graph nodes")
    parser.add_argument("--graph-nodes", type=int, default=GRAPH_NODES, metavar="N",
                        help="kernels of the graph")
    parser.add_argument("--budget", type=float, default=BUDGET_S, metavar="SECONDS")
    args = parser.parse_args()
    build = Path(args.build).resolve()
    about = facts()
    gpu = dict(about)["GPU"].lower().replace("nvidia ", "").replace(" ", "-")
    page = (Path(args.out) / "soak.md" if args.out else
            ROOT / f"docs/results/{dict(about)['date'][:10]}-{gpu}-soak.md")
    with tempfile.TemporaryDirectory() as folder:
        environment = Bench(build, folder, 1).environment(None)
        try:
            rows = soak(build, Path(folder),
                        Plan(spin_argv(build, args), "spin", args.budget, environment,
                             raw=build / "tests/gpu/libraw_cupti.so"))
        except Failure as reason:
            rows = [("run", "FAIL", str(reason))]
    for what, verdict, words in rows:
        print(f"{verdict:<5} {what:<16} {words}")
    page.parent.mkdir(parents=True, exist_ok=True)
    page.write_text(page_of(about, rows))
    print(f"results in {page}")
    return 1 if any(verdict == "FAIL" for _, verdict, _ in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
