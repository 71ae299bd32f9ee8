"""The arithmetic of tests/gpu/overhead: samples of cells to a table with verdicts. Pure functions.

A cell is one workload (row) under one tool (column). Its samples come from passes: in a pass every
column of a row runs once, so that a sample of one tool has one of every other tool beside it in
time. Ratios are taken within a pass, and their median is what counts: a machine that is slower in
one minute than in the next does not shift them.
"""

import dataclasses

from compare import median


@dataclasses.dataclass
class Cell:
    """What was measured of one tool on one workload: {pass: value}, and why nothing was."""

    samples: dict = dataclasses.field(default_factory=dict)
    reason: str = ""

    @property
    def values(self):
        return list(self.samples.values())


@dataclasses.dataclass(frozen=True)
class Target:
    """A promise on a row (any of `rows`; empty: all) about the column `column`."""

    column: str
    rows: tuple
    what: str      # "ratio": column / against; "added": (column - bare) / (against - bare)
    against: str
    limit: float

    def text(self):
        if self.what == "added":
            return f"added ≤ {self.limit:g} × {self.against}'s"
        if self.against == "bare":
            return f"≤ +{100 * (self.limit - 1):.3g} %"
        return f"≤ {self.limit:g} × {self.against}"


def quantile(numbers, part):
    """By linear interpolation between the ordered numbers."""
    ordered = sorted(numbers)
    at = part * (len(ordered) - 1)
    low = int(at)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (at - low) * (ordered[high] - ordered[low])


def quartiles(numbers):
    return quantile(numbers, 0.25), quantile(numbers, 0.75)


def paired(cell, other, base=None):
    """cell / other in every pass that has both; with a base, (cell - base) / (other - base)."""
    ratios = []
    for number, value in cell.samples.items():
        if number not in other.samples or (base and number not in base.samples):
            continue
        zero = base.samples[number] if base else 0.0
        if other.samples[number] > zero:
            ratios.append((value - zero) / (other.samples[number] - zero))
    return ratios


def verdict(target, cells):
    """(word, text): «met», «missed», «unclear» (the limit lies within the spread) or «unknown»."""
    bare = cells.get("bare", Cell())
    cell, other = cells.get(target.column, Cell()), cells.get(target.against, Cell())
    ratios = paired(cell, other, bare if target.what == "added" else None)
    if not ratios:
        return "unknown", f"{target.text()}: not measured"
    middle = median(ratios)
    low, high = quartiles(ratios)
    if low <= target.limit < high:
        word = "unclear"
    else:
        word = "met" if middle <= target.limit else "missed"
    spread = f"{low:.3f}…{high:.3f}" if len(ratios) > 1 else "one pass"
    return word, f"{target.text()}: {word} ({middle:.3f}; {spread})"


def number(value):
    """Four significant digits, without an exponent."""
    if value == 0:
        return "0"
    digits = 4 - len(str(int(abs(value)))) if abs(value) >= 1 else 4
    return f"{value:.{max(0, digits)}f}"


def ratio_text(ratios):
    return f"{median(ratios):.3f}" if ratios else "–"


def table_rows(workload, unit, cells, targets):
    """The lines of one workload in the table, one a tool."""
    bare, raw = cells.get("bare", Cell()), cells.get("raw", Cell())
    for column, cell in cells.items():
        if not cell.values:
            reason = cell.reason or "the budget was spent"
            yield [workload, column, "–", "–", "–", "–", "–", "0", f"failed: {reason}"]
            continue
        low, high = quartiles(cell.values)
        added = [value - bare.samples[at] for at, value in cell.samples.items()
                 if at in bare.samples]
        words = [verdict(target, cells)[1] for target in targets
                 if target.column == column and (not target.rows or workload in target.rows)]
        if cell.reason:
            words.append(f"later failed: {cell.reason}")
        yield [workload, column, f"{number(median(cell.values))} {unit}",
               number(high - low) if len(cell.values) > 1 else "–",
               number(median(added)) if added and column != "bare" else "–",
               ratio_text(paired(cell, bare)), ratio_text(paired(cell, raw)),
               str(len(cell.values)), "; ".join(words)]


HEADER = ["workload", "tool", "median", "IQR", "added", "× bare", "× raw CUPTI", "n", "verdict"]


def markdown(title, facts, lines):
    page = [f"# {title}", ""]
    page += [f"- {name}: {value}" for name, value in facts]
    page += ["", "| " + " | ".join(HEADER) + " |", "|" + "---|" * len(HEADER)]
    page += ["| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in line) + " |"
             for line in lines]
    return "\n".join(page) + "\n"
