"""Scenarios of --host: calls that launch are timed, and tied to the kernels that they launched."""

import json
import time

from harness import (await_kernels, check_agreement, check_manners, check_sum, end, kill, require,
                     require_equal, start_under_kprof)
from scenario import Scenario

HOST = ("--host",)


def of_host(document):
    require(document["host"] is not None, "the report has no host side")
    return document["host"]


def calls_made(document, ledger):
    """How often the program launched: kernels outside graphs, and graphs."""
    return (ledger["kernels_issued"] - document["counts"]["kernels_in_graphs"] +
            ledger["graph_launches"])


def check_account(document, ledger):
    """Every call is there or counted as lost, and every kernel is tied or counted as not."""
    host = of_host(document)
    require_equal("calls", host["launch_calls"] + host["launch_calls_lost"],
                  calls_made(document, ledger))
    require_equal("kernels", host["kernels_tied"] + host["kernels_untied"],
                  document["counts"]["kernels"])
    require_equal("calls by thread", sum(row["launch_calls"] for row in host["threads"]),
                  host["launch_calls"])
    require_equal("time by thread", sum(row["launch_call_total_ns"] for row in host["threads"]),
                  host["launch_call_total_ns"])
    for rows in (document["kernels"], document["operators"]):
        require_equal("tied, row by row", sum(row["launches_tied"] for row in rows),
                      host["kernels_tied"])
        require(sum(row["launch_call_total_ns"] or 0 for row in rows) <=
                host["launch_call_total_ns"], "kernels have more CPU time than all calls")


def check_counts(document):
    """What the collectors counted is what the trace holds."""
    host = of_host(document)
    counts = [process["counts"] for process in document["processes"]]
    require_equal("counted calls", sum(row["host_calls"] or 0 for row in counts),
                  host["launch_calls"])
    require_equal("unwritten", host["launch_calls_unwritten"], 0)


def check_info(run):
    result = run.place.run([run.place.kprof, "info", "--format", "json", run.place.trace], {})
    info, host = json.loads(result.out), of_host(run.document)
    require_equal("kprof info", (info["launch_calls"], info["kernels_tied"],
                                 info["kernels_untied"]),
                  (host["launch_calls"], host["kernels_tied"], host["kernels_untied"]))


def check_host(threads=1, tied=True, ledger_counts=True):
    """All calls are kept; `tied`: every kernel has its call."""
    def check(run):
        host = of_host(run.document)
        if ledger_counts:
            check_account(run.document, run.ledger)
        check_counts(run.document)
        check_info(run)
        require_equal("lost", host["launch_calls_lost"], 0)
        require_equal("threads", len(host["threads"]), threads)
        if tied:
            require_equal("untied", host["kernels_untied"], 0)
            require_equal("tied calls", host["launch_calls_tied"], host["launch_calls"])
        require(10 <= host["launch_call_median_ns"] <= 10**6,
                f"a call takes {host['launch_call_median_ns']} ns")
        require("CPU time in launch calls" in run.place.text, f"the text: {run.place.text}")
    return check


def check_queue(run):
    """The GPU leaves 50 µs before each kernel: that is how long a launch waits."""
    check_host()(run)
    row = run.kernel("vector_add")
    require_equal("threads", row["launch_threads"], 1)
    require(20000 <= row["queue_median_ns"] <= 50000, f"it waits {row['queue_median_ns']} ns")
    require(row["queue_median_ns"] <= row["queue_p99_ns"] <= row["queue_max_ns"], "p99")
    require(row["launch_call_median_ns"] <= row["launch_call_p99_ns"] <=
            row["launch_call_max_ns"], "p99 of calls")


def check_graph(run):
    """A graph's launch is one call, tied to all of its kernels."""
    check_host()(run)
    host = of_host(run.document)
    require_equal("graphs", host["graph_launch_calls"], run.ledger["graph_launches"])


def check_threads(run):
    check_host(threads=8)(run)
    require_equal("threads of the kernel", run.kernel("vector_add")["launch_threads"], 8)


def check_contended(run):
    """Threads that share a stream: who came first is said only where it is known."""
    check_host(threads=4, tied=False)(run)
    require(of_host(run.document)["kernels_tied"] > 0, "nothing is tied")


def check_overrun(run):
    """More calls than any program can make: what is lost is counted, and nothing is guessed."""
    check_account(run.document, run.ledger)
    check_counts(run.document)
    host = of_host(run.document)
    if host["launch_calls_lost"]:
        require_equal("tied", host["kernels_tied"], 0)
        require("Calls lost" in run.place.text and "Untied" in run.place.text, run.place.text)
    else:
        require_equal("untied", host["kernels_untied"], 0)


def check_running(run):
    """Threads still launch when the program ends: no more calls than there were, and no guess."""
    check_counts(run.document)
    host = of_host(run.document)
    require(0 < host["launch_calls"] <= run.ledger["kernels_issued"], f"{host['launch_calls']}")
    require_equal("threads", len(host["threads"]), 4)
    require_equal("kernels", host["kernels_tied"] + host["kernels_untied"],
                  run.counts["kernels"])


def check_lossy(run):
    """Records are missing: no more is tied than is certain, and the text says so."""
    check_account(run.document, run.ledger)
    require("Untied" in run.place.text, f"the text: {run.place.text}")


def check_no_host(run):
    require_equal("host", run.document["host"], None)
    require("launch_call_total_ns" not in json.dumps(run.document["kernels"]), "keys of --host")
    require("CPU time" not in run.place.text, run.place.text)


def check_range(run):
    """Windows that a thread of the program opens and closes: only calls inside are kept."""
    check_sum(run.document, run.ledger)
    host = of_host(run.document)
    require_equal("calls", (host["launch_calls"], host["kernels_tied"]), (30, 30))


def check_windows(run):
    """Windows by time: calls that surely lie outside are not kept; at the edges some may be."""
    check_sum(run.document, run.ledger)
    host = of_host(run.document)
    require(run.counts["kernels"] <= host["launch_calls"] <= run.counts["kernels"] + 300,
            f"{host['launch_calls']} calls of {run.counts['kernels']} kernels")


def check_filtered(run):
    host = of_host(run.document)
    require_equal("calls", host["launch_calls"], 150)
    require_equal("kernels", host["kernels_tied"] + host["kernels_untied"], 50)


def check_processes(run):
    check_account(run.document, run.ledger)
    require_equal("processes with threads",
                  sorted(row["process"] for row in of_host(run.document)["threads"]), [0, 1])
    require_equal("untied", of_host(run.document)["kernels_untied"], 0)


def play_kill(scenario, place):
    """SIGKILL: what was in balance is tied, and the rest is said not to be."""
    process, pid = start_under_kprof(scenario, place)
    await_kernels(place, 1)
    time.sleep(1.2)
    kill(pid)
    end(process)
    document = place.report()
    check_manners(place.ledger.read())
    check_agreement(document, place.ledger.read())
    host = of_host(document)
    require(0 < host["launch_calls"] <= place.ledger.read()["kernels_issued"], "calls")
    require_equal("kernels", host["kernels_tied"] + host["kernels_untied"],
                  document["counts"]["kernels"])
    require(host["kernels_tied"] > 0.5 * document["counts"]["kernels"],
            f"tied: {host['kernels_tied']} of {document['counts']['kernels']}")


EAGER = ["--kernels", "5000", "--duration-ns", "2000", "--print"]

SCENARIOS = [
    Scenario("host", args=[*EAGER, "--streams", "3"], options=HOST, faults="wall,queue=2000",
             kernels=5000, check=check_host()),
    Scenario("host_not_asked", args=EAGER, check=check_no_host),
    Scenario("host_queue", args=["--kernels", "300", "--interval-us", "200"], options=HOST,
             faults="wall,gap=50000", check=check_queue),
    *[Scenario(f"host_{api.replace('-', '_')}", args=[*EAGER, "--api", api], options=HOST,
               faults="wall,queue=2000", kernels=5000, check=check_host())
      for api in ("ex", "coop", "launch-ptsz", "ex-ptsz", "coop-ptsz")],
    Scenario("host_lookups", program="prog_dlopen", options=HOST, faults="wall", kernels=21,
             check=check_host()),
    *[Scenario(f"host_graph_{how}", options=HOST, faults="wall", check=check_graph,
               args=["--kernels", "100", "--graph", "24x200", "--graph-from", how, "--print"])
      for how in ("hand", "capture", "nested")],
    Scenario("host_streams", args=[*EAGER, "--streams", "64"], options=HOST,
             faults="wall,queue=2000", check=check_host()),
    Scenario("host_stream_handles", options=HOST, faults="wall", check=check_host(),
             args=["--kernels", "5000", "--streams", "5", "--recreate", "7"]),
    Scenario("host_default_stream", args=[*EAGER, "--streams", "0"], options=HOST,
             faults="wall,queue=2000", check=check_host()),
    Scenario("host_threads", options=HOST, faults="wall", check=check_threads,
             args=["--kernels", "1000", "--threads", "8", "--streams", "2", "--interval-us",
                   "20"]),
    Scenario("host_thread_streams", options=HOST, faults="wall", check=check_host(threads=6),
             args=["--kernels", "1000", "--threads", "6", "--streams", "0", "--api",
                   "launch-ptsz", "--interval-us", "20"]),
    Scenario("host_contended", options=HOST, faults="wall", check=check_contended,
             args=["--kernels", "1000", "--threads", "4", "--streams", "0", "--interval-us",
                   "20"]),
    Scenario("host_overrun", options=HOST, faults="wall", check=check_overrun,
             args=["--kernels", "150000", "--threads", "8", "--streams", "2"]),
    Scenario("host_virtual_time", args=["--kernels", "5000", "--streams", "2", "--interval-us",
                                        "10"], options=HOST, check=check_host()),
    # what is missing, or odd
    Scenario("host_drops", args=["--kernels", "1000", "--interval-us", "20"], options=HOST,
             faults="wall,drop=10", says=("dropped",), check=check_lossy),
    Scenario("host_untimed", args=EAGER, options=HOST, faults="wall,queue=2000,untimed=5",
             says=("untimed",), check=check_host()),
    Scenario("host_absurd", args=EAGER, options=HOST, faults="wall,queue=2000,absurd=5",
             says=("invalid",), check=check_host()),
    Scenario("host_late", args=EAGER, options=HOST, faults="wall,queue=2000,late=50",
             check=check_host()),
    Scenario("host_no_timestamps", args=["--kernels", "300", "--interval-us", "200"],
             options=HOST, faults="wall,gap=50000,timestamp", check=check_queue),
    Scenario("host_failed_launches", args=EAGER, options=HOST, faults="wall,launch_fail=5",
             check=check_host()),
    Scenario("host_refused", args=["--kernels", "5"], options=HOST, faults="enable=35", kernels=0,
             says=("NVreg",), agrees=False, check=check_no_host),
    Scenario("host_range", args=["--kernels", "500", "--nvtx"], faults="wall",
             options=("--host", "--range", "ten launches:2-4"), kernels=30, check=check_range),
    Scenario("host_window", args=["--kernels", "1500", "--interval-us", "500"], faults="wall",
             options=("--host", "--delay", "0.2", "--duration", "0.3"), check=check_windows),
    Scenario("host_kernels", options=("--host", "--kernels", "lo*"), agrees=False, faults="wall",
             check=check_filtered,
             args=["--kernels", "150", "--name", "short_kernel", "--name", "long_kernel",
                   "--name", "_Z5otherv"]),
    # processes, ends, another profiler
    Scenario("host_fork_before", args=["--kernels", "300", "--fork", "before", "--print"],
             options=HOST, faults="wall", kernels=600, check=check_processes),
    Scenario("host_fork_after", args=["--kernels", "300", "--fork", "after", "--print"],
             options=HOST, faults="wall", kernels=300, check=check_host()),
    Scenario("host_fork_again", args=["--kernels", "300", "--fork", "again", "--print"],
             options=HOST, faults="wall,refork", kernels=600, check=check_processes),
    Scenario("host_fork_storm", options=HOST, faults="wall", agrees=False,
             check=check_running,
             args=["--kernels", "20000", "--threads", "4", "--detached", "--forks", "30",
                   "--interval-us", "50"]),
    Scenario("host_exit", args=[*EAGER, "--_exit"], options=HOST, faults="wall,queue=2000",
             check=check_host()),
    Scenario("host_exec", args=["--kernels", "500", "--exec", "{fakes}/prog_nogpu"],
             options=HOST, faults="wall", kernels=500, check=check_host()),
    Scenario("host_kill", play=play_kill, options=HOST, faults="wall",
             args=["--kernels", "10000000", "--interval-us", "100"]),
    Scenario("host_detached_threads", agrees=False, options=HOST, faults="wall",
             check=check_running,
             args=["--kernels", "1000000", "--threads", "4", "--detached", "--print"]),
    *[Scenario(f"host_kineto_{name}", program="prog_kineto", faults="wall", args=[f"--{name}"],
               options=HOST, check=check_host(ledger_counts=False))
      for name in ("registered", "twice")],
]
