"""The checks of hardware counters: rows of the table in checks.py.

Known bytes against the samples' sums, what sampling costs the program and the CPU, and whether
programs end as they would without it.
"""

import json
import re
import sys
from pathlib import Path

import compare
from runner import Check, Skip, need_torch, require

ROOT = Path(__file__).resolve().parents[2]
TORCH = [sys.executable, ROOT / "samples/torch_decode.py"]
RUNS = 5
DECODE_US = 5
TICK_NS = 32  # of the times in kernel records on an H200


# ---- parts that checks share ----

def tool(bench, name):
    path = bench.build / "tests/gpu" / name
    if not path.exists():
        raise Skip(f"{path} was not built")
    return path


def sample(bench, name):
    path = bench.build / "samples" / name
    if not path.exists():
        raise Skip(f"{path} was not built")
    return path


def record(bench, argv, options=("--counters", "on"), status=0):
    trace = bench.folder / f"{bench.count + 1:02d}.kprof"
    ran = bench.run([bench.build / "kprof", "record", *options, "-o", trace, "--", *argv],
                    status=status)
    return ran, trace


def sessions(bench, trace):
    """The sessions of a trace, as kprof info has them."""
    text = bench.run([bench.build / "kprof", "info", "--format", "json", trace]).stdout
    return [session for process in json.loads(text)["processes"]
            for session in process["counters"]]


def only_session(bench, trace):
    found = sessions(bench, trace)
    require(len(found) == 1, f"{len(found)} sessions: {found}")
    session = found[0]
    require(not session["absent"], f"not sampled: {session['absent']}")
    return session


def sums(bench, trace):
    """What the samples of a trace add up to."""
    text = bench.run([tool(bench, "sample_sums"), trace]).text()
    return {name: int(value) for name, value in
            re.findall(r"^session \d+ device \d+ (\w+) (\d+)$", text, re.M)}


def require_whole(session):
    """The samples cover the session, but for a thousandth, and none were lost by kprof."""
    losses = {key: session[key] for key in ("overflows", "samples_unwritten")}
    span_ns = session["end_ns"] - session["begin_ns"]
    covered = session["samples"] * session["interval_ns"] / span_ns
    require(not any(losses.values()) and covered >= 0.999,
            f"samples are missing: {covered:.5f} of the time is covered, {session['gaps']} gaps, "
            f"{losses}")


# ---- checks ----

def known_bytes(interval_us, counter_set="memory"):
    """Copies of a known size: within 1 % of what the samples add up to."""
    def check(bench):
        ran, trace = record(bench, [tool(bench, "known_traffic")],
                            ("--counters", "on", "--counter-set", counter_set,
                             "--counter-interval", interval_us))
        session = only_session(bench, trace)
        require_whole(session)
        copied = ran.number("copied_bytes")
        found = sums(bench, trace)
        parts = {key: found[key] / copied for key in ("dram_read_bytes", "dram_write_bytes")}
        words = ", ".join(f"{key} {value:.4f} of what was copied" for key, value in parts.items())
        require(all(0.99 <= value <= 1.01 for value in parts.values()), words)
        return f"{words}, {session['samples']} samples, {len(session['metrics'])} metrics"
    return check


def decode_cost(bench):
    """CPU time of decoding, as it is unless asked for: a tenth of a core and 5 µs a sample at most.
    The start, which the program waits for, is no part of it."""
    need_torch(bench)
    _, trace = record(bench, [*TORCH, "--graph", "--steps", "3000"])
    session = only_session(bench, trace)
    require_whole(session)
    span_ns = session["end_ns"] - session["begin_ns"]
    each_us = session["decode_cpu_ns"] / session["samples"] / 1e3
    core_pct = 100 * session["decode_cpu_ns"] / span_ns
    words = (f"{each_us:.1f} µs a sample, {core_pct:.1f} % of a core; start "
             f"{session['start_cost_ns'] / 1e6:.0f} ms, stop {session['stop_cost_ns'] / 1e6:.0f} ms")
    require(core_pct <= 10 and each_us <= DECODE_US, words)
    return words


def token_ms(ran):
    found = re.search(r"^decode: ([\d.]+) ms an iteration", ran.stderr.decode(), re.M)
    require(found, "no time in the output")
    return float(found[1])


def program_cost(options, limit):
    """The program's time with counters against timing only, in turns. The quickest of each counts:
    for seconds on end the machine may take half as long again, which medians of a few do not survive."""
    def check(bench):
        need_torch(bench)
        argv = [*TORCH, *options]
        times = {"off": [], "on": []}
        for _ in range(RUNS):
            for mode, values in times.items():
                values.append(token_ms(record(bench, argv, ("--counters", mode))[0]))
        off, on = min(times["off"]), min(times["on"])
        words = f"{off:.3f} ms a token, {on:.3f} with counters: {on / off:.3f}"
        require(on <= limit * off, words)
        return words
    return check


def kernel_times(bench):
    """Durations of the ten largest kernels with counters: within 1 % of those without, or two
    ticks of the GPU's timer."""
    need_torch(bench)
    rows = {}
    for mode in ("off", "on"):
        _, trace = record(bench, [*TORCH, "--graph"], ("--counters", mode))
        text = bench.run([bench.build / "kprof", "report", "--format", "json", trace]).stdout
        rows[mode] = {row["mangled_name"]: row for row in json.loads(text)["kernels"][:10]}
    apart = {name: rows["on"][name]["median_ns"] - row["median_ns"]
             for name, row in rows["off"].items() if name in rows["on"]}
    require(len(apart) >= 5, "the kernels of the two runs differ")
    worst = max(apart, key=lambda name: abs(apart[name]) / rows["off"][name]["median_ns"])
    before_ns = rows["off"][worst]["median_ns"]
    words = (f"{len(apart)} kernels, worst {rows['off'][worst]['name']}: {before_ns:.0f} ns, "
             f"{apart[worst]:+.0f} with counters")
    require(all(abs(value) <= max(0.01 * rows["off"][name]["median_ns"], 2 * TICK_NS)
                for name, value in apart.items()), words)
    return words


def same_output(argv_of):
    def check(bench):
        argv = argv_of(bench)
        bare = bench.run(argv)
        sampled, trace = record(bench, argv, status=None)
        words = compare.same_output(bare, sampled)
        return f"{words}, {only_session(bench, trace)['samples']} samples"
    return check


def torch_argv(bench):
    need_torch(bench)
    return TORCH


def shared(bench):
    """Two processes on one GPU: one samples, the other says who; both record their kernels."""
    binary = sample(bench, "llm_decode")
    _, trace = record(bench, ["sh", "-c", f"'{binary}' --steps 256 & '{binary}' --steps 256; wait"],
                      ("--counters", "auto"))
    found = sessions(bench, trace)
    owners = [session for session in found if not session["absent"]]
    require(len(found) == 2 and len(owners) >= 1, f"{found}")
    others = [session["owner_pid"] for session in found if session["absent"]]
    require(all(others), f"one does not say who samples: {found}")
    return f"{len(owners)} sampled, the other names process {others[0] if others else 'none'}"


def doctor(bench):
    text = " ".join(bench.run([bench.build / "kprof", "doctor"]).text().split())
    found = re.findall(r"counters: (device \d+: \w+, \d+ metrics) can be sampled", text)
    require(found, "kprof doctor does not say that counters can be sampled")
    return "; ".join(found)


CHECKS = [
    Check("counters-doctor", 120, doctor, "kprof doctor: the counters of each GPU can be sampled"),
    Check("counters-bytes", 120, known_bytes(0), "copies of known size: bytes sampled, within 1 %"),
    Check("counters-bytes-fast", 120, known_bytes(20), "the same at the least interval"),
    Check("counters-bytes-all", 120, known_bytes(0, "all"), "the same with all metrics"),
    Check("counters-decode", 180, decode_cost, "CPU time of decoding: 10 % of a core, 5 µs a sample"),
    Check("counters-cost-graph", 600, program_cost(["--graph"], 1.02),
          "PyTorch in a CUDA graph: time with counters ÷ without, 1.02 at most"),
    Check("counters-cost-eager", 600, program_cost([], 1.05), "PyTorch eager: 1.05 at most"),
    Check("counters-times", 300, kernel_times, "kernels' durations with counters: 1 %"),
    Check("counters-output", 180,
          same_output(lambda bench: [sample(bench, "llm_decode"), "--steps", "256"]),
          "stdout and exit status with and without counters"),
    Check("counters-output-torch", 300, same_output(torch_argv), "the same, PyTorch"),
    Check("counters-shared", 180, shared, "two processes on one GPU: one samples"),
]
