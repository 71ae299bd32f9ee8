"""Scenarios of kprof ab with sequences that are recognised by what launches do: a part of ab.py."""

import os
import re

from ab import run_ab, suggest
from harness import require, require_equal
from scenario import Scenario

NORM = """- name: {name}
  recognise: '{kind}'
  hold_us: 10000000
{unseen}  when: dtype == bf16
  replace:
    library: {library}
    entry: norm
    arguments: [{{ptr: {x}}}, {{i64: {x}_row}}, {{ptr: {b}}}, {{i64: {b_row}}}, {{ptr: weight}}, {{ptr: y}},
                {{ptr: {sum}}}, {{i64: rows}}, {{i64: columns}}, {{f64: eps}}, {{i64: {off}}}]
  inputs:
  - {{name: x, address: {x}, dtype: dtype, rows: rows, columns: columns, row_stride: {x}_row}}
  - {{name: b, address: {b}, dtype: dtype, rows: rows, columns: columns, row_stride: {b_row}}}
  - {{name: weight, address: weight, dtype: dtype, rows: 1, columns: columns}}
  outputs:
  - {{name: sum, address: {sum}, dtype: dtype, rows: rows, columns: columns}}
  - {{name: y, address: y, dtype: dtype, rows: rows, columns: columns, row_stride: y_row}}
  repeatable: true
"""
GATE = """- name: gate
  recognise: silu mul
  hold_us: 10000000
{unseen}  replace:
    library: {library}
    entry: gate
    arguments: [{{ptr: gate}}, {{i64: gate_row}}, {{ptr: up}}, {{i64: up_row}}, {{ptr: y}}, {{i64: rows}},
                {{i64: columns}}]
  inputs:
  - {{name: gate, address: gate, dtype: dtype, rows: rows, columns: columns, row_stride: gate_row}}
  - {{name: up, address: up, dtype: dtype, rows: rows, columns: columns, row_stride: up_row}}
  outputs:
  - {{name: y, address: y, dtype: dtype, rows: rows, columns: columns}}
  repeatable: true
"""
LONG = "    hold_us: 10000000\n"  # no timer comes in the way of a slow machine
ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
SWAP = ("--mode", "swap", "--again", "1000000")
GAMES = 10000
KINDS = ([], ["async"], ["mixed"], ["mixed"])  # of memory, by part
PARTS = len(KINDS)
NAMES = ("norm", "residual", "gate")
# What ends the holding of launches in games that are not calm.
CAUSES = ("flow", "overlap", "other_launch", "other_stream", "other_call")
# Functions of the driver that must not be called past what is held: some game shows it.
ORDERED = ("cuLaunchKernelEx", "cuMemcpyDtoDAsync", "cuMemsetD8Async")
PAST_GAMES = 300


def rules(place, unseen="  unseen: true\n", off="0"):
    more = {"library": os.path.join(place.fakes, "libcandidate_torch.so"), "unseen": unseen}
    return ("rules:\n" +
            NORM.format(name="residual", kind="residual, rms norm", x="a", b="b", b_row="b_row",
                        sum="sum", off=off, **more) +
            NORM.format(name="norm", kind="rms norm", x="x", b="0", b_row="columns", sum="0", off=off,
                        **more) +
            GATE.format(**more))


def run_games(scenario, place, args, options=SWAP, status=0, same=True, **of_rules):
    return run_ab(scenario, place, args, options, rules(place, **of_rules), status, same,
                  program="prog_torch")


def play_part(part):
    """Programs by chance, on memory that is handed out again at once: all is as without kprof."""
    def play(scenario, place):
        count = GAMES // PARTS
        args = [*KINDS[part], str(1 + part * count), str(count)]
        outcome = run_games(scenario, place, args)
        for name in NAMES:
            rule = outcome.rule(name)
            launches = rule["launches"]
            require_equal(f"{name}: wrong", rule["comparisons_wrong"], 0)
            if KINDS[part]:
                require(launches["elided"] > 500, f"{name}: {launches}")
                require(launches["reissued"] > 10, f"{name}: {launches}")
            else:
                require_equal(f"{name}: never written", launches["elided"], 0)
        reasons = [sum(outcome.rule(name)["not_replaced"][cause] for name in NAMES)
                   for cause in CAUSES]
        require("async" in args or all(reasons), f"{dict(zip(CAUSES, reasons))}")
    return play


def play_calm(scenario, place):
    """On the driver's own allocator nothing of what lies between is ever written."""
    outcome = run_games(scenario, place, ["async", "calm", "1", "200"])
    for name in NAMES:
        launches = outcome.rule(name)["launches"]
        require(launches["elided"] == launches["replaced"] > 0, f"{name}: {launches}")
        require_equal(f"{name}: made after all", launches["reissued"], 0)


def play_alive(scenario, place):
    """What lies between is never given back to the driver: after a while it is left alone."""
    outcome = run_games(scenario, place, ["calm", "1", "500"])
    for name in NAMES:
        rule = outcome.rule(name)
        launches = rule["launches"]
        require_equal(f"{name}: never written", launches["elided"], 0)
        require(16 <= launches["reissued"] < 40, f"{name}: {launches}")
        require(rule["not_replaced"]["alive"] > 100, f"{name}: {rule['not_replaced']}")
    # A number a row lies where the squares were, as it does in PyTorch.
    require(outcome.rule("norm")["not_replaced"]["overlap"] > 0, f"{outcome.rule('norm')}")


def play_modes(scenario, place):
    """In shadow, and by turns with times, every comparison is right."""
    for options in (("--mode", "shadow", "--again", "3"), ("--mode", "measure", "--again", "10")):
        outcome = run_games(scenario, place, ["async", "1", "200"], options)
        for name in NAMES:
            rule = outcome.rule(name)
            require_equal(f"{name}: wrong", rule["comparisons_wrong"], 0)
            require(rule["comparisons"] >= 10, f"{name}: {rule['comparisons']} comparisons")


def play_wrong(scenario, place):
    """A replacement that is wrong is found, and the program never sees what it did."""
    outcome = run_games(scenario, place, ["async", "1", "200"], status=123, off="1")
    rule = outcome.rule("norm")
    require_equal("replaced", rule["launches"]["replaced"], 0)
    require(rule["comparisons_wrong"] > 0 and rule["fault"] == "mismatch", f"{rule['fault']}")


def play_unseen(scenario, place):
    """What was never seen on a GPU is left alone, unless the rule, or an option, allows it."""
    outcome = run_games(scenario, place, ["async", "1", "100"], status=122, unseen="")
    for name in NAMES:
        rule = outcome.rule(name)
        require(rule["not_replaced"]["unseen"] == rule["launches"]["seen"] > 0, f"{rule}")
    outcome = run_games(scenario, place, ["async", "1", "100"], (*SWAP, "--unseen"), unseen="")
    require(outcome.rule("gate")["launches"]["replaced"] > 0, f"{outcome.rule('gate')}")


def play_builtin(scenario, place):
    """kprof's own rules are off, until one is named; then its own kernels are right."""
    listed = place.run([place.kprof, "ab", "--list"], place.environment(scenario, traced=False))
    names = re.findall(r"^(\S+)$", listed.out.decode(), re.M)
    off = re.findall(r"--rule (\S+)", listed.out.decode())
    require("eager-rms-norm" in names, f"{names}")
    outcome = run_ab(scenario, place, ["async", "calm", "1", "60"], SWAP, status=None,
                     program="prog_torch", same=False)
    require_equal("rules that are on", [rule["name"] for rule in outcome.document["rules"]],
                  [name for name in names if name not in off])
    outcome = run_ab(scenario, place, ["async", "calm", "1", "60"],
                     ("--mode", "shadow", "--rule", "eager-silu-mul"), program="prog_torch", status=None)
    require_equal("unseen", outcome.rule("eager-silu-mul")["not_replaced"]["unseen"], 0)
    # The same rules, but that they hold as long as a slow machine needs.
    with open(os.path.join(ROOT, "analyzers", "ab_rules.yaml"), encoding="utf-8") as file:
        text = re.sub("(    recognise: .*\n)", r"\1    unseen: true\n" + LONG, file.read())
    for name in ("eager-rms-norm", "eager-residual-rms-norm", "eager-silu-mul"):
        outcome = run_ab(scenario, place, ["async", "calm", "1", "60"],
                         ("--mode", "shadow", "--again", "1", "--rule", name), text,
                         program="prog_torch")
        rule = outcome.rule(name)
        require_equal(f"{name}: wrong", rule["comparisons_wrong"], 0)
        require(rule["comparisons"] >= 20, f"{name}: {rule}")


def play_suggest(scenario, place):
    """A chain of a trace is recognised by its kernels' names; the rule fits once it may."""
    trace = os.path.join(place.directory, "torch.kprof")
    result = place.run([place.kprof, "record", "-o", trace, "--",
                        os.path.join(place.fakes, "prog_torch"), "async", "calm", "1", "50"],
                       place.environment(scenario, traced=True))
    require_equal("status of kprof record", result.status, 0)
    text = suggest(scenario, place, trace, "--chain", "SiLU")
    require("  recognise: 'silu mul'\n" in text, text)
    text = text.replace("  recognise: 'silu mul'\n",
                        "  recognise: 'silu mul'\n  hold_us: 10000000\n")
    args = ["async", "calm", "1", "50"]
    rule = run_ab(scenario, place, args, SWAP, text, 122, program="prog_torch").document["rules"][0]
    require(rule["not_replaced"]["conditions"] == rule["launches"]["seen"] > 50, f"{rule}")
    text = text.replace("    module: my_kernel.cubin", f"    library: {place.fakes}/libcandidate_torch.so")
    text = text.replace("    kernel: my_kernel", "    entry: gate")
    text = "\n".join(line for line in text.splitlines()
                     if not line.lstrip().startswith(("- 0 #", "grid:", "block:")))
    rule = run_ab(scenario, place, args, SWAP, text, 122, program="prog_torch").document["rules"][0]
    require(rule["not_replaced"]["failed"] > 0, f"{rule}")
    # Of kernels that are not PyTorch's the order alone is known.
    traces = os.path.join(ROOT, "samples", "traces")
    text = suggest(scenario, place, os.path.join(traces, "llm_decode_eager.kprof"), "--chain", ".")
    require("  sequence:\n  - name: m1\n" in text and "  elide: [t1" in text, text)


def play_past(scenario, place):
    """The games can fail: each function that is called past what is held shows in some."""
    bare = place.run([os.path.join(place.fakes, "prog_torch"), "mixed", "1", str(PAST_GAMES)],
                     place.environment(scenario, traced=False))
    for name in ORDERED:
        outcome = run_games(scenario, place, ["mixed", f"past={name}", "1", str(PAST_GAMES)], same=False)
        require(outcome.result.out != bare.out, f"{name} past what is held is not noticed")


def ab(name, play, **more):
    return Scenario(f"ab_torch_{name}", program="prog_torch", play=play, **more)


SCENARIOS = [
    *(ab(f"games_{part}", play_part(part)) for part in range(PARTS)),
    ab("calm", play_calm),
    ab("alive", play_alive),
    ab("modes", play_modes),
    ab("wrong", play_wrong),
    ab("unseen", play_unseen),
    ab("builtin", play_builtin),
    ab("suggest", play_suggest),
    ab("past", play_past),
]
