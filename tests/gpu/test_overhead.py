#!/usr/bin/env python3
"""Tries tests/gpu/overhead out without a GPU: its arithmetic, and whole runs against a kprof and
samples that are small scripts and cost what they are told to."""

import contextlib
import io
import json
import math
import random
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

import measure
import overhead
import overhead_tools
import window_costs
from measure import Cell, Target

# Bare 4000 ns a launch; COST of them more under kprof, 1000 under raw CUPTI.
SPIN = """#!/usr/bin/env python3
import os, sys, time
added = float(os.environ.get("ADDED", 0))
if os.environ.get("CUDA_INJECTION64_PATH"):
    added = 1000
    print("raw_cupti: RAW_BYTES bytes of records, CUPTI 130001, x", file=sys.stderr)
if "--empty" in sys.argv:
    print(f"empty: {4000 + added} ns a launch to issue, 1.0 ns until", file=sys.stderr)
elif "--graph-nodes" in sys.argv:
    for i in range(20):
        print(f"replay {i} event_ns 1 ns_per_node {500 + added / 10}")
else:
    time.sleep(SLEEP)
    for i in range(3):
        print(f"spin {i} begin_ns {1000 + i * 6000} end_ns 1 duration_ns 5000 cycles 1")
"""

# The same in blocks; the first process of raw CUPTI is SLOWER in all of them.
BLOCKS = """
import os, sys
sys.path.insert(0, "HERE")
import blocks
if sys.argv[1] == "tokens":
    for at in range(4000):
        print("token", at * 8000000, at * 8000000 + 7000000 + (5000000 if at % 375 < 4 else 0))
    sys.exit(0)
added, raw = float(os.environ.get("ADDED", 0)), "CUDA_INJECTION64_PATH" in os.environ
if raw:
    added = 1000 + (SLOWER if sys.argv[1].endswith("raw-0") else 0)
    print("raw_cupti: 4096 bytes of records, CUPTI 130001, x", file=sys.stderr)
done = 0
def block():
    global done
    done += 1
    if raw and done > BLOCKS_OF_RAW:
        sys.exit(3)
    return 4000 + added
assert sys.argv[3:5] == ["empty", "BUILD/samples/libspin.so"], sys.argv
blocks.serve(sys.argv[1], int(sys.argv[2]), block)
"""

KPROF = """#!/usr/bin/env python3
import json, os, subprocess, sys
if sys.argv[1:] == ["record", "--help"]:
    print("  --duty PERCENT  record short windows" if DUTY else "  -o FILE")
elif sys.argv[1] == "record":
    added = COST if "--duty" not in sys.argv else 10
    open(sys.argv[sys.argv.index("-o") + 1], "w").write("trace")
    command = sys.argv[sys.argv.index("--") + 1:]
    sys.exit(subprocess.run(command, env={**os.environ, "ADDED": str(added)}).returncode)
elif sys.argv[1] == "info":
    print(json.dumps({"processes": [{"windows": WINDOWS}]}))
else:
    print(json.dumps({"schema": "kprof.report/v1", "processes": [],
                      "counts": {"kernels": KERNELS, "records_dropped": 0}}))
"""


def cell(*values):
    """Passes of one set."""
    return Cell({(0, number): value for number, value in enumerate(values)})


class Arithmetic(unittest.TestCase):
    def test_quantiles_interpolate(self):
        self.assertEqual(measure.quartiles([4, 1, 3, 2]), (1.75, 3.25))
        self.assertEqual(measure.quartiles([7]), (7, 7))

    def test_numbers_have_four_digits(self):
        self.assertEqual([measure.number(value) for value in (1.857, 514.34, 4376.2, 0.0123, -3.5)],
                         ["1.857", "514.3", "4376", "0.0123", "-3.500"])

    def test_ratios_are_taken_within_a_pass(self):
        """Twice as slow a machine in the second pass changes no ratio; a lone sample is no pair."""
        bare = cell(100, 200, 100)
        kprof = Cell({(0, 0): 110, (0, 1): 220, (0, 3): 500})
        self.assertEqual(measure.paired(kprof, bare), {(0, 0): 1.1, (0, 1): 1.1})

    def test_added_cost_is_over_bare(self):
        ratios = measure.paired(cell(150, 160), cell(200, 220), cell(100, 100))
        self.assertEqual(list(ratios.values()), [0.5, 0.5])

    def test_a_cost_that_does_not_show_excuses_nobody(self):
        ratios = measure.paired(cell(150, 150), cell(200, 90), cell(100, 100))
        self.assertEqual(list(ratios.values()), [0.5, math.inf])
        self.assertEqual(measure.interval(ratios.values()), (-math.inf, math.inf))

    def test_ranks(self):
        """The tables of the sign test, 95 %."""
        ranks = {6: 1, 8: 1, 9: 2, 11: 2, 12: 3, 15: 4, 20: 6, 25: 8, 50: 18}
        self.assertEqual({count: measure.rank(count) for count in ranks}, ranks)

    def test_intervals(self):
        self.assertEqual(measure.interval([5, 1, 9, 2, 8, 3, 7, 4, 6]), (2, 8))
        low, high = measure.interval([0.9, 1.0, 1.1])
        self.assertAlmostEqual(high - low, 2 * 4.303 * 0.1 / math.sqrt(3))
        self.assertIsNone(measure.interval([1.0]))

    def test_intervals_hold_the_median_as_often_as_they_say(self):
        """Of skewed numbers too; a twentieth of the time they may not."""
        draw = random.Random(1)
        for count in (6, 9, 15, 30):
            held = 0
            for _ in range(2000):
                low, high = measure.interval([draw.expovariate(math.log(2))
                                              for _ in range(count)])
                held += low <= 1 <= high
            self.assertGreaterEqual(held, 0.94 * 2000, count)

    def test_sets_must_agree(self):
        """Each set's passes are alike, and what their processes got at the start is not."""
        ratios = {(part, number): 1.01 + 0.02 * part + 0.0001 * number
                  for part in (0, 1) for number in range(9)}
        low, high = measure.envelope(ratios)
        self.assertAlmostEqual(low, 1.0101)
        self.assertAlmostEqual(high, 1.0307)
        self.assertIsNone(measure.envelope({**ratios, (2, 0): 1.0}))

    def test_verdicts(self):
        target = Target("kprof", (), "ratio", "raw", 1.02)

        def word(*values):
            cells = {"kprof": cell(*values), "raw": cell(*[100.0] * len(values))}
            return measure.verdict(target, cells)[0]
        self.assertEqual(word(101, 101, 101.5, 101), "met")
        self.assertEqual(word(104, 105, 104, 104), "missed")
        self.assertEqual(word(100, 101, 104, 105), "unknown")
        self.assertEqual(word(101), "unknown")  # one pass says nothing of the next
        self.assertEqual(word(), "unknown")
        # one pass of nine in which the machine was elsewhere changes nothing
        self.assertEqual(word(*[101] * 8, 180), "met")
        self.assertEqual(word(*[103] * 8, 60), "missed")

    def test_a_target_on_the_value_itself(self):
        target = Target("duty", (), "value", "%", 1.0)
        self.assertEqual(measure.verdict(target, {"duty": cell(0.7, 0.8, 0.9, 0.8, 0.7, 0.6)}),
                         ("met", "≤ 1 %: met (0.750; 0.600…0.900)"))
        self.assertEqual(measure.verdict(target, {"duty": cell(0.7, 1.8, 0.9, 1.8)})[0],
                         "unknown")


def token_times(speed, windows=(), count=4000):
    """Tokens one after the other, of 8 ms by `speed` (of their number); those that begin in
    (begin, end, extra_ns) take longer by that."""
    times, now_ns = [], 0
    for number in range(count):
        took_ns = round(8e6 * speed(number))
        took_ns += sum(extra for begin, end, extra in windows if begin <= now_ns < end)
        times.append((now_ns, now_ns + took_ns))
        now_ns += took_ns
    return times


class WindowCosts(unittest.TestCase):
    WINDOWS = [{"begin_ns": int(at * 1e9), "end_ns": int((at + 0.055) * 1e9),
                "on_cost_ns": 12_000_000, "off_cost_ns": 3_000_000, "detached": 1}
               for at in (3, 6, 9, 12, 15, 18, 21)]
    SLOWER = [(window["begin_ns"], window["end_ns"], 2_000_000) for window in WINDOWS]

    def percents(self, tokens, windows=None):
        return window_costs.percents(tokens, windows or self.WINDOWS)

    def test_what_windows_cost(self):
        """Six or seven tokens of 10 ms instead of 8, every 3 s."""
        for percent in self.percents(token_times(lambda number: 1, self.SLOWER)):
            self.assertAlmostEqual(percent, 0.43, delta=0.04)

    def test_windows_that_cost_nothing(self):
        for percent in self.percents(token_times(lambda number: 1)):
            self.assertEqual(percent, 0)

    def test_a_machine_that_changes_its_speed(self):
        """Twice as slow from one second to another, and never steady: the same answer."""
        draw = random.Random(3)
        noise = [draw.lognormvariate(0, 0.05) for _ in range(4000)]

        def speed(number):
            return noise[number] * (2 if number // 300 % 2 else 1)
        low, high = measure.interval(self.percents(token_times(speed, self.SLOWER)))
        self.assertLess(high - low, 1.2)
        self.assertLessEqual(low, 0.43)
        self.assertGreaterEqual(high, 0.43)

    def test_windows_without_neighbours_or_that_stay_do_not_count(self):
        tokens = token_times(lambda number: 1, self.SLOWER)
        staying = [dict(window, detached=0) for window in self.WINDOWS[1:3]]
        windows = [dict(self.WINDOWS[0], begin_ns=1, end_ns=50_000_000), *staying,
                   *self.WINDOWS[3:]]
        self.assertEqual(len(self.percents(tokens, windows)), 4)
        self.assertEqual(self.percents(tokens, self.WINDOWS[:1]), [])
        self.assertEqual(self.percents([], self.WINDOWS), [])


DETACHED = [{"detached": 1, "kernels_issued": 5}]


class WholeRuns(unittest.TestCase):
    def run_study(self, *options, cost=1000, kernels=5, raw_bytes=4096, duty=False, sleep=0,
                  windows=DETACHED, slower=0, blocks_of_raw=1000):
        """(status, text of the page, samples by row and tool) of a run."""
        with tempfile.TemporaryDirectory() as folder:
            build = Path(folder) / "build"
            (build / "samples").mkdir(parents=True)
            (build / "tests/gpu").mkdir(parents=True)
            (build / "tests/gpu/libraw_cupti.so").touch()
            texts = {"samples/spin": SPIN, "kprof": KPROF, "blocks.py": BLOCKS}
            for name, text in texts.items():
                for word, value in (
                        ("RAW_BYTES", raw_bytes), ("SLEEP", sleep), ("COST", cost),
                        ("KERNELS", kernels), ("DUTY", duty), ("WINDOWS", windows),
                        ("BLOCKS_OF_RAW", blocks_of_raw), ("SLOWER", slower), ("BUILD", build),
                        ("HERE", Path(__file__).parent)):
                    text = text.replace(word, str(value))
                (build / name).write_text(text)
                (build / name).chmod(0o755)
            out = Path(folder) / "out"
            with contextlib.redirect_stdout(io.StringIO()), \
                    mock.patch.object(overhead, "BLOCKS", str(build / "blocks.py")):
                status = overhead.main(["--build", str(build), "--out", str(out), "--passes", "6",
                                        *options])
            return (status, (out / "overhead.md").read_text(),
                    json.loads((out / "overhead.json").read_text()))

    @staticmethod
    def line(page, row, tool):
        return next(line for line in page.splitlines() if line.startswith(f"| {row} | {tool} |"))

    def test_values_ratios_and_verdicts(self):
        status, page, cells = self.run_study("--rows", "nodes", "--columns", "bare,kprof,raw")
        self.assertEqual(status, 0)
        self.assertEqual(self.line(page, "nodes", "kprof").split(" | ")[2:8],
                         ["600.0 ns", "600.0…600.0", "100.0", "1.200; 1.200…1.200",
                          "1.000; 1.000…1.000", "6"])
        self.assertIn("≤ 1.02 × raw: met", self.line(page, "nodes", "kprof"))
        self.assertIn("600.0 ns", self.line(page, "nodes", "raw"))
        self.assertEqual([at[:2] for at in cells["nodes"]["bare"]["samples"]],
                         [[0, number] for number in range(6)])

    def test_a_missed_target_fails(self):
        status, page, _ = self.run_study("--rows", "nodes", "--columns", "bare,kprof,raw",
                                         cost=1500)
        self.assertEqual(status, 1)
        self.assertIn("≤ 1.02 × raw: missed (1.083", self.line(page, "nodes", "kprof"))

    def test_a_tool_that_records_nothing_is_not_fast(self):
        for row, value in (("nodes", "500.0 ns"), ("empty", "4000 ns")):
            status, page, _ = self.run_study("--rows", row, "--columns", "bare,kprof,raw",
                                             kernels=0, raw_bytes=0)
            self.assertEqual(status, 1)
            self.assertIn("failed: kprof recorded no kernels", self.line(page, row, "kprof"))
            self.assertIn(value, self.line(page, row, "bare"))
        self.assertIn("failed: raw CUPTI recorded nothing", self.run_study(
            "--rows", "nodes", "--columns", "raw", raw_bytes=0)[1])

    def test_a_step_over_its_limit_stops_nothing_else(self):
        _, page, _ = self.run_study("--rows", "row,nodes", "--columns", "bare",
                                    "--step-limit", "4", sleep=60)
        self.assertIn("over its time limit", self.line(page, "row", "bare"))
        self.assertIn("500.0 ns", self.line(page, "nodes", "bare"))

    def test_the_budget_ends_the_run(self):
        status, page, cells = self.run_study("--rows", "row", "--columns", "bare", "--budget", "5",
                                             "--passes", "21", sleep=0.3)
        self.assertEqual(status, 0)
        self.assertIn(len(cells["row"]["bare"]["samples"]), range(1, 17))
        self.assertIn("6.000 µs", self.line(page, "row", "bare"))

    def test_duty_is_measured_where_there_is_one(self):
        def duty(**how):
            return self.line(self.run_study("--rows", "nodes", "--columns", "bare,duty", **how)[1],
                             "nodes", "duty")
        self.assertIn("501.0 ns", duty(duty=True))
        self.assertIn("not measured: this kprof has no --duty", duty())
        self.assertIn("failed: CUPTI was never detached in 1 windows",
                      duty(duty=True, windows=[{"detached": 0, "kernels_issued": 5}]))

    def test_a_run_too_short_for_duty_has_not_failed(self):
        for windows in ([], [{"detached": 1, "kernels_issued": 0}]):
            page = self.run_study("--rows", "nodes", "--columns", "bare,duty", duty=True, kernels=0,
                                  windows=windows)[1]
            self.assertIn("not measured: the run is too short",
                          self.line(page, "nodes", "duty"))

    def test_side_by_side(self):
        """All columns in turns, in two sets of processes; bare alone goes before each."""
        status, page, cells = self.run_study("--rows", "empty", "--columns", "bare,kprof,raw")
        self.assertEqual(status, 0)
        self.assertEqual(list(cells["empty"]), ["alone", "bare", "kprof", "raw"])
        self.assertEqual(sorted(at[:2] for at in cells["empty"]["raw"]["samples"]),
                         [[part, number] for part in (0, 1) for number in range(6)])
        self.assertEqual(self.line(page, "empty", "kprof").split(" | ")[2:8],
                         ["5000 ns", "5000…5000", "1000", "1.250; 1.250…1.250",
                          "1.000; 1.000…1.000", "12"])
        self.assertIn("4000 ns", self.line(page, "empty", "alone"))

    def test_windows_of_duty(self):
        """Of every 3 s (375 tokens) four tokens of a window take 12 ms instead of 7."""
        windows = [{"begin_ns": at * 3 * 10**9, "end_ns": at * 3 * 10**9 + 40000000,
                    "on_cost_ns": 0, "off_cost_ns": 0, "detached": 1, "kernels_issued": 9}
                   for at in range(1, 8)]
        _, page, cells = self.run_study("--rows", "eager-duty", "--columns", "bare,duty",
                                        "--passes", "2", duty=True, windows=windows)
        self.assertEqual(len(cells["eager-duty"]["duty"]["samples"]), 14)
        self.assertIn("≤ 1 %: met (0.667; 0.667…0.667)", self.line(page, "eager-duty", "duty"))

    def test_processes_that_differ_decide_nothing(self):
        """In one set kprof is within the target, in the other it is not."""
        status, page, _ = self.run_study("--rows", "empty", "--columns", "bare,kprof,raw",
                                         cost=1200, slower=1000)
        self.assertEqual(status, 0)
        self.assertIn("≤ 1.02 × raw: unknown", self.line(page, "empty", "kprof"))

    def test_a_program_that_ends_in_the_midst_counts_for_nothing(self):
        _, page, _ = self.run_study("--rows", "empty", "--columns", "bare,kprof,raw",
                                    blocks_of_raw=3)
        self.assertIn("failed: it ended in the midst", self.line(page, "empty", "raw"))
        self.assertIn("| 0 |", self.line(page, "empty", "raw"))
        self.assertIn("5000 ns", self.line(page, "empty", "kprof"))

    def test_a_program_runs_inside_a_process(self):
        with tempfile.TemporaryDirectory() as folder:
            script = Path(folder) / "script.py"
            script.write_text("import sys\nif __name__ == '__main__': print(sys.argv[1:])\n")
            ran = subprocess.run([*overhead_tools.IN_PROCESS, "none", script, "--graph", "3"], check=True,
                                 capture_output=True, text=True)
            self.assertEqual(ran.stdout, "['--graph', '3']\n")
            ran = subprocess.run([*overhead_tools.IN_PROCESS, "nsys", script], check=False,
                                 capture_output=True)
            self.assertEqual((ran.returncode, ran.stdout), (1, b""))


if __name__ == "__main__":
    sys.exit(unittest.main())
