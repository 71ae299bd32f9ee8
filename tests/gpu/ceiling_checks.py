"""The checks of ceilings and clocks: rows of the table in checks.py.

Ceilings against the vendor's peaks and against what PyTorch reaches; clocks against nvidia-smi.
"""

import json
import subprocess
import sys
from pathlib import Path

from compare import median
from runner import Check, Skip, need_torch, require

HERE = Path(__file__).resolve().parent
MEMORY = ("read_gbps", "write_gbps", "copy_gbps")
# Bytes a second and TFLOP/s of the datasheets of the machines that this runs on, dense.
PEAKS = {
    "NVIDIA H200": {"read_gbps": 4800, "write_gbps": 4800, "copy_gbps": 4800, "fp64_tflops": 34,
                    "fp32_tflops": 67, "tensor_fp64_tflops": 67, "tensor_tf32_tflops": 494.7,
                    "tensor_fp16_tflops": 989.4, "tensor_bf16_tflops": 989.4,
                    "tensor_fp8_tflops": 1978.9, "tensor_int8_tops": 1978.9},
}


def measure(bench):
    """The ceilings of the first GPU, and the file that keeps them."""
    cache = bench.folder / "cache"
    ran = bench.run([bench.build / "kprof", "bench", "ceilings", "--device", "0", "-f", "json"],
                    env={"XDG_CACHE_HOME": str(cache)})
    gpu, = json.loads(ran.stdout)["gpus"]
    return gpu, cache / "kprof/ceilings.yaml", ran.seconds


def ceilings(bench):
    gpu, kept, seconds = measure(bench)
    again, _, _ = measure(bench)
    require(kept.exists(), f"nothing was kept in {kept}")
    require(gpu["driver"] and gpu["uuid"], "driver or UUID are not known")
    for key, ceiling in gpu["ceilings"].items():
        value, other = ceiling["value"], again["ceilings"][key]["value"]
        require(abs(other - value) <= 0.03 * value, f"{key}: {value:.4g}, then {other:.4g}")
        require(ceiling["sm_mhz"], f"{key}: the clock is not known")
        peak = PEAKS.get(gpu["name"], {}).get(key)
        if peak:
            require(0.8 * peak <= value <= 1.01 * peak, f"{key}: {value:.4g}, the peak is {peak}")
        if key in MEMORY:
            require(ceiling["low"] >= 0.97 * value, f"{key}: from {ceiling['low']} to {value}")
    words = [f"{key} {ceiling['value']:.4g}" for key, ceiling in gpu["ceilings"].items()]
    return f"{', '.join(words)}; {seconds:.0f} s"


def ceilings_of_torch(bench):
    """No library goes beyond a ceiling; a ceiling that it misses by far would be no use either."""
    need_torch(bench)
    gpu, _, _ = measure(bench)
    reached = json.loads(bench.run([sys.executable, HERE / "torch_ceilings.py"]).stdout)
    words = []
    for key, value in reached.items():
        ceiling = gpu["ceilings"].get(key)
        if not ceiling:
            continue
        require(value <= 1.01 * ceiling["high"],
                f"{key}: PyTorch reaches {value:.4g}, above {ceiling['high']:.4g}")
        words.append(f"{key} {100 * value / ceiling['value']:.0f} %")
    require(words, "nothing to compare")
    return "PyTorch reaches " + ", ".join(words)


def smi(what):
    ran = subprocess.run(["nvidia-smi", f"--query-gpu={what}", "--format=csv,noheader,nounits",
                          "--id=0"], capture_output=True, text=True, timeout=30, check=False)
    if ran.returncode != 0:
        raise Skip(f"nvidia-smi does not tell {what}")
    return float(ran.stdout.split()[0])


def clocks(bench):
    """Readings of a program that keeps the GPU busy for some seconds. It must wait for the GPU now and
    then: CUPTI gives back no record while kernels are queued, and readings begin with the first."""
    trace = bench.folder / "clocks.kprof"
    bench.run([bench.build / "kprof", "record", "-o", trace, "--",
               bench.build / "samples/llm_decode", "--graph", "--steps", "2048"])
    ran = bench.run([bench.build / "kprof", "report", "-f", "json", trace])
    found = json.loads(ran.stdout)["gpus"][0]["clocks"]
    require(found, "no readings of clocks")
    require(found["readings"] >= 8, f"{found['readings']} readings in some 4 s")
    require(0.5 * smi("clocks.max.sm") <= found["sm_mhz_median"] <= smi("clocks.max.sm"),
            f"SM clock {found['sm_mhz_median']} MHz")
    require(found["memory_mhz_max"] == smi("clocks.max.memory"),
            f"memory clock {found['memory_mhz_max']} MHz")
    require(0 < found["power_max_mw"] <= 1050 * smi("power.limit"),
            f"power {found['power_max_mw']} mW")
    require(found["reading_mean_ns"] < 10e6, f"a reading takes {found['reading_mean_ns']} ns")
    return (f"{found['readings']} readings of {found['reading_mean_ns'] / 1e6:.2f} ms (at most "
            f"{found['reading_max_ns'] / 1e6:.2f}), SM {found['sm_mhz_median']} MHz, "
            f"{found['power_mean_mw'] / 1e3:.0f} W, throttled {found['throttled_pct']:.1f} %")


def clocks_cost(bench):
    """A program's time with readings against without, in turns."""
    decode = [bench.build / "samples/llm_decode", "--graph", "--steps", "2048"]
    times = {"on": [], "off": []}
    for turn in range(10):
        which = "on" if turn % 2 else "off"
        trace = bench.folder / "cost.kprof"
        ran = bench.run([bench.build / "kprof", "record", "--clocks", which, "-o", trace, "--",
                         *decode])
        times[which].append(ran.seconds)
    ratio = median(times["on"]) / median(times["off"])
    require(ratio <= 1.02, f"with readings {ratio:.3f} times as long")
    return f"llm_decode --graph with readings ÷ without: {ratio:.3f}"


CHECKS = [
    Check("ceilings", 120, ceilings, "kprof bench ceilings: twice the same (3 %), below the peaks"),
    Check("ceilings-torch", 180, ceilings_of_torch, "PyTorch's copies and products stay below"),
    Check("clocks", 120, clocks, "clocks and power of a busy GPU against nvidia-smi"),
    Check("clocks-cost", 300, clocks_cost, "a program's time with readings of clocks: 1.02 at most"),
]
