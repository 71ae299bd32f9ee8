"""kprof import: what other tools have recorded ranks as it did there, and what is broken is refused.

Round trips go through kprof export. The traces of PyTorch's profiler and of Proton are made here, by
the structure that their writers have (Kineto's output_json.cpp, Proton's TraceData.cpp)."""

import gzip
import json
import os
import resource
import sqlite3
import unittest

from harness import SANITIZED, SOURCE, Case
from test_report import HOSTILE, decode

SECOND = 1_000_000_000
BASE = 1_700_000_000 * SECOND  # a wall clock
RECORDED = [os.path.join(SOURCE, "samples/traces", name)
            for name in ("torch_decode.kprof", "llm_decode_eager.kprof")]


def ranking(report):
    """What a round trip must keep: names, counts, times, in order."""
    return {"operators": [(row["name"], row["calls"], row["total_ns"])
                          for row in report["operators"]],
            "kernels": [(row["mangled_name"], row["calls"], row["total_ns"])
                        for row in report["kernels"]],
            "memory": [(row["name"], row["calls"], row["bytes"])
                       for row in report["memory_operations"]],
            "totals": report["totals"]}


def kernel(name, ts, dur, correlation=0, device=0, stream=7, **args):
    return {"ph": "X", "cat": "kernel", "name": name, "pid": device, "tid": stream, "ts": ts,
            "dur": dur,
            "args": {"queued": 0, "device": device, "context": 1, "stream": stream,
                     "correlation": correlation, "registers per thread": 40, "shared memory": 1024,
                     "blocks per SM": 4.7, "grid": [800, 2, 1], "block": [512, 1, 1],
                     "est. achieved occupancy %": 100, **args}}


def launch(ts, correlation, name="cudaLaunchKernel", tid=4711):
    return {"ph": "X", "cat": "cuda_runtime", "name": name, "pid": 4711, "tid": tid, "ts": ts,
            "dur": 3.25, "args": {"cbid": 211, "correlation": correlation, "External id": 1}}


def annotation(name, ts, dur, cat="user_annotation"):
    return {"ph": "X", "cat": cat, "name": name, "pid": 4711, "tid": 4711, "ts": ts, "dur": dur,
            "args": {"External id": 2}}


def kineto(events, **root):
    return {"schemaVersion": 1,
            "deviceProperties": [{"id": 0, "name": "NVIDIA H100", "totalGlobalMem": 85_000_000_000,
                                  "computeMajor": 9, "computeMinor": 0, "numSms": 132,
                                  "maxThreadsPerMultiprocessor": 2048}],
            "cuda_driver_version": 12080,
            "distributedInfo": {"backend": "nccl", "rank": 3, "world_size": 8, "pg_config": [{}]},
            "displayTimeUnit": "ms", "baseTimeNanoseconds": BASE, "traceEvents": events, **root}


class ImportCase(Case):
    def take(self, name, content=None, out="out.kprof"):
        if content is not None:
            self.write(name, content if isinstance(content, (bytes, str)) else json.dumps(content))
        result = self.kprof("import", "-o", out, name)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.stderr = result.stderr.decode()
        return self.report_json(out)

    def refuse(self, name, content, *words):
        """Nothing is written, one line says why."""
        self.write(name, content if isinstance(content, (bytes, str)) else json.dumps(content))
        before = self.files()
        result = self.kprof("import", "-o", "out.kprof", name)
        self.assertEqual((result.returncode, result.stdout), (125, b""), result.stderr)
        self.assertEqual(self.files(), before)
        lines = result.stderr.decode().splitlines()
        self.assertEqual(len(lines), 1, lines)
        for word in words:
            self.assertIn(word, lines[0])


class RoundTrips(ImportCase):
    def round_trip(self, trace, extension):
        result = self.kprof("export", "-o", "there." + extension, trace)
        self.assertEqual(result.returncode, 0, result.stderr)
        return self.take("there." + extension)

    def test_ranking_survives_sqlite_and_chrome(self):
        for trace in RECORDED:
            before = ranking(self.report_json(trace))
            for extension in ("sqlite", "json"):
                self.assertEqual(ranking(self.round_trip(trace, extension)), before, trace)

    def test_losses_and_windows_are_said(self):
        """What the export lacks of the trace is lost, not never there."""
        with open(RECORDED[0], "rb") as file:
            whole = file.read()
        self.write("wrong.kprof", whole[:60000] + bytes(100) + whole[60100:])
        before = self.report_json("wrong.kprof")
        lost = before["counts"]["kernels_lost"]
        self.assertGreater(lost, 10000)
        windows = os.path.join(SOURCE, "tests/operators/triton.kprof")
        for trace, out, more, missing in (
                ("wrong.kprof", "a.sqlite", [], lost), ("wrong.kprof", "a.json", [], lost),
                (RECORDED[0], "b.json", ["--limit", "1000"], None), (windows, "c.sqlite", [], 0)):
            result = self.kprof("export", "-o", out, *more, trace)
            self.assertEqual(result.returncode, 0, result.stderr)
            result = self.kprof("import", "-o", out + ".kprof", out)
            self.assertEqual(result.returncode, 0, result.stderr)
            after = self.report_json(out + ".kprof")
            if missing is None:
                missing = self.report_json(trace)["counts"]["kernels"] - after["counts"]["kernels"]
                self.assertIn(b"left out when this was exported", result.stderr)
            self.assertEqual(after["counts"]["kernels_lost"], missing, out)
            self.assertIsNone(after.get("windows"))
            self.assertEqual(b"recorded in windows" in result.stderr, trace == windows)
            if out.endswith("sqlite"):
                self.assertEqual(after["processes"][0]["kernels_missing"], 0)

    def test_exports_of_kprof_are_called_so(self):
        for extension, words in (("sqlite", "SQLite export of kprof"),
                                 ("json", "Chrome trace of kprof")):
            after = self.round_trip(RECORDED[1], extension)
            self.assertEqual({row["source"] for row in after["processes"]},
                             {f"{words} (there.{extension})"})
            self.assertIn("source: " + words, self.stderr)

    def test_zero_of_a_gpu_is_no_absence(self):
        for trace in RECORDED:
            minor = [row["compute_minor"] for row in self.report_json(trace)["gpus"]]
            self.assertIn(0, minor)
            after = self.round_trip(trace, "sqlite")["gpus"]
            self.assertEqual([row["compute_minor"] for row in after], minor)

    def test_who_ran_survives(self):
        for trace in RECORDED:
            before = self.report_json(trace)["processes"]
            for extension in ("sqlite", "json"):
                after = self.round_trip(trace, extension)["processes"]
                for key in ("command", "host", "rank"):
                    self.assertEqual([row[key] for row in after], [row[key] for row in before])

    def test_ranges_survive(self):
        before = self.report_json(RECORDED[1])["ranges"]
        self.assertIsNotNone(before)
        for extension in ("sqlite", "json"):
            after = self.round_trip(RECORDED[1], extension)["ranges"]
            for key in ("kernels_owned", "kernels_outside"):
                self.assertEqual(after[key], before[key])
            self.assertEqual([row["name"] for row in after["rows"]],
                             [row["name"] for row in before["rows"]])

    def test_hostile_names_survive(self):
        self.make_trace(*("hex:" + name.hex() for name in HOSTILE))
        before = self.report_json("made.kprof")
        for extension in ("sqlite", "json"):
            after = self.round_trip("made.kprof", extension)
            # Bytes that are no UTF-8 come back as exports show them: exactly, as text.
            self.assertEqual({row["mangled_name"] for row in after["kernels"]} |
                             {decode(row["mangled_name"]) for row in after["kernels"]} >=
                             {name for name in HOSTILE if self.is_text(name)}, True)
            self.assertEqual(sum(row["calls"] for row in after["kernels"]),
                             sum(row["calls"] for row in before["kernels"]))

    @staticmethod
    def is_text(name):
        try:
            return "\0" not in name.decode()
        except UnicodeDecodeError:
            return False

    def test_importing_twice_gives_the_same_bytes(self):
        self.kprof("export", "-o", "there.sqlite", RECORDED[1])
        self.take("there.sqlite", out="a.kprof")
        self.take("there.sqlite", out="b.kprof")
        self.assertEqual(self.read("a.kprof"), self.read("b.kprof"))


class PyTorch(ImportCase):
    EVENTS = [
        annotation("ProfilerStep#1", 0, 1000), annotation("aten::mm", 10, 30, "cpu_op"),
        launch(12, 1), launch(50, 2), launch(60, 3, "cudaGraphLaunch"),
        kernel("void gemm<float>(int)", 100, 20.5, 1),
        kernel("void gemm<float>(int)", 130, 20.25, 2),
        kernel("elementwise_kernel", 160, 1.001, 3, **{"graph id": 5, "graph node id": 77}),
        {"ph": "X", "cat": "gpu_memcpy", "name": "Memcpy HtoD (Pinned -> Device)", "pid": 0,
         "tid": 7, "ts": 200, "dur": 5, "args": {"device": 0, "context": 1, "stream": 7,
                                                 "correlation": 9, "bytes": 4096}},
        {"ph": "X", "cat": "gpu_memset", "name": "Memset (Device)", "pid": 0, "tid": 7,
         "ts": 210, "dur": 1, "args": {"device": 0, "context": 1, "stream": 7, "bytes": 64}},
        {"ph": "X", "cat": "python_function", "name": "f", "pid": 4711, "tid": 4711, "ts": 0,
         "dur": 9}, {"ph": "s", "id": 1, "pid": 4711, "tid": 4711, "ts": 12, "cat": "ac2g"},
        {"ph": "X", "cat": "Trace", "name": "PyTorch Profiler (0)", "pid": "Spans", "tid": "P",
         "ts": 0, "dur": 2000}, {"ph": "M", "name": "process_name", "pid": 0, "ts": 0, "tid": 0,
                                 "args": {"name": "python"}},
    ]

    def check(self, report):
        self.assertEqual([(row["name"], row["calls"], row["total_ns"])
                          for row in report["kernels"]],
                         [("gemm<float>", 2, 40750), ("elementwise_kernel", 1, 1001)])
        (process,) = report["processes"]
        self.assertEqual((process["rank"], process["pid"], process["fate"]), ("3", 4711, "ended"))
        self.assertIn("Chrome trace", process["source"])
        counts = report["counts"]  # not known is not 0
        self.assertIsNone(counts["records_dropped"])
        self.assertIsNone(process["kernels_missing"])
        self.assertEqual(report["gpus"][0]["name"], "NVIDIA H100")
        self.assertEqual(counts["kernels_in_graphs"], 1)
        self.assertEqual({row["name"]: row["bytes"] for row in report["memory_operations"]},
                         {"copy host to device": 4096, "memory set": 64})

    def test_a_trace_ranks(self):
        self.check(self.take("torch.json", kineto(self.EVENTS)))

    def test_content_decides_not_the_name(self):
        text = json.dumps(kineto(self.EVENTS)).encode()
        self.check(self.take("a.sqlite", gzip.compress(text)))
        self.check(self.take("b.txt", b"\n  " + text))

    def test_calls_tie_launches_and_ranges(self):
        report = self.take("torch.json", kineto(self.EVENTS))
        self.assertEqual(report["host"]["launch_calls"], 3)
        self.assertEqual(report["host"]["kernels_tied"], 3)
        self.assertEqual(report["host"]["graph_launch_calls"], 1)
        owned = {row["name"]: row for row in report["ranges"]["rows"]}
        self.assertEqual(owned["ProfilerStep#1"]["launches"], 3)
        self.assertEqual(owned["aten::mm"]["launches"], 1)  # by the call, not by time

    def test_a_list_of_events_and_several_values(self):
        """Proton: a line a stream, without pid and device."""
        lines = []
        for stream in (3, 4):
            lines.append(json.dumps({"displayTimeUnit": "us", "traceEvents": [
                {"name": "k%d" % stream, "cat": "kernel", "ph": "X", "ts": 1000.5 + at * 10,
                 "dur": 2.125, "tid": stream, "args": {"call_stack": ["ROOT", ["deep", {}]]}}
                for at in range(5)]}))
        report = self.take("proton.chrome_trace", "\n".join(lines) + "\n")
        self.assertEqual([(row["name"], row["calls"], row["total_ns"])
                          for row in report["kernels"]], [("k3", 5, 10625), ("k4", 5, 10625)])
        report = self.take("list.json", [kernel("a", 1, 2), kernel("b", 5.5, 1)])
        self.assertEqual(len(report["kernels"]), 2)

    def test_whole_microseconds_are_said(self):
        self.take("old.json", kineto([kernel("a", 1, 2), kernel("a", 5, 2)]))
        self.assertIn("whole microseconds", self.stderr)
        self.take("new.json", kineto([kernel("a", 1.5, 2)]))
        self.assertNotIn("whole microseconds", self.stderr)

    def test_times_that_cannot_be_are_counted(self):
        report = self.take("odd.json", kineto([
            kernel("a", 1, 2), kernel("a", 1e300, 1), kernel("a", 5, -1),
            {**kernel("a", 5, 1), "ts": "soon"}, {**kernel("a", 5, 1), "dur": None},
            kernel("a", 99999999999999999999999, 1)]))
        self.assertEqual(report["counts"]["kernels"], 6)
        self.assertEqual(report["counts"]["kernels_timed"], 1)

    def test_wrong_types_are_not_known(self):
        report = self.take("odd.json", kineto([
            {**kernel("a", 1, 2), "args": [1, 2]}, {**kernel("b", 5, 2), "args": {
                "device": {"x": 1}, "stream": [7], "grid": "8x1", "block": [1, [2], {}, 3],
                "correlation": -1, "registers per thread": 1e99, "bytes": True}}, None, 7, "x",
            [kernel("hidden", 1, 2)]],
            deviceProperties={"id": 0}, distributedInfo=[1], otherData=None))
        self.assertEqual(sorted(row["name"] for row in report["kernels"]), ["a", "b"])

    def test_memory_does_not_grow_with_the_file(self):
        if SANITIZED:
            self.skipTest("address spaces of sanitizers are large")
        path = self.path("long.json")
        with open(path, "w", encoding="utf-8") as file:
            file.write('{"traceEvents": [')
            line = json.dumps({**kernel("k", 0, 1), "padding": "x" * 2000})
            for at in range(20000):
                file.write(("," if at else "") + line.replace('"ts": 0', f'"ts": {at * 3}.5'))
            file.write("]}")

        def limit():
            resource.setrlimit(resource.RLIMIT_AS, (100 << 20, 100 << 20))
        result = self.kprof("import", "-o", "out.kprof", "long.json", preexec_fn=limit)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(self.report_json("out.kprof")["counts"]["kernels"], 20000)


class Broken(ImportCase):
    def test_what_is_no_source(self):
        self.refuse("a", b"", "empty")
        self.refuse("a", b"\x7fELF\0\0", "nsys export")
        self.refuse("a", b"{}", "traceEvents")
        self.refuse("a", b"[]", "traceEvents")
        self.refuse("a", b'{"traceEvents": {}}', "no list")
        self.refuse("a", b'{"traceEvents": []}', "its traceEvents hold no event")
        self.refuse("a", b'{"traceEvents": [{}]}', "its traceEvents hold no event")
        self.refuse("a", {"traceEvents": [annotation("cpu", 1, 2, "cpu_op")]}, "nothing ran")
        with open(RECORDED[1], "rb") as file:
            self.refuse("a", file.read(), "trace of kprof already")
        result = self.kprof("import", "-o", "x.kprof", "missing")
        self.assertIn(b"No such file", result.stderr)
        result = self.kprof("import", "-o", "x.kprof", ".")
        self.assertIn(b"directory", result.stderr)
        self.assertEqual(self.kprof("import", "a").returncode, 125)

    def test_torn_files(self):
        text = json.dumps(kineto(PyTorch.EVENTS)).encode()
        packed = gzip.compress(text)
        for at in (1, 100, len(text) // 2, len(text) - 1):
            self.refuse("a", text[:at], "cut off" if at > 1 else "")
        for at in (12, len(packed) // 2, len(packed) - 9):
            self.refuse("a", packed[:at])
        self.refuse("a", packed[:60] + b"\xff\xff" + packed[62:])
        self.refuse("a", text + b"}", "not valid JSON")
        self.refuse("a", text.replace(b"true", b"treu").replace(b'"ph"', b"ph"), "not valid JSON")

    def test_depth_and_endless_texts(self):
        self.refuse("a", b'{"traceEvents": [' + b"[" * 100000, "within each other")
        self.refuse("a", b'{"traceEvents": [{"name": "' + b"x" * (6 << 20), "one text or blanks")
        self.refuse("a", gzip.compress(b'{"a": "' + b" " * (64 << 20)), "one text or blanks")

    def test_totals_of_proton_are_not_made_up(self):
        leaf = {"children": [], "frame": {"name": "kernel", "type": "function"},
                "metrics": {"count": 4, "time (ns)": 12345, "device_id": "0",
                            "device_type": "CUDA"}}
        tree = leaf
        for _ in range(100):
            tree = {"children": [tree], "frame": {"name": "scope", "type": "function"},
                    "metrics": {}}
        for profile in (leaf, tree, {"frame": leaf["frame"], "metrics": {}, "children": [leaf]}):
            self.refuse("proton.hatchet", [profile, {"CUDA": {"0": {"arch": "90"}}}],
                        "totals alone", 'data="trace"')

    def test_what_is_there_stays(self):
        self.write("other.txt", "mine")
        self.write("t.json", json.dumps(kineto(PyTorch.EVENTS)))
        result = self.kprof("import", "-o", "other.txt", "t.json")
        self.assertEqual(result.returncode, 125)
        self.assertEqual(self.read("other.txt"), b"mine")
        self.take("t.json", out="t.kprof")
        before = self.read("t.kprof")
        self.refuse("bad", b"[{", "cut off")
        self.write("t2.json", json.dumps(kineto(PyTorch.EVENTS[:-4])))
        self.take("t2.json", out="t.kprof")  # a trace is replaced
        self.assertNotEqual(self.read("t.kprof"), before)
        result = self.kprof("import", "-o", "/dev/full", "t.json")
        self.assertEqual(result.returncode, 125, result.stderr)
        self.assertTrue(os.path.exists("/dev/full"))


class Nsys(ImportCase):
    """Databases as several versions of nsys make them, by the documentation of its export."""

    def make(self, name="n.sqlite", *statements):
        path = self.path(name)
        if os.path.exists(path):
            os.remove(path)
        database = sqlite3.connect(path)
        for statement in statements:
            database.execute(statement)
        database.commit()
        database.close()
        return name

    OLD = ("CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT NOT NULL)",
           "INSERT INTO StringIds VALUES (1, 'gemm'), (2, 'void gemm<float>(int)'), "
           "(3, 'cudaLaunchKernel_v7000'), (4, 'my domain'), (5, 'step')",
           "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INT NOT NULL, end INT NOT NULL, "
           "deviceId INT, contextId INT, streamId INT, correlationId INT, globalPid INT, "
           "demangledName INT, shortName INT, registersPerThread INT, gridX INT, gridY INT, "
           "gridZ INT, blockX INT, blockY INT, blockZ INT, staticSharedMemory INT, "
           "dynamicSharedMemory INT)")
    PID = 1 << 56 | 2 << 48 | 77 << 24
    KERNEL = (f"INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (%d, %d, 0, 1, 7, %d, {PID}, 2, 1, "
              "32, 8, 1, 1, 128, 1, 1, 0, 0)")

    def test_an_old_schema_says_what_it_lacks(self):
        report = self.take(self.make("n.sqlite", *self.OLD, self.KERNEL % (0, 500, 1),
                                     self.KERNEL % (1000, 1700, 2)))
        self.assertEqual([(row["name"], row["calls"], row["total_ns"])
                          for row in report["kernels"]], [("gemm<float>", 2, 1200)])
        self.assertIn("mangledName", self.stderr)
        self.assertIn("graphNodeId", self.stderr)
        self.assertIn("does not describe its GPUs", self.stderr)
        self.assertEqual(report["processes"][0]["pid"], 77)

    def test_a_new_schema(self):
        report = self.take(self.make(
            "n.sqlite", *self.OLD,
            "ALTER TABLE CUPTI_ACTIVITY_KIND_KERNEL ADD COLUMN mangledName INT",
            "ALTER TABLE CUPTI_ACTIVITY_KIND_KERNEL ADD COLUMN graphNodeId INT",
            "ALTER TABLE CUPTI_ACTIVITY_KIND_KERNEL ADD COLUMN ofTheFuture TEXT",
            self.KERNEL.replace("0, 0)", "0, 0, NULL, 9, 'x')") % (5, 500, 1),
            "CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INT, end INT, eventClass INT, "
            "globalTid INT, correlationId INT, nameId INT, returnValue INT)",
            f"INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (1, 3, 0, {self.PID | 78}, 1, 3, 0),"
            f" (1, 3, 0, {self.PID | 78}, 2, 3, 700)",
            "CREATE TABLE NVTX_EVENTS (start INT, end INT, eventType INT, text TEXT, "
            "globalTid INT, textId INT, domainId INT)",
            f"INSERT INTO NVTX_EVENTS VALUES (0, NULL, 75, NULL, {self.PID | 78}, 4, 1),"
            f" (0, 900, 59, NULL, {self.PID | 78}, 5, 1), (0, 900, 60, 'open', {self.PID | 78},"
            f" NULL, 0), (5, NULL, 59, 'never closed', {self.PID | 78}, NULL, 0)",
            "CREATE TABLE TARGET_INFO_GPU (id INT, name TEXT, uuid TEXT, smCount INT, "
            "clockRate INT)",
            "INSERT INTO TARGET_INFO_GPU VALUES (0, 'NVIDIA H200', 'GPU-1', 132, 1980000000)",
            "CREATE TABLE TARGET_INFO_SYSTEM_ENV (globalVid INT, name TEXT, nameEnum INT, "
            "value TEXT)",
            "INSERT INTO TARGET_INFO_SYSTEM_ENV VALUES (0, 'Hostname', 1, 'node7')",
            "CREATE TABLE TARGET_INFO_SESSION_START_TIME (utcEpochNs INT)",
            f"INSERT INTO TARGET_INFO_SESSION_START_TIME VALUES ({BASE})",
            "CREATE TABLE CUPTI_ACTIVITY_KIND_GRAPH_TRACE (start INT, end INT)",
            "INSERT INTO CUPTI_ACTIVITY_KIND_GRAPH_TRACE VALUES (1, 2), (3, 4)"))
        self.assertEqual(report["processes"][0]["host"], "node7")
        self.assertEqual((report["gpus"][0]["name"], report["gpus"][0]["sm_clock_khz"]),
                         ("NVIDIA H200", 1980000))
        self.assertEqual(report["counts"]["kernels_in_graphs"], 1)
        self.assertEqual(report["host"]["launch_calls"], 1)  # the other one failed
        rows = {row["name"]: row for row in report["ranges"]["rows"]}
        self.assertEqual(rows["step"]["domain"], "my domain")
        self.assertEqual(rows["step"]["launches"], 1)
        self.assertIn("1 ranges of the source have no end", self.stderr)
        self.assertIn("--cuda-graph-trace=node", self.stderr)
        self.assertEqual(self.stderr.count("cuda-graph-trace"), 1)

    def test_what_is_no_export_of_nsys(self):
        def refuse(statements, *words):
            self.make("n.sqlite", *statements)
            self.refuse("n.sqlite", self.read("n.sqlite"), *words)
        refuse(["CREATE TABLE x (y)"], "CUPTI_ACTIVITY_KIND_KERNEL")
        refuse(["CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (x)"], "start and end")
        refuse([*self.OLD, "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL (start, end) VALUES "
                           "('now', 2)"], "CUPTI_ACTIVITY_KIND_KERNEL.start")
        refuse(["CREATE VIEW CUPTI_ACTIVITY_KIND_KERNEL AS WITH RECURSIVE r(start, end) AS "
                "(SELECT 1, 2 UNION ALL SELECT start, end FROM r) SELECT * FROM r"],
               "CUPTI_ACTIVITY_KIND_KERNEL")

    def test_damaged_databases(self):
        self.make("n.sqlite", *self.OLD, *(self.KERNEL % (at, at + 5, at) for at in range(500)))
        whole = self.read("n.sqlite")
        for at in (16, 100, len(whole) // 2):
            self.write("cut", whole[:at])
            result = self.kprof("import", "-o", "out.kprof", "cut")
            self.assertEqual(result.returncode, 125, (at, result.stderr))
            self.assertNotIn("out.kprof", self.files())
        for at in range(100, len(whole), 997):  # no byte brings it down
            self.write("bent", whole[:at] + bytes([whole[at] ^ 0xff]) + whole[at + 1:])
            result = self.kprof("import", "-o", "out.kprof", "bent")
            self.assertIn(result.returncode, (0, 125), (at, result.stderr))


if __name__ == "__main__":
    unittest.main()
