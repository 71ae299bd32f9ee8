"""What the checks compare, as pure functions: no files, no commands. Tried out by test_compare.py.

Each returns what it measured in a few words, and raises Failure where that is not good enough.
"""

import dataclasses
import json
import re
import struct

from runner import Failure, require

CHUNK = struct.Struct("<4sBBBBIIIIQQQQQ")  # docs/trace-format.md: the header of a chunk
STRINGS, LAUNCHES = 7, 9


@dataclasses.dataclass
class Kernel:
    """All launches of one kernel."""

    calls: int
    total_ns: int

    @property
    def mean_ns(self):
        return self.total_ns / self.calls


def counts(recorded, issued, dropped):
    """Launches recorded are launches issued, and nothing was dropped or is unknown."""
    require(issued > 0, "the program issued no launches")
    require(recorded == issued, f"{recorded} launches recorded, {issued} issued")
    require(dropped == 0, f"records dropped: {'unknown' if dropped is None else dropped}")
    return f"{recorded} launches"


def same_output(bare, profiled):
    """stdout and exit status are the same with and without kprof, byte for byte."""
    require(profiled.status == bare.status,
            f"exit status {profiled.status} under kprof, {bare.status} without")
    if profiled.stdout != bare.stdout:
        pairs = zip(bare.stdout, profiled.stdout)
        shorter = min(len(bare.stdout), len(profiled.stdout))
        at = next((i for i, (a, b) in enumerate(pairs) if a != b), shorter)
        raise Failure(f"stdout differs from byte {at} on: {bare.log}.out, {profiled.log}.out")
    return f"{len(bare.stdout)} bytes, status {bare.status}"


def session_times(bare, profiled, tolerance_us=20):
    """Work lies no more before its launch, or outside its session, than without kprof."""
    words = []
    for what in ("early_us", "outside_us"):
        worst = [max(row[what] for row in json.loads(text)) for text in (bare, profiled)]
        require(worst[1] <= max(worst[0], 0) + tolerance_us,
                f"{what}: {worst[1]:.1f} with kprof, {worst[0]:.1f} without")
        words.append(f"{what} {worst[0]:.1f} → {worst[1]:.1f}")
    return ", ".join(words)


def parse_spins(text):
    """The lines «spin N … duration_ns D …» of samples/spin, and the step of its timer."""
    durations = [int(d) for d in re.findall(r"^spin \d+ .*\bduration_ns (\d+)", text, re.M)]
    step = re.search(r"^globaltimer_step_ns (\d+)$", text, re.M)
    require(durations and step, "no spin lines in the output of spin")
    return durations, int(step[1])


def spin_offsets(rows, tolerance_ns=100):
    """How much longer a kernel is for kprof than for itself must not depend on its length.

    rows: (nominal µs, mean by the kernel's own timer, mean by kprof, timer step), all ns but the
    first; the row of 0 µs gives what a launch adds by itself (the time before its first and after
    its last instruction). The kernel's own mean is good to one step of the GPU's timer.
    """
    base = next(kprof - own for nominal, own, kprof, step in rows if nominal == 0)
    words = [f"launch adds {base:.0f} ns"]
    for nominal, own, kprof, step in rows:
        error = kprof - own - base
        words.append(f"{nominal} µs: {error:+.0f} ns")
        require(abs(error) <= tolerance_ns + step,
                f"{', '.join(words)}: more than {tolerance_ns} ns (timer step {step} ns)")
    require(-tolerance_ns <= base <= 5000, f"{words[0]}: impossible")
    return f"{', '.join(words)} (timer step {rows[0][3]} ns)"


def graph_time(event_ns, span_ns, hold_ns, nodes_ns, tolerance_pct=1.0):
    """Around a graph: events against first start to last end without the kernel that held it up."""
    seen_ns = span_ns - hold_ns
    error_pct = 100 * (seen_ns - event_ns) / event_ns
    words = (f"events {event_ns / 1e3:.1f} µs, kprof {seen_ns / 1e3:.1f} µs ({error_pct:+.2f} %), "
             f"gaps {100 * (seen_ns - nodes_ns) / seen_ns:.1f} %")
    require(abs(error_pct) <= tolerance_pct, f"{words}: more than {tolerance_pct} %")
    require(0 < nodes_ns <= seen_ns, f"{words}: the nodes run longer than their span")
    return words


def parse_torch(text):
    """What samples/torch_decode.py --profile wrote: {name: Kernel}, by total time."""
    rows = {name: Kernel(row["calls"], row["total_ns"]) for name, row in json.loads(text).items()}
    return dict(sorted(rows.items(), key=lambda item: -item[1].total_ns))


def median_means(runs):
    """Of several {name: Kernel}: the median of the mean durations, in the order of the first."""
    return {name: median(run[name].mean_ns for run in runs if name in run) for name in runs[0]}


def same_kernels(theirs, ours):
    """Both are {kernel name: calls}; every name has the same count."""
    wrong = [f"«{name[:60]}» {theirs.get(name, 0)} there, {ours.get(name, 0)} here"
             for name in sorted(theirs.keys() | ours.keys())
             if theirs.get(name, 0) != ours.get(name, 0)]
    require(theirs, "torch.profiler saw no kernels")
    require(not wrong, f"{len(wrong)} of {len(theirs)} names differ: {'; '.join(wrong[:3])}")
    return f"{len(theirs)} kernels, {sum(theirs.values())} launches"


def top_kernels(theirs, ours, count=10, tolerance_pct=3.0):
    """Both are {kernel name: average ns}; theirs in order of total time, largest first."""
    worst, at = 0.0, ""
    for name in list(theirs)[:count]:
        require(name in ours, f"«{name[:80]}» is not in kprof's report")
        error_pct = 100 * (ours[name] - theirs[name]) / theirs[name]
        if abs(error_pct) >= abs(worst):
            worst, at = error_pct, name
    words = f"largest difference of the top {min(count, len(theirs))}: {worst:+.2f} %"
    require(abs(worst) <= tolerance_pct, f"{words} («{at[:80]}»)")
    return words


def chunks(data):
    """The chunks of a trace: (kind, records, bytes with the header)."""
    at = 0
    while at < len(data):
        require(len(data) - at >= CHUNK.size and data[at:at + 4] == b"KPRF",
                f"no chunk at byte {at} of the trace")
        header = CHUNK.unpack_from(data, at)
        length = CHUNK.size + header[5]
        yield header[1], header[7], length
        at += length
    require(at == len(data), "the last chunk of the trace is torn")


def bytes_a_launch(data, limit=4.0):
    """The size of a trace over its launches, the names aside."""
    rows = list(chunks(data))
    launches = sum(records for kind, records, _ in rows if kind == LAUNCHES)
    names = sum(length for kind, _, length in rows if kind == STRINGS)
    require(launches > 0, "no launches in the trace")
    each = (len(data) - names) / launches
    words = (f"{each:.2f} bytes a launch ({launches} launches, {len(data)} bytes, "
             f"{names} of them names)")
    require(each <= limit, f"{words}: more than {limit:g}")
    return words


def median(numbers):
    ordered = sorted(numbers)
    middle = len(ordered) // 2
    return ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2
