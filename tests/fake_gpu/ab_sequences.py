"""Scenarios of kprof ab with sequences of launches: a part of ab.py."""

import os

from ab import run_ab
from harness import require, require_equal
from scenario import Scenario

LONG_US = 10000000  # no timer comes in the way of a slow machine
RULES = """rules:
- name: three
  hold_us: {hold_us}
  sequence:
  - name: first
    kernel: seq_first
    parameters: [8, 8, 8, 4]
    reads: [{{buffer: x, address: ptr(1), bytes: u64(2)}}]
    writes: [{{buffer: t, address: ptr(0), bytes: u64(2)}}]
  - name: maybe
    kernel: seq_maybe
    optional: true
    parameters: [8, 8]
    reads: [{{buffer: t, address: ptr(0), bytes: u64(1)}}]
    writes: [{{buffer: t, address: ptr(0), bytes: u64(1)}}]
  - name: second
    kernel: seq_second
    parameters: [8, 8, 8, 8, 4]
    reads: [{{buffer: t, address: ptr(1), bytes: u64(3)}}, {{buffer: w, address: ptr(2), bytes: u64(3)}}]
    writes: [{{buffer: u, address: ptr(0), bytes: u64(3)}}]
  - name: third
    kernel_regex: seq_thir
    parameters: [8, 8, 8, 4]
    reads: [{{buffer: u, address: ptr(1), bytes: u64(2)}}]
    writes: [{{buffer: y, address: ptr(0), bytes: u64(2)}}]
{kept}  let: {{n: first.u64(2) / 4}}
  when: [n > 0, {when}]
  replace:
    library: {library}
    entry: {entry}
    arguments: [{{ptr: first.ptr(1)}}, {{ptr: second.ptr(2)}}, {{ptr: first.ptr(0)}},
                {{ptr: second.ptr(0)}}, {{ptr: third.ptr(0)}}, {{u64: first.u64(2)}}, {{u32: first.u32(3)}},
                {{u32: second.u32(4)}}, {{u32: third.u32(3)}}, {{u64: maybe.u64(1)}}]
  inputs:
  - {{name: x, address: first.ptr(1), dtype: fp32, rows: 1, columns: n}}
  - {{name: w, address: second.ptr(2), dtype: fp32, rows: 1, columns: n}}
  outputs:
{outputs}  - {{name: y, address: third.ptr(0), dtype: fp32, rows: 1, columns: n}}
  repeatable: true
- name: two
  hold_us: {hold_us}
  row_local: true
  sequence:
  - name: scale
    kernel: seq_scale
    parameters: [8, 8]
    reads: [{{buffer: x, address: ptr(0), bytes: u64(1)}}]
    writes: [{{buffer: x, address: ptr(0), bytes: u64(1)}}]
  - name: shift
    kernel: seq_shift
    parameters: [8, 8]
    reads: [{{buffer: x, address: ptr(0), bytes: u64(1)}}]
    writes: [{{buffer: x, address: ptr(0), bytes: u64(1)}}]
  replace:
    library: {library}
    entry: two
    arguments: [{{ptr: scale.ptr(0)}}, {{u64: scale.u64(1)}}]
  inout:
  - {{name: x, address: scale.ptr(0), dtype: fp32, rows: 1, columns: scale.u64(1) / 4}}
"""
T = "  - {name: t, address: first.ptr(0), dtype: fp32, rows: 1, columns: n}\n"
U = "  - {name: u, address: second.ptr(0), dtype: fp32, rows: 1, columns: n}\n"
GAMES = 10000
PARTS = 4
SWAP = ("--mode", "swap", "--again", "1000000")
# What ends the holding of launches in the games of prog_sequence.
CAUSES = ("not_held", "shared_memory", "flow", "overlap", "other_launch", "other_stream",
          "other_call")
# Functions of the driver that must not be called past what is held: some game shows it.
ORDERED = ("cuLaunchKernel", "cuLaunchKernelEx", "cuLaunchCooperativeKernel", "cuMemcpyDtoH",
           "cuMemcpyHtoD", "cuMemcpyDtoHAsync", "cuMemcpyHtoDAsync", "cuMemcpyDtoDAsync",
           "cuMemsetD8Async", "cuMemsetD32Async", "cuEventRecord", "cuStreamSynchronize",
           "cuStreamQuery", "cuCtxSynchronize", "cuMemFree", "cuMemFreeAsync", "cuGraphLaunch")
PAST_GAMES = 300
# The same where intermediates are not written, unless something comes that might read them.
ELIDED = {"entry": "three_last", "outputs": "", "kept": "  elide: [t, u]\n"}
ORDERED_ELIDED = ("cuLaunchKernel", "cuMemcpyDtoHAsync", "cuMemcpyDtoDAsync", "cuMemFreeAsync",
                  "cuEventRecord")


def rules(place, entry="three", when="1", hold_us=LONG_US, kept="  keep: [t, u]\n", outputs=T + U):
    return RULES.format(library=os.path.join(place.fakes, "libcandidate_sequence.so"), entry=entry,
                        when=when, hold_us=hold_us, kept=kept, outputs=outputs)


def run_games(scenario, place, args, options=SWAP, status=0, same=True, **of_rules):
    """The games bare, where all is ordered, and with what kprof makes of them."""
    outcome = run_ab(scenario, place, args, options, rules(place, **of_rules), status, same,
                     program="prog_sequence")
    if same:
        unordered = [line for line in outcome.result.out.splitlines()
                     if line.split()[2:3] not in ([], [b"0"])]
        require_equal("games in which memory was not ordered", unordered, [])
    return outcome


def play_part(part):
    """Random calls around launches that are held: what the program can observe is the same."""
    def play(scenario, place):
        count = GAMES // PARTS
        args = [f"door={'link' if part % 2 else 'dlsym'}", str(1 + part * count), str(count)]
        outcome = run_games(scenario, place, args)
        three, two = outcome.rule("three"), outcome.rule("two")
        require(three["launches"]["replaced"] > 500, f"{three['launches']}")
        require(two["launches"]["replaced"] > 2000, f"{two['launches']}")
        require_equal("wrong", (three["comparisons_wrong"], two["comparisons_wrong"]), (0, 0))
        for cause in CAUSES:
            require(three["not_replaced"][cause] > 0, f"{cause}: {three['not_replaced']}")
    return play


def play_modes(scenario, place):
    """In shadow, and by turns with times, every comparison is right."""
    for options in (("--mode", "shadow", "--again", "3"), ("--mode", "measure", "--again", "10")):
        outcome = run_games(scenario, place, ["1", "300"], options)
        for name, least in (("three", 10), ("two", 20)):
            rule = outcome.rule(name)
            require_equal("wrong", rule["comparisons_wrong"], 0)
            require(rule["comparisons"] >= least, f"{name}: {rule['comparisons']} comparisons")
            require("shadow" in options or rule["launches"]["replaced"] > 0, f"{rule['launches']}")


def play_wrong(scenario, place):
    """A replacement that is wrong is found in shadow, and the program never sees what it did."""
    rule = run_games(scenario, place, ["1", "300"], status=123, entry="three_wrong").rule("three")
    require_equal("replaced", rule["launches"]["replaced"], 0)
    require(rule["comparisons_wrong"] > 0 and rule["fault"] == "mismatch", f"{rule['fault']}")
    require(rule["not_replaced"]["wrong"] > 0, f"{rule['not_replaced']}")


def play_refuses(scenario, place):
    """One that cannot be launched: the originals are."""
    rule = run_games(scenario, place, ["1", "200"], entry="three_refuses").rule("three")
    require_equal("replaced", rule["launches"]["replaced"], 0)
    require(rule["not_replaced"]["failed"] > 0, f"{rule['not_replaced']}")


def play_conditions(scenario, place):
    """The rule's own conditions are asked when all of the sequence is there."""
    rule = run_games(scenario, place, ["1", "100"], when="first.u32(3) == 1 && n == 15").rule("three")
    require(rule["not_replaced"]["conditions"] > 10 and rule["launches"]["eligible"] == 0, f"{rule}")


def play_unwritten(scenario, place):
    """An intermediate that the replacement does not declare might be read: nothing is replaced."""
    rule = run_games(scenario, place, ["1", "100"], kept="  keep: [t]\n", outputs=T).rule("three")
    require(rule["not_replaced"]["unwritten"] > 10, f"{rule['not_replaced']}")
    require_equal("replaced", rule["launches"]["replaced"], 0)


def play_elided(scenario, place):
    """Intermediates that the program gives back are never written; all others are, in time."""
    for count, options in (("2500", SWAP), ("300", ("--mode", "measure", "--again", "10"))):
        outcome = run_games(scenario, place, ["1", count], options, **ELIDED)
        rule = outcome.rule("three")
        launches = rule["launches"]
        require(f"  between    {launches['elided']} times never written, {launches['reissued']} "
                in outcome.result.err, outcome.result.err)
        require_equal("wrong", rule["comparisons_wrong"], 0)
        # By turns few are replaced before the worker has judged: too few to be sure of either.
        if options == SWAP:
            require(launches["elided"] > 0 and launches["reissued"] > 0, f"{launches}")
        require(launches["replaced"] >= launches["elided"] + launches["reissued"], f"{launches}")


def play_timer(scenario, place):
    """Nothing stays held: neither where the program only waits, nor where it pauses."""
    outcome = run_ab(scenario, place, ["wait"], SWAP, rules(place, hold_us=50), 122,
                     program="prog_sequence")
    require_equal("the launch", outcome.result.out, b"done\n")
    require_equal("too late", outcome.rule("three")["not_replaced"]["too_late"], 1)
    run_games(scenario, place, ["sleep", "1", "500"], hold_us=50)


def play_blocking(scenario, place):
    """With CUDA_LAUNCH_BLOCKING nothing is held."""
    rule = run_games(scenario, place, ["1", "100"], status=122).rule("three")
    require(rule["not_replaced"]["holding_off"] == rule["launches"]["seen"] > 0, f"{rule}")


def play_errors(scenario, place):
    """A launch that fails when it was held is told by the next call; the program goes on."""
    outcome = run_games(scenario, place, ["errors", "1", "100"], same=False, when="0")
    errors = int(outcome.result.out.split()[-1])
    late = outcome.rule("three")["not_replaced"]["late_error"]
    require(0 < late <= errors, f"{late} late of {errors} errors")
    require("a launch that kprof ab had held failed" in outcome.result.err, outcome.result.err)


def play_past(scenario, place):
    """The games can fail: each function that is called past what is held shows in some."""
    bare = place.run([os.path.join(place.fakes, "prog_sequence"), "1", str(PAST_GAMES)],
                     place.environment(scenario, traced=False))
    for name, of_rules in (*((name, {}) for name in ORDERED),
                           *((name, ELIDED) for name in ORDERED_ELIDED)):
        outcome = run_games(scenario, place, [f"past={name}", "1", str(PAST_GAMES)], same=False,
                            **of_rules)
        require(outcome.result.out != bare.out, f"{name} past what is held is not noticed")


def play_leave(work, count, right, status=0, hold_us=LONG_US):
    """Programs that hold, and leave: nothing waits for ever, and what is right stays so."""
    def play(scenario, place):
        outcome = run_ab(scenario, place, [work, str(count)], SWAP, rules(place, hold_us=hold_us),
                         status, program="prog_sequence_leave")
        require_equal("rounds that were right", outcome.result.out, b"%d\n" % right)
        three = outcome.rule("three")
        require_equal("wrong", three["comparisons_wrong"], 0)
        if work in ("jump", "fork"):
            require(three["launches"]["seen"] > 0, f"{three}")
        if work == "exit":
            require_equal("launches", place.ledger.read()["kernels_issued"], 1)
            require_equal("held at the end", three["not_replaced"]["other_call"], 1)
    return play


def play_ends(work, count, options=("--mode", "shadow", "--again", "3"), status=0):
    """Behind the ends of contexts and modules all is seen, held and compared as before."""
    def play(scenario, place):
        outcome = run_ab(scenario, place, [work, str(count)], options, rules(place), status,
                         program="prog_sequence_ends")
        require_equal("rounds that were right", outcome.result.out, b"%d\n" % count)
        three = outcome.rule("three")
        require_equal("eligible", three["launches"]["eligible"], count)
        require_equal("wrong", three["comparisons_wrong"], 0)
        require(three["comparisons"] > 0, f"{three}")
        require_equal("not loaded", three["not_replaced"]["not_loaded"], 0)
    return play


def ab(name, play, **more):
    return Scenario(f"ab_sequence_{name}", program="prog_sequence", play=play, **more)


SCENARIOS = [
    *(ab(f"games_{part}", play_part(part)) for part in range(PARTS)),
    ab("modes", play_modes),
    ab("wrong", play_wrong),
    ab("refuses", play_refuses),
    ab("conditions", play_conditions),
    ab("unwritten", play_unwritten),
    ab("elided", play_elided),
    ab("timer", play_timer),
    ab("blocking", play_blocking, env={"CUDA_LAUNCH_BLOCKING": "1"}),
    ab("threads", play_leave("threads", 2100, 1320)),
    ab("threads_timed", play_leave("threads", 2100, 1320, hold_us=50)),
    ab("jump", play_leave("jump", 2000, 1), faults="signal=13"),
    ab("cancel", play_leave("cancel", 1, 120)),
    ab("fork", play_leave("fork", 20, 20)),
    ab("callback", play_leave("callback", 50, 50)),
    ab("exit", play_leave("exit", 1, 0, status=122)),
    *(ab(f"capture_{how}", play_ends(how, 20)) for how in ("destroy", "reset", "release")),
    ab("reset_unused", play_ends("unused", 40)),
    ab("modules", play_ends("modules", 3000, SWAP, status=None)),
    ab("errors", play_errors, faults="launch_fail=97"),
    ab("past", play_past),
]
