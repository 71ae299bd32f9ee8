"""kprof export: every format says the same, whatever the names; files that are whole or not there.

What other tools make of the files is the matter of consume_exports.py, which scripts/check runs with
packages from PyPI. Here nothing but Python's own library reads them."""

import collections
import csv
import gzip
import io
import json
import os
import pty
import re
import resource
import signal
import sqlite3
import struct
import subprocess
import time
import unittest

from harness import HELPERS, KPROF, SOURCE, Case, environment
from test_report import HOSTILE, decode

FORMATS = {"chrome": "json", "perfetto": "pftrace", "speedscope": "speedscope.json",
           "collapsed": "folded", "pprof": "pprof", "csv": "csv", "jsonl": "jsonl",
           "sqlite": "sqlite", "parquet": "parquet", "openmetrics": "prom"}
BINARY = ("perfetto", "pprof", "sqlite", "parquet")
SECOND = 1_000_000_000


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, at


def fields(data):
    """The fields of a protobuf message: number → values."""
    found, at = collections.defaultdict(list), 0
    while at < len(data):
        key, at = varint(data, at)
        if key & 7 == 0:
            value, at = varint(data, at)
        elif key & 7 == 1:
            value, at = struct.unpack("<d", data[at:at + 8])[0], at + 8
        elif key & 7 == 2:
            length, at = varint(data, at)
            value, at = data[at:at + length], at + length
            assert len(value) == length
        else:
            raise AssertionError(f"wire type {key & 7}")
        found[key >> 3].append(value)
    return found


class ExportCase(Case):
    def make_events(self, *names, file="made.kprof", **variables):
        made = self.run_plain(os.path.join(HELPERS, "launcher_make_events"), *names,
                              env=environment(**variables))
        self.assertEqual(made.returncode, 0, made.stderr)
        return self.write(file, made.stdout)

    def export(self, format_name, trace="made.kprof", *words):
        """The exported file's bytes."""
        name = "out." + FORMATS[format_name]
        result = self.kprof("export", "-o", name, trace, *words)
        self.assertEqual((result.returncode, result.stdout), (0, b""), result.stderr)
        self.stderr = result.stderr.decode()
        return self.read(name)

    def rows(self, *words):
        return [json.loads(line)
                for line in self.export("jsonl", "made.kprof", *words).decode().split("\n")[:-1]]

    def database(self):
        self.export("sqlite")
        database = sqlite3.connect(self.path("out.sqlite"))
        self.addCleanup(database.close)
        return database

    def chrome(self, *words):
        return json.loads(self.export("chrome", "made.kprof", *words))

    def packets(self, *words):
        return [fields(packet)
                for packet in fields(self.export("perfetto", "made.kprof", *words))[1]]


class Rows(ExportCase):
    """CSV and JSON lines: every event, every column."""

    def test_csv_says_the_same_as_json_lines(self):
        self.make_events(*("hex:" + name.hex() for name in HOSTILE), LAUNCHES="3")
        raw = self.export("csv").decode()
        self.assertNotIn("\0", raw)
        rows = list(csv.DictReader(io.StringIO(raw, newline=""), strict=True))
        self.assertEqual([{k: v for k, v in row.items() if v != "" or k in ("name", "domain")
                           and k in other} for row, other in zip(rows, self.rows())],
                         [{k: str(v) for k, v in row.items()} for row in self.rows()])
        self.assertEqual(len(rows), len(self.rows()))

    def test_names_round_trip(self):
        self.make_events(*("hex:" + name.hex() for name in HOSTILE))
        rows = self.rows()
        kernels = [row for row in rows if row["kind"] == "kernel"]
        mangled = {decode(row["mangled_name"]) for row in kernels}
        self.assertEqual(mangled, {*HOSTILE, b"branch", b"second"})
        self.assertEqual(len({row["name"] for row in kernels}), len(mangled))
        ranges = {decode(row["name"]) for row in rows if row["kind"] == "range"}
        self.assertEqual(ranges, {*HOSTILE, b"x" * 60000})

    def test_every_kind_and_number(self):
        self.make_events("a", "b")
        rows = self.rows()
        count = collections.Counter(row["kind"] for row in rows)
        self.assertEqual(count, {"kernel": 8, "copy": 6, "set": 1, "range": 6, "call": 2,
                                 "counter": 4, "clock": 2})
        a = next(row for row in rows if row["name"] == "a" and row["kind"] == "kernel")
        self.assertEqual(a, {
            "kind": "kernel", "name": "a", "operator": "unknown", "start_ns": SECOND,
            "end_ns": SECOND + 10000, "duration_ns": 10000, "correlation": 5, "timing": "valid",
            "process": "0000000000000001", "host": "host\"\\\n;", "pid": 4711, "rank": "0",
            "device": 0, "context": 1, "stream": 7, "grid_x": 7, "grid_y": 2, "grid_z": 1,
            "block_x": 128, "block_y": 1, "block_z": 1, "registers": 32,
            "static_shared_bytes": 0, "dynamic_shared_bytes": 4096, "local_bytes": 0,
            "mangled_name": "a"})
        branches = [row for row in rows if row["name"] == "branch"]
        self.assertEqual([row.get("graph_node") for row in branches if "graph_node" in row],
                         [1, 2, 2**64 - 1])
        without = [row for row in branches if row["timing"] != "valid"]
        self.assertEqual(sorted(row["timing"] for row in without), ["invalid", "untimed"])
        for row in without:  # not known is not 0
            self.assertFalse({"start_ns", "end_ns", "duration_ns"} & row.keys())
        self.assertEqual(next(row["bytes"] for row in rows if row["kind"] == "set"), 2**63)
        self.assertEqual([row["value"] for row in rows if row["kind"] == "counter"],
                         [10000, 20000, 30000, 40000])
        self.assertEqual({row["name"]: row["value"] for row in rows if row["kind"] == "clock"},
                         {"sm_clock": 1980, "power": 700000})
        calls = [row for row in rows if row["kind"] == "call"]
        self.assertEqual([(row["name"], row.get("kernels")) for row in calls],
                         [("cuLaunchKernel", 1), ("cuGraphLaunch", None)])

    def test_users_rules_label(self):
        self.make_events("my_kernel")
        self.write("rules.yaml", "operators:\n  - {name: mine, about: ours}\n"
                   "rules:\n  - {operator: mine, function: my_kernel}\n")
        result = self.kprof("export", "-f", "jsonl", "--operators", "rules.yaml", "made.kprof")
        if result.returncode:
            self.fail(result.stderr)
        rows = [json.loads(line) for line in result.stdout.decode().split("\n")[:-1]]
        self.assertEqual({row["operator"] for row in rows if row["name"] == "my_kernel"
                          and row["kind"] == "kernel"}, {"mine"})


class Timelines(ExportCase):
    """Chrome's JSON, Perfetto's protobuf, speedscope."""

    def slices(self, document):
        return [event for event in document["traceEvents"] if event["ph"] == "X"]

    def assert_no_overlap(self, spans):
        """(lane, start, end): nothing overlaps within a lane."""
        last = {}
        for lane, start, end in sorted(spans):
            self.assertLessEqual(last.get(lane, 0), start, lane)
            last[lane] = end

    def test_chrome_keeps_every_slice(self):
        self.make_events(*("hex:" + name.hex() for name in HOSTILE), LAUNCHES="50")
        document = self.chrome()
        rows = [row for row in self.rows() if "start_ns" in row and "value" not in row]
        slices = self.slices(document)
        spans = [((event["pid"], event["tid"]), round(event["ts"] * 1000),
                  round((event["ts"] + event["dur"]) * 1000)) for event in slices]
        self.assertEqual(
            sorted((event["cat"], event["name"], start, end)
                   for event, (_, start, end) in zip(slices, spans)),
            sorted((row["kind"], row["name"], row["start_ns"], row["end_ns"]) for row in rows))
        self.assert_no_overlap(spans)
        named = {(event["pid"], event["tid"]): event["args"]["name"]
                 for event in document["traceEvents"] if event["name"] == "thread_name"}
        self.assertEqual({lane for lane, _, _ in spans}, set(named))
        for name in ("GPU 0 context 1 stream 7", "GPU 0 context 1 stream 8 overlap 2",
                     "thread 42 launches", "thread 42 NVTX start/end overlap 1"):
            self.assertIn(name, named.values())

    def test_chrome_processes_and_counters(self):
        self.make_events("a")
        document = self.chrome()
        names = {event["pid"]: event["args"]["name"] for event in document["traceEvents"]
                 if event["name"] == "process_name"}
        self.assertEqual(len(names), 2)  # one pid, two processes
        self.assertIn(4711, names)
        values = [(event["ts"], event["args"]["value"]) for event in document["traceEvents"]
                  if event["ph"] == "C" and event["cat"] == "counter"]
        self.assertEqual(values, [(1e6 + 10 * i, 1e9 * (i + 1)) for i in range(4)])
        self.assertIn("GPU 0 sm_clock (MHz)", {event["name"] for event in document["traceEvents"]
                                               if event["ph"] == "C"})

    def test_limit_is_stated_and_sums_cover_all(self):
        self.make_events("a", LAUNCHES="500")
        whole = self.chrome()
        self.assertEqual(self.stderr, "")
        part = self.chrome("--limit", "10")
        self.assertRegex(self.stderr, r"^kprof: \d+ of \d+ slices are left out .*--limit")
        drawn = [event for event in part["traceEvents"] if event["ph"] in "XC"]
        self.assertEqual(len(drawn), 10)
        self.assertEqual(part["kprof"]["sums"], whole["kprof"]["sums"])
        self.assertEqual(part["kprof"]["left_out"] + 10, whole["kprof"]["slices"])
        filler = next(row for row in whole["kprof"]["sums"] if row["name"] == "filler")
        self.assertEqual((filler["events"], filler["total_ns"]), (500, 500000))
        packets = self.packets("--limit", "10")
        events = [fields(packet[11][0]) for packet in packets if 11 in packet]
        self.assertRegex(events[-1][23][0].decode(), r"^\d+ slices are left out")
        scope = json.loads(self.export("speedscope", "made.kprof", "--limit", "10"))
        self.assertIn("the first 10 slices of", scope["name"])
        self.assertEqual(scope["profiles"][0]["endValue"],
                         json.loads(self.export("speedscope"))["profiles"][0]["endValue"])

    def test_perfetto_says_the_same_as_chrome(self):
        self.make_events(*("hex:" + name.hex() for name in HOSTILE))
        tracks, names, begins, counters, ends = {}, {}, [], [], collections.Counter()
        for packet in self.packets():
            for track in map(fields, packet.get(60, [])):
                tracks[track[1][0]] = track[2][0].decode() if 2 in track else None
            for interned in map(fields, packet.get(12, [])):
                for entry in map(fields, interned[2]):
                    names[entry[1][0]] = entry[2][0].decode()
            for event in map(fields, packet.get(11, [])):
                self.assertIn(event[11][0], tracks)  # described before it is used
                self.assertEqual(packet[58], [3])
                if event[9] == [1]:
                    begins.append((event[22][0].decode(), names[event[10][0]], packet[8][0],
                                   tracks[event[11][0]]))
                elif event[9] == [2]:
                    ends[packet[8][0], tracks[event[11][0]]] += 1
                else:
                    counters.append((packet[8][0], event[44][0]))
        document = self.chrome()
        lanes = {(event["pid"], event["tid"]): event["args"]["name"]
                 for event in document["traceEvents"] if event["name"] == "thread_name"}
        slices = self.slices(document)
        self.assertEqual(sorted(begins), sorted(
            (event["cat"], event["name"], round(event["ts"] * 1000),
             lanes[event["pid"], event["tid"]]) for event in slices))
        self.assertEqual(ends, collections.Counter(
            (round((event["ts"] + event["dur"]) * 1000), lanes[event["pid"], event["tid"]])
            for event in slices))
        self.assertEqual(sorted(counters), sorted(
            (round(event["ts"] * 1000), event["args"]["value"])
            for event in document["traceEvents"] if event["ph"] == "C"))

    def test_speedscope_is_well_formed(self):
        self.make_events(*("hex:" + name.hex() for name in HOSTILE), LAUNCHES="50")
        document = json.loads(self.export("speedscope"))
        self.assertEqual(document["$schema"],
                         "https://www.speedscope.app/file-format-schema.json")
        frames = document["shared"]["frames"]
        self.assertTrue(all(frame.keys() == {"name"} for frame in frames))
        summed, *lanes = document["profiles"]
        self.assertEqual(summed["type"], "sampled")
        self.assertEqual(len(summed["samples"]), len(summed["weights"]))
        rows = [row for row in self.rows() if "start_ns" in row]
        self.assertEqual(summed["endValue"], sum(
            row["duration_ns"] for row in rows if row["kind"] in ("kernel", "copy", "set")))
        opened = 0
        for lane in lanes:
            self.assertEqual((lane["type"], lane["unit"]), ("evented", "nanoseconds"))
            at, stack = lane["startValue"], []
            for event in lane["events"]:
                self.assertLessEqual(at, event["at"])
                at = event["at"]
                if event["type"] == "O":
                    self.assertLess(event["frame"], len(frames))
                    stack.append(event["frame"])
                    opened += 1
                else:
                    self.assertEqual(stack.pop(), event["frame"])
            self.assertEqual(stack, [])
            self.assertLessEqual(at, lane["endValue"])
        self.assertEqual(opened, sum("value" not in row for row in rows))


class Sums(ExportCase):
    """Collapsed stacks, pprof, OpenMetrics."""

    def expected(self):
        """(pid's rank, operator, name) → operations with times, nanoseconds."""
        found = collections.defaultdict(lambda: [0, 0])
        for row in self.rows():
            if row["kind"] in ("kernel", "copy", "set") and "duration_ns" in row:
                entry = found[row["rank"], row.get("operator", "memory"), row["name"]]
                entry[0] += 1
                entry[1] += row["duration_ns"]
        return found

    def test_collapsed_lines(self):
        self.make_events(*("hex:" + name.hex() for name in HOSTILE), LAUNCHES="9")
        text = self.export("collapsed").decode()
        lines = [re.fullmatch(r"([^;]+);GPU 0;([^;]+);([^;]*) (\d+)", line)
                 for line in text.removesuffix("\n").split("\n")]
        self.assertTrue(all(lines), text)
        expected = self.expected()
        self.assertEqual(len(lines), len(expected))
        self.assertEqual(sum(int(line[4]) for line in lines),
                         sum(ns for _, ns in expected.values()))
        self.assertNotRegex(text.replace("\n", ""), "[\x00-\x1f\x7f]")

    def test_pprof_samples(self):
        self.make_events(*("hex:" + name.hex() for name in HOSTILE), LAUNCHES="9")
        profile = fields(gzip.decompress(self.export("pprof")))
        strings = [text.decode() for text in profile[6]]
        self.assertEqual(strings[0], "")
        functions = {f[1][0]: strings[f[2][0]] for f in map(fields, profile[5])}
        locations = {f[1][0]: functions[fields(f[4][0])[1][0]]
                     for f in map(fields, profile[4])}
        types = [(strings[f[1][0]], strings[f[2][0]]) for f in map(fields, profile[1])]
        self.assertEqual(types, [("operations", "count"), ("gpu_time", "nanoseconds")])
        found = {}
        for sample in map(fields, profile[2]):
            name, operator, gpu, process = (locations[number] for number in sample[1])
            rank = re.search(r" rank (\d)", process)[1]
            self.assertEqual(gpu, "GPU 0")
            entry = found.setdefault((rank, operator, name), [0, 0])
            entry[0] += sample[2][0]
            entry[1] += sample[2][1]
        expected = self.expected()
        expected["0", "unknown", "branch"][0] += 2  # those without times have no width, but count
        self.assertEqual(found, expected)

    def test_openmetrics_has_what_damage_took(self):
        with open(os.path.join(SOURCE, "samples/traces/torch_decode.kprof"), "rb") as file:
            whole = file.read()
        self.write("wrong.kprof", whole[:60000] + bytes(100) + whole[60100:])
        result = self.kprof("merge", "-o", "merged.kprof", "wrong.kprof")
        self.assertEqual(result.returncode, 0)
        lost = self.report_json("wrong.kprof")["counts"]["kernels_lost"]
        self.assertGreater(lost, 10000)
        for name in ("wrong.kprof", "merged.kprof"):
            result = self.kprof("export", "-f", "openmetrics", name)
            self.assertIn(f'kprof_kernels_lost_total{{process="0",pid="454"}} {lost}\n',
                          result.stdout.decode())
            self.assertIn(f"{lost} lost to damage", result.stderr.decode())

    def test_openmetrics_lines(self):
        self.make_events(*("hex:" + name.hex() for name in HOSTILE), LAUNCHES="9", DROPPED="1")
        text = self.export("openmetrics").decode()
        self.assertTrue(text.endswith("\n# EOF\n"))
        label = r'[a-z_]+="(?:[^"\\\n]|\\[\\"n])*"'
        samples = {}
        for line in text.split("\n")[:-2]:
            if line.startswith("#"):
                self.assertRegex(line, "^# (TYPE|UNIT|HELP) kprof_[a-z_]+ .")
                continue
            match = re.fullmatch(rf"(kprof_[a-z_]+_total)\{{({label}(?:,{label})*)\}} "
                                 r"(\d+(?:\.\d{9})?)", line)
            self.assertTrue(match, line)
            self.assertNotIn(match.group(1, 2), samples)
            samples[match.group(1, 2)] = float(match[3])
        launches = sum(v for (family, _), v in samples.items()
                       if family == "kprof_kernel_launches_total")
        self.assertEqual(launches, len(HOSTILE) + 3 + 9 + 1)
        untimed = [labels for family, labels in samples
                   if family == "kprof_kernel_untimed_launches_total"]
        self.assertEqual(len(untimed), 2)
        self.assertEqual(sum(v for (family, _), v in samples.items()
                             if family == "kprof_records_dropped_total"), 6)
        self.assertNotIn("kprof_kernels_recorded_total", text)  # not known: no sample


class Databases(ExportCase):
    """SQLite with nsys's names; Parquet's frame (consume_exports.py reads the rest)."""

    def test_sqlite_is_sound_at_every_size(self):
        for launches in ("0", "1", "60", "250", "100000"):
            self.make_events("a", LAUNCHES=launches)
            database = self.database()
            self.assertEqual(database.execute("PRAGMA integrity_check").fetchall(), [("ok",)])
            self.assertEqual(database.execute(
                "SELECT count(*), sum(end - start) FROM CUPTI_ACTIVITY_KIND_KERNEL JOIN StringIds "
                "ON StringIds.id = shortName WHERE value = 'filler'").fetchone(),
                (int(launches), 1000 * int(launches) or None))
            database.execute("INSERT INTO NVTX_EVENTS (text) VALUES ('one more')")
            self.assertEqual(database.execute("PRAGMA integrity_check").fetchall(), [("ok",)])

    def test_sqlite_rows_are_those_of_json_lines(self):
        self.make_events(*("hex:" + name.hex() for name in HOSTILE), LAUNCHES="5")
        database = self.database()
        rows = self.rows()
        kernels = database.execute(
            "SELECT start, end, s.value, d.value, m.value, streamId, gridX, gridY, "
            "registersPerThread, dynamicSharedMemory, globalPid / 0x1000000 % 0x1000000 "
            "FROM CUPTI_ACTIVITY_KIND_KERNEL JOIN StringIds s ON s.id = shortName "
            "JOIN StringIds d ON d.id = demangledName JOIN StringIds m ON m.id = mangledName"
        ).fetchall()
        expected = [row for row in rows if row["kind"] == "kernel"]
        self.assertEqual([(k[0], k[1], k[2], k[4], *k[5:]) for k in kernels],
                         [(row.get("start_ns"), row.get("end_ns"), row["name"],
                           row["mangled_name"], row["stream"], row["grid_x"], row["grid_y"],
                           row["registers"], row["dynamic_shared_bytes"], row["pid"])
                          for row in expected])
        ranges = database.execute(
            "SELECT e.start, e.end, e.text, s.value, coalesce(d.text, ''), "
            "e.globalTid % 0x1000000, e.eventType FROM NVTX_EVENTS e "
            "JOIN StringIds s ON s.id = e.textId LEFT JOIN NVTX_EVENTS d "
            "ON d.eventType = 75 AND d.domainId = e.domainId WHERE e.eventType IN (59, 60)"
        ).fetchall()
        self.assertEqual(sorted(ranges), sorted(
            (row["start_ns"], row["end_ns"], row["name"], row["name"], row["domain"],
             row["thread"], 59 if "depth" in row else 60)
            for row in rows if row["kind"] == "range"))
        copies = database.execute(
            "SELECT label, sum(bytes) FROM CUPTI_ACTIVITY_KIND_MEMCPY JOIN ENUM_CUDA_MEMCPY_OPER "
            "o ON o.id = copyKind GROUP BY 1").fetchall()
        self.assertEqual({label for label, _ in copies},
                         {"Unknown", "Host-to-Device", "Device-to-Host", "Device-to-Device",
                          "Host-to-Host", "Peer-to-Peer"})

    def test_queries_for_nsys_work(self):
        self.make_events("a", "b", LAUNCHES="7", DROPPED="1")
        database = self.database()
        summed = database.execute("""
            WITH summary AS (
                SELECT coalesce(shortName, demangledName) AS nameId, sum(end - start) AS total,
                       count(*) AS num, avg(end - start) AS avg, min(end - start) AS min,
                       max(end - start) AS max
                FROM CUPTI_ACTIVITY_KIND_KERNEL GROUP BY 1),
            totals AS (SELECT sum(total) AS total FROM summary)
            SELECT round(summary.total * 100.0 / (SELECT total FROM totals), 1), summary.total,
                   num, min, max, value
            FROM summary LEFT JOIN StringIds AS ids ON ids.id = summary.nameId
            ORDER BY 2 DESC""").fetchall()
        self.assertEqual(summed, [(65.7, 65000, 5, 10000, 30000, "branch"),
                                  (10.1, 10000, 1, 10000, 10000, "a"),
                                  (10.1, 10000, 1, 10000, 10000, "b"),
                                  (7.1, 7000, 7, 1000, 1000, "filler"),
                                  (7.1, 7000, 1, 7000, 7000, "second")])
        self.assertEqual(database.execute("""
            SELECT gpu.name, gpu.smCount, count(*) FROM CUPTI_ACTIVITY_KIND_KERNEL AS kernel
            JOIN TARGET_INFO_GPU AS gpu ON gpu.id = kernel.deviceId GROUP BY 1""").fetchall(),
            [("Test GPU", 132, 15)])
        self.assertEqual(database.execute("""
            SELECT name.value, count(*) FROM CUPTI_ACTIVITY_KIND_RUNTIME AS api
            JOIN CUPTI_ACTIVITY_KIND_KERNEL AS kernel USING (correlationId)
            JOIN StringIds AS name ON name.id = api.nameId WHERE kernel.streamId = 7
            GROUP BY 1 ORDER BY 1""").fetchall(),
            [("cuGraphLaunch", 3), ("cuLaunchKernel", 3)])
        facts = dict(database.execute("SELECT name, value FROM META_DATA_CAPTURE"))
        self.assertEqual(facts["kprof.process0.records_dropped"], "3")

    def test_parquet_frame(self):
        self.make_events("a")
        data = self.export("parquet")
        self.assertEqual((data[:4], data[-4:]), (b"PAR1", b"PAR1"))
        length, = struct.unpack("<I", data[-8:-4])
        self.assertIn(b"mangled_name", data[-8 - length:-8])


class Files(ExportCase):
    def setUp(self):
        super().setUp()
        self.make_events("a", LAUNCHES="20000")

    def refused(self, *words, **keywords):
        result = self.kprof("export", *words, **keywords)
        self.assertEqual((result.returncode, result.stdout), (125, b""), result.stderr)
        self.assertEqual(len(result.stderr.splitlines()), 1, result.stderr)
        return result.stderr.decode()

    def test_formats_are_known_by_ending_and_listed(self):
        for words in (["made.kprof"], ["-o", "out.xyz", "made.kprof"],
                      ["-f", "xyz", "made.kprof"]):
            message = self.refused(*words)
            for name in FORMATS:
                self.assertIn(name, message)
        for name, ending in FORMATS.items():
            self.export(name)
            result = self.kprof("export", "-f", name, "-o", "other", "made.kprof")
            self.assertEqual((result.returncode, result.stderr), (0, b""))
            self.assertEqual(self.read("other"), self.read("out." + ending), name)

    def test_standard_output(self):
        for name in FORMATS:
            whole = self.export(name)
            if name == "sqlite":
                self.assertIn("regular file", self.refused("-f", name, "made.kprof"))
                continue
            for words in ([], ["-o", "-"]):
                result = self.kprof("export", "-f", name, "made.kprof", *words)
                self.assertEqual((result.returncode, result.stdout), (0, whole), name)
        self.assertNotIn("-", self.files())

    def test_binary_is_not_for_a_terminal(self):
        for name in BINARY:
            main, terminal = pty.openpty()
            result = subprocess.run([KPROF, "export", "-f", name, self.path("made.kprof")],
                                    stdout=terminal, stderr=subprocess.PIPE, env=environment(),
                                    timeout=200)
            os.close(terminal)
            os.close(main)
            self.assertEqual(result.returncode, 125, name)
            self.assertRegex(result.stderr, b"terminal|regular file")

    def test_full_disk(self):
        for name in FORMATS:
            message = self.refused("-f", name, "-o", "/dev/full", "made.kprof")
            self.assertRegex(message, "No space left|regular file")

    def limit_size(self):
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (8192, 8192))

    def test_a_file_that_cannot_be_written_whole_is_not_there(self):
        for name, ending in FORMATS.items():
            if name in ("collapsed", "pprof", "openmetrics", "parquet"):  # below the limit
                continue
            self.write("kept." + ending, "what was there")
            before = self.files()
            self.assertIn("File too large",
                          self.refused("-o", "kept." + ending, "made.kprof",
                                       preexec_fn=self.limit_size))
            self.assertEqual(self.read("kept." + ending), b"what was there")
            self.assertEqual(self.files(), before)

    def test_an_interrupted_export_leaves_nothing(self):
        self.make_events("a", LAUNCHES="500000", file="long.kprof")
        before = self.files()
        for how in (signal.SIGINT, signal.SIGKILL):
            with subprocess.Popen([KPROF, "export", "-o", "out.json", "long.kprof"],
                                  cwd=self.folder, env=environment()) as export:
                time.sleep(0.1)
                export.send_signal(how)
                status = export.wait(60)
            if status == 0:  # it was faster than the signal
                os.remove(self.path("out.json"))
            self.assertEqual(self.files(), before)

    def test_what_is_there(self):
        os.symlink("target.json", self.path("link.json"))
        self.write("target.json", "old")
        result = self.kprof("export", "-o", "link.json", "made.kprof")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertTrue(os.path.islink(self.path("link.json")))
        json.loads(self.read("target.json"))
        self.assertIn("is a trace", self.refused("-f", "csv", "-o", "made.kprof", "made.kprof"))
        self.assertIn("No such file", self.refused("-o", "missing/out.json", "made.kprof"))
        self.assertIn("directory", self.refused("-f", "csv", "-o", self.folder, "made.kprof"))
        self.assertIn("missing.kprof", self.refused("-o", "out.json", "missing.kprof"))

    def test_nobody_listens(self):
        for name in FORMATS:
            if name == "sqlite":
                continue
            result = self.run_plain(
                "sh", "-c", f"trap '' PIPE; {KPROF} export -f {name} made.kprof | true")
            self.assertEqual(result.stderr, b"", name)

    def test_every_truncation_ends_well(self):
        whole = self.read(self.make_events("a", "b", file="small.kprof"))
        for length in range(0, len(whole), 97):
            self.write("torn.kprof", whole[:length])
            for name in ("chrome", "sqlite", "parquet"):
                result = self.kprof("export", "-o", "torn." + FORMATS[name], "torn.kprof")
                self.assertIn(result.returncode, (0, 125), result.stderr)

    def test_losses_are_never_silent(self):
        self.make_events("a", DROPPED="1", file="lossy.kprof")
        torn = self.read("made.kprof")[:-10]
        self.write("torn.kprof", torn)
        for name in FORMATS:
            self.export(name)
            self.assertEqual(self.stderr, "", name)
            self.export(name, "lossy.kprof")
            self.assertIn("not complete, nor is the export: 6 records dropped", self.stderr)
            self.export(name, "torn.kprof")
            self.assertIn("ends within a chunk", self.stderr)

    def test_the_fuzzers_inputs(self):
        folder = self.path("seeds")
        self.run_plain(os.path.join(HELPERS, "..", "fuzz_seeds"), folder)
        regressions = os.path.join(SOURCE, "tests", "fuzz", "regressions")
        seeds = [os.path.join(folder, name) for name in sorted(os.listdir(folder))]
        self.assertGreater(len(seeds), 5)
        for name in FORMATS:  # all as one trace
            result = self.kprof("export", "-o", "seed." + FORMATS[name], *seeds)
            self.assertEqual(result.returncode, 0, (name, result.stderr))
        for name in os.listdir(regressions):
            for form in ("chrome", "sqlite", "parquet"):
                result = self.kprof("export", "-o", "regression." + FORMATS[form],
                                    os.path.join(regressions, name))
                self.assertIn(result.returncode, (0, 125), (name, form, result.stderr))
        for ending in ("seed.", "regression."):
            json.loads(self.read(ending + "json"))
            database = sqlite3.connect(self.path(ending + "sqlite"))
            self.assertEqual(database.execute("PRAGMA integrity_check").fetchall(), [("ok",)])
            database.close()

    def test_an_empty_trace(self):
        made = self.run_plain(os.path.join(HELPERS, "launcher_make_trace"),
                              env=environment(NO_LAUNCHES="1"))
        self.write("none.kprof", made.stdout)
        for name in FORMATS:
            self.export(name, "none.kprof")
        self.assertEqual(json.loads(self.export("chrome", "none.kprof"))["kprof"]["sums"], [])


if __name__ == "__main__":
    unittest.main()
