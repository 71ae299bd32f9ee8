"""Scenarios of programs that start programs: fork, vfork, exec, spawn, workers, ranks, daemons."""

import csv
import io
import os
import shutil
import subprocess
import sys
import time

from harness import (TIME_LIMIT_S, Skip, check_agreement, check_manners, require,
                     require_equal)
from scenario import Scenario

LAUNCH = "{fakes}/prog_launch"
WAYS = ("execl", "execlp", "execle", "execv", "execve", "execvp", "execvpe", "fexecve", "execveat",
        "execveat_in", "memfd")
STATIC_REASON = "statically linked"
LIBC_REASON = "another C library"


# ---- what is read of a report ----

def traced(document):
    return [row for row in document["processes"] if row["untraced"] is None]


def untraced(document):
    return [row for row in document["processes"] if row["untraced"] is not None]


def show(run, *words):
    """Another view of the trace."""
    plain = {key: value for key, value in os.environ.items() if not key.startswith("LD_")}
    result = run.place.run([run.place.kprof, *words, run.place.trace], plain)
    require_equal(f"status of {words}", (result.status, result.err), (0, ""))
    return result.out.decode("utf-8")


# ---- checks ----

def check_replaced(run):
    """The process lost nothing when it became another program, which has a row of its own."""
    first, second = traced(run.document)
    require_equal("kernels", (first["kernels"], second["kernels"]), (20, 30))
    require_equal("fates", (first["fate"], second["fate"]), ("replaced", "ended"))
    require_equal("pid", second["pid"], first["pid"])
    require_equal("issued", [row["counts"]["kernels_issued"] for row in (first, second)], [20, 30])
    require_equal("missing", (first["kernels_missing"], second["kernels_missing"]), (0, 0))


def check_child(run):
    """A child that was started is traced, and knows its parent (vllm 5132) [6]."""
    first, second = sorted(traced(run.document), key=lambda row: row["kernels"])
    require_equal("kernels", (first["kernels"], second["kernels"]), (20, 30))
    require_equal("fates", (first["fate"], second["fate"]), ("ended", "ended"))
    require(second["pid"] != first["pid"], "both have one pid")
    require_equal("issued", [row["counts"]["kernels_issued"] for row in (first, second)], [20, 30])
    require("prog_launch" in second["command"], f"command {second['command']}")


def check_parent(run):
    check_child(run)
    first, second = sorted(traced(run.document), key=lambda row: row["kernels"])
    require_equal("parent", second["parent_pid"], first["pid"])


def check_failed_exec(run):
    """The program went on, and so did the collector: its end does not count before its end."""
    process, = traced(run.document)
    require_equal("fate", process["fate"], "ended")
    require_equal("issued", process["counts"]["kernels_issued"], 40)
    require_equal("untraced", untraced(run.document), [])


def check_nowhere(run):
    check_failed_exec(run)
    require(b"111111111" in run.result.out, f"calls that were refused: {run.result.out!r}")


def listed(run, reason, program, times=1):
    """The one program that could not be traced; its line in every view (opencode-termux 4) [24]."""
    row, = untraced(run.document)
    require(reason in row["reason"], f"reason {row['reason']}")
    require_equal("program", os.path.basename(row["executable"]), program)
    require_equal("times", row["untraced"], times)
    require(row["pid"] and row["parent_pid"], f"pids {row['pid']}, {row['parent_pid']}")
    require_equal("fate", row["fate"], "untraced")
    require_equal("untraced", run.counts["processes_untraced"], 1)
    for view in (show(run, "report", "--by", "process"), show(run, "info")):
        text = " ".join(view.split())
        require(program in text and reason in text, f"{program} is not listed: {view}")
    rows = list(csv.DictReader(io.StringIO(show(run, "report", "--by", "process", "-f", "csv"))))
    require_equal("rows of the CSV", [r["fate"] for r in rows].count("untraced"), 1)
    return row


def check_static_child(run):
    listed(run, STATIC_REASON, "prog_static")
    require_equal("kernels", [row["kernels"] for row in traced(run.document)], [20])


def check_foreign_child(run):
    row = listed(run, LIBC_REASON, "prog_foreign")
    process, = traced(run.document)
    require_equal("parent", row["parent_pid"], process["pid"])


def check_foreign_successor(run):
    row = listed(run, LIBC_REASON, "prog_foreign")
    process, = traced(run.document)
    require_equal("pid and fate", (row["pid"], process["fate"]), (process["pid"], "replaced"))


def check_foreign_grandchild(run):
    """What an untraced program starts is traced as far as its doors allow: hooks are missing."""
    listed(run, LIBC_REASON, "prog_foreign")
    rows = sorted(traced(run.document), key=lambda row: row["kernels"])
    require_equal("kernels", [row["kernels"] for row in rows], [20, 30])
    require_equal("issued", [row["counts"]["kernels_issued"] for row in rows], [20, None])


def check_static_script(run):
    listed(run, STATIC_REASON, "interpreted")


def check_repeated(run):
    listed(run, LIBC_REASON, "prog_foreign", 20)


def check_privileged(run):
    listed(run, "rights of another user", "privileged")


def check_again(run):
    """A forked child that may begin anew has records and ranges of its own, none of its parent's."""
    rows = traced(run.document)
    require_equal("kernels", [row["kernels"] for row in rows], [30, 30])
    require_equal("ranges", [row["counts"]["ranges_recorded"] for row in rows], [3, 3])
    require_equal("issued", [row["counts"]["kernels_issued"] for row in rows], [30, 30])
    require_equal("fates", [row["fate"] for row in rows], ["ended", "ended"])
    pids = {row["pid"] for row in rows}
    require(len(pids) == 2 and any(row["parent_pid"] in pids for row in rows), f"pids {pids}")


def check_workers(run):
    """Workers of Python's multiprocessing are traced one by one (vllm 5132) [6]."""
    counts = sorted(row["kernels"] for row in traced(run.document))
    require_equal("kernels of the workers", counts, [10, 20, 30])
    require(all(row["fate"] == "ended" for row in traced(run.document)), "one did not end")


def check_ranks(run):
    rows = {row["rank"]: row for row in traced(run.document)}
    require_equal("kernels by rank", {rank: row["kernels"] for rank, row in rows.items()},
                  {"0": 10, "1": 20, "11": 30})
    require_equal("local ranks", [rows[rank]["local_rank"] for rank in ("0", "1", "11")],
                  ["0", "1", "3"])
    text = show(run, "report", "--by", "process")
    require("Rank" in text and "Local" in text, f"no ranks: {text}")


def check_storm(run):
    """Forking while threads launch neither hangs nor doubles a line (torch-xpu-ops 5287) [23]."""
    process, = traced(run.document)
    require_equal("kernels", process["kernels"], run.counts["kernels"])


def play_chroot(scenario, place):
    """Where the library is not to be found, the loader does not say so in the program's output."""
    root = os.path.join(place.directory, "root")
    program = os.path.join(place.fakes, "prog_environ")
    for path in ("/lib64/ld-linux-x86-64.so.2", *subprocess.run(
            ["ldd", program], capture_output=True, check=True, text=True).stdout.split()):
        if path.startswith("/") and os.path.exists(path):
            os.makedirs(root + os.path.dirname(path), exist_ok=True)
            shutil.copy(path, root + path)
    shutil.copy(program, root + "/prog_environ")
    run_in_root(scenario, place, root, "prog_environ")


def run_in_root(scenario, place, root, program):
    command = place.command(scenario)
    environment = {"PROG_ROOT": root, "PROG_QUIET": "1"}
    bare = place.run(command, {**place.environment(scenario, traced=False), **environment})
    if bare.err:
        raise Skip(f"no program runs there: {bare.err}")
    result = place.run([place.kprof, "-o", place.trace, "--", *command],
                       {**place.environment(scenario, traced=True), **environment})
    require_equal("status and output", (result.status, result.out), (bare.status, bare.out))
    require("cannot be preloaded" not in result.err, result.err)
    row, = untraced(place.report())
    require("another root folder" in row["reason"], f"reason {row['reason']}")
    require_equal("program", os.path.basename(row["executable"]), program)


def play_namespaces(scenario, place):
    """Recordings of one folder by processes of one number, in namespaces of their own."""
    environment = place.environment(scenario, traced=True)
    command = place.command(scenario)
    unshare = ["unshare", "--pid", "--fork"]
    probe = subprocess.run([*unshare, "true"], capture_output=True, check=False)
    if probe.returncode != 0:
        raise Skip(f"no namespace can be made: {probe.stderr.decode().strip()}")
    traces = [os.path.join(place.directory, f"{name}.kprof") for name in "ab"]
    running = [subprocess.Popen([*unshare, place.kprof, "record", "-o", trace, "--", *command],
                                env=environment, stdout=subprocess.DEVNULL,
                                stderr=subprocess.PIPE) for trace in traces]
    for process in running:
        _, err = process.communicate(timeout=TIME_LIMIT_S)
        require_equal("status", (process.returncode, err if process.returncode else b""), (0, b""))
    for trace in traces:
        place.trace = trace
        document = place.report_once()
        first, second = sorted(traced(document), key=lambda row: row["kernels"])
        require_equal("kernels", (first["kernels"], second["kernels"]), (20, 30))
        require_equal("fates", (first["fate"], second["fate"]), ("ended", "ended"))


def play_namespace_killed(scenario, place):
    """One that is killed in a namespace of its own is not taken for whoever has its number here."""
    unshare = ["unshare", "--pid", "--fork"]
    probe = subprocess.run([*unshare, "true"], capture_output=True, check=False)
    if probe.returncode != 0:
        raise Skip(f"no namespace can be made: {probe.stderr.decode().strip()}")
    script = place.write_script("killed", '#!/bin/sh\n"$@" &\nsleep 0.5\nkill -9 $!\nwait\nexit 0\n')
    result = place.run([place.kprof, "record", "-o", place.trace, "--", *unshare, script,
                        *place.command(scenario)], place.environment(scenario, traced=True))
    require_equal("status", result.status, 0)
    require("1 process was killed" in result.err and "still run" not in result.err, result.err)
    process, = traced(place.report())
    require_equal("fate", process["fate"], "killed")


def play_daemon(scenario, place):
    """A daemon outlives kprof, which says so; what it does then still reaches the trace."""
    result = place.run([place.kprof, "-o", place.trace, "--", *place.command(scenario)],
                       place.environment(scenario, traced=True))
    require_equal("status", result.status, 0)
    require("1 process still runs" in result.err, f"stderr says nothing: {result.err}")
    require(not [name for name in os.listdir(place.directory) if name.endswith(".live")],
            "the mapping's file is left")
    early = place.report_once()
    require_equal("fate", traced(early)[0]["fate"], "unfinished")
    deadline = time.monotonic() + TIME_LIMIT_S
    while place.report_once()["counts"]["processes_unfinished"] and time.monotonic() < deadline:
        time.sleep(0.1)
    document = place.report()
    check_agreement(document, place.ledger.read())
    check_manners(place.ledger.read())
    process, = traced(document)
    require_equal("kernels", (process["kernels"], process["counts"]["kernels_issued"]),
                  (scenario.kernels, scenario.kernels))
    require(early["counts"]["kernels"] < scenario.kernels, "it had ended before kprof did")
    require_equal("fate", process["fate"], "ended")


def play_daemon_late(scenario, place):
    """A daemon that has not used CUDA yet when kprof ends: kprof says that it may."""
    result = place.run([place.kprof, "-o", place.trace, "--", *place.command(scenario)],
                       place.environment(scenario, traced=True))
    require_equal("status", result.status, 0)
    require("1 process that it started still runs" in result.err, f"said: {result.err}")
    deadline = time.monotonic() + TIME_LIMIT_S
    while time.monotonic() < deadline:
        if os.path.exists(place.trace) and os.path.getsize(place.trace) and \
                not place.report_once()["counts"]["processes_unfinished"]:
            break
        time.sleep(0.1)
    require_equal("kernels", place.report()["counts"]["kernels"], scenario.kernels)


# ---- programs of their own ----

# The driver by ctypes, as Python sees it; the image is that of common/image.h.
PYTHON_WORKERS = """#!{python} -B
import ctypes, multiprocessing, sys
class Kernel(ctypes.Structure):
    _fields_ = [("name", ctypes.c_char_p), ("duration", ctypes.c_uint64),
                ("registers", ctypes.c_uint32), ("shared", ctypes.c_uint32),
                ("local", ctypes.c_uint32)]
class Image(ctypes.Structure):
    _fields_ = [("magic", ctypes.c_uint64), ("count", ctypes.c_size_t),
                ("kernels", ctypes.POINTER(Kernel))]
def launch(count):
    cuda = ctypes.CDLL("libcuda.so.1")
    context, module, function = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
    kernel = Kernel(b"python_kernel", 1000, 8, 0, 0)
    image = Image(0x31454b41464b4c, 1, ctypes.pointer(kernel))
    results = [cuda.cuInit(0), cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0),
               cuda.cuCtxSetCurrent(context),
               cuda.cuModuleLoadData(ctypes.byref(module), ctypes.byref(image)),
               cuda.cuModuleGetFunction(ctypes.byref(function), module, b"python_kernel")]
    results += [cuda.cuLaunchKernel(function, 1, 1, 1, 32, 1, 1, 0, None, None, None)
                for _ in range(count)]
    results.append(cuda.cuCtxSynchronize())
    sys.exit(0 if not any(results) else 5)
if __name__ == "__main__":
    context = multiprocessing.get_context("METHOD")
    workers = [context.Process(target=launch, args=(count,)) for count in (10, 20, 30)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    print([worker.exitcode for worker in workers])
""".replace("{python}", sys.executable)

RANKS_SCRIPT = """#!/bin/sh
RANK=0 LOCAL_RANK=0 "{fakes}/prog_launch" --kernels 10 &
SLURM_PROCID=1 SLURM_LOCALID=1 "{fakes}/prog_launch" --kernels 20 &
OMPI_COMM_WORLD_RANK=11 OMPI_COMM_WORLD_LOCAL_RANK=3 "{fakes}/prog_launch" --kernels 30 &
wait
"""
REPEATED_SCRIPT = """#!/bin/sh
for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do "{fakes}/prog_foreign"; done
exec "{fakes}/prog_launch" --kernels 20
"""
PRIVILEGED_SCRIPT = """#!/bin/sh
cp "{fakes}/prog_environ" "{directory}/privileged"
chown 65534:65534 "{directory}/privileged" && chmod 4755 "{directory}/privileged"
chmod 755 "{directory}"
"{directory}/privileged"
"{fakes}/prog_launch" --kernels 20
"""
THIRTY = ["{fakes}/prog_launch", "--kernels", "30"]


def start(*words, kernels="20"):
    return {"program": "prog_start", "args": [kernels, *words]}


SCENARIOS = [
    # exec in this process
    *[Scenario(f"exec_{way}", **start(way, *THIRTY), kernels=50, check=check_replaced)
      for way in WAYS],
    Scenario("exec", args=["--kernels", "500", "--exec", "{fakes}/prog_nogpu"], kernels=500),
    Scenario("exec_script", **start("execv", "{directory}/again"), kernels=50,
             files={"again": '#!/bin/sh\nexec "{fakes}/prog_launch" --kernels 30\n'},
             check=check_replaced),
    Scenario("exec_text", **start("execvp", "{directory}/text"), kernels=50,
             files={"text": 'exec "{fakes}/prog_launch" --kernels 30\n'}, check=check_replaced),
    Scenario("exec_text_refused", **start("execv", "{directory}/text"), status=7, kernels=40,
             files={"text": "exit 0\n"}, check=check_failed_exec),
    Scenario("exec_missing", **start("execvp", "no-such-program"), status=7, kernels=40,
             check=check_failed_exec),
    Scenario("exec_directory", **start("execve", "/"), status=7, kernels=40,
             check=check_failed_exec),
    Scenario("exec_large", **start("large", LAUNCH), status=7, kernels=40,
             check=check_failed_exec),
    Scenario("exec_large_foreign", **start("large", "{fakes}/prog_foreign"), status=7, kernels=40,
             check=check_failed_exec),
    Scenario("exec_nowhere", **start("nowhere", LAUNCH), status=7, kernels=40,
             check=check_nowhere),
    Scenario("exec_clean", **start("clean", *THIRTY), kernels=20),
    Scenario("exec_hang", **start("execv", "{fakes}/prog_nogpu", "6"), faults="hang_flush",
             status=6, seconds=30, agrees=False, says=("did not give back",)),
    # children
    *[Scenario(f"fork_{way}", **start(f"fork+{way}", *THIRTY), kernels=50, check=check_parent)
      for way in ("execve", "execvp", "fexecve")],
    *[Scenario(f"vfork_{way}", **start(f"vfork+{way}", *THIRTY), kernels=50, check=check_parent)
      for way in ("execve", "execvp", "execl")],
    *[Scenario(way, **start(way, *THIRTY), kernels=50, check=check_parent)
      for way in ("posix_spawn", "posix_spawnp")],
    *[Scenario(f"shell_{way}", **start(way, LAUNCH + " --kernels 30 --print"), kernels=50,
               check=check_child) for way in ("system", "popen")],
    Scenario("spawn_missing", **start("posix_spawn", "/no/such/program"), status=7, kernels=20),
    Scenario("vfork_missing", **start("vfork+execve", "/no/such/program"), status=127, kernels=20),
    Scenario("fork_again", faults="refork", kernels=60, check=check_again,
             args=["--kernels", "30", "--nvtx", "--fork", "again", "--print"]),
    Scenario("fork_again_refused", kernels=30,
             args=["--kernels", "30", "--fork", "again"]),
    Scenario("fork_storm", agrees=False, check=check_storm,
             args=["--kernels", "100000000", "--threads", "3", "--detached", "--forks", "150"]),
    *[Scenario(f"python_{method}", script=PYTHON_WORKERS.replace("METHOD", method), kernels=60,
               check=check_workers) for method in ("fork", "spawn", "forkserver")],
    Scenario("ranks", script=RANKS_SCRIPT, kernels=60, check=check_ranks),
    Scenario("daemon", play=play_daemon, kernels=5000,
             args=["--kernels", "5000", "--interval-us", "1000", "--daemon", "early"]),
    Scenario("daemon_late", play=play_daemon_late, kernels=500,
             args=["--kernels", "500", "--daemon", "late"]),
    # programs that kprof cannot see into
    Scenario("static_child", **start("fork+execv", "{fakes}/prog_static", "5"), status=5,
             kernels=20, check=check_static_child),
    Scenario("static_spawned", **start("posix_spawn", "{fakes}/prog_static", "5"), status=5,
             kernels=20, check=check_static_child),
    Scenario("static_only", **start("vfork+execv", "{fakes}/prog_static", "5", kernels="0"),
             status=5, trace=False, says=(r"prog_static is statically linked",)),
    Scenario("static_interpreter", **start("fork+execvp", "{directory}/interpreted"), status=0,
             files={"interpreted": "#!{fakes}/prog_static\n"}, kernels=20,
             check=check_static_script),
    *[Scenario(f"foreign_{way.replace('+', '_')}", **start(way, "{fakes}/prog_foreign"), status=12,
               kernels=20, check=check_foreign_child)
      for way in ("fork+execvp", "vfork+execve", "fork+fexecve", "fork+execveat",
                  "vfork+execveat_in", "posix_spawn", "posix_spawnp")],
    Scenario("foreign_own_preload", **start("posix_spawn", "{fakes}/prog_foreign"), status=12,
             env={"LD_PRELOAD": "libm.so.6"}, kernels=20, check=check_foreign_child),
    Scenario("foreign_successor", **start("execv", "{fakes}/prog_foreign"), status=12, kernels=20,
             check=check_foreign_successor),
    Scenario("foreign_grandchild", env={"PROG_QUIET": "1"}, kernels=50,
             **start("fork+execv", "{fakes}/prog_foreign", LAUNCH, "--kernels=30"),
             check=check_foreign_grandchild),
    Scenario("foreign_root", root=True, play=play_chroot,
             **start("fork+chroot", "/prog_environ")),
    Scenario("namespace_killed", root=True, play=play_namespace_killed,
             args=["--kernels", "100000000", "--interval-us", "100"]),
    Scenario("namespaces", root=True, play=play_namespaces, **start("fork+execv", *THIRTY)),
    Scenario("foreign_repeated", script=REPEATED_SCRIPT, kernels=20, check=check_repeated),
    Scenario("privileged_child", script=PRIVILEGED_SCRIPT, kernels=20, root=True,
             env={"PROG_QUIET": "1"}, check=check_privileged),
]
