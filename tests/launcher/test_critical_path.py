"""The critical path and idle time of recorded traces: that they add up, and do not contradict."""

import glob
import json
import os
import re
import unittest

from harness import SOURCE, Case, environment

RECORDED = os.path.join(SOURCE, "tests", "recorded")
OPERATORS = os.path.join(SOURCE, "tests", "operators")
TRACES = os.path.join(SOURCE, "samples", "traces")
EAGER = os.path.join(RECORDED, "decode_eager_10us.kprof")
PARTS = ("kernel_ns", "memory_ns", "idle_ns", "others_ns", "hidden_ns")


class CriticalPath(Case):
    def output(self, command, *words):
        result = self.kprof(command, *words, env=environment(XDG_CACHE_HOME="/nonexistent",
                                                             COLUMNS="80"))
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stdout.decode()

    def report(self, *words):
        return json.loads(self.output("report", "--format", "json", *words))

    def hidden_pct(self, name):
        report = self.report(os.path.join(RECORDED, name))
        hidden_ns = report["idle"][0]["critical_path"]["hidden_ns"]
        return 100 * hidden_ns / report["gpus"][0]["span_ns"]

    def test_parts_add_up_to_the_span(self):
        """Also where a window or a part of the time cuts."""
        traces = glob.glob(os.path.join(OPERATORS, "hf_*.kprof"))
        self.assertGreaterEqual(len(traces), 3)
        for trace in traces + [os.path.join(RECORDED, "traffic_alternating.kprof")]:
            for words in ((), ("--from", "10ms", "--to", "60ms")):
                report = self.report(*words, trace)
                for gpu, idle in zip(report["gpus"], report["idle"]):
                    path = idle["critical_path"]
                    self.assertEqual(sum(path[part] for part in PARTS), gpu["span_ns"],
                                     (trace, words))

    def test_long_kernels_were_waited_for(self):
        """Kernels of 40 to 120 us, 2.6 us from each other: the host does not set that pace."""
        self.assertLess(self.hidden_pct("traffic_alternating.kprof"), 10)
        self.assertLess(self.hidden_pct("traffic_alternating_3.kprof"), 20)
        self.assertGreater(self.hidden_pct("decode_eager_10us.kprof"), 13)

    def test_both_bounds_are_told(self):
        text = " ".join(self.output("report", "--gaps", EAGER).split())
        self.assertRegex(text, r"unless the program waits for each launch, which a trace cannot "
                               r"tell: kernels, copies and sets are 0\.\d% of the span if it does "
                               r"not, and at most 13\.\d% if it does")
        self.assertIn("gemm 0.0% to 6.6%", text)

    def test_operators_are_in_order_and_counted(self):
        text = " ".join(self.output("report", "--gaps",
                                    os.path.join(TRACES, "llm_decode_eager.kprof")).split())
        told = re.search(r"On the critical path, of the span[^:]*: (.*?)(?: Findings|Fusion)", text)
        shown = re.findall(r"([a-z-]+) (?:[\d.]+% to )?([\d.]+)%", told[1])
        most = [float(pct) for _, pct in shown]
        self.assertEqual(most, sorted(most, reverse=True))
        self.assertGreater(most[-1], 0)
        report = self.report(os.path.join(TRACES, "llm_decode_eager.kprof"))
        worth = [row["name"] for row in report["operators"]
                 if max(row["critical_path_share_of_span_pct"],
                        row["exclusive_share_of_span_pct"]) >= 0.05]
        more = re.search(r", and (\d+) more", told[1])
        self.assertEqual(len(shown) + (int(more[1]) if more else 0), len(worth))

    def test_lengths_of_gaps_add_up(self):
        text = self.output("report", "--gaps", os.path.join(OPERATORS, "triton.kprof"))
        table = text.split("Length of a gap")[1].split("Longest gaps")[0]
        shares = [float(pct) for pct in re.findall(r"^ *([\d.]+)% ", table, re.MULTILINE)]
        self.assertAlmostEqual(sum(shares), 100, delta=0.5)
        self.assertIn("cut at a border", table)

    def test_wins_of_kernels_wait_for_launches(self):
        report = self.report(EAGER)
        by_id = {row["id"]: row["win"]["once_launches_keep_up"] for row in report["findings"]}
        self.assertFalse(by_id["launch-bound"])
        self.assertTrue(by_id["unfused-chain"])
        self.assertIn("once launches keep up", " ".join(self.output("report", EAGER).split()))
        graph = self.report(os.path.join(RECORDED, "decode_graph_10us.kprof"))
        self.assertFalse(any(row["win"]["once_launches_keep_up"] for row in graph["findings"]))

    def test_formula_of_launches_names_all_that_it_holds(self):
        """More than the late launches are: the graph closes the GPU's own gaps, too."""
        report = self.report(os.path.join(TRACES, "llm_decode_eager.kprof"))
        win = next(row for row in report["findings"] if row["id"] == "launch-bound")["win"]
        late_ns = sum(cause["total_ns"] for cause in report["idle"][0]["causes"]
                      if cause["cause"] == "launch_bound")
        self.assertGreater(win["span_bound_ns"], late_ns)
        self.assertIn("the GPU's own", win["formula"])

    def test_plan_does_not_contradict_itself(self):
        text = " ".join(self.output("plan", "--target", "norm=2x", EAGER).split())
        self.assertIn("Its sums hold if the program waits for each launch", text)
        self.assertIn("it is on the critical path for 0.0 % of wall time", text)
        self.assertNotIn("wins nothing", text)

    def test_plan_saves_gpus_within_the_bound(self):
        trace = os.path.join(RECORDED, "decode_graph_10us.kprof")
        plan = json.loads(self.output("plan", "--format", "json", "--gpus", "100", trace))
        card = plan["cards"][0]
        levels = {row["level"]: row for row in card["outcomes"]}
        share = card["share_of_wall_time_pct"] / 100
        whole = 1 / (1 - share + share / card["speed_up_at_most"])
        self.assertAlmostEqual(levels["at_most"]["speed_up"], whole, places=3)
        self.assertLess(levels["at_most"]["gpus_saved"], levels["bound"]["gpus_saved"])
        text = self.output("plan", "--gpus", "100", trace)
        self.assertIn("at most\n", text)
        self.assertNotIn("at no cost\n", text)


if __name__ == "__main__":
    unittest.main()
