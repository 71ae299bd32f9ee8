#!/usr/bin/env python3
"""decode_checks: what counts as reached, and what is said of a miss."""

import unittest

from decode_checks import judge, wanted_of_attention, wanted_of_linear
from runner import Failure


def row(shape, size, us, other_us, **changes):
    times = {name: {"median_us": value, "least_us": value, "most_us": value}
             for name, value in (("ours", us), ("chain", us), ("cublas", other_us))}
    return {"shape": shape, "bytes": size, "error": 1e-3, "library_error": 1e-3, "is_right": True,
            "same_bits": True, "times": times, **changes}


class Judge(unittest.TestCase):
    def linear(self, *rows, late=()):
        return judge({"rows": list(rows), "not_measured": list(late)}, 4000, wanted_of_linear)

    def test_targets_reached(self):
        words = self.linear(row([1, 28672, 8192, "bf16"], 470e6, 122, 130),
                            row([1, 14336, 4096, "bf16"], 117e6, 32, 42),
                            row([8, 4096, 4096, "bf16"], 33.6e6, 11, 11))
        self.assertIn("1x28672x8192xbf16 122.00 µs 96 % (chain 96 %) 1.07 × cublas", words)

    def test_share_missed(self):
        with self.assertRaisesRegex(Failure, r"94\.0 % of reading, not 95"):
            self.linear(row([1, 28672, 8192, "bf16"], 470e6, 125, 130))

    def test_ratio_missed(self):
        with self.assertRaisesRegex(Failure, r"1\.25 × cublas, not 1\.3"):
            self.linear(row([1, 14336, 4096, "bf16"], 117e6, 32, 40))

    def test_wrong_or_unsteady(self):
        good = ([8, 4096, 4096, "bf16"], 33.6e6, 11, 11)
        with self.assertRaisesRegex(Failure, "other bits"):
            self.linear(row(*good, same_bits=False))
        with self.assertRaisesRegex(Failure, "error 1.00e-03"):
            self.linear(row(*good, is_right=False))

    def test_nothing_measured(self):
        with self.assertRaises(Failure):
            self.linear()
        with self.assertRaisesRegex(Failure, "not measured"):
            self.linear(row([8, 4096, 4096, "bf16"], 33.6e6, 11, 11), late=[[1, 2, 3, "bf16"]])

    def test_attention_ratio_by_what_the_other_reaches(self):
        shape = [32, 32, 8, 4096, 128, 0, False, "bf16"]
        fast = row(shape, 537e6, 139, 140)
        judge({"rows": [fast], "not_measured": []}, 4000, wanted_of_attention)
        slow = row(shape, 537e6, 139, 145, bytes=400e6)
        with self.assertRaisesRegex(Failure, r"1\.04 × cublas, not 1\.05"):
            judge({"rows": [slow], "not_measured": []}, 2880, lambda r: (
                None, None, wanted_of_attention({**r, "times": {
                    "ours": {"median_us": 1, "read_pct": 95},
                    "cublas": {"median_us": 1, "read_pct": 89}}})[2]))


if __name__ == "__main__":
    unittest.main()
