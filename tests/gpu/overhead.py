#!/usr/bin/env python3
"""What profilers cost on this GPU, in one run: every tool on every workload, in turns.

A pass runs one workload under every tool, in an order that changes from pass to pass; passes go on
until the budget is spent, each workload getting an equal share of the time. A tool counts only where
it has shown that it recorded something. The arithmetic is in measure.py.
"""

import argparse
import dataclasses
import glob
import json
import os
import re
import shutil
import sys
import time
from pathlib import Path

import measure
from checks import facts
from compare import median
from measure import Cell, Target
from report import Report
from runner import Bench, Failure, Skip, require

ROOT = Path(__file__).resolve().parents[2]
IN_PROCESS = [sys.executable, "-B", ROOT / "tests/gpu/in_process.py"]
TORCH_DECODE = ROOT / "samples/torch_decode.py"
NSYS_PLACES = "/opt/nvidia/nsight-compute/*/host/target-linux-x64/nsys"
BUDGET_S, STEP_LIMIT_S, MOST_PASSES = 240, 90, 21


# ---- workloads ----

@dataclasses.dataclass(frozen=True)
class Workload:
    """A row. `script`: the program is Python's; `value` reads what it says of itself."""

    name: str
    unit: str
    options: tuple
    value: object
    what: str
    script: bool = False
    tools: tuple = ()  # empty: all


def issue_ns(ran):
    """samples/spin --empty: the host's time to issue a launch, on stderr."""
    return found(r"empty: ([\d.]+) ns a launch to issue", ran.stderr.decode())


def node_ns(ran):
    values = re.findall(r"^replay \d+ .*\bns_per_node ([\d.]+)$", ran.text(), re.M)
    require(values, "no replays in the output")
    return median(float(value) for value in values[len(values) // 10:])


def step_us(ran):
    """From the first spinning kernel's begin to the last one's, by the GPU's own timer."""
    begins = [int(value) for value in re.findall(r"^spin \d+ begin_ns (\d+)", ran.text(), re.M)]
    require(len(begins) > 1, "no spinning kernels in the output")
    return (begins[-1] - begins[0]) / (len(begins) - 1) / 1e3


def token_ms(ran):
    return found(r"^decode: ([\d.]+) ms an iteration", ran.stderr.decode())


def found(pattern, text):
    match = re.search(pattern, text, re.M)
    require(match, f"no /{pattern}/ in the output")
    return float(match[1])


WORKLOADS = [
    Workload("empty", "ns", ("--empty", "200000"), issue_ns, "back-to-back empty launches"),
    Workload("nodes", "ns", ("--graph-nodes", "500", "--node-cycles", "0", "--replays", "200"),
             node_ns, "a node of a graph of 500 empty kernels"),
    Workload("row", "µs", ("--spin-us", "5", "--spin-count", "20000"), step_us,
             "a kernel of a row of kernels of 5 µs"),
    Workload("eager", "ms", (), token_ms, "a token of torch_decode.py, eager", script=True),
    Workload("graph", "ms", ("--graph",), token_ms, "the same in a CUDA graph", script=True),
    # Seconds long, for what is switched on and off within a run.
    Workload("eager-long", "ms", ("--rounds", "12"), token_ms, "`eager`, 12 times as long",
             script=True, tools=("bare", "kprof", "duty", "raw")),
    Workload("graph-long", "ms", ("--graph", "--rounds", "64"), token_ms,
             "`graph`, 64 times as long", script=True, tools=("bare", "kprof", "duty", "raw")),
]


# ---- tools ----

def require_kernels(bench, trace):
    """The trace holds kernels, and none were dropped."""
    seen = Report(bench.run([bench.build / "kprof", "report", "--format", "json", trace]).stdout)
    require(seen.kernels > 0, "kprof recorded no kernels")
    require(seen.dropped == 0, f"kprof's records dropped: {seen.dropped}")


def command_of(bench, workload):
    if workload.script:
        return [sys.executable, TORCH_DECODE, *workload.options]
    return [bench.build / "samples/spin", *workload.options]


def run_bare(bench, workload):
    return bench.run(command_of(bench, workload))


def require_detached(bench, trace):
    """The same, and CUPTI left the program after windows."""
    require_kernels(bench, trace)
    info = bench.run([bench.build / "kprof", "info", "--format", "json", trace])
    windows = [window for process in json.loads(info.text())["processes"]
               for window in process["windows"]]
    require(any(window["detached"] for window in windows),
            f"CUPTI was never detached in {len(windows)} windows")


def run_kprof(bench, workload, options=(), check=require_kernels):
    trace = bench.folder / "run.kprof"
    ran = bench.run([bench.build / "kprof", "record", *options, "-o", trace, "--",
                     *command_of(bench, workload)])
    check(bench, trace)
    trace.unlink()
    return ran


def run_duty(bench, workload):
    usage = bench.run([bench.build / "kprof", "record", "--help"], status=None).text()
    if "--duty" not in usage:
        raise Skip("this kprof has no --duty")
    return run_kprof(bench, workload, ("--duty", "2%"), require_detached)


def run_host(bench, workload):
    usage = bench.run([bench.build / "kprof", "record", "--help"], status=None).text()
    if "--host" not in usage:
        raise Skip("this kprof has no --host")
    return run_kprof(bench, workload, ("--host",))


def run_raw(bench, workload):
    library = bench.build / "tests/gpu/libraw_cupti.so"
    if not library.exists():
        raise Skip(f"{library} was not built")
    ran = bench.run(command_of(bench, workload), env={"CUDA_INJECTION64_PATH": str(library)})
    require(found(r"^raw_cupti: (\d+) bytes of records", ran.stderr.decode()) > 0,
            "raw CUPTI recorded nothing")
    return ran


def find_nsys():
    return shutil.which("nsys") or next(iter(sorted(glob.glob(NSYS_PLACES), reverse=True)), None)


def run_nsys(bench, workload):
    nsys = find_nsys()
    if not nsys:
        raise Skip("no nsys here")
    out = bench.folder / "nsys"
    ran = bench.run([nsys, "profile", "--trace=cuda", "--cuda-graph-trace=node", "--sample=none",
                     "--cpuctxsw=none", "--force-overwrite=true", "--output", out,
                     *command_of(bench, workload)])
    reports = list(bench.folder.glob("nsys.*"))
    require(any(report.stat().st_size for report in reports), "nsys left no report")
    for report in reports:
        report.unlink()
    return ran


def in_process(profiler, package):
    def run(bench, workload):
        probe = f"import importlib.util, sys; sys.exit(not importlib.util.find_spec('{package}'))"
        if bench.run([sys.executable, "-c", probe], status=None).status != 0:
            raise Skip(f"no {package} here")
        program = TORCH_DECODE if workload.script else bench.build / "samples/libspin.so"
        ran = bench.run([*IN_PROCESS, profiler, program, *workload.options])
        require(found(r"^in_process: (\d+) records", ran.stderr.decode()) > 0,
                f"{profiler} recorded nothing")
        return ran
    return run


TOOLS = {
    "bare": run_bare,
    "kprof": run_kprof,
    "host": run_host,
    "duty": run_duty,
    "raw": run_raw,
    "nsys": run_nsys,
    "proton": in_process("proton", "triton"),
    "torch-cuda": in_process("torch-cuda", "torch"),
    "torch-cpu-cuda": in_process("torch-cpu-cuda", "torch"),
}

TARGETS = [
    Target("kprof", (), "ratio", "raw", 1.02),
    Target("kprof", ("empty", "eager"), "added", "nsys", 0.6),
    Target("kprof", ("graph", "graph-long"), "ratio", "bare", 1.055),
    Target("host", ("graph", "graph-long"), "ratio", "kprof", 1.01),
    Target("duty", ("eager-long", "graph-long"), "ratio", "bare", 1.01),
]


# ---- the schedule ----

class Study:
    """All cells, and the clock that they share."""

    def __init__(self, build, logs, budget_s, step_limit_s, most_passes):
        self.build, self.logs = Path(build).resolve(), Path(logs)
        self.step_limit_s, self.most_passes = step_limit_s, most_passes
        self.end = time.monotonic() + budget_s
        self.cells = {}
        self.passes = {}
        self.spent_s = {}
        self.longest_s = {}

    def left_s(self):
        return self.end - time.monotonic()

    def step(self, workload, tool, number):
        """One sample of one cell. A cell that cannot be measured is not tried again."""
        cell = self.cells[workload.name][tool]
        limit_s = min(self.step_limit_s, self.left_s())
        if limit_s < 1:
            return
        bench = Bench(self.build, self.logs / f"{workload.name}-{tool}-{number}", limit_s)
        try:
            value = workload.value(TOOLS[tool](bench, workload))
        except (Failure, Skip) as reason:
            if self.left_s() < 0:
                print(f"{workload.name:<10} {tool:<15} the budget was spent", flush=True)
                return
            cell.reason = str(reason)
        except Exception as error:  # a step that breaks does not stop the others
            cell.reason = f"{type(error).__name__}: {error}"
        else:
            cell.samples[number] = value
        word = f"{cell.samples[number]:.6g} {workload.unit}" if number in cell.samples else (
            f"failed: {cell.reason}")
        print(f"{workload.name:<10} {tool:<15} pass {number}  {word}", flush=True)

    def run_pass(self, workload):
        number = self.passes[workload.name]
        begin = time.monotonic()
        tools = [tool for tool, cell in self.cells[workload.name].items() if not cell.reason]
        turn = number % len(tools) if tools else 0
        for tool in tools[turn:] + tools[:turn]:
            self.step(workload, tool, number)
        took_s = time.monotonic() - begin
        self.passes[workload.name] = number + 1
        self.spent_s[workload.name] += took_s
        self.longest_s[workload.name] = took_s

    def next_workload(self, workloads):
        """The one that has had the least time, of those whose next pass still fits."""
        fits = [workload for workload in workloads
                if self.passes[workload.name] < self.most_passes
                and self.longest_s[workload.name] <= self.left_s()
                and any(not cell.reason for cell in self.cells[workload.name].values())]
        return min(fits, key=lambda workload: self.spent_s[workload.name], default=None)

    def run(self, workloads, tools):
        for workload in workloads:
            self.cells[workload.name] = {tool: Cell() for tool in tools
                                         if not workload.tools or tool in workload.tools}
            self.passes[workload.name] = 0
            self.spent_s[workload.name] = self.longest_s[workload.name] = 0.0
        while (workload := self.next_workload(workloads)) and self.left_s() > 1:
            self.run_pass(workload)


# ---- results ----

def verdicts(study, workloads):
    """(workload, verdict) of every target that a row and a column were measured for."""
    for workload in workloads:
        cells = study.cells[workload.name]
        for target in TARGETS:
            if target.column in cells and (not target.rows or workload.name in target.rows):
                yield workload.name, *measure.verdict(target, cells)


def write(study, workloads, page, about):
    lines = [line for workload in workloads
             for line in measure.table_rows(workload.name, workload.unit,
                                            study.cells[workload.name], TARGETS)]
    about = [*about, *((f"`{workload.name}`", f"{workload.what}, {workload.unit}")
                       for workload in workloads),
             ("ratios", "medians of the ratios within a pass; added: against bare in a pass"),
             ("`proton`, `torch-…`", "spin runs as a library inside a Python process")]
    text = measure.markdown("What profilers cost", about, lines)
    page.parent.mkdir(parents=True, exist_ok=True)
    page.write_text(text)
    raw = {row: {tool: {"samples": cell.samples, "reason": cell.reason}
                 for tool, cell in cells.items()} for row, cells in study.cells.items()}
    page.with_suffix(".json").write_text(json.dumps(raw, indent=1) + "\n")
    return text


def chosen(names, known, parser, what):
    """The known names that a comma-separated list selects, in the order of `known`."""
    if names is None:
        return list(known)
    wanted = names.split(",")
    wrong = [name for name in wanted if name not in known]
    if wrong:
        parser.error(f"no {what} called {wrong[0]}: {', '.join(known)}")
    return [name for name in known if name in wanted]


def parse_arguments(arguments):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", default=ROOT / "build")
    parser.add_argument("--out", help="folder for overhead.md, overhead.json and logs/")
    parser.add_argument("--budget", type=float, default=BUDGET_S, metavar="SECONDS")
    parser.add_argument("--step-limit", type=float, default=STEP_LIMIT_S, metavar="SECONDS")
    parser.add_argument("--passes", type=int, default=MOST_PASSES, help="at most so many")
    parser.add_argument("--rows", metavar="NAME,…")
    parser.add_argument("--columns", metavar="NAME,…")
    parser.add_argument("--list", action="store_true", help="name the rows and columns")
    args = parser.parse_args(arguments)
    by_name = {workload.name: workload for workload in WORKLOADS}
    args.rows = [by_name[name] for name in chosen(args.rows, by_name, parser, "row")]
    args.columns = chosen(args.columns, TOOLS, parser, "column")
    return args


def main(arguments=None):
    args = parse_arguments(arguments)
    if args.list:
        for workload in args.rows:
            print(f"row     {workload.name:<15} {workload.what}, {workload.unit}")
        print("\n".join(f"column  {tool}" for tool in args.columns))
        return 0
    about = facts()
    gpu = dict(about)["GPU"].lower().replace("nvidia ", "").replace(" ", "-")
    page = (Path(args.out) / "overhead.md" if args.out else
            ROOT / f"docs/results/{dict(about)['date'][:10]}-{gpu}-overhead.md")
    logs = Path(args.out) / "logs" if args.out else ROOT / "build/overhead-logs"
    study = Study(args.build, logs, args.budget, args.step_limit, args.passes)
    study.run(args.rows, args.columns)
    print(write(study, args.rows, page, about))
    seen = list(verdicts(study, args.rows))
    for workload, word, text in seen:
        print(f"{word:<8} {workload}: {text}")
    broken = [workload.name for workload in args.rows for tool in ("bare", "kprof", "raw")
              if tool in study.cells[workload.name] and not study.cells[workload.name][tool].values]
    print(f"results in {page}, logs in {logs}")
    return 1 if broken or any(word == "missed" for _, word, _ in seen) else 0


if __name__ == "__main__":
    os.environ.setdefault("LC_ALL", "C.UTF-8")
    sys.exit(main())
