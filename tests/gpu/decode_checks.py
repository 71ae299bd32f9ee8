"""The checks of linear_skinny and attention_decode on a real GPU; rows of checks.py.

Correctness: the tests of tests/kernels, launched on the GPU, and under compute-sanitizer. Speed:
decode.py, against cuBLAS and PyTorch's attention in the same run, and against the measured ceiling of
reading.
"""

import json
import shutil
import sys
from pathlib import Path

from ceiling_checks import measure
from runner import Check, Failure, Skip, require

HERE = Path(__file__).resolve().parent
TESTS = ("linear_skinny", "attention_decode")
MB = 1e6
TIE = 0.98  # of the other's speed


def programs(bench):
    paths = [bench.build / "tests/gpu" / f"gpu_kernel_{name}" for name in TESTS]
    if not all(path.exists() for path in paths):
        raise Skip("the tests of kernels were not built")
    return paths


def correct(bench):
    """The grids of tests/kernels on the GPU."""
    return "; ".join(f"{path.name}: {bench.run([path]).text().strip()}" for path in programs(bench))


def sanitized(tool):
    def check(bench):
        found = shutil.which("compute-sanitizer") or shutil.which(
            "compute-sanitizer", path="/usr/local/cuda/bin")
        if not found:
            raise Skip("no compute-sanitizer")
        for path in programs(bench):
            ran = bench.run([found, "--tool", tool, "--error-exitcode", "9", path])
            if "0 errors" not in ran.text() + ran.stderr.decode("utf-8", "replace"):
                raise Failure(f"{path.name}: {ran.log}.out")
        return f"{tool}: 0 errors in {len(TESTS)} programs"
    return check


def wanted_of_linear(row):
    """The least share of reading, in percent, as a node and in a chain; the least ratio to cuBLAS."""
    tokens, outputs, inputs, kind = row["shape"]
    large = 95 if row["bytes"] >= 400 * MB else 90 if row["bytes"] >= 100 * MB else None
    if kind != "bf16" or row["bytes"] < 33 * MB:
        return None, None, TIE
    if tokens > 1:
        return (88 if large else 72), None, TIE
    return large or 75, None if large else 80, 1.3 if (outputs, inputs) == (14336, 4096) else TIE


def wanted_of_attention(row):
    batch, size, best = row["shape"][0], row["bytes"], best_other(row)
    weak = best is not None and best["read_pct"] < 90
    ratio = 1.3 if batch == 1 else 1.05 if weak else TIE
    return (95 if size >= 200 * MB else None), None, ratio


def best_other(row):
    others = [{"name": name, **times} for name, times in row["times"].items()
              if name not in ("ours", "chain")]
    return min(others, key=lambda times: times["median_us"], default=None)


def add_shares(row, read_gbps):
    for times in row["times"].values():
        times["read_pct"] = row["bytes"] / times["median_us"] / 1e3 / read_gbps * 100


def misses(row, wanted):
    """What a row lacks, in words."""
    alone, chain, ratio = wanted(row)
    ours, other = row["times"]["ours"], best_other(row)
    if not row["is_right"]:
        yield f"error {row['error']:.2e}, the library's {row['library_error']}"
    if not row["same_bits"]:
        yield "other bits the second time"
    if alone and ours["read_pct"] < alone:
        yield f"{ours['read_pct']:.1f} % of reading, not {alone}"
    if chain and row["times"]["chain"]["read_pct"] < chain:
        yield f"{row['times']['chain']['read_pct']:.1f} % in a chain, not {chain}"
    if other and other["median_us"] / ours["median_us"] < ratio:
        yield f"{other['median_us'] / ours['median_us']:.2f} × {other['name']}, not {ratio}"


def words_of(row):
    ours, other = row["times"]["ours"], best_other(row)
    words = f"{'x'.join(map(str, row['shape']))} {ours['median_us']:.2f} µs {ours['read_pct']:.0f} %"
    words += f" (chain {row['times']['chain']['read_pct']:.0f} %)"
    if other:
        words += f" {other['median_us'] / ours['median_us']:.2f} × {other['name']}"
    return words


def judge(document, read_gbps, wanted):
    """All rows in words; raises Failure with those that miss, or where one was not measured."""
    missed = [f"not measured: {shape}" for shape in document["not_measured"]]
    for row in document["rows"]:
        add_shares(row, read_gbps)
        missed += [f"{'x'.join(map(str, row['shape']))}: {word}" for word in misses(row, wanted)]
    words = "; ".join(words_of(row) for row in document["rows"])
    require(document["rows"] and not missed, f"{'; '.join(missed)} (all: {words})")
    return words


def speed(what, wanted):
    def check(bench):
        library = bench.build / "tests/gpu/libdecode_kernels.so"
        if not library.exists():
            raise Skip(f"{library} was not built")
        gpu, _, _ = measure(bench)
        ran = bench.run([sys.executable, HERE / "decode.py", library, what], status=None)
        if ran.status == 77:
            raise Skip("no PyTorch that sees a GPU")
        require(ran.status == 0, f"decode.py ended with {ran.status}: {ran.log}.err")
        return judge(json.loads(ran.stdout), gpu["ceilings"]["read_gbps"]["value"], wanted)
    return check


CHECKS = [
    Check("decode-correct", 120, correct, "linear_skinny, attention_decode: every version, float64"),
    Check("decode-linear", 180, speed("linear", wanted_of_linear),
          "linear_skinny: of reading's ceiling, and against cuBLAS"),
    Check("decode-attention", 180, speed("attention", wanted_of_attention),
          "attention_decode: of reading's ceiling, against FlashAttention and cuDNN"),
    *[Check(f"decode-{tool}", 300, sanitized(tool), f"compute-sanitizer {tool}")
      for tool in ("memcheck", "racecheck", "initcheck", "synccheck")],
]
