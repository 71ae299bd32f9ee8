#!/usr/bin/env python3
"""What kprof's hooks cost a launch, in instructions, counted by callgrind on the fake driver.

    test_hook_cost.py --build DIR      status 1 if a limit is exceeded, 77 without valgrind

Instructions are exact and repeat, where times on a shared machine do not. What is counted is all
that runs between a program's call into libkprof_inject and its return, without what the driver
or cuBLAS does when the hook calls it: of callgrind's call edges, those from the program and cuBLAS
into kprof less those from kprof into libcuda and cuBLAS. Two runs, with N and 2N calls, take out what happens once.
"""

import argparse
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass

CALLS = 2000
LIMIT = 150  # instructions a launch when nothing is to be done
RANGE_LIMIT = 400  # once the program has opened a range
HOST_LIMIT = 400  # with --host, the clock's own instructions aside
AB_LIMIT = 250  # with rules of replacement that do not fit
SEQUENCE_LIMIT = 2000  # where sequences begin and break off all the time
RECOGNISED_LIMIT = 3500  # the same, where launches may begin several kinds that are recognised
AB_OTHER_LIMIT = 350  # with sequences that do not fit
CALL_LIMIT = 700  # a call of cuBLAS and its launch
KNOWN_LIMIT = 550  # a launch whose parameters are known
MATMUL_LIMIT = 1200  # of cuBLASLt, what its own functions for descriptors do aside
SKIPPED = 77


@dataclass
class Row:
    door: str
    work: str
    limit: int  # None: reported only
    options: tuple = ()
    command: str = "record"
    rules: str = None  # text of a file of rules

    @property
    def name(self):
        return " ".join((self.work, "by", self.door, *self.options,
                         *(("under", "kprof", self.command) if self.command != "record" else ()),
                         *(("with", "a", "sequence") if self.rules else ())))


SEQUENCE = """rules:
- name: two
  hold_us: 10000000
  sequence:
  - {name: first, kernel: seq_first, parameters: [8, 8, 8, 4],
     reads: [{buffer: x, address: ptr(1), bytes: u64(2)}],
     writes: [{buffer: y, address: ptr(0), bytes: u64(2)}]}
  - {name: second, kernel: seq_second, parameters: [8, 8],
     reads: [{buffer: y, address: ptr(0), bytes: u64(1)}],
     writes: [{buffer: y, address: ptr(0), bytes: u64(1)}]}
  replace: {library: none.so, entry: none, arguments: [{ptr: first.ptr(0)}]}
  outputs: [{name: y, address: first.ptr(0), dtype: fp32, rows: 1, columns: first.u64(2) / 4}]
"""

ROWS = [
    Row("link", "launch", LIMIT, ("--calls", "off")),
    Row("dlsym", "launch", LIMIT),
    Row("address", "launch", LIMIT),
    Row("link", "capture", None),
    Row("address", "capture", None),
    Row("link", "graph", LIMIT),
    Row("address", "graph", LIMIT),
    Row("link", "range", RANGE_LIMIT),
    Row("link", "launch", HOST_LIMIT, ("--host",)),
    Row("address", "graph", HOST_LIMIT, ("--host",)),
    Row("link", "gemm", CALL_LIMIT),
    Row("link", "known", KNOWN_LIMIT),
    Row("link", "matmul", MATMUL_LIMIT),
    Row("link", "launch", AB_LIMIT, command="ab"),
    Row("address", "launch", AB_LIMIT, command="ab"),
    Row("link", "launch", AB_OTHER_LIMIT, command="ab", rules=SEQUENCE),
    Row("link", "broken", SEQUENCE_LIMIT, command="ab", rules=SEQUENCE),
    Row("link", "broken_by_calls", SEQUENCE_LIMIT, command="ab", rules=SEQUENCE),
    Row("link", "launch", AB_OTHER_LIMIT, ("--unseen",), command="ab"),
    Row("link", "recognised", RECOGNISED_LIMIT, ("--unseen",), command="ab"),
]


class Broken(Exception):
    """Nothing could be measured."""


class Names:
    """Callgrind's compressed names: «(3) text» gives number 3 its text, «(3)» repeats it."""

    def __init__(self):
        self.texts = {}

    def resolve(self, value):
        number, text = re.fullmatch(r"\((\d+)\)(?: (.*))?", value).groups()
        if text is not None:
            self.texts[number] = text
        return self.texts[number]


def edges(lines):
    """Yields (caller's object, callee's object, calls, inclusive instructions) of a profile."""
    objects = Names()
    here = there = ""
    calls = None
    for line in lines:
        line = line.rstrip("\n")
        if calls is not None:  # the line after calls= holds the inclusive cost
            yield here, there, calls, int(line.split()[1])
            calls, there = None, here
        elif line.startswith("ob="):
            here = there = objects.resolve(line[3:])
        elif line.startswith("cob="):
            there = objects.resolve(line[4:])
        elif line.startswith("calls="):
            calls = int(line[6:].split()[0])


def cost(lines, program):
    """(instructions in kprof without the driver's, calls into kprof) of one profile."""
    total = entries = 0
    for caller, callee, calls, instructions in edges(lines):
        from_name, to_name = os.path.basename(caller), os.path.basename(callee)
        if to_name == "libkprof_inject.so" and from_name.startswith((program, "libcublas")):
            total += instructions
            entries += calls if from_name == program else 0
        elif from_name == "libkprof_inject.so" and to_name.startswith(("libcuda.so", "libcublas")):
            total -= instructions
    return total, entries


def profile(build, row, calls):
    """Runs the program under callgrind under kprof; its cost."""
    fakes = os.path.join(build, "tests", "fake_gpu")
    environment = {key: value for key, value in os.environ.items()
                   if not key.startswith(("KP", "CUDA_", "NVTX_", "LD_"))}
    environment["LD_LIBRARY_PATH"] = f"{fakes}/cuda:{fakes}/cupti"
    environment["KPROF_CANDIDATES_LIB"] = f"{fakes}/libfake_candidates.so"
    environment["KPROF_CUPTI"] = f"{fakes}/cupti/libcupti.so.13"
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "callgrind.%p")
        options = row.options
        if row.rules:
            path = os.path.join(folder, "rules.yaml")
            with open(path, "w", encoding="utf-8") as file:
                file.write(row.rules)
            options = ("--rules", path, *options)
        command = [os.path.join(build, "kprof"), row.command, *options,
                   "-o", os.path.join(folder, "trace.kprof"), "--",
                   "valgrind", "--tool=callgrind", "--quiet", f"--callgrind-out-file={out}",
                   os.path.join(fakes, "prog_calls"), row.door, row.work, str(calls)]
        done = subprocess.run(command, env=environment, stdin=subprocess.DEVNULL, check=False,
                              stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, timeout=120)
        if done.returncode != (122 if row.command == "ab" else 0):  # 122: nothing was replaced
            raise Broken(f"status {done.returncode}: {done.stderr.decode('utf-8', 'replace')}")
        for path in glob.glob(os.path.join(folder, "callgrind.*")):
            with open(path, encoding="utf-8", errors="replace") as file:
                lines = file.readlines()
            if any(re.match(r"cmd: +\S*/prog_calls ", line) for line in lines[:20]):
                return cost(lines, "prog_calls")
    raise Broken("callgrind left no profile of prog_calls")


def measure(build, row):
    """Instructions a call."""
    once, once_entries = profile(build, row, CALLS)
    twice, twice_entries = profile(build, row, 2 * CALLS)
    if twice_entries - once_entries != CALLS:
        raise Broken(f"{twice_entries - once_entries} of {CALLS} calls came through a hook")
    return (twice - once) / CALLS


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", required=True)
    build = os.path.abspath(parser.parse_args().build)
    if not shutil.which("valgrind"):
        print("no valgrind")
        return SKIPPED
    failed = False
    for row in ROWS:
        try:
            instructions = measure(build, row)
            good = row.limit is None or 0 < instructions <= row.limit
            words = f"{instructions:.1f} instructions a call"
        except (Broken, subprocess.TimeoutExpired) as error:
            good, words = False, str(error)
        failed |= not good
        print(f"{'PASS' if good else 'FAIL'} {row.name}: {words}"
              f"{f', at most {row.limit}' if row.limit else ''}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
