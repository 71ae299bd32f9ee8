#!/usr/bin/env python3
"""Tries tests/gpu/overhead out without a GPU: its arithmetic, and whole runs against a kprof and
samples that are small scripts and cost what they are told to."""

import contextlib
import io
import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import measure
import overhead
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
    print(json.dumps({"processes": [{"windows": [{"detached": DETACHED}]}]}))
else:
    print(json.dumps({"schema": "kprof.report/v1",
                      "counts": {"kernels": KERNELS, "records_dropped": 0}}))
"""


class Arithmetic(unittest.TestCase):
    def test_quantiles_interpolate(self):
        self.assertEqual(measure.quartiles([4, 1, 3, 2]), (1.75, 3.25))
        self.assertEqual(measure.quartiles([7]), (7, 7))

    def test_numbers_have_four_digits(self):
        self.assertEqual([measure.number(value) for value in (1.857, 514.34, 4376.2, 0.0123, -3.5)],
                         ["1.857", "514.3", "4376", "0.0123", "-3.500"])

    def test_ratios_are_taken_within_a_pass(self):
        """Twice as slow a machine in the second pass changes no ratio; a lone sample is no pair."""
        bare, kprof = Cell({0: 100, 1: 200, 2: 100}), Cell({0: 110, 1: 220, 3: 500})
        self.assertEqual(measure.paired(kprof, bare), [1.1, 1.1])

    def test_added_cost_is_over_bare(self):
        bare, kprof, nsys = Cell({0: 100, 1: 100}), Cell({0: 150, 1: 160}), Cell({0: 200, 1: 220})
        self.assertEqual(measure.paired(kprof, nsys, bare), [0.5, 0.5])

    def test_verdicts(self):
        target = Target("kprof", (), "ratio", "raw", 1.02)
        raw = Cell(dict.fromkeys(range(4), 100.0))

        def word(*values):
            return measure.verdict(target, {"kprof": Cell(dict(enumerate(values))), "raw": raw})[0]
        self.assertEqual(word(101, 101, 101.5, 101), "met")
        self.assertEqual(word(104, 105, 104, 104), "missed")
        self.assertEqual(word(100, 101, 104, 105), "unclear")
        self.assertEqual(word(), "unknown")


class WholeRuns(unittest.TestCase):
    def run_study(self, *options, cost=1000, kernels=5, raw_bytes=4096, duty=False, sleep=0,
                  detached=1):
        """(status, text of the page, samples by row and tool) of a run."""
        with tempfile.TemporaryDirectory() as folder:
            build = Path(folder) / "build"
            (build / "samples").mkdir(parents=True)
            (build / "tests/gpu").mkdir(parents=True)
            (build / "tests/gpu/libraw_cupti.so").touch()
            spin = SPIN.replace("RAW_BYTES", str(raw_bytes)).replace("SLEEP", str(sleep))
            kprof = KPROF.replace("COST", str(cost)).replace("KERNELS", str(kernels))
            for name, text in (("samples/spin", spin), ("kprof", kprof.replace("DUTY", str(duty))
                                .replace("DETACHED", str(detached)))):
                (build / name).write_text(text)
                (build / name).chmod(0o755)
            out = Path(folder) / "out"
            with contextlib.redirect_stdout(io.StringIO()):
                status = overhead.main(["--build", str(build), "--out", str(out), "--passes", "3",
                                        *options])
            return (status, (out / "overhead.md").read_text(),
                    json.loads((out / "overhead.json").read_text()))

    @staticmethod
    def line(page, row, tool):
        return next(line for line in page.splitlines() if line.startswith(f"| {row} | {tool} |"))

    def test_values_ratios_and_verdicts(self):
        status, page, cells = self.run_study("--rows", "empty,nodes", "--columns", "bare,kprof,raw")
        self.assertEqual(status, 0)
        self.assertEqual(self.line(page, "empty", "kprof").split(" | ")[2:8],
                         ["5000 ns", "0", "1000", "1.250", "1.000", "3"])
        self.assertIn("≤ 1.02 × raw: met", self.line(page, "empty", "kprof"))
        self.assertIn("600.0 ns", self.line(page, "nodes", "raw"))
        self.assertEqual(list(cells), ["empty", "nodes"])
        self.assertEqual(len(cells["nodes"]["bare"]["samples"]), 3)

    def test_a_missed_target_fails(self):
        status, page, _ = self.run_study("--rows", "empty", "--columns", "bare,kprof,raw",
                                         cost=1500)
        self.assertEqual(status, 1)
        self.assertIn("≤ 1.02 × raw: missed (1.100", self.line(page, "empty", "kprof"))

    def test_a_tool_that_records_nothing_is_not_fast(self):
        status, page, _ = self.run_study("--rows", "empty", "--columns", "bare,kprof,raw",
                                         kernels=0, raw_bytes=0)
        self.assertEqual(status, 1)
        self.assertIn("failed: kprof recorded no kernels", self.line(page, "empty", "kprof"))
        self.assertIn("failed: raw CUPTI recorded nothing", self.line(page, "empty", "raw"))
        self.assertIn("4000 ns", self.line(page, "empty", "bare"))

    def test_a_step_over_its_limit_stops_nothing_else(self):
        _, page, _ = self.run_study("--rows", "row,empty", "--columns", "bare",
                                    "--step-limit", "4", sleep=60)
        self.assertIn("over its time limit", self.line(page, "row", "bare"))
        self.assertIn("4000 ns", self.line(page, "empty", "bare"))

    def test_the_budget_ends_the_run(self):
        status, page, cells = self.run_study("--rows", "row", "--columns", "bare", "--budget", "5",
                                             "--passes", "21", sleep=0.3)
        self.assertEqual(status, 0)
        self.assertIn(len(cells["row"]["bare"]["samples"]), range(1, 17))
        self.assertIn("6.000 µs", self.line(page, "row", "bare"))

    def test_duty_is_measured_where_there_is_one(self):
        options = ("--rows", "empty", "--columns", "bare,duty")
        self.assertIn("4010 ns", self.line(self.run_study(*options, duty=True)[1], "empty", "duty"))
        self.assertIn("failed: this kprof has no --duty",
                      self.line(self.run_study(*options)[1], "empty", "duty"))
        self.assertIn("failed: CUPTI was never detached in 1 windows",
                      self.line(self.run_study(*options, duty=True, detached=0)[1], "empty",
                                "duty"))

    def test_a_program_runs_inside_a_process(self):
        with tempfile.TemporaryDirectory() as folder:
            script = Path(folder) / "script.py"
            script.write_text("import sys\nif __name__ == '__main__': print(sys.argv[1:])\n")
            ran = subprocess.run([*overhead.IN_PROCESS, "none", script, "--graph", "3"], check=True,
                                 capture_output=True, text=True)
            self.assertEqual(ran.stdout, "['--graph', '3']\n")
            ran = subprocess.run([*overhead.IN_PROCESS, "nsys", script], check=False,
                                 capture_output=True)
            self.assertEqual((ran.returncode, ran.stdout), (1, b""))


if __name__ == "__main__":
    sys.exit(unittest.main())
