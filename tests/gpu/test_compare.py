#!/usr/bin/env python3
"""Tries out compare.py and runner.py without a GPU: each comparison must pass what is right, and
fail what is wrong."""

import struct
import sys
import tempfile
import time
import unittest
import unittest.mock
from pathlib import Path

import compare
from compare import Kernel
from runner import Bench, Check, Failure, Ran, Skip, markdown, run_table

SPIN_TEXT = """globaltimer_step_ns 32
spin 0 begin_ns 100 end_ns 100132 duration_ns 100032 cycles 197000
spin 1 begin_ns 200 end_ns 100232 duration_ns 100064 cycles 197000
kernel_launches 3
"""


def ended(status=0, stdout=b""):
    return Ran(status, stdout, b"", 0.0, 0, Path("log"))


def chunk(kind, records, payload):
    header = struct.pack("<4sBBBBIIIIQQQQQ", b"KPRF", kind, 1, 0, 0, len(payload), len(payload),
                         records, 0, 1, 0, 0, 0, 0)
    return header + payload


class Counts(unittest.TestCase):
    def test_counts_equal(self):
        self.assertEqual(compare.counts(24, 24, 0), "24 launches")

    def test_counts_that_differ_fail(self):
        for recorded, issued, dropped in ((23, 24, 0), (25, 24, 0), (24, 24, 1), (0, 0, 0)):
            with self.assertRaises(Failure):
                compare.counts(recorded, issued, dropped)

    def test_counts_unknown_drops_are_not_zero(self):
        with self.assertRaisesRegex(Failure, "unknown"):
            compare.counts(24, 24, None)


class Sessions(unittest.TestCase):
    @staticmethod
    def times(early, outside):
        return '[{"early_us": %s, "outside_us": %s}, {"early_us": -9, "outside_us": -9}]' % (
            early, outside)

    def test_session_times_alike(self):
        self.assertEqual(compare.session_times(self.times(-4, 1), self.times(15, 1)),
                         "early_us -4.0 → 15.0, outside_us 1.0 → 1.0")

    def test_session_times_of_another_clock_fail(self):
        for early, outside in ((21, 1), (-4, 25), (1e9, -1)):
            with self.assertRaisesRegex(Failure, "without"):
                compare.session_times(self.times(-4, 1), self.times(early, outside))


class Output(unittest.TestCase):
    def test_output_same(self):
        self.assertEqual(compare.same_output(ended(3, b"ab"), ended(3, b"ab")),
                         "2 bytes, status 3")

    def test_output_one_byte_fails(self):
        with self.assertRaisesRegex(Failure, "byte 1 "):
            compare.same_output(ended(0, b"ab"), ended(0, b"ac"))
        with self.assertRaisesRegex(Failure, "byte 2 "):
            compare.same_output(ended(0, b"ab"), ended(0, b"abc"))

    def test_output_status_fails(self):
        with self.assertRaisesRegex(Failure, "exit status"):
            compare.same_output(ended(0), ended(1))


class Times(unittest.TestCase):
    def test_spins_are_parsed(self):
        self.assertEqual(compare.parse_spins(SPIN_TEXT), ([100032, 100064], 32))
        with self.assertRaises(Failure):
            compare.parse_spins("kernel_launches 3\n")

    def test_spin_offsets_constant(self):
        rows = [(0, 32.0, 1032.0, 32), (100, 100032.0, 101100.0, 32)]
        self.assertIn("100 µs: +68 ns", compare.spin_offsets(rows))

    def test_spin_offsets_that_grow_fail(self):
        rows = [(0, 32.0, 1032.0, 32), (100, 100032.0, 101200.0, 32)]
        with self.assertRaises(Failure):
            compare.spin_offsets(rows)

    def test_spin_offsets_impossible_fail(self):
        for first in (-500.0, 9000.0):
            with self.assertRaisesRegex(Failure, "impossible"):
                compare.spin_offsets([(0, 0.0, first, 32)])

    def test_graph_time(self):
        words = compare.graph_time(1000e3, 2005e3, 1000e3, 800e3)
        self.assertIn("+0.50 %", words)
        for span_ns, nodes_ns in ((2011e3, 800e3), (1989e3, 800e3), (2000e3, 1100e3)):
            with self.assertRaises(Failure):
                compare.graph_time(1000e3, span_ns, 1000e3, nodes_ns)


class Torch(unittest.TestCase):
    TEXT = '{"b": {"calls": 2, "total_ns": 10}, "a": {"calls": 1, "total_ns": 30}}'

    def test_torch_parse_orders_by_time(self):
        self.assertEqual(list(compare.parse_torch(self.TEXT)), ["a", "b"])

    def test_torch_medians(self):
        runs = [{"a": Kernel(1, value)} for value in (30, 10, 20)]
        self.assertEqual(compare.median_means(runs), {"a": 20})

    def test_torch_counts(self):
        self.assertEqual(compare.same_kernels({"a": 1, "b": 2}, {"b": 2, "a": 1}),
                         "2 kernels, 3 launches")
        for theirs, ours in (({"a": 1}, {"a": 2}), ({"a": 1}, {}), ({"a": 1}, {"a": 1, "b": 1}),
                             ({}, {})):
            with self.assertRaises(Failure):
                compare.same_kernels(theirs, ours)

    def test_torch_top(self):
        self.assertIn("+2.00 %", compare.top_kernels({"a": 100.0}, {"a": 102.0}))
        self.assertIn("-1.00 %", compare.top_kernels({"a": 100.0, "b": 1.0}, {"a": 99.0}, count=1))
        for ours in ({"a": 104.0}, {"a": 96.0}, {}):
            with self.assertRaises(Failure):
                compare.top_kernels({"a": 100.0}, ours)


class Sizes(unittest.TestCase):
    def test_sizes_leave_names_out(self):
        data = chunk(7, 1, b"x" * 10000) + chunk(9, 100, b"y" * 200)
        self.assertIn("2.64 bytes a launch", compare.bytes_a_launch(data))

    def test_sizes_over_the_limit_fail(self):
        for data in (chunk(9, 10, b"y" * 100), chunk(7, 1, b"x"), b"", b"rubbish",
                     chunk(9, 1000, b"y")[:-1]):
            with self.assertRaises(Failure):
                compare.bytes_a_launch(data)


class Running(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def bench(self, limit_s=10):
        return Bench(self.folder.name, Path(self.folder.name) / "logs", limit_s)

    def test_running_keeps_a_log(self):
        ran = self.bench().run(["sh", "-c", "echo out; echo err >&2"], env={"A": "b c"})
        self.assertEqual((ran.stdout, ran.stderr), (b"out\n", b"err\n"))
        self.assertIn("A='b c' sh -c", Path(f"{ran.log}.cmd").read_text())
        self.assertGreater(ran.peak_bytes, 0)

    def test_running_statuses_are_those_of_a_shell(self):
        bench = self.bench()
        self.assertEqual(bench.run(["sh", "-c", "kill -KILL $$"], status=None).status, 137)
        self.assertEqual(bench.run(["sh", "-c", "exit 3"], status=3).status, 3)
        with self.assertRaisesRegex(Failure, "ended with 3, not 0: why"):
            bench.run(["sh", "-c", "echo why >&2; exit 3"])

    def test_running_ends_at_its_limit(self):
        with self.assertRaisesRegex(Failure, "time limit"):
            self.bench(0.2).run(["sh", "-c", "sleep 30"])

    def test_running_ends_all_of_a_session(self):
        script = ("import os, time\nif os.fork(): time.sleep(30)\nos.setpgid(0, 0)\n"
                  "open('child', 'w').write(str(os.getpid()))\ntime.sleep(30)")
        bench = self.bench(60)
        started = bench.start(["env", "-C", self.folder.name, sys.executable, "-c", script])
        path = Path(self.folder.name) / "child"
        while not (path.exists() and path.read_text()):
            time.sleep(0.01)
        bench.close()
        self.assertEqual(started.process.returncode, -9)
        status = Path(f"/proc/{path.read_text()}/status")
        while status.exists() and "\nState:\tZ" not in status.read_text():
            time.sleep(0.01)

    def test_running_a_table_for_a_time(self):
        done = []
        checks = [Check("slow", 60, lambda bench: bench.run(["sleep", "60"]), ""),
                  Check("late", 60, lambda _: "", "")]
        with unittest.mock.patch("runner.LEAST_S", 0.1):
            rows = run_table(checks, self.folder.name, self.folder.name, 0.3,
                             lambda rows: done.append(len(rows)))
        self.assertEqual([row.verdict for row in rows], ["FAIL", "SKIP"])
        self.assertEqual(done, [1, 2])

    def test_running_numbers(self):
        self.assertEqual(ended(0, b"x 1\nkernel_launches 12\n").number("kernel_launches"), 12)
        with self.assertRaises(Failure):
            ended(0, b"kernel_launches_more 12\n").number("kernel_launches")

    def test_running_a_table(self):
        def fail(_):
            raise Failure("too | few")

        def skip(_):
            raise Skip("no torch")

        def crash(_):
            return [][0]

        checks = [Check(function.__name__, 5, function, "what") for function in
                  (fail, skip, crash)] + [Check("fine", 5, lambda _: "12", "what")]
        rows = run_table(checks, self.folder.name, self.folder.name)
        self.assertEqual([row.verdict for row in rows], ["FAIL", "SKIP", "FAIL", "PASS"])
        page = markdown("Checks", [("GPU", "none")], rows)
        self.assertIn("| fail | FAIL | too \\| few | what |", page)
        self.assertIn("| crash | FAIL | IndexError", page)


if __name__ == "__main__":
    sys.exit(unittest.main())
