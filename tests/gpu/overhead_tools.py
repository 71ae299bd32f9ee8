"""The tools whose cost tests/gpu/overhead measures: how each runs a program, and what it must show.

A tool wraps the command of a program. It counts only where it has shown that it recorded something.
"""

import dataclasses
import glob
import json
import re
import shutil
import sys
from pathlib import Path

from report import Report
from runner import Skip, require

IN_PROCESS = [sys.executable, "-B", Path(__file__).with_name("in_process.py")]
NSYS_PLACES = "/opt/nvidia/nsight-compute/*/host/target-linux-x64/nsys"


@dataclasses.dataclass(frozen=True)
class Tool:
    """A column. `wrap` (bench, command) gives the command under the tool and what it needs in the
    environment; `check` (bench, how it ended) raises Failure, or Skip, where it recorded nothing,
    and returns the windows in which it did, where there are any.
    """

    wrap: object
    check: object = lambda bench, ran: None

    def run(self, bench, command):
        """How it ended, and what the check returned."""
        words, env = self.wrap(bench, command)
        ran = bench.run(words, env=env)
        return ran, self.check(bench, ran)


def found(pattern, text):
    match = re.search(pattern, text, re.M)
    require(match, f"no /{pattern}/ in the output")
    return float(match[1])


# ---- kprof ----

def trace_of(bench):
    return bench.folder / "run.kprof"


def wrap_kprof(*options):
    def wrap(bench, command):
        for option in options:
            usage = bench.run([bench.build / "kprof", "record", "--help"], status=None).text()
            if option.startswith("--") and option not in usage:
                raise Skip(f"this kprof has no {option}")
        return [bench.build / "kprof", "record", *options, "-o", trace_of(bench), "--",
                *command], {}
    return wrap


def check_kernels(bench, _):
    """The trace holds kernels, and none were dropped. It is not kept."""
    seen = Report(bench.run([bench.build / "kprof", "report", "--format", "json",
                             trace_of(bench)]).stdout)
    trace_of(bench).unlink()
    require(seen.kernels > 0, "kprof recorded no kernels")
    require(seen.dropped == 0, f"kprof's records dropped: {seen.dropped}")


def check_windows(bench, ran):
    """The same, and CUPTI left the program after windows."""
    info = bench.run([bench.build / "kprof", "info", "--format", "json", trace_of(bench)])
    windows = [window for process in json.loads(info.text())["processes"]
               for window in process["windows"]]
    if not any(window["kernels_issued"] for window in windows):
        raise Skip(f"the run is too short: no kernel was launched in its {len(windows)} windows")
    check_kernels(bench, ran)
    require(any(window["detached"] for window in windows),
            f"CUPTI was never detached in {len(windows)} windows")
    return windows


def check_off(bench, _):
    """Nothing was recorded, and the hooks have counted."""
    seen = Report(bench.run([bench.build / "kprof", "report", "--format", "json",
                             trace_of(bench)]).stdout)
    trace_of(bench).unlink()
    require(seen.kernels == 0 and seen.issued, f"{seen.kernels} recorded, {seen.issued} issued")


# ---- others ----

def wrap_raw(bench, command):
    library = bench.build / "tests/gpu/libraw_cupti.so"
    if not library.exists():
        raise Skip(f"{library} was not built")
    return command, {"CUDA_INJECTION64_PATH": str(library)}


def check_raw(_, ran):
    require(found(r"^raw_cupti: (\d+) bytes of records", ran.stderr.decode()) > 0,
            "raw CUPTI recorded nothing")


def wrap_nsys(bench, command):
    nsys = shutil.which("nsys") or next(iter(sorted(glob.glob(NSYS_PLACES), reverse=True)), None)
    if not nsys:
        raise Skip("no nsys here")
    return [nsys, "profile", "--trace=cuda", "--cuda-graph-trace=node", "--sample=none",
            "--cpuctxsw=none", "--force-overwrite=true", "--output", bench.folder / "nsys",
            *command], {}


def check_nsys(bench, _):
    reports = list(bench.folder.glob("nsys.*"))
    require(any(report.stat().st_size for report in reports), "nsys left no report")
    for report in reports:
        report.unlink()


def in_process(profiler, package):
    """A Python program runs in the profiler's process as it is, samples/spin as a library."""
    def wrap(bench, command):
        probe = f"import importlib.util, sys; sys.exit(not importlib.util.find_spec('{package}'))"
        if bench.run([sys.executable, "-c", probe], status=None).status != 0:
            raise Skip(f"no {package} here")
        program = command[1:] if command[0] == sys.executable else [
            bench.build / "samples/libspin.so", *command[1:]]
        return [*IN_PROCESS, profiler, *program], {}

    def check(_, ran):
        require(found(r"^in_process: (\d+) records", ran.stderr.decode()) > 0,
                f"{profiler} recorded nothing")
    return Tool(wrap, check)


TOOLS = {
    "bare": Tool(lambda bench, command: (command, {})),
    "kprof": Tool(wrap_kprof(), check_kernels),
    "host": Tool(wrap_kprof("--host"), check_kernels),
    "off": Tool(wrap_kprof("--delay", "3600"), check_off),
    "duty": Tool(wrap_kprof("--duty", "2%"), check_windows),
    "raw": Tool(wrap_raw, check_raw),
    "nsys": Tool(wrap_nsys, check_nsys),
    "proton": in_process("proton", "triton"),
    "torch-cuda": in_process("torch-cuda", "torch"),
    "torch-cpu-cuda": in_process("torch-cpu-cuda", "torch"),
}
