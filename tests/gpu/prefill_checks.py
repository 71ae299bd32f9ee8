"""The checks of attention_prefill on a real GPU; rows of checks.py.

Correctness: the test of tests/kernels, launched on the GPU, and under compute-sanitizer. Speed and
accuracy: prefill.py, against cuDNN and FlashAttention-2 in the same run.
"""

import json
import sys
from pathlib import Path

from kernel_checks import bench_rows, judge_ratios, sanitized
from runner import Check, Skip, require

HERE = Path(__file__).resolve().parent
ACCURACY = 1.02  # of FlashAttention-2's error, at most
SAMPLED = 1.1    # the same, where 16 rows stand for all
VARIED = 1.4     # times FlashAttention-2


def program(bench):
    path = bench.build / "tests/gpu/gpu_kernel_attention_prefill"
    if not path.exists():
        raise Skip(f"{path} was not built")
    return path


def correct(bench):
    """The grid of tests/kernels on the GPU."""
    return bench.run([program(bench)]).text().strip()


def general(bench):
    """The versions for all GPUs alone, from the PTX for compute capability 8.0."""
    return bench.run([program(bench)], env={"KP_TEST_GENERAL": "1", "CUDA_FORCE_PTX_JIT": "1",
                                            "CUDA_CACHE_DISABLE": "1"}).text().strip()


def faults(row):
    """What is wrong with a row's results, in words."""
    for found in row["checks"]:
        if not found["is_written"]:
            yield "results that were not written"
        if not found["same_bits"]:
            yield "other bits the second time"
        if not found["error"] <= ACCURACY * found["flash_error"]:
            yield f"error {found['error']:.3e}, FlashAttention-2's {found['flash_error']:.3e}"


def misses(row):
    speeds = row["tflops"]
    other = max((name for name in speeds if name not in ("ours", "matrix")), key=speeds.get)
    ratio = speeds["ours"] / speeds[other]
    if ratio < 1:
        yield f"{ratio:.3f} × {other}"


def words_of(row):
    shape, causal = row["shape"][:4], row["shape"][4]
    speeds = ", ".join(f"{name} {value:.0f}" for name, value in row["tflops"].items())
    return f"{'x'.join(map(str, shape))}{' causal' if causal else ''}: {speeds}"


def judge(document):
    """All rows in words, TFLOP/s; raises Failure with those that miss."""
    varied = document["varied"]
    missed = [f"{words_of(row)}: {word}" for row in document["rows"]
              for word in (*faults(row), *misses(row))]
    missed += [f"varied lengths: {word}" for word in faults(varied)]
    ratio = varied["tflops"]["ours"] / varied["tflops"]["flash"]
    if ratio < VARIED:
        missed.append(f"varied lengths: {ratio:.2f} × FlashAttention-2, not {VARIED}")
    words = "; ".join(words_of(row) for row in (*document["rows"], varied))
    require(document["rows"] and not missed, f"{'; '.join(missed)} (all: {words})")
    return words


def speed(bench):
    library = bench.build / "tests/gpu/libprefill_kernels.so"
    if not library.exists():
        raise Skip(f"{library} was not built")
    ran = bench.run([sys.executable, HERE / "prefill.py", library], status=None)
    if ran.status == 77:
        raise Skip("no PyTorch that sees a GPU")
    require(ran.status == 0, f"prefill.py ended with {ran.status}: {ran.log}.err")
    return judge(json.loads(ran.stdout))


def benched(bench):
    """kprof bench at its own shapes: as exact as FlashAttention-2 in the few rows that it looks at,
    and not slower than the best."""
    rows = bench_rows(bench, "attention_prefill", "--against", "torch,cudnn")
    for row in rows:
        flash = [other["error"] for other in row["against"]["references"] if other["name"] == "flash"]
        require(flash and row["against"]["ours_error"] <= SAMPLED * flash[0],
                f"{row['shape']}: error {row['against']['ours_error']:.3e}, FlashAttention-2's {flash}")
    return judge_ratios(rows)


CHECKS = [
    Check("prefill-correct", 120, correct, "attention_prefill: every version against float64"),
    Check("prefill-general", 300, general, "attention_prefill: the versions for all, from PTX"),
    Check("prefill-speed", 240, speed, "attention_prefill: error and speed against PyTorch's"),
    Check("prefill-bench", 180, benched, "kprof bench attention_prefill: error and speed"),
    *[Check(f"prefill-{tool}", 300, sanitized(tool, ("attention_prefill",)), f"compute-sanitizer {tool}")
      for tool in ("memcheck", "racecheck", "initcheck", "synccheck")],
]
