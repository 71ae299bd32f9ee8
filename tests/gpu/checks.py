#!/usr/bin/env python3
"""The checks of tests/gpu/run: kprof against what programs say of themselves, on a real GPU.

One function a check, one row of CHECKS each; see runner.py for how they run and compare.py for
what they compare.
"""

import argparse
import dataclasses
import datetime
import json
import os
import random
import subprocess
import sys
from pathlib import Path

import ab_checks
import ceiling_checks
import compare
import counter_checks
import decode_checks
import duty_checks
import finding_checks
import fusion_checks
import host_checks
import import_checks
import kernel_checks
import pathology_checks
import prefill_checks
import range_checks
import library_checks
import parameter_checks
import shape_checks
import timeline_checks
import top_checks
import torch_checks
import workload_checks
from compare import median
from report import Report
from runner import Check, Skip, markdown, need_torch, require, run_table
from traffic import traffic_known, traffic_ncu

ROOT = Path(__file__).resolve().parents[2]
EXACT = ["--no-cublas", "--steps", "32"]
SHAPES = {"eager": [], "graph": ["--graph"], "streams": ["--streams", "4"]}
SMALL = ["--layers", "16", "--width", "256", "--heads", "4", "--vocab", "512", "--batch", "1"]
TORCH = [sys.executable, ROOT / "samples/torch_decode.py"]
TORCH_RUNS = 3


# ---- parts that checks share ----

def sample(bench, name):
    path = bench.build / "samples" / name
    if not path.exists():
        raise Skip(f"{path} was not built")
    return path


def record(bench, argv, env=None, status=0):
    """Runs a command under kprof; returns how it ran, and its trace."""
    trace = bench.folder / f"{bench.count + 1:02d}.kprof"
    kprof = [bench.build / "kprof", "record", "-o", trace, "--"]
    return bench.run([*kprof, *argv], env=env, status=status), trace


def report(bench, trace):
    return Report(bench.run([bench.build / "kprof", "report", "--format", "json", trace]).stdout)


# ---- counts ----

def launches(binary, shape):
    """All launches of llm_decode, whose own kernels are counted exactly without cuBLAS."""
    def check(bench):
        ran, trace = record(bench, [sample(bench, binary), *EXACT, *SHAPES[shape]])
        seen = report(bench, trace)
        words = compare.counts(seen.kernels, ran.number("kernel_launches"), seen.dropped)
        copies, sets = ran.number("memory_copies"), ran.number("memory_sets")
        for kind, issued in (("copy", copies), ("memory set", sets)):
            recorded = seen.memops(kind)
            require(recorded == issued, f"«{kind}»: {recorded} recorded, {issued} issued")
        return f"{words}, {copies} copies, {sets} sets"
    return check


def issued(seen):
    if seen.issued is None:
        raise Skip("this kprof does not count launches at the driver's door")
    return seen.issued


def launches_issued(bench):
    """The hooks at the driver's door count what the program launched, library kernels included."""
    _, trace = record(bench, [sample(bench, "llm_decode"), "--steps", "16"])
    seen = report(bench, trace)
    return compare.counts(seen.kernels, issued(seen), seen.dropped)


def ranges(bench):
    steps = 16
    _, trace = record(bench, [sample(bench, "llm_decode"), "--nvtx", "--steps", steps])
    seen = report(bench, trace).ranges
    require(seen == steps + 2, f"{seen} NVTX ranges recorded, {steps + 2} pushed")
    return f"{seen} ranges"


# ---- the program is not disturbed ----

def both_ways(bench, argv):
    """A command without and with kprof, however it ends."""
    return bench.run(argv, status=None), record(bench, argv, status=None)[0]


def undisturbed(bench, argv):
    """A command that succeeds and prints something does the same under kprof."""
    bare = bench.run(argv)
    require(bare.stdout, f"nothing was printed: {bare.log}.out")
    return compare.same_output(bare, record(bench, argv, status=None)[0])


def transparent(name, options):
    def check(bench):
        return undisturbed(bench, [sample(bench, name), *options])
    return check


def transparent_script(script):
    def check(bench):
        need_torch(bench)
        return undisturbed(bench, [sys.executable, ROOT / "samples" / script])
    return check


def exit_status(bench):
    """Whatever a command ends with, kprof ends with, as a shell says it."""
    commands = (["true"], ["sh", "-c", "exit 3"], ["sh", "-c", "kill -KILL $$"],
                ["sh", "-c", "kill -TERM $$"], ["sh", "-c", "kill -SEGV $$"],
                [sample(bench, "llm_decode"), "--heads", "7"])
    seen = []
    for argv in commands:
        bare, profiled = both_ways(bench, argv)
        require(profiled.status == bare.status,
                f"{argv[-1]}: {profiled.status} under kprof, {bare.status} without")
        seen.append(str(bare.status))
    return "statuses " + ", ".join(seen)


def killed(bench):
    """A program that is killed in the middle of its work leaves a readable trace."""
    argv = ["timeout", "--signal=KILL", "15", sample(bench, "llm_decode"), *SMALL,
            "--steps", "100000"]
    _, trace = record(bench, argv, status=137)
    seen = report(bench, trace)
    require(seen.kernels > 0, "nothing survived in the trace")
    require(seen.unfinished == 1, f"{seen.unfinished} processes reported as unfinished, not 1")
    return f"status 137, {seen.kernels} launches survived"


def kills(bench):
    """50 SIGKILLs at random moments: every trace is readable, and says exactly what it lacks."""
    moments = random.Random(50)
    early, worst, seen_any = 0, 0.0, 0
    for _ in range(50):
        argv = ["timeout", "--signal=KILL", f"{moments.uniform(0.3, 4.0):.2f}",
                sample(bench, "llm_decode"), *SMALL, "--steps", "1000000"]
        _, trace = record(bench, argv, status=137)
        if not trace.exists():
            early += 1  # before CUDA
            continue
        row, = report(bench, trace).traced
        issued, kernels, missing = (row["counts"]["kernels_issued"], row["kernels"],
                                    row["kernels_missing"])
        require(row["fate"] == "killed", f"the process is called {row['fate']}")
        require(issued is not None and missing == max(0, issued - kernels),
                f"{issued} issued, {kernels} recorded, {missing} said to be missing")
        seen_any += kernels > 0
        worst = max(worst, missing / issued if issued else 0.0)
    require(early < 40 and seen_any > 0, f"{early} of 50 were killed before CUDA: too early")
    return f"{50 - early} traces, {seen_any} with kernels, at worst {100 * worst:.0f} % missing"


WORKERS = """
import multiprocessing, sys, torch
def work(count):
    x = torch.ones(1024, device="cuda")
    for _ in range(count):
        x = x + 1
    torch.cuda.synchronize()
if __name__ == "__main__":
    context = multiprocessing.get_context(sys.argv[1])
    workers = [context.Process(target=work, args=(count,)) for count in (100, 200)]
    [worker.start() for worker in workers]
    [worker.join() for worker in workers]
    sys.exit(any(worker.exitcode for worker in workers))
"""


def workers(method):
    """Python's multiprocessing: each worker that used the GPU is a process of the report."""
    def check(bench):
        need_torch(bench)
        script = bench.folder / "workers.py"
        script.write_text(WORKERS)
        _, trace = record(bench, [sys.executable, script, method])
        rows = sorted(report(bench, trace).traced, key=lambda row: row["kernels"])
        counts = [row["kernels"] for row in rows]
        require(len(rows) == 2 and 100 <= counts[0] <= 110 and 200 <= counts[1] <= 210,
                f"kernels of the workers: {counts}")
        require(all(row["fate"] == "ended" for row in rows), "one did not end")
        require(all(row["kernels"] == row["counts"]["kernels_issued"] for row in rows),
                "recorded and issued differ")
        return f"{len(rows)} workers, {counts} kernels"
    return check


def two_gpus(bench):
    """A torchrun program over NCCL, one process a GPU: every launch of both, in one report."""
    need_torch(bench, gpus=2)
    argv = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2",
            ROOT / "samples/torch_allreduce.py"]
    bare, (profiled, trace) = bench.run(argv), record(bench, argv)
    words = compare.same_output(bare, profiled)
    seen = report(bench, trace)
    ranks = {row["rank"]: row for row in seen.traced if row["kernels"]}
    require(sorted(ranks) == ["0", "1"], f"ranks in the report: {sorted(ranks)}")
    for rank, row in ranks.items():
        issued = row["counts"]["kernels_issued"]
        require(row["kernels"] == issued, f"rank {rank}: {row['kernels']} of {issued} launches")
    nccl = sum(row["calls"] for row in seen.document["operators"]
               if row["name"] == "communication")
    require(nccl >= 2 * 8 * 51, f"{nccl} communication kernels")
    require(len(seen.document["gpus"]) == 2, f"{len(seen.document['gpus'])} GPUs in the report")
    counts = [row["kernels"] for _, row in sorted(ranks.items())]
    return f"{counts} launches of two ranks, {nccl} of NCCL; {words}"


SUCCESSOR = """
import os, sys, torch
x = torch.ones(1024, device="cuda")
for _ in range(100):
    x = x + 1
os.execv(sys.argv[1], sys.argv[1:])
"""


def successor(bench):
    """A process that becomes another program loses nothing of what it launched."""
    need_torch(bench)
    script = bench.folder / "successor.py"
    script.write_text(SUCCESSOR)
    ran, trace = record(bench, [sys.executable, script, sample(bench, "llm_decode"), *EXACT])
    first, second = report(bench, trace).traced
    require((first["fate"], second["fate"]) == ("replaced", "ended"),
            f"fates {first['fate']}, {second['fate']}")
    require(first["kernels"] == first["counts"]["kernels_issued"] and first["kernels"] >= 100,
            f"{first['kernels']} of {first['counts']['kernels_issued']} kernels before the exec")
    require(second["kernels"] == ran.number("kernel_launches"), "kernels after the exec")
    return f"{first['kernels']} kernels, then {second['kernels']}"


def forked_child(bench):
    """A child that is forked when CUDA is up: it ends well, and is no process of the trace."""
    need_torch(bench)
    script = ("import os, torch; x = torch.ones(9, device='cuda') + 1; torch.cuda.synchronize()\n"
              "pid = os.fork()\n"
              "if pid == 0: os._exit(6)\n"
              "print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), float(x.sum()))")
    ran, trace = record(bench, [sys.executable, "-c", script])
    require(ran.text() == "6 18.0\n", f"output {ran.text()!r}")
    rows = report(bench, trace).traced
    require(len(rows) == 1 and rows[0]["fate"] == "ended", f"{len(rows)} processes")
    return f"{rows[0]['kernels']} kernels, once"


def preload(bench):
    """A library that the user preloads stays preloaded, and records are complete beside it."""
    listing = subprocess.run(["ldconfig", "-p"], capture_output=True, text=True, check=False)
    paths = [line.split()[-1] for line in listing.stdout.splitlines()
             if "x86-64" in line and ("libutil.so.1" in line or "libBrokenLocale.so.1" in line)]
    if not paths:
        raise Skip("no library at hand to preload")
    env = {"LD_PRELOAD": paths[0]}
    maps = record(bench, ["cat", "/proc/self/maps"], env=env)[0].text()
    require(Path(paths[0]).name.split(".")[0] in maps, f"{paths[0]} was not loaded under kprof")
    ran, trace = record(bench, [sample(bench, "llm_decode"), *EXACT], env=env)
    seen = report(bench, trace)
    words = compare.counts(seen.kernels, ran.number("kernel_launches"), seen.dropped)
    return f"{Path(paths[0]).name} loaded, {words}"


# ---- times ----

def spin_times(bench):
    rows = []
    for length_us in (0, 10, 100, 1000):
        ran, trace = record(bench, [sample(bench, "spin"), "--spin-us", length_us,
                                    "--spin-count", "50"])
        own, step_ns = compare.parse_spins(ran.text())
        row = report(bench, trace).kernel("spin_kernel")
        require(row.calls == len(own), f"{row.calls} of {len(own)} kernels recorded")
        rows.append((length_us, sum(own) / len(own), row.mean_ns, step_ns))
    return compare.spin_offsets(rows)


def graph_times(bench):
    """Three graphs of 2,000 nodes; the one whose error is in the middle counts."""
    results = []
    for _ in range(3):
        ran, trace = record(bench, [sample(bench, "spin"), "--graph-nodes", "2000",
                                    "--replays", "1"])
        event_ns = float(ran.text().split("event_ns ")[1].split()[0])
        seen = report(bench, trace)
        hold_ns = seen.kernel("hold_kernel").total_ns
        nodes_ns = seen.kernel("node_kernel").total_ns
        error = abs(seen.span_ns - hold_ns - event_ns)
        results.append((error, event_ns, seen.span_ns, hold_ns, nodes_ns))
    return compare.graph_time(*sorted(results)[1][1:])


# ---- PyTorch ----

def torch_pairs(bench, options, runs):
    """Runs of torch_decode under torch.profiler and under kprof, in turns."""
    pairs = []
    for number in range(runs):
        path = bench.folder / f"torch-{number}.json"
        bench.run([*TORCH, *options, "--profile", path, "--profile-scope", "all"])
        _, trace = record(bench, [*TORCH, *options])
        pairs.append((compare.parse_torch(path.read_text()), report(bench, trace).by_full_name()))
    return pairs


def torch_counts(options):
    def check(bench):
        need_torch(bench)
        theirs, ours = torch_pairs(bench, options, 1)[0]
        return compare.same_kernels({name: row.calls for name, row in theirs.items()},
                                    {name: row.calls for name, row in ours.items()})
    return check


def torch_times(bench):
    need_torch(bench)
    pairs = torch_pairs(bench, [], TORCH_RUNS)
    theirs, ours = (compare.median_means([pair[side] for pair in pairs]) for side in (0, 1))
    return compare.top_kernels(theirs, ours)


def torch_profiler_inside(options):
    """torch.profiler counts the same kernels inside a program with and without kprof around it."""
    def check(bench):
        need_torch(bench)
        own = [bench.folder / f"inside-{side}.json" for side in ("bare", "kprof")]
        argv = [[*TORCH, *options, "--profile", path, "--profile-scope", "all"] for path in own]
        bench.run(argv[0])
        _, trace = record(bench, argv[1])
        bare, inside = (compare.parse_torch(path.read_text()) for path in own)
        seen = report(bench, trace)
        compare.same_kernels({name: row.calls for name, row in bare.items()},
                             {name: row.calls for name, row in inside.items()})
        return compare.counts(seen.kernels, issued(seen), seen.dropped)
    return check


def torch_profiler_sessions(bench):
    """Two sessions of torch.profiler inside: what each got, with its launches and its times."""
    need_torch(bench)
    script = [sys.executable, ROOT / "tests/gpu/torch_sessions.py"]
    times = [bench.folder / f"sessions-{side}.json" for side in ("bare", "kprof")]
    bare = bench.run([*script, "--times", times[0]])
    profiled, trace = record(bench, [*script, "--times", times[1]])
    compare.same_output(bare, profiled)
    seen = report(bench, trace)
    words = compare.counts(seen.kernels, issued(seen), seen.dropped)
    return words + ", " + compare.session_times(*(path.read_text() for path in times))


# ---- sizes and speed ----

def trace_size(argv_of):
    def check(bench):
        _, trace = record(bench, argv_of(bench))
        return compare.bytes_a_launch(trace.read_bytes())
    return check


def torch_argv(bench):
    need_torch(bench)
    return TORCH


def million(bench):
    """kprof report on a trace of a million launches: 0.3 s and 64 MB at most."""
    binary = sample(bench, "llm_decode")
    shape = [*SMALL, "--no-cublas"]
    few, more = (bench.run([binary, *shape, "--steps", steps]).number("kernel_launches")
                 for steps in (64, 128))
    steps = 64 + -(-(1000000 - few) * 64 // (more - few))
    ran, trace = record(bench, [binary, *shape, "--steps", steps])
    seen = report(bench, trace)
    words = compare.counts(seen.kernels, ran.number("kernel_launches"), seen.dropped)
    runs = [bench.run([bench.build / "kprof", "report", trace]) for _ in range(5)]
    seconds, peak = median(run.seconds for run in runs), max(run.peak_bytes for run in runs)
    words += f": report {seconds:.3f} s, {peak / 1e6:.0f} MB; {trace.stat().st_size / 1e6:.1f} MB"
    require(seen.kernels >= 1000000, f"{words}: not a million")
    require(seconds <= 0.3 and peak <= 64e6, f"{words}: more than 0.3 s or 64 MB")
    return words


def overhead(bench):
    """What kprof adds to a launch and to a graph node. The limits are twice what raw CUPTI adds."""
    def launch_ns(ran):
        return float(ran.stderr.decode().split("issue, ")[1].split()[0])

    def node_ns(ran):
        return median(float(line.split()[-1]) for line in ran.text().splitlines()
                      if line.startswith("replay"))

    empty = [sample(bench, "spin"), "--empty", "200000"]
    graph = [sample(bench, "spin"), "--graph-nodes", "500", "--replays", "50", "--node-cycles", "0"]
    added = {}
    words = []
    for what, argv, value in (("launch", empty, launch_ns), ("node", graph, node_ns)):
        bare = median(value(bench.run(argv)) for _ in range(3))
        profiled = median(value(record(bench, argv)[0]) for _ in range(3))
        added[what] = profiled - bare
        words.append(f"{what} {bare:.0f} → {profiled:.0f} ns")
    require(added["launch"] <= 5600 and added["node"] <= 2500, ", ".join(words))
    return ", ".join(words)


# ---- windows ----

def record_with(bench, options, argv):
    trace = bench.folder / f"{bench.count + 1:02d}.kprof"
    ran = bench.run([bench.build / "kprof", "record", *options, "-o", trace, "--", *argv])
    return ran, report(bench, trace)


def windows_sum(bench):
    """--range: what is recorded in three of the ranges and what is issued outside are all."""
    shape = [sample(bench, "llm_decode"), *EXACT, "--nvtx"]
    bare = bench.run(shape).number("kernel_launches")
    _, seen = record_with(bench, ["--range", "token:3-5"], shape)
    counts = seen.document["processes"][0]["counts"]
    parts = seen.kernels + counts["kernels_out_of_window"] + (seen.dropped or 0)
    require(seen.kernels > 0, "nothing was recorded in the ranges called token")
    require(seen.document["windows"]["count"] == 3, f"{seen.document['windows']}")
    require(parts == counts["kernels_issued"] == bare,
            f"{seen.kernels} recorded + {counts['kernels_out_of_window']} out of window, "
            f"{counts['kernels_issued']} issued, {bare} without kprof")
    return f"{seen.kernels} of {bare} launches in {seen.document['windows']['count']} windows"


def require_detached(bench):
    """CUPTI left after the windows of the trace that was recorded last; says after how many."""
    trace = max(bench.folder.glob("*.kprof"), key=lambda path: path.stat().st_mtime)
    info = bench.run([bench.build / "kprof", "info", "--format", "json", trace])
    windows = [window for process in json.loads(info.text())["processes"]
               for window in process["windows"][:-1]]
    detached = sum(bool(window["detached"]) for window in windows)
    require(windows and detached * 4 >= 3 * len(windows),
            f"detached after {detached} of {len(windows)} windows: {info.text()[-600:]}")
    costs = [window["on_cost_ns"] + window["off_cost_ns"] for window in windows
             if window["detached"]]
    return (f"detached after {detached} of {len(windows)} windows, "
            f"{median(costs) / 1e6:.1f} ms to switch one on and off")


def duty_run(bench, argv, duty="2%", ahead=False):
    """A run under --duty; its report, after its counts have been checked.

    `ahead`: the program queues launches without waiting, a thousand and more, so that most of those
    of a window run when it is over: counted, not timed. What the others are worth, totals show.
    """
    ran, seen = record_with(bench, ["--duty", duty], argv)
    windows = seen.document["windows"]
    require(windows["scaled"], f"{windows['count']} windows: not scaled up")
    untimed = seen.document["counts"]["kernels_untimed"]
    require(ahead or untimed * 50 <= seen.kernels,
            f"{untimed} of {seen.kernels} launches were cut off")
    for process in seen.document["processes"]:
        counts = process["counts"]
        parts = sum(counts[key] or 0 for key in ("kernels_recorded", "kernels_filtered",
                                                 "kernels_out_of_window", "records_dropped"))
        require(counts["kernels_issued"] in (None, parts),
                f"{parts} launches accounted for, {counts['kernels_issued']} issued")
    return ran, seen


def duty_totals(argv_of, ahead=False):
    """Kernels above 5 % of the time: their totals under --duty are those of a full recording.

    Two runs of one program differ by themselves: 3 % are allowed for that beside the interval, and no
    interval excuses more than a fifth.
    """
    def check(bench):
        argv = argv_of(bench)
        _, trace = record(bench, argv)
        full = {row["mangled_name"]: row for row in report(bench, trace).document["kernels"]}
        _, seen = duty_run(bench, argv, ahead=ahead)
        checked, wrong = 0, []
        for row in seen.document["kernels"]:
            truth = full.get(row["mangled_name"])
            if not truth or truth["share_of_kernel_time_pct"] < 5:
                continue
            checked += 1
            slack = min(row["total_ns_ci95"], 0.2 * truth["total_ns"]) + 0.03 * truth["total_ns"]
            if abs(row["total_ns_estimated"] - truth["total_ns"]) > slack:
                wrong.append(f"{row['name']}: {row['total_ns_estimated']:.0f} ± "
                             f"{row['total_ns_ci95']:.0f} ns, {truth['total_ns']} in full")
        require(checked, "no kernel has 5 % of the time")
        require(not wrong, "; ".join(wrong))
        windows = seen.document["windows"]
        share = 100 * windows["inside_ns"] / windows["whole_ns"]
        return (f"{checked} kernels, {windows['count']} windows, {share:.1f} % of the time, "
                f"{seen.document['counts']['kernels_untimed']} cut off; {require_detached(bench)}")
    return check


def duty_threads(bench):
    """Two threads that do nothing but replay graphs: CUPTI comes and goes, and neither notices."""
    argv = [sample(bench, "spin"), "--graph-nodes", "200", "--node-cycles", "1000",
            "--graph-threads", "2", "--replays", "20000"]
    bare = bench.run(argv)
    ran, seen = duty_run(bench, argv, "10%")
    compare.same_output(bare, ran)
    times = [float(each.stderr.decode().split("graph threads: ")[1].split()[0])
             for each in (bare, ran)]
    return (f"{seen.kernels} of {bare.number('kernel_launches')} launches, "
            f"{times[0]:.0f} → {times[1]:.0f} ns a node; {require_detached(bench)}")


def duration_detaches(bench):
    """Once --duration is over, a graph runs as fast as without kprof."""
    def late_ns(ran):
        values = [float(line.split()[-1]) for line in ran.text().splitlines()
                  if line.startswith("replay")]
        return median(values[len(values) // 2:])

    argv = [sample(bench, "spin"), "--graph-nodes", "500", "--node-cycles", "0",
            "--replays", "1500"]
    bare_ns = late_ns(bench.run(argv))
    ran, seen = record_with(bench, ["--duration", "0.3"], argv)
    counts = seen.document["processes"][0]["counts"]
    parts = seen.kernels + counts["kernels_out_of_window"] + (seen.dropped or 0)
    require(parts == counts["kernels_issued"], f"{parts} of {counts['kernels_issued']} launches")
    after_ns = late_ns(ran)
    words = f"{bare_ns:.0f} ns a node without kprof, {after_ns:.0f} after the duration"
    require(after_ns <= 1.03 * bare_ns, words)
    return words


def llm_long(bench):
    """llm_decode in a graph, for some ten seconds."""
    return [sample(bench, "llm_decode"), *SMALL, "--graph", "--steps", "20000"]


def torch_long(graph):
    def argv(bench):
        need_torch(bench)
        return [*TORCH, "--steps", "6000", "--graph"] if graph else [*TORCH, "--steps", "2000"]
    return argv


def doctor(bench):
    text = bench.run([bench.build / "kprof", "doctor"]).text()
    names = subprocess.run(["nvidia-smi", "--query-gpu=name", "--format=csv,noheader"],
                           capture_output=True, text=True, check=True, timeout=30).stdout.splitlines()
    require(names[0] in text, f"kprof doctor does not name {names[0]}")
    return names[0]


def counts_rows():
    return [Check(f"launches-{binary.removeprefix('llm_decode').strip('_') or 'shared'}-{shape}",
                  180, launches(binary, shape),
                  "launches, copies and sets recorded = issued by llm_decode --no-cublas")
            for binary in ("llm_decode", "llm_decode_static") for shape in SHAPES]


def transparent_rows():
    what = "stdout and exit status with and without kprof, byte for byte"
    rows = [Check(f"output-{binary.removeprefix('llm_decode').strip('_') or 'shared'}-{shape}",
                  180, transparent(binary, ["--steps", "16", *options]), what)
            for binary in ("llm_decode", "llm_decode_static") for shape, options in SHAPES.items()]
    rows += [Check(f"output-{name}", 120, transparent(name, ["--empty", "10000"]), what)
             for name in ("spin", "spin_static")]
    rows.append(Check("output-torch", 300, transparent_script("torch_decode.py"), what))
    rows.append(Check("output-attention", 300, transparent_script("attention_backends.py"), what))
    return rows


CHECKS = [
    Check("doctor", 60, doctor, "kprof doctor succeeds and names the GPU"),
    *counts_rows(),
    Check("launches-issued", 180, launches_issued, "recorded = issued at the driver, with cuBLAS"),
    Check("ranges", 120, ranges, "NVTX ranges recorded = pushed"),
    *transparent_rows(),
    Check("exit-status", 180, exit_status, "exit status with and without kprof, signals included"),
    Check("killed", 120, killed, "the trace of a killed program is readable and says so"),
    Check("kills", 600, kills, "50 SIGKILLs at random moments: readable, and the loss is exact"),
    *[Check(f"workers-{method}", 180, workers(method),
            f"multiprocessing, {method}: every worker's kernels = issued")
      for method in ("fork", "spawn")],
    Check("successor", 240, successor, "nothing is lost when a process becomes another program"),
    Check("forked-child", 120, forked_child, "a child forked under CUDA ends well and adds nothing"),
    Check("preload", 180, preload, "the user's LD_PRELOAD is kept"),
    Check("spin", 180, spin_times, "durations against the GPU's own timer: 100 ns"),
    Check("graph-time", 180, graph_times, "a serial graph against events around it: 1 %"),
    Check("torch-counts", 400, torch_counts([]), "launches by kernel = torch.profiler's, eager"),
    Check("torch-counts-graph", 400, torch_counts(["--graph"]), "the same in a CUDA graph"),
    Check("torch-times", 900, torch_times, "top ten kernels against torch.profiler: 3 %"),
    Check("torch-inside", 400, torch_profiler_inside([]),
          "torch.profiler inside: its kernels with kprof = without; kprof's = issued"),
    Check("torch-inside-graph", 400, torch_profiler_inside(["--graph"]), "the same, CUDA graph"),
    Check("torch-inside-sessions", 300, torch_profiler_sessions,
          "two sessions of torch.profiler: kernels, launches, times as without kprof"),
    Check("two-gpus", 180, two_gpus, "torchrun over NCCL: both ranks complete, one report"),
    Check("size-eager", 180, trace_size(lambda bench: [sample(bench, "llm_decode")]),
          "bytes a launch on disk, names aside: 4 at most"),
    Check("size-graph", 180, trace_size(lambda bench: [sample(bench, "llm_decode"), "--graph"]),
          "the same, CUDA graph"),
    Check("size-torch", 300, trace_size(torch_argv), "the same, PyTorch eager"),
    Check("million", 600, million, "report on a million launches: 0.3 s and 64 MB at most"),
    Check("windows-sum", 180, windows_sum, "--range: recorded + out of window = issued"),
    Check("duty-threads", 180, duty_threads,
          "--duty 10%, two threads replaying graphs: output, counts, detached after each window"),
    Check("duration-detaches", 120, duration_detaches,
          "after --duration a graph is as fast as without kprof: 3 %"),
    Check("duty-totals-llm", 300, duty_totals(llm_long),
          "--duty 2%, llm_decode --graph: estimated totals = those of a full recording"),
    Check("duty-totals-torch", 600, duty_totals(torch_long(graph=False)),
          "the same, PyTorch eager"),
    Check("duty-totals-torch-graph", 600, duty_totals(torch_long(graph=True), ahead=True),
          "the same, PyTorch in a CUDA graph"),
    *import_checks.rows(record, report, need_torch, TORCH),
    *duty_checks.rows(sample, duty_run, require_detached),
    *host_checks.rows(sample, record_with, need_torch, TORCH),
    *range_checks.rows(sample, record_with, need_torch, TORCH),
    *library_checks.rows(record_with, need_torch, TORCH),
    *parameter_checks.rows(record, need_torch),
    *torch_checks.rows(need_torch),
    *timeline_checks.rows(sample, record_with, need_torch, TORCH),
    *finding_checks.rows(record_with, need_torch, sys.executable, ROOT / "samples"),
    *shape_checks.rows(sample, record_with),
    *pathology_checks.rows(record_with, ROOT / "samples"),
    *top_checks.rows(sample, need_torch, TORCH, EXACT),
    *counter_checks.CHECKS,
    *ceiling_checks.CHECKS,
    *kernel_checks.CHECKS,
    *decode_checks.CHECKS,
    *prefill_checks.CHECKS,
    Check("traffic-alternating", 400, traffic_known([], 0.02),
          "bytes read by alternating kernels = known: 2 % or 0.2 MB (written: 6 % from 1 GB on); "
          "80 % told, 90 % within the interval, 2 % unattributed"),
    Check("traffic-graph", 400, traffic_known(["--graph"], 0.05), "the same in a CUDA graph: 5 %"),
    Check("traffic-streams", 400, traffic_known(["--streams"], 0.05), "the same, two at once: 5 %"),
    Check("traffic-ncu", 900, traffic_ncu([], 0.02), "PyTorch eager: reads = ncu's, 2 % or 0.2 MB"),
    Check("traffic-ncu-graph", 900, traffic_ncu(["--graph"], 0.05), "CUDA graph: the same, by ncu of the eager program, 5 %"),
    *workload_checks.rows(sys.modules[__name__]),
    *fusion_checks.rows(sys.modules[__name__]),
    *ab_checks.rows(sys.modules[__name__]),
    Check("overhead", 300, overhead, "cost of a launch and of a graph node"),
]


# ---- the page of results ----

def output_of(*argv):
    try:
        ran = subprocess.run(argv, capture_output=True, text=True, timeout=30, check=False,
                             cwd=ROOT)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return ran.stdout.strip() if ran.returncode == 0 else ""


def facts():
    smi = output_of("nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader")
    gpu, _, driver = smi.splitlines()[0].partition(", ") if smi else ("unknown", "", "unknown")
    commit = output_of("git", "rev-parse", "HEAD") or os.environ.get("KPROF_COMMIT", "unknown")
    if output_of("git", "status", "--porcelain"):
        commit += " with changes"
    return [
        ("date", datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d %H:%M UTC")),
        ("GPU", gpu),
        ("driver", driver),
        ("host", f"{os.cpu_count()} CPUs, Linux {os.uname().release.split('-')[0]}"),
        ("commit", commit),
        ("command", "`" + os.environ.get("KPROF_COMMAND", "tests/gpu/checks.py").strip() + "`"),
    ]


def places(out, about):
    """Where the page and the logs go."""
    if out:
        return Path(out) / "results.md", Path(out) / "logs"
    gpu = about["GPU"].lower().replace("nvidia ", "").replace(" ", "-")
    return ROOT / f"docs/results/{about['date'][:10]}-{gpu}.md", ROOT / "build/gpu-logs"


def chosen_checks(names):
    """The checks that the names begin, in the order of the names; NAME=SECONDS lowers their limit."""
    if not names:
        return list(CHECKS)
    chosen = {}
    for word in names:
        name, _, limit_s = word.partition("=")
        found = [check for check in CHECKS if check.name.startswith(name)]
        if not found or (limit_s and not limit_s.isdigit()):
            raise ValueError(f"no check is called {word}; see --list")
        for check in found:
            limited = min(check.limit_s, int(limit_s or check.limit_s))
            chosen.setdefault(check.name, dataclasses.replace(check, limit_s=limited))
    return list(chosen.values())


def write_page(page, about, rows, left):
    """The rows so far: whoever ends this run has them all the same."""
    verdicts = [row.verdict for row in rows]
    summary = ", ".join(f"{verdicts.count(verdict)} {word}" for verdict, word in
                        (("PASS", "passed"), ("FAIL", "failed"), ("SKIP", "skipped")))
    if left:
        summary += f", {left} not run"
    page.parent.mkdir(parents=True, exist_ok=True)
    page.write_text(markdown("Checks on a GPU", [*about, ("result", summary)], rows))
    return summary


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", default=ROOT / "build")
    parser.add_argument("--out")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--seconds", type=float, default=float("inf"), metavar="S",
                        help="of time in all; checks that come later are skipped")
    parser.add_argument("names", nargs="*", metavar="NAME[=SECONDS]")
    args = parser.parse_args()
    try:
        chosen = chosen_checks(args.names)
    except ValueError as error:
        parser.error(str(error))
    if args.list:
        for check in chosen:
            print(f"{check.name:<24} {check.limit_s:4d} s  {check.what}")
        return 0
    about = facts()
    page, logs = places(args.out, dict(about))
    rows = run_table(chosen, args.build, logs, args.seconds,
                     lambda rows: write_page(page, about, rows, len(chosen) - len(rows)))
    print(f"results in {page}, logs in {logs}\n{write_page(page, about, rows, 0)}")
    return 1 if any(row.verdict == "FAIL" for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
