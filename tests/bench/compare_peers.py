#!/usr/bin/env python3
"""kprof report against what else ranks kernels, on the same launches.

    tests/bench/compare_peers.py BUILD [--launches N] [--venv DIR [--install]] [--keep DIR]

Peers: HolisticTraceAnalysis (its get_gpu_kernel_breakdown, on a trace in the format of PyTorch's
profiler) from the virtual environment DIR, into which --install puts it from PyPI; and SQL that
ranks kernels by name on a file with nsys's tables: sums alone, and with the median and deviation that
nsys stats and kprof report show. Each runs in a process of
its own, reading included; processor time and peak memory are those of the process. Sums are
compared first: a peer that found other launches is not compared. (HolisticTraceAnalysis makes whole
microseconds of times, and loses up to one a launch by that.)
"""

import argparse
import json
import os
import pathlib
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time

HTA = """
import json, sys
from hta.trace_analysis import TraceAnalysis
analysis = TraceAnalysis(trace_files={0: sys.argv[1]})
types, kernels = analysis.get_gpu_kernel_breakdown(visualize=False, num_kernels=100000, duration_ratio=1.0)
kinds = types.set_index("kernel_type")["sum"]
print(json.dumps({"kernel_us": float(kernels["sum (us)"].sum())}))
"""

RUN_SQL = """
import json, sqlite3, sys
rows = sqlite3.connect(sys.argv[1]).execute(sys.argv[2]).fetchall()
print(json.dumps({"kernel_us": sum(row[2] for row in rows) / 1000}))
"""

SUMS = """
SELECT value, COUNT(*), SUM("end" - start), AVG("end" - start), MIN("end" - start),
       MAX("end" - start)
FROM CUPTI_ACTIVITY_KIND_KERNEL JOIN StringIds ON id = demangledName
GROUP BY demangledName ORDER BY 3 DESC
"""

STATISTICS = """
WITH launches AS (
    SELECT demangledName AS name, "end" - start AS ns,
           ROW_NUMBER() OVER (PARTITION BY demangledName ORDER BY "end" - start) AS place,
           COUNT(*) OVER (PARTITION BY demangledName) AS count
    FROM CUPTI_ACTIVITY_KIND_KERNEL)
SELECT value, COUNT(*), SUM(ns), AVG(ns), MIN(ns), MAX(ns),
       AVG(CASE WHEN place IN ((count + 1) / 2, (count + 2) / 2) THEN ns END),
       AVG(1.0 * ns * ns) - AVG(ns) * AVG(ns)
FROM launches JOIN StringIds ON id = name GROUP BY name ORDER BY 3 DESC
"""


def measured(command):
    """Runs it; what it printed, processor seconds, wall seconds, peak megabytes."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        begin = time.monotonic()
        child = subprocess.Popen(command, stdout=out, stderr=err)
        _, status, usage = os.wait4(child.pid, 0)
        wall = time.monotonic() - begin
        child.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        err.seek(0)
        if child.returncode:
            sys.exit(f"{command[0]}: status {child.returncode}\n{err.read().decode()[-2000:]}")
        return out.read().decode(), usage.ru_utime + usage.ru_stime, wall, usage.ru_maxrss / 1024


def best(command, times):
    runs = [measured(command) for _ in range(times)]
    return (runs[0][0], *(min(run[i] for run in runs) for i in (1, 2, 3)))


def write_pytorch(database, path):
    """The kernels and copies of the file with nsys's tables, as PyTorch's profiler writes them."""
    connection = sqlite3.connect(database)
    tables = (
        ("kernel", 'SELECT k.start, k."end", streamId, correlationId, value '
                   "FROM CUPTI_ACTIVITY_KIND_KERNEL k JOIN StringIds ON id = demangledName"),
        ("gpu_memcpy", 'SELECT start, "end", streamId, correlationId, '
                       "'Memcpy DtoH (Device -> Pinned)' FROM CUPTI_ACTIVITY_KIND_MEMCPY"),
    )
    with open(path, "w", encoding="utf-8") as out:
        out.write('{"schemaVersion":1,"distributedInfo":{"rank":0},"traceEvents":[')
        separator = "\n"
        for category, query in tables:
            for start, end, stream, correlation, name in connection.execute(query):
                event = {"ph": "X", "cat": category, "name": name, "pid": 0, "tid": stream,
                         "ts": start / 1000, "dur": (end - start) / 1000,
                         "args": {"device": 0, "stream": stream, "correlation": correlation}}
                out.write(separator + json.dumps(event))
                separator = ",\n"
        out.write("]}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--launches", type=int, default=1000000)
    parser.add_argument("--times", type=int, default=3)
    parser.add_argument("--venv", type=pathlib.Path)
    parser.add_argument("--install", action="store_true")
    parser.add_argument("--keep", type=pathlib.Path)
    options = parser.parse_args()
    kprof = str(options.build / "kprof")
    where = options.keep or pathlib.Path(tempfile.mkdtemp(prefix="kprof-peers-"))
    where.mkdir(parents=True, exist_ok=True)
    trace, database, chrome = (str(where / name) for name in ("t.kprof", "t.sqlite", "t.json"))

    subprocess.run([options.build / "tests/generate_trace", trace, str(options.launches)], check=True)
    subprocess.run([kprof, "export", "-o", database, trace], check=True)
    rows = {"kprof report (JSON)": best([kprof, "report", "--format", "json", trace], options.times)}
    expected = json.loads(rows["kprof report (JSON)"][0])["totals"]["kernel_time_ns"] / 1000
    table = best([kprof, "report", "--format", "csv", trace], options.times)
    for name, query in (("SQL, sums alone", SUMS), ("SQL, statistics", STATISTICS)):
        rows[name] = best([sys.executable, "-c", RUN_SQL, database, query], options.times)
    if options.venv:
        python = str(options.venv / "bin/python")
        if options.install:
            subprocess.run([sys.executable, "-m", "venv", options.venv], check=True)
            subprocess.run([python, "-m", "pip", "install", "--quiet", "HolisticTraceAnalysis"],
                           check=True)
        write_pytorch(database, chrome)
        rows["HolisticTraceAnalysis"] = best([python, "-c", HTA, chrome], 1)
    own = rows["kprof report (JSON)"]
    print(f"kprof report (CSV): the table of kernels alone, as SQL has it: {table[1]:.2f} s of "
          f"processor time, {table[3]:.0f} MB")
    print(f"{options.launches} launches; best of {options.times}, HolisticTraceAnalysis once")
    print(f"{'':24}{'CPU s':>9}{'wall s':>9}{'peak MB':>9}{'CPU x':>8}{'memory x':>10}")
    for name, (text, cpu, wall, memory) in rows.items():
        if name != "kprof report (JSON)":
            found = json.loads(text.splitlines()[-1])["kernel_us"]
            lost = options.launches if name == "HolisticTraceAnalysis" else 0
            if not -1 <= expected - found <= lost + 1:
                sys.exit(f"{name} found {found} us of kernels, kprof {expected}")
        print(f"{name:24}{cpu:9.2f}{wall:9.2f}{memory:9.0f}{cpu / own[1]:8.1f}"
              f"{memory / own[3]:10.1f}")
    if not options.keep:
        shutil.rmtree(where)


if __name__ == "__main__":
    main()
