"""The checks of idle time, iterations and the gain of CUDA graphs on a real GPU; rows of checks.py."""

from runner import Check, require

STEPS = 200
SLACK = 0.2  # of the measured gain
PATH_PARTS = ("kernel_ns", "memory_ns", "idle_ns", "others_ns", "hidden_ns")
SPINS = 5000  # launches
HOST_RUNS, GPU_RUNS = 8, 2  # in turns, of which the quickest counts; the host's pace varies by tenths
HIDDEN_SHOWS = 0.5  # of added time, at most, in the span: the host's own pace varies


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


def path_of(seen):
    """The critical path of the one GPU, whose parts must add up to its span; parts of the span."""
    path, span_ns = seen.document["idle"][0]["critical_path"], seen.document["gpus"][0]["span_ns"]
    told = sum(path[name] for name in PATH_PARTS)
    require(told == span_ns, f"the path's parts add up to {told} ns, the span is {span_ns}")
    return {name: path[name] / span_ns for name in PATH_PARTS}


def slowed(fast, slow, on_path):
    """The (kernel time, span) of a program and of one whose kernels are longer: on the path all of
    that shows in the span, hidden hardly any; a few words."""
    added, longer = slow[0] - fast[0], slow[1] - fast[1]
    words = f"{added / 1e6:.2f} ms more of kernels, {longer / 1e6:.2f} ms more of span"
    require(added > 0, f"{words}: kernels are not longer")
    if on_path:
        require(0.9 * added <= longer <= 1.2 * added, f"{words}: not on the path")
    else:
        require(longer <= HIDDEN_SHOWS * added, f"{words}: not hidden")
    return words


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

    def spin(bench, length_us):
        """Kernel time, span, and the path of it."""
        _, seen = record_with(bench, [], [sample(bench, "spin"), "--spin-us", str(length_us),
                                          "--spin-count", str(SPINS)])
        totals = seen.document["totals"]
        return totals["kernel_time_ns"], totals["span_ns"], path_of(seen)

    def quickest(bench, lengths_us, runs):
        """Of each length the run of the least span."""
        turns = [[spin(bench, length_us) for length_us in lengths_us] for _ in range(runs)]
        return [min(column, key=lambda run: run[1]) for column in zip(*turns)]

    def path(bench):
        empty, one = quickest(bench, (0, 1), HOST_RUNS)
        long, longer = quickest(bench, (20, 40), GPU_RUNS)
        words = [f"{name}: kernels {100 * run[2]['kernel_ns']:.0f} % on the path, "
                 f"{100 * run[2]['hidden_ns']:.0f} % hidden"
                 for name, run in (("0 us", empty), ("20 us", long))]
        require(empty[2]["hidden_ns"] > 5 * empty[2]["kernel_ns"], f"{words[0]}: launches set the pace")
        require(long[2]["kernel_ns"] > 0.9, f"{words[1]}: kernels set the pace")
        return "; ".join([*words, slowed(empty, one, False), slowed(long, longer, True)])

    return [
        Check("critical-path", 120, path,
              "kernels behind late launches cost nothing when longer; those on the path all of it"),
        Check("graph-gain", 180, of_sample([]), "the gain of a graph: promised and measured"),
        Check("graph-gain-host", 180, of_sample(["--host"]), "the same, launches measured"),
        Check("graph-gain-torch", 300, of_torch, "the same, PyTorch"),
    ]
