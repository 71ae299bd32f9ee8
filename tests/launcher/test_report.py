"""kprof report and info: every format, hostile names, broken files, output that cannot be had."""

import csv
import io
import json
import os
import pty
import re
import subprocess
import threading
import unicodedata
import unittest

from harness import KPROF, SOURCE, Case, environment

# Names that have broken other tools: quotes, operators, backslashes, control bytes, words that YAML
# takes for something else, invalid UTF-8, and pairs that careless escaping would make equal.
HOSTILE = [
    b'operator "" _kern', b"a\\b", b"\\xff", b"\xff", b"\xfe", b"\xef\xbf\xbdff", b"tab\there",
    b"line\nbreak", b"\x01\x1b[31mred", b"no", b"yes", b"null", b"~", b"1e5", b"0x10", b"1:30",
    b".inf", b"- x", b"a: b", b"# c", b"'", b'"', b"{}", b"\xe2\x80\xa8sep", b"\xc2\x85nel",
    b"\xf0\x9f\x98\x80", b"\xed\xa0\x80", b"\xc0\x80", b"trailing ", b" leading", b"<<", b"=",
    b"x" * 3000, b"_Z4gemmIfLi128EEvPT_S1_", b"comma,comma", b"\x7f", b"\xef\xbb\xbfbom",
]


def decode(text):
    """The bytes that kprof wrote as text: U+FFFD and two digits stand for one byte."""
    return b"".join(bytes([int(piece[1:], 16)]) if piece.startswith("\ufffd") else piece.encode()
                    for piece in re.findall("\ufffd[0-9a-f]{2}|[^\ufffd]", text, re.DOTALL))


def width(line):
    """Terminal columns of a line."""
    return sum(2 if unicodedata.east_asian_width(c) in "WF" else not unicodedata.combining(c)
               for c in line)


def no_constant(word):
    raise ValueError(word + " is not JSON")


class Machine(Case):
    """YAML, JSON and CSV."""

    def hostile(self):
        return self.make_trace(*("hex:" + name.hex() for name in HOSTILE))

    def test_json_names_round_trip(self):
        text = self.report("--format", "json", self.hostile())
        document = json.loads(text, parse_constant=no_constant)
        names = [decode(row["mangled_name"]) for row in document["kernels"]]
        self.assertEqual(sorted(names), sorted(HOSTILE))
        self.assertEqual(len({row["mangled_name"] for row in document["kernels"]}), len(HOSTILE))
        self.assertEqual(len({row["full_name"] for row in document["kernels"]}), len(HOSTILE))
        for name in HOSTILE:  # what is valid stays as it is
            if b"\xef\xbf\xbd" not in name and b"\xff" not in name and b"\xfe" not in name and \
                    name not in (b"\xed\xa0\x80", b"\xc0\x80"):
                self.assertIn(name.decode(), [row["mangled_name"] for row in document["kernels"]])

    def test_yaml_says_the_same_as_json(self):
        try:
            import yaml
        except ImportError:
            self.skipTest("python3-yaml is not installed (test_emit reads YAML by libyaml)")
        trace = self.hostile()
        document = yaml.safe_load(self.report("--format", "yaml", trace))
        self.assertEqual(document, self.report_json(trace))

    def test_csv_names_round_trip(self):
        text = self.report("--format", "csv", self.hostile())
        self.assertNotIn("\0", text)
        raw = self.kprof("report", "--format", "csv", "made.kprof").stdout
        rows = list(csv.DictReader(io.StringIO(raw.decode(), newline=""), strict=True))
        self.assertEqual(sorted(decode(row["mangled_name"]) for row in rows), sorted(HOSTILE))
        self.assertTrue(raw.endswith(b"\r\n"))

    def test_numbers_are_exact(self):
        document = self.report_json(self.make_trace("a", "b", "c"))
        self.assertEqual(document["schema"], "kprof.report/v1")
        self.assertEqual(document["totals"], {"kernel_time_ns": 6000, "busy_time_ns": 6000,
                                              "span_ns": 6500})
        a, b, c = document["kernels"]
        self.assertEqual([row["calls"] for row in (a, b, c)], [3, 2, 1])
        self.assertEqual((a["mangled_name"], a["total_ns"], a["min_ns"], a["max_ns"]),
                         ("a", 3000, 1000, 1000))
        self.assertEqual((a["share_of_kernel_time_pct"], a["share_of_busy_time_pct"]), (50, 50))
        self.assertAlmostEqual(a["share_of_span_pct"], 100 * 3000 / 6500, places=3)
        self.assertEqual((a["grid_blocks"], a["block_threads"]), ([7, 1, 1], [128, 2, 1]))
        self.assertEqual(document["memory_operations"][0]["bytes"], 4096)
        self.assertEqual(document["processes"][0]["pid"], 4711)
        self.assertEqual(document["gpus"][0]["name"], "Test GPU")
        self.assertIsNone(document["gpus"][0]["l2_bytes"])  # not measured is not 0

    def test_untimed_rows_are_null(self):
        document = self.report_json(self.make_trace("a", "b", UNTIMED="1"))
        row = next(x for x in document["kernels"] if x["mangled_name"] == "a")
        self.assertEqual((row["calls"], row["timed_calls"]), (2, 0))
        self.assertEqual((row["total_ns"], row["min_ns"], row["avg_ns"]), (None, None, None))
        self.assertEqual(document["counts"]["kernels_untimed"], 2)

    def test_unknown_drops_are_null(self):
        known = self.report_json(self.make_trace("a", DROPPED="0", file="known.kprof"))
        unknown = self.report_json(self.make_trace("a", DROPPED="", file="unknown.kprof"))
        self.assertEqual(known["counts"]["records_dropped"], 0)
        self.assertIsNone(unknown["counts"]["records_dropped"])

    def test_every_key_is_documented(self):
        with open(os.path.join(SOURCE, "docs", "report-yaml.md"), encoding="utf-8") as file:
            documented = set(re.findall(r"`([a-z0-9_]+)`", file.read()))
        trace = self.make_trace("a", "b")
        info = json.loads(self.kprof("info", "--format", "json", trace).stdout)
        keys = set()

        def collect(node):
            if isinstance(node, dict):
                keys.update(node)
                node = list(node.values())
            for child in node if isinstance(node, list) else []:
                collect(child)

        collect(self.report_json(trace))
        collect(info)
        self.assertEqual(keys - documented, set())

    def test_every_finding_is_documented(self):
        with open(os.path.join(SOURCE, "docs", "findings.md"), encoding="utf-8") as file:
            chapters = re.findall(r"^### (\S+)$", file.read(), re.MULTILINE)
        refused = self.kprof("report", "--silence", "none-such", self.make_trace("a"))
        self.assertEqual(refused.returncode, 125)
        known = re.search(r"it is one of (.*)", refused.stderr.decode()).group(1).split(", ")
        self.assertEqual(sorted(chapters), sorted(known))

    def test_findings_are_held_back(self):
        trace = self.make_trace("flash_attention_kernel")

        def ids(*options):
            document = json.loads(self.report("--format", "json", *options, trace))
            return ([finding["id"] for finding in document["findings"]],
                    {held["id"]: held["reason"] for held in document["findings_held"]})

        told, held = ids()
        self.assertIn("candidate", told)
        self.assertNotIn("candidate", held)
        told, held = ids("--silence", "candidate", "--silence=launch-bound")
        self.assertNotIn("candidate", told)
        self.assertEqual(held["candidate"], "silenced")
        self.assertEqual(ids("--min-gain", "100%")[1].get("candidate", "min_gain"), "min_gain")
        self.assertNotIn("candidate", ids("--threshold", "100")[0])
        text = self.report("--findings", "--silence", "candidate", trace)
        self.assertIn("(silenced)", text)

    def test_info_formats_agree(self):
        trace = self.make_trace("a", "b")
        document = json.loads(self.kprof("info", "--format", "json", trace).stdout)
        self.assertEqual(document["schema"], "kprof.info/v1")
        self.assertEqual((document["kernels"], document["memory_operations"]), (3, 1))
        self.assertEqual(document["bytes"], os.path.getsize(trace))
        self.assertEqual(document["processes"][0]["notes"],
                         [{"level": "warning", "text": "a note \x1b[31m with an escape"}])
        text = self.kprof("info", trace).stdout.decode()
        self.assertIn("\\x1b[31m", text)
        self.assertNotIn("\x1b", text)
        self.assertRegex(text, r"kernels +3\n")


class Text(Case):
    def test_header_and_rows(self):
        text = self.report(self.make_trace("a_kernel", "b_kernel", COMMAND="./run \x1b[31m it"))
        self.assertIn("./run \\x1b[31m it", text)
        for part in ("Test GPU", "132 SMs", "580.0", "3 launches of 2 kernels"):
            self.assertIn(part, text)
        titles = next(line for line in text.splitlines() if line.strip().startswith("Share"))
        titles = titles.split()
        self.assertEqual(titles, ["Share", "Total", "Calls", "Avg", "Med", "Min", "Max", "StdDev",
                                  "Operator/Kernel"])
        row = next(line for line in text.splitlines() if line.endswith("a_kernel")).split()
        self.assertEqual(row, ["66.7%", "*", "2.00µs", "2", "1.00µs", "1.00µs", "1.00µs", "1.00µs",
                               "0ns", "a_kernel"])
        self.assertIn("* more than 30% of kernel time", text)
        self.assertNotIn("Dropped", text)

    def test_fits_the_width(self):
        names = ["a" * 300, "ü" * 300, "名" * 150, "hex:" + (b"\xff" * 200).hex(), "<" * 90]
        trace = self.make_trace(*names, COMMAND="./x " + "long " * 100)
        for columns in ("80", "10", "50", "60", "100", "200"):
            for options in ([], ["--shares"], ["--by", "kernel"], ["--names", "mangled"],
                            ["--names", "full", "--shares", "--by", "kernel"]):
                text = self.report(*options, trace, env=environment(COLUMNS=columns))
                longest = max(width(line) for line in text.splitlines())
                self.assertLessEqual(longest, max(50, int(columns)), text)
                self.assertIn("…", text)

    def test_text_has_the_characters_of_the_locale(self):
        """Where the locale has no UTF-8: ASCII of the same width; documents are UTF-8 always."""
        trace = self.make_trace("é" * 5, "名" * 60, "hex:" + b"\xff".hex() * 3)
        for options in ([], ["--shares", "--by", "kernel"], ["--findings"]):
            want = self.report(*options, trace)
            text = self.report(*options, trace, env=environment(LC_ALL="C"))
            self.assertTrue(text.isascii())
            self.assertEqual([width(line) for line in text.splitlines()],
                             [width(line) for line in want.splitlines()])
            self.assertEqual(re.sub("[^ -~\n]|[?~ux]", "", want), re.sub("[?~ux]", "", text))
        text = self.report(trace, env=environment(LC_ALL="C"))
        self.assertRegex(text, r"\d+us ")
        self.assertIn("?????", text)
        for form in ("yaml", "markdown", "csv", "html"):
            self.assertEqual(self.report("-f", form, trace, env=environment(LC_ALL="C")),
                             self.report("-f", form, trace))
        for words in (["info", trace], ["diff", trace, trace], ["help", "report"]):
            self.assertTrue(self.kprof(*words, env=environment(LC_ALL="C")).stdout.isascii())
        # A name is enough: many containers have not installed what they ask for.
        self.assertEqual(self.report(trace, env=environment(LC_ALL="nowhere.UTF-8")),
                         self.report(trace))

    def test_the_title_of_the_names_has_room(self):
        text = self.report("--shares", "--by", "variant", self.make_trace("a", UNTIMED="1"))
        self.assertRegex(text, "(?m) Operator/Variant/Kernel$")
        self.assertLessEqual(max(len(line) for line in text.splitlines()), 80)

    def test_what_has_no_room_is_named(self):
        trace = self.make_trace("a", "b")
        text = self.report("--shares", "--by", "kernel", trace)
        self.assertRegex(text, "No room for StdDev.*:")
        wide = self.report("--shares", "--by", "kernel", trace, env=environment(COLUMNS="160"))
        self.assertNotIn("No room", wide)
        self.assertIn("StdDev", wide)

    def test_iterations_by_a_range_that_is_not_there(self):
        for form in ("text", "yaml", "csv"):
            ran = self.kprof("report", "-f", form, "--iterations", "nope", self.make_trace("a"))
            self.assertEqual((ran.returncode, ran.stdout), (125, b""))
            self.assertIn(b"--iterations nope: the trace has no such NVTX range", ran.stderr)

    def test_names_in_sentences_are_whole(self):
        trace = os.path.join(SOURCE, "samples/traces/torch_decode.kprof")
        text = " ".join(self.report("--iterations", "auto", trace).split())
        self.assertIn("each begins with vectorized_elementwise_kernel<8, "
                      "masked_fill_kernel(BFloat16, bool)>", text)

    def test_by_kernel_ranks_whole_kernels(self):
        """Whatever operators the launches of a kernel do: it has one row, and all that is its."""
        trace = os.path.join(SOURCE, "samples/traces/torch_decode.kprof")
        kernels = {}
        for row in json.loads(self.report("--format", "json", trace))["kernels"]:
            kernels.setdefault(row["id"], []).append(row)
        self.assertTrue(any(len(rows) > 1 for rows in kernels.values()))
        want = sorted((-sum(row["total_ns"] for row in rows), sum(row["calls"] for row in rows))
                      for rows in kernels.values())
        text = self.report("--by", "kernel", "-n", "0", "-t", "15", trace)
        table = text[text.index("Share "):].split("\n\n")[0].splitlines()[1:]
        self.assertEqual([int(re.search(r"[mµn]?s +(\d+) ", line)[1]) for line in table],
                         [calls for _, calls in want])
        self.assertRegex(table[1], r"^18.1% \* 23.3ms +10948 .* rope, norm ")
        self.assertIn(f"{len(table)} kernels", text)

    def test_top_counts_the_rest(self):
        trace = self.make_trace(*(f"k{i}" for i in range(15)))
        self.assertIn("(5 more kernels)", self.report("--by", "kernel", trace))
        text = self.report("--by", "kernel", "--top", "14", trace)
        rest = next(line for line in text.splitlines() if "(1 more kernel)" in line)
        self.assertEqual(rest.split()[:3], ["0.8%", "1.00µs", "1"])
        self.assertNotIn("more", self.report("--by", "kernel", "--top", "0", trace)
                         .replace("more than", ""))

    def test_threshold_moves_the_mark(self):
        trace = self.make_trace("a", "b")
        self.assertIn("* more than 66.6%", self.report("--threshold", "66.6", trace))
        self.assertNotIn("*", self.report("--by", "kernel", "--threshold", "67", trace))

    def test_losses_are_never_silent(self):
        self.assertRegex(self.report(self.make_trace("a", DROPPED="")), "Dropped +unknown")
        self.assertRegex(self.report(self.make_trace("a", DROPPED="17")), "Dropped +17 records")
        self.assertRegex(self.report(self.make_trace("a", END="0")), "Unfinished +1 of 1")
        self.assertRegex(self.report(self.make_trace("a", REFUSED="1")),
                         r"Untraced +1 of 1 processes could not be traced: a note \\x1b")
        self.assertRegex(self.report(self.make_trace("a", UNTIMED="1")), "Untimed +1 ")

    def test_trace_without_launches(self):
        trace = self.make_trace("a", NO_LAUNCHES="1")
        self.assertIn("none recorded", self.report(trace))
        self.assertEqual(self.report_json(trace)["kernels"], [])

    def test_colours(self):
        trace = self.make_trace("a")
        self.assertNotIn("\x1b", self.report(trace))
        self.assertIn("\x1b[", self.report("--color", "always", trace))
        plain = re.sub("\x1b\\[[0-9;]*m", "", self.report("--color", "always", trace))
        self.assertEqual(plain, self.report("--color", "never", trace))

    def on_terminal(self, trace, **variables):
        main, terminal = pty.openpty()
        chunks = []

        def read():
            try:
                while chunk := os.read(main, 4096):
                    chunks.append(chunk)
            except OSError:
                pass  # the terminal's other side is closed

        reader = threading.Thread(target=read)
        reader.start()
        subprocess.run([KPROF, "report", trace], stdout=terminal, timeout=200, check=True,
                       env=environment(TERM="xterm", **variables))
        os.close(terminal)
        reader.join()
        os.close(main)
        return b"".join(chunks).decode()

    def test_colours_on_a_terminal(self):
        trace = self.make_trace("a")
        self.assertIn("\x1b[", self.on_terminal(trace))
        self.assertNotIn("\x1b", self.on_terminal(trace, NO_COLOR="1"))
        self.assertIn("\x1b[", self.on_terminal(trace, NO_COLOR=""))


class Files(Case):
    def assert_refused(self, *words):
        for command in ("report", "info"):
            result = self.kprof(command, *words)
            self.assertEqual((result.returncode, result.stdout), (125, b""), result.stderr)
            self.assertEqual(len(result.stderr.splitlines()), 1, result.stderr)
            self.assertIn(words[-1], self.words(result)[0])

    def test_unreadable_inputs(self):
        self.assert_refused("missing.kprof")
        self.write("empty.kprof", "")
        self.assert_refused("empty.kprof")
        self.write("foreign.kprof", "x" * 1000)
        self.assert_refused("foreign.kprof")
        self.assert_refused(self.folder)
        self.assert_refused("/dev/null")
        self.make_trace("a")
        self.assert_refused("made.kprof", "missing.kprof")

    def test_torn_trace_is_shown_with_a_warning(self):
        whole = self.read(self.make_trace("a", "b", END="0"))
        self.write("torn.kprof", whole[:-10])
        self.assertIn("Truncated", self.report("torn.kprof"))
        document = self.report_json("torn.kprof")
        self.assertTrue(document["damage"]["truncated"])

    def test_every_truncation_ends_well(self):
        whole = self.read(self.make_trace("a", "b"))
        for length in range(0, len(whole), 37):
            self.write("torn.kprof", whole[:length])
            result = self.kprof("report", "--format", "json", "torn.kprof")
            self.assertIn(result.returncode, (0, 125), result.stderr)

    def test_several_files_add_up(self):
        one = self.make_trace("a", "b", file="one.kprof", PROCESS="1")
        two = self.make_trace("a", file="two.kprof", PROCESS="2")
        self.write("joined.kprof", self.read(one) + self.read(two))
        both = self.report_json(one, two)
        self.assertEqual(both, self.report_json("joined.kprof"))
        self.assertEqual(both["counts"]["kernels"], 4)
        self.assertEqual([process["kernels"] for process in both["processes"]], [3, 1])

    def test_output_file_and_its_extension(self):
        trace = self.make_trace("a")
        self.assertEqual(self.report("-o", "out.json", trace), "")
        with open(self.path("out.json"), encoding="utf-8") as file:
            self.assertEqual(json.load(file), self.report_json(trace))
        self.report("-o", "out.json", "--format", "yaml", trace)
        with open(self.path("out.json"), encoding="utf-8") as file:
            self.assertTrue(file.read().startswith("schema:"))

    def test_closed_standard_output_is_noticed(self):
        trace = self.make_trace("a")
        for words in (["report", trace], ["report", "-f", "json", trace], ["info", trace],
                      ["export", "-f", "csv", trace], ["--help"]):
            result = subprocess.run(["sh", "-c", 'exec "$0" "$@" >&-', KPROF, *words],
                                    env=environment(), capture_output=True, timeout=200)
            self.assertEqual(result.returncode, 125, words)
            self.assertRegex(result.stderr.decode(), r"\Akprof: cannot write .*\n\Z")

    def test_csv_is_one_table(self):
        trace = self.make_trace("a")
        for words in (["--gaps", "--fusion"], ["--shapes", "--by", "range"]):
            result = self.kprof("report", *words, "-f", "csv", trace)
            self.assertEqual((result.returncode, result.stdout), (125, b""), words)
            self.assertIn(f"{words[0]}", result.stderr.decode())
            self.assertEqual(self.kprof("report", *words, trace).returncode, 0)

    def test_names_that_differ_in_nul_have_ids_of_their_own(self):
        trace = self.make_trace("", "hex:00", "a", "hex:6100")
        document = json.loads(self.kprof("report", "-f", "json", trace).stdout)
        self.assertEqual(len({kernel["id"] for kernel in document["kernels"]}), 4)

    def test_no_blank_line_stands_for_nothing(self):
        trace = self.make_trace("a")
        self.assertNotIn("\n\n\n", self.kprof("report", trace).stdout.decode())

    def test_full_disk_is_noticed(self):
        trace = self.make_trace("a")
        for words in (["report", "-o", "/dev/full"], ["info", "-o", "/dev/full"],
                      ["report", "--format", "json", "-o", "/dev/full"],
                      ["report", "--format", "yaml", "-o", "/dev/full"]):
            result = self.kprof(*words, trace)
            self.assertEqual(result.returncode, 125)
            self.assertEqual(len(result.stderr.splitlines()), 1, result.stderr)
        with open("/dev/full", "w", encoding="ascii") as full:
            result = subprocess.run([KPROF, "report", trace], stdout=full, stderr=subprocess.PIPE,
                                    env=environment(), timeout=200)
        self.assertEqual(result.returncode, 125)
        self.assertIn(b"No space left", result.stderr)

    def test_minus_is_the_standard_output(self):
        trace = self.make_trace("a")
        plain = self.report(trace)
        self.assertEqual(self.report("-o", "-", trace), plain)
        result = self.kprof("report", "--fail-on", "total.calls > 0", "--junit", "-", "-o",
                            "/dev/null", trace)
        self.assertEqual(result.returncode, 1)
        self.assertIn(b"</testsuites>", result.stdout)
        self.assertNotIn("-", os.listdir(self.folder))

    def test_nobody_listens(self):
        trace = self.make_trace(*(f"kernel{i}" for i in range(300)))
        for command in (f"trap '' PIPE; {KPROF} report -n 0 --by kernel {trace} | true",
                        f"{KPROF} report -n 0 --by kernel {trace} | head -n 1 >/dev/null"):
            result = self.run_plain("sh", "-c", command)
            self.assertEqual(result.stderr, b"", command)


if __name__ == "__main__":
    unittest.main()
