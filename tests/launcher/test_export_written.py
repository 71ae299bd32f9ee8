"""kprof export of operators that are written out: what the order of launches tells is in every format,
the same as in the report, of real recorded traces."""

import collections
import csv
import gzip
import io
import json
import os
import re
import sqlite3
import unittest

from harness import SOURCE
from test_export import ExportCase, fields

LLAMA = os.path.join(SOURCE, "tests/operators/hf_llama.kprof")  # norm, rope, attention, gates
EAGER = os.path.join(SOURCE, "samples/traces/llm_decode_eager.kprof")
MADE = ", written out"


def is_kernel(frames):
    """Copies and sets are of «memory», too."""
    return not re.match("copy |set$", frames[-1])


def frames_key(frames):
    """What a stack says of a kernel: its operator, and whether that is written out."""
    operator, *marks = frames[:-1]
    if marks not in ([], [operator + MADE]):
        raise AssertionError(frames)
    return operator, bool(marks)


class WrittenOut(ExportCase):
    def expected(self, trace, *words):
        """(operator, whether the order of launches says it) → nanoseconds, by the report."""
        made = self.kprof("report", "--format", "json", trace, *words)
        self.assertEqual(made.returncode, 0, made.stderr)
        sums = collections.Counter()
        for row in json.loads(made.stdout)["kernels"]:
            sums[row["operator"], row["label_source"] == "sequence"] += row["total_ns"]
        self.assertTrue(any(written for _, written in sums))
        return sums

    def test_every_launch_is_labelled_as_in_the_report(self):
        for trace in (LLAMA, EAGER):
            expected = self.expected(trace)
            sums, by_source = collections.Counter(), collections.Counter()
            for row in csv.DictReader(io.StringIO(self.export("csv", trace).decode())):
                if row["kind"] == "kernel":
                    key = row["operator"], row["label_source"] == "sequence"
                    sums[key] += int(row["duration_ns"])
                    by_source[row["label_source"], row["operator"] == "unknown"] += 1
            self.assertEqual(sums, expected)
            self.assertEqual(by_source["", False], 0)  # nothing says it: unknown
            self.assertEqual(by_source["name", True], 0)

    def test_rows_name_variant_and_source(self):
        rows = [json.loads(line) for line in self.export("jsonl", LLAMA).decode().splitlines()]
        found = {(row["operator"], row.get("variant"), row.get("label_source"))
                 for row in rows if row["kind"] == "kernel"}
        self.assertIn(("norm", "RMS, written out", "sequence"), found)
        self.assertIn(("gemm", "bf16", "name"), found)
        self.assertFalse(any("label_source" in row for row in rows if row["kind"] != "kernel"))

    def test_a_rule_of_ones_own_stands(self):
        rules = self.write("rules.yaml", 'rules:\n  - {operator: copy, function: "reduce_kernel"}\n')
        expected = self.expected(LLAMA, "--operators", rules)
        sums = collections.Counter()
        for row in csv.DictReader(io.StringIO(
                self.export("csv", LLAMA, "--operators", rules).decode())):
            if row["kind"] == "kernel":
                sums[row["operator"], row["label_source"] == "sequence"] += int(row["duration_ns"])
        self.assertEqual(sums, expected)

    def test_stacks(self):
        expected = self.expected(LLAMA)
        sums = collections.Counter()
        for line in self.export("collapsed", LLAMA).decode().splitlines():
            stack, _, ns = line.rpartition(" ")
            frames = stack.split(";")[2:]
            if is_kernel(frames):
                sums[frames_key(frames)] += int(ns)
        self.assertEqual(sums, expected)

    def test_speedscope(self):
        document = json.loads(self.export("speedscope", LLAMA))
        names = [frame["name"] for frame in document["shared"]["frames"]]
        profile, sums = document["profiles"][0], collections.Counter()
        for sample, ns in zip(profile["samples"], profile["weights"], strict=True):
            frames = [names[frame] for frame in sample[2:]]
            if is_kernel(frames):
                sums[frames_key(frames)] += ns
        self.assertEqual(sums, self.expected(LLAMA))

    def test_pprof(self):
        profile = fields(gzip.decompress(self.export("pprof", LLAMA)))
        strings = [text.decode() for text in profile[6]]
        functions = {f[1][0]: strings[f[2][0]] for f in map(fields, profile[5])}
        locations = {f[1][0]: functions[fields(f[4][0])[1][0]]
                     for f in map(fields, profile[4])}
        sums = collections.Counter()
        for sample in map(fields, profile[2]):
            frames = [locations[number] for number in reversed(sample[1])][2:]
            if is_kernel(frames):
                sums[frames_key(frames)] += sample[2][1]
        self.assertEqual(sums, self.expected(LLAMA))

    def test_openmetrics(self):
        sums, seen = collections.Counter(), set()
        for line in self.export("openmetrics", LLAMA).decode().splitlines():
            match = re.fullmatch(r"kprof_kernel_time_seconds_total\{(.*)\} (\d+)\.(\d{9})", line)
            if not match:
                continue
            self.assertNotIn(match[1], seen)  # one sample a set of labels
            seen.add(match[1])
            operator = re.search(r'operator="([^"]*)"', match[1])[1]
            sums[operator, 'written_out="true"' in match[1]] += int(match[2] + match[3])
        self.assertEqual(sums, self.expected(LLAMA))

    def test_chrome(self):
        expected = self.expected(LLAMA)
        document = json.loads(self.export("chrome", LLAMA))
        slices, sums = collections.Counter(), collections.Counter()
        for event in document["traceEvents"]:
            if event.get("cat") == "kernel":
                args = event["args"]
                slices[args["operator"], args.get("label_source") == "sequence"] += round(
                    event["dur"] * 1000)
        for group in document["kprof"]["sums"]:
            if group["kind"] == "kernel":
                sums[group["operator"], group["written_out"]] += group["total_ns"]
        self.assertEqual(slices, expected)
        self.assertEqual(sums, expected)

    def test_perfetto(self):
        data = self.export("perfetto", LLAMA)
        for word in (b"label_source", b"sequence", b"variant", b"RMS, written out"):
            self.assertIn(word, data)

    def test_sqlite(self):
        self.export("sqlite", LLAMA)
        database = sqlite3.connect(self.path("out.sqlite"))
        self.addCleanup(database.close)
        sums = collections.Counter()
        for operator, source, ns in database.execute(
                "SELECT o.value, s.value, sum(k.end - k.start) FROM CUPTI_ACTIVITY_KIND_KERNEL k "
                "JOIN StringIds o ON o.id = k.operator LEFT JOIN StringIds s "
                "ON s.id = k.labelSource GROUP BY 1, 2"):
            sums[operator, source == "sequence"] += ns
        self.assertEqual(sums, self.expected(LLAMA))

    def test_parquet_has_the_columns(self):
        data = self.export("parquet", LLAMA)
        for word in (b"label_source", b"variant"):
            self.assertIn(word, data)


if __name__ == "__main__":
    unittest.main()
