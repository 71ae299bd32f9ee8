#!/usr/bin/env python3
"""A small soak on the fake GPU: five million launches, eager and by graphs, under the real kprof.

    test_soak.py --build DIR        status 1 where a count is not exact or memory is not flat

tests/gpu/soak is the real one; the judgements are its own. Where the machine is busy elsewhere, the
worker may fall behind and its buffers pile up: memory that is not flat is looked at again. A leak
shows every time.
"""

import argparse
import os
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "gpu"))

from runner import Failure
from soak import Plan, soak

EAGER, NODES, REPLAYS = 3_000_000, 400, 5_000
DURATION_NS = 500  # two million kernels a second
SAYS = rb"^main: (\d+) kernels, (\d+) in graphs"
PART_LIMIT = 192 << 20  # the fake CUPTI keeps a copy of each buffer, in the same process
PERIOD_S, BUDGET_S, ATTEMPTS = 0.02, 150, 6


def soak_once(build, plan):
    with tempfile.TemporaryDirectory() as folder:
        try:
            return soak(build, Path(folder), plan)
        except Failure as reason:
            return [("run", "FAIL", str(reason))]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", required=True)
    build = Path(parser.parse_args().build).resolve()
    fakes = build / "tests/fake_gpu"
    environment = {key: value for key, value in os.environ.items()
                   if not key.startswith(("KP", "CUDA_", "NVTX_", "LD_"))}
    environment["LD_LIBRARY_PATH"] = f"{fakes}/cuda:{fakes}/cupti"
    environment["KP_FAKE"] = "queue=1000"
    environment["KPROF_CUPTI"] = f"{fakes}/cupti/libcupti.so.13"

    def argv(part):
        return [fakes / "prog_launch", "--kernels", round(part * EAGER), "--duration-ns", DURATION_NS,
                "--graph", f"{NODES}x{round(part * REPLAYS)}", "--print"]

    plan = Plan(argv, "prog_launch", BUDGET_S, environment, SAYS, PERIOD_S, bare_part=0.2,
                part_limit=PART_LIMIT)
    for attempt in range(ATTEMPTS):
        rows = soak_once(build, plan)
        failed = [what for what, verdict, _ in rows if verdict == "FAIL"]
        for what, verdict, words in rows:
            print(f"{verdict:<5} {what:<16} {words}")
        if failed != ["resident memory"]:
            break
        print(f"attempt {attempt + 1} of {ATTEMPTS}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
