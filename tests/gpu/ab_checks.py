"""The checks of kprof ab on a real GPU; rows of checks.py."""

import json

from runner import Check, Skip, require

STEPS = "64"


def ab(bench, options, argv, status):
    """The report of one run, and what the program printed."""
    out = bench.folder / f"{bench.count + 1:02d}.ab.json"
    if not (bench.build / "libkprof_candidates.so").exists():
        raise Skip("this build has no libkprof_candidates.so")
    ran = bench.run([bench.build / "kprof", "ab", *options, "--out", out, "--", *argv],
                    status=status)
    with open(out, encoding="utf-8") as file:
        return ran, json.load(file)


def rule_of(document, name):
    return next(rule for rule in document["rules"] if rule["name"] == name)


def words_of(rule):
    launches = rule["launches"]
    return (f"{rule['name']}: {launches['seen']} seen, {launches['eligible']} eligible, "
            f"{launches['replaced']} + {launches['replaced_captured']} replaced, "
            f"{rule['comparisons']} compared, {rule['verdict']}")


def check_sums(document):
    before = ("conditions", "unreadable", "unsupported", "pointer_mode")
    for rule in document["rules"]:
        launches, reasons = rule["launches"], rule["not_replaced"]
        early = sum(reasons[key] for key in before)
        replaced = launches["replaced"] + launches["replaced_captured"]
        require(launches["seen"] == launches["eligible"] + early and
                launches["eligible"] == replaced + sum(reasons.values()) - early,
                f"{rule['name']}: {launches} {reasons}")
        require(rule["comparisons_wrong"] == 0, f"{rule['name']}: {rule['fault']}")


def decode(checks, binary, options, name, captured):
    """A rule in llm_decode, unmodified: replaced, right, and every launch accounted for."""
    def check(bench):
        argv = [checks.sample(bench, binary), "--steps", STEPS, "--batch", "1", *options]
        _, document = ab(bench, ["--mode", "swap"], argv, 0)
        check_sums(document)
        rule = rule_of(document, name)
        key = "replaced_captured" if captured else "replaced"
        require(rule["launches"][key] > 0, words_of(rule))
        return words_of(rule)
    return check


def shadow(checks, argv_of):
    """In shadow a program prints what it prints without kprof, to the last token."""
    def check(bench):
        argv = argv_of(bench)
        bare = bench.run(argv)
        ran, document = ab(bench, ["--mode", "shadow"], argv, 0)
        check_sums(document)
        require(ran.stdout == bare.stdout, "the program printed something else")
        compared = [rule for rule in document["rules"] if rule["comparisons"]]
        require(compared, "nothing was compared")
        return "; ".join(words_of(rule) for rule in compared)
    return check


def torch(checks, options):
    """PyTorch's linear layers at batch 4, by cuBLAS, with times."""
    def check(bench):
        checks.need_torch(bench)
        _, document = ab(bench, [], [*checks.TORCH, *options, "--steps", "256"], 0)
        check_sums(document)
        seen = [rule for rule in document["rules"] if rule["launches"]["eligible"]]
        require(seen, "no rule fits")
        return "; ".join(f"{words_of(rule)} {rule['original_median_us']} to "
                         f"{rule['candidate_median_us']} us" for rule in seen)
    return check


def self_test(bench):
    """Null controls on this GPU: faults found, nothing claimed of a kernel against itself."""
    out = bench.folder / "self-test.json"
    if not (bench.build / "libkprof_controls.so").exists():
        raise Skip("this build has no libkprof_controls.so")
    bench.run([bench.build / "kprof", "ab", "--self-test", "--rounds", "10", "--out", out])
    with open(out, encoding="utf-8") as file:
        document = json.load(file)
    require(document["passed"], f"{document}")
    same = document["same"]
    return (f"{sum(row['called_wrong'] for row in document['results'])} faults found; "
            f"{same['claims']} of {same['runs']} claim a difference, {same['detectable_pct']} % is "
            "detectable; " + ", ".join(
                f"{row['planted_pct']} % seen as {row['change_pct']} % in {row['seen']} of "
                f"{row['runs']}" for row in document["delays"]))


def rows(checks):
    """`checks`: the module checks, whose parts these share."""
    samples = [
        Check(f"ab-{binary}-{shape}", 240, decode(checks, binary, options, "linear-skinny", captured),
              "skinny linears of llm_decode replaced, right, and all launches accounted for")
        for binary in ("llm_decode", "llm_decode_static")
        for shape, options, captured in (("eager", (), False), ("graph", ("--graph",), True))
    ]
    return [
        *samples,
        Check("ab-self-test", 240, self_test, "null controls: faults found, delays seen"),
        Check("ab-silu", 240, decode(checks, "llm_decode", (), "llm-decode-silu", False),
              "a kernel of the program's own replaced in place"),
        Check("ab-shadow", 240, shadow(checks, lambda bench: [
            checks.sample(bench, "llm_decode"), "--steps", STEPS, "--batch", "1"]),
              "in shadow the tokens are the same"),
        Check("ab-shadow-torch", 400, shadow(checks, lambda bench: checks.TORCH),
              "in shadow the tokens of PyTorch are the same"),
        Check("ab-torch-eager", 400, torch(checks, ()), "PyTorch, eager: replaced and timed"),
        Check("ab-torch-graph", 400, torch(checks, ("--graph",)),
              "PyTorch, in a graph: captured replaced"),
    ]
