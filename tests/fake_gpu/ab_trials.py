"""Scenarios of kprof ab: what is the user's is tried in a process of its own. A part of ab.py."""

import json
import os
import subprocess
import time

from ab import SCHEMA, check_keys, check_sums, rules_for
from harness import TIME_LIMIT_S, parse_json, require, require_equal
from scenario import Scenario

ROUNDS = 200


class Trial:
    """kprof ab over a program that waits for lines between its rounds."""

    def __init__(self, scenario, place, rules, options=(), work="double", times=1, wrapper=(),
                 rounds=ROUNDS):
        environment = place.environment(scenario, traced=True)
        environment["KPROF_CANDIDATES_LIB"] = os.path.join(place.fakes, "libfake_candidates.so")
        environment["TMPDIR"] = os.path.join(place.directory, "temporary")
        os.makedirs(environment["TMPDIR"])
        self.raw = os.path.join(place.directory, "raw")
        self.report = os.path.join(place.directory, "report.json")
        self.temporary = environment["TMPDIR"]
        path = os.path.join(place.directory, "rules.yaml")
        with open(path, "w", encoding="utf-8") as file:
            file.write(rules)
        self.bare = place.run([*wrapper, os.path.join(place.fakes, "prog_ab"), work,
                               str(rounds * (1 + times))],
                              place.environment(scenario, traced=False)).out
        self.process = subprocess.Popen(
            [place.kprof, "ab", "--rules", path, "--mode", "swap", *options, "--raw", self.raw,
             "--out", self.report, "--", *wrapper, os.path.join(place.fakes, "prog_ab"), work,
             str(rounds), "wait", str(times)],
            env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def ready(self):
        """The program has made its launches, and waits."""
        require_equal("ready", self.process.stdout.readline(), b"ready\n")

    def lines(self):
        """What has been written so far."""
        with open(self.raw, encoding="utf-8") as file:
            return [json.loads(line) for line in file if line.endswith("\n")]

    def trials(self):
        """What has been answered so far."""
        return [line["trial"] for line in self.lines() if "trial" in line]

    def shapes(self):
        """Those that have been compared in the program so far."""
        return {line["shadow"]["shape"] for line in self.lines() if "shadow" in line}

    def wait_for(self, count):
        end = time.monotonic() + TIME_LIMIT_S
        while len(self.trials()) < count:
            require(time.monotonic() < end, f"{len(self.trials())} answers, not {count}")
            time.sleep(0.01)

    def go_on(self, times=1):
        self.process.stdin.write(b"\n" * times)
        self.process.stdin.flush()

    def end(self, status):
        """The rule of the report. The program's output is what it is without kprof."""
        out, err = self.process.communicate(timeout=TIME_LIMIT_S)
        out = out.replace(b"ready\n", b"")
        require_equal("status", (self.process.returncode, "" if self.process.returncode == status
                                 else err), (status, ""))
        require_equal("what the program prints", out, self.bare)
        with open(self.report, "rb") as file:
            document = parse_json(file.read())
        with open(SCHEMA, encoding="utf-8") as file:
            check_keys(document, json.load(file))
        check_sums(document)
        require_equal("what is left behind", os.listdir(self.temporary), [])
        self.err = err.decode()
        return document["rules"][0]


def play_passed(scenario, place):
    """Left alone until the answer has come, and replaced from then on."""
    trial = Trial(scenario, place, rules_for(place, "twice"), times=50)
    trial.ready()
    trial.wait_for(1)
    trial.go_on(50)
    rule = trial.end(0)
    require_equal("trials", (rule["trials"], rule["trial_fault"]), (1, None))
    require(rule["not_replaced"]["trial"] > 0, f"{rule['not_replaced']}")
    require(rule["launches"]["replaced"] > ROUNDS, f"{rule['launches']}")
    require("1 shape did no harm" in trial.err, trial.err)


def play_fault(entry, fault, status=123, options=(), wrapper=(), rules=rules_for):
    """What does harm in its trial never comes to the program."""
    def play(scenario, place):
        trial = Trial(scenario, place, rules(place, entry), options, wrapper=wrapper)
        trial.ready()
        trial.wait_for(1)
        trial.go_on()
        rule = trial.end(status)
        require_equal("trials", (rule["trials"], rule["trial_fault"]), (0, fault))
        require_equal("compared", (rule["launches"]["shadowed"], rule["launches"]["replaced"]),
                      (0, 0))
        require(rule["not_replaced"]["trial_failed"] > ROUNDS / 2, f"{rule['not_replaced']}")
        require("trial      failed: " in trial.err, trial.err)
        require_equal("harm", "did harm" in trial.err, status == 123)
    return play


def play_undeclared(scenario, place):
    """What an argument points to is copied, whether the rule declares it or not."""
    rules = rules_for(place, "twice")
    rules = "".join(line for line in rules.splitlines(True) if not line.startswith("  inputs:"))
    trial = Trial(scenario, place, rules, times=50)
    trial.ready()
    trial.wait_for(1)
    trial.go_on(50)
    rule = trial.end(0)
    require_equal("trials", (rule["trials"], rule["trial_fault"]), (1, None))


def play_unanswered(scenario, place):
    """The program does not wait for an answer, and what is being tried ends with it."""
    trial = Trial(scenario, place, rules_for(place, "hangs"))
    trial.ready()
    trial.go_on()
    rule = trial.end(122)
    require_equal("trials", (rule["trials"], rule["trial_fault"]), (0, None))
    require_equal("left alone", rule["not_replaced"]["trial"], 2 * ROUNDS)


def play_shapes(scenario, place):
    """Eight shapes are tried; then a rule is trusted with all others."""
    times = 2000
    trial = Trial(scenario, place, rules_for(place, "twice"), work="shapes", times=times,
                  rounds=24)
    trial.ready()
    while times > 1000 and len(trial.trials()) < 8:
        time.sleep(0.02)  # a round may begin one, and answers take their time
        trial.go_on()
        trial.ready()
        times -= 1
    while times > 1 and len(trial.shapes()) < 12:
        trial.go_on()
        trial.ready()
        times -= 1
    trial.go_on(times)
    rule = trial.end(0)
    require_equal("trials", rule["trials"], 8)
    require_equal("shapes compared", len(trial.shapes()), 12)


def play_options(scenario, place):
    """Both at once are refused."""
    result = place.run([place.kprof, "ab", "--try", "--no-try", "--", "true"],
                       place.environment(scenario, traced=False))
    require(result.status == 125 and "exclude each other" in result.err, result.err)


def trial(name, play, faults=""):
    return Scenario(f"ab_trial_{name}", program="prog_ab", play=play, faults=faults)


SCENARIOS = [
    trial("passed", play_passed),
    trial("crashes", play_fault("crashes", "crashed")),
    trial("leaves", play_fault("leaves", "crashed")),
    trial("hangs", play_fault("hangs", "hangs", options=("--try-limit", "0.2"))),
    trial("outside", play_fault("outside", "outside")),
    trial("inputs", play_fault("mutates", "inputs")),
    trial("refused", play_fault("refuses", "refused", status=122)),
    trial("no_driver", play_fault("twice", "no_driver", status=122, wrapper=("env", "KP_FAKE=")),
          faults="init_fail"),
    trial("undeclared", play_undeclared),
    trial("unanswered", play_unanswered),
    trial("shapes", play_shapes),
    trial("options", play_options),
]
