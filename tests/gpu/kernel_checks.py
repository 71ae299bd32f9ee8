"""The checks of libkprof_kernels on a real GPU; rows of checks.py.

Correctness: the tests of tests/kernels, launched on the GPU, and under compute-sanitizer. Speed: kprof
bench of every operator against the targets below, and --against PyTorch.
"""

import json
import shutil

from runner import Check, Failure, Skip, require

OPERATORS = ("rmsnorm", "add_rmsnorm", "layernorm", "silu_mul", "gelu_mul", "gelu", "rope", "softmax")
TESTS = ("norm", "activation", "rope", "softmax", "argmax", "topk_topp_sample")
LOGITS = ("argmax", "topk_topp_sample")
NORMS = ("rmsnorm", "add_rmsnorm", "layernorm")
GATES = ("silu_mul", "gelu_mul")
CASES = {"racecheck": "6"}  # of each grid, by tool: with 6 all types of weights come
MB = 1e6


def wanted_of_copy(row):
    """The least share of a plain copy's speed, in percent; None: there is no target."""
    name, size = row["operator"], row["bytes"]
    if name in NORMS and row["rows"] >= 1024 and 2048 <= row["columns"] <= 16384:
        return 97 if size >= 128 * MB else 90 if size >= 32 * MB else 80
    if name in GATES and row["rows"] >= 1024:
        return 97
    if name == "softmax" and row["rows"] >= 4096 and row["columns"] <= 32768:
        return 95 if size >= 128 * MB else 88
    return None


def wanted_us(row):
    """The longest time as a node of a graph and in a chain of dependent launches, µs, or None."""
    if row["operator"] not in (*NORMS, *GATES, "rope"):
        return None
    if row["rows"] <= 8:
        return 1.9, 1.4
    if row["rows"] <= 64 and row["bytes"] <= MB:
        return 2.2, 1.6
    return None


def misses(row):
    share, times = wanted_of_copy(row), wanted_us(row)
    where = f"{row['operator']} {row['rows']}x{row['columns']}"
    if share and row["of_copy_pct"] < share:
        yield f"{where}: {row['of_copy_pct']:.1f} % of copy, not {share}"
    for key, limit in zip(("hot", "chain"), times or ()):
        if row[key]["median_us"] > limit:
            yield f"{where}: {key} {row[key]['median_us']:.2f} µs, not {limit}"


def judge(rows):
    """All rows in words; raises Failure with those that miss."""
    missed = [word for row in rows for word in misses(row)]
    words = "; ".join(f"{row['rows']}x{row['columns']} {row['cold']['median_us']:.2f} µs, "
                      f"{row['of_copy_pct']:.0f} % of copy, hot {row['hot']['median_us']:.2f}, "
                      f"chain {row['chain']['median_us']:.2f}" for row in rows)
    require(not missed, f"{'; '.join(missed)} (all: {words})")
    return words


def bench_rows(bench, name, *words):
    """The results of kprof bench; without PyTorch none with --against."""
    ran = bench.run([bench.build / "kprof", "bench", name, *words, "-f", "json"], status=None)
    said = ran.stderr.decode("utf-8", "replace").strip()
    if ran.status and ("--against needs PyTorch" in said or "sees no GPU" in said):
        raise Skip(said.splitlines()[-1])
    require(ran.status == 0, f"kprof bench {name} ended with {ran.status}: {said} ({ran.log}.err)")
    return json.loads(ran.stdout)["results"]


def speed(name):
    def check(bench):
        return judge(bench_rows(bench, name))
    return check


def program(bench, name):
    path = bench.build / "tests/gpu" / f"gpu_kernel_{name}"
    if not path.exists():
        raise Skip(f"{path} was not built")
    return path


def correct(tests):
    """The grids of tests/kernels on the GPU."""
    def check(bench):
        return "; ".join(f"{name}: {bench.run([program(bench, name)]).text().strip()}" for name in tests)
    return check


def sanitized(tool, tests):
    """The tests with few cases of each grid: these tools make kernels ten to a thousand times as slow."""
    def check(bench):
        found = shutil.which("compute-sanitizer") or shutil.which(
            "compute-sanitizer", path="/usr/local/cuda/bin")
        if not found:
            raise Skip("no compute-sanitizer")
        clean = []
        for name in tests:
            try:
                ran = bench.run([found, "--tool", tool, "--error-exitcode", "9", program(bench, name)],
                                env={"KP_TEST_CASES": CASES.get(tool, "8")})
            except Failure as reason:
                raise Failure(f"{name}: {reason}; clean: {', '.join(clean) or 'none'}") from reason
            if "0 errors" not in ran.text() + ran.stderr.decode("utf-8", "replace"):
                raise Failure(f"{name}: {ran.log}.out; clean: {', '.join(clean) or 'none'}")
            clean.append(f"{name} {ran.seconds:.0f} s")
        return f"{tool}: 0 errors, {', '.join(clean)}"
    return check


def best_other(row):
    """The fastest of what a row is compared with; None: nothing can do it."""
    return min(row["against"]["references"], key=lambda other: other["cold"]["median_us"],
               default=None)


def judge_ratios(rows):
    """The best of the others at each shape, in words; raises Failure where it is faster."""
    words, slower = [], []
    for row in rows:
        best = best_other(row)
        if not best:
            continue  # nothing else can do this one
        words.append(f"{row['shape']} {best['cold_ratio']['median']:.2f} × {best['name']}")
        if best["cold_ratio"]["median"] < 0.98:
            slower.append(words[-1])
    require(words and not slower, f"slower: {'; '.join(slower)} (all: {'; '.join(words)})")
    return "; ".join(words)


def against_torch(name, groups="torch,compile"):
    def check(bench):
        return judge_ratios(bench_rows(bench, name, "--against", groups))
    return check


CHECKS = [
    Check("kernels-correct", 120, correct(TESTS), "every version against float64, odd shapes"),
    *[Check(f"kernels-{tool}", 300, sanitized(tool, TESTS), f"compute-sanitizer {tool}")
      for tool in ("memcheck", "racecheck", "initcheck", "synccheck")],
    *[Check(f"kernels-{name}", 120, speed(name), f"kprof bench {name}: checked, then its targets")
      for name in OPERATORS],
    *[Check(f"kernels-torch-{name}", 180, against_torch(name), f"{name} not slower than PyTorch's")
      for name in OPERATORS if name != "rope"],
    *[Check(f"kernels-torch-{name}", 180, against_torch(name, "torch"),
            f"{name}: checked, not slower than PyTorch's") for name in LOGITS],
]
