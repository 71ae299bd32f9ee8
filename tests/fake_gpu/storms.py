"""Scenarios of programs that leave launches other than by returning, and of storms of events, most
of them while the windows of --duty come and go."""

import os
import random
import subprocess
import time

from harness import (check_agreement, check_manners, check_own_counts, check_sum, end, kill,
                     require, require_equal, start_under_kprof)
from scenario import Scenario

IN_LAUNCHES = "wall,graph_launch=3000,slow_record=3000"
DUTY = ("--duty", "20")
BUSY = ["--kernels", "4000", "--interval-us", "60", "--threads", "3", "--graph", "20x1000",
        "--sync-every", "7", "--print"]


def windows_of(run):
    return run.document["windows"]["count"]


def check_exact(run):
    """Each launch is in one count, and CUPTI has been detached."""
    check_sum(run.document, run.ledger)
    check_own_counts(run.document)
    require(run.ledger["finalizes"] > 0, "CUPTI was never detached")


def check_left(run):
    """Threads that have left keep nothing: after each window CUPTI is detached.

    A launch that was left on its way out of the driver has no count, and may have a record.
    """
    process, = run.document["processes"]
    counts = process["counts"]
    require(run.ledger["finalizes"] * 2 >= windows_of(run) - 1 and run.ledger["finalizes"] > 1,
            f"{run.ledger['finalizes']} times detached in {windows_of(run)} windows")
    require(process["ended"], "it did not end in order")
    require(counts["kernels_issued"] <= run.ledger["kernels_issued"], f"{counts}")


def play_control(scenario, place):
    """«kprof ctl» starts and stops at random: each launch is in one count."""
    process, pid = start_under_kprof(scenario, place)
    draw = random.Random(11)
    done = 0
    for verb in ("stop", "start") * 20:
        control = subprocess.run([place.kprof, "ctl", str(pid), verb], check=False,
                                 capture_output=True, timeout=200)
        if control.returncode != 0:
            break  # the program has ended
        done += 1
        time.sleep(draw.choice((0, 0, 0.002, 0.02)))
    require(done >= 2, f"{done} times started or stopped, then {control.stderr}")
    result = end(process)
    require_equal("status", result.status, scenario.status)
    ledger = place.ledger.read()
    check_manners(ledger)
    document = place.report()
    check_sum(document, ledger)
    check_own_counts(document)
    if scenario.agrees:
        check_agreement(document, ledger)
    require(ledger["finalizes"] > 0, "CUPTI was never detached")


def play_kill(scenario, place):
    """SIGKILL in and between windows: what was issued outside is exact, the rest is missing."""
    draw = random.Random(5)
    for _ in range(5):
        for path in (place.trace, place.ledger.path):
            if os.path.exists(path):
                os.unlink(path)
        process, pid = start_under_kprof(scenario, place)
        time.sleep(0.3 + draw.random())
        kill(pid)
        require_equal("status", end(process).status, 128 + 9)
        ledger = place.ledger.read()
        check_manners(ledger)
        document = place.report()
        row, = document["processes"]
        counts = row["counts"]
        # each thread may have been killed on its way out of the driver, before its count
        unseen = ledger["kernels_issued"] - counts["kernels_issued"]
        require(0 <= unseen <= 3 * 20, f"{unseen} more issued than counted")
        require_equal("fate", row["fate"], "killed")
        told = document["counts"]["kernels"] + counts["kernels_out_of_window"] + \
            counts["records_dropped"] + row["kernels_missing"]
        require_equal("told", told, counts["kernels_issued"])
        require(counts["kernels_out_of_window"] > row["kernels_missing"],
                f"what was outside counts as missing: {counts}")


SCENARIOS = [
    # launches under way when CUPTI is detached have their records
    Scenario("storm_under_way", options=DUTY, faults="wall,slow_record=3000", check=check_exact,
             args=["--kernels", "1200", "--threads", "4", "--interval-us", "500", "--sync-every",
                   "10"]),
    *[Scenario(f"storm_{how}", program="prog_leave", args=[how, times], options=DUTY,
               faults=faults, check=check, agrees=agrees)
      for how, times, faults, check, agrees in (
          ("cancel", "30", IN_LAUNCHES, check_left, False),
          ("jump", "60", "wall,signal=3", check_left, False),
          ("reset", "600", "wall", check_exact, True),
          ("invalid", "600", "wall", check_exact, True),
          ("fork", "500", "wall", check_exact, True),
          ("threads", "2000", "wall", check_exact, True),
          ("capture", "30", "wall", check_exact, True))],
    Scenario("storm_load", program="prog_leave", options=DUTY, faults="wall", check=check_exact,
             args=["load", "2500", "{fakes}/morsel.so"]),
    # what the program does to files, users and children
    *[Scenario(f"storm_{name}", args=[*BUSY, *args], options=DUTY, faults="wall", root=root,
               check=check_exact)
      for name, args, root in (
          ("close_late", ["--close-late"], False), ("dup_fds", ["--dup-fds"], False),
          ("chdir", ["--chdir", "/"], False), ("chroot", ["--chroot", "{directory}"], True))],
    Scenario("storm_no_tmp", args=BUSY, options=DUTY, faults="wall", check=check_exact,
             env={"TMPDIR": "/no/such/directory"}),
    Scenario("storm_fork_again", args=[*BUSY, "--fork", "again"], options=DUTY,
             faults="wall,refork", agrees=False, check=check_exact),
    Scenario("storm_kill", play=play_kill, options=DUTY, faults="wall",
             args=["--kernels", "10000000", "--interval-us", "60", "--threads", "3", "--graph",
                   "20x1000000", "--sync-every", "7"]),
    Scenario("storm_control", play=play_control, faults="wall", options=("--delay", "0"),
             args=["--kernels", "4000", "--interval-us", "200", "--threads", "4", "--graph",
                   "20x1000", "--nvtx", "--streams", "2"]),
    # what was still on the GPU when CUPTI went is counted, though records go on at once
    Scenario("storm_control_late", play=play_control, faults="wall,late=200", agrees=False,
             args=["--kernels", "4000", "--interval-us", "200", "--threads", "4"]),
]
