#!/usr/bin/env python3
"""The judgements of kernel_checks.py, without a GPU."""

import unittest

import kernel_checks
from runner import Failure


def row(name="rmsnorm", rows=4096, columns=4096, size=64e6, of_copy=95.0, hot=30.0, chain=30.0):
    return {"operator": name, "rows": rows, "columns": columns, "bytes": size,
            "of_copy_pct": of_copy, "cold": {"median_us": 31.0}, "hot": {"median_us": hot},
            "chain": {"median_us": chain}}


class Targets(unittest.TestCase):
    def test_share_of_copy(self):
        for name, rows, columns, size, wanted in (
                ("rmsnorm", 16384, 8192, 536e6, 97), ("layernorm", 4096, 4096, 67e6, 90),
                ("add_rmsnorm", 1024, 2048, 16e6, 80), ("rmsnorm", 8, 4096, 1e5, None),
                ("rmsnorm", 65536, 128, 33e6, None), ("silu_mul", 1024, 8192, 50e6, 97),
                ("softmax", 65536, 1024, 268e6, 95), ("softmax", 4096, 8192, 100e6, 88),
                ("softmax", 64, 131072, 33e6, None), ("gelu", 4096, 14336, 200e6, None)):
            self.assertEqual(kernel_checks.wanted_of_copy(row(name, rows, columns, size)), wanted)

    def test_small_times(self):
        self.assertEqual(kernel_checks.wanted_us(row(rows=8, size=2e5)), (1.9, 1.4))
        self.assertEqual(kernel_checks.wanted_us(row("rope", rows=64, size=1e6)), (2.2, 1.6))
        self.assertIsNone(kernel_checks.wanted_us(row(rows=64, size=2e6)))
        self.assertIsNone(kernel_checks.wanted_us(row("softmax", rows=8, size=1e4)))

    def test_judgement(self):
        self.assertIn("95 % of copy", kernel_checks.judge([row()]))
        with self.assertRaisesRegex(Failure, "89.0 % of copy, not 90"):
            kernel_checks.judge([row(), row(of_copy=89.0)])
        with self.assertRaisesRegex(Failure, "chain 1.50 µs, not 1.4"):
            kernel_checks.judge([row(rows=8, hot=1.8, chain=1.5)])
        with self.assertRaisesRegex(Failure, "hot 2.00 µs, not 1.9"):
            kernel_checks.judge([row(rows=8, hot=2.0, chain=1.4)])

    def test_ratios(self):
        def against(*ratios):
            return {"shape": "8x4096", "against": {"references": [
                {"name": name, "cold": {"median_us": 10 * ratio}, "cold_ratio": {"median": ratio}}
                for name, ratio in zip(("eager", "compile"), ratios)]}}
        self.assertEqual(kernel_checks.judge_ratios([against(2.0, 1.0)]), "8x4096 1.00 × compile")
        with self.assertRaisesRegex(Failure, "slower: 8x4096 0.97 × eager"):
            kernel_checks.judge_ratios([against(0.97, 1.0)])
        with self.assertRaises(Failure):
            kernel_checks.judge_ratios([])


if __name__ == "__main__":
    unittest.main()
