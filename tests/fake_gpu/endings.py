"""Scenarios of ends: signals, exceptions, exits in bad moments, files that cannot be written."""

import concurrent.futures
import errno
import os
import random
import subprocess
import tempfile
import time

from harness import (Failure, Place, Skip, await_kernels, check_agreement, check_manners,
                     check_sum, end, kill, require, require_equal,
                     require_timely, start_under_kprof)
from scenario import Scenario

KILLS = 200          # of kill_many; --kills asks for more
KILLS_AT_A_TIME = 4
LEFT_BYTES = 12288   # of full_disk, for the trace
PROMISE_S = 1.0      # what CUPTI delivered longer ago than this is in the trace
MANY = ["--kernels", "500", "--print"]
# Names that do not compress: a trace that is not tiny.
RANDOM = random.Random(7)
NAMED = [part for _ in range(30) for part in ("--name", f"{RANDOM.getrandbits(1600):x}")]


# ---- checks ----

def process_of(document):
    process, = document["processes"]
    return process


def check_killed(run):
    """What is missing is said exactly: issued by the hooks, less what is in the trace."""
    process = process_of(run.document)
    require_equal("fate", process["fate"], "killed")
    require_equal("issued", process["counts"]["kernels_issued"], run.ledger["kernels_issued"])
    missing = run.ledger["kernels_issued"] - run.counts["kernels"]
    require_equal("missing", process["kernels_missing"], missing)
    if missing:
        text = " ".join(run.result.err.split())
        require(f"{missing:,} launches that they issued are not in the trace" in text,
                f"the report does not say {missing}: {run.result.err}")


def check_detaching(run):
    """The end came in the midst of a detaching, or just before or after it: nothing is harmed."""
    require(run.ledger["kernels_issued"] > 0, "the program did nothing")
    for process in run.document["processes"]:
        counts = process["counts"]
        if process["kernels_missing"] is not None and process["fate"] == "ended":
            parts = sum(counts[key] or 0 for key in ("kernels_recorded", "kernels_out_of_window",
                                                     "records_dropped"))
            # threads still launch while the counts are written
            require(parts <= run.ledger["kernels_issued"], f"{counts}")


def check_unwritten(run):
    """What the file could not take is counted: written + unwritten = delivered (ray 60904) [7]."""
    process = process_of(run.document)
    counts = process["counts"]
    require_equal("recorded", counts["kernels_recorded"], run.ledger["kernels_delivered"])
    require_equal("issued", counts["kernels_issued"], run.ledger["kernels_issued"])
    require_equal("written and unwritten", run.counts["kernels"] + counts["kernels_unwritten"],
                  counts["kernels_recorded"])
    require(counts["kernels_unwritten"] > 0, "nothing was lost")
    require_equal("fate", process["fate"], "ended")
    require(counts["write_errno"], "no error is named")


def check_lost_file(run):
    """The file cannot be had back: what was written before stays, the rest is counted."""
    counts = process_of(run.document)["counts"]
    require_equal("written and unwritten", run.counts["kernels"] + counts["kernels_unwritten"],
                  run.ledger["kernels_delivered"])
    require_equal("lost", counts["kernels_unwritten"], 500)


# ---- scenarios that do more than run a program ----

def play_handler(scenario, place):
    """_exit in a handler that may have interrupted anything ends in time, with its status.

    In time, mostly: any one may be late on a machine that is busy elsewhere.
    """
    took_s = []
    for _ in range(6):
        for path in (place.trace, place.ledger.path):
            if os.path.exists(path):
                os.unlink(path)
        result = place.run([place.kprof, *scenario.options, "-o", place.trace, "--",
                            *place.command(scenario)], place.environment(scenario, traced=True))
        require_equal("status", (result.status, result.err if result.status != scenario.status
                                 else ""), (scenario.status, ""))
        took_s.append(result.seconds)
        check_manners(place.ledger.read())
        document = place.report()
        kernels = document["counts"]["kernels"]
        require(kernels <= place.ledger.read()["kernels_issued"], "more kernels than there were")
        process = process_of(document)
        issued = process["counts"]["kernels_issued"]
        told = kernels + process["kernels_missing"] + document["counts"]["records_dropped"]
        # a launch that was interrupted on its way out of the driver has no count yet
        require(0 <= told - issued <= 1, f"{told} recorded, missing or dropped of {issued} issued")
    require_timely(sorted(took_s)[2] < scenario.seconds, f"took {took_s} s")


def play_full_disk(scenario, place):
    """A disk that fills up in mid-run: the program's fate is its own, and the report counts exactly,
    for kprof has kept some room (ray 60904) [7]."""
    disk = os.path.join(place.directory, "disk")
    os.mkdir(disk)
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1700k", "tmpfs", disk],
                             capture_output=True, check=False)
    if mounted.returncode != 0:
        raise Skip(f"no tmpfs can be mounted: {mounted.stderr.decode().strip()}")
    place.trace = os.path.join(disk, "trace.kprof")
    fill = place.write_script("fill", "#!/bin/sh\nhead -c 2000000 /dev/zero >disk/fill 2>/dev/null\n"
                              f"truncate -s -{LEFT_BYTES} disk/fill\n"
                              'exec "$@"\n')
    try:
        result = place.run([place.kprof, *scenario.options, "-o", place.trace, "--", fill,
                            *place.command(scenario)], place.environment(scenario, traced=True))
        require_equal("status", result.status, scenario.status)
        require("No space left on device" in result.err, f"stderr says nothing: {result.err}")
        ledger = place.ledger.read()
        check_manners(ledger)
        check_full_disk(place.report(), ledger)
    finally:
        subprocess.run(["umount", disk], check=False)


def check_full_disk(document, ledger):
    process = process_of(document)
    counts = process["counts"]
    require_equal("fate", process["fate"], "ended")
    require_equal("error", counts["write_errno"], errno.ENOSPC)
    require(0 < document["counts"]["kernels"] < counts["kernels_recorded"],
            f"{document['counts']['kernels']} of {counts['kernels_recorded']} kernels")
    require_equal("written and unwritten",
                  document["counts"]["kernels"] + counts["kernels_unwritten"],
                  counts["kernels_recorded"])
    check_sum(document, ledger)


def play_umask(scenario, place):
    """A umask that takes the owner's own rights away: who is not root can still be traced."""
    nobody = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"]
    os.chmod(place.directory, 0o777)
    environment = place.environment(scenario, traced=True)
    place.ledger.create()
    os.chmod(place.ledger.path, 0o666)
    if subprocess.run([*nobody, "test", "-x", place.kprof], check=False).returncode != 0:
        raise Skip("another user cannot reach kprof here")
    result = place.run([*nobody, "sh", "-c", 'umask 777; exec "$@"', "sh", place.kprof, "record",
                        "-o", place.trace, "--", *place.command(scenario)], environment)
    require_equal("status", (result.status, result.out), (0, b""))
    require_equal("kernels", place.report()["counts"]["kernels"], 500)
    require_equal("rights", os.stat(place.trace).st_mode & 0o777, 0o600)


def play_unwritable(scenario, place):
    """A trace that cannot be made: one line, status 125, and the program does not run."""
    bad = os.path.join(place.directory, "none", "trace.kprof")
    result = place.run([place.kprof, "-o", bad, "--", *place.command(scenario)],
                       place.environment(scenario, traced=True))
    require_equal("status and output", (result.status, result.out), (125, b""))
    require_equal("lines", len(result.err.splitlines()), 1)


def kill_one(scenario, build, number):
    """One process that is killed at a random moment: the trace is readable, the loss is bounded."""
    moment_s = random.Random(number).choice((0.0, 0.2, 0.6, 1.9))
    moment_s *= random.Random(number + 1).random()
    with tempfile.TemporaryDirectory(prefix="kprof-kill-") as directory:
        place = Place(build, directory)
        process, pid = start_under_kprof(scenario, place)
        begin = time.monotonic()
        delivered = 0
        if moment_s > PROMISE_S:
            time.sleep(moment_s - PROMISE_S)
            delivered = place.ledger.read()["kernels_delivered"]
            begin = time.monotonic() - (moment_s - PROMISE_S)
        time.sleep(max(0.0, begin + moment_s - time.monotonic()))
        if delivered:  # nearly always they are there by now
            await_kernels(place, delivered)
        kill(pid)
        result = end(process)
        ledger = place.ledger.read()
        require_equal("status", result.status, 128 + 9)
        check_killed_trace(place.report_once(), ledger, delivered)


def check_killed_trace(document, ledger, delivered):
    check_agreement(document, ledger)
    check_manners(ledger)
    process = process_of(document)
    counts = process["counts"]
    kernels = document["counts"]["kernels"]
    require_equal("fate", process["fate"], "killed")
    # a launch that was killed on its way out of the driver has no count yet
    require(0 <= ledger["kernels_issued"] - counts["kernels_issued"] <= 1,
            f"{counts['kernels_issued']} counted, {ledger['kernels_issued']} issued")
    require(kernels >= delivered, f"{kernels} in the trace, {delivered} delivered a second before")
    require(counts["kernels_recorded"] - counts["kernels_unwritten"] <= kernels,
            "counted as written, but not in the trace")
    require_equal("missing", process["kernels_missing"],
                  max(0, counts["kernels_issued"] - kernels))


def play_kill_many(scenario, place):
    """Hundreds of SIGKILLs at random moments (ray 60904) [7]."""
    failures = []

    def attempt(number):
        try:
            kill_one(scenario, place.build, number)
        except Failure as failure:
            failures.append(f"number {number}: {failure}")

    with concurrent.futures.ThreadPoolExecutor(KILLS_AT_A_TIME) as pool:
        list(pool.map(attempt, range(KILLS)))
    require(not failures, f"{len(failures)} of {KILLS}: {'; '.join(failures[:3])}")


SIGNALS = {"sigterm": 15, "sigint": 2, "sighup": 1, "sigxfsz": 25, "sigpipe": 13}

SCENARIOS = [
    *[Scenario(f"end_{name}", args=[*MANY, "--raise", str(number)], status=128 + number,
               says=("unfinished",), check=check_killed) for name, number in SIGNALS.items()],
    Scenario("end_throw", args=[*MANY, "--throw"], status=128 + 6, says=("unfinished",),
             check=check_killed),
    Scenario("end_segv_exact", args=["--kernels", "3000", "--interval-us", "300", "--segv"],
             status=128 + 11, check=check_killed),
    Scenario("end_detached__exit", agrees=False, status=4,
             args=["--kernels", "100000000", "--threads", "4", "--detached", "--_exit",
                   "--exit-code", "4"]),
    Scenario("end_detached_quick_exit", agrees=False, status=4,
             args=["--kernels", "100000000", "--threads", "4", "--detached", "--quick-exit",
                   "--exit-code", "4"]),
    Scenario("end_detached_exec", agrees=False,
             args=["--kernels", "100000000", "--threads", "4", "--detached", "--exec",
                   "{fakes}/prog_nogpu"]),
    # in the midst of detaching, which takes 0.3 s here: children come and go, then the end
    *[Scenario(f"end_detaching_{name}", agrees=False, status=status, faults="wall,switch_cost=300000",
               options=("--duration", "0.03"), check=check_detaching,
               args=["--kernels", "100000000", "--graph", "9x1", "--threads", "4", "--detached",
                     "--forks", "60", *args])
      for name, status, args in (
          ("_exit", 4, ["--_exit", "--exit-code", "4"]),
          ("quick_exit", 4, ["--quick-exit", "--exit-code", "4"]),
          ("exit", 4, ["--exit-code", "4"]),
          ("abort", 128 + 6, ["--abort"]),
          ("exec", 0, ["--exec", "{fakes}/prog_nogpu"]),
          ("exec_fails", 3, ["--exec", "/no/such/program"]))],
    Scenario("end_in_handler", play=play_handler, status=5, seconds=9,
             args=["--kernels", "100000000", "--exit-in-handler", "--exit-code", "5"]),
    # The handler has interrupted the switch of a window, nearly always.
    Scenario("end_in_handler_switching", play=play_handler, status=5, seconds=4,
             faults="wall,switch_cost=3000", options=["--range", "ten launches"],
             args=["--kernels", "100000000", "--nvtx", "--exit-in-handler", "--exit-code", "5"]),
    Scenario("kill_many", play=play_kill_many,
             args=["--kernels", "100000000", "--interval-us", "50"]),
    # files
    Scenario("file_limit_none", args=[*MANY, "--fsize", "1"], agrees=False, kernels=0,
             says=("File too large",), check=check_lost_file),
    Scenario("file_limit_small", args=["--kernels", "3000", "--interval-us", "300", "--fsize", "4500", *NAMED],
             agrees=False, says=("File too large", "unwritten"), check=check_unwritten),
    Scenario("full_disk", play=play_full_disk, root=True,
             args=["--kernels", "6000", "--interval-us", "300", "--nvtx", "--streams", "8", *NAMED]),
    Scenario("full_disk_duty", play=play_full_disk, root=True, faults="wall",
             options=("--duty", "50"), args=["--kernels", "8000", "--interval-us", "200",
                                             "--sync-every", "9", *NAMED]),
    Scenario("unwritable", play=play_unwritable, args=MANY),
    Scenario("close_late", args=[*MANY, "--close-late"], kernels=500),
    Scenario("dup_fds", args=[*MANY, "--dup-fds"], kernels=500),
    Scenario("few_fds", args=[*MANY, "--nofile", "40"], kernels=500),
    Scenario("umask_of_kprof", root=True, play=play_umask, args=["--kernels", "500"]),
    Scenario("umask", args=[*MANY, "--umask", "511"], kernels=500),
    Scenario("no_tmp", args=MANY, env={"TMPDIR": "/no/such/directory"}, kernels=500),
    Scenario("chroot", args=[*MANY, "--chroot", "{directory}"], kernels=500, root=True),
    Scenario("chroot_closed", args=[*MANY, "--chroot", "{fakes}", "--close-late"], kernels=0,
             agrees=False, root=True, says=("cannot be written",), check=check_lost_file),
    Scenario("setuid", args=[*MANY, "--uid", "65534"], kernels=500, root=True),
    Scenario("setuid_closed", args=[*MANY, "--uid", "65534", "--close-late"], kernels=0,
             agrees=False, root=True, says=("cannot be written",), check=check_lost_file),
]
