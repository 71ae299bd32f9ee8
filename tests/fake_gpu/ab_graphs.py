"""Scenarios of kprof ab with CUDA graphs: a part of ab.py."""

from ab import rules_for, run_ab, run_switched
from harness import require, require_equal
from scenario import Scenario

ROUNDS = 400
# Which of two comes first is drawn anew in each run: so many that some of either order are certain.
ROUNDS_TIMED = 4000


def two_rules(place, entry):
    rules = rules_for(place, entry)
    again = rules.replace("name: double", "name: again").replace("double_rows", "double_again")
    return rules + again.replace("rules:\n", "", 1)


def play(work, entry, options, look, status=0, rules=rules_for, rounds=ROUNDS):
    """A work of prog_graph: every round right, all graphs ended, and what `look` asks for."""
    def played(scenario, place):
        outcome = run_ab(scenario, place, [work, str(rounds)], options, rules(place, entry),
                         status, program="prog_graph")
        require_equal("rounds", outcome.result.out, b"%d of %d rounds right\n" % (rounds, rounds))
        ledger = place.ledger.read()
        for what in ("graphs", "execs"):
            require_equal(what, ledger[f"{what}_ended"], ledger[f"{what}_made"])
        rule = outcome.rule("double")
        look(rule["launches"], rule["not_replaced"], outcome)
    return played


def replaced(least, most=2 * ROUNDS):
    """So many of the launches that graphs made were replaced; each round makes two.

    One that meets the worker at the results is the program's own, and said to be unverified: at
    most half of all, however late the worker is.
    """
    def look(launches, reasons, _):
        count = launches["replaced_captured"]
        told = count + reasons["unverified"]
        require(least <= told and least <= 2 * count and count <= most,
                f"{count} replaced, {told} with those that met the worker, not {least} to {most}")
    return look


def left(reason, least, most=0):
    """Launches of graphs left alone, with that reason, and at most so many replaced."""
    def look(launches, reasons, _):
        require(reasons[reason] >= least, f"{reason}: {reasons}")
        require(launches["replaced_captured"] <= most, f"{launches}")
    return look


def timed(launches, reasons, outcome):
    """Both forms, by turns: whole launches of the graph are timed, and phases."""
    graphs, end = outcome.rule("double")["graphs"], outcome.document["end_to_end"]
    require_equal("replaced in each", graphs["replaced_each"], 2)
    require_equal("times", (graphs["original_median_us"], graphs["candidate_median_us"]), (8, 2))
    require_equal("verdict", graphs["verdict"], "faster")
    require_equal("change", graphs["change_pct"], -75)
    require(reasons["original_phase"] >= ROUNDS_TIMED / 2, f"{reasons}")
    require(launches["replaced_captured"] >= ROUNDS_TIMED / 2, f"{launches}")
    check_end(end)


def check_end(end):
    """A phase has 10 launches of 8 us, or of 2; what is not in the graph takes no time here."""
    require(end["phases"] >= 12 and end["pairs"] >= 4, f"{end}")
    require_equal("phases", (end["original_phase_ns"], end["candidate_phase_ns"]), (80000, 20000))
    require_equal("prediction", (end["change_pct"], end["predicted_pct"], end["agreement"]),
                  (-75, -75, "agrees"))


def alone(_, __, outcome):
    """Of two rules each is timed alone, and together they bring what both do."""
    for name in ("double", "again"):
        graphs = outcome.rule(name)["graphs"]
        require_equal(name, (graphs["replaced_each"], graphs["original_median_us"],
                             graphs["candidate_median_us"]), (1, 8, 5))
        require_equal("change", (graphs["change_pct"], graphs["verdict"]), (-37.5, "faster"))
    check_end(outcome.document["end_to_end"])


def wrong(launches, reasons, _):
    """Taken back when a launch outside was wrong: from then on graphs are the program's own."""
    require(0 < launches["replaced_captured"] < ROUNDS, f"{launches}")
    require(reasons["wrong"] > ROUNDS, f"{reasons}")


PART = 5000


def play_switched(scenario, place):
    """Rules go off and on between launches of one graph: each part by what was on in it."""
    outcome, out = run_switched(
        scenario, place, ["prog_graph", "two_kernels", str(3 * PART), "3"],
        two_rules(place, "launched"), [[["off"]], [["on", "again"]], [["on", "double"]]])
    require_equal("rounds", out, b"%d of %d rounds right\n" % (3 * PART, 3 * PART))
    for name, off in (("double", 2 * PART), ("again", PART)):
        rule = outcome.rule(name)
        require_equal(f"{name} off", rule["not_replaced"]["off"], off)
        # Whatever was on may have come a launch or two late: when the worker was at the results.
        require(0 < rule["launches"]["replaced_captured"] <= 3 * PART - off, f"{rule}")


SWAP = ("--mode", "swap")


def graphs(name, *rest, **others):
    return Scenario(f"ab_graph_{name}", program="prog_graph", play=play(*rest, **others))


SCENARIOS = [
    graphs("captured", "captured", "launched", SWAP, replaced(2 * ROUNDS)),
    graphs("built", "built", "launched", SWAP, replaced(2 * ROUNDS)),
    graphs("unverified", "unverified", "launched", SWAP, left("captured", 2 * ROUNDS), status=122),
    graphs("late", "late", "launched", SWAP, replaced(ROUNDS)),
    graphs("set", "set_seldom", "launched", SWAP, replaced(2 * ROUNDS)),
    graphs("set_often", "set_often", "launched", SWAP, left("graph_changed", ROUNDS, 40)),
    graphs("updated", "updated", "launched", SWAP, replaced(2 * ROUNDS)),
    graphs("disabled", "disabled", "launched", SWAP, left("graph_changed", ROUNDS, ROUNDS)),
    graphs("child", "child", "launched", SWAP, left("graph", 2 * ROUNDS)),
    graphs("streams", "two_streams", "launched", ("--phase", "6"), replaced(ROUNDS / 2)),
    graphs("own_streams", "own_streams", "launched", ("--phase", "6"), replaced(ROUNDS / 2)),
    graphs("renewed", "renewed", "launched", SWAP, replaced(2 * ROUNDS)),
    graphs("at_once", "captured", "twice", SWAP, left("failed", 2 * ROUNDS)),
    graphs("timed", "captured", "launched", ("--phase", "20"), timed,
           rounds=ROUNDS_TIMED),
    graphs("two_rules", "two_kernels", "launched", ("--phase", "20"), alone,
           rules=two_rules, rounds=ROUNDS_TIMED),
    Scenario("ab_graph_switched", program="prog_graph", play=play_switched),
    graphs("shadow", "captured", "launched", ("--mode", "shadow"),
           left("shadow_mode", 2 * ROUNDS)),
    graphs("wrong", "beside", "later", ("--mode", "swap", "--again", "4"), wrong, status=123),
]
