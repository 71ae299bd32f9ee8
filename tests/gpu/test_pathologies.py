#!/usr/bin/env python3
"""The logic of pathology_checks.py: what it lets pass, and what not; and whole checks against a
sample that is a small script, and reports that say what they are told to."""

import json
import sys
import tempfile
import unittest
from pathlib import Path

import pathology_checks
from pathology_checks import Gain, Timed, first_finding, gain_of, judge_gain, judge_remedied
from report import Report
from runner import Check, Failure, run_table

ROOT = Path(__file__).resolve().parents[2]


def document(*ids, likely_ns=0, bound_ns=0, gpus=1):
    win = {"span_likely_ns": likely_ns, "span_bound_ns": bound_ns}
    return {"schema": "kprof.report/v1", "gpus": [{}] * gpus, "traffic_absent": None,
            "findings": [{"id": name, "win": win} for name in ids]}


class Comparing(unittest.TestCase):
    def test_first_finding(self):
        self.assertEqual(first_finding(document("a", "b"), "a")["id"], "a")
        for ids in ((), ("b", "a")):
            with self.assertRaises(Failure):
                first_finding(document(*ids), "a")

    def test_gain_is_of_an_iteration(self):
        """100 iterations of 12 µs under kprof, of 10 without and of 4 with the remedy."""
        finding = document("a", likely_ns=600000, bound_ns=900000)["findings"][0]
        times = Timed(100, 12000, True), Timed(100, 10000, True), Timed(300, 4000, True)
        gain = gain_of(finding, 1, *times)
        self.assertEqual((gain.likely_pct, gain.bound_pct), (50, 75))
        self.assertAlmostEqual(gain.saved_pct, 60)
        self.assertEqual(gain_of(finding, 2, *times).likely_pct, 25)
        finding["win"]["span_likely_ns"] = None
        self.assertIsNone(gain_of(finding, 1, *times).likely_pct)
        with self.assertRaises(Failure):
            gain_of(finding, 1, Timed(0, 0, True), *times[1:])

    def test_promises_are_kept(self):
        for likely, bound, saved in ((50, 70, 50), (48, 70, 60), (60, 70, 50), (60, 60, 61.9)):
            judge_gain(Gain(likely, bound, saved), True)

    def test_broken_promises_fail(self):
        for likely, bound, saved in ((47, 70, 60), (61, 70, 50), (60, 60, 62.1), (4, 4, 4),
                                     (None, 70, 50), (50, 70, -5)):
            with self.assertRaises(Failure):
                judge_gain(Gain(likely, bound, saved), True)

    def test_nothing_to_win(self):
        judge_gain(Gain(0, 9, 3), False)
        judge_gain(Gain(0, 9, -4), False)
        for likely, bound, saved in ((6, 9, 3), (0, 9, 6), (0, 1, 4)):
            with self.assertRaises(Failure):
                judge_gain(Gain(likely, bound, saved), False)

    def test_the_remedy_ends_it(self):
        judge_remedied(document("b"), "a")
        with self.assertRaises(Failure):
            judge_remedied(document("b", "a"), "a")

    def test_table(self):
        names = [row.name for row in pathology_checks.PATHOLOGIES]
        self.assertEqual(len(set(names)), len(names))
        keys = (ROOT / "analyzers/findings.def").read_text()
        for row in pathology_checks.PATHOLOGIES:
            self.assertIn(f', "{row.finding}", ', keys)
            path = ROOT / "samples/pathologies" / (row.name if row.is_torch else f"{row.name}.cu")
            self.assertTrue(path.exists(), path)

    def test_readme_has_the_table(self):
        lines = (ROOT / "samples/pathologies/README.md").read_text().splitlines()
        table = [line for line in lines if line.startswith("| `")]
        self.assertEqual(len(table), len(pathology_checks.PATHOLOGIES))
        for row, line in zip(pathology_checks.PATHOLOGIES, table):
            self.assertIn(f"| `{row.name}` |", line)
            self.assertIn(f"| `{row.finding}` |", line)


SAMPLE = """#!/bin/sh
case "$*" in
*--remedy*) echo "iterations 200"; echo "iteration_ns REMEDIED" ;;
*) echo "iterations 100"; echo "iteration_ns 10000" ;;
esac
echo "output VERDICT"
"""


class WholeChecks(unittest.TestCase):
    def verdict(self, remedied=5000, verdict="right", before=None, after=None):
        """Of a check whose sample's remedy takes so many ns, and of whose reports these are two."""
        before = before or document("launch-bound", likely_ns=500000, bound_ns=700000)
        after = after or document("no-hotspot")

        def record_with(bench, _, argv):
            ran = bench.run(argv)
            seen = after if "--remedy" in argv else before
            return ran, Report(json.dumps(seen))

        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "samples/pathologies/launch_bound"
            path.parent.mkdir(parents=True)
            path.write_text(SAMPLE.replace("REMEDIED", str(remedied)).replace("VERDICT", verdict))
            path.chmod(0o755)
            row, = [row for row in pathology_checks.PATHOLOGIES if row.name == "launch_bound"]
            check = Check("one", 20, pathology_checks.check_of(row, record_with, ROOT), "")
            return run_table([check], folder, Path(folder) / "logs")[0].verdict

    def test_kept(self):
        self.assertEqual(self.verdict(), "PASS")
        self.assertEqual(self.verdict(remedied=5800), "PASS")

    def test_not_kept(self):
        self.assertEqual(self.verdict(remedied=3700), "FAIL")
        self.assertEqual(self.verdict(remedied=5900), "FAIL")
        self.assertEqual(self.verdict(verdict="wrong"), "FAIL")
        self.assertEqual(self.verdict(before=document("gpu-idle", "launch-bound")), "FAIL")
        self.assertEqual(self.verdict(after=document("launch-bound")), "FAIL")
        self.assertEqual(self.verdict(before=document("launch-bound", likely_ns=500000,
                                                      bound_ns=700000, gpus=2)), "FAIL")


if __name__ == "__main__":
    sys.exit(unittest.main())
