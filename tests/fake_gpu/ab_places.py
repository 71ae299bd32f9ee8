"""Scenarios of kprof ab where contexts, modules, streams and captures come and go; prog_places."""

import os

from ab import HERE, rules_for, run_ab
from harness import require, require_equal
from scenario import Scenario


def run(scenario, place, work, rounds, *options, rules=None, **more):
    """What becomes of the rule «double», in a program that prints the same with and without it."""
    return run_ab(scenario, place, [work, str(rounds)], options or ("--mode", "swap"),
                  rules or rules_for(place, "twice"), program="prog_places", **more)


def play_handles(work, rounds=10):
    """A kernel at the handle of one that has gone is not taken for it."""
    def play(scenario, place):
        launches = run(scenario, place, work, rounds).rule("double")["launches"]
        # «triple_rows», by turns, is no launch of the rule's.
        require_equal("seen", launches["seen"], 8 * rounds / 2)
        require(launches["replaced"] > 0, f"{launches}")
    return play


def play_release(scenario, place):
    """A context that others have retained, too, does not go when one releases it."""
    rule = run(scenario, place, "release", 40).rule("double")
    require_equal("seen", rule["launches"]["seen"], 200)
    require_equal("not loaded", rule["not_replaced"]["not_loaded"], 0)
    require(rule["launches"]["replaced"] > 150, f"{rule['launches']}")


def play_capture(scenario, place):
    """A capture that another thread cannot end goes on: what is captured is the original."""
    rule = run(scenario, place, "capture", 10).rule("double")
    # 20 before, and one of each graph's.
    require_equal("seen", rule["launches"]["seen"], 30)
    require(rule["launches"]["replaced"] > 10, f"{rule['launches']}")


def play_unsafe(scenario, place):
    """What a capture forbids to all threads does not happen to it by kprof."""
    for options in (("--mode", "swap"), ("--mode", "measure", "--phase", "10", "--other-inputs")):
        rule = run(scenario, place, "unsafe", 6, *options).rule("double")
        require(rule["comparisons"] > 0 and rule["comparisons_wrong"] == 0, f"{rule}")
        require_equal("seen", rule["launches"]["seen"], 6 * 41)


def play_buffer(scenario, place):
    """Parameters in one buffer are those of the rule; none is read beyond it."""
    rule = run(scenario, place, "buffer", 50).rule("double")
    require_equal("seen", rule["launches"]["seen"], 50)
    require(rule["launches"]["replaced"] > 30, f"{rule['launches']}")


def play_floats(scenario, place):
    """The program's traps, flags and rounding are its own."""
    for options in (("--mode", "swap", "--again", "5"), ("--phase", "10")):
        outcome = run(scenario, place, "floats", 200, *options)
        require(outcome.result.out.startswith(b"0 raised\n"), f"{outcome.result.out}")
        require(outcome.rule("double")["comparisons"] > 3, f"{outcome.rule('double')}")


def play_streams(scenario, place):
    """Memory that a stream's replacements worked in is another's once the stream has gone."""
    rules = ("--mode", "swap", "--again", "1000", "--rule", "linear-skinny")
    outcome = run_ab(scenario, place, ["streams", "100"], rules, same=False, program="prog_places")
    rule = outcome.rule("linear-skinny")
    require_equal("seen", rule["launches"]["seen"], 400)
    # Some find the worker at what has come of comparisons.
    require(rule["not_replaced"]["no_memory"] < 100, f"{rule['not_replaced']}")
    require(rule["launches"]["replaced"] > 250, f"{rule['launches']}")


def play_collective(scenario, place):
    """A kernel that waits for other GPUs' is no rule's, whatever the rule says."""
    rules = rules_for(place, "twice").replace("kernel: double_rows", "kernel_regex: 'double_rows'")
    rule = run(scenario, place, "collective", 50, rules=rules, status=122).rule("double")
    require_equal("seen", rule["launches"]["seen"], 0)
    rule = run(scenario, place, "release", 10, rules=rules).rule("double")  # the same rule, else
    require(rule["launches"]["replaced"] > 0, f"{rule['launches']}")


def play_flash(scenario, place):
    """FlashAttention-2 by the sample's rule: what it knows is replaced, and nothing that differs."""
    with open(os.path.join(HERE, "..", "..", "samples", "flash_attention_2.yaml"), encoding="utf-8") as file:
        rules = file.read()
    outcome = run_ab(scenario, place, ["20"], ("--mode", "swap"), rules, program="prog_flash")
    rule, others = outcome.rule("torch-flash-2"), int(outcome.result.out)
    require_equal("seen", rule["launches"]["seen"], 40 + 2 * others)
    require_equal("eligible", rule["launches"]["eligible"], 40)
    require(rule["launches"]["replaced"] > 25 and rule["comparisons_wrong"] == 0, f"{rule}")


def play_huge(scenario, place):
    """Data so large that its bytes, in 64 bits, are none: the rule's launches are left alone."""
    huge = "rows: 2147483648, columns: 2147483648, row_stride: 2147483648"
    rules = rules_for(place, "twice").replace("outputs: [{name: y, address: ptr(1), dtype: bf16, rows: "
                                              "rows, columns: columns, row_stride: stride}]",
                                              "outputs: [{name: y, address: ptr(1), dtype: fp32, "
                                              + huge + "}]")
    require(huge in rules, rules)
    rule = run(scenario, place, "unload", 10, rules=rules, status=122).rule("double")
    require_equal("unreadable", rule["not_replaced"]["unreadable"], 40)


def places(name, play, faults=""):
    return Scenario(f"ab_{name}", program="prog_places", play=play, faults=faults)


SCENARIOS = [
    places("handles_reset", play_handles("reset"), "reuse"),
    places("handles_released", play_handles("released"), "reuse"),
    places("handles_unloaded", play_handles("unload"), "reuse"),
    places("release", play_release),
    places("capture_elsewhere", play_capture),
    places("capture_forbids", play_unsafe),
    places("buffer", play_buffer),
    places("huge", play_huge),
    places("flash", play_flash),
    places("collective", play_collective),
    places("floats", play_floats),
    places("streams", play_streams),
]
