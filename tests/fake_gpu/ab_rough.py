"""Scenarios of kprof ab with programs that jump, fault and ask in the midst: a part of scenarios.py."""

import os

from ab import run_ab
from ab_sequences import ELIDED, SWAP, rules
from harness import require, require_equal
from scenario import Scenario

# Of one launch, beside the sequences.
SINGLE = """- name: single
  kernel: seq_other
  parameters: [8, 8, 8, 4]
  replace:
    library: {library}
    entry: {entry}
    arguments: [{{ptr: ptr(0)}}, {{ptr: ptr(1)}}, {{u64: u64(2)}}, {{u32: u32(3)}}]
  inputs: [{{name: a, address: ptr(1), dtype: fp32, rows: 1, columns: u64(2) / 4}}]
  outputs: [{{name: b, address: ptr(0), dtype: fp32, rows: 1, columns: u64(2) / 4}}]
  repeatable: true
  other_inputs: false
"""


def run_rough(scenario, place, status=122, entry="one", **of_rules):
    """The same as without kprof comes out."""
    single = SINGLE.format(library=os.path.join(place.fakes, "libcandidate_sequence.so"),
                           entry=entry)
    return run_ab(scenario, place, scenario.args, SWAP, rules(place, **of_rules) + single, status,
                  program="prog_sequence_rough")


def play_again(scenario, place):
    """Behind a launch that was left nothing runs twice, and what is right is not called wrong."""
    rule = run_rough(scenario, place, status=0).rule("single")
    require_equal("wrong", (rule["comparisons_wrong"], rule["fault"]), (0, None))
    require(rule["launches"]["shadowed"] >= 4 and rule["comparisons"] > 0, f"{rule}")


def play_inside(scenario, place):
    """A signal waits while a launch is looked at: what others hold is not passed by later."""
    outcome = run_rough(scenario, place, entry="one_signals")
    require_equal("of the launch", outcome.rule("single")["launches"]["eligible"], 1)
    require_equal("held", outcome.rule("three")["not_replaced"]["other_call"], 1)


def play_fault(scenario, place):
    """A fault of the program's own leaves no lock behind."""
    outcome = run_rough(scenario, place)
    require(outcome.rule("three")["launches"]["seen"] > 0, f"{outcome.rule('three')}")


def play_asks(scenario, place):
    """Memory that was given back is no more, whoever asks; other questions end nothing."""
    rule = run_rough(scenario, place, status=0, **ELIDED).rule("three")
    require_equal("ended by questions", rule["not_replaced"]["other_call"], 2)
    require_equal("eligible", rule["launches"]["eligible"], 4)


def play_frees(scenario, place):
    """What the driver does not take back it refuses at once."""
    rule = run_rough(scenario, place).rule("three")
    require_equal("ended by them", rule["not_replaced"]["other_call"], 3)


def play_ended(scenario, place):
    """From a certain call on nothing is held: memory may be seen from elsewhere."""
    rule = run_rough(scenario, place, status=0).rule("three")
    launches = rule["launches"]
    require_equal("before", launches["eligible"], 6)
    require_equal("behind", (launches["seen"], rule["not_replaced"]["holding_off"]), (12, 6))


def rough(name, play):
    return Scenario(f"ab_rough_{name}", program="prog_sequence_rough", args=[name], play=play)


SCENARIOS = [
    rough("again", play_again),
    rough("inside", play_inside),
    rough("fault", play_fault),
    rough("fault_alloc", play_fault),
    rough("asks", play_asks),
    rough("frees", play_frees),
    rough("tokens", play_ended),
    rough("alias", play_ended),
]
