"""Scenarios of kernel parameters: sizes that rules know, tied to the launches that had them.

prog_parameters launches kernels whose sizes follow from their grid; so a tie that is wrong shows.
"""

from harness import require, require_equal
from library_calls import dump
from scenario import Scenario

KNOWN = 6  # launches of a round of prog_parameters of which sizes are known
# By a part of the kernel's name: whose it is, what it does, kind, names, sizes of a grid.
EXPECTED = {
    "FillFunctor": ("PyTorch", "elementwise", 0, "n", lambda grid: [100 * grid]),
    "layer_norm": ("PyTorch", "norm", 0, "rows,n", lambda grid: [grid, 1000 + grid]),
    "flash_fwd": ("PyTorch", "flash 2", 4, "b,h,hk,sq,sk,d,dv",
                  lambda grid: [grid, 12, 4, grid + 1, grid + 2, 64, 64]),
    "reduce_kernel": ("PyTorch", "reduction", 0, "rows,n", lambda grid: [5 * grid, 7 * grid]),
    "triton": ("TorchInductor", "reduction", 0, "x,r", lambda grid: [2 * grid, 3 * grid]),
}
# Like one of them, but for its layout; and one of no rule.
UNKNOWN = ("Li8ENS0_11FillFunctor", "plain")


def check_row(row):
    """A tie says what the kernel was launched with."""
    kernel, grid = row["kernel"], row["grid"]
    require(not any(part in kernel for part in UNKNOWN), f"{kernel} is known: {row}")
    require("reduce_kernel" not in kernel or grid < 500, f"{kernel}: what it says makes no sense")
    part = next(part for part in EXPECTED if part in kernel)
    library, detail, kind, names, sizes = EXPECTED[part]
    said = (row["library"], row["entry"], row["detail"], row["of_kind"], row["names"],
            [row[f"of_size{i + 1}"] for i in range(len(sizes(grid)))], row["of_from"], row["part"])
    require_equal(kernel, said, (library, detail, detail, kind, names, sizes(grid), 1, 0))
    if part == "flash_fwd":
        require_equal("flash", (row["of_causal"], row["of_a_type"]), (grid % 2, 15))


def check_ties(launches, graph=False):
    """All launches with known sizes are tied; None: some."""
    def check(run):
        document = dump(run.place)
        tied = [row for row in document["rows"] if row["tied"]]
        for row in tied:
            check_row(row)
        count = sum(row["launches"] for row in tied)
        require(count == launches if launches is not None else count > 0,
                f"{count} launches tied, of {launches}")
        require_equal("calls and lost", (document["calls"], document["launches_lost"]), (0, 0))
        require_equal("graph", document["graph_launches"], count if graph else 0)
    return check


def check_none(run):
    document = dump(run.place)
    require_equal("tied", sum(row["tied"] for row in document["rows"]), 0)


def parameters(name, args, check, calls="on", options=(), **more):
    return Scenario(f"parameters_{name}", program="prog_parameters", args=args, check=check,
                    options=("--calls", calls, *options), **more)


SCENARIOS = [
    parameters("eager", ["eager", "100"], check_ties(100 * KNOWN)),
    parameters("graph", ["graph", "30"], check_ties(30 * KNOWN, graph=True)),
    parameters("host", ["eager", "100"], check_ties(100 * KNOWN), options=("--host",)),
    parameters("threads", ["threads", "100"], check_ties(None)),
    parameters("unload", ["unload", "50"], check_ties(50 * KNOWN), faults="reuse"),
    parameters("reset", ["reset", "20"], check_ties(20 * KNOWN), faults="reuse"),
    parameters("fail", ["fail", "100"], check_ties(None), faults="launch_fail=3"),
    parameters("off", ["eager", "30"], check_none, calls="off"),
]
