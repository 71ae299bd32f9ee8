"""The checks of fusion candidates on a real GPU; rows of checks.py."""

from runner import Check, require
from timeline_checks import iterations
from workload_checks import argv_of, need_modules

STEPS = 200
PASSES = STEPS + 4  # and prefill, and the iterations that warm up
SLACK = 0.2  # of the measured gain


def known(seen):
    """The candidates that a rule knows."""
    return [row for row in seen.document["fusion"]["candidates"] if row["confidence"] != "low"]


def gain(checks):
    """What fusing was said to win a step, at least and at most, against what a compiler wins."""
    def check(bench):
        checks.need_torch(bench)
        command = [*checks.TORCH, "--graph", "--steps", str(STEPS)]
        _, eager = checks.record_with(bench, [], command)
        _, fused = checks.record_with(bench, [], [*command, "--compile"])
        before, behind = (iterations(seen, STEPS - 2)["wall_ns"]["median"]
                          for seen in (eager, fused))
        fusion = eager.document["fusion"]
        low, high = fusion["gain_low_ns"] / PASSES, fusion["gain_high_ns"] / PASSES
        words = (f"{before / 1e6:.3f} ms, promised to win {low / 1e6:.3f} to {high / 1e6:.3f}, "
                 f"won {(before - behind) / 1e6:.3f}")
        require(low * (1 - SLACK) <= before - behind <= high * (1 + SLACK), words)
        return words
    return check


def compiled(checks):
    """A program that a compiler has fused has nothing that a rule knows."""
    def check(bench):
        need_modules(bench, ("torch", "triton"))
        argv = argv_of(["llama_torch.py", "--compile", "--layers", "2", "--attention", "sdpa"])
        _, seen = checks.record_with(bench, ["--range", "steady"], argv)
        names = [f"{row['name']} ({row['runs']})" for row in known(seen)]
        require(not names, f"candidates: {', '.join(names)}")
        return f"{seen.kernels} launches, no candidate"
    return check


def rows(checks):
    """`checks`: the module checks, whose parts these share."""
    return [
        Check("fusion-gain", 600, gain(checks),
              "torch.compile's gain in a CUDA graph: promised and measured, 20 %"),
        Check("fusion-compiled", 400, compiled(checks),
              "a compiled program has no chain that a rule knows"),
    ]
