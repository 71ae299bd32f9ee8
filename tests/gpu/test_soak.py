#!/usr/bin/env python3
"""Tries the judgements of tests/gpu/soak out, and its watching on small programs."""

import json
import sys
import tempfile
import unittest
from pathlib import Path

import soak
from report import Report
from runner import Failure
from watch import Series, watch

MIB = 1 << 20


def report(recorded, dropped=0, untimed=0, invalid=0, timed=None, issued=None):
    return Report(json.dumps({
        "schema": "kprof.report/v1",
        "counts": {"kernels": recorded, "records_dropped": dropped, "kernels_untimed": untimed,
                   "kernels_invalid": invalid,
                   "kernels_timed": recorded - untimed - invalid if timed is None else timed},
        "processes": [{"counts": {"kernels_issued": issued}}],
    }))


def series(*mebibytes):
    result = Series()
    for number in mebibytes:
        result.add(number * MIB)
    return result


class Judgements(unittest.TestCase):
    def test_counts_that_add_up(self):
        self.assertIn("3 dropped", soak.judge_counts(100, report(97, 3, issued=100)))
        self.assertIn("2 untimed, 1 invalid", soak.judge_counts(100, report(100, 0, 2, 1)))

    def test_counts_that_do_not(self):
        for seen in (report(99), report(101), report(100, dropped=None), report(100, timed=98),
                     report(100, issued=99)):
            with self.assertRaises(Failure):
                soak.judge_counts(100, seen)

    def test_resident_memory(self):
        flat, bare = series(*[150] * 20), series(*[100] * 5)
        self.assertIn("50.0 MiB added; growth 0.0 MiB", soak.judge_resident(bare, None, flat))
        for seen in (series(*[170] * 20), series(*range(120, 160, 2)), series(150, 150), series()):
            with self.assertRaises(Failure):
                soak.judge_resident(bare, None, seen)

    def test_resident_memory_beside_cupti(self):
        """What CUPTI keeps by itself is not kprof's; what comes on top is."""
        bare, raw = series(*[100] * 5), series(*range(120, 320, 10))
        self.assertIn("30.0 MiB added", soak.judge_resident(bare, raw,
                                                            series(*range(150, 350, 10))))
        for seen in (series(*range(200, 400, 10)), series(*range(120, 400, 14)), series(150)):
            with self.assertRaises(Failure):
                soak.judge_resident(bare, raw, seen)

    def test_gpu_memory(self):
        self.assertIn("not measured", soak.judge_gpu(series(), series()))
        self.assertIn("growth 0.0", soak.judge_gpu(series(500), series(*[600] * 8)))
        with self.assertRaises(Failure):
            soak.judge_gpu(series(500), series(*range(600, 1000, 10)))


class Watching(unittest.TestCase):
    def watch(self, text, limit_s=30, **options):
        with tempfile.TemporaryDirectory() as folder:
            return watch([sys.executable, "-c", text], Path(folder), limit_s, **options)

    def test_growth_is_seen(self):
        """Of the lowest points, whatever bursts lie between them."""
        self.assertEqual(series(*[10 + i + 50 * (i % 3 == 1) for i in range(32)]).growth, 16 * MIB)
        self.assertEqual(series(*[10 + 50 * (i % 3 == 1) for i in range(32)]).growth, 0)
        self.assertIsNone(series(*range(7)).growth)

    def test_a_program_is_looked_at(self):
        seen = self.watch("import time; kept = b'x' * 2**26; time.sleep(1.5)\n"
                          "print('kernel_launches 7')", period_s=0.02)
        self.assertGreater(seen.resident.peak, 64 * MIB)
        self.assertEqual((seen.status, soak.issued_by(seen)), (0, 7))

    def test_a_child_is_found(self):
        seen = self.watch("import subprocess; subprocess.run(['sleep', '2'])", program="sleep",
                          period_s=0.02)
        self.assertLess(seen.resident.peak, 8 * MIB)

    def test_the_limit_holds(self):
        with self.assertRaises(Failure):
            self.watch("import time; time.sleep(60)", limit_s=0.2, period_s=0.05)


if __name__ == "__main__":
    sys.exit(unittest.main())
