#!/usr/bin/env python3
"""How much of GPU time kprof labels rightly, by operator, against hand-labelled kernels.

    tests/operators/judge.py KPROF MAKE_TRACE

NAME.truth says what the kernels of a recorded trace do: a line is operator, calls and mangled name,
separated by tabs; «a|b» are both right; a kernel that does the work of several operators has a line
for each. What a kernel does is meant, not what for, but for operators that are written out: the
products, mask and softmax of attention, the steps of a norm with the residual before it, of rotary
embedding, of a gate or GELU, and the writing of keys and values behind rotary embedding, are that
operator. Their numbers follow from the program: so many layers, so many passes. names.txt and
names_public.txt have names alone, of programs that were not run; each counts the same. Whatever
rules of one's own say, the ids of kernels stay.

Prints a line for each, and fails where less is right than «at least» says.
"""

import collections
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
NAMES_AT_LEAST = 98


# Rules that take the labels of most kernels away.
OTHER_RULES = """
operators:
  - {name: ours, about: all of it}
rules:
  - {operator: ours, function: ["*elementwise*", "nvjet*", "softmax*", "*fusion*", "*gemm*"]}
"""


def report(kprof, trace, *options):
    made = subprocess.run([kprof, "report", "--format", "json", *options, trace], check=True,
                          stdout=subprocess.PIPE)
    return json.loads(made.stdout)["kernels"]


def read_truth(path):
    """The facts of its header, and {mangled name: [(operators, calls)]}."""
    facts, truth = {}, collections.defaultdict(list)
    for line in path.read_text().splitlines():
        if line.startswith("# "):
            key, _, value = line[2:].partition(": ")
            facts[key] = value
            continue
        operators, calls, name = line.split("\t")
        truth[name].append((operators.split("|"), int(calls)))
    return facts, truth


def right_calls(truth, labelled):
    """Of a kernel's calls, those that are labelled rightly; labelled: {operator: calls}."""
    left, right = dict(labelled), 0
    for operators, calls in truth:
        for operator in operators:
            taken = min(calls, left.get(operator, 0))
            left[operator] = left.get(operator, 0) - taken
            calls -= taken
            right += taken
    return right


def judge_trace(kprof, path):
    facts, truth = read_truth(path)
    rows = report(kprof, HERE / facts["trace"])
    labelled, calls, times = (collections.defaultdict(collections.Counter),
                              collections.Counter(), collections.Counter())
    for row in rows:
        name = row["mangled_name"]
        labelled[name][row["operator"]] += row["calls"]
        calls[name] += row["calls"]
        times[name] += row["total_ns"] or 0
    for name, parts in truth.items():
        if sum(part[1] for part in parts) != calls[name]:
            sys.exit(f"{path.name}: {calls[name]} calls of {name} in the trace")
    if set(calls) != set(truth):
        sys.exit(f"{path.name}: not labelled by hand: {sorted(set(calls) - set(truth))}")
    total = sum(times.values())
    wrong = {name: times[name] * (1 - right_calls(truth[name], labelled[name]) / calls[name])
             for name in calls}
    unknown = sum(row["total_ns"] or 0 for row in rows if row["operator"] == "unknown")
    print_line(path.stem, len(calls), 100 * (1 - sum(wrong.values()) / total),
               100 * unknown / total, facts["role"])
    for name in sorted(wrong, key=wrong.get, reverse=True):
        if wrong[name] > total / 1000:
            print(f"    {100 * wrong[name] / total:.1f}% {'|'.join(labelled[name])}, "
                  f"not {'|'.join(o for p in truth[name] for o in p[0])}: {name[:100]}")
    return sum(wrong.values()) <= total * (100 - float(facts["at least"])) / 100


def ids_of(rows):
    """{mangled name: ids}; a kernel has one id, and no other kernel has it."""
    ids = collections.defaultdict(set)
    for row in rows:
        ids[row["mangled_name"]].add(row["id"])
    if any(len(of) != 1 for of in ids.values()) or len(set().union(*ids.values())) != len(ids):
        sys.exit("a kernel has several ids, or several kernels have one")
    keys = [(row["id"], row["operator"], row["variant"]) for row in rows]
    if len(keys) != len(set(keys)):
        sys.exit("id, operator and variant do not tell rows apart")
    return ids


def judge_ids(kprof, folder):
    rules, good = Path(folder, "rules.yaml"), True
    rules.write_text(OTHER_RULES)
    for path in sorted(HERE.glob("*.truth")):
        trace = HERE / read_truth(path)[0]["trace"]
        others = report(kprof, trace, "--operators", rules)
        if not any(row["operator"] == "ours" for row in others):
            sys.exit(f"{path.stem}: the rules change nothing")
        if ids_of(report(kprof, trace)) != ids_of(others):
            print(f"{path.stem}: ids change with the rules")
            good = False
    return good


def read_names(name):
    """Lines of operators («a|b» are both right), library or source, kernel's name."""
    lines = (HERE / name).read_text().splitlines()
    return [line.split("\t") for line in lines if line and not line.startswith("#")]


def report_names(kprof, make_trace, names):
    with tempfile.TemporaryDirectory() as folder:
        trace = os.path.join(folder, "names.kprof")
        with open(trace, "wb") as file:
            subprocess.run([make_trace, *names], check=True, stdout=file)
        return {row["mangled_name"]: row for row in report(kprof, trace)}


def judge_names(kprof, make_trace, name, with_library):
    lines = read_names(name)
    rows = report_names(kprof, make_trace, [line[2] for line in lines])
    wrong = [(rows[full], operators, library) for operators, library, full in lines
             if rows[full]["operator"] not in operators.split("|")
             or (with_library and (rows[full]["library"] or "-") != library)]
    unknown = sum(row["operator"] == "unknown" for row in rows.values())
    right = 100 * (1 - len(wrong) / len(lines))
    print_line(Path(name).stem, len(lines), right, 100 * unknown / len(lines), "never run here")
    for row, operators, library in wrong:
        print(f"    {row['operator']} of {row['library']}, not {operators} of {library}: "
              f"{row['mangled_name'][:100]}")
    return right >= NAMES_AT_LEAST


def print_line(name, kernels, right_pct, unknown_pct, role):
    print(f"{name:20} {kernels:4} kernels  {right_pct:6.2f} % right  {unknown_pct:5.2f} % unknown"
          f"  {role}")


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    kprof, make_trace = sys.argv[1:]
    good = [judge_trace(kprof, path) for path in sorted(HERE.glob("*.truth"))]
    good.append(judge_names(kprof, make_trace, "names.txt", True))
    good.append(judge_names(kprof, make_trace, "names_public.txt", False))
    with tempfile.TemporaryDirectory() as folder:
        good.append(judge_ids(kprof, folder))
    sys.exit(0 if all(good) else 1)


if __name__ == "__main__":
    main()
