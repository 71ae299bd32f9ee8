#!/usr/bin/env python3
"""Whether the shapes that kprof tells of recorded programs are those that the programs asked for.

    tests/recorded/judge_shapes.py KPROF

attention_parameters: each operation of PyTorch stands in the command line that the trace keeps, and
what must be told of it in tests/gpu/parameter_checks.py. llm_decode_calls: products of a model whose
sizes are those of samples/llm_decode. Fails with a line for each thing that is wrong.
"""

import csv
import io
import json
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "gpu"))

import parameter_checks  # noqa: E402
import shape_checks  # noqa: E402

ATTENTION = HERE / "attention_parameters.kprof"
CALLS = HERE / "llm_decode_calls.kprof"
SAID = b"model layers 16 width 2048 heads 16 ffn 5632 vocab 32000\nrun batch 4 prompt 128 steps 32\n"
STEPS, LAYERS = 32, 16
# By shape, in the order of decode_shapes: q, k, v and output; gate and up; down; and one of all layers.
PRODUCTS = (4 * LAYERS, 2 * LAYERS, LAYERS, 1)


def report(kprof, *arguments):
    made = subprocess.run([kprof, "report", *arguments], check=True, stdout=subprocess.PIPE)
    return made.stdout.decode()


def faults_of_parameters(kprof):
    """Every operation of the program is told, as often as it ran."""
    told = {}
    for row in csv.DictReader(io.StringIO(report(
            kprof, "--shapes", "--by", "kernel", "--format", "csv", ATTENTION))):
        if row["source"] != "launch":
            told[row["shape"]] = told.get(row["shape"], 0) + int(row["launches"])
    document = json.loads(report(kprof, "--format", "json", ATTENTION))
    program = document["processes"][0]["command"]
    asked = [shape for operation, shape in parameter_checks.PARAMETERS if f"    {operation},\n" in program]
    if len(asked) < 20:
        yield f"only {len(asked)} operations of the program are known"
    for shape in asked:
        if told.get(shape, 0) < parameter_checks.TIMES:
            yield f"{shape}: told {told.get(shape, 0)} times"
    attention = next(row for row in document["operators"] if row["name"] == "attention")
    for variant in ("flash", "decode", "memory-efficient", "merging parts"):
        if variant not in {row["name"] for row in attention["variants"]}:
            yield f"no attention of variant {variant}"


def faults_of_calls(kprof):
    """All products of all steps and layers, and nothing of their time unexplained."""
    document = json.loads(report(kprof, "--format", "json", CALLS))
    found, called_pct = shape_checks.product_shapes(SimpleNamespace(document=document))
    if called_pct < 99.9:
        yield f"calls explain {called_pct:.1f} % of the products' time"
    for shape, times in zip(shape_checks.decode_shapes(SimpleNamespace(stdout=SAID)), PRODUCTS):
        launches = found[shape]["launches"] if shape in found else 0
        if launches < times * STEPS:
            yield f"only {launches} launches of products of m, n, k {shape}"


def main():
    faults = [*faults_of_parameters(sys.argv[1]), *faults_of_calls(sys.argv[1])]
    for fault in faults:
        print(fault)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
