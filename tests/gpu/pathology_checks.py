"""The checks of samples/pathologies on a real GPU: of each, the finding that comes first, and what
it promises against what its remedy saves; rows of checks.py.

Both are compared as parts of an iteration: what is promised of the time that the sample itself
measured under kprof, over all GPUs, and what is saved of the time that it measured without.
"""

import dataclasses
import sys

from runner import Check, Skip, need_torch, require

SLACK = 0.2       # of what was saved
BOUND_PCT = 2.0   # of an iteration, by which two measured times may be off
NOTHING_PCT = 5.0  # of an iteration: what is less is nothing
LIMIT_S = 60
COUNTERS = ("--counters", "on")
TORCHRUN = ("-m", "torch.distributed.run", "--nproc-per-node", "2")


@dataclasses.dataclass(frozen=True)
class Pathology:
    name: str              # of the program; .py is PyTorch's
    finding: str           # that must come first
    options: tuple = ()    # of kprof record
    gpus: int = 1
    winnable: bool = True  # else the remedy must win nothing

    @property
    def is_torch(self):
        return self.name.endswith(".py")


PATHOLOGIES = (
    Pathology("math_attention.py", "math-attention"),
    Pathology("norm_chain.py", "unfused-chain"),
    Pathology("launch_bound", "launch-bound"),
    Pathology("skinny_gemm", "skinny-gemm", COUNTERS),
    Pathology("synchronous_copies", "synchronous-copies"),
    Pathology("low_occupancy", "low-occupancy", COUNTERS),
    Pathology("tensor_cores_unused", "tensor-cores-unused"),
    Pathology("at_the_limit", "near-limit", COUNTERS, winnable=False),
    Pathology("imbalance.py", "gpu-imbalance", gpus=2),
)


# ---- what is compared: no files, no commands ----

@dataclasses.dataclass(frozen=True)
class Timed:
    """What a sample says of itself."""

    iterations: int
    iteration_ns: int
    right: bool

    @classmethod
    def of(cls, ran):
        return cls(ran.number("iterations"), ran.number("iteration_ns"),
                   "output right" in ran.text().splitlines())


@dataclasses.dataclass(frozen=True)
class Gain:
    """Percent of an iteration; likely_pct is None where nothing is promised."""

    likely_pct: float
    bound_pct: float
    saved_pct: float

    def __str__(self):
        likely = "nothing known" if self.likely_pct is None else f"{self.likely_pct:.1f} %"
        return (f"promised {likely}, at most {self.bound_pct:.1f} %, "
                f"saved {self.saved_pct:.1f} % of an iteration")


def first_finding(document, expected):
    ids = [finding["id"] for finding in document["findings"]]
    require(ids and ids[0] == expected, f"first is {ids[0] if ids else 'nothing'}, not {expected}"
            f" (found: {', '.join(ids) or 'nothing'})")
    return document["findings"][0]


def gain_of(finding, gpus, profiled, before, after):
    """`profiled` is under kprof; without it, `before` is without the remedy and `after` with it."""
    whole_ns = gpus * profiled.iterations * profiled.iteration_ns
    require(whole_ns > 0 and before.iteration_ns > 0, "no time was measured")
    win = finding["win"]
    likely_ns = win["span_likely_ns"]
    return Gain(None if likely_ns is None else 100 * likely_ns / whole_ns,
                100 * win["span_bound_ns"] / whole_ns,
                100 * (1 - after.iteration_ns / before.iteration_ns))


def judge_gain(gain, winnable):
    """What was promised is what was saved, and the bound was not beaten."""
    require(gain.likely_pct is not None, f"{gain}: nothing to hold it to")
    require(gain.saved_pct <= gain.bound_pct + BOUND_PCT, f"{gain}: above the bound")
    if not winnable:
        require(gain.likely_pct <= NOTHING_PCT, f"{gain}: there is nothing to win")
        require(gain.saved_pct <= NOTHING_PCT, f"{gain}: the sample is not at the limit")
        return
    require(gain.saved_pct > NOTHING_PCT, f"{gain}: the remedy is none")
    require(abs(gain.likely_pct - gain.saved_pct) <= SLACK * gain.saved_pct,
            f"{gain}: more than {100 * SLACK:.0f} % off")


def judge_remedied(document, finding_id):
    ids = [finding["id"] for finding in document["findings"]]
    require(finding_id not in ids, f"{finding_id} is found again with the remedy")


# ---- running ----

def argv_of(bench, pathology, samples):
    if not pathology.is_torch:
        path = bench.build / "samples/pathologies" / pathology.name
        if not path.exists():
            raise Skip(f"{path} was not built")
        return [path]
    need_torch(bench, pathology.gpus)
    runner = TORCHRUN if pathology.gpus > 1 else ()
    return [sys.executable, *runner, samples / "pathologies" / pathology.name]


def timed(ran, words):
    own = Timed.of(ran)
    require(own.right, f"{words}: the output is wrong ({ran.log}.out)")
    return own


def check_of(pathology, record_with, samples):
    def profile(bench, argv, words):
        ran, seen = record_with(bench, list(pathology.options), argv)
        if pathology.options and seen.document["traffic_absent"] is not None:
            raise Skip(f"no counters: {seen.document['traffic_absent']}")
        return timed(ran, f"{words}, under kprof"), seen.document

    def check(bench):
        argv = argv_of(bench, pathology, samples)
        before = timed(bench.run(argv), "bare")
        profiled, document = profile(bench, argv, "bare")
        finding = first_finding(document, pathology.finding)
        require(len(document["gpus"]) == pathology.gpus, f"{len(document['gpus'])} GPUs")
        after = timed(bench.run([*argv, "--remedy"]), "remedy")
        gain = gain_of(finding, pathology.gpus, profiled, before, after)
        judge_gain(gain, pathology.winnable)
        if pathology.winnable:
            judge_remedied(profile(bench, [*argv, "--remedy"], "remedy")[1], pathology.finding)
        return f"{gain}, which takes {before.iteration_ns / 1e3:.1f} µs"
    return check


def rows(record_with, samples):
    """The rows of checks.py; the arguments are its function and its samples' folder."""
    return [Check(f"pathology-{pathology.name.removesuffix('.py').replace('_', '-')}", LIMIT_S,
                  check_of(pathology, record_with, samples),
                  f"{pathology.finding} comes first, and its promise is what the remedy saves")
            for pathology in PATHOLOGIES]
