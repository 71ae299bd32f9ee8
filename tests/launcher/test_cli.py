"""The words of kprof: help, manual pages, completion, and complaints about wrong command lines."""

import json
import os
import re
import shutil
import subprocess
import unittest

from harness import SOURCE, Case, environment

COMMANDS = ("run", "record", "report", "diff", "plan", "ab", "info", "tui", "top", "export", "import", "merge", "ctl",
            "bench", "doctor", "help", "version")


class Help(Case):
    def help(self, *words):
        result = self.kprof(*words)
        self.assertEqual((result.returncode, result.stderr), (0, b""))
        return result.stdout.decode()

    def options(self, command):
        return re.findall(r"^ {2,6}(?:-\w, )?--([a-z-]+)", self.help("help", command), re.MULTILINE)

    def test_every_command_has_help(self):
        for command in COMMANDS:
            text = self.help("help", command)
            self.assertTrue(text.startswith("Usage: kprof"))
            self.assertIn("Exit status:", text)
            self.assertIn("--help", text)
            self.assertLessEqual(max(map(len, text.splitlines())), 80)
            self.assertEqual(text, self.help(command, "--help"))
        self.assertEqual(self.help("--help"), self.help("help"))
        for command in COMMANDS[1:]:
            self.assertRegex(self.help("--help"), rf"\n  {command} ")

    def test_version(self):
        self.assertRegex(self.help("--version"), r"^kprof \d+\.\d+\.\d+\n$")
        self.assertEqual(self.help("--version"), self.help("version"))

    def test_manual_pages_are_up_to_date(self):
        pages = sorted(os.listdir(os.path.join(SOURCE, "docs", "man")))
        self.assertEqual(pages, sorted(["kprof.1"] + [f"kprof-{c}.1" for c in COMMANDS[1:-1]]))
        for page in pages:
            command = page[:-2].partition("-")[2] or "run"
            with open(os.path.join(SOURCE, "docs", "man", page), encoding="utf-8") as file:
                self.assertEqual(file.read(), self.help("help", "--man", command),
                                 "write it anew: cmake --build BUILD --target man")

    def test_manual_pages_hold_every_option(self):
        for command in COMMANDS[:-1]:
            page = self.help("help", "--man", command).replace("\\-", "-")
            for option in self.options(command):
                self.assertIn(f"Fl -{option}", page)

    @unittest.skipUnless(shutil.which("mandoc"), "mandoc is not installed")
    def test_manual_pages_are_clean(self):
        for command in COMMANDS[:-1]:
            lint = subprocess.run(["mandoc", "-T", "lint"], capture_output=True, timeout=200,
                                  input=self.help("help", "--man", command).encode())
            # The pages refer to each other, and are not installed.
            said = [line for line in lint.stdout.decode().splitlines()
                    if "referenced manual not found: Xr kprof" not in line]
            self.assertEqual(said, [])

    def complete(self, *words):
        script = self.write("completion", self.help("help", "--bash-completion"))
        shell = (f'. "{script}"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _kprof; '
                 'printf "%s\\n" "${COMPREPLY[@]}"')
        result = self.run_plain("bash", "-c", shell, "bash", "kprof", *words)
        self.assertEqual(result.stderr, b"")
        return result.stdout.decode().split()

    @unittest.skipUnless(shutil.which("bash"), "bash is not installed")
    def test_completion(self):
        self.assertEqual(self.complete("re"), ["record", "report"])
        self.assertEqual(self.complete("--quie"), ["--quiet"])
        self.assertEqual(self.complete("report", "--by", ""),
                         ["operator", "kernel", "process", "variant", "range"])
        self.assertEqual(self.complete("report", "-f", "y"), ["yaml"])
        self.assertEqual(self.complete("help", "doc"), ["doctor"])
        self.assertEqual(sorted(self.complete("report", "--")),
                         sorted("--" + option for option in self.options("report")))
        self.write("some.kprof", "")
        self.assertEqual(self.complete("report", "so"), ["some.kprof"])
        self.assertEqual(self.complete("report", "-o", "so"), ["some.kprof"])


class Complaints(Case):
    def assert_complaint(self, *words, says):
        result = self.kprof(*words)
        self.assertEqual((result.returncode, result.stdout), (125, b""))
        self.assertEqual(len(result.stderr.splitlines()), 1, result.stderr)
        for part in [says] if isinstance(says, str) else says:
            self.assertIn(part, result.stderr.decode())

    def test_unknown_options_name_the_nearest(self):
        self.assert_complaint("--quite", "--", "true", says=["--quite", "did you mean --quiet?"])
        self.assert_complaint("report", "--fromat=yaml", "x", says=["--fromat;", "--format"])
        self.assert_complaint("report", "--thresh", "3", "x", says="--threshold")
        self.assert_complaint("report", "--zzzzzz", "x", says="--help")
        self.assert_complaint("report", "-Z", "x", says=["-Z", "--help"])

    def test_unknown_commands_name_the_nearest(self):
        self.assert_complaint("reprot", says="kprof report")
        self.assert_complaint("./my_inference", says="kprof -- ./my_inference")
        self.assert_complaint("help", "docter", says="doctor")

    def test_values_are_checked(self):
        for value in ("101", "-1", "nan", "x", "5x", ""):
            self.assert_complaint("report", "--threshold=" + value, "x", says="--threshold")
        for value in ("-1", "1.5", "x", "99999999999999999999"):
            self.assert_complaint("report", "--top", value, "x", says="--top")
        self.assert_complaint("report", "--by", "stream", "x", says="operator, kernel")
        self.assert_complaint("info", "--format", "csv", "x", says="text, yaml, json")
        self.assert_complaint("report", "x", "--format", says="value is missing")
        self.assert_complaint("--quiet=1", "--", "true", says="takes no value")
        self.assert_complaint("--output=", "--", "true", says="empty")

    def test_limits_are_of_timelines(self):
        trace = f"{SOURCE}/samples/traces/attention_backends.kprof"
        for form in ("csv", "jsonl", "parquet", "sqlite", "collapsed", "pprof", "openmetrics"):
            self.assert_complaint("export", "--limit", "10", "-f", form, "-o", self.path("out"),
                                  trace, says=["--limit", form])
            self.assertFalse(os.path.exists(self.path("out")))
            ran = self.kprof("export", "--limit", "0", "-f", form, "-o", self.path("all"), trace)
            self.assertEqual(ran.returncode, 0, ran.stderr)

    def test_complaints_are_of_what_was_asked(self):
        trace = f"{SOURCE}/samples/traces/attention_backends.kprof"
        self.assert_complaint("report", "-", says="from a file, not from the standard input")
        self.assert_complaint("report", "--fail-on", "operator(gemm).calls > 5%", trace,
                              says="it is a number, without a unit")

    def test_one_is_no_plural(self):
        trace = f"{SOURCE}/samples/traces/attention_backends.kprof"
        merged = self.kprof("merge", trace, "-o", self.path("m.kprof"))
        self.assertRegex(merged.stderr.decode(), r"records of 1 process and 1 host\n")
        rows = len(json.loads(self.kprof("report", "-f", "json", trace).stdout)["operators"])
        text = self.kprof("report", "-f", "markdown", "-n", str(rows - 1), trace).stdout.decode()
        self.assertIn("1 more operator is not shown.", text)

    def test_endings_are_of_either_case(self):
        trace = f"{SOURCE}/samples/traces/attention_backends.kprof"
        for name in ("t.JSON", "t.SpeedScope.json", "t.CSV"):
            ran = self.kprof("export", "-o", self.path(name), trace)
            self.assertEqual(ran.returncode, 0, ran.stderr)
            ran = self.kprof("export", "-o", self.path(name.lower()), trace)
            self.assertEqual(self.read(name), self.read(name.lower()))
        ran = self.kprof("report", "-o", self.path("r.HTML"), trace)
        self.assertTrue(self.read("r.HTML").lower().startswith(b"<!doctype html>"))

    def test_a_self_test_has_rounds(self):
        self.assert_complaint("ab", "--rounds", "0", "--self-test", says="--rounds")

    def test_parts_of_traces_are_checked(self):
        trace = f"{SOURCE}/samples/traces/attention_backends.kprof"
        for option, value, word in (
                ("--from", "soon", "in seconds"), ("--from", "-1", "in seconds"),
                ("--to", "1 h", "in seconds"), ("--from", "1e9", "nothing lies between"),
                ("--from=1 --to", "0", "not before"),
                ("--process", "x", "number of a process"), ("--process", "1", "no such process"),
                ("--range", ":1-2", "NAME:N"), ("--range", "nobody", "the trace has none")):
            result = self.kprof("report", *re.split(" (?=--)", f"{option}={value}"), trace)
            self.assertEqual((result.returncode, result.stdout), (125, b""), (option, value))
            self.assertIn(word, result.stderr.decode())
            self.assertEqual(result.stderr.count(b"\n"), 1)

    def test_operands_are_counted(self):
        self.assert_complaint(says="--help")
        self.assert_complaint("--", says="no command to run")
        self.assert_complaint("record", "-q", says="no command to run")
        self.assert_complaint("report", says="FILE")
        self.assert_complaint("doctor", "x", says="too many")
        self.assert_complaint("help", "--man", "version", says="kprof(1)")

    def test_options_may_follow_operands(self):
        trace = self.make_trace("a")
        self.assertEqual(self.report(trace, "--by", "kernel"), self.report("--by=kernel", trace))
        self.assertEqual(self.report(trace, "-n3", "-t5"), self.report("-n", "3", "-t", "5", trace))

    def test_two_dashes_end_the_options(self):
        self.make_trace("a", file="-x.kprof")
        self.assertIn("1 launch of 1 kernel", self.report("--", "-x.kprof"))


class Doctor(Case):
    def test_lines_and_status(self):
        result = self.kprof("doctor")
        self.assertIn(result.returncode, (0, 1))
        text = result.stdout.decode()
        firsts = [line.split()[0] for line in text.splitlines() if not line.startswith(" ")]
        self.assertLessEqual(set(firsts), {"OK", "WARN", "FAIL"})
        self.assertEqual(result.returncode, 1 if "FAIL" in firsts else 0)
        for subject in ("driver:", "collector:", "CUPTI:", "counters:", "environment:"):
            self.assertEqual(len(re.findall(rf"^\w+ +{subject}", text, re.MULTILINE)), 1, text)

    def test_other_tools_are_named(self):
        result = self.kprof("doctor", env=environment(CUDA_INJECTION64_PATH="/other.so"))
        self.assertRegex(result.stdout.decode(),
                         r"WARN +environment: CUDA_INJECTION64_PATH is /other.so")

    def test_missing_collector_fails(self):
        result = self.kprof("doctor", env=environment(KPROF_INJECT_LIB="/no/such.so"))
        self.assertEqual(result.returncode, 1)
        self.assertRegex(result.stdout.decode(), r"FAIL +collector:")


if __name__ == "__main__":
    unittest.main()
