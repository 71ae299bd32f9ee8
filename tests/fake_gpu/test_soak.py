#!/usr/bin/env python3
"""A small soak on the fake GPU: ten million launches, eager and by graphs, under the real kprof.

    test_soak.py --build DIR        status 1 where a count is not exact or memory is not flat

tests/gpu/soak is the real one; the judgements are its own.
"""

import argparse
import os
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "gpu"))

from runner import Failure
from soak import Plan, soak

EAGER, NODES, REPLAYS = 6_000_000, 400, 10_000
SAYS = rb"^main: (\d+) kernels, (\d+) in graphs"
PERIOD_S, BUDGET_S = 0.02, 60


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", required=True)
    build = Path(parser.parse_args().build).resolve()
    fakes = build / "tests/fake_gpu"
    environment = {key: value for key, value in os.environ.items()
                   if not key.startswith(("KP", "CUDA_", "NVTX_", "LD_"))}
    environment["LD_LIBRARY_PATH"] = f"{fakes}/cuda:{fakes}/cupti"
    environment["KPROF_CUPTI"] = f"{fakes}/cupti/libcupti.so.13"

    def argv(part):
        return [fakes / "prog_launch", "--kernels", round(part * EAGER), "--duration-ns", 100,
                "--graph", f"{NODES}x{round(part * REPLAYS)}", "--print"]

    plan = Plan(argv, "prog_launch", BUDGET_S, environment, SAYS, PERIOD_S, bare_part=1)
    with tempfile.TemporaryDirectory() as folder:
        try:
            rows = soak(build, Path(folder), plan)
        except Failure as reason:
            rows = [("run", "FAIL", str(reason))]
    for what, verdict, words in rows:
        print(f"{verdict:<5} {what:<16} {words}")
    return 1 if any(verdict == "FAIL" for _, verdict, _ in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
