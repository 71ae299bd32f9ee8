"""Reports and plans as Markdown: whatever a kernel is called, it is a name in a table."""

import os
import re
import unittest

from harness import SOURCE, Case, environment

HOSTILE = [
    b"a|b", b"a\\|b", b"a`b", b"``", b"`|`", b"<script>alert(1)</script>", b"<img src=x onerror=y>",
    b"[x](http://evil.example)", b"![x](http://evil.example/y.png)", b"https://evil.example/x",
    b"www.evil.example", b"@everyone", b"me@evil.example", b"#1", b"**bold**", b"_x_", b"~~x~~",
    b"a\nb", b"a\r\n\r\n# heading", b"```", b"\n```\n<b>", b"| | |\n|-|-|", b"--->", b"&lt;b&gt;",
    b"\xe2\x80\xae backwards", b"\xff\xfe", b" ", b"\\", b"trailing\\", b"<!--", b"-->", b"$x$",
    b"x" * 3000,
]


def outside_of_code(text):
    """What a reader of Markdown takes for more than code."""
    without_blocks = re.sub(r"^(`{3,})text\n.*?^\1\n", "", text, flags=re.DOTALL | re.MULTILINE)
    return re.sub(r"`[^`\n]+`", "CODE", without_blocks)


class Markdown(Case):
    def made(self, command, *words, **keywords):
        result = self.kprof(command, "--format", "markdown", *words, **keywords)
        self.assertEqual((result.returncode, result.stderr), (0, b""))
        return result.stdout.decode()

    def check(self, text):
        """Tables whose rows have as many cells as their titles, and no markup of others."""
        # What is escaped means nothing any more; the headings and entities are kprof's own.
        rest = re.sub(r"\\[!-/:-@\[-`{-~]", "", outside_of_code(text))
        rest = re.sub(r"^#+ |&(lt|gt|amp|#124);", "", rest, flags=re.MULTILINE)
        for words in ("`", "<", r"\[", r"\|\|", "https?:/", r"(?i)www\.", "@[^\u200b]", "#", "&"):
            self.assertIsNone(re.search(words, rest), words)
        cells = None
        for line in text.splitlines():
            if not line.startswith("|"):
                cells = None
                continue
            cells = cells or line.count("|")
            self.assertEqual(line.count("|"), cells, line)
            self.assertTrue(line.endswith("|"), line)

    def test_hostile_names(self):
        trace = self.make_trace(*("hex:" + name.hex() for name in HOSTILE),
                                COMMAND="./x ``` @all <b> https://evil.example")
        for words in (["--top", "0"], ["--gaps", "--iterations", "auto", "--top", "3"]):
            text = self.made("report", *words, trace)
            self.check(text)
            self.assertNotIn("\x1b", text)
            self.assertNotIn("\r", text)
        self.assertIn("`a\\x7cb`", self.made("report", "--top", "0", trace))
        self.assertIn("`a\\x60b`", self.made("report", "--top", "0", trace))

    def test_hostile_first_name_in_the_advice(self):
        for name in HOSTILE:
            trace = self.make_trace("hex:" + name.hex(), "softmax_kernel")
            self.check(self.made("report", trace))
            self.check(self.made("plan", "--target", "unknown=1.5x", trace))

    def test_hostile_operators(self):
        rules = self.write("rules.yaml", "rules:\n  - operator: \"a|b<i>`[x](y)\"\n"
                                         "    contains: [odd]\n")
        result = self.kprof("report", "--format", "markdown", "--operators", rules,
                            self.make_trace("odd_kernel"))
        if result.returncode != 0:  # the rules refuse such a name already
            self.assertIn(b"rules.yaml", result.stderr)
            return
        self.check(result.stdout.decode())

    def test_report_says_what_the_text_says(self):
        trace = os.path.join(SOURCE, "samples", "traces", "llm_decode_graph.kprof")
        text, markdown = self.report(trace), self.made("report", trace)
        self.check(markdown)
        for line in text.splitlines()[:5]:
            self.assertIn(line, markdown)
        self.assertIn("| `gemm` | **59.5%** | 42.4% | 422ms | 66,177 | 6.37µs |", markdown)
        self.assertIn("\n| `attention`, written out | 15.3% |", markdown)
        self.assertIn("14 more kernels are not shown.", markdown)

    def test_losses_are_not_silent(self):
        markdown = self.made("report", self.make_trace("a", DROPPED="7"))
        self.assertRegex(markdown, r"Dropped +7")
        self.assertIn("7 records were dropped", markdown)

    def test_extension_chooses_it(self):
        trace = self.make_trace("a")
        for name in ("x.md", "x.markdown"):
            self.assertEqual(self.kprof("report", "-o", name, trace).returncode, 0)
            self.assertEqual(self.read(name).decode(),
                             self.made("report", trace, env=environment()))


if __name__ == "__main__":
    unittest.main()
