"""The checks of what NVTX ranges own, on a real GPU; rows of checks.py."""

from runner import Check, require

SHAPES = {"eager": [], "graph": ["--graph"], "streams": ["--streams", "4"]}
STEPS = 32


def launches(seen):
    """What each range owns, by name; all of it by launch, and nothing in doubt."""
    ranges = seen.document["ranges"]
    require(ranges is not None, "no ranges in the report")
    require(ranges["owned_by"] == "launch",
            f"owned by {ranges['owned_by']}: {ranges['by_time_because']}")
    require(ranges["kernels_unattributed"] == 0,
            f"{ranges['kernels_unattributed']} kernels are not attributed")
    total = ranges["kernels_owned"] + ranges["kernels_outside"]
    require(total == seen.kernels, f"{total} kernels in ranges or in none, {seen.kernels} recorded")
    return {row["name"]: (row["ranges"], row["launches"]) for row in ranges["rows"]}


def rows(sample, record_with, need_torch, torch):
    """The rows of checks.py; the arguments are its functions and its command for PyTorch."""
    def same(bench, argv):
        """Runs of launches and recorded calls say the same of every range."""
        runs = launches(record_with(bench, [], argv)[1])
        calls = launches(record_with(bench, ["--host"], argv)[1])
        require(runs == calls, f"by runs {runs}, by calls {calls}")
        return ", ".join(f"{name} {own} launches in {count}"
                         for name, (count, own) in runs.items())

    def own(options):
        def check(bench):
            return same(bench, [sample(bench, "llm_decode"), "--nvtx", "--steps", str(STEPS),
                                *options])
        return check

    def own_torch(options):
        def check(bench):
            need_torch(bench)
            return same(bench, [*torch, "--nvtx", *options])
        return check

    return [
        *[Check(f"ranges-{shape}", 240, own(options),
                "NVTX ranges own by launch what --host says they do, nothing in doubt"
                if shape == "eager" else f"the same, {shape}")
          for shape, options in SHAPES.items()],
        Check("ranges-torch", 400, own_torch([]), "the same, PyTorch eager"),
        Check("ranges-torch-graph", 400, own_torch(["--graph"]), "the same, in a CUDA graph"),
    ]
