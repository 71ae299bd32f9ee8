"""The arithmetic of tests/gpu/overhead: samples of cells to a table with verdicts. Pure functions.

A cell is one workload (row) under one tool (column). Its samples come from passes: in a pass every
column of a row runs once, so that a sample of one tool has one of every other tool beside it in
time. Ratios are taken within a pass, and their median is what counts: a machine that is slower in
one minute than in the next does not shift them.

A verdict needs an interval that holds the true median with 95 % confidence and lies on one side of
the limit. Passes that share their processes are a set, for what a process got at its start, such as
its places in memory, stays with it: each set has an interval of its own, and all must agree.
"""

import dataclasses
import math

from compare import median
from runner import Skip

CONFIDENCE = 0.95
RANKS_FROM = 6  # of fewer numbers than this, not even the extremes hold the median so surely
STUDENT = {2: 12.706, 3: 4.303, 4: 3.182, 5: 2.776}  # t of so many numbers, two-sided


@dataclasses.dataclass
class Cell:
    """What was measured of one tool on one workload: {(set, pass): value}, and why nothing was."""

    samples: dict = dataclasses.field(default_factory=dict)
    reason: str = ""

    @property
    def values(self):
        return list(self.samples.values())

    def give_up(self, reason):
        """It is not tried again."""
        skipped = isinstance(reason, Skip)
        self.reason = f"{'not measured' if skipped else 'failed'}: {reason}"


@dataclasses.dataclass(frozen=True)
class Target:
    """A promise on a row (any of `rows`; empty: all) about the column `column`."""

    column: str
    rows: tuple
    what: str      # "ratio": column / against; "added": (column - bare) / (against - bare); or
                   # "value": the samples themselves, in the unit `against`
    against: str
    limit: float

    def text(self):
        if self.what == "value":
            return f"≤ {self.limit:g} {self.against}"
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
    """{(set, pass): cell / other} of what has both; with a base, (cell - base) / (other - base).

    Where the other's cost does not even show, the ratio is infinite: it speaks for nobody's cost.
    """
    ratios = {}
    for key, value in cell.samples.items():
        if key not in other.samples or (base and key not in base.samples):
            continue
        zero = base.samples[key] if base else 0.0
        below = other.samples[key] - zero
        ratios[key] = (value - zero) / below if below > 0 else math.inf
    return ratios


def rank(count):
    """The largest k such that the k-th smallest and the k-th largest of `count` hold the median."""
    outside, k = 0.0, 0
    while True:
        outside += 2 * math.comb(count, k) / 2**count
        if outside > 1 - CONFIDENCE:
            return k
        k += 1


def interval(numbers):
    """Holds the median of what the numbers are drawn from; None: too few to say.

    By ranks, whatever the distribution; of very few numbers by Student's t, as if it were normal.
    """
    ordered, count = sorted(numbers), len(numbers)
    if count >= RANKS_FROM:
        k = rank(count)
        return ordered[k - 1], ordered[count - k]
    if count < 2:
        return None
    if math.isinf(ordered[-1]):
        return -math.inf, math.inf
    mean = sum(ordered) / count
    deviation = math.sqrt(sum((value - mean) ** 2 for value in ordered) / (count - 1))
    half = STUDENT[count] * deviation / math.sqrt(count)
    return mean - half, mean + half


def envelope(ratios):
    """From the lowest to the highest end of the intervals of all sets; None: one has none."""
    sets = {}
    for (number, _), ratio in ratios.items():
        sets.setdefault(number, []).append(ratio)
    ends = [interval(numbers) for numbers in sets.values()]
    if not ends or None in ends:
        return None
    return min(low for low, _ in ends), max(high for _, high in ends)


def verdict(target, cells):
    """(word, text): «met», «missed», or «unknown»: the limit lies within the interval."""
    bare = cells.get("bare", Cell())
    cell, other = cells.get(target.column, Cell()), cells.get(target.against, Cell())
    ratios = cell.samples if target.what == "value" else paired(
        cell, other, bare if target.what == "added" else None)
    if not ratios:
        return "unknown", f"{target.text()}: not measured"
    ends = envelope(ratios)
    if not ends or ends[0] <= target.limit < ends[1]:
        word = "unknown"
    else:
        word = "met" if ends[1] <= target.limit else "missed"
    return word, f"{target.text()}: {word} ({ratio_text(ratios)})"


def number(value):
    """Four significant digits, without an exponent."""
    if value == 0:
        return "0"
    digits = 4 - len(str(int(abs(value)))) if abs(value) >= 1 else 4
    return f"{value:.{max(0, digits)}f}"


def ratio_text(ratios):
    """The median and what it is sure to lie in, as far as that is known."""
    if not ratios:
        return "–"
    ends = envelope(ratios)
    sure = f"; {ends[0]:.3f}…{ends[1]:.3f}" if ends else ""
    return f"{median(ratios.values()):.3f}{sure}"


def table_rows(workload, unit, cells, targets):
    """The lines of one workload in the table, one a tool."""
    bare, raw = cells.get("bare", Cell()), cells.get("raw", Cell())
    for column, cell in cells.items():
        if not cell.values:
            yield [workload, column, *["–"] * 5, "0", cell.reason or "the budget was spent"]
            continue
        low, high = quartiles(cell.values)
        added = [value - bare.samples[at] for at, value in cell.samples.items()
                 if at in bare.samples]
        words = [verdict(target, cells)[1] for target in targets
                 if target.column == column and (not target.rows or workload in target.rows)]
        if cell.reason:
            words.append(f"later {cell.reason}")
        yield [workload, column, f"{number(median(cell.values))} {unit}",
               f"{number(low)}…{number(high)}" if len(cell.values) > 1 else "–",
               number(median(added)) if added and column != "bare" else "–",
               ratio_text(paired(cell, bare)) if column != "bare" else "1",
               ratio_text(paired(cell, raw)) if column != "raw" else "1",
               str(len(cell.values)), "; ".join(words)]


HEADER = ["workload", "tool", "median", "quartiles", "added", "× bare", "× raw CUPTI", "n",
          "verdict"]


def markdown(title, facts, lines):
    page = [f"# {title}", ""]
    page += [f"- {name}: {value}" for name, value in facts]
    page += ["", "| " + " | ".join(HEADER) + " |", "|" + "---|" * len(HEADER)]
    page += ["| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in line) + " |"
             for line in lines]
    return "\n".join(page) + "\n"
