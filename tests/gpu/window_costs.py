"""What the windows of --duty cost, one by one: tokens in and around a window against their neighbours.

A machine whose speed changes by more than the cost in question cannot show it by comparing runs. But
it seldom changes within half a second: what a window costs is the time that its tokens took beyond
what those just before and after took. Pure functions.
"""

from compare import median

MARGIN_NS = 30_000_000  # what switching may still disturb before and after
NEIGHBOURS = 40         # tokens on each side


def region(window):
    """From when the program may first notice a window until it has left."""
    return (window["begin_ns"] - window["on_cost_ns"] - MARGIN_NS,
            window["end_ns"] + window["off_cost_ns"] + MARGIN_NS)


def excess_ns(tokens, window):
    """tokens: (begin, end) in order. None: too few of them around the window."""
    begin_ns, end_ns = region(window)
    inside = [at for at, token in enumerate(tokens) if token[1] > begin_ns and token[0] < end_ns]
    if not inside or inside[0] < NEIGHBOURS or inside[-1] + NEIGHBOURS >= len(tokens):
        return None
    around = tokens[inside[0] - NEIGHBOURS:inside[0]] + \
        tokens[inside[-1] + 1:inside[-1] + 1 + NEIGHBOURS]
    usual_ns = median(end - begin for begin, end in around)
    return sum(tokens[at][1] - tokens[at][0] - usual_ns for at in inside)


def percents(tokens, windows):
    """Of each window that CUPTI left: its cost as a part of the time from one to the next."""
    left = [window for window in windows if window["detached"]]
    if len(left) < 2:
        return []
    period_ns = (left[-1]["begin_ns"] - left[0]["begin_ns"]) / (len(left) - 1)
    costs_ns = [excess_ns(tokens, window) for window in left]
    return [100 * cost_ns / period_ns for cost_ns in costs_ns if cost_ns is not None]
