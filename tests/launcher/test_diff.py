"""kprof diff and gates: verdicts, sums, exit statuses, JUnit's XML, hostile names."""

import json
import os
import re
import subprocess
import unittest
import xml.etree.ElementTree as ElementTree
from decimal import Decimal

from harness import HELPERS, SOURCE, Case

TRACES = os.path.join(SOURCE, "samples", "traces")
EAGER = os.path.join(TRACES, "llm_decode_eager.kprof")
GRAPH = os.path.join(TRACES, "llm_decode_graph.kprof")
RECORDED = os.path.join(SOURCE, "tests", "recorded")
NORM = "inverse_rms_kernel"


class Comparing(Case):
    def stretch(self, trace, pct, kernel, identity=1, file="stretched.kprof"):
        made = subprocess.run([os.path.join(HELPERS, "launcher_stretch_trace"), trace, str(pct),
                               kernel, str(identity)], capture_output=True, timeout=200)
        self.assertEqual((made.returncode, made.stderr), (0, b""))
        return self.write(file, made.stdout)

    def diff(self, *words, status=0):
        result = self.kprof("diff", *words)
        self.assertEqual(result.returncode, status, result.stderr)
        return result

    def document(self, *words, status=0):
        """Numbers as they stand there."""
        return json.loads(self.diff("-f", "json", *words, status=status).stdout,
                          parse_float=Decimal)

    def one(self, *words, **keywords):
        document = self.document(*words, **keywords)
        self.assertEqual(document["schema"], "kprof.diff/v1")
        self.assertEqual(len(document["comparisons"]), 1)
        self.check_sums(document["comparisons"][0])
        return document["comparisons"][0]

    def check_sums(self, comparison):
        """What moved adds up to the difference, to the last decimal."""
        change = sum(group["change_ns"] for group in comparison["moved"])
        self.assertEqual(change, comparison["change_ns"])
        self.assertEqual(comparison["new"]["length_ns"] - comparison["base"]["length_ns"], change)
        for side in ("base", "new"):
            self.assertEqual(sum(group[side]["time_ns"] for group in comparison["moved"]),
                             comparison[side]["length_ns"])
        for group in comparison["moved"]:
            self.assertEqual(sum(part["change_ns"] for part in group["parts"]), group["change_ns"])


class Diff(Comparing):
    def test_a_trace_with_itself_is_no_difference(self):
        for trace in (EAGER, GRAPH):
            comparison = self.one(trace, trace)
            self.assertEqual((comparison["verdict"], comparison["change_ns"]),
                             ("no difference", 0))
            self.assertTrue(comparison["same_recording"])
            self.assertEqual(comparison["obstacles"], [])

    def test_another_recording_of_the_same_is_no_difference(self):
        comparison = self.one(GRAPH, self.stretch(GRAPH, 0, NORM))
        self.assertEqual(comparison["verdict"], "no difference")
        self.assertFalse(comparison["same_recording"])
        self.assertEqual(comparison["change_ns"], 0)

    def test_one_slower_kernel_is_found(self):
        slower = self.stretch(GRAPH, 60, NORM)
        comparison = self.one(GRAPH, slower)
        self.assertEqual(comparison["verdict"], "slower")
        self.assertEqual(comparison["unit"], "iteration")
        first = comparison["moved"][0]
        self.assertEqual((first["kind"], first["name"]), ("operator", "norm"))
        self.assertEqual(first["parts"][0]["new"]["name"], NORM)
        # 60 % of what it took, and all of the change but for rounding to nanoseconds.
        slow = first["parts"][0]
        self.assertAlmostEqual(float(slow["change_ns"] / slow["base"]["time_ns"]), 0.6, 2)
        self.assertAlmostEqual(float(first["change_ns"] / comparison["change_ns"]), 1, 2)
        self.assertLess(comparison["change_pct_low95"], comparison["change_pct"])
        self.assertEqual(self.one(slower, GRAPH)["verdict"], "faster")

    def test_runs_of_several(self):
        base = [self.stretch(GRAPH, pct, NORM, i + 1, f"base{i}.kprof")
                for i, pct in enumerate((0, 3, 5))]
        new = [self.stretch(GRAPH, pct, NORM, i + 11, f"new{i}.kprof")
               for i, pct in enumerate((100, 103, 97))]
        comparison = self.one(*base, "--", *new)
        self.assertEqual(comparison["verdict"], "slower")
        self.assertTrue(comparison["between_runs"])
        self.assertEqual([len(comparison[side]["runs"]) for side in ("base", "new")], [3, 3])
        document = self.document(base[0], *new)
        self.assertEqual(len(document["comparisons"]), 3)
        self.assertEqual({c["base"]["runs"][0]["file"] for c in document["comparisons"]},
                         {base[0]})

    def test_eager_and_graph(self):
        comparison = self.one(EAGER, GRAPH)
        self.assertEqual((comparison["verdict"], comparison["verdict_by_data"]),
                         ("not comparable", "faster"))
        self.assertEqual([o["reason"] for o in comparison["obstacles"]], ["other_command"])
        allowed = self.one("--allow-not-comparable", EAGER, GRAPH)
        self.assertEqual(allowed["verdict"], "faster")
        self.assertEqual(allowed["moved"][0]["kind"], "idle")

    def test_layers_are_not_steps(self):
        """One iteration is a layer, the other a step of sixteen."""
        reasons = [o["reason"] for o in self.one(
            os.path.join(RECORDED, "decode_eager_10us.kprof"),
            os.path.join(RECORDED, "decode_graph_10us.kprof"))["obstacles"]]
        self.assertIn("other_unit", reasons)

    def test_iterations_by_range(self):
        comparison = self.one("--iterations", "token", GRAPH, self.stretch(GRAPH, 60, NORM))
        self.assertEqual(comparison["verdict"], "slower")
        self.assertEqual(comparison["new"]["units"], 511)  # one is warm-up

    def test_a_range_that_is_not_there_is_an_obstacle(self):
        comparison = self.one("--iterations", "tokn", GRAPH, GRAPH)
        self.assertEqual((comparison["verdict"], comparison["unit"]), ("not comparable", "run"))
        self.assertEqual([o["reason"] for o in comparison["obstacles"]], ["no_such_range"])

    def test_a_recording_counts_once_a_side(self):
        other = self.stretch(GRAPH, 3, NORM, 2)
        reasons = [o["reason"] for o in self.one(GRAPH, other, "--", GRAPH, GRAPH)["obstacles"]]
        self.assertEqual(reasons, ["repeated_runs"])
        self.assertEqual(self.one(GRAPH, other, "--", GRAPH, other)["obstacles"], [])

    def test_windows_without_iterations(self):
        """Such a trace is the same as itself all the same."""
        trace = os.path.join(SOURCE, "tests", "operators", "convnet.kprof")
        self.assertEqual(self.one(trace, trace)["verdict"], "no difference")

    def test_counts_are_written_out(self):
        text = self.diff("--iterations", "tokn", EAGER, GRAPH).stdout.decode()
        self.assertIn("launches in each 26,586 and", text)
        self.assertIn(" 8385→66177 gemm", text)
        self.assertNotRegex(text, r"\de\+\d")

    def test_yaml_says_the_same(self):
        flat = self.diff("-f", "yaml", EAGER, GRAPH).stdout.decode()
        for group in self.one(EAGER, GRAPH)["moved"]:
            self.assertIn(f"change_ns: {group['change_ns']}", flat)

    def test_text_fits(self):
        for words in ([EAGER, GRAPH], ["--names", "mangled", "--top", "0", EAGER, GRAPH],
                      ["--iterations", "tokn", "--top", "0", EAGER, GRAPH]):
            for line in self.diff(*words).stdout.decode().splitlines():
                self.assertLessEqual(len(line), 80, line)

    def test_wrong_calls(self):
        for words, says in ((["one.kprof"], "missing"), ([EAGER, "none.kprof"], "none.kprof"),
                            (["-f", "csv", EAGER, GRAPH], "text, yaml, json"),
                            (["--junit", "x.xml", EAGER, GRAPH], "--fail-on"),
                            (["--fail-on", "slower", "--junit", "x", "-o", "x", EAGER, GRAPH],
                             "same file"),
                            (["--fail-on", "slowr > 1%", EAGER, GRAPH], "column 1"),
                            (["--fail-on", "slower > 1", EAGER, GRAPH], "column 11")):
            result = self.diff(*words, status=125)
            self.assertIn(says, "".join(self.words(result)))


class Gates(Comparing):
    def junit(self, name="junit.xml"):
        """What a reader of JUnit's XML relies on: the counts are those of what is there."""
        root = ElementTree.parse(self.path(name)).getroot()
        self.assertEqual(root.tag, "testsuites")
        for suite in root.findall("testsuite"):
            cases = suite.findall("testcase")
            self.assertEqual(int(suite.get("tests")), len(cases))
            self.assertEqual(int(suite.get("failures")), len(suite.findall("*/failure")))
            self.assertEqual(int(suite.get("errors")), len(suite.findall("*/error")))
            for case in cases:
                self.assertTrue(case.get("name") and case.get("classname"))
        for counted in ("tests", "failures", "errors"):
            self.assertEqual(int(root.get(counted)),
                             sum(int(suite.get(counted)) for suite in root))
        return root

    def test_report_gates(self):
        good = ["--fail-on", "operator(attention).share > 30%", "--fail-on", "total.idle > 90 %"]
        result = self.kprof("report", *good, "--junit", "junit.xml", GRAPH)
        self.assertEqual((result.returncode, result.stderr), (0, b""))
        self.assertEqual(self.junit().get("failures"), "0")
        result = self.kprof("report", *good, "--fail-on", "operator(gemm).share > 50%",
                            "--fail-on", "operator(moe).time > 0ms",
                            "--fail-on", "kernel(/nvjet/).bandwidth < 1TB/s",
                            "--junit", "junit.xml", "-f", "json", GRAPH)
        self.assertEqual(result.returncode, 1)
        self.assertEqual([re.sub(": it is.*", "", line) for line in self.words(result)],
                         ["kprof: violated: operator(gemm).share > 50%",
                          "kprof: unknown: kernel(/nvjet/).bandwidth < 1TB/s: its bytes were not "
                          "measured: record with --counters"])
        root = self.junit()
        self.assertEqual([root.get(k) for k in ("tests", "failures", "errors")], ["5", "1", "1"])
        gates = json.loads(result.stdout)["gates"]
        self.assertEqual([gate["state"] for gate in gates],
                         ["passed", "passed", "violated", "passed", "unknown"])
        self.assertAlmostEqual(gates[2]["value"], 59.5, 1)
        self.assertIn("absent", gates[3]["text"])

    def test_diff_gates(self):
        slower = self.stretch(GRAPH, 100, NORM)  # by 2.8 %
        self.diff("--fail-on", "slower > 4%", GRAPH, slower)
        self.diff("--fail-on", "slower", slower, GRAPH)
        result = self.diff("--fail-on", "slower > 2%", "--fail-on", "operator(norm).time > 30%",
                           "--fail-on", "total.idle > 1%", GRAPH, slower, status=1)
        self.assertEqual(len(self.words(result)), 2)
        self.assertIn("violated: slower > 2%: it is", self.words(result)[0])
        gates = self.one("--fail-on", "faster < 1%", GRAPH, slower, status=1)["gates"]
        self.assertEqual((gates[0]["state"], gates[0]["value"]), ("violated", 0))

    def test_not_comparable_fails_unless_allowed(self):
        rule = ["--fail-on", "slower > 2%"]
        result = self.diff(*rule, EAGER, GRAPH, "--junit", "junit.xml", status=1)
        self.assertIn("not comparable", self.words(result)[0])
        self.assertEqual(self.junit().get("errors"), "1")
        self.diff(*rule, "--allow-not-comparable", EAGER, GRAPH)
        self.diff(EAGER, GRAPH)  # without a rule nothing fails

    def test_too_little_to_tell_fails(self):
        made = [self.make_trace("one", "two", file=f"{i}.kprof", PROCESS=str(i))
                for i in range(2)]
        self.assertIn("too few", "".join(self.words(self.diff("--fail-on", "slower > 2%", *made,
                                                              status=1))))
        self.assertIn("too little", "".join(self.words(
            self.diff("--fail-on", "slower > 2%", "--allow-not-comparable", *made, status=1))))

    def test_hostile_names_stay_well_formed(self):
        rules = []
        for name in ("<&>\"'", "]]>", "\x01\x1b[31m", "a\nb\tc", "\u2028\ufffe", "é", "x" * 900):
            rules += ["--fail-on", f'kernel("{name.replace(chr(34), chr(92) + chr(34))}").calls < 1']
        name = "a <&\"'>\n.kprof"
        trace = self.make_trace("<b>", "&amp;", "hex:fffe00", file=name)
        result = self.kprof("report", *rules, "--fail-on", 'kernel("<b>").calls < 9',
                            "--junit", "junit.xml", trace)
        self.assertEqual(result.returncode, 1, result.stderr)
        self.assertEqual(len(self.words(result)), 8)
        cases = self.junit().findall("*/testcase")
        self.assertEqual(len(cases), 8)
        self.assertIn("<&>", cases[0].get("name"))
        self.assertIn("\\x01", cases[2].get("name"))
        self.one(trace, trace)

    def test_many_comparisons_name_the_one_that_fails(self):
        slower = self.stretch(GRAPH, 100, NORM)
        same = self.stretch(GRAPH, 0, NORM, 2, "same.kprof")
        result = self.diff("--fail-on", "slower > 1%", "--junit", "junit.xml", GRAPH, same, slower,
                           status=1)
        self.assertEqual(len(self.words(result)), 1)
        self.assertIn("stretched.kprof: violated", self.words(result)[0])
        self.assertEqual(len(self.junit().findall("testsuite")), 2)


if __name__ == "__main__":
    unittest.main()
