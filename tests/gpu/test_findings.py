#!/usr/bin/env python3
"""The logic of finding_checks.py: what it lets pass, and what not."""

import unittest
from types import SimpleNamespace

from finding_checks import kept
from runner import Failure


def seen(total_ns, finding="math-attention", likely_ns=0, bound_ns=0):
    return SimpleNamespace(document={
        "operators": [{"name": "attention", "total_ns": total_ns}, {"name": "copy", "total_ns": 9}],
        "findings": [{"id": finding, "win": {"kernel_time_likely_ns": likely_ns,
                                             "kernel_time_bound_ns": bound_ns}}]})


class Kept(unittest.TestCase):
    def kept(self, before, after):
        return kept(before, after, "math-attention", ("attention",))

    def test_promises_are_kept(self):
        self.kept(seen(10e6, likely_ns=8e6, bound_ns=10e6), seen(2e6, "candidate"))
        self.kept(seen(10e6, likely_ns=8e6, bound_ns=10e6), seen(3e6, "candidate"))

    def test_broken_promises_fail(self):
        for before, after in (
                (seen(10e6, likely_ns=8e6, bound_ns=10e6), seen(5e6, "candidate")),
                (seen(10e6, likely_ns=5e6, bound_ns=10e6), seen(2e6, "candidate")),
                (seen(10e6, likely_ns=6e6, bound_ns=6e6), seen(3e6, "candidate")),
                (seen(10e6, "candidate", 8e6, 10e6), seen(2e6, "candidate")),
                (seen(10e6, likely_ns=8e6, bound_ns=10e6), seen(2e6))):
            with self.assertRaises(Failure):
                self.kept(before, after)


if __name__ == "__main__":
    unittest.main()
