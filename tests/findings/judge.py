#!/usr/bin/env python3
"""Whether kprof finds what is wrong with recorded programs, and nothing else.

    tests/findings/judge.py KPROF

truth.txt says what each program must have and must not have. Also, of every trace: ids and rungs
are known, wins are bounded, no operator is called both a candidate and something better, the
closing advice is the first finding, and text says the same as JSON. Fails with a line for each
thing that is wrong.
"""

import json
import re
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
RUNGS = {"leave", "check", "switch", "library", "triton", "kernel"}
# Told of one operator as a whole, these exclude a candidate there.
BETTER = {"near-limit", "math-attention", "tensor-cores-unused", "many-shapes"}


def read_truth(path):
    """The ids that are nowhere, and {trace: [(word, rest)]}."""
    nowhere, truth, trace = set(), {}, None
    for line in path.read_text().splitlines():
        if not line or line.startswith("#"):
            continue
        word, _, rest = line.partition(" ")
        if word == "nowhere":
            nowhere = set(rest.split())
        elif word.endswith(".kprof"):
            trace = truth.setdefault(word, [])
        else:
            trace.append((word, rest))
    return nowhere, truth


def run(kprof, *arguments):
    made = subprocess.run([kprof, "report", *arguments], check=True, stdout=subprocess.PIPE,
                          env={"COLUMNS": "100000", "LC_ALL": "C.UTF-8",
                               "PATH": "/usr/bin:/bin"})
    return made.stdout.decode()


def faults_of_truth(facts, nowhere, findings):
    told = [(finding["id"], finding["subject"]) for finding in findings]
    ids = {name for name, _ in told}
    for word, rest in facts:
        names = rest.split()
        if word == "first" and told[0][0] not in rest.split("|"):
            yield f"first is {told[0][0]}, not {rest}"
        elif word == "must" and not any(
                name == names[0] and (len(names) < 2 or subject == names[1])
                for name, subject in told):
            yield f"lacks {rest}"
        elif word == "never":
            yield from (f"has {name}" for name in names if name in ids)
    yield from (f"has {name}" for name in nowhere & ids)


def faults_of_wins(report):
    span, kernel = report["totals"]["span_ns"], report["totals"]["kernel_time_ns"]
    for finding in report["findings"]:
        win = finding["win"]
        for of, whole in (("span", span), ("kernel_time", kernel)):
            bound, likely = win[f"{of}_bound_ns"], win[f"{of}_likely_ns"]
            if bound is not None and not 0 <= bound <= whole * 1.000001:
                yield f"{finding['id']}: {of} bound {bound} of {whole}"
            if likely is not None and (bound is None or not 0 <= likely <= bound + 1):
                yield f"{finding['id']}: {of} likely {likely}, at most {bound}"


def faults_of_promises(report):
    """No microsecond is promised twice: all findings together win no more than there is."""
    totals = report["totals"]
    for of, whole in (("span", totals["span_ns"]), ("kernel_time", totals["kernel_time_ns"])):
        promised = sum(finding["win"][f"{of}_bound_ns"] or 0 for finding in report["findings"])
        if promised > whole * 1.000001:
            yield f"{of}: {promised:.0f} promised of {whole}"


def faults_of_agreement(report):
    findings = report["findings"]
    candidates = {finding["operator"] for finding in findings if finding["id"] == "candidate"}
    ids = {finding["id"] for finding in findings}
    for finding in findings:
        if finding["rung"] not in RUNGS or not finding["remedy"] or not finding["sentence"]:
            yield f"{finding['id']}: rung, remedy or sentence"
        if finding["id"] in BETTER and finding["operator"] in candidates:
            whole = next(row["total_ns"] for row in report["operators"]
                         if row["name"] == finding["operator"])
            if finding["kernel_time_ns"] * 2 >= whole:
                yield f"{finding['operator']} is a candidate and {finding['id']}"
    if candidates and ids & {"gpu-idle", "no-hotspot"}:
        yield "a candidate beside gpu-idle or no-hotspot"
    for held in report["findings_held"]:
        if held["reason"] == "rule" and held["by"] not in ids:
            yield f"{held['id']} is held back by {held['by']}, which is not told"


def faults_of_text(kprof, trace, report):
    first = report["findings"][0]
    if not report["advice"].startswith(first["sentence"]) or first["remedy"] not in report["advice"]:
        yield "the advice is not the first finding"
    text = re.sub(r"\s+", " ", run(kprof, "--findings", trace))
    for finding in report["findings"] + report["findings_held"]:
        if f"{finding['id']}: {re.sub(chr(32) + '+', ' ', finding['sentence'])}" not in text:
            yield f"text lacks {finding['id']}"


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    kprof = sys.argv[1]
    nowhere, truth = read_truth(HERE / "truth.txt")
    known = {path for folder in ("samples/traces", "tests/operators", "tests/recorded")
             for path in (ROOT / folder).glob("*.kprof")}
    wrong = [f"{path.relative_to(ROOT)}: no truth" for path in known
             if str(path.relative_to(ROOT)) not in truth]
    for trace, facts in truth.items():
        report = json.loads(run(kprof, "--format", "json", str(ROOT / trace)))
        faults = [*faults_of_truth(facts, nowhere, report["findings"]), *faults_of_wins(report),
                  *faults_of_promises(report),
                  *faults_of_agreement(report), *faults_of_text(kprof, str(ROOT / trace), report)]
        first = report["findings"][0]
        print(f"{trace:48} {len(report['findings'])} findings, first {first['id']}, "
              f"{len(faults)} wrong")
        wrong += [f"{trace}: {fault}" for fault in faults]
    print(*wrong, sep="\n")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
