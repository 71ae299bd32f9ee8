"""The checks of linear_skinny and attention_decode on a real GPU; rows of checks.py.

Correctness: the tests of tests/kernels, launched on the GPU, and under compute-sanitizer. Speed:
kprof bench --against, that is cuBLAS and PyTorch's attention in the same run, and the share of what
reading reaches.
"""

from kernel_checks import bench_rows, best_other, correct, sanitized
from runner import Check, require

TESTS = ("linear_skinny", "attention_decode")
MB = 1e6
TIE = 0.98  # of the other's speed


def wanted_of_linear(row):
    """The least share of reading, in percent, as a node and in a chain; the least ratio to cuBLAS."""
    large = 95 if row["bytes"] >= 400 * MB else 90 if row["bytes"] >= 100 * MB else None
    if row["narrow_dtype"] != "bf16" or row["bytes"] < 33 * MB:
        return None, None, TIE
    if row["tokens"] > 1:
        return (88 if large else 72), None, TIE
    is_named = (row["outputs"], row["inputs"]) == (14336, 4096)
    return large or 75, None if large else 80, 1.3 if is_named else TIE


def wanted_of_attention(row):
    best = best_other(row)
    share = best and row["bytes"] / best["cold"]["median_us"] / 1e3 / row["ceiling_gbps"] * 100
    ratio = 1.3 if row["batch"] == 1 else 1.05 if best and share < 90 else TIE
    return (95 if row["bytes"] >= 200 * MB else None), None, ratio


def misses(row, wanted):
    """What a row lacks, in words."""
    alone, chain, ratio = wanted(row)
    other = best_other(row)
    least_error = min((one["error"] for one in row["against"]["references"]), default=None)
    if least_error is not None and row["against"]["ours_error"] > 2 * least_error:
        yield f"error {row['against']['ours_error']:.2e}, another's {least_error:.2e}"
    if alone and row["of_ceiling_pct"] < alone:
        yield f"{row['of_ceiling_pct']:.1f} % of reading, not {alone}"
    if chain and row["chain_of_ceiling_pct"] < chain:
        yield f"{row['chain_of_ceiling_pct']:.1f} % in a chain, not {chain}"
    if other and other["cold_ratio"]["median"] < ratio:
        yield f"{other['cold_ratio']['median']:.2f} × {other['name']}, not {ratio}"


def words_of(row):
    other = best_other(row)
    words = f"{row['shape']} {row['cold']['median_us']:.2f} µs {row['of_ceiling_pct']:.0f} %"
    words += f" (chain {row['chain_of_ceiling_pct']:.0f} %)"
    if other:
        words += f" {other['cold_ratio']['median']:.2f} × {other['name']}"
    return words


def judge(rows, wanted):
    """All rows in words; raises Failure with those that miss."""
    missed = [f"{row['shape']}: {word}" for row in rows for word in misses(row, wanted)]
    words = "; ".join(words_of(row) for row in rows)
    require(rows and not missed, f"{'; '.join(missed)} (all: {words})")
    return words


def speed(name, against, wanted):
    def check(bench):
        return judge(bench_rows(bench, name, "--against", against), wanted)
    return check


CHECKS = [
    Check("decode-correct", 120, correct(TESTS),
          "linear_skinny, attention_decode: every version, float64"),
    Check("decode-linear", 180, speed("linear_skinny", "cublas", wanted_of_linear),
          "linear_skinny: of reading's ceiling, and against cuBLAS"),
    Check("decode-attention", 180, speed("attention_decode", "torch,cudnn", wanted_of_attention),
          "attention_decode: of reading's ceiling, against FlashAttention and cuDNN"),
    *[Check(f"decode-{tool}", 300, sanitized(tool, TESTS), f"compute-sanitizer {tool}")
      for tool in ("memcheck", "racecheck", "initcheck", "synccheck")],
]
