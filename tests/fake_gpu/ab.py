"""Scenarios of kprof ab: replacing kernels in a program that does not know of it."""

import json
import os
import re
import signal
import subprocess

from harness import (TIME_LIMIT_S, find_child, parse_json, require, require_equal,
                     start_under_kprof)
from scenario import Scenario

RULES = """rules:
- name: double
  kernel: double_rows
  parameters: [8, 8, 4, 4, 8]
  let: {{rows: i32(2), columns: i32(3), stride: i64(4)}}
  when: rows > 0 && grid_x == 5 && block_x == 32{more}
  replace:
    library: {library}
    entry: {entry}
    arguments: [{{ptr: ptr(0)}}, {{ptr: ptr(1)}}, {{i32: rows}}, {{i32: columns}}, {{i64: stride}}]
  inputs: [{{name: x, address: ptr(0), dtype: bf16, rows: rows, columns: columns, row_stride: stride}}]
  outputs: [{{name: y, address: ptr(1), dtype: bf16, rows: rows, columns: columns, row_stride: stride}}]
  repeatable: {repeatable}
"""
REASONS_BEFORE = ("conditions", "unreadable", "unsupported", "pointer_mode", "holding_off", "not_held",
                  "shared_memory", "unseen", "flow", "overlap", "unwritten", "alive", "other_launch", "other_stream",
                  "other_call", "too_late", "late_error")


HERE = os.path.dirname(os.path.abspath(__file__))
SCHEMA = os.path.join(HERE, "..", "..", "docs", "schema", "kprof.ab.v1.json")


def check_keys(document, schema, where="the report"):
    """All keys of the schema and no other, at every level; jsonschema need not be installed."""
    if schema.get("type") == "object":
        require_equal(f"keys of {where}", sorted(document), sorted(schema["required"]))
        for key, inner in schema["properties"].items():
            check_keys(document[key], inner, f"{where}: {key}")
    elif schema.get("type") == "array":
        for item in document:
            check_keys(item, schema["items"], where)
    elif "enum" in schema:
        require(document in schema["enum"], f"{where}: {document!r}")


class Outcome:
    """One run of kprof ab: its result, and its report."""

    def __init__(self, result, document):
        self.result, self.document = result, document

    def rule(self, name):
        return next(rule for rule in self.document["rules"] if rule["name"] == name)


def check_sums(document):
    """Every launch is somewhere, once."""
    for rule in document["rules"]:
        launches, reasons = rule["launches"], rule["not_replaced"]
        before = sum(reasons[key] for key in REASONS_BEFORE)
        after = sum(reasons.values()) - before
        replaced = launches["replaced"] + launches["replaced_captured"]
        require_equal(f"{rule['name']}: seen", launches["seen"], launches["eligible"] + before)
        require_equal(f"{rule['name']}: eligible", launches["eligible"], replaced + after)


def run_ab(scenario, place, args, options=(), rules=None, status=0, same=True, program="prog_ab"):
    """The program bare, then under kprof ab; what it prints is compared."""
    environment = place.environment(scenario, traced=True)
    environment["KPROF_CANDIDATES_LIB"] = os.path.join(place.fakes, "libfake_candidates.so")
    command = [os.path.join(place.fakes, program), *args]
    report = os.path.join(place.directory, "report.json")
    if rules is not None:
        path = os.path.join(place.directory, "rules.yaml")
        with open(path, "w", encoding="utf-8") as file:
            file.write(rules)
        options = ("--rules", path, "--no-try", *options)
    bare = place.run(command, place.environment(scenario, traced=False))
    require_equal("the bare program's status", (bare.status, bare.err), (0, ""))
    result = place.run([place.kprof, "ab", *options, "--out", report, "--", *command], environment)
    if status is not None:
        require_equal("status of kprof ab",
                      (result.status, result.err if result.status != status else ""), (status, ""))
    if same:
        require_equal("what the program prints", result.out, bare.out)
    with open(report, "rb") as file:
        document = parse_json(file.read())
    with open(SCHEMA, encoding="utf-8") as file:
        check_keys(document, json.load(file))
    check_sums(document)
    require_equal("lines that cannot be read", document["lines_bad"], 0)
    return Outcome(result, document)


def rules_for(place, entry, more="", repeatable="true"):
    library = os.path.join(place.fakes, "libcandidate.so")
    return RULES.format(library=library, entry=entry, more=more, repeatable=repeatable)


def play_builtin(work, name, least):
    """A built-in of kprof's own: right, and shown to the program."""
    def play(scenario, place):
        outcome = run_ab(scenario, place, [work, "200"], ("--mode", "swap", "--again", "50"),
                         same=False)
        rule = outcome.rule(name)
        require_equal("seen", rule["launches"]["seen"], 200)
        require_equal("wrong", rule["comparisons_wrong"], 0)
        require(rule["launches"]["replaced"] >= least, f"{rule['launches']}")
        accuracy = rule["accuracy"][0]
        require(accuracy["cosine"] > 0.9999 and accuracy["elements"] > 0, f"{accuracy}")
        # Both are off from float64 by what rounding to bf16 makes: half of 2^-8 at most.
        require(accuracy["truth_elements"] >= 16, f"{accuracy}")
        for who in ("original", "candidate"):
            require(0 < accuracy[f"truth_rms_{who}"] < accuracy["truth_rms"] / 512, f"{accuracy}")
        bare = place.run([os.path.join(place.fakes, "prog_ab"), work, "200"],
                         place.environment(scenario, traced=False))
        require(abs(float(outcome.result.out) - float(bare.out)) <
                0.01 * abs(float(bare.out)) + 0.01, f"{outcome.result.out} for {bare.out}")
    return play


def play_shadow(scenario, place):
    """The program sees its own results to the last bit; they are compared all the same."""
    outcome = run_ab(scenario, place, ["double", "200"], ("--mode", "shadow", "--again", "10"),
                     rules_for(place, "twice"))
    rule = outcome.rule("double")
    require_equal("replaced", rule["launches"]["replaced"], 0)
    require(rule["comparisons"] >= 15, f"{rule['comparisons']}")
    require_equal("noise", rule["accuracy"][0]["noise_rms"], 0)
    require_equal("max_ulps", rule["accuracy"][0]["max_ulps"], 0)


def play_swap(scenario, place):
    outcome = run_ab(scenario, place, ["double", "500"], ("--mode", "swap"),
                     rules_for(place, "twice"))
    launches = outcome.rule("double")["launches"]
    require_equal("seen", launches["seen"], 500)
    require(launches["replaced"] >= 480, f"{launches}")


def play_measure(scenario, place):
    """Both are timed, phases alternate, and the program's results stay what they are."""
    raw = os.path.join(place.directory, "raw")
    outcome = run_ab(scenario, place, ["softmax", "2000"],
                     ("--rule", "torch-softmax-bf16", "--phase", "100", "--raw", raw), same=False)
    rule = outcome.rule("torch-softmax-bf16")
    # In phases of replacements, which are short, the host is slower than the GPU.
    require(rule["samples_original"] > 30 and rule["samples_candidate"] > 30, f"{rule}")
    require(rule["samples_host_bound"] > 30, f"{rule}")
    require_equal("verdict", rule["verdict"], "faster")
    require_equal("median", rule["original_median_us"], 400)
    require(rule["change_low_pct"] <= rule["change_pct"] <= rule["change_high_pct"] < 0, f"{rule}")
    require(rule["pairs"] > 15 and rule["doubt"] == "none", f"{rule}")
    end = outcome.document["end_to_end"]
    require(end["phases"] >= 15 and end["pairs"] >= 3, f"{end}")
    with open(raw, encoding="utf-8") as file:
        lines = [json.loads(line) for line in file]
    arms = {}  # a sample is left out where the worker is at the results
    for sample in (line["sample"] for line in lines if "sample" in line):
        arms.setdefault(sample["number"] // 2, []).append(
            (sample["number"], sample["candidate"]))
    pairs = {tuple(arm for _, arm in sorted(pair)) for pair in arms.values() if len(pair) == 2}
    require({(True, False), (False, True)} == pairs, f"pairs are {pairs}")
    first = {pair: min(arm)[1] for pair, arm in arms.items() if len(arm) == 2}
    require(all(first[pair] != first[pair + 1] for pair in first
                if pair % 2 == 0 and pair + 1 in first), f"orders are not in balance: {first}")


def play_host_bound(scenario, place):
    """Where the GPU waits for the host, no time is one of the kernel's."""
    outcome = run_ab(scenario, place, ["silu", "400"], ("--phase", "0"), same=False)
    rule = outcome.rule("llm-decode-silu")
    require(rule["samples_host_bound"] > 30 and rule["samples_original"] < 5, f"{rule}")
    require_equal("doubt", (rule["verdict"], rule["doubt"]), ("inconclusive", "host_bound"))
    require("waited for the host" in outcome.result.err, outcome.result.err)


def play_wrong(entry, fault, work="double", least=250):
    """A planted fault: found, and the program never saw it."""
    def play(scenario, place):
        outcome = run_ab(scenario, place, [work, "300"], ("--mode", "swap", "--again", "5"),
                         rules_for(place, entry), status=123, same=entry != "mutates")
        rule = outcome.rule("double")
        require_equal("replaced", rule["launches"]["replaced"], 0)
        require_equal("fault", rule["fault"], fault)
        require(re.search("taken back", outcome.result.err), outcome.result.err)
        require_equal("verdict", rule["verdict"], "wrong")
        require(rule["not_replaced"]["wrong"] > least, f"{rule['not_replaced']}")
    return play


def play_inputs(entry, inputs):
    """What is right for the program's inputs alone is found by others; nothing of them is seen."""
    def play(scenario, place):
        usual = ("--mode", "swap", "--again", "5")
        options = (*usual, "--other-inputs")
        outcome = run_ab(scenario, place, ["double", "300"], options, rules_for(place, entry),
                         status=123)
        rule = outcome.rule("double")
        require_equal("fault", (rule["fault"], rule["fault_inputs"]), ("mismatch", inputs))
        require(rule["other_inputs"][inputs] > 0, f"{rule['other_inputs']}")
        require(f"mismatch with an input {inputs}" in outcome.result.err, outcome.result.err)
        if inputs == "negated":  # the first that there are: before the program sees anything
            require_equal("replaced", rule["launches"]["replaced"], 0)
        rules = rules_for(place, entry) + "  other_inputs: false\n"
        outcome = run_ab(scenario, place, ["double", "300"], options, rules)
        require_equal("others", sum(outcome.rule("double")["other_inputs"].values()), 0)
        outcome = run_ab(scenario, place, ["double", "300"], usual, rules_for(place, entry))
        require_equal("not asked for", sum(outcome.rule("double")["other_inputs"].values()), 0)
        # What may not run twice has its own inputs alone, too.
        outcome = run_ab(scenario, place, ["double", "300"], options,
                         rules_for(place, entry, repeatable="false"))
        require_equal("others", sum(outcome.rule("double")["other_inputs"].values()), 0)
    return play


def play_nothing(scenario, place):
    """Rules that fit no launch, or whose replacement refuses: status 122, not a gain of 1.00."""
    outcome = run_ab(scenario, place, ["double", "50"], (),
                     rules_for(place, "twice", " && columns == 1"), status=122)
    require_equal("conditions", outcome.rule("double")["not_replaced"]["conditions"], 50)
    outcome = run_ab(scenario, place, ["double", "50"], (), rules_for(place, "refuses"), status=122)
    require(outcome.rule("double")["not_replaced"]["failed"] > 0,
            f"{outcome.rule('double')['not_replaced']}")
    outcome = run_ab(scenario, place, ["double", "50"], (), rules_for(place, "no_such_entry"),
                     status=122)
    require_equal("not loaded", outcome.rule("double")["not_replaced"]["not_loaded"], 50)


def play_graph(scenario, place):
    """What was right before the capture is captured; nothing is compared within."""
    outcome = run_ab(scenario, place, ["graph", "20"], ("--mode", "swap",), same=False)
    rule = outcome.rule("linear-skinny")
    require_equal("replaced", rule["launches"]["replaced_captured"], 20)
    require_equal("wrong", rule["comparisons_wrong"], 0)


def play_graph_changed(scenario, place):
    """A call's kernels that are not launched with what they were captured with are not its any more."""
    outcome = run_ab(scenario, place, ["graph_changed", "20"], ("--mode", "swap"))
    require_equal("replaced", outcome.rule("linear-skinny")["launches"]["replaced_captured"], 0)


def play_rules(scenario, place):
    """Errors of rules have a file and a line, and CMD does not run."""
    environment = place.environment(scenario, traced=False)
    path = os.path.join(place.directory, "rules.yaml")
    with open(path, "w", encoding="utf-8") as file:
        file.write("rules:\n- name: a\n  kernel: k\n  hold_us: 1\n")
    result = place.run([place.kprof, "ab", "--rules", path, "--", "false"], environment)
    require_equal("status", result.status, 125)
    require(re.search(r"rules\.yaml:2: .*of a «sequence»", result.err), result.err)
    result = place.run([place.kprof, "ab", "--rule", "nothing", "--", "false"], environment)
    require(result.status == 125 and "--list" in result.err, result.err)
    result = place.run([place.kprof, "ab", "--list"], environment)
    require(result.status == 0 and b"linear-skinny" in result.out, result.err)
    result = place.run([place.kprof, "ab", "--", "sh", "-c", "exit 7"], environment)
    require_equal("the status of CMD", result.status, 7)


def play_modules(scenario, place):
    """A rule for the code that kernels are from; the report says which code there is."""
    rules = rules_for(place, "twice").replace("kernel: double_rows", "kernel: double_rows\n  module: '%s'")
    outcome = run_ab(scenario, place, ["modules", "300"], ("--mode", "swap"), rules % ("0" * 16), 122)
    rule = outcome.rule("double")
    require_equal("seen", rule["launches"]["seen"], 0)
    modules = rule["modules"]
    require(len(modules) == 2 and not any(module["fits"] for module in modules), f"{modules}")
    # The first is the module's, and also that of the library of the same code.
    for module, launches in ((modules[0], 200), (modules[1], 100)):
        require(f"module     {module['hash']}: not the rule's" in outcome.result.err,
                outcome.result.err)
        again = run_ab(scenario, place, ["modules", "300"], ("--mode", "swap"),
                       rules % module["hash"])
        rule = again.rule("double")
        require_equal("seen", rule["launches"]["seen"], launches)
        require(rule["launches"]["replaced"] > launches / 2, f"{rule['launches']}")
        require_equal("modules", sorted((each["hash"], each["fits"]) for each in rule["modules"]),
                      sorted((each["hash"], each == module) for each in modules))
    path = os.path.join(place.directory, "rules.yaml")
    environment = place.environment(scenario, traced=False)
    result = place.run([place.kprof, "ab", "--rules", path, "--list"], environment)
    require(f"of the module {modules[1]['hash']}" in result.out.decode(), f"{result.out}")
    outcome = run_ab(scenario, place, ["double", "30"], (), rules % modules[0]["hash"], 122)
    require_equal("modules", [each["fits"] for each in outcome.rule("double")["modules"]], [False])


def play_units(scenario, place):
    """Phases of ranges: each has as many, whatever they launch; the report has them per second."""
    options = ("--unit-range", "step", "--phase", "10", "--again", "100000")
    outcome = run_ab(scenario, place, ["steps", "2000"], options, rules_for(place, "launched"))
    end = outcome.document["end_to_end"]
    require_equal("unit", (end["unit_range"], end["phase_units"]), ("step", 10))
    # 10 ranges have 20 launches of 4 us, or of 1: times of single launches are taken in between.
    require_equal("phases", (end["original_phase_ns"], end["candidate_phase_ns"]), (80000, 20000))
    for arm in ("original", "candidate"):
        require(abs(end[f"{arm}_units_per_s"] * end[f"{arm}_phase_ns"] - 1e10) < 1e5, f"{end}")
    # A pause behind each four phases is as long as one.
    require(100 <= end["phases"] <= 160 and -76 < end["change_pct"] < -60, f"{end}")
    require_equal("verdict", end["verdict"], "faster")
    require("a second, replaced" in outcome.result.err, outcome.result.err)
    outcome = run_ab(scenario, place, ["steps", "100"], ("--unit-range", "other"),
                     rules_for(place, "launched"), status=122)
    require("no phases by ranges «other»" in outcome.result.err, outcome.result.err)
    end = outcome.document["end_to_end"]
    require_equal("nothing", (end["phases"], end["original_units_per_s"]), (0, None))
    result = place.run([place.kprof, "ab", "--unit-range", "a", "--phase", "0", "--", "true"],
                       place.environment(scenario, traced=False))
    require(result.status == 125 and "--phase 0" in result.err, result.err)


def run_switched(scenario, place, command, rules, steps):
    """kprof ab over a program that says when it is ready and waits: before it goes on, the words of
    each step are given to kprof ctl. Its report, and what the program printed last."""
    environment = place.environment(scenario, traced=True)
    environment["KPROF_CANDIDATES_LIB"] = os.path.join(place.fakes, "libfake_candidates.so")
    path = os.path.join(place.directory, "rules.yaml")
    report = os.path.join(place.directory, "report.json")
    with open(path, "w", encoding="utf-8") as file:
        file.write(rules)
    process = subprocess.Popen(
        [place.kprof, "ab", "--rules", path, "--no-try", "--mode", "swap", "--again", "1000000", "--out", report,
         "--", os.path.join(place.fakes, command[0]), *command[1:]],
        env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    for step in steps:
        require_equal("ready", process.stdout.readline(), b"ready\n")
        pid = str(find_child(process.pid, command[0]))
        for words in step:
            result = place.run([place.kprof, "ctl", pid, "ab", *words], environment)
            require(result.status == 0 and result.out == b"", f"kprof ctl: {result.err}")
        process.stdin.write(b"\n")
        process.stdin.flush()
    out, err = process.communicate(timeout=TIME_LIMIT_S)
    require_equal("status", (process.returncode, "" if process.returncode == 0 else err), (0, ""))
    with open(report, "rb") as file:
        document = parse_json(file.read())
    check_sums(document)
    return Outcome(None, document), out


def play_off(scenario, place):
    """kprof ctl PID ab off: originals from then on."""
    outcome, _ = run_switched(scenario, place, ["prog_ab", "double", "1000", "wait"],
                              rules_for(place, "twice"), [[["off"]]])
    rule = outcome.rule("double")
    require_equal("off", rule["not_replaced"]["off"], 1000)
    require(rule["launches"]["replaced"] > 900, f"{rule['launches']}")


def play_on(scenario, place):
    """A rule that is off is on again, by its name or with all."""
    steps = [[["off", "double"]], [["on", "double"]], [["off"]], [["on"], ["off", "double"]]]
    outcome, _ = run_switched(scenario, place, ["prog_ab", "double", "1000", "wait", "4"],
                              rules_for(place, "twice"), steps)
    rule = outcome.rule("double")
    require_equal("off", rule["not_replaced"]["off"], 3000)
    require(rule["launches"]["replaced"] > 1900, f"{rule['launches']}")


def play_switches_refused(scenario, place):
    """What cannot be switched is told in one line."""
    process, pid = start_under_kprof(scenario, place)
    environment = place.environment(scenario, traced=False)
    for words, said in ((["off"], "it has no rules"), (["on", "double"], "it has no rules"),
                        (["maybe"], "ab on and ab off"), ([], "ab on and ab off"),
                        (["on", "a", "b"], "")):
        result = place.run([place.kprof, "ctl", str(pid), "ab", *words], environment)
        require(result.status == 125 and said in result.err, f"{words}: {result.err}")
    os.kill(pid, signal.SIGKILL)
    process.communicate(timeout=TIME_LIMIT_S)


def self_test(scenario, place, *options, controls=None):
    """What kprof ab --self-test ends with: its result, and its report."""
    environment = place.environment(scenario, traced=True)
    environment["KPROF_CANDIDATES_LIB"] = os.path.join(place.fakes, "libfake_candidates.so")
    environment["KPROF_CONTROLS"] = controls or os.path.join(place.fakes, "kprof_controls")
    report = os.path.join(place.directory, "report.json")
    result = place.run([place.kprof, "ab", "--self-test", "--out", report, *options], environment)
    if not os.path.exists(report):
        return result, None
    with open(report, "rb") as file:
        document = parse_json(file.read())
    with open(os.path.join(os.path.dirname(SCHEMA), "kprof.ab-self-test.v1.json"),
              encoding="utf-8") as file:
        check_keys(document, json.load(file))
    return result, document


def play_killed(scenario, place):
    """Counts of a program that is killed are all there, and its status stays what it is."""
    environment = place.environment(scenario, traced=True)
    environment["KPROF_CANDIDATES_LIB"] = os.path.join(place.fakes, "libfake_candidates.so")
    path = os.path.join(place.directory, "rules.yaml")
    report = os.path.join(place.directory, "report.json")
    with open(path, "w", encoding="utf-8") as file:
        file.write(rules_for(place, "twice"))
    process = subprocess.Popen(
        [place.kprof, "ab", "--rules", path, "--no-try", "--mode", "swap", "--out", report,
         "--", os.path.join(place.fakes, "prog_ab"), "double", "1000", "wait"],
        env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    require_equal("ready", process.stdout.readline(), b"ready\n")
    os.kill(find_child(process.pid, "prog_ab"), signal.SIGKILL)
    _, err = process.communicate(timeout=200)
    require_equal("status", process.returncode, 128 + signal.SIGKILL)
    require(b"1000 seen, 1000 eligible" in err, err)
    with open(report, "rb") as file:
        document = parse_json(file.read())
    check_sums(document)
    launches = document["rules"][0]["launches"]
    require_equal("seen", launches["seen"], 1000)
    require(launches["replaced"] > 900, f"{launches}")
    result = place.run([place.kprof, "ab", "--rules", path, "--", "sh", "-c", "exit 9"], environment)
    require(result.status == 9 and "A/B" not in result.err, result.err)


def play_output(scenario, place):
    """What CMD prints in both arms is compared by a command, and comes out all the same."""
    command = ("--mode", "swap", "--check-output", "echo compared; cmp")
    outcome = run_ab(scenario, place, ["double", "200"], command, rules_for(place, "twice"))
    require_equal("output", outcome.document["output"], "agrees")
    require("compared\n" in outcome.result.err, outcome.result.err)
    require(outcome.rule("double")["launches"]["replaced"] > 150, f"{outcome.rule('double')}")
    command = ("--mode", "swap", "--check-output", "! cmp -s")
    outcome = run_ab(scenario, place, ["double", "200"], command, rules_for(place, "twice"),
                     status=123)
    require_equal("output", outcome.document["output"], "differs")
    environment = place.environment(scenario, traced=False)
    environment["KPROF_CANDIDATES_LIB"] = os.path.join(place.fakes, "libfake_candidates.so")
    for status, words, says in ((125, ("exit 3;", "--", "true"), "status 3"),
                                (125, ("cmp", "--", "false"), "without kprof"),
                                (125, ("cmp", "--", "no_such_program"), "cannot run")):
        result = place.run([place.kprof, "ab", "--check-output", *words], environment)
        require(result.status == status and says in result.err, f"{result.status} {result.err}")


def suggest(scenario, place, trace, *options):
    """The text of a suggested rule."""
    path = os.path.join(place.directory, "suggested.yaml")
    result = place.run([place.kprof, "ab", "--suggest", trace, "--out", path, *options],
                       place.environment(scenario, traced=False))
    require_equal("status of --suggest", (result.status, result.err), (0, ""))
    with open(path, encoding="utf-8") as file:
        return file.read()


def use(scenario, place, text, work, name):
    """What the rule meets in the program once it is made use of; its replacement refuses."""
    text = text.replace("    module: my_kernel.cubin", f"    library: {place.fakes}/libcandidate.so")
    text = text.replace("    kernel: my_kernel", "    entry: refuses")
    text = text.replace("my_kernel.so", f"{place.fakes}/libcandidate.so")
    text = text.replace("entry: my_product", "entry: refuses")
    text = "\n".join(line for line in text.splitlines()
                     if not line.lstrip().startswith(("- 0 #", "grid:", "block:")))
    return run_ab(scenario, place, [work, "50"], (), text, status=122).rule(name)


def play_suggest(scenario, place):
    """A rule for what a trace shows is valid, fits nothing, and fits its launches once it may."""
    for work, hotspot, name, parts in (
            ("silu", (), "suggested-silu-kernel",
             ("'_Z11silu_kernelP13__nv_bfloat16m'", "parameters: [8, 8]", "p0: ptr(0)", "p1: u64(1)",
              "dtype: bf16")),
            ("gemm", ("--hotspot", "gemm"), None,
             ("call: gemm", "m == 48 && n == 3 && k == 64 && batch == 1", "trans_a == transposed",
              "a_type == bf16", "kprof ab --rule linear-skinny",
              "{name: d, address: d, dtype: d_type, rows: n, columns: m, row_stride: ldd}",
              "{name: a, address: a, dtype: a_type, rows: m, columns: k, row_stride: lda}",
              "{name: b, address: b, dtype: b_type, rows: n, columns: k, row_stride: ldb}"))):
        trace = os.path.join(place.directory, f"{work}.kprof")
        result = place.run([place.kprof, "record", "-o", trace, "--",
                            os.path.join(place.fakes, "prog_ab"), work, "50"],
                           place.environment(scenario, traced=True))
        require_equal("status of kprof record", result.status, 0)
        text = suggest(scenario, place, trace, *hotspot)
        for part in parts:
            require(part in text, f"{part} is not in {text}")
        name = name or re.search("name: (.*)", text)[1]
        rule = run_ab(scenario, place, [work, "50"], (), text, status=122).rule(name)
        require_equal("conditions", rule["not_replaced"]["conditions"], 50)
        rule = use(scenario, place, text, work, name)
        require_equal("eligible", rule["launches"]["eligible"], 50)
        require(rule["not_replaced"]["failed"] > 0, f"{rule['not_replaced']}")
    result = place.run([place.kprof, "ab", "--suggest", trace, "--hotspot", "no such"],
                       place.environment(scenario, traced=False))
    require(result.status == 125 and "no kernel" in result.err, result.err)


FAULTS = ("zeros", "stale", "wrong_row", "off_by_a_tile", "last_columns", "not_a_number",
          "changes_input", "first_call_only", "other_stream", "half_sums")


def play_seeds(scenario, place):
    """Each planted fault is caught with each of 100 seeds, and sums in another order never are."""
    result, document = self_test(scenario, place, "--mode", "shadow", "--rounds", "50")
    require_equal("status", (result.status, "" if result.status == 0 else result.err), (0, ""))
    require_equal("controls", [row["control"] for row in document["results"]],
                  [*FAULTS, "other_order"])
    for row in document["results"]:
        caught = 0 if row["control"] == "other_order" else 100
        require_equal(row["control"], (row["runs"], row["called_wrong"], row["shown"]),
                      (100, caught, 0))
    require(document["passed"] and not document["delays"], f"{document}")


def play_controls(scenario, place):
    """With times: a kernel is as fast as itself, and delays are seen; then CMD runs."""
    result, document = self_test(scenario, place, "--rounds", "2")
    require_equal("status", (result.status, "" if result.status == 0 else result.err), (0, ""))
    require_equal("faults caught", [row["called_wrong"] for row in document["results"]],
                  [4] * len(FAULTS) + [0])
    require_equal("shown", [row["shown"] for row in document["results"]], [0] * len(FAULTS) + [4])
    same = document["same"]
    require(same["runs"] == 8 and same["claims"] <= same["claims_most"] == 2, f"{same}")
    require(0 < same["detectable_pct"] < 1 and same["shortest_us"] > 150, f"{same}")
    for row in document["delays"]:
        # twice what is detectable in one run need not be that in the next
        require(row["seen"] == row["runs_due"] and
                (row["runs_due"] > 0 or row["delay"].startswith("twice")), f"{row}")
        require(abs(row["change_pct"] - row["planted_pct"]) < 0.5, f"{row}")
    result, _ = self_test(scenario, place, "--mode", "shadow", "--rounds", "1", "--",
                          "sh", "-c", "echo ran; exit 7")
    require_equal("the status of CMD", (result.status, result.out), (7, b"ran\n"))


def play_failed(scenario, place):
    """A fault that is not found is told, and CMD does not run: one of seed 0 is never launched."""
    script = place.write_script("controls", "#!/bin/sh\nexec {fakes}/kprof_controls "
                                "$(echo \"$@\" | sed 's/zeros:0:[0-9]*/zeros:0:0/')\n")
    os.symlink(os.path.join(place.fakes, "libkprof_controls.so"),
               os.path.join(place.directory, "libkprof_controls.so"))
    options = ("--mode", "shadow", "--rounds", "1", "--", "false")
    result, _ = self_test(scenario, place, *options, controls=script)
    require_equal("status", result.status, 123)
    require(re.search(r"zeros +1 of 2 +0  FAILED", result.err), result.err)
    require(re.search(r"stale +2 of 2 +0$", result.err, re.MULTILINE), result.err)
    result, _ = self_test(scenario, place, *options, controls="/no/such/program")
    require(result.status == 125 and "not found" in result.err, result.err)
    script = place.write_script("controls", "#!/bin/sh\necho no GPU >&2\nexit 3\n")
    result, _ = self_test(scenario, place, *options, controls=script)
    require(result.status == 125 and "status 3: no GPU" in result.err, result.err)


def ab(name, play):
    return Scenario(f"ab_{name}", program="prog_ab", play=play)


SCENARIOS = [
    ab("shadow", play_shadow),
    ab("swap", play_swap),
    # What it launches is bounded, so that times are known before they are too many.
    Scenario("ab_measure", program="prog_ab", play=play_measure, faults="wall,queue=5000"),
    Scenario("ab_host_bound", program="prog_ab", play=play_host_bound, faults="wall"),
    ab("gemm", play_builtin("gemm", "linear-skinny", 180)),
    ab("softmax", play_builtin("softmax", "torch-softmax-bf16", 180)),
    ab("silu", play_builtin("silu", "llm-decode-silu", 180)),
    ab("graph", play_graph),
    ab("graph_changed", play_graph_changed),
    ab("modules", play_modules),
    ab("units", play_units),
    ab("off", play_off),
    ab("on", play_on),
    Scenario("ab_switches_refused", play=play_switches_refused, faults="wall",
             args=["--kernels", "1000000", "--interval-us", "500"]),
    ab("killed", play_killed),
    ab("output", play_output),
    ab("nothing", play_nothing),
    ab("rules", play_rules),
    ab("suggest", play_suggest),
    Scenario("ab_self_test", program="prog_ab", play=play_controls, faults="wall"),
    ab("self_test_seeds", play_seeds),
    ab("self_test_failed", play_failed),
    ab("inputs_negated", play_inputs("clamped", "negated")),
    ab("inputs_halved", play_inputs("flushed", "halved")),
    ab("inputs_reversed", play_inputs("by_heart", "reversed")),
    ab("zeros", play_wrong("zeros", "mismatch")),
    ab("blank", play_wrong("zeros", "mismatch", "blank", 100)),
    ab("stale", play_wrong("stale", "mask")),
    ab("wrong_row", play_wrong("wrong_row", "mismatch")),
    ab("last_columns", play_wrong("last_columns", "mask")),
    ab("nan", play_wrong("not_a_number", "mask")),
    ab("mutates", play_wrong("mutates", "inputs")),
    ab("first_only", play_wrong("first_only", "mismatch")),
    ab("outside", play_wrong("outside", "outside")),
    ab("gaps", play_wrong("gaps", "outside")),
]
