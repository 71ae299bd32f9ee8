#!/usr/bin/env python3
"""Runs some of the checks from end to end without a GPU: against a kprof and samples that are small
scripts and say what they are told to. A truthful kprof must pass, and one that lies must fail."""

import ast
import sys
import tempfile
import unittest
from pathlib import Path

import ab_checks
import checks
from runner import run_table

SAMPLE = """#!/bin/sh
case "$*" in *--heads\\ 7*) echo no >&2; exit 2 ;; esac
case "$0 $*" in
*--spin-us*)
    echo globaltimer_step_ns 32
    for i in 0 1; do echo "spin $i begin_ns 1 end_ns 1 duration_ns ${2}000 cycles 1"; done ;;
*--graph-nodes*) echo "replay 0 event_ns 5000000 ns_per_node 2500.0" ;;
*--empty*) echo "empty: 4000.0 ns a launch to issue, 5000.0 ns until all had run" >&2 ;;
esac
echo kernel_launches 480
echo memory_copies 9
echo memory_sets 3
"""

# record: runs the command, and keeps its arguments as the trace. report: makes up what it «saw».
KPROF = """#!/usr/bin/env python3
import json, subprocess, sys
lie = LIE
if sys.argv[1] == "record":
    at = sys.argv.index("--")
    command = sys.argv[at + 1:]
    open(sys.argv[sys.argv.index("-o") + 1], "w").write(" ".join(command))
    status = subprocess.run(command).returncode
    if lie == "stdout":
        print("kprof was here")
    sys.exit(1 if lie == "status" else status if status >= 0 else 128 - status)
command = open(sys.argv[-1]).read().split()
kernels = []
def kernel(name, calls, total_ns):
    kernels.append({"name": name, "full_name": name, "calls": calls, "total_ns": total_ns,
                    "queue_max_ns": 5000})
if "--spin-us" in command:
    own_ns = 1000 * int(command[command.index("--spin-us") + 1])
    seen_ns = own_ns + 1000 + (own_ns // 9 if lie == "time" else 0)
    kernel("spin_kernel(span*, unsigned long)", 2, 2 * seen_ns)
kernel("hold_kernel(unsigned long)", 1, 1000000)
kernel("node_kernel(long)", 2000, 4000000)
print(json.dumps({
    "schema": "kprof.report/v1",
    "totals": {"span_ns": 6000000 + 60000 * (lie == "time")},
    "counts": {"kernels": 480 - (lie == "count"), "records_dropped": None if lie == "drops" else 0,
               "kernels_in_graphs": 0, "nvtx_ranges": 18 - (lie == "count"), "processes_unfinished": 0},
    "processes": [{"counts": {"kernels_issued": 480}}],
    "host": {"launch_calls": 480 - (lie == "calls"), "graph_launch_calls": 0,
             "launch_calls_lost": 0, "kernels_tied": 480 - (lie == "tied"),
             "kernels_untied": lie == "tied",
             "launch_call_total_ns": 480 * (100 if lie == "call" else 3000)},
    "kernels": kernels,
    "memory_operations": [{"name": "copy host to device", "calls": 9},
                          {"name": "memory set", "calls": 3}],
}))
"""


class EndToEnd(unittest.TestCase):
    def verdicts(self, lie, names):
        """{check: verdict} of the named checks under a kprof that lies about one thing."""
        with tempfile.TemporaryDirectory() as folder:
            build = Path(folder)
            (build / "samples").mkdir()
            scripts = {"kprof": KPROF.replace("LIE", repr(lie))}
            scripts.update({f"samples/{name}": SAMPLE for name in
                            ("llm_decode", "llm_decode_static", "spin", "spin_static")})
            for name, text in scripts.items():
                (build / name).write_text(text)
                (build / name).chmod(0o755)
            chosen = [check for check in checks.CHECKS if check.name in names]
            self.assertEqual(len(chosen), len(names))
            rows = run_table(chosen, build, build / "logs")
            return {row.check.name: row.verdict for row in rows}

    def assert_fails_only(self, lie, failing, passing):
        seen = self.verdicts(lie, [*failing, *passing])
        self.assertEqual(seen, {**dict.fromkeys(failing, "FAIL"), **dict.fromkeys(passing, "PASS")})

    def test_checks_pass_a_truthful_kprof(self):
        self.assert_fails_only("", [], [
            "launches-shared-eager", "launches-shared-graph", "launches-static-streams",
            "launches-issued", "ranges", "output-static-graph", "output-spin", "exit-status",
            "spin", "graph-time"])

    def test_checks_notice_a_missing_launch(self):
        self.assert_fails_only("count", ["launches-static-eager", "launches-issued", "ranges"],
                               ["output-shared-eager", "spin"])

    def test_checks_notice_unknown_drops(self):
        self.assert_fails_only("drops", ["launches-shared-eager"], ["output-shared-eager"])

    def test_checks_notice_a_disturbed_program(self):
        self.assert_fails_only("stdout", ["output-shared-eager", "output-spin_static"], ["spin"])
        self.assert_fails_only("status", ["output-shared-eager", "exit-status"], [])

    def test_checks_of_the_host_side(self):
        tied = ["host-eager", "host-graph", "host-streams"]
        self.assert_fails_only("", [], [*tied, "host-times"])
        self.assert_fails_only("calls", [*tied, "host-times"], [])
        self.assert_fails_only("tied", [*tied, "host-times"], [])
        self.assert_fails_only("call", ["host-times"], tied)

    def test_checks_notice_wrong_times(self):
        self.assert_fails_only("time", ["spin", "graph-time"], ["launches-shared-eager"])


class Table(unittest.TestCase):
    def test_every_row_has_a_check(self):
        names = [check.name for check in checks.CHECKS]
        self.assertEqual(len(set(names)), len(names))
        for check in checks.CHECKS:
            self.assertTrue(callable(check.function), check.name)

    def test_reasons_of_ab_are_those_of_the_fake_gpu(self):
        tree = ast.parse((checks.ROOT / "tests/fake_gpu/ab.py").read_text())
        told, = [ast.literal_eval(node.value) for node in tree.body if isinstance(node, ast.Assign)
                 and node.targets[0].id == "REASONS_BEFORE"]
        self.assertEqual(ab_checks.REASONS_BEFORE, told)

    def test_names_choose_rows(self):
        chosen = checks.chosen_checks(["ab-wild=30", "spin", "ab-wild", "torch-times=5000"])
        self.assertEqual([(check.name, check.limit_s) for check in chosen],
                         [("ab-wild", 30), ("spin", 180), ("torch-times", 900)])
        for word in ("no-such-row", "spin=fast"):
            with self.assertRaises(ValueError):
                checks.chosen_checks([word])


if __name__ == "__main__":
    sys.exit(unittest.main())
