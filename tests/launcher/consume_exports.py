"""Exports as their consumers read them: pyarrow and DuckDB (Parquet), Perfetto's own schema and,
where its binary can be had, its trace processor (Chrome JSON, Perfetto), go's pprof where there is
go, prometheus_client (OpenMetrics). scripts/check-exports installs the packages and runs this."""

import collections
import json
import shutil
import subprocess
import unittest

import duckdb
import pyarrow.parquet
from google.protobuf import unknown_fields
from perfetto.protos.perfetto.trace import perfetto_trace_pb2
from perfetto.trace_processor import TraceProcessor, TraceProcessorConfig
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from test_export import ExportCase
from test_report import HOSTILE

# More than one row group of Parquet, and more than one level of pages of SQLite.
LAUNCHES = "150000"


class ConsumerCase(ExportCase):
    def setUp(self):
        super().setUp()
        self.make_events(*("hex:" + name.hex() for name in HOSTILE), LAUNCHES=LAUNCHES,
                         DROPPED="1")

    def events_with_times(self):
        return [row for row in self.rows() if "start_ns" in row]


class Parquet(ConsumerCase):
    def same_rows(self, rows):
        """Rows of dictionaries, absent as None, are those of JSON lines."""
        expected = self.rows()
        self.assertEqual(len(rows), len(expected))
        for row, other in zip(rows, expected):
            row.pop("full_name")
            self.assertEqual({k: v for k, v in row.items() if v is not None}, other)

    def test_pyarrow(self):
        self.export("parquet")
        file = pyarrow.parquet.ParquetFile(self.path("out.parquet"))
        self.assertEqual(file.num_row_groups, 2)
        self.assertEqual(file.metadata.metadata[b"kprof.records_dropped"], b"6")
        start = file.metadata.row_group(0).column(3)
        self.assertEqual((start.path_in_schema, start.statistics.min), ("start_ns", 1000000000))
        self.same_rows(file.read().to_pylist())

    def test_duckdb(self):
        self.export("parquet")
        table = f"read_parquet('{self.path('out.parquet')}')"
        result = duckdb.sql(f"SELECT * FROM {table}")
        names = [column[0] for column in result.description]
        self.same_rows([dict(zip(names, row)) for row in result.fetchall()])
        self.assertEqual(
            duckdb.sql(f"SELECT count(*), sum(duration_ns), max(end_ns - start_ns) FROM {table} "
                       "WHERE name = 'filler' AND start_ns >= 1000000000").fetchall()[0],
            (int(LAUNCHES), 1000 * int(LAUNCHES), 1000))


class Perfetto(ConsumerCase):
    def assert_known(self, message):
        """No field that the schema does not know, at any depth."""
        self.assertEqual(len(unknown_fields.UnknownFieldSet(message)), 0, message)
        for field, value in message.ListFields():
            if field.message_type and not field.message_type.GetOptions().map_entry:
                for part in value if field.is_repeated else [value]:
                    self.assert_known(part)

    def test_schema(self):
        self.make_events(*("hex:" + name.hex() for name in HOSTILE), LAUNCHES="1000")
        trace = perfetto_trace_pb2.Trace()
        trace.ParseFromString(self.export("perfetto"))
        self.assert_known(trace)
        names, begins, order = {}, [], set()
        for packet in trace.packet:
            for name in packet.interned_data.event_names:
                names[name.iid] = name.name
            if packet.HasField("track_descriptor"):
                order.add(packet.track_descriptor.uuid)
            event = packet.track_event
            if event.type == event.TYPE_SLICE_BEGIN and packet.HasField("track_event"):
                self.assertIn(event.track_uuid, order)
                begins.append((packet.timestamp, event.categories[0], names[event.name_iid]))
        self.assertEqual(sorted(begins), sorted(
            (row["start_ns"], row["kind"], row["name"])
            for row in self.events_with_times() if "value" not in row))
        self.assertEqual(trace.packet[0].clock_snapshot.primary_trace_clock, 3)

    def test_trace_processor(self):
        slices = collections.Counter((row["start_ns"], row["duration_ns"], row["name"])
                                     for row in self.events_with_times() if "value" not in row)
        for name, ending in (("chrome", "json"), ("perfetto", "pftrace")):
            self.export(name)
            try:
                processor = TraceProcessor(trace=self.path("out." + ending),
                                           config=TraceProcessorConfig(load_timeout=200))
            except (OSError, subprocess.CalledProcessError) as error:
                self.skipTest(f"the trace processor's binary cannot be had here: {error}")
            found = processor.query("SELECT ts, dur, name FROM slice")
            self.assertEqual(collections.Counter((r.ts, r.dur, r.name) for r in found), slices)
            lost = processor.query("SELECT name, value FROM stats WHERE value > 0 "
                                   "AND severity = 'error'")
            self.assertEqual([(r.name, r.value) for r in lost], [])
            processor.close()


class Sums(ConsumerCase):
    def test_prometheus_client(self):
        text = self.export("openmetrics").decode()
        families = {family.name: family for family in text_string_to_metric_families(text)}
        launches = families["kprof_kernel_launches"].samples
        self.assertEqual(sum(sample.value for sample in launches),
                         len(HOSTILE) + 3 + int(LAUNCHES) + 1)
        names = {sample.labels["kernel"] for sample in launches}
        self.assertEqual(names, {row["name"] for row in self.rows() if row["kind"] == "kernel"})
        self.assertEqual({sample.labels["host"] for sample in launches}, {"host\"\\\n;"})

    @unittest.skipUnless(shutil.which("go"), "go, whose pprof reads profiles, is not installed")
    def test_go_pprof(self):
        self.export("pprof")
        raw = subprocess.run(["go", "tool", "pprof", "-top", "-unit=ns", "-nodefraction=0",
                              self.path("out.pprof")], capture_output=True, check=True)
        total = sum(row["duration_ns"] for row in self.events_with_times()
                    if row["kind"] in ("kernel", "copy", "set"))
        self.assertIn(f"of {total}ns total", raw.stdout.decode())
        self.assertIn("filler", raw.stdout.decode())


if __name__ == "__main__":
    unittest.main()
