"""Scenarios of hardware counters: sampled, refused, shared, and in every kind of end."""

import os
import re

from harness import check_manners, parse_json, require, require_equal
from scenario import Scenario

SHORT = ["--kernels", "200", "--interval-us", "1000", "--print"]
ON = ("--counters", "on")
AUTO = ("--counters", "auto")
MEMORY = ["dram_read_bytes", "dram_write_bytes"]
ALL = [*MEMORY, "l2_sectors", "tensor_active_cycles", "sm_active_cycles"]
PAIR = "#!/bin/sh\n" + "\n".join(
    ["{fakes}/prog_launch --kernels 300 --interval-us 1000 &"] * 2) + "\nwait\n"


def info_of(place):
    """What kprof info says of the trace."""
    plain = {key: value for key, value in os.environ.items() if not key.startswith("LD_")}
    result = place.run([place.kprof, "info", "--format", "json", place.trace], plain)
    require_equal("status of kprof info", (result.status, result.err), (0, ""))
    return parse_json(result.out)


def sessions_of(place):
    return [session for process in info_of(place)["processes"] for session in process["counters"]]


def check_sampled(run, sessions=1, exact=True, probed=0, least=500):
    """Every sample that CUPTI gave is in the trace, and the hardware was given back."""
    found = sessions_of(run.place)
    require_equal("sessions", len(found), sessions)
    require_equal("enabled and disabled", (run.ledger["pm_enables"], run.ledger["pm_disables"]),
                  (sessions + probed, sessions + probed))
    samples = info_of(run.place)["counter_samples"]
    require(samples > least, f"only {samples} samples")
    require_equal("samples in all sessions", sum(each["samples"] for each in found), samples)
    require_equal("first samples", sum(each["samples_left_out"] for each in found) >= sessions,
                  True)
    if exact:
        require_equal("samples", samples, run.ledger["pm_samples"])
        require_equal("gaps and losses", [(each["gaps"], each["overflows"], each["samples_invalid"],
                                           each["samples_unwritten"]) for each in found],
                      [(0, 0, 0, 0)] * sessions)


def sums_of(place):
    """What the samples of the trace add up to, by metric."""
    result = place.run([os.path.join(place.build, "tests/gpu/sample_sums"), place.trace], {})
    require_equal("status of sample_sums", (result.status, result.err), (0, ""))
    return {name: int(value) for name, value in
            re.findall(rb"^session 0 device 0 (\w+) (\d+)$", result.out, re.MULTILINE)}


def fake_value(number, metric):
    """What cupti/pm.h says that a metric counts in a sample."""
    return 32 * (metric + 1) * (1 + number % (97 - metric))


def check_sums(run, keys):
    """Every value is there: the samples are numbers 1 to n of the session."""
    samples = info_of(run.place)["counter_samples"]
    expected = {key.encode(): sum(fake_value(number, metric) for number in range(1, samples + 1))
                for metric, key in enumerate(keys)}
    require_equal("sums", sums_of(run.place), expected)


def check_described(run):
    check_sampled(run)
    check_sums(run, MEMORY)
    session, = sessions_of(run.place)
    require_equal("chip", (session["chip"], session["device"], session["interval_ns"]),
                  ("GH100", 0, 200000))
    require_equal("metrics", [(metric["key"], metric["source"], metric["unit"])
                              for metric in session["metrics"]],
                  [("dram_read_bytes", "dram__bytes_read.sum", "byte"),
                   ("dram_write_bytes", "dram__bytes_write.sum", "byte")])
    require_equal("span", (session["end_ns"] - session["begin_ns"]),
                  session["samples"] * session["interval_ns"])
    require(session["decode_cpu_ns"] > 0, "decoding costs nothing")


def check_one_clock(run):
    """Kernels and samples are on kprof's clock, though CUPTI keeps its own: minutes from the start."""
    check_described(run)
    process, = info_of(run.place)["processes"]
    session, = process["counters"]
    for at_ns in (process["first_ns"], process["last_ns"], session["begin_ns"], session["end_ns"]):
        after_s = (at_ns - process["start_ns"]) / 1e9
        require(0 <= after_s < 600, f"{after_s} s after the start")


def check_all(run):
    check_sampled(run, least=100)
    session, = sessions_of(run.place)
    require_equal("metrics", len(session["metrics"]), 5)
    check_sums(run, ALL)
    require_equal("interval", session["interval_ns"], 1500000)


def check_absent(run, says):
    """Timing only, and the trace says why."""
    session, = sessions_of(run.place)
    require(says in session["absent"], f"«{says}» is not in «{session['absent']}»")
    require_equal("metrics", (session["metrics"], session["samples"]), ([], None))
    text = " ".join(run.place.text.split())
    require("Counters not sampled: " in text and says in text, f"the report is silent: {text}")
    require_equal("sessions", run.ledger["pm_enables"] - run.ledger["pm_disables"], 0)


def check_none(run):
    require_equal("sessions", (sessions_of(run.place), run.ledger["pm_enables"]), ([], 0))


def check_attached(run):
    """CUPTI is not given up while counters are sampled through it."""
    require_equal("detachings", run.ledger["finalizes"], 0)
    require(sessions_of(run.place), "no session")


def check_shared(run):
    """Two processes on one GPU: one samples, the other says who."""
    sessions = sessions_of(run.place)
    owners = [process["pid"] for process in info_of(run.place)["processes"]
              if any(session["samples"] for session in process["counters"])]
    require_equal("sessions", len(sessions), 2)
    others = [session for session in sessions if session["absent"]]
    if others:  # they ran at the same time
        require_equal("owner", [other["owner_pid"] for other in others], owners)
        require_equal("sessions of CUPTI", run.ledger["pm_enables"], 1)


def check_overflow(run):
    check_sampled(run, exact=False)
    session, = sessions_of(run.place)
    require_equal("overflows and gaps", (session["overflows"], session["gaps"]), (1, 1))
    require_equal("samples", session["samples"], run.ledger["pm_samples"])


def check_contexts(run):
    """Sampling begins with the first context, whatever becomes of it."""
    check_sampled(run)
    session, = sessions_of(run.place)
    require_equal("starts", session["samples_left_out"], 1)


def check_resumed(run):
    """A program that failed to become another is sampled on."""
    session, = sessions_of(run.place)
    require_equal("starts", session["samples_left_out"], 2)
    require_equal("samples", session["samples"], run.ledger["pm_samples"])


def check_window(run):
    """What was counted before recording began is left out."""
    samples = info_of(run.place)["counter_samples"]
    require(0 < samples < run.ledger["pm_samples"] - 1000,
            f"{samples} of {run.ledger['pm_samples']} samples")


def check_killed(run):
    """What is in the trace of a killed program is whole."""
    session, = sessions_of(run.place)
    require_equal("what is known only at the end", session["samples"], None)
    samples = info_of(run.place)["counter_samples"]
    require(0 < samples <= run.ledger["pm_samples"], f"{samples} samples")


def check_hung(run):
    """A CUPTI that never comes back costs the program a moment, and the records nothing."""
    require_equal("kernels", run.counts["kernels"], 200)


def play_refused(scenario, place):
    """«on» where it is impossible: one line, status 125, and the program does not run."""
    result = place.run([place.kprof, *scenario.options, "-o", place.trace, "--",
                        *place.command(scenario)], place.environment(scenario, traced=True))
    require_equal("status and output", (result.status, result.out), (125, b""))
    for text in scenario.says:
        require(text in " ".join(result.err.split()), f"«{text}» is not in {result.err}")
    require(not os.path.exists(place.trace), "a trace was left")
    check_manners(place.ledger.read())


def play_doctor(scenario, place):
    """Each GPU is tried, and only one driver is started in a process and its children."""
    result = place.run([place.kprof, "doctor"], place.environment(scenario, traced=True))
    require_equal("status", result.status, 0)
    require_equal("GPUs", result.out.count(b"can be sampled"), 2)


SCENARIOS = [
    Scenario("counters_doctor", play=play_doctor),
    Scenario("counters", args=SHORT, options=AUTO, kernels=200, check=check_described),
    Scenario("counters_no_timestamps", args=SHORT, options=AUTO, kernels=200,
             faults="wall,timestamp", check=check_one_clock),
    Scenario("counters_on", args=SHORT, options=ON, kernels=200,
             check=lambda run: check_sampled(run, probed=2)),
    Scenario("counters_all", args=SHORT, check=check_all, kernels=200,
             options=(*AUTO, "--counter-set", "all", "--counter-interval", "1500")),
    Scenario("counters_off", args=SHORT, options=("--counters", "off"), check=check_none),
    Scenario("counters_duty", args=SHORT, options=(*AUTO, "--duty", "20"), faults="wall",
             check=check_none),
    Scenario("counters_on_duty", args=SHORT, options=(*ON, "--duty", "20"), faults="wall",
             check=check_attached),
    # refusals
    *[Scenario(f"counters_auto_{name}", args=SHORT, options=AUTO, faults=faults, kernels=200,
               check=lambda run, says=says: check_absent(run, says))
      for name, faults, says in (("busy", "pm=26", "dcgmi profctl --pause"),
                                 ("denied", "pm=35", "NVreg_RestrictProfilingToAdminUsers"),
                                 ("mig", "pm=43", "MIG"), ("chip", "pm_chip", "XX999"),
                                 ("old", "version=23", "CUDA 12.6"))],
    Scenario("counters_on_denied", play=play_refused, args=SHORT, options=ON, faults="pm=35",
             says=("NVreg_RestrictProfilingToAdminUsers",)),
    Scenario("counters_on_old", play=play_refused, args=SHORT, options=ON, faults="version=23",
             says=("CUDA 12.6",)),
    Scenario("counters_too_often", play=play_refused, args=SHORT,
             options=(*ON, "--counter-interval", "5"), says=("20 microseconds at least",)),
    # troubles
    Scenario("counters_partial", args=SHORT, options=AUTO, faults="pm_partial",
             check=lambda run: check_sampled(run, probed=1)),
    Scenario("counters_overflow", args=["--kernels", "600", "--interval-us", "1000"], options=AUTO,
             faults="pm_overflow=5", check=check_overflow),
    Scenario("counters_slow", args=SHORT, options=AUTO, faults="pm_slow=4000", agrees=True,
             kernels=200),
    Scenario("counters_hang", args=SHORT, options=AUTO, faults="pm_hang=2", check=check_hung,
             seconds=30),
    Scenario("counters_close_fds", args=[*SHORT, "--close-fds"], options=AUTO, check=check_sampled),
    Scenario("counters_contexts", args=[*SHORT, "--contexts", "3"], options=AUTO,
             check=check_contexts),
    Scenario("counters_window", args=["--kernels", "800", "--interval-us", "1000"],
             options=(*AUTO, "--delay", "0.4"), check=check_window),
    Scenario("counters_kineto", program="prog_kineto", options=AUTO, agrees=False),
    # processes
    Scenario("counters_fork", args=[*SHORT, "--fork", "before"], options=AUTO,
             check=lambda run: check_sampled(run, sessions=2)),
    Scenario("counters_fork_after", args=[*SHORT, "--fork", "after"], options=AUTO,
             check=check_sampled),
    Scenario("counters_two", script=PAIR, options=AUTO, check=check_shared),
    # ends
    Scenario("counters__exit", args=[*SHORT, "--_exit"], options=AUTO, check=check_sampled),
    Scenario("counters_quick_exit", args=[*SHORT, "--quick-exit"], options=AUTO,
             check=check_sampled),
    Scenario("counters_detached", args=[*SHORT, "--threads", "2", "--detached"], options=AUTO,
             agrees=False),
    Scenario("counters_exec", args=[*SHORT, "--exec", "/bin/true"], options=AUTO,
             check=lambda run: require(info_of(run.place)["counter_samples"] ==
                                       run.ledger["pm_samples"] > 500, "samples are missing")),
    Scenario("counters_exec_fails", program="prog_start", args=["300000", "execv", "{directory}/bad"],
             files={"bad": "no program\n"}, options=AUTO, status=7, check=check_resumed),
    Scenario("counters_killed", args=["--kernels", "1500", "--interval-us", "1000",
                                      "--sigkill-self"], options=AUTO, status=137,
             check=check_killed),
]
