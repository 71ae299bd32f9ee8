#!/usr/bin/env python3
"""What ptxas says of every kernel: no stack frame, no spill, no warning that wgmma is serialized or
setmaxnreg ignored, and the registers of resources.tsv.

  resources.py FOLDER             compares the *.ptxas of a build
  resources.py FOLDER --update    writes the table anew

Registers depend on the release of nvcc: they are compared where it is that of the table. Stack frames
and spills are errors whatever the release.
"""

import argparse
import re
import subprocess
import sys
from pathlib import Path

TABLE = Path(__file__).resolve().parent / "resources.tsv"
DEF = Path(__file__).resolve().parents[2] / "kernels/kernels.def"
COMPILING = re.compile(r"Compiling entry function '(\w+)' for 'sm_(\w+)'")
STACK = re.compile(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads")
# C7508: setmaxnreg ignored; C7510 to C7520: matrix instructions of a warpgroup one after the other.
WARNED = re.compile(r"\((C7508|C751\d|C7520)\).*")
USED = re.compile(r"Used (\d+) registers")


def parse(text):
    """{(kernel, chip): (registers, bytes of stack and spills)} of one report."""
    found, at, memory = {}, None, 0
    for line in text.splitlines():
        if match := COMPILING.search(line):
            at = match.groups()
        elif match := STACK.search(line):
            memory = sum(map(int, match.groups()))
        elif (match := USED.search(line)) and at:
            found[at], at = (int(match[1]), memory), None
    return found


def warnings(text):
    return [match[0] for match in WARNED.finditer(text)]


def release():
    words = subprocess.run(["nvcc", "--version"], capture_output=True, text=True, check=False).stdout
    match = re.search(r"V(\d+\.\d+\.\d+)", words)
    return match[1] if match else "unknown"


def expected_names():
    """The kernels of kernels.def, for all their types."""
    rows = re.findall(r"^KERNEL(_LOGITS)?\(\w+, (\w+)\)", DEF.read_text(encoding="utf-8"),
                      re.MULTILINE)
    return {f"kp_{row}_{dtype}" for logits, row in rows
            for dtype in ("bf16", "fp16", *(["fp32"] if logits else []))}


def read_table():
    lines = TABLE.read_text(encoding="utf-8").splitlines()
    chips = lines[1].split("\t")[1:]
    rows = {}
    for line in lines[2:]:
        name, *registers = line.split("\t")
        rows.update({(name, chip): int(value) for chip, value in zip(chips, registers)
                     if value != "-"})
    return lines[0].removeprefix("# nvcc "), rows


def write_table(found, nvcc):
    chips = sorted({chip for _, chip in found}, key=lambda chip: int(re.sub(r"\D", "", chip)))
    lines = [f"# nvcc {nvcc}", "\t".join(["registers a thread", *chips])]
    for name in sorted({name for name, _ in found}):
        cells = [str(found[name, chip][0]) if (name, chip) in found else "-" for chip in chips]
        lines.append("\t".join([name, *cells]))
    TABLE.write_text("\n".join(lines) + "\n", encoding="utf-8")


def troubles(found, nvcc):
    out = [f"{name} for sm_{chip}: {memory} bytes of stack frame and spills"
           for (name, chip), (_, memory) in found.items() if memory]
    names = {name for name, _ in found}
    out += [f"{name}: in kernels.def, and in no report" for name in expected_names() - names]
    recorded_nvcc, recorded = read_table()
    if recorded_nvcc != nvcc:
        print(f"nvcc {nvcc}; the registers of resources.tsv are those of {recorded_nvcc}")
        return out
    out += [f"{name} for sm_{chip}: {registers} registers, {recorded.get((name, chip))} recorded"
            for (name, chip), (registers, _) in found.items()
            if recorded.get((name, chip)) != registers]
    return out


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--update", action="store_true")
    parser.add_argument("--nvcc", default=None, help="the release, instead of asking nvcc")
    arguments = parser.parse_args()
    nvcc = arguments.nvcc or release()
    found, warned = {}, []
    for path in sorted(arguments.folder.glob("*.ptxas")):
        text = path.read_text(encoding="utf-8")
        found.update(parse(text))
        warned += [f"{path.name}: {warning}" for warning in warnings(text)]
    found = {key: value for key, value in found.items() if key[0] in expected_names()}
    if arguments.update:
        write_table(found, nvcc)
    failures = warned + troubles(found, nvcc)
    print("\n".join(failures[:40]) or f"{len(found)} kernels without stack frame or spill")
    return 1 if failures or not found else 0


if __name__ == "__main__":
    sys.exit(main())
