#!/usr/bin/env python3
"""No line of a text report is wider than the terminal: every view of every recorded trace.

    tests/golden/widths.py KPROF

Fails with the first line of each view that is wider than 80 columns.
"""

import re
import subprocess
import sys
import unicodedata
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
COLUMNS = 80
# All parts below the ranking, and the tables that exclude each other.
PARTS = ["--shapes", "--gaps", "--fusion", "--iterations", "auto", "--findings", "--roofline"]
# A program that was recorded again: other numbers, no other report.
AGAIN = re.compile(r"traffic_\w+_(again|\d)\.kprof")
VIEWS = [
    ["report", "--by", "operator", *PARTS],
    ["report", "--by", "kernel", "--shares", "--names", "full", "--top", "0", *PARTS],
    ["report", "--by", "variant", "--shares", "--threshold", "1"],
    ["report", "--by", "process"],
    ["report", "--by", "range"],
]


def width(line):
    return sum(0 if unicodedata.combining(character) else
               2 if unicodedata.east_asian_width(character) in "WF" else 1 for character in line)


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    traces = sorted(path for folder in ("samples/traces", "tests/operators", "tests/recorded")
                    for path in (ROOT / folder).glob("*.kprof")
                    if not AGAIN.fullmatch(path.name))
    wrong = 0
    for trace in traces:
        for view in VIEWS:
            made = subprocess.run([sys.argv[1], *view, trace], check=True, stdout=subprocess.PIPE,
                                  env={"COLUMNS": str(COLUMNS), "LC_ALL": "C.UTF-8",
                                       "PATH": "/usr/bin:/bin"})
            wide = [line for line in made.stdout.decode().splitlines() if width(line) > COLUMNS]
            if wide:
                wrong += 1
                print(f"{trace.relative_to(ROOT)} {' '.join(view)}: {len(wide)} lines, as\n"
                      f"{width(wide[0]):4} {wide[0]}")
    print(f"{len(traces)} traces, {len(VIEWS)} views of each, {wrong} wrong")
    sys.exit(1 if wrong or not traces else 0)


if __name__ == "__main__":
    main()
