#!/usr/bin/env python3
"""The scenarios that the real kprof is put through on the fake GPU: one table.

    scenarios.py --list              names, one a line
    scenarios.py --build DIR NAME…   runs them; status 1 if one fails

A row (scenario.py) says what runs, with which faults (common/faults.def), and what kprof must then do
or say; more rows stand in processes.py, endings.py, host_calls.py, library_calls.py, dnn_calls.py,
parameter_calls.py, ranges.py, storms.py, watching.py, counters.py, ab.py, ab_graphs.py and ab_trials.py.
Numbers in brackets are those of public reports of the same fault in other tools, «cases».
"""

import argparse
import json
import os
import re
import shutil
import signal
import socket
import sys
import time
import traceback

import ab
import ab_graphs
import ab_places
import ab_rough
import ab_sequences
import ab_torch
import ab_trials
import counters
import endings
import host_calls
import dnn_calls
import library_calls
import parameter_calls
import processes
import ranges
import storms
import watching
from harness import (Failure, Skip, await_kernels, await_that, check_agreement, check_manners,
                     check_own_counts, check_sum, end, kill, require, require_equal,
                     require_timely, run_scenario, start_under_kprof)
from scenario import Scenario

FOREVER_NS = str(20 * 10**9)  # a kernel that still runs when its program ends


# ---- checks of single scenarios ----

def check_all_issued(run):
    """The hooks saw every launch, however the program came by the driver."""
    process, = run.document["processes"]
    require_equal("issued", process["counts"]["kernels_issued"], run.ledger["kernels_issued"])


def check_durations(run):
    """Durations are exact to the nanosecond (kineto 853)."""
    row = run.kernel("vector_add")
    require_equal("total", row["total_ns"], 1000 * row["calls"])
    require_equal("shortest and longest", (row["min_ns"], row["max_ns"]), (1000, 1000))
    require_equal("configuration", (row["grid_blocks"], row["block_threads"]),
                  ([4, 2, 1], [128, 1, 1]))
    require_equal("registers", row["registers_per_thread"], 32)


def check_back_to_back(run):
    """One stream without gaps: span, busy and kernel time are one."""
    totals = run.document["totals"]
    require_equal("times", (totals["kernel_time_ns"], totals["busy_time_ns"], totals["span_ns"]),
                  (500000, 500000, 500000))


def check_overlap(run):
    """Two streams at the same time are busy once (nsys-ai 574)."""
    totals = run.document["totals"]
    require_equal("kernel and busy time", (totals["kernel_time_ns"], totals["busy_time_ns"]),
                  (400000, 200000))


def check_two_devices(run):
    """The tail of a GPU that the program did not wait for is not lost (pytorch 181238) [8]."""
    check_sum(run.document, run.ledger)
    require_equal("kernels", run.counts["kernels"], run.ledger["kernels_issued"])
    require_equal("untimed", run.counts["kernels_untimed"], 0)
    require_equal("GPUs", len(run.document["gpus"]), 2)


def check_two_durations(run):
    shares = [run.kernel(name)["total_ns"] for name in ("short_kernel", "long_kernel")]
    require_equal("totals", shares, [50 * 700, 50 * 2300])


def check_graph(run):
    """All nodes of a launch share one correlation id, and each is counted [1]."""
    require_equal("in graphs", run.counts["kernels_in_graphs"], run.counts["kernels"])
    require_equal("graph calls", run.kernel("vector_add")["graph_calls"], run.counts["kernels"])


def check_updated(run):
    """An updated graph has the kernels that it has now, an update that fails changes nothing."""
    check_sum(run.document, run.ledger)
    require_equal("calls", [run.kernel(name)["calls"] for name in ("work", "other")], [250, 255])


def check_uncountable(kernels):
    """What cannot be counted from outside is unknown, and the report says so (kineto 1062) [2]."""
    def check(run):
        process, = run.document["processes"]
        require_equal("issued", process["counts"]["kernels_issued"], None)
        require_equal("missing", process["kernels_missing"], None)
        require_equal("kernels", run.counts["kernels"], kernels)
        text = " ".join(run.place.text.split())
        require("Missing unknown: the launches of 1 process could not" in text, f"the report does not say so: {run.place.text}")
    return check


def check_memops(run):
    rows = {row["name"]: (row["calls"], row["bytes"]) for row in run.document["memory_operations"]}
    require_equal("rows", sorted(rows.values()), [(100, 100000)] * 3)


def check_clocks(run):
    """NVML's readings, four a second, those that are slowed down told apart."""
    gpu, = run.document["gpus"]
    clocks = gpu["clocks"]
    require_equal("readings", clocks["readings"], run.ledger["nvml_readings"])
    require(3 <= clocks["readings"] <= 60, f"{clocks['readings']} readings")
    slow = clocks["readings"] // 4
    require_equal("clocks of multiprocessors",
                  [clocks[f"sm_mhz_{which}"] for which in ("min", "median", "max")],
                  [1755 if slow else 1980, 1980, 1980])
    require_equal("others", (clocks["memory_mhz_max"], clocks["temperature_max_c"],
                             clocks["power_max_mw"]), (2619, 61, 680000 if slow else 400000))
    share = 100 * slow / clocks["readings"]
    require(abs(clocks["throttled_pct"] - share) < 0.001, f"{clocks['throttled_pct']} % throttled")
    require_equal("reasons", list(clocks["throttle_reasons_pct"]), ["power_cap"] if slow else [])
    require(re.search(r"^Clocks +SM 1980 MHz", run.place.text, re.MULTILINE), run.place.text)
    require(bool(re.search(r"^Throttled +[0-9.]+% of the time, by power limit", run.place.text,
                           re.MULTILINE)) == bool(slow), run.place.text)


def check_clocks_without_power(run):
    """What NVML does not know is unknown, not 0."""
    clocks = run.document["gpus"][0]["clocks"]
    require_equal("power", (clocks["power_mean_mw"], clocks["power_max_mw"]), (None, None))
    require(clocks["sm_mhz_max"] == 1980 and " W " not in run.place.text, run.place.text)


def check_short_clocks(run):
    """A program that ends at once never waits for NVML."""
    if run.result.seconds < 0.25:
        check_no_clocks(starts=0)(run)


def check_no_clocks(starts):
    def check(run):
        require_equal("starts of NVML", run.ledger["nvml_starts"], starts)
        for gpu in run.document["gpus"]:
            require_equal("clocks", gpu["clocks"], None)
        require("Clocks" not in run.place.text, run.place.text)
    return check


def check_device(run):
    gpu, = run.document["gpus"]
    require_equal("facts", (gpu["name"], gpu["sm_count"], gpu["compute_major"], gpu["memory_bytes"],
                            gpu["uuid"]),
                  ("Fake GPU", 10, 9, 16 << 30, "GPU-00010203-0405-0607-0809-0a0b0c0d0e0f"))
    process, = run.document["processes"]
    require_equal("CUPTI", (process["cupti_version"], process["cupti_path"]),
                  (130001, run.place.cupti))
    require_equal("driver", process["driver_version"], 13000)
    require("prog_launch" in process["command"], f"command {process['command']}")


def check_ranges(run):
    require_equal("ranges", run.counts["nvtx_ranges"], 50)


def check_processes(run):
    """A child that was forked and used the GPU has a row of its own (vllm 5132) [6]."""
    require_equal("kernels by process", [process["kernels"] for process in
                                         run.document["processes"]], [30, 30])
    require(all(process["ended"] for process in run.document["processes"]), "one did not end")


def check_dropped(run):
    require_equal("dropped", run.counts["records_dropped"], 100)


def check_unknown_drops(run):
    """A counter that cannot be read is unknown, not 0 (pytorch 192094) [9]."""
    require_equal("dropped", run.counts["records_dropped"], None)


def check_untimed(run):
    """«Not collected» is counted and never a time (kineto 109) [14]."""
    require_equal("untimed", (run.counts["kernels_untimed"], run.counts["kernels_timed"]),
                  (100, 400))
    require_equal("shortest", run.kernel("vector_add")["min_ns"], 1000)
    require_equal("total", run.kernel("vector_add")["total_ns"], 400000)
    require(run.document["totals"]["span_ns"] <= 500000, "the span reaches back to 1970")


def check_absurd(run):
    """Impossible times are counted and wrap nothing (legion 1800) [15]."""
    require_equal("invalid", (run.counts["kernels_invalid"], run.counts["kernels_timed"]),
                  (100, 400))
    row = run.kernel("vector_add")
    require_equal("times", (row["min_ns"], row["max_ns"], row["total_ns"]), (1000, 1000, 400000))
    require(run.document["totals"]["span_ns"] <= 500000, "an absurd time stretches the span")


def check_far(run):
    """Times a day off are no times: they are counted, and stretch nothing (pytorch 192021) [4]."""
    check_absurd(run)
    check_sum(run.document, run.ledger)


def check_clock_step(run):
    """A clock that steps back makes nothing negative (kineto 917) [21]."""
    require_equal("timed", run.counts["kernels_timed"], 500)
    require_equal("total", run.kernel("vector_add")["total_ns"], 500000)
    for value in run.document["totals"].values():
        require(0 < value < 2**63, f"a total of {value}")


def check_unknown_records(run):
    require_equal("unknown", run.counts["records_unknown"], 50)


def check_unfinished(run):
    """Kernels that still run when the program ends are counted, without times."""
    require_equal("untimed", run.counts["kernels_untimed"], 20)


def check_spinning(run):
    """While a kernel spins kprof waits for no GPU, on no path (nvbench 136) [33]."""
    require_equal("waits for the GPU", run.ledger["waits"], 0)
    check_sum(run.document, run.ledger)


def check_refused(run):
    """The program ran well, and the report says why it is empty, not «0 kernels» [30, 31]."""
    require_equal("issued on the GPU", run.ledger["kernels_issued"], 5)
    require_equal("processes", len(run.document["processes"]), 1)
    text = run.place.text
    require(not re.search("killed", text), f"the report calls the program killed: {text}")
    require(not re.search(r"\b0 (launches|kernels)", text), f"the report says 0 kernels: {text}")
    for pattern in run.scenario.says:
        require(re.search(pattern, " ".join(text.split()), re.IGNORECASE),
                f"the report does not say /{pattern}/: {text}")


def check_detached(run):
    """Threads still launch while main returns (THAPI 276, kineto 686) [32]."""
    require(0 < run.counts["kernels"] <= run.ledger["kernels_issued"],
            f"{run.counts['kernels']} of {run.ledger['kernels_issued']} kernels")
    require_equal("unfinished processes", run.counts["processes_unfinished"], 0)


def check_rare_flushes(run):
    """CUPTI is not asked all the time where asking takes long: at the start, by its cost, at the end."""
    asked = run.ledger["flushes"] - run.ledger["forced_flushes"]
    require(1 <= asked <= 3, f"{asked} flushes of 40 ms each")


NAMES = [
    b'quote "x" and operator ""_kb', b"back\\slash \\n \\u0041", b"tab\tand\nnew line",
    b"control \x01\x02\x1f\x7f", b"invalid \xff\xfe", b"invalid \xff\xfd", b"cut \xe2\x82",
    b"surrogate \xed\xa0\x80", "größer «λ» 漢字".encode(), b"null", b"123", b"~",
    b"- a: b # c", b"{x}: [y]", "line\u2028separator \u0085".encode(), b"%s%n %",
    "replaced \ufffd41".encode(), b" spaces  ", b"@tag !x &y *z", b"yes", b"1e5", b"",
]


def check_names(run):
    """Any bytes come through as valid JSON and YAML, and can be had back exactly [36, 37]."""
    names = []
    for row in run.document["kernels"]:
        # bytes that are no text stand as U+FFFD and two hexadecimal digits
        parts = re.split("\ufffd([0-9a-f]{2})", row["mangled_name"])
        names.append(b"".join(bytes.fromhex(part) if i % 2 else part.encode()
                              for i, part in enumerate(parts)))
    require_equal("names", sorted(names), sorted(NAMES))


# ---- windows ----

def windows_of(run):
    """The windows of the one process, as kprof info has them."""
    result = run.place.run([run.place.kprof, "info", "--format", "json", run.place.trace], {})
    require_equal("kprof info", result.status, 0)
    process, = json.loads(result.out)["processes"]
    return process["windows"]


def check_windows(count, begin, finish):
    """So many windows, begun and ended for these reasons, and nothing is unaccounted for."""
    def check(run):
        check_sum(run.document, run.ledger)
        check_own_counts(run.document)
        windows = windows_of(run)
        require_equal("windows", run.document["windows"]["count"], count)
        require(run.document["windows"]["whole_ns"] > run.document["windows"]["inside_ns"],
                "the windows are all of the time")
        require_equal("reasons", [(row["begin_reason"], row["end_reason"]) for row in windows],
                      [(begin, finish)] * count)
        require(all(a["end_ns"] <= b["begin_ns"] for a, b in zip(windows, windows[1:])),
                "windows overlap")
        require_equal("issued in windows", sum(row["kernels_issued"] for row in windows),
                      run.counts["kernels"])
        require("Windows " in run.place.text and "Missing" not in run.place.text,
                f"the report says: {run.place.text}")
        require_equal("scaled", run.document["windows"]["scaled"], False)
    return check


def check_timed_window(run):
    """A window by time is as long as it was asked to be; what is outside is counted, not idle."""
    check_sum(run.document, run.ledger)
    check_own_counts(run.document)
    # what CUPTI still records once the window is over, until the worker gets to it, is left out
    require(run.counts["kernels"] <= run.ledger["kernels_delivered"], "kernels that never were")
    window, = windows_of(run)
    length_s = (window["end_ns"] - window["begin_ns"]) / 1e9
    # later than it should be on a machine that is busy elsewhere, never earlier
    require(0.25 <= length_s <= 1.2, f"{length_s} s instead of 0.3")
    require(0 < run.counts["kernels"] < run.ledger["kernels_issued"], "everything or nothing")
    totals = run.document["totals"]
    require(totals["span_ns"] <= window["end_ns"] - window["begin_ns"] + 100000,
            "the span holds time that was not looked at")


def check_filtered(run):
    check_sum(run.document, run.ledger)
    check_own_counts(run.document)
    require_equal("filtered", run.counts["kernels_filtered"], 100)
    require_equal("names", [row["mangled_name"] for row in run.document["kernels"]],
                  ["long_kernel"])
    require_equal("calls", run.counts["kernels"], 50)


def most(flags):
    """Three of four; of a few, all but one: on a busy machine the worker may be late for any."""
    return sum(flags) >= max(1, min(len(flags) - 1, (3 * len(flags) + 3) // 4))


def check_detaching(detached, least=8, finalized=None):
    """--duty: exact counts, and CUPTI leaves after windows, or stays."""
    def check(run):
        check_sum(run.document, run.ledger)
        check_own_counts(run.document)
        windows = windows_of(run)
        require_timely(len(windows) >= least, f"{len(windows)} windows")
        require_equal("finalized", run.ledger["finalizes"] > 0,
                      detached if finalized is None else finalized)
        ended = [bool(row["detached"]) for row in windows[:-1]]  # null: the next one came at once
        (require_timely if detached else require)(
            most(ended) if detached else not any(ended),
            f"detached after {sum(ended)} of {len(ended)} windows")
        # Whatever happens, a window does not stand open; on a busy machine the worker may be late.
        lengths_ns = [row["end_ns"] - row["begin_ns"] for row in windows]
        require_timely(most([length < 350e6 for length in lengths_ns]), f"lengths: {lengths_ns}")
    return check


def check_prompt(run):
    """A thread that launches graphs without a pause does not keep CUPTI from coming and going."""
    check_detaching(True, least=2)(run)
    costs_ns = [row["on_cost_ns"] + row["off_cost_ns"] for row in windows_of(run)[:-1]]
    require_timely(most([cost < 100e6 for cost in costs_ns]), f"took {costs_ns} ns")


def check_whole_steps(run, kernels):
    """Most windows hold whole steps: on a busy machine one may take longer than a window waits."""
    issued = [row["kernels_issued"] for row in windows_of(run)[:-1] if row["kernels_issued"]]
    whole = [count for count in issued if count % kernels == 0]
    require_timely(len(whole) * 4 >= 3 * len(issued) > 0, f"kernels in windows: {issued}")
    require(run.counts["kernels_untimed"] * 10 <= run.counts["kernels"],
            f"{run.counts['kernels_untimed']} of {run.counts['kernels']} were cut off")


def check_duty(detached, step=0):
    """The share that was asked for, and totals that hold the truth. step: kernels of a step."""
    def check(run):
        check_detaching(detached)(run)
        said = run.document["windows"]
        require(said["scaled"], f"not scaled: {said}")
        share = said["inside_ns"] / said["whole_ns"]
        require_timely(0.05 <= share <= 0.2, f"{share} of the time was recorded, not 0.1")
        for name, calls, length_ns in (("short_kernel", 20000, 700), ("long_kernel", 20000, 2300)):
            row = run.kernel(name)
            slack = 1.5 * row["total_ns_ci95"] + 0.001 * calls * length_ns
            require(abs(row["total_ns_estimated"] - calls * length_ns) <= slack,
                    f"{name}: {row['total_ns_estimated']} ± {row['total_ns_ci95']}")
            require(abs(row["calls_estimated"] - calls) <= 1.5 * row["calls_ci95"] + 20,
                    f"{name}: {row['calls_estimated']} calls ± {row['calls_ci95']}")
        if step:
            check_whole_steps(run, step)
        require("totals are scaled up" in " ".join(run.place.text.split()) and
                "~Total" in run.place.text, f"the text does not say so: {run.place.text}")
    return check


def check_duty_graph(step):
    """The program does not notice that CUPTI comes and goes. step: kernels of the graphs of one."""
    def check(run):
        check_detaching(True)(run)
        require(run.counts["kernels"] > 0, "nothing was recorded")
        check_whole_steps(run, step)
    return check


def check_short_duty(run):
    """A run too short for two windows is not scaled up."""
    check_sum(run.document, run.ledger)
    require_equal("scaled", run.document["windows"]["scaled"], False)
    require("total_ns_estimated" not in json.dumps(run.document["kernels"]), "estimates")


def check_duty_cost(run):
    """Dear switching makes windows longer and rarer, so that it stays within its budget.

    The first two are planned before a cost is known. Each is planned by what others cost before it, and
    on a busy machine its own may be anything, so that the one in the middle counts.
    """
    check_sum(run.document, run.ledger)
    windows = windows_of(run)
    late = [row for row in windows[2:-1] if row["detached"]]
    require(late, "nothing was measured")
    costs = [row["on_cost_ns"] + row["off_cost_ns"] for row in late]
    shares = sorted((row["end_ns"] - row["begin_ns"]) / cost for row, cost in zip(late, costs))
    require(min(costs) >= 40e6, f"switching costs {costs}")
    require_timely(shares[len(shares) // 2] >= 1.8,
                   f"{shares}: switching takes more than 0.4 of a duty of 20 %")


# ---- scenarios that do more than run a program ----

def control(place, pid, *words, user=None):
    command = [place.kprof, "ctl", str(pid), *words]
    if user is not None:
        command = ["setpriv", f"--reuid={user}", "--clear-groups", *command]
    plain = {key: value for key, value in os.environ.items() if not key.startswith("LD_")}
    return place.run(command, plain)


def status_of(place, pid):
    """What «kprof ctl status» says, by the first word of each line."""
    result = control(place, pid, "status")
    require_equal("kprof ctl status", (result.status, result.err), (0, ""))
    return dict(re.split(r"  +", line, maxsplit=1) for line in
                result.out.decode().splitlines())


def start_controlled(scenario, place):
    """As start_under_kprof; the collector's worker, which may be late, is there as well."""
    process, pid = start_under_kprof(scenario, place)
    await_that(lambda: control(place, pid, "status").status == 0, "a collector that answers")
    return process, pid


def number(text):
    return int(text.replace(",", ""))


def await_windows(place, pid, least):
    await_that(lambda: number(status_of(place, pid)["windows"]) >= least, f"{least} windows")


def play_ctl(scenario, place):
    """stop, start, snapshot and status of a running program, which notices nothing."""
    process, pid = start_controlled(scenario, place)
    require_equal("recording", status_of(place, pid)["recording"], "on")
    require_equal("stop", control(place, pid, "stop").status, 0)
    stopped = status_of(place, pid)
    require_equal("recording", stopped["recording"], "off")
    time.sleep(0.3)
    later = status_of(place, pid)
    require_equal("recorded after the stop", later["recorded"], stopped["recorded"])
    require(number(later["issued"]) > number(stopped["issued"]), "the program stands still")
    copy = os.path.join(place.directory, "snapshot.kprof")
    taken = control(place, pid, "snapshot", "-o", copy)
    require_equal("snapshot", taken.status, 0)
    whole, place.trace = place.trace, copy
    document = place.report()
    place.trace = whole
    require_equal("kernels in the snapshot", document["counts"]["kernels"],
                  number(stopped["recorded"]))
    require(document["counts"]["kernels_out_of_window"] > 0 and "Missing" not in place.text,
            f"the snapshot says: {place.text}")
    require_equal("start", control(place, pid, "start").status, 0)
    require_equal("windows", status_of(place, pid)["windows"], "2")
    refused = control(place, pid, "snapshot", "-o", place.trace)
    require(refused.status == 125 and "trace itself" in refused.err, f"{refused.err}")
    place.write_script("enough", "")
    result = end(process)
    require_equal("status", result.status, scenario.status)
    document = place.report()
    check_agreement(document, place.ledger.read())
    check_manners(place.ledger.read())
    check_sum(document, place.ledger.read())
    require_equal("windows", document["windows"]["count"], 2)
    gone = control(place, pid, "status")
    require(gone.status == 125 and "no process" in gone.err, f"{gone.err}")


def play_ctl_strangers(scenario, place):
    """Who may not, and what cannot be controlled, gets one clear line."""
    process, pid = start_controlled(scenario, place)
    for words, says in (((os.getpid(), "stop"), "cannot attach.*start it anew"),
                        ((2**22 + 7, "stop"), "no process"),
                        (("x", "stop"), "not the number of a process"),
                        ((pid, "halt"), "one of start, stop, snapshot, status"),
                        ((pid, "stop", "-o", "x"), "snapshot only")):
        result = control(place, *words)
        require(result.status == 125 and re.search(says, result.err),
                f"{words}: {result.status} {result.err}")
    if os.geteuid() == 0 and shutil.which("setpriv"):
        result = control(place, pid, "stop", user=65534)
        require(result.status == 125 and "another user" in result.err, f"{result.err}")
    # Rubbish on the socket is answered or ignored, and does no harm.
    with open(f"/proc/{pid}/stat", encoding="utf-8") as stat:
        ticks = stat.read().rsplit(")", 1)[1].split()[19]
    for rubbish in (b"", b"x", b"\xff" * 16, b"y" * 10000):
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as client:
            client.settimeout(10)
            client.connect(f"\0kprof.{pid}.{ticks}")
            if rubbish:
                client.send(rubbish)
            client.shutdown(socket.SHUT_WR)
            client.recv(8192)
    require_equal("recording", status_of(place, pid)["recording"], "on")
    kill(pid)
    require_equal("status", end(process).status, 128 + 9)
    check_manners(place.ledger.read())


def play_ctl_duty(scenario, place):
    """Under --duty, stop ends the windows and start goes on with them."""
    process, pid = start_controlled(scenario, place)
    await_windows(place, pid, 2)
    require_equal("stop", control(place, pid, "stop").status, 0)
    before = status_of(place, pid)["windows"]
    time.sleep(0.8)
    require_equal("windows while stopped", status_of(place, pid)["windows"], before)
    require_equal("start", control(place, pid, "start").status, 0)
    await_windows(place, pid, number(before) + 1)
    kill(pid)
    end(process)
    document = place.report()
    check_manners(place.ledger.read())
    require(document["windows"]["scaled"], f"not scaled: {document['windows']}")
    counts = document["processes"][0]["counts"]
    require(counts["kernels_unsampled"] < counts["kernels_out_of_window"],
            "what was issued while stopped is scaled up as well")


def play_kill_in_windows(scenario, place):
    """A killed process: the open window is known, and what was issued outside is exact."""
    process, pid = start_controlled(scenario, place)
    await_windows(place, pid, 1)
    time.sleep(0.5)
    kill(pid)
    end(process)
    document = place.report()
    check_manners(place.ledger.read())
    counts = document["processes"][0]["counts"]
    require(document["windows"]["count"] >= 1, "no window is known")
    require(counts["kernels_recorded"] + counts["kernels_out_of_window"] <=
            counts["kernels_issued"] <= place.ledger.read()["kernels_issued"],
            f"counts do not fit: {counts}")


def play_kill(scenario, place):
    """Whatever was delivered a second before SIGKILL is in the trace (ray 60904) [7]."""
    for wait_s in (0.0, 0.3, 1.1, 2.6):
        for path in (place.trace, place.ledger.path):
            if os.path.exists(path):
                os.unlink(path)
        process, pid = start_under_kprof(scenario, place)
        time.sleep(max(0.0, wait_s - 1.6))
        early = place.ledger.read()["kernels_issued"] if wait_s > 1.6 else 0
        time.sleep(min(wait_s, 1.6))
        if early:  # nearly always they are there by now
            await_kernels(place, early)
        kill(pid)
        result = end(process)
        issued = place.ledger.read()["kernels_issued"]
        require_equal("status", result.status, 128 + 9)
        require("unfinished" in result.err.lower(), f"stderr says nothing: {result.err}")
        document = place.report()
        check_agreement(document, place.ledger.read())
        check_manners(place.ledger.read())
        kernels = document["counts"]["kernels"]
        require_equal("unfinished processes", document["counts"]["processes_unfinished"], 1)
        require(early <= kernels <= issued,
                f"killed after {wait_s} s: {kernels} in the trace, {issued} issued, "
                f"{early} of them more than 1.6 s before")


def play_sigterm(scenario, place):
    """SIGTERM to kprof reaches the program, whose death by it loses no more than SIGKILL would."""
    process, _ = start_under_kprof(scenario, place)
    await_kernels(place, 1)
    kill(process.pid, signal.SIGTERM)
    result = end(process)
    require_equal("status", result.status, 128 + 15)
    document = place.report()
    check_agreement(document, place.ledger.read())
    require(document["counts"]["kernels"] > 0, "nothing survived")


def play_kill_both(scenario, place):
    """kprof itself is killed, then its program: what is on disk can still be read [7]."""
    process, pid = start_under_kprof(scenario, place)
    await_kernels(place, 1)
    kill(process.pid)
    kill(pid)
    end(process)
    document = place.report()
    check_agreement(document, place.ledger.read())
    require(document["counts"]["kernels"] > 0, "nothing survived")
    require_equal("unfinished processes", document["counts"]["processes_unfinished"], 1)


def play_torn(scenario, place):
    """A trace that was cut anywhere is readable up to there and says so [7]."""
    result = place.run([place.kprof, "-q", "-o", place.trace, "--", *place.command(scenario)],
                       place.environment(scenario, traced=True))
    require_equal("status", result.status, 0)
    with open(place.trace, "rb") as trace:
        whole = trace.read()
    for part in (0.999, 0.9, 0.5, 0.2):
        with open(place.trace, "wb") as trace:
            trace.write(whole[:int(len(whole) * part)])
        document = place.report()
        require(document["damage"]["truncated"] or document["counts"]["processes_unfinished"] == 1,
                f"{part} of the trace: nothing says that it is cut")
        require(document["counts"]["kernels"] <= scenario.kernels, "more kernels than there were")


def check_shared(run):
    """The program's own profiler has its records (its output says so), and kprof has all (pytorch
    117935, TensorRT-LLM 9073) [29]."""
    require_equal("kernels", run.counts["kernels"], run.ledger["kernels_issued"])
    require_equal("memory operations", run.ledger["memops_delivered"],
                  run.ledger["memops_issued"])
    require_equal("kernels issued", run.document["processes"][0]["counts"]["kernels_issued"],
                  run.ledger["kernels_issued"])
    require_equal("times that CUPTI was finalised", run.ledger["finalizes"], 0)
    require_equal("untimed kernels", run.counts["kernels_untimed"],
                  run.ledger["kernels_unfinished"])


def check_shared_times(run):
    """kprof's own times are exact and on its own clock, whatever the client's is."""
    check_shared(run)
    for name in ("session", "outside"):
        row = run.kernel(name)
        require_equal(f"shortest and longest {name}", (row["min_ns"], row["max_ns"]), (1000, 1000))
    require(run.document["totals"]["span_ns"] < 20 * 10**9, "times of two clocks are mixed")


SH_SCRIPT = """#!/bin/sh
echo "a script"
"{fakes}/prog_launch" --kernels 40 --print
"{fakes}/prog_nogpu" 0
exec "{fakes}/prog_launch" --kernels 2 --print --exit-code 6
"""
ENV_SCRIPT = """#!/usr/bin/env -S sh -e
"{fakes}/prog_launch" --kernels 15 --print
"""
STATIC_SCRIPT = """#!/bin/sh
"{fakes}/prog_static" 0 && "{fakes}/prog_launch" --kernels 7
"""

PRELOAD_SCRIPT = """#!/bin/sh
case "$LD_PRELOAD" in *libm.so.6*) echo kept ;; *) exit 9 ;; esac
"{fakes}/prog_launch" --kernels 8
"""

ERROR_35 = (r"INSUFFICIENT_PRIVILEGES", r"\b35\b", r"NVreg_RestrictProfilingToAdminUsers=0")
ERROR_39 = (r"MULTIPLE_SUBSCRIBERS", r"\b39\b", r"another (profiler|client)")
FIVE = ["--kernels", "5", "--print"]
MANY = ["--kernels", "500", "--print"]
UNTIL_ENOUGH = ["--kernels", "10000000", "--interval-us", "100", "--until", "{directory}/enough"]
LONG = ["--kernels", "2000", "--interval-us", "800", "--print"]

SCENARIOS = [
    # what is recorded
    Scenario("eager", args=MANY, kernels=500, check=check_durations),
    Scenario("back_to_back", args=MANY, kernels=500, check=check_back_to_back),
    Scenario("overlap", args=["--kernels", "400", "--streams", "2"], kernels=400,
             check=check_overlap),
    Scenario("two_kernels", kernels=100, check=check_two_durations,
             args=["--kernels", "100", "--name", "short_kernel", "--name", "long_kernel",
                   "--duration-ns", "700", "--duration-ns", "2300"]),
    Scenario("device", args=FIVE, kernels=5, check=check_device),
    # every door, by every way to it (THAPI 105, NVBit 134) [34]; static cudart: tests/gpu
    *[Scenario(f"api_{api.replace('-', '_')}", args=[*MANY, "--api", api], kernels=500) for api in
      ("ex", "coop", "launch-ptsz", "ex-ptsz", "coop-ptsz")],
    Scenario("default_stream", args=[*MANY, "--streams", "0"], kernels=500),
    Scenario("lookups", program="prog_dlopen", kernels=21),
    Scenario("lookups_again", program="prog_dlopen", args=["again"], kernels=21,
             check=check_all_issued),
    Scenario("graph", args=["--kernels", "0", "--graph", "24x1", "--print"], kernels=24,
             check=check_graph),
    Scenario("graph_replays", kernels=2400, check=check_graph,
             args=["--kernels", "0", "--graph", "24x100", "--graph-from", "capture", "--print"]),
    Scenario("graph_nested", kernels=70, check=check_graph,
             args=["--kernels", "0", "--graph", "7x10", "--graph-from", "nested", "--print"]),
    Scenario("graph_update", program="prog_graphs", args=["update", "100"], kernels=505,
             check=check_updated),
    Scenario("graph_disabled", program="prog_graphs", args=["disable", "100"],
             check=check_uncountable(250)),
    Scenario("graph_condition", program="prog_graphs", args=["condition", "100"],
             check=check_uncountable(300)),
    Scenario("memops", args=["--kernels", "0", "--memops", "300", "--print"], kernels=0,
             check=check_memops),
    Scenario("threads", args=["--kernels", "2000", "--threads", "8", "--streams", "2", "--print"],
             kernels=16000),
    Scenario("many", args=["--kernels", "200000", "--streams", "3", "--print"], kernels=200000,
             check=check_durations),
    Scenario("nvtx", args=[*MANY, "--nvtx"], kernels=500, check=check_ranges),
    Scenario("two_devices", program="prog_leave", args=["devices", "300"], faults="late=50",
             check=check_two_devices),
    Scenario("names", kernels=4 * len(NAMES), check=check_names,
             args=["--kernels", str(4 * len(NAMES))] +
             [part for name in NAMES for part in (b"--name", name)]),
    Scenario("failed_launches", args=[*MANY], faults="launch_fail=5", kernels=400),
    # processes
    Scenario("fork_before", args=["--kernels", "30", "--fork", "before", "--print"], kernels=60,
             check=check_processes),
    Scenario("fork_after", args=["--kernels", "30", "--fork", "after", "--print"], kernels=30),
    # a child that does not use the GPU flushes nothing at its end (HPCToolkit 195) [22]
    Scenario("fork_after_hang", args=["--kernels", "30", "--fork", "after", "--print"],
             faults="hang_flush", agrees=False, seconds=30, says=("did not give back",)),
    Scenario("script", script=SH_SCRIPT, status=6, kernels=42),
    Scenario("script_env", script=ENV_SCRIPT, kernels=15),
    Scenario("script_static", script=STATIC_SCRIPT, kernels=7),
    Scenario("static", program="prog_static", args=["9"], status=9, trace=False,
             says=("static",)),
    Scenario("no_gpu", program="prog_nogpu", args=["3"], status=3, trace=False,
             says=("never used the GPU",)),
    Scenario("no_device", args=FIVE, faults="init_fail", status=3, trace=False,
             says=("never used the GPU",)),
    # ends
    Scenario("exit_code", args=[*FIVE, "--exit-code", "42"], status=42, kernels=5),
    Scenario("underscore_exit", args=[*MANY, "--_exit", "--exit-code", "4"], status=4, kernels=500),
    Scenario("quick_exit", args=[*MANY, "--quick-exit", "--exit-code", "4"], status=4,
             kernels=500),
    Scenario("system", args=[*MANY, "--system", "{fakes}/prog_nogpu; true"], kernels=500),
    Scenario("close_fds", args=[*MANY, "--close-fds"], kernels=500),
    Scenario("chdir", args=[*MANY, "--chdir", "/"], kernels=500),
    Scenario("abort", args=[*MANY, "--abort"], status=128 + 6, says=("unfinished",)),
    Scenario("segv", args=[*MANY, "--segv"], status=128 + 11, says=("unfinished",)),
    Scenario("sigkill_self", args=[*MANY, "--sigkill-self"], status=128 + 9, says=("unfinished",)),
    Scenario("still_running", args=["--kernels", "20", "--duration-ns", FOREVER_NS, "--no-sync"],
             kernels=20, seconds=30, check=check_unfinished),
    *[Scenario(f"spinning{name}", args=["--kernels", "150", "--streams", "3", "--interval-us", "4000",
                                        "--duration-ns", FOREVER_NS, "--graph", "3x100", "--nvtx",
                                        "--recreate", "40", "--no-sync"],
               options=options, faults="wall", agrees=False, seconds=30, check=check_spinning)
      for name, options in (("", ()), ("_host", ("--host",)), ("_duty", ("--duty", "50")),
                            ("_range", ("--range", "ten launches")))],
    Scenario("detached_threads", agrees=False, check=check_detached,
             args=["--kernels", "1000000", "--threads", "4", "--detached", "--print"]),
    Scenario("slow_flush", args=["--kernels", "250", "--interval-us", "10000"], kernels=250,
             faults="slow_flush=40", check=check_rare_flushes),
    Scenario("hang_at_end", args=FIVE, faults="hang_flush", agrees=False, seconds=30,
             says=("did not give back",)),
    Scenario("hang_midway", args=["--kernels", "100", "--interval-us", "15000"],
             faults="hang_flush", agrees=False, seconds=30, says=("did not give back",)),
    Scenario("kill", play=play_kill, args=["--kernels", "10000000", "--interval-us", "100"]),
    Scenario("sigterm", play=play_sigterm, args=["--kernels", "10000000", "--interval-us", "100"]),
    Scenario("kill_both", play=play_kill_both,
             args=["--kernels", "10000000", "--interval-us", "100"]),
    Scenario("torn", play=play_torn, kernels=20000, args=["--kernels", "20000"]),
    # what CUPTI does
    Scenario("drops", args=["--kernels", "1000"], faults="drop=10", kernels=900,
             says=("dropped",), check=check_dropped),
    Scenario("drops_unreadable", args=["--kernels", "1000"], faults="drop=10,drop_unreadable",
             kernels=900, says=("dropped +unknown",), check=check_unknown_drops),
    Scenario("untimed", args=MANY, faults="untimed=5", kernels=500, says=("untimed",),
             check=check_untimed),
    Scenario("absurd", args=MANY, faults="absurd=5", kernels=500, says=("invalid",),
             check=check_absurd),
    *[Scenario(f"far{name}", args=MANY, faults=f"far=5{faults}", kernels=500, says=("invalid",),
               check=check_far) for name, faults in (("", ""), ("_no_timestamps", ",timestamp"))],
    Scenario("clock_step", args=MANY, faults="clock_step=250", kernels=500,
             check=check_clock_step),
    Scenario("unknown_kind", args=MANY, faults="unknown_kind=10", kernels=500, says=("unknown",),
             check=check_unknown_records),
    Scenario("late", args=MANY, faults="late=50", kernels=500, check=check_durations),
    Scenario("very_late", args=MANY, faults="late=3000", kernels=500, says=("untimed",)),
    Scenario("hold_buffers", args=["--kernels", "50000"], faults="hold_buffers", kernels=50000,
             check=check_durations),
    *[Scenario(f"version_{version}", args=[*MANY, "--memops", "30"], faults=f"version={version}",
               kernels=500, check=check_durations)
      for version in (18, 20, 24, 26, 28, 130000, 130101, 130202, 130301, 130401)],
    # what CUPTI refuses
    Scenario("error_35", args=FIVE, faults="enable=35", kernels=0, says=ERROR_35,
             agrees=False, check=check_refused),
    Scenario("error_39_register", args=FIVE, faults="registration=39", kernels=0, says=ERROR_39,
             agrees=False, check=check_refused),
    Scenario("error_39_enable", args=FIVE, faults="enable=39", kernels=0, says=ERROR_39,
             agrees=False, check=check_refused),
    Scenario("error_39_subscribe", args=FIVE, faults="subscribe=39", kernels=0, says=ERROR_39,
             agrees=False, check=check_refused),
    Scenario("no_timestamps", args=MANY, faults="timestamp", kernels=500, check=check_durations),
    Scenario("cupti_old", args=FIVE, faults="version=12", kernels=0, agrees=False,
             says=(r"\b12\b.*libcupti\.so\.13.*too old",), check=check_refused),
    Scenario("cupti_new", args=FIVE, faults="registration=15", kernels=0, agrees=False,
             says=(r"\b130001\b.*libcupti\.so\.13", r"NOT_INITIALIZED", "update"),
             check=check_refused),
    Scenario("cupti_missing", args=FIVE, kernels=0, agrees=False, check=check_refused,
             env={"KPROF_CUPTI": "{directory}/none/libcupti.so.13"},
             says=(r"none/libcupti\.so\.13",)),
    Scenario("gpu_unsupported", args=FIVE, faults="no_records", kernels=0,
             says=(r"libcupti\.so\.13", r"130001"), check=check_refused),
    # other tools in the process
    Scenario("other_client", program="prog_cupti", kernels=12, faults="wall", check=check_shared),
    *[Scenario(f"kineto_{name.replace('-', '_')}", program=program, faults="wall",
               args=[f"--{option}" for option in name.split("-and-") if option != "after"],
               check=check_shared_times)
      for program, names in (
          ("prog_kineto", ("after", "subscribed", "registered", "twice-and-own-clock",
                           "registered-and-twice-and-own-clock", "finalize-and-twice",
                           "finalize-and-silent-and-twice", "kernels-only", "serial", "leave")),)
      for name in names],
    *[Scenario(f"kineto_linked_{name}", program="prog_kineto_linked", faults="wall",
               args=[f"--{name}"], check=check_shared_times)
      for name in ("registered", "twice", "finalize")],
    Scenario("kineto_plugin", program="prog_plugin", faults="wall", args=["--twice"],
             check=check_shared_times),
    Scenario("kineto_threads", program="prog_kineto", faults="wall",
             args=["--threads", "--twice"], check=check_shared),
    Scenario("kineto_late", program="prog_kineto", faults="wall,late=1", check=check_shared_times),
    *[Scenario(f"kineto_version_{version}", program="prog_kineto",
               faults=f"wall,version={version}", check=check_shared_times)
      for version in (18, 26, 130200)],
    Scenario("kineto_no_timestamps", program="prog_kineto", faults="wall,timestamp",
             check=check_shared),
    *[Scenario(f"tool_{name}", args=FIVE, kernels=0, agrees=False, check=check_refused,
               env={"LD_PRELOAD": "{fakes}/tools/" + library}, says=(tool, "stands aside"))
      for name, library, tool in (
          ("nsys", "libToolsInjection64.so", "Nsight Systems"),
          ("ncu", "libcuda-injection.so", "Nsight Compute"),
          ("sanitizer", "libsanitizer-collection.so", "compute-sanitizer"))],
    # windows
    Scenario("range", args=[*MANY, "--nvtx"], options=("--range", "ten launches"), kernels=500,
             check=check_windows(50, 3, 3)),
    Scenario("range_some", args=[*MANY, "--nvtx"], options=("--range", "ten launches:2-4"),
             kernels=30, check=check_windows(3, 3, 3)),
    Scenario("range_one", args=[*MANY, "--nvtx-start"], options=("--range", "ten launches:7"),
             kernels=10, check=check_windows(1, 3, 3)),
    Scenario("range_from", args=[*MANY, "--nvtx-start"], options=("--range", "ten launches:49-"),
             kernels=20, check=check_windows(2, 3, 3)),
    Scenario("range_never", args=[*MANY, "--nvtx"], options=("--range", "no such range"),
             kernels=0, check=check_windows(0, 3, 3)),
    Scenario("range_threads", options=("--range", "ten launches"), agrees=False,
             args=["--kernels", "2000", "--threads", "4", "--nvtx", "--print"],
             check=lambda run: check_sum(run.document, run.ledger)),
    Scenario("range_fork_after", args=[*MANY, "--nvtx", "--fork", "after"],
             options=("--range", "ten launches:3"), kernels=10, check=check_windows(1, 3, 3)),
    Scenario("capture_range", options=("--capture-range", "cudaProfilerApi"), kernels=120,
             args=[*MANY, "--capture", "101", "--capture-end", "221"],
             check=check_windows(1, 4, 4)),
    Scenario("capture_range_open", options=("--capture-range", "cudaProfilerApi"), kernels=100,
             args=[*MANY, "--capture", "401"], check=check_windows(1, 4, 0)),
    Scenario("capture_range_unused", args=[*MANY, "--capture", "100", "--capture-end", "200"],
             kernels=500, check=lambda run: check_sum(run.document, run.ledger)),
    Scenario("delay", args=["--kernels", "4000", "--interval-us", "500"], faults="wall", agrees=False,
             options=("--delay", "0.2", "--duration", "0.3"), check=check_timed_window),
    Scenario("duration", args=["--kernels", "4000", "--interval-us", "500"], faults="wall", agrees=False,
             options=("--duration", "0.3"), check=check_timed_window),
    Scenario("delay_too_long", args=MANY, options=("--delay", "3600"), kernels=0,
             check=check_windows(0, 1, 0)),
    Scenario("delay_refused", args=["--kernels", "600", "--interval-us", "1000"], agrees=False,
             options=("--delay", "0.2"), faults="enable=35", kernels=0, says=ERROR_35),
    Scenario("kernels", options=("--kernels", "lo*,no"), agrees=False, check=check_filtered,
             args=["--kernels", "150", "--name", "short_kernel", "--name", "long_kernel",
                   "--name", "_Z5otherv"]),
    Scenario("skip_kernels", options=("--skip-kernels", "?hort*,other"), agrees=False,
             check=check_filtered,
             args=["--kernels", "150", "--name", "short_kernel", "--name", "long_kernel",
                   "--name", "_Z5otherv"]),
    *[Scenario(f"duty{name}", options=("--duty", "10%"), faults=f"wall{faults}", check=check,
               says=says,
               args=["--kernels", "40000", "--interval-us", "60", *args, "--print", "--name",
                     "short_kernel", "--name", "long_kernel", "--duration-ns", "700",
                     "--duration-ns", "2300"])
      for name, faults, args, check, says in (
          ("", "", ["--sync-every", "20"], check_duty(True, step=20), ()),
          ("_async", "", [], check_duty(True), ()),
          ("_old", ",version=23", [], check_duty(False), (r"CUDA 12\.6",)),
          ("_slow", ",switch_cost=2000", [], check_duty(True), ()))],
    # no hook allocates inside malloc's own start-up (jemalloc 329) [27]
    Scenario("own_malloc", program="prog_malloc", kernels=50),
    # a module that is being relocated while other threads are in dlsym
    Scenario("loading", program="prog_loading", args=["{fakes}/hoard.so", "20"], kernels=400,
             check=lambda run: check_sum(run.document, run.ledger)),
    Scenario("duty_refused", options=("--duty", "10"), faults="wall,finalize=15",
             args=["--kernels", "20000", "--interval-us", "60"],
             says=("refuses to be detached",), check=check_detaching(False, least=2, finalized=True)),
    Scenario("duty_host", options=("--duty", "20", "--host"), faults="wall",
             args=["--kernels", "20000", "--interval-us", "60", "--sync-every", "10"],
             says=(r"--host\s+looks",), check=check_detaching(False)),
    Scenario("duty_cost", options=("--duty", "20"), faults="wall,switch_cost=25000",
             args=["--kernels", "60000", "--interval-us", "50"], check=check_duty_cost),
    Scenario("duty_threads", options=("--duty", "20"), faults="wall",
             args=["--kernels", "15000", "--interval-us", "50", "--threads", "4", "--streams",
                   "2"], check=check_detaching(True, least=3)),
    # graphs: made before, in and between windows; waited for, or not; of several threads
    *[Scenario(f"duty_graph_{name}", options=("--duty", "20"), faults=f"wall{faults}", args=args,
               check=check, says=says)
      for name, faults, args, check, says in (
          ("steps", "", ["--kernels", "0", "--graph", "50x20000", "--graph-from", "capture",
                     "--interval-us", "60", "--sync-every", "5"], check_duty_graph(250), ()),
          ("async", "", ["--kernels", "0", "--graph", "50x20000", "--interval-us", "60"],
           check_detaching(True), ()),
          ("late", "", ["--kernels", "15000", "--graph", "50x8000", "--interval-us", "60",
                    "--sync-every", "7"], check_detaching(True), ()),
          ("threads", "", ["--kernels", "0", "--graph", "50x20000", "--interval-us", "60",
                       "--threads", "4", "--sync-every", "3"], check_detaching(True), ()),
          ("slow", ",graph_launch=3000", ["--kernels", "0", "--graph", "5x600", "--threads", "4"],
           check_detaching(True, least=2), ()),
          # whose kernels run, and are recorded, long before their launch returns and is counted
          ("large", ",graph_launch=3000", ["--kernels", "0", "--graph", "200x600", "--threads",
                                           "4"], check_detaching(True, least=2), ()),
          ("locked", ",graph_launch=1000,graph_lock", ["--kernels", "0", "--graph", "5x1500"],
           check_prompt, ()),
          ("busy", "", ["--kernels", "0", "--graph", "50x12000", "--threads", "3"],
           lambda run: check_sum(run.document, run.ledger), ()),
          ("device", "", ["--kernels", "0", "--graph", "50x12000", "--interval-us", "60",
                      "--graph-from", "device"],
           lambda run: require_equal("finalized", run.ledger["finalizes"], 0),
           ("cannot see all",)))],
    # no door for long: the window ends without one
    Scenario("duty_idle", options=("--duty", "10"), faults="wall",
             args=["--kernels", "24", "--interval-us", "250000"],
             check=check_detaching(True, least=2)),
    Scenario("duty_range", options=("--duty", "50", "--range", "ten launches:1-900"),
             faults="wall", args=["--kernels", "20000", "--interval-us", "100", "--nvtx"],
             check=lambda run: check_sum(run.document, run.ledger)),
    Scenario("duty_short", options=("--duty", "1"), args=FIVE, check=check_short_duty),
    Scenario("duty_late", options=("--duty", "20"), faults="wall,late=300", agrees=False,
             args=["--kernels", "20000", "--interval-us", "60"],
             check=lambda run: check_sum(run.document, run.ledger)),
    # the program's own profiler gets its records in and out of windows: its output says so
    *[Scenario(f"windows_kineto_{how}_{name}", program="prog_kineto", faults="wall", agrees=False,
               args=args, options=options, check=lambda run: check_sum(run.document, run.ledger))
      for how, args in (("after", []), ("registered", ["--registered", "--twice"]),
                        ("finalize", ["--finalize", "--twice"]))
      for name, options in (("delay", ("--delay", "3600")), ("short", ("--duration", "0.001")),
                            ("range", ("--range", "no such range")), ("duty", ("--duty", "50")))],
    Scenario("ctl", play=play_ctl, args=UNTIL_ENOUGH),
    Scenario("ctl_close_fds", play=play_ctl, args=[*UNTIL_ENOUGH, "--close-fds"]),
    Scenario("ctl_strangers", play=play_ctl_strangers,
             args=["--kernels", "10000000", "--interval-us", "100"]),
    Scenario("ctl_duty", play=play_ctl_duty, faults="wall", options=("--duty", "20"),
             args=["--kernels", "10000000", "--interval-us", "100"]),
    Scenario("kill_in_windows", play=play_kill_in_windows, faults="wall",
             options=("--delay", "0.5"), args=["--kernels", "10000000", "--interval-us", "100"]),
    # clocks
    Scenario("clocks", args=LONG, kernels=2000, check=check_clocks),
    Scenario("clocks_off", args=LONG, kernels=2000, options=("--clocks", "off"),
             check=check_no_clocks(starts=0)),
    Scenario("clocks_short", args=FIVE, kernels=5, check=check_short_clocks),
    Scenario("clocks_no_nvml", args=LONG, kernels=2000, faults="nvml=9",
             check=check_no_clocks(starts=0)),
    Scenario("clocks_no_power", args=LONG, kernels=2000, faults="nvml_power",
             check=check_clocks_without_power),
    Scenario("clocks_fork", args=[*LONG, "--fork", "again"], faults="refork", agrees=False,
             check=lambda run: check_sum(run.document, run.ledger)),
    Scenario("clocks_delay", args=LONG, options=("--delay", "3600"), kernels=0,
             check=check_no_clocks(starts=0)),
    # the user's own settings
    Scenario("own_preload", script=PRELOAD_SCRIPT, env={"LD_PRELOAD": "libm.so.6"}, kernels=8),
    Scenario("own_injection", args=FIVE,
             env={"CUDA_INJECTION64_PATH": "{fakes}/libfake_injection.so"},
             says=("CUDA_INJECTION64_PATH",), kernels=5),
    *processes.SCENARIOS,
    *endings.SCENARIOS,
    *host_calls.SCENARIOS,
    *ranges.SCENARIOS,
    *storms.SCENARIOS,
    *watching.SCENARIOS,
    *dnn_calls.SCENARIOS,
    *library_calls.SCENARIOS,
    *parameter_calls.SCENARIOS,
    *counters.SCENARIOS,
    *ab.SCENARIOS,
    *ab_places.SCENARIOS,
    *ab_graphs.SCENARIOS,
    *ab_rough.SCENARIOS,
    *ab_sequences.SCENARIOS,
    *ab_torch.SCENARIOS,
    *ab_trials.SCENARIOS,
]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--build")
    parser.add_argument("--kills", type=int, help="so many processes are killed by «kill_many»")
    parser.add_argument("names", nargs="*")
    arguments = parser.parse_args()
    if arguments.list:
        print("\n".join(scenario.name for scenario in SCENARIOS))
        return 0
    for signal_number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT):
        signal.signal(signal_number, signal.SIG_DFL)  # nohup, or a job in the background, ignores it
    table = {scenario.name: scenario for scenario in SCENARIOS}
    if arguments.kills:
        endings.KILLS = arguments.kills
    failed = skipped = 0
    for name in arguments.names or table:
        try:
            run_scenario(table[name], os.path.abspath(arguments.build))
            print(f"PASS {name}")
        except Skip as reason:
            print(f"SKIP {name}: {reason}")
            skipped += 1
        except Failure as failure:
            print(f"FAIL {name}: {failure}")
            failed += 1
        except Exception:  # a defect of the test itself fails one scenario, not all
            print(f"FAIL {name}: {traceback.format_exc()}")
            failed += 1
    return 1 if failed else 77 if skipped and skipped == len(arguments.names or table) else 0


if __name__ == "__main__":
    sys.exit(main())
