#!/usr/bin/env python3
"""Whether kprof finds the fusion candidates that recorded programs have, and no others.

    tests/fusion/judge.py KPROF

truth.txt says which chains of kernels the programs run, and how often. A candidate is right if its
runs are as many, but for the few that the trace itself breaks (a copy or a long pause within the
chain). What kprof calls an elementwise chain, with low confidence, is not judged, but no such chain
may promise anything.

Prints a line for each trace, and fails where a candidate is missing, too many, or not in truth.txt.
"""

import json
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
RIGHT = 0.97  # of the runs, at least


def report(kprof, trace):
    made = subprocess.run([kprof, "report", "--format", "json", trace], check=True,
                          stdout=subprocess.PIPE)
    return json.loads(made.stdout)


def read_truth():
    truth = {}
    for line in (HERE / "truth.txt").read_text().splitlines():
        if not line or line.startswith("#"):
            continue
        trace, *rest = line.split("\t")
        chains = truth.setdefault(trace, {})
        if rest != ["-"]:
            name, steps, runs = rest
            least, _, most = runs.partition("-")
            chains[name, steps] = (int(least), int(most or least))
    return truth


def judge_runs(expected, found):
    """What is wrong with the candidates that a rule knows."""
    for key, (least, most) in expected.items():
        runs = found.get(key, {"runs": 0})["runs"]
        if not RIGHT * least <= runs <= most:
            yield f"{key[0]} ({key[1]}): {runs} runs, not {least} to {most}"
    for key in found.keys() - expected.keys():
        yield f"{key[0]} ({key[1]}): the program has none"


def judge_numbers(document):
    """What cannot be, of all candidates."""
    candidates = document["fusion"]["candidates"]
    for row in candidates:
        if not 0 <= row["gain_low_ns"] <= row["gain_high_ns"]:
            yield f"{row['id']}: {row['gain_low_ns']} to {row['gain_high_ns']} ns"
        if row["gain_high_ns"] > row["kernel_time_ns"] + row["gap_ns"]:
            yield f"{row['id']}: more to win than it takes"
        if row["confidence"] == "low" and row["gain_low_ns"]:
            yield f"{row['id']}: promises something"
        if sum(kernel["total_ns"] for kernel in row["kernels"]) != row["kernel_time_ns"]:
            yield f"{row['id']}: its kernels take another time than it"
    if sum(row["kernel_time_ns"] for row in candidates) > document["totals"]["kernel_time_ns"]:
        yield "more time in candidates than there is"
    ids = [row["id"] for row in candidates]
    if len(ids) != len(set(ids)):
        yield "two candidates have one id"


def judge(kprof, trace, expected):
    document = report(kprof, HERE / trace)
    candidates = document["fusion"]["candidates"]
    known = {(row["name"], " ".join(kernel["step"] for kernel in row["kernels"])): row
             for row in candidates if row["confidence"] != "low"}
    # What starts up or ends a run may leave a chain behind that only a few runs have.
    for key in [key for key, row in known.items() if row["runs"] < 8 and key not in expected]:
        del known[key]
    wrong = [*judge_runs(expected, known), *judge_numbers(document)]
    runs = sum(row["runs"] for row in known.values())
    print(f"{Path(trace).stem:28} {len(known):2} candidates, {runs:6} runs, "
          f"{document['fusion']['gain_low_pct']:6.2f} to "
          f"{document['fusion']['gain_high_pct']:6.2f} % of the span to win")
    for line in wrong:
        print(f"    {line}")
    return not wrong


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    good = [judge(sys.argv[1], trace, expected) for trace, expected in read_truth().items()]
    sys.exit(0 if all(good) else 1)


if __name__ == "__main__":
    main()
