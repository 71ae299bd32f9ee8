"""Scenarios of NVTX ranges: a range owns what was launched in it, whenever that ran."""

from harness import require, require_equal
from scenario import Scenario

HOST = ("--host",)
LONG = "wall,queue=1000000"  # the GPU lags behind the launches

# What prog_ranges knows: path of the range -> (ranges, launches in it, of these in none further in)
KNOWN = {
    ("", "outer"): (1, 7, 3),
    ("", "outer", "inner"): (1, 4, 4),
    ("", "capturing"): (1, 2, 2),
    ("", "replaying"): (1, 7, 7),
    ("", "caller"): (1, 4, 4),
    ("library", "operation"): (1, 5, 5),
    ("", "request"): (1, 6, 6),
    ("", "waiting"): (1, 3, 3),
    ("", "helper"): (1, 3, 3),
}
KNOWN_KERNELS = 9 + 7 + 5 + 2 + 7 + 5 + 3 + 3 + 2 + 4
KNOWN_OUTSIDE = 9 + 5 + 4  # before any range, between them, and in one that never ended


def paths(document):
    """The rows by path."""
    rows = document["ranges"]["rows"]

    def path(row):
        if row["parent"] is None:
            return (row["domain"], row["name"])
        return (*path(rows[row["parent"]]), row["name"])
    return {path(row): row for row in rows}


def check_sums(run):
    ranges = run.document["ranges"]
    require_equal("kernels", ranges["kernels_owned"] + ranges["kernels_outside"] +
                  ranges["kernels_unattributed"], run.document["counts"]["kernels"])
    require_equal("kernel time", ranges["owned_kernel_total_ns"] +
                  ranges["outside_kernel_total_ns"] + ranges["unattributed_kernel_total_ns"],
                  sum(row["total_ns"] for row in run.document["operators"]))


def check_known(run):
    """Every range owns what was launched in it, though most of that ran after its end."""
    ranges = run.document["ranges"]
    check_sums(run)
    require_equal("known by", ranges["owned_by"], "launch")
    seen = {path: (row["ranges"], row["launches"], row["own_launches"])
            for path, row in paths(run.document).items()}
    require_equal("ranges", seen, KNOWN)
    require_equal("outside", ranges["kernels_outside"], KNOWN_OUTSIDE)
    require_equal("unattributed", ranges["kernels_unattributed"], 0)
    for path, row in paths(run.document).items():
        require_equal(f"time of {path}", row["kernel_total_ns"], row["launches"] * 200000)


def check_contended(run):
    """Where the order of two threads is not known, nothing is said; and never too much."""
    check_sums(run)
    require_equal("known by", run.document["ranges"]["owned_by"], "launch")
    rows = paths(run.document)
    require_equal("outside", run.document["ranges"]["kernels_outside"], 0)
    for name in ("first", "second", "third", "fourth"):
        row = rows[("", name)]
        require_equal(f"ranges of {name}", row["ranges"], 100)
        require(row["launches"] <= 500, f"{name} owns {row['launches']} of 500")


def check_churn(run):
    """However many streams there are, a range owns what was launched in it."""
    check_sums(run)
    ranges = run.document["ranges"]
    require_equal("owned", (ranges["owned_by"], ranges["kernels_owned"]), ("launch", 16000))


def check_leak(run):
    """Ranges that are never popped make the next ones no dearer: bare, it runs for milliseconds.

    On a busy machine the worker may take runs too late; what was lost then is owned by none.
    """
    check_sums(run)
    require_equal("steps", paths(run.document)[("", "step")]["ranges"], 100000)


def check_steps(run):
    """Prefill and decode own their launches; a graph's kernels are the range's of its launch."""
    check_sums(run)
    rows = paths(run.document)
    require_equal("decode", (rows[("", "request", "decode")]["ranges"],
                             rows[("", "request", "decode")]["launches"]), (160, 640))
    require_equal("prefill", rows[("", "request", "prefill")]["launches"], 120)
    phases = {row["name"]: (row["owned_by"], row["launches"], row["busy_ns"])
              for row in run.document["phases"]}
    require_equal("phases", phases, {"decode": ("launch", 640, 640 * 2000),
                                     "prefill": ("launch", 120, 120 * 2000)})


def check_by_time(run):
    """Without the certainty, by time, and the report says so."""
    check_sums(run)
    ranges = run.document["ranges"]
    require_equal("known by", ranges["owned_by"], "time")
    require("--host" in ranges["by_time_because"], f"because {ranges['by_time_because']}")


def check_window(run):
    """A window that opens with a range: what is recorded is that range's."""
    check_sums(run)
    ranges = run.document["ranges"]
    require_equal("owned", (ranges["owned_by"], ranges["kernels_owned"]), ("launch", 30))


SCENARIOS = [
    *[Scenario(f"ranges_{how}", program="prog_ranges", args=["known"], faults=LONG,
               options=options, kernels=KNOWN_KERNELS, check=check_known)
      for how, options in (("known", ()), ("known_host", HOST))],
    Scenario("ranges_late", program="prog_ranges", args=["known"], faults=LONG + ",late=50",
             kernels=KNOWN_KERNELS, check=check_known),
    Scenario("ranges_old_cupti", program="prog_ranges", args=["known"],
             faults=LONG + ",version=18", kernels=KNOWN_KERNELS, check=check_known),
    Scenario("ranges_no_timestamps", program="prog_ranges", args=["known"],
             faults=LONG + ",timestamp", kernels=KNOWN_KERNELS, check=check_known),
    Scenario("ranges_contended", program="prog_ranges", args=["contended"], faults="wall",
             kernels=2000, check=check_contended),
    Scenario("ranges_steps", program="prog_ranges", args=["steps", "20"], faults="wall",
             kernels=762, check=check_steps),
    # 8,000 streams of four threads
    Scenario("ranges_churn", program="prog_ranges", args=["churn", "2000"], faults="wall",
             kernels=16000, check=check_churn),
    Scenario("ranges_leak", program="prog_ranges", args=["leak", "100000"], faults="queue=1000",
             kernels=100000, check=check_leak),
    Scenario("ranges_dropped", program="prog_ranges", args=["steps", "20"], faults="wall,drop=10",
             check=check_by_time),
    Scenario("ranges_window", args=["--kernels", "500", "--nvtx"], faults="wall",
             options=("--range", "ten launches:2-4"), kernels=30, check=check_window),
]
