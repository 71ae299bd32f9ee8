"""Scenarios of library calls: what cuBLAS was asked for, tied to the kernels that it launched.

The fake libraries' kernels all have one grid and block, and names that say what they were launched
for: a tie that is wrong shows, however it came about.
"""

import json
import os
import re
import time

from harness import await_kernels, end, kill, require, require_equal, start_under_kprof
from scenario import Scenario

# Launches of one round of prog_gemm: in calls that are looked at, and in none.
IN_CALLS, IN_NONE = 8, 3
# Kernels of no call that is looked at: the program's own, and those of a private call of cuBLAS.
NO_CALL = re.compile(r"elementwise|own|gemm_m(\d+)_n\1_k20_b1_p0")


def dump(place):
    """What the trace says; see programs/library_dump.c."""
    result = place.run([os.path.join(place.fakes, "library_dump"), place.trace], {})
    require_equal("status of library_dump", (result.status, result.err), (0, ""))
    return json.loads(result.out)


def check_row(row):
    """A tie says what the kernel's name says."""
    kernel = row["kernel"]
    if not row["tied"]:
        return
    require(not NO_CALL.fullmatch(kernel), f"{kernel} is of no call: {row}")
    if kernel == "grouped":
        require_equal("grouped", [row[f"of_{key}"] for key in ("n", "k", "batch", "groups")],
                      [0, 4, 5, 2])
        return
    said = [row[f"of_{key}"] for key in ("m", "n", "k", "batch")] + [row["part"]]
    require_equal(kernel, said, [int(number) for number in re.findall(r"\d+", kernel)])


def count(rows, tied):
    return sum(row["launches"] for row in rows
               if row["tied"] == tied and not NO_CALL.fullmatch(row["kernel"]))


def check_ties(least=1.0, launches=None):
    """No tie is wrong, and at least that share of what is in calls is tied."""
    def check(run):
        document = dump(run.place)
        for row in document["rows"]:
            check_row(row)
        tied, untied = count(document["rows"], 1), count(document["rows"], 0)
        require(tied >= least * (tied + untied), f"{tied} tied, {untied} not: {document['rows']}")
        require_equal("lost", document["launches_lost"], 0)
        if launches is not None:
            require_equal("launches in calls", tied + untied, launches)
        return document
    return check


def check_details(run):
    """Types, transposes, epilogue, strides: as prog_gemm asks for them."""
    document = check_ties(launches=30 * IN_CALLS)(run)
    rows = {row["entry"]: row for row in document["rows"] if row["tied"]}
    require_equal("calls", document["calls"], 30 * 8)
    expected = {
        "cublasSgemm_v2": {"kind": 1, "a_type": 1, "b_type": 1, "d_type": 1, "compute_type": 0,
                           "transpose_a": 1, "transpose_b": 1, "epilogue": 1, "ldb": 16,
                           "stride_a": 0},
        "cublasGemmEx": {"a_type": 3, "d_type": 3, "compute_type": 69, "transpose_a": 2,
                         "transpose_b": 1, "lda": 48},
        "cublasGemmStridedBatchedEx": {"transpose_b": 2, "stride_a": 1, "stride_b": 449},
        "cublasSgemv_v2": {"kind": 2, "transpose_a": 2, "a_type": 1},
        "cublasLtMatmul": {"a_type": 3, "compute_type": 69, "scale_type": 1, "epilogue": 4,
                           "transpose_a": 2, "transpose_b": 1, "row_major": 0, "lda": 96},
    }
    for entry, members in expected.items():
        for key, value in members.items():
            require_equal(f"{entry}: {key}", rows[entry][f"of_{key}"], value)
    require_equal("libraries", {row["library"] for row in rows.values()}, {"cuBLAS", "cuBLASLt"})


def check_graph(run):
    """Nodes of graphs have the calls in which they were captured, at every replay."""
    document = check_ties(launches=(2 * 30 + 10) * IN_CALLS)(run)
    require_equal("nodes", document["graph_nodes"], 2 * 2 * IN_CALLS)
    require_equal("kernels of graphs", document["graph_launches"], 30 * 2 * IN_CALLS)


def check_none(run):
    document = dump(run.place)
    require_equal("calls and ties", (document["calls"], document["launches"],
                                     document["graph_nodes"], count(document["rows"], 1)),
                  (0, 0, 0, 0))


def check_own(run):
    """What the program defines itself is not cuBLAS's."""
    document = check_ties()(run)
    entries = {row["entry"] for row in document["rows"] if row["tied"]}
    require("cublasSgemm_v2" not in entries and "cublasGemmEx" in entries, f"{entries}")


def play_kill(scenario, place):
    """SIGKILL: the last records are missing, and what is there is tied rightly."""
    process, pid = start_under_kprof(scenario, place)
    await_kernels(place, 1)
    time.sleep(1.2)
    kill(pid)
    end(process)
    document = dump(place)
    for row in document["rows"]:
        check_row(row)
    tied, untied = count(document["rows"], 1), count(document["rows"], 0)
    require(tied > 0.5 * (tied + untied) > 0, f"{tied} tied, {untied} not")


def gemm(name, args, check, **more):
    options = ("--calls", more.pop("calls", "on"), *more.pop("options", ()))
    return Scenario(f"calls_{name}", program=more.pop("program", "prog_gemm"), args=args,
                    check=check, options=options, **more)


SCENARIOS = [
    gemm("linked", ["link", "eager", "30"], check_details, kernels=30 * (IN_CALLS + IN_NONE)),
    gemm("looked_up", ["dlsym", "eager", "30"], check_details),
    gemm("in_time", ["link", "eager", "300"], check_ties(launches=300 * IN_CALLS),
         faults="wall,queue=2000"),
    gemm("graph", ["link", "graph", "30"], check_graph),
    gemm("graph_looked_up", ["dlsym", "graph", "30"], check_graph),
    gemm("host", ["link", "graph", "30"], check_graph, options=("--host",)),
    gemm("threads", ["link", "eager", "200", "4"], check_ties(launches=800 * IN_CALLS),
         env={"KP_FAKE_GRIDS": "1"}),
    gemm("threads_alike", ["link", "eager", "200", "4"],
         check_ties(least=0.0, launches=800 * IN_CALLS)),
    gemm("off", ["link", "graph", "30"], check_none, calls="off"),
    gemm("own_function", ["link", "eager", "30"], check_own, program="prog_gemm_own"),
    gemm("dropped", ["link", "eager", "300"], check_ties(least=0.0), faults="drop=3"),
    gemm("filtered", ["link", "eager", "30"], check_ties(least=0.0),
         options=("--kernels", "gemm*"), agrees=False),
    gemm("bound_now", ["link", "eager", "30"], check_details, env={"LD_BIND_NOW": "1"}),
    Scenario("calls_killed", program="prog_gemm", args=["link", "eager", "100000000"],
             options=("--calls", "on"), faults="wall,queue=2000", play=play_kill),
]
