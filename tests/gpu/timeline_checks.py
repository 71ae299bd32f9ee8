"""The checks of idle time, iterations and the gain of CUDA graphs on a real GPU; rows of checks.py."""

from runner import Check, require

STEPS = 200
SLACK = 0.2  # of the measured gain


def iterations(seen, at_least):
    """The one row of iterations, of which there must be enough."""
    rows = seen.document["iterations"]
    require(len(rows) == 1, f"{len(rows)} rows of iterations, not 1")
    require(rows[0]["count"] + rows[0]["warmup"] >= at_least,
            f"{rows[0]['count']} iterations found of {STEPS}")
    return rows[0]


def sums(seen):
    """Causes add up to the time in which no kernel ran."""
    for idle, gpu in zip(seen.document["idle"], seen.document["gpus"]):
        told = sum(cause["total_ns"] for cause in idle["causes"])
        require(told == gpu["span_ns"] - gpu["busy_time_ns"],
                f"causes add up to {told} ns, idle are {gpu['span_ns'] - gpu['busy_time_ns']}")


def gain(eager, graph):
    """What a graph was said to save, at least and at most, against what it saved; a few words."""
    before = eager["wall_ns"]["median"]
    saved = before - graph["wall_ns"]["median"]
    low = eager["graph_gain_per_iteration"]["low_ns"]
    high = eager["graph_gain_per_iteration"]["high_ns"]
    words = (f"{before / 1e6:.3f} ms, promised to save {low / 1e6:.3f} to {high / 1e6:.3f}, "
             f"saved {saved / 1e6:.3f}")
    require(eager["launches_per_iteration"]["launch_bound"], f"{words}: not called launch-bound")
    require(not graph["launches_per_iteration"]["launch_bound"],
            f"{words}: the graph is called launch-bound")
    require(low * (1 - SLACK) <= saved <= high * (1 + SLACK), words)
    return words


def rows(sample, record_with, need_torch, torch):
    """The rows of checks.py; the arguments are its functions and its command for PyTorch."""
    def pair(bench, command, options):
        seen = []
        for shape in ([], ["--graph"]):
            _, report = record_with(bench, options, [*command, *shape, "--steps", str(STEPS)])
            sums(report)
            seen.append(iterations(report, STEPS - 2))
        return seen

    def of_sample(options):
        def check(bench):
            eager, graph = pair(bench, [sample(bench, "llm_decode")], options)
            source = eager["launches_per_iteration"]["source"]
            require(source == ("measured" if options else "inferred"), f"launches {source}")
            return gain(eager, graph)
        return check

    def of_torch(bench):
        need_torch(bench)
        return gain(*pair(bench, torch, []))

    return [
        Check("graph-gain", 180, of_sample([]), "the gain of a graph: promised and measured"),
        Check("graph-gain-host", 180, of_sample(["--host"]), "the same, launches measured"),
        Check("graph-gain-torch", 300, of_torch, "the same, PyTorch"),
    ]
