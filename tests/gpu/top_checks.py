"""The checks of kprof top on a real GPU: exact totals, and what being watched costs; rows of
checks.py."""

import re

from compare import median
from runner import Check, require

RUNS = 5
COST = 1.005  # of the time of a token under kprof record


def calls_of(screen):
    """The column Calls of the screen's rows."""
    lines = screen.splitlines()
    head = next(i for i, line in enumerate(lines) if "Share" in line and " Calls " in line)
    end = lines[head].index("Calls ", lines[head].index("Calls/s") + 7) + 5
    counts = []
    for line in lines[head + 1:]:
        count = re.search(r"[\d,]+$", line[:end])
        if not count:
            break
        counts.append(int(count.group().replace(",", "")))
    return counts


def rows(sample, need_torch, torch, exact):
    """The arguments are checks.py's functions, its command for PyTorch, and options of llm_decode
    by which it counts its launches exactly."""
    def totals(options):
        def check(bench):
            ran = bench.run([bench.build / "kprof", "top", "--charset", "utf-8", "--size", "200x200",
                             "--keys", "t,t", "--frames", "0", "--", sample(bench, "llm_decode"),
                             *exact, *options])
            shown, issued = calls_of(ran.text()), ran.number("kernel_launches")
            require(sum(shown) == issued, f"{sum(shown)} shown, {issued} issued")
            return f"{issued} launches of {len(shown)} kernels"
        return check

    def cost(bench):
        need_torch(bench)
        program = [*torch, "--graph", "--rounds", "16"]
        ways = {"record": ["record", "-o", bench.folder / "run.kprof"], "top": ["top", "--frames", "0"]}
        times = {way: [] for way in ways}
        for _ in range(RUNS):
            for way, words in ways.items():
                ran = bench.run([bench.build / "kprof", *words, "--", *program])
                found = re.search(r"^decode: ([\d.]+) ms an iteration", ran.stderr.decode(), re.M)
                require(found, "no time in the output")
                times[way].append(float(found[1]))
        ratio = median(times["top"]) / median(times["record"])
        require(ratio <= COST, f"{ratio:.4f} of the time under kprof record")
        return f"a token {median(times['top']):.4f} ms, {100 * (ratio - 1):+.2f} % against record"

    def switch(bench):
        """A rule goes off and on while a graph is launched: its states, and what comes of it."""
        waits = ",".join(["Wait"] * 6)
        ran = bench.run([bench.build / "kprof", "top", "--charset", "utf-8", "--size", "200x50",
                         "--rule", "linear-skinny", "--keys",
                         f"{waits},5,P,x,{waits},P,x,{waits},P", "--", sample(bench, "llm_decode"),
                         "--graph", "--steps", "16000", "--batch", "1"])
        cells = [re.search(r"^>(\S+) +([\d,.-]+) +([\d,.-]+) +(\S+) .* linear-skinny$", part, re.M)
                 for part in re.split(r"(?m)^(?= llm_decode )", ran.text())[1:4]]
        require(len(cells) == 3 and all(cells), ran.text())
        states = [found[1] for found in cells]
        require(states == ["on", "off", "on"], f"{states}")
        require(all(found[4].endswith("%") for found in cells[1:]), ran.text())
        return f"off {cells[1][4]} launches that it fits a second, on again {cells[2][4]}"

    return [
        Check("top-totals", 120, totals([]), "kprof top: launches shown = issued, eager"),
        Check("top-totals-graph", 120, totals(["--graph"]), "the same in a CUDA graph"),
        Check("top-switch", 240, switch,
              "kprof top: a rule of A/B switched off and on under a graph"),
        Check("top-cost", 400, cost, "kprof top: 0.5 % beyond kprof record at most, CUDA graph"),
    ]
