"""kprof report --operators and --by variant: rules of one's own, and what is wrong with them."""

import os
import unittest

from harness import Case

RULES = """\
operators:
  - {name: beam search, about: "our own decoding"}
rules:
  - {operator: beam search, variant: step, function: "beam_*"}
  - {operator: gemm, function: my_secret}
  - {operator: unknown, function: "copy_*"}
libraries:
  - {library: acme, words: [beam]}
"""
NAMES = ("beam_step(__half*)", "my_secret", "copy_it", "softmax_kernel", "nobody_knows")


class Rules(Case):
    def kernels(self, *options):
        document = self.report_json(*options, self.make_trace(*NAMES))
        return document, {row["mangled_name"]: row for row in document["kernels"]}

    def test_rules_go_on_top(self):
        _, plain = self.kernels()
        document, ours = self.kernels("--operators", self.write("ours.yaml", RULES))
        facts = ("operator", "variant", "library", "dtype", "label_source")
        self.assertEqual([plain["beam_step(__half*)"][k] for k in facts],
                         ["unknown", None, None, "fp16", None])
        self.assertEqual([ours["beam_step(__half*)"][k] for k in facts],
                         ["beam search", "step", "acme", "fp16", "user rule"])
        self.assertEqual(ours["my_secret"]["operator"], "gemm")
        self.assertEqual((plain["copy_it"]["operator"], ours["copy_it"]["operator"]),
                         ("copy", "unknown"))
        self.assertEqual(ours["copy_it"]["label_source"], "user rule")
        self.assertEqual(ours["softmax_kernel"], plain["softmax_kernel"])
        beam = next(row for row in document["operators"] if row["name"] == "beam search")
        self.assertEqual([(row["name"], row["calls"]) for row in beam["variants"]], [("step", 5)])

    def test_variants_add_up(self):
        document, _ = self.kernels()
        for operator in document["operators"]:
            for key in ("calls", "total_ns", "distinct_kernels"):
                self.assertEqual(sum(row[key] for row in operator["variants"]), operator[key])

    def test_by_variant_shows_three_levels(self):
        rules = self.write("ours.yaml", RULES)
        text = self.report("--by", "variant", "--operators", rules, self.make_trace(*NAMES))
        lines = [line for line in text.splitlines() if line.endswith(
            ("beam search", "  step", "    beam_step"))]
        self.assertEqual([line.split()[1] for line in lines], ["*", "*", "*"], text)
        self.assertEqual(len(lines), 3, text)
        self.assertIn("(not told)", text)

    def test_csv_has_nothing_where_nothing_is_known(self):
        text = self.report("--format", "csv", self.make_trace("nobody_knows", "softmax_kernel"))
        self.assertTrue(text.splitlines()[0].endswith(",variant,dtype,library,label_source"))
        self.assertTrue(text.splitlines()[1].startswith("unknown,"))
        self.assertTrue(text.splitlines()[1].endswith(",,,,"))
        self.assertTrue(text.splitlines()[2].endswith(",plain,,,name"))

    def test_what_is_wrong_is_said_with_its_line(self):
        trace = self.make_trace("a")
        for content, says in (("rules:\n- {operator: gemm, colour: red}\n", ":2: a rule has no key"),
                              ("rules: [\n", ":2: not YAML"),
                              ("", ":1: there are no rules"),
                              ("rules:\n- operator: x\x1b[31m\n  words: a\n", ":"),
                              (b"\xff\xfe\x00", ":"),
                              ("x" * (1 << 21), ": longer than")):
            path = self.write("bad.yaml", content)
            result = self.kprof("report", "--operators", path, trace)
            self.assertEqual((result.returncode, result.stdout), (125, b""), content[:40])
            self.assertEqual(len(self.words(result)), 1, result.stderr)
            self.assertIn("--operators " + path + says, self.words(result)[0])
            self.assertNotIn("\x1b", result.stderr.decode())
        for path in ("missing.yaml", self.folder):
            result = self.kprof("report", "--operators", path, trace)
            self.assertEqual(result.returncode, 125)
            self.assertIn("--operators " + path, self.words(result)[0])

    def test_bad_rules_start_no_program(self):
        bad = self.write("bad.yaml", "rules: 7\n")
        mark = self.path("started")
        result = self.kprof("--operators", bad, "--", "touch", mark)
        self.assertEqual(result.returncode, 125)
        self.assertIn("«rules» is a list", result.stderr.decode())
        self.assertFalse(os.path.exists(mark))


if __name__ == "__main__":
    unittest.main()
