#!/usr/bin/env python3
"""What profilers cost on this GPU, in one run: every tool on every workload, in turns.

Rows that the GPU bounds: a pass runs one workload under every tool, in an order that changes from
pass to pass; passes go on until the budget is spent, each workload getting an equal share of the
time. Rows that the CPU bounds: processes of all tools take turns (side_by_side.py), and windows of
--duty are compared with what is around them (window_costs.py). A tool counts only where it has shown
that it recorded something. The arithmetic is in measure.py.
"""

import argparse
import dataclasses
import json
import os
import re
import sys
import time
from pathlib import Path

import measure
import side_by_side
import window_costs
from checks import facts
from compare import median
from measure import Cell, Target
from overhead_tools import TOOLS, found
from runner import Bench, Failure, Skip, require

ROOT = Path(__file__).resolve().parents[2]
TORCH_DECODE = ROOT / "samples/torch_decode.py"
BLOCKS = ROOT / "tests/gpu/blocks.py"
BUDGET_S, STEP_LIMIT_S = 240, 90
MOST_PASSES, MOST_BLOCKS = 21, 600  # of runs; of blocks, side by side
SETS = 2  # of processes of a row that is measured side by side, at the same time


# ---- workloads ----

@dataclasses.dataclass(frozen=True)
class Workload:
    """A row. `value` reads what a run says of itself; without it, the row is measured in blocks."""

    name: str
    unit: str
    command: tuple  # {build}, {blocks}: where things are
    what: str
    value: object = None
    tools: tuple = ()  # empty: all
    each: object = None  # instead of `value`: (how it ended, windows) to a value of each window

    @property
    def side_by_side(self):
        return not self.value and not self.each

    def samples(self, number, ran, windows):
        """By set and pass, of the pass of this number. Windows of a run are a set."""
        if not self.each:
            return {(0, number): self.value(ran)}
        return {(number, at): value for at, value in enumerate(self.each(ran, windows))}

    def words(self, build):
        return [word.format(build=build, blocks=BLOCKS) for word in self.command]


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


def window_percents(ran, windows):
    tokens = [(int(begin), int(end)) for begin, end in
              re.findall(r"^token (\d+) (\d+)$", ran.text(), re.M)]
    values = window_costs.percents(tokens, windows)
    require(values, f"no window of {len(windows)} has tokens around it")
    return values


SPIN = "{build}/samples/spin"
DECODE = (sys.executable, str(TORCH_DECODE))
EMPTY_BLOCKS = (sys.executable, "{blocks}", "empty", "{build}/samples/libspin.so")
DECODE_BLOCKS = (sys.executable, "{blocks}", "decode", str(TORCH_DECODE))
FEW = ("bare", "kprof", "duty", "raw")  # of rows that last long
STEADY = tuple(tool for tool in TOOLS if tool != "duty")  # blocks are shorter than its periods

WORKLOADS = [
    Workload("empty", "ns", (*EMPTY_BLOCKS, "5000"), "back-to-back empty launches",
             tools=STEADY),
    Workload("nodes", "ns", (SPIN, "--graph-nodes", "500", "--node-cycles", "0", "--replays", "200"),
             "a node of a graph of 500 empty kernels", node_ns),
    Workload("row", "µs", (SPIN, "--spin-us", "5", "--spin-count", "20000"),
             "a kernel of a row of kernels of 5 µs", step_us),
    Workload("eager", "ms", (*DECODE_BLOCKS, "--steps", "4"),
             "a token of torch_decode.py, eager", tools=STEADY),
    Workload("graph", "ms", (*DECODE, "--graph"), "the same in a CUDA graph", token_ms),
    # Seconds long, for what is switched on and off within a run.
    Workload("eager-long", "ms", (*DECODE, "--rounds", "12"), "`eager`, 12 times as long",
             token_ms, tools=FEW),
    Workload("graph-long", "ms", (*DECODE, "--graph", "--rounds", "64"),
             "`graph`, 64 times as long", token_ms, tools=FEW),
    Workload("eager-duty", "%", (sys.executable, "{blocks}", "tokens", "25", str(TORCH_DECODE)),
             "what windows cost `eager`, each against the tokens around it", tools=("duty",),
             each=window_percents),
]

TARGETS = [
    Target("kprof", (), "ratio", "raw", 1.02),
    Target("kprof", ("empty", "eager"), "added", "nsys", 0.6),
    Target("kprof", ("graph", "graph-long"), "ratio", "bare", 1.055),
    Target("host", ("graph", "graph-long"), "ratio", "kprof", 1.01),
    Target("off", ("empty", "eager"), "ratio", "bare", 1.01),
    Target("duty", ("eager-duty",), "value", "%", 1.0),
    Target("duty", ("eager-long", "graph-long"), "ratio", "bare", 1.01),
]


# ---- the schedule ----

class Study:
    """All cells, and the clock that they share."""

    def __init__(self, build, logs, budget_s, step_limit_s, most_passes):
        self.build, self.logs = Path(build).resolve(), Path(logs)
        self.step_limit_s, self.passes_asked = step_limit_s, most_passes
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
            shown = TOOLS[tool].run(bench, workload.words(self.build))
            samples = workload.samples(number, *shown)
        except (Failure, Skip) as reason:
            if self.left_s() < 0:
                print(f"{workload.name:<10} {tool:<15} the budget was spent", flush=True)
                return
            cell.give_up(reason)
        except Exception as error:  # a step that breaks does not stop the others
            cell.give_up(f"{type(error).__name__}: {error}")
        else:
            cell.samples.update(samples)
        word = cell.reason or f"{median(samples.values()):.6g} {workload.unit}"
        print(f"{workload.name:<10} {tool:<15} pass {number}  {word}", flush=True)

    def run_side_by_side(self, workload, sets, limit_s):
        cells = self.cells[workload.name]
        tools = {tool: TOOLS[tool] for tool in cells if tool in TOOLS}
        end = time.monotonic() + limit_s

        def make_bench(tool, part):
            return Bench(self.build, self.logs / f"{workload.name}-{tool}-{part}",
                         end - time.monotonic())
        self.passes[workload.name] = side_by_side.run(
            side_by_side.Seats(cells, make_bench), tools, workload.words(self.build), sets, limit_s,
            self.passes_asked or MOST_BLOCKS)
        for tool, cell in cells.items():
            word = cell.reason or (f"{median(cell.values):.6g} {workload.unit}" if cell.values
                                   else "the budget was spent")
            print(f"{workload.name:<10} {tool:<15} {len(cell.values)} blocks  {word}", flush=True)

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
                if self.passes[workload.name] < (self.passes_asked or MOST_PASSES)
                and self.longest_s[workload.name] <= self.left_s()
                and any(not cell.reason for cell in self.cells[workload.name].values())]
        return min(fits, key=lambda workload: self.spent_s[workload.name], default=None)

    def run(self, workloads, tools, sets):
        for workload in workloads:
            names = [tool for tool in tools if not workload.tools or tool in workload.tools]
            if workload.side_by_side and "bare" in names:
                names.insert(0, side_by_side.ALONE)
            self.cells[workload.name] = {tool: Cell() for tool in names}
            self.passes[workload.name] = 0
            self.spent_s[workload.name] = self.longest_s[workload.name] = 0.0
        share_s = self.left_s() / max(1, len(workloads))
        for workload in workloads:
            if workload.side_by_side:
                self.run_side_by_side(workload, sets, share_s)
        rest = [workload for workload in workloads if not workload.side_by_side]
        while (workload := self.next_workload(rest)) and self.left_s() > 1:
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
             ("ratios", "medians of the ratios within a pass, with an interval that holds the true "
              "median with 95 % confidence in every set; added: against bare in a pass"),
             ("`alone`", "bare before the others were there, in a row whose processes of all tools "
              "take turns of a block each; their launching threads share a CPU of their own"),
             ("`proton`, `torch-…`", "spin runs as a library inside a Python process")]
    text = measure.markdown("What profilers cost", about, lines)
    page.parent.mkdir(parents=True, exist_ok=True)
    page.write_text(text)
    raw = {row: {tool: {"samples": [[*at, value] for at, value in cell.samples.items()],
                        "reason": cell.reason}
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
    parser.add_argument("--passes", type=int, help="at most so many")
    parser.add_argument("--sets", type=int, default=SETS,
                        help="of processes, in rows that are measured side by side")
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
    study.run(args.rows, args.columns, args.sets)
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
