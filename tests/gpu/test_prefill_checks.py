#!/usr/bin/env python3
"""prefill_checks: what counts as reached, and what is said of a miss."""

import unittest

from prefill_checks import judge
from runner import Failure


def row(ours, cudnn, **changes):
    found = {"error": 1e-3, "flash_error": 1e-3, "is_written": True, "same_bits": True, **changes}
    return {"shape": [32, 32, 2048, 128, True], "checks": [found],
            "tflops": {"ours": ours, "cudnn": cudnn, "flash": 300, "matrix": 700}}


def document(*rows, varied=450, **changes):
    last = row(varied, 0, **changes)
    return {"rows": list(rows), "varied": {**last, "tflops": {"ours": varied, "flash": 300}}}


class Judge(unittest.TestCase):
    def test_reached(self):
        words = judge(document(row(600, 590)))
        self.assertIn("32x32x2048x128 causal: ours 600, cudnn 590, flash 300, matrix 700", words)

    def test_slower(self):
        with self.assertRaisesRegex(Failure, r"0\.983 × cudnn"):
            judge(document(row(580, 590)))
        with self.assertRaisesRegex(Failure, r"0\.967 × flash"):
            judge(document(row(290, 250)))
        with self.assertRaisesRegex(Failure, r"varied lengths: 1\.33 × FlashAttention-2, not 1\.4"):
            judge(document(row(600, 590), varied=400))

    def test_wrong(self):
        for changes, word in (({"error": 1.03e-3}, "error 1.030e-03"), ({"error": float("nan")}, "nan"),
                              ({"is_written": False}, "not written"), ({"same_bits": False}, "bits")):
            with self.assertRaisesRegex(Failure, word):
                judge(document(row(600, 590, **changes)))
            with self.assertRaisesRegex(Failure, f"varied lengths: .*{word}"):
                judge(document(row(600, 590), **changes))

    def test_nothing_measured(self):
        with self.assertRaises(Failure):
            judge(document())


if __name__ == "__main__":
    unittest.main()
