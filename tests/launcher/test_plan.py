"""kprof plan: the worked example of docs/plan.md, recomputed; what is refused; its formats."""

import difflib
import json
import math
import os
import re
import shlex
import unittest

from harness import SOURCE, Case, environment

TRACES = os.path.join(SOURCE, "samples", "traces")
DECODE = os.path.join(TRACES, "llm_decode_graph.kprof")
COUNTED = os.path.join(SOURCE, "tests", "recorded", "decode_graph_50us.kprof")
TRIALS = os.path.join(SOURCE, "tests", "operators", "jax.kprof")
ATTENTION = os.path.join(SOURCE, "tests", "recorded", "attention_parameters.kprof")
YEAR_HOURS, YEAR_WEEKS = 8760, 365 / 7
LAUNCH_NS = 626  # an empty kernel's, docs/results


def amdahl(share, speedup):
    return 1 / (1 - share + share / speedup)


def gpus_needed(gpus, speedup):
    return math.ceil(round(gpus / speedup, 6))


class Plan(Case):
    def plan(self, *words, **keywords):
        keywords.setdefault("env", environment(XDG_CACHE_HOME="/nonexistent"))
        result = self.kprof("plan", *words, **keywords)
        self.assertEqual((result.returncode, result.stderr), (0, b""))
        return result.stdout.decode()

    def plan_json(self, *words):
        return json.loads(self.plan("--format", "json", *words))

    def outcome(self, card, level):
        return next(row for row in card["outcomes"] if row["level"] == level)

    def refused(self, *words, says=None):
        result = self.kprof("plan", *words)
        self.assertEqual((result.returncode, result.stdout), (125, b""), words)
        self.assertEqual(len(self.words(result)), 1, result.stderr)
        self.assertEqual(result.stderr.count(b"\n"), 1)
        if says:
            self.assertIn(says, result.stderr.decode())


class Example(Plan):
    """docs/plan.md."""

    def blocks(self):
        """The arguments and the text of each plan on the page, and the page's words."""
        with open(os.path.join(SOURCE, "docs", "plan.md"), encoding="utf-8") as file:
            page = file.read()
        blocks = re.findall(r"<!-- plan: ([^\n]*) -->\n```\n(.*?)```\n", page, re.DOTALL)
        self.assertGreaterEqual(len(blocks), 3)
        return [(shlex.split(words), text) for words, text in blocks], " ".join(page.split())

    def test_page_shows_what_kprof_prints(self):
        for words, shown in self.blocks()[0]:
            made = self.plan(*words[:-1], os.path.join(TRACES, words[-1]))
            difference = difflib.unified_diff(shown.splitlines(), made.splitlines(),
                                              "docs/plan.md", "kprof plan", lineterm="")
            self.assertEqual(made, shown, "\n".join(difference))

    def test_figures_recomputed_from_the_report(self):
        """From the definitions and the report's own exclusive time, not from the plan."""
        report = self.report_json(DECODE)
        attention = next(row for row in report["operators"] if row["name"] == "attention")
        share = attention["exclusive_ns"] / report["totals"]["span_ns"]
        most = attention["total_ns"] / attention["calls"] / LAUNCH_NS
        blocks, page = self.blocks()
        shares = {"all=3x": 1, "attention=3x": share}
        for words, text in blocks:
            part = 0.45 if "--share" in words else shares[words[words.index("--target") + 1]]
            rows = {line[:38].strip(): line[38:].split() for line in text.splitlines()}
            speedups = [amdahl(part, 2.6), amdahl(part, 3)]
            speedups += [amdahl(part, most)] if part < 1 else []
            needed = [gpus_needed(10000, speedup) for speedup in speedups]
            for title, values in (
                    ("Speed-up of the whole", [f"{x:.2f}x" for x in speedups]),
                    ("Wall time saved", [f"{100 * (1 - 1 / x):.1f}%" for x in speedups]),
                    ("GPUs needed", [f"{x:,}" for x in needed]),
                    ("GPUs saved", [f"{10000 - x:,}" for x in needed])):
                self.assertEqual(rows[title][:len(values)], values, title)
            if "--gpu-hour" in words:
                yearly = [(10000 - x) * 2.5 * YEAR_HOURS for x in needed]
                self.assertEqual(rows["Saved a year, by GPUs not run, USD"],
                                 [f"{x:,.0f}" for x in yearly])
                self.assertEqual(rows["Weeks until break-even"],
                                 [f"{12 * 5000 / x * YEAR_WEEKS:.4f}" for x in yearly])
        self.assertEqual((gpus_needed(10000, 3), round(10000 / 3, 1)), (3334, 3333.3))
        for words in ("3,333.3, so that 3,334 GPUs are needed and 6,666 saved",
                      f"is {amdahl(0.45, 3):.2f}, and 3,000 GPUs are saved", "saves 4,500, and one with as many launches as now "
                      "3,858 at most"):
            self.assertIn(words, page)
        self.assertEqual(10000 - gpus_needed(10000, amdahl(0.45, 3)), 3000)
        self.assertEqual(10000 - gpus_needed(10000, 1 / 0.55), 4500)
        self.assertEqual(10000 - gpus_needed(10000, amdahl(0.45, most)), 3858)
        self.assertTrue(0.08 < share < 0.12, "«a tenth of wall time» is no longer so")


class Sums(Plan):
    def test_cards_follow_the_threshold_and_the_options(self):
        names = [card["operator"] for card in self.plan_json(DECODE)["cards"]]
        self.assertEqual(names, ["gemm"])
        document = self.plan_json("--target", "rope=2x,all=2", DECODE)
        self.assertEqual([card["operator"] for card in document["cards"]], [None, "gemm", "rope"])
        self.assertIn("--target", self.plan("--threshold", "99", DECODE))

    def test_what_compilers_try_has_no_card_but_by_name(self):
        document = self.plan_json(TRIALS)
        self.assertNotIn("autotuning", [card["operator"] for card in document["cards"]])
        said = [words for words in document["assumptions"] if "(autotuning)" in words]
        self.assertEqual(len(said), 1)
        self.assertRegex(said[0], r"^5[0-9]\.[0-9] % of kernel time")
        document = self.plan_json("--target", "autotuning=2x", TRIALS)
        self.assertIn("autotuning", [card["operator"] for card in document["cards"]])
        self.assertFalse([words for words in document["assumptions"] if "(autotuning)" in words])

    def test_end_to_end_says_how_fast_the_operator_must_be(self):
        card = self.plan_json("--end-to-end", "gemm=1.2x", DECODE)["cards"][0]
        target = self.outcome(card, "target")
        self.assertAlmostEqual(target["speed_up"], 1.2, places=4)
        share = card["share_of_wall_time_pct"] / 100
        self.assertAlmostEqual(amdahl(share, target["operator_speed_up"]), 1.2, places=3)

    def measured(self, end_to_end, wrong=0):
        """A report of kprof ab with this end, in a file."""
        rule = {"name": "silu", "replaced_by": "silu_mul", "launches": {}, "not_replaced": {},
                "comparisons_wrong": wrong, "accuracy": [], "verdict": "faster"}
        path = os.path.join(self.folder, "ab.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump({"schema": "kprof.ab/v1", "rules": [rule], "end_to_end": end_to_end}, file)
        return path

    def test_what_was_measured_is_of_the_whole(self):
        faster = {"verdict": "faster", "change_pct": -20, "change_low_pct": -25,
                  "change_high_pct": -15, "pairs": 9}
        report = self.measured(faster)
        document = self.plan_json("--gpus", "1000", "--ab", report, DECODE)
        whole = document["cards"][0]
        self.assertEqual([row["level"] for row in whole["outcomes"]], ["measured_least", "measured"])
        for level, change in (("measured", -20), ("measured_least", -15)):
            outcome = self.outcome(whole, level)
            self.assertAlmostEqual(outcome["speed_up"], 1 / (1 + change / 100), places=3)
            self.assertEqual(outcome["gpus_needed"], 1000 + change * 10)
        self.assertIn("in 9 pairs", " ".join(whole["notes"]))
        self.refused("--ab", self.measured(faster, wrong=1), DECODE, says="results of silu were wrong")
        for end, says in (({**faster, "verdict": "slower"}, "the verdict is «slower»"),
                          ({**faster, "change_high_pct": 1}, "the verdict is «faster»"),
                          ({**faster, "change_high_pct": None}, "the verdict is «faster»"),
                          ({**faster, "change_low_pct": -100}, "cannot be"),
                          ({**faster, "change_pct": None}, "cannot be"),
                          ({**faster, "change_pct": -10}, "cannot be")):
            self.refused("--ab", self.measured(end), DECODE, says=says)
        self.refused("--ab", os.path.join(self.folder, "none.yaml"), DECODE, says="No such file")

    def test_units_are_counted_by_ranges(self):
        """Two llm_decode runs: per GPU it is the same as of one."""
        words = ("--unit-range", "token", "--units-per-range", "4", "--gpu-hour", "3.6")
        document = self.plan_json(*words, DECODE)
        now, report = document["now"], self.report_json("--iterations", "token", DECODE)
        rate = 4 * now["unit_ranges"] / (report["totals"]["span_ns"] * 1e-9)
        self.assertEqual(now["unit_ranges"], 512)
        self.assertAlmostEqual(now["tokens_per_s_per_gpu"], rate, places=3)
        self.assertAlmostEqual(now["cost_per_million_tokens"], 1e6 * 0.001 / rate, places=5)
        self.assertIsNone(now["requests_per_s_per_gpu"])
        card = self.plan_json(*words, "--target", "gemm=2", DECODE)["cards"][0]
        target = self.outcome(card, "target")
        self.assertAlmostEqual(target["tokens_per_s_per_gpu"] / rate, target["speed_up"], places=3)
        self.assertLess(target["cost_per_million_tokens"], now["cost_per_million_tokens"])

    def test_windows_of_a_range_stand_for_nothing_else(self):
        text = self.plan(os.path.join(SOURCE, "tests", "operators", "convnet.kprof"))
        flat = " ".join(text.split())
        self.assertIn("100 % of the run was looked at, in 1 window: only these count, and nothing "
                      "is said of the rest.", flat)
        self.assertLessEqual(max(len(line) for line in text.splitlines()), 80)

    def test_limit_is_unknown_without_counters(self):
        card = self.plan_json(DECODE)["cards"][0]
        self.assertEqual((card["limit_source"], card["limit_speed_up"], card["at_most_by"]),
                         ("modelled", None, "launch"))
        self.assertEqual([row["level"] for row in card["outcomes"]], ["at_most", "bound"])
        card = self.plan_json(COUNTED)["cards"][0]
        self.assertEqual((card["limit_source"], card["limit_speed_up"]), ("estimated", None))
        self.assertTrue(1.8 < card["speed_up_at_most"] < 2.1)

    def test_no_launch_is_shorter_than_an_empty_kernel(self):
        gemm = self.plan_json(DECODE)["cards"][0]
        row = next(row for row in self.report_json(DECODE)["operators"] if row["name"] == "gemm")
        most = row["total_ns"] / row["calls"] / LAUNCH_NS
        self.assertAlmostEqual(gemm["speed_up_at_most"], most, places=3)
        self.refused("--target", f"gemm={most * 1.01:.3f}x", DECODE, says="(--fewer-launches)")
        words = ("--fewer-launches", "gemm=2x")
        card = self.plan_json(*words, "--target", f"gemm={most * 1.99:.3f}x", DECODE)["cards"][0]
        self.assertAlmostEqual(card["speed_up_at_most"], 2 * most, places=3)
        self.refused(*words, "--target", f"gemm={most * 2.02:.3f}x", DECODE, says="the fewer of them")

    def test_no_rate_is_higher_than_the_gpus(self):
        """Attention of known sizes: their operations at 1979 TFLOP/s, which an H200 has in fp8."""
        row = next(row for row in self.report_json(ATTENTION)["operators"]
                   if row["name"] == "attention")
        flops = sum(shape["flops_per_call"] * shape["launches"]
                    for shape in row["stability"]["shapes"] if shape["flops_per_call"])
        most = row["total_ns"] / (flops / 1978.9e12 * 1e9)
        card = next(card for card in self.plan_json(ATTENTION)["cards"]
                    if card["operator"] == "attention")
        self.assertEqual((card["at_most_by"], card["limit_source"]), ("compute", "modelled"))
        self.assertAlmostEqual(card["speed_up_at_most"], most, places=1)
        self.refused("--target", f"attention={most * 1.1:.2f}", ATTENTION, says="of any type")

    def test_given_shares_leave_the_rest(self):
        """Operators without a card count too: all that is not given shrinks alike."""
        words = ("--threshold", "0", DECODE)
        recorded = {card["operator"]: card for card in self.plan_json(*words)["cards"]}
        cards = self.plan_json("--share", "attention=45%", *words)["cards"]
        left = 55 / (100 - recorded["attention"]["share_of_wall_time_pct"])
        for card in cards:
            before = recorded[card["operator"]]["share_of_wall_time_pct"]
            given = card["operator"] == "attention"
            self.assertEqual(card["share_source"], "given" if given else "left")
            self.assertAlmostEqual(card["share_of_wall_time_pct"], 45 if given else before * left,
                                   places=3)
        self.assertLess(sum(card["share_of_wall_time_pct"] for card in cards), 100)

    def test_critical_path_says_how_sure_a_gain_is(self):
        """An eager program whose launches come too late, and one without pauses."""
        eager = os.path.join(TRACES, "llm_decode_eager.kprof")
        card = self.plan_json("--target", "gemm=2x", eager)["cards"][0]
        self.assertLess(card["critical_path_ns"], 0.5 * card["exclusive_ns"])
        self.assertIn("hold if the program waits for each launch", " ".join(card["notes"]))
        card = self.plan_json("--target", "gemm=2x", DECODE)["cards"][0]
        self.assertAlmostEqual(card["critical_path_ns"] / card["exclusive_ns"], 1, places=1)
        self.assertNotIn("critical path", " ".join(card["notes"]))

    def test_numbers_may_have_exponents(self):
        plain = self.plan("--gpus", "10000", "--target", "gemm=2x", "--gpu-hour", "0.25", DECODE)
        self.assertEqual(plain, self.plan("--gpus", "1e4", "--target", "gemm=20e-1x", "--gpu-hour",
                                          "2.5E-1", DECODE))

    def test_text_formats_agree(self):
        words = ("--target", "gemm=1.5x", "--gpus", "64", "--gpu-price", "30000", "--currency", "€",
                 DECODE)
        text, markdown = self.plan(*words), self.plan("--format", "markdown", *words)
        figures = [row.split(" | ") for row in markdown.splitlines() if row.startswith("| S")]
        self.assertIn("Saved once, by GPUs not bought, €", text)
        for cells in figures:
            label = cells[0].strip("| ")
            for value in (cell.strip(" |") for cell in cells[1:]):
                line = next((x for x in text.splitlines() if x.startswith(label)), "")
                self.assertIn(" ".join(value.split()[:2]), line)
        written = self.kprof("plan", "-o", "plan.md", *words)
        self.assertEqual(written.returncode, 0, written.stderr)
        self.assertEqual(self.read("plan.md").decode(), markdown)


class Refusals(Plan):
    def test_what_cannot_be(self):
        trace = self.make_trace("ampere_sgemm_128x64_tn", "softmax_kernel")  # 2 and 1 of 3.5 µs
        for words, says in (
                (("--gpus", "0"), "from 1"), (("--gpus", "-5"), "from 1"),
                (("--gpus", "nan"), "from 1"), (("--gpus", "1.5"), "whole"),
                (("--gpus", "0x10"), "from 1"), (("--gpu-price", "-1"), "number"),
                (("--gpu-hour", "0"), "number"), (("--gpu-hour", "inf"), "number"),
                (("--realistic", "0"), "from 1"), (("--realistic", "101"), "to 100"),
                (("--target", "gemm=0.5x"), "slower"), (("--target", "gemm=0"), "above 0"),
                (("--target", "gemm=-2"), "above 0"), (("--target", "gemm=nan"), "above 0"),
                (("--target", "gemm=inf"), "above 0"), (("--target", "gemm=1e"), "above 0"),
                (("--target", "gemm=e3"), "above 0"), (("--target", "gemm=1e3e"), "above 0"),
                (("--target", "gemm=1e3"), "as short as an empty kernel"),
                (("--target", "gemm=1e400"), "above 0"),
                (("--target", "all=1e3"), "the whole: 1000.00 times"),
                (("--fewer-launches", "gemm=0.5"), "times fewer"),
                (("--fewer-launches", "gemm=1e4x"), "2 launches"),
                (("--fewer-launches", "all=2x"), "--target all=2x"),
                (("--target", "all=1e3", "--fewer-launches", "all=2x"), "that were given"),
                (("--operators", "a.yaml", "--operators", "b.yaml"), "already, with a.yaml"),
                (("--target", "gemm=2..5"), "above 0"), (("--target", "gemm"), "above 0"),
                (("--target", "gemm=2,"), "above 0"), (("--target", "=2"), "above 0"),
                (("--target", "gemm=2,gemm=3"), "twice"), (("--target", "gem=2"), "it has gemm"),
                (("--end-to-end", "gemm=2.4x"), "2.33 times"),
                (("--target", "gemm=1.1", "--end-to-end", "gemm=1.1"), "one of the whole"),
                (("--share", "gemm=101%"), "at most 100"),
                (("--share", "gemm=60%,softmax=41%"), "101.0 %"),
                (("--fewer-bytes", "gemm=0.9"), "times fewer"),
                (("--tokens-per-s", "5"), "--gpus"), (("--engineer-week", "5"), "engineer-weeks"),
                (("--kwh-price", "1"), "--gpu-watts"), (("--unit", "requests"), "--unit-range"),
                (("--unit-range", "nope"), "nope"), (("--hours-per-year", "9000"), "8784"),
                (("--currency", "a b"), "EUR"), (("--currency", "\x1b[31m"), "EUR"),
                (("--engineer-weeks", "gemm=x"), "attention=6"),
                (("--format", "csv"), "markdown"), (("-o", "x.csv"), "Markdown")):
            self.refused(*words, trace, says=says)
        self.refused("--target", "gemm=9", COUNTED, says="beyond physics")
        self.assertEqual(self.files(), ["made.kprof"])

    def test_too_many_operators(self):
        self.refused("--target", ",".join(f"k{i}=2" for i in range(65)), COUNTED, says="64")

    def test_traces_without_times(self):
        self.refused(self.make_trace("a", NO_LAUNCHES="1"), says="nothing to plan by")
        self.refused("missing.kprof", says="missing.kprof")


if __name__ == "__main__":
    unittest.main()
