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
    print(json.dumps({"schema": "kprof.report/v1",
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
