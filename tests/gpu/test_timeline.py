#!/usr/bin/env python3
"""The logic of timeline_checks.py: what it lets pass, and what not."""

import unittest
from types import SimpleNamespace

from runner import Failure
from timeline_checks import gain, iterations, sums


def row(wall_ns, low_ns=0, high_ns=0, bound=False, count=198):
    return {"count": count, "warmup": 1, "wall_ns": {"median": wall_ns},
            "launches_per_iteration": {"launch_bound": bound},
            "graph_gain_per_iteration": {"low_ns": low_ns, "high_ns": high_ns}}


class Gain(unittest.TestCase):
    def test_promise_is_kept(self):
        gain(row(3e6, 1e6, 1.5e6, True), row(1.8e6))
        gain(row(3e6, 1e6, 1.5e6, True), row(2.15e6))

    def test_broken_promises_fail(self):
        for eager, graph in ((row(3e6, 1e6, 1.5e6, True), row(2.5e6)),
                             (row(3e6, 1e6, 1.5e6, True), row(1e6)),
                             (row(3e6, 1e6, 1.5e6, False), row(1.8e6)),
                             (row(3e6, 1e6, 1.5e6, True), row(1.8e6, bound=True))):
            with self.assertRaises(Failure):
                gain(eager, graph)

    def test_iterations_must_be_found(self):
        seen = SimpleNamespace(document={"iterations": [row(1)]})
        self.assertEqual(iterations(seen, 198), row(1))
        for rows in ([], [row(1), row(1)], [row(1, count=20)]):
            seen.document["iterations"] = rows
            with self.assertRaises(Failure):
                iterations(seen, 198)

    def test_sums_must_be_exact(self):
        seen = SimpleNamespace(document={
            "idle": [{"causes": [{"total_ns": 3}, {"total_ns": 4}]}],
            "gpus": [{"span_ns": 10, "busy_time_ns": 3}]})
        sums(seen)
        seen.document["gpus"][0]["span_ns"] = 11
        with self.assertRaises(Failure):
            sums(seen)


if __name__ == "__main__":
    unittest.main()
