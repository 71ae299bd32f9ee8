#!/usr/bin/env python3
"""The logic of timeline_checks.py: what it lets pass, and what not."""

import unittest
from types import SimpleNamespace

from runner import Failure
from timeline_checks import gain, iterations, path_of, slowed, sums


def row(wall_ns, low_ns=0, high_ns=0, bound=False, count=198):
    return {"count": count, "warmup": 1, "wall_ns": {"median": wall_ns},
            "launches_per_iteration": {"launch_bound": bound},
            "graph_gain_per_iteration": {"low_ns": low_ns, "high_ns": high_ns}}


class Path(unittest.TestCase):
    def seen(self, span_ns):
        path = {"kernel_ns": 5, "memory_ns": 1, "idle_ns": 2, "others_ns": 0, "hidden_ns": 2}
        return SimpleNamespace(document={"idle": [{"critical_path": path}],
                                         "gpus": [{"span_ns": span_ns}]})

    def test_parts_add_up(self):
        self.assertEqual(path_of(self.seen(10))["kernel_ns"], 0.5)
        with self.assertRaises(Failure):
            path_of(self.seen(11))

    def test_longer_kernels_show_on_the_path_only(self):
        slowed((3e6, 20e6), (8e6, 21e6), False)
        slowed((3e6, 20e6), (8e6, 19e6), False)
        slowed((100e6, 102e6), (200e6, 202e6), True)
        for fast, slow, on_path in (((3e6, 20e6), (8e6, 25e6), False),
                                    ((3e6, 20e6), (3e6, 20e6), False),
                                    ((100e6, 102e6), (200e6, 150e6), True),
                                    ((100e6, 102e6), (200e6, 250e6), True)):
            with self.assertRaises(Failure):
                slowed(fast, slow, on_path)


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
