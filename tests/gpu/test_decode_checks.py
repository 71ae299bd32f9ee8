#!/usr/bin/env python3
"""decode_checks: what counts as reached, and what is said of a miss."""

import unittest

from decode_checks import judge, wanted_of_attention, wanted_of_linear
from runner import Failure


def row(shape, size, pct, ratio, ceiling_gbps=4000, **changes):
    us = size / ceiling_gbps / 1e3 / pct * 100
    return {"shape": shape, "bytes": size, "cold": {"median_us": us}, "of_ceiling_pct": pct,
            "chain_of_ceiling_pct": pct, "ceiling_gbps": ceiling_gbps, "narrow_dtype": "bf16",
            "against": {"ours_error": 1e-3, "references": [
                {"name": "other", "cold": {"median_us": us * ratio},
                 "cold_ratio": {"median": ratio}, "error": 1e-3}]}, **changes}


def linear(shape, size, pct, ratio, **changes):
    tokens, outputs, inputs = map(int, shape.split("x"))
    return row(shape, size, pct, ratio, tokens=tokens, outputs=outputs, inputs=inputs, **changes)


class Judge(unittest.TestCase):
    def refused(self, says, *rows, wanted=wanted_of_linear):
        with self.assertRaisesRegex(Failure, says):
            judge(rows, wanted)

    def test_targets_reached(self):
        words = judge([linear("1x28672x8192", 470e6, 96, 1.07),
                       linear("1x14336x4096", 117e6, 91, 1.31),
                       linear("8x4096x4096", 33.6e6, 76, 0.99)], wanted_of_linear)
        self.assertIn("1x28672x8192 122.40 µs 96 % (chain 96 %) 1.07 × other", words)

    def test_share_missed(self):
        self.refused(r"94\.0 % of reading, not 95", linear("1x28672x8192", 470e6, 94, 1.1))
        self.refused(r"79\.0 % in a chain, not 80", linear("1x4096x4096", 33.6e6, 79, 1.1))

    def test_ratio_missed(self):
        self.refused(r"1\.25 × other, not 1\.3", linear("1x14336x4096", 117e6, 95, 1.25))
        self.refused(r"0\.97 × other, not 0\.98", linear("2x14336x4096", 117e6, 95, 0.97))

    def test_error(self):
        bad = linear("8x4096x4096", 33.6e6, 80, 1.1)
        bad["against"]["ours_error"] = 2.1e-3
        self.refused("error 2.10e-03, another's 1.00e-03", bad)

    def test_nothing_measured(self):
        self.refused("all")

    def test_attention_ratio_by_what_the_other_reaches(self):
        judge([row("a", 537e6, 96, 1.01, batch=32)], wanted_of_attention)
        self.refused(r"1\.04 × other, not 1\.05", row("a", 190e6, 92, 1.04, batch=32),
                     wanted=wanted_of_attention)
        self.refused(r"1\.20 × other, not 1\.3", row("a", 134e6, 92, 1.2, batch=1),
                     wanted=wanted_of_attention)
        alone = row("a", 190e6, 50, 1, batch=32)
        alone["against"]["references"] = []
        judge([alone], wanted_of_attention)


if __name__ == "__main__":
    unittest.main()
