"""Scenarios of cuDNN: what graphs do, tied to the kernels that their plans launch.

The fake cuDNN's kernels have names that say the extents of the tensors of a graph's first operation,
in the order of their attributes; so a tie that is wrong shows.
"""

import re

from harness import require, require_equal
from library_calls import dump
from scenario import Scenario

KNOWN, UNKNOWN = 6, 1  # calls of a round of prog_dnn
# By the kernel of a plan: kind, detail, names, sizes, members.
EXPECTED = {
    "type10_64_16_3_3_{n}_32_56_48_{n}_64_28_24": (
        3, "forward, channels last, stride 2x2, padding 1x1 + bias + relu", "n,c,h,w,k,r,s,p,q",
        ["{n}", 32, 56, 48, 64, 3, 3, 28, 24],
        {"groups": 2, "a_type": 15, "b_type": 15, "d_type": 15}),
    "type41_3_12_520_64_3_4_{n}_64_3_4_{n}_80_3_12_520_80": (
        4, "forward", "b,h,hk,sq,sk,d,dv", [3, 12, 4, 520, "{n}", 64, 80],
        {"causal": 0, "a_type": 15, "d_type": 15}),
    "type19_2_8_300_64_2_2_64_300_2_8_300_300": (
        4, "forward", "b,h,hk,sq,sk,d,dv", [2, 8, 2, 300, 300, 64, 64],
        {"causal": 1, "a_type": 3, "d_type": 3}),
    "type19_1_5_96_48_1_1_48_40_1_5_96_40": (
        1, "gelu", "", [],
        {"m": 96, "n": 40, "k": 48, "batch": 5, "stride_a": 0, "stride_b": 1, "row_major": 15,
         "transpose_a": 1, "transpose_b": 1, "d_type": 3}),
    "type13_1_7_11_13_1_7_11_13_1_7_11_13": (
        0, "mul", "d1,d2,d3,d4", [1, 7, 11, 13], {"a_type": 1}),
}


def expected_of(kernel):
    """What the kernel's call must be; None: it is of none that is known."""
    for pattern, row in EXPECTED.items():
        found = re.fullmatch(pattern.replace("{n}", "(?P<n>[0-9]+)", 1).replace("{n}", "(?P=n)"), kernel)
        if found:
            numbers = [int(found["n"]) if size == "{n}" else size for size in row[3]]
            return (*row[:3], numbers, row[4])
    return None


def check_row(row):
    kind, detail, names, sizes, members = expected_of(row["kernel"])
    said = (row["of_kind"], row["detail"], row["names"],
            [row[f"of_size{i + 1}"] for i in range(len(sizes))])
    require_equal(row["kernel"], said, (kind, detail, names, sizes))
    for key, value in members.items():
        require_equal(f"{row['kernel']}: {key}", row[f"of_{key}"], value)
    require_equal("library", (row["library"], row["entry"], row["of_from"]),
                  ("cuDNN", "cudnnBackendExecute", 0))


def check_calls(known, unknown, graph=False):
    """All calls with a known plan are tied, and to nothing but their kernels."""
    def check(run):
        document = dump(run.place)
        tied = 0
        for row in document["rows"]:
            if row["tied"]:
                check_row(row)
                tied += row["launches"]
        require_equal("tied", tied, known)
        require_equal("lost", document["launches_lost"], unknown)
        require_equal("graph", document["graph_launches"], known if graph else 0)
    return check


def check_many(rounds):
    """A plan that has gone is forgotten: its address is another's at once."""
    def check(run):
        check_calls(rounds, 1)(run)
        rows = [row for row in dump(run.place)["rows"] if row["tied"]]
        require_equal("plans", len(rows), rounds)
    return check


def check_none(run):
    document = dump(run.place)
    require_equal("tied", (document["calls"], sum(row["tied"] for row in document["rows"])), (0, 0))


def dnn(name, args, check, calls="on", **more):
    return Scenario(f"dnn_{name}", program="prog_dnn", args=args, check=check,
                    options=("--calls", calls), **more)


SCENARIOS = [
    dnn("linked", ["link", "eager", "30"], check_calls(30 * KNOWN, 30 * UNKNOWN + 1)),
    dnn("looked_up", ["dlsym", "eager", "30"], check_calls(30 * KNOWN, 30 * UNKNOWN + 1)),
    dnn("thread", ["link", "thread", "30"], check_calls(30 * KNOWN, 30 * UNKNOWN + 1)),
    dnn("graph", ["dlsym", "graph", "30"], check_calls(30 * KNOWN, UNKNOWN, graph=True)),
    dnn("many", ["link", "many", "100"], check_many(100)),
    dnn("off", ["link", "eager", "30"], check_none, calls="off"),
]
