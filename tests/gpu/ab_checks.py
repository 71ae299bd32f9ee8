"""The checks of kprof ab on a real GPU; rows of checks.py."""

import json
import sys

from runner import Check, Skip, require

STEPS = "64"
# Why launches are not eligible; the other reasons are of eligible ones.
REASONS_BEFORE = ("conditions", "unreadable", "unsupported", "pointer_mode", "holding_off",
                  "not_held", "shared_memory", "unseen", "flow", "overlap", "unwritten", "alive",
                  "other_launch", "other_stream", "other_call", "too_late", "late_error")


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
    for rule in document["rules"]:
        launches, reasons = rule["launches"], rule["not_replaced"]
        early = sum(reasons[key] for key in REASONS_BEFORE)
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


def self_test(rounds):
    """Null controls on this GPU: faults found, nothing claimed of a kernel against itself."""
    def check(bench):
        out = bench.folder / "self-test.json"
        if not (bench.build / "libkprof_controls.so").exists():
            raise Skip("this build has no libkprof_controls.so")
        ran = bench.run([bench.build / "kprof", "ab", "--self-test", "--rounds", rounds, "--out", out],
                        status=None)
        require(ran.status in (0, 123), f"status {ran.status}: {ran.log}.err")
        with open(out, encoding="utf-8") as file:
            document = json.load(file)
        require(document["passed"] and ran.status == 0, f"{document}")
        same = document["same"]
        return (f"{sum(row['called_wrong'] for row in document['results'])} faults found; "
                f"{same['claims']} of {same['runs']} claim a difference, {same['detectable_pct']} % is "
                "detectable; " + ", ".join(
                    f"{row['planted_pct']} % seen as {row['change_pct']} % in {row['seen']} of "
                    f"{row['runs']}" for row in document["delays"]))
    return check


SEVEN_B = ("--layers", "32", "--width", "4096", "--heads", "32", "--ffn", "11008", "--batch", "1")


def replays(argv_of, phase):
    """A graph's launches by turns: replaced and not, timed as wholes, and end to end."""
    def check(bench):
        _, document = ab(bench, ["--phase", phase], argv_of(bench), 0)
        check_sums(document)
        rule, end = rule_of(document, "linear-skinny"), document["end_to_end"]
        graphs, launches = rule["graphs"], rule["launches"]
        require(launches["replaced_captured"] >= 16 * graphs["replaced_each"] > 0, words_of(rule))
        for timed in (graphs, end):
            require(timed["verdict"] in ("faster", "slower", "no difference"),
                    f"{timed['verdict']}: {timed['doubt']}")
        return (f"{graphs['replaced_each']:.0f} in each graph: {graphs['original_median_us']} to "
                f"{graphs['candidate_median_us']} us, {graphs['change_pct']} % "
                f"({graphs['change_low_pct']} to {graphs['change_high_pct']}) by {graphs['pairs']} "
                f"pairs, {graphs['verdict']}; end to end {end['change_pct']} % "
                f"({end['change_low_pct']} to {end['change_high_pct']}) by {end['pairs']} pairs, "
                f"{end['verdict']}, {end['speedup']} times as fast; predicted "
                f"{end['predicted_pct']} %: {end['agreement']}")
    return check


SAME = """rules:
- name: same-silu
  kernel_regex: '^_ZL?11silu_kernelP13__nv_bfloat16m$'
  parameters: [8, 8]
  when: u64(1) >= 1 && u64(1) < 0x7fffffff
  replace:
    module: {module}
    kernel: same_silu
    grid: grid_x
    block: block_x
    arguments: [{{ptr: ptr(0)}}, {{u64: u64(1)}}]
  inout:
  - {{name: x, address: ptr(0), dtype: bf16, rows: 1, columns: u64(1)}}
"""


def same(checks):
    """A/A: a kernel of a graph replaced by the same one makes no difference, and none in its results."""
    def check(bench):
        rules = bench.folder / "same.yaml"
        rules.write_text(SAME.format(module=checks.ROOT / "tests/gpu/same_silu.ptx"))
        argv = [checks.sample(bench, "llm_decode"), "--graph", "--steps", "4000", "--batch", "1"]
        ran, document = ab(bench, ["--rules", rules, "--no-try", "--phase", "300"],
                           argv, 0)
        check_sums(document)
        require(ran.stdout == bench.run(argv).stdout, "the program printed something else")
        rule, end = rule_of(document, "same-silu"), document["end_to_end"]
        graphs = rule["graphs"]
        require(graphs["replaced_each"] > 0 and rule["accuracy"][0]["max_abs"] == 0, words_of(rule))
        for timed in (graphs, end):
            require(timed["verdict"] == "no difference", f"{timed['verdict']}: {timed}")
        return (f"{words_of(rule)}; graphs {graphs['change_pct']} % ({graphs['change_low_pct']} to "
                f"{graphs['change_high_pct']}), end to end {end['change_pct']} % "
                f"({end['change_low_pct']} to {end['change_high_pct']}): no difference")
    return check


THREE = """rules:
- name: three
  hold_us: 1000
  sequence:
  - name: first
    kernel: seq_first
    parameters: [8, 8, 8, 4]
    reads: [{{buffer: x, address: ptr(1), bytes: u64(2)}}]
    writes: [{{buffer: t, address: ptr(0), bytes: u64(2)}}]
  - name: second
    kernel: seq_second
    parameters: [8, 8, 8, 8, 4]
    reads: [{{buffer: t, address: ptr(1), bytes: u64(3)}}, {{buffer: w, address: ptr(2), bytes: u64(3)}}]
    writes: [{{buffer: u, address: ptr(0), bytes: u64(3)}}]
  - name: third
    kernel: seq_third
    parameters: [8, 8, 8, 4]
    reads: [{{buffer: u, address: ptr(1), bytes: u64(2)}}]
    writes: [{{buffer: y, address: ptr(0), bytes: u64(2)}}]
  keep: [t, u]
  let: {{n: first.u64(2) / 4}}
  replace:
    module: {module}
    kernel: seq_fused
    grid: 1
    block: 256
    arguments: [{{ptr: first.ptr(1)}}, {{ptr: second.ptr(2)}}, {{ptr: first.ptr(0)}},
                {{ptr: second.ptr(0)}}, {{ptr: third.ptr(0)}}, {{u64: first.u64(2)}}, {{u32: first.u32(3)}},
                {{u32: second.u32(4)}}, {{u32: third.u32(3)}}]
  inputs:
  - {{name: x, address: first.ptr(1), dtype: fp32, rows: 1, columns: n}}
  - {{name: w, address: second.ptr(2), dtype: fp32, rows: 1, columns: n}}
  outputs:
  - {{name: t, address: first.ptr(0), dtype: fp32, rows: 1, columns: n}}
  - {{name: u, address: second.ptr(0), dtype: fp32, rows: 1, columns: n}}
  - {{name: y, address: third.ptr(0), dtype: fp32, rows: 1, columns: n}}
  repeatable: true
"""
GAMES = 200


def sequences(checks):
    """200 games of random calls around launches that are held: every result is what it should be."""
    def check(bench):
        folder = checks.ROOT / "tests/gpu"
        rules = bench.folder / "three.yaml"
        rules.write_text(THREE.format(module=folder / "sequence.ptx"))
        argv = [sys.executable, folder / "sequence_games.py", "1", str(GAMES)]
        right = f"{GAMES} of {GAMES} games right"
        require(right in bench.run(argv).text(), "the games are wrong without kprof")
        # The games take a second: a trial of the replacement would end behind them.
        ran, document = ab(bench, ["--mode", "swap", "--no-try", "--rules", rules], argv, 0)
        require(right in ran.text(), ran.text())
        check_sums(document)
        rule = rule_of(document, "three")
        require(rule["launches"]["replaced"] > GAMES // 2, words_of(rule))
        return f"{right}; {words_of(rule)}"
    return check


def silu_rules(bench, checks, kernel, more=""):
    rules = bench.folder / f"{kernel}.yaml"
    text = SAME.format(module=checks.ROOT / f"tests/gpu/{kernel}.ptx")
    rules.write_text(text.replace("same_silu", kernel).replace("  when:", more + "  when:"))
    return rules


def eager(checks, bench, steps):
    return [checks.sample(bench, "llm_decode"), "--steps", steps, "--batch", "1"]


def tried(checks):
    """A kernel of the user's does no harm in a process of its own, and is replaced after that."""
    def check(bench):
        argv = eager(checks, bench, "4000")
        rules = silu_rules(bench, checks, "same_silu")
        ran, document = ab(bench, ["--rules", rules, "--mode", "swap"], argv, 0)
        check_sums(document)
        require(ran.stdout == bench.run(argv).stdout, "the program printed something else")
        rule = rule_of(document, "same-silu")
        require(rule["trials"] >= 1 and rule["trial_fault"] is None, f"{rule}")
        require(rule["launches"]["replaced"] > 0, words_of(rule))
        return f"{words_of(rule)}; {rule['not_replaced']['trial']} launches during its trial"
    return check


def wild(checks):
    """A kernel that faults ends its own process; the program never has it, and goes on."""
    def check(bench):
        argv = eager(checks, bench, "4000")
        rules = silu_rules(bench, checks, "wild_silu")
        ran, document = ab(bench, ["--rules", rules, "--mode", "swap"], argv, 123)
        require(ran.stdout == bench.run(argv).stdout, "the program printed something else")
        rule = rule_of(document, "same-silu")
        require(rule["trial_fault"] == "gpu" and rule["launches"]["shadowed"] == 0, f"{rule}")
        return f"{rule['trial_fault']}: {rule['not_replaced']['trial_failed']} launches left alone"
    return check


def naive_flash(checks):
    """A rule that the sample program comes with: its naive attention by attention_prefill. One
    prompt is all that it fits: many layers, so that the first are compared before the last are
    launched."""
    def check(bench):
        argv = [checks.sample(bench, "llm_decode"), "--no-cublas", "--attention", "naive-flash",
                "--layers", "400", "--width", "512", "--heads", "4", "--steps", "4"]
        rules = checks.ROOT / "samples/llm_decode/naive_flash.yaml"
        _, document = ab(bench, ["--rules", rules, "--mode", "swap"], argv, 0)
        check_sums(document)
        rule = rule_of(document, "llm-decode-naive-flash")
        require(rule["launches"]["replaced"] > 0, words_of(rule))
        off = rule["accuracy"][0]
        return f"{words_of(rule)}; at most {off['max_abs']} off, rms {off['rms']} of {off['rms_original']}"
    return check


def modules(checks):
    """The hash of the code that a kernel is from: the same in each run, and a rule can ask for it."""
    def check(bench):
        argv = eager(checks, bench, STEPS)
        found = []
        for module, status in (("0" * 16, 122), (None, 0)):
            more = f"  module: '{module or found[0]}'\n"
            rules = silu_rules(bench, checks, "same_silu", more)
            _, document = ab(bench, ["--rules", rules, "--no-try", "--mode", "swap"], argv, status)
            rule = rule_of(document, "same-silu")
            found += [each["hash"] for each in rule["modules"]]
            require(found[-1] and rule["modules"][0]["fits"] == (module is None), f"{rule}")
        require(len(set(found)) == 1, f"{found}")
        require(rule["launches"]["replaced"] > 0, words_of(rule))
        return f"{found[0]} twice; {words_of(rule)}"
    return check


def truth(checks):
    """Float64: linear layers and silu are off by rounding, whoever computes them."""
    def check(bench):
        _, document = ab(bench, ["--mode", "swap"], eager(checks, bench, STEPS), 0)
        check_sums(document)
        said = []
        for name in ("linear-skinny", "llm-decode-silu"):
            accuracy = rule_of(document, name)["accuracy"][0]
            require(accuracy["truth_elements"] > 0, f"{name}: {accuracy}")
            off = [accuracy[f"truth_rms_{who}"] / accuracy["truth_rms"]
                   for who in ("original", "candidate")]
            require(max(off) < 2 ** -8, f"{name}: {accuracy}")
            said.append(f"{name}: {off[0]:.2e} and {off[1]:.2e} of the rms off, "
                        f"{accuracy['truth_elements']} elements")
        return "; ".join(said)
    return check


def other_inputs(checks):
    """PyTorch's kernels run again with parameters that point to other inputs, and built-ins agree."""
    program = ("import torch, torch.nn.functional as F\n"
               "x = torch.randn(64, 1024, device='cuda', dtype=torch.bfloat16)\n"
               "w = torch.ones(1024, device='cuda', dtype=torch.bfloat16)\n"
               "for i in range(400):\n"
               "    F.softmax(x, -1); F.gelu(x); F.rms_norm(x, (1024,), w, 1e-5)\n"
               "    F.layer_norm(x, (1024,), w, w, 1e-5); torch.cuda.synchronize()\n")

    def check(bench):
        checks.need_torch(bench)
        argv = [checks.TORCH[0], "-c", program]
        _, document = ab(bench, ["--mode", "swap", "--other-inputs"], argv, 0)
        check_sums(document)
        compared = {rule["name"]: rule["other_inputs"] for rule in document["rules"]
                    if rule["comparisons"]}
        require(len(compared) >= 3, f"{compared}")
        for name, inputs in compared.items():
            require(all(inputs.values()), f"{name}: {inputs}")
        return "; ".join(f"{name}: {sum(inputs.values())}" for name, inputs in compared.items())
    return check


def units(checks):
    """Tokens per second by the program's own ranges, and as many kernels in each phase."""
    def check(bench):
        argv = [*eager(checks, bench, "4000"), "--nvtx"]
        _, document = ab(bench, ["--unit-range", "token", "--phase", "50"], argv, 0)
        check_sums(document)
        end = document["end_to_end"]
        require(end["phases"] >= 40 and end["original_units_per_s"] > 0, f"{end}")
        require(abs(end["original_units_per_s"] * end["original_phase_ns"] / 50e9 - 1) < 0.01, f"{end}")
        return (f"{end['original_units_per_s']} tokens a second, replaced "
                f"{end['candidate_units_per_s']}; {end['change_pct']} % ({end['change_low_pct']} to "
                f"{end['change_high_pct']}), predicted {end['predicted_pct']} %")
    return check


def flash(checks):
    """FlashAttention-2 as PyTorch launches it for whole sequences, by the sample's rule."""
    program = ("import torch, torch.nn.functional as F\n"
               "from torch.nn.attention import SDPBackend, sdpa_kernel\n"
               "g = lambda h, t: torch.randn(2, 512, h, 128, device='cuda', dtype=t).transpose(1, 2)\n"
               "with torch.no_grad(), sdpa_kernel(SDPBackend.FLASH_ATTENTION):\n"
               "    for t in (torch.bfloat16, torch.float16):\n"
               "        for causal in (False, True):\n"
               "            q, k, v = g(16, t), g(4, t), g(4, t)\n"
               "            for i in range(60):\n"
               "                F.scaled_dot_product_attention(q, k, v, is_causal=causal, enable_gqa=True)\n"
               "                torch.cuda.synchronize()\n")

    def check(bench):
        checks.need_torch(bench)
        rules = checks.ROOT / "samples/flash_attention_2.yaml"
        argv = [checks.TORCH[0], "-c", program]
        _, document = ab(bench, ["--mode", "swap", "--rules", rules], argv, 0)
        check_sums(document)
        rule = rule_of(document, "torch-flash-2")
        require(rule["launches"]["seen"] == 240 and rule["launches"]["replaced"] > 150, f"{rule}")
        return f"{words_of(rule)}; {[(one['data'], one['rms'], one['max_ulps']) for one in rule['accuracy']]}"
    return check


SURROUNDINGS = """rules:
- name: silu
  kernel: same_silu
  parameters: [8, 8]
  when: u64(1) == 1024
  replace: {{module: {module}, kernel: same_silu, arguments: [{{ptr: ptr(0)}}, {{u64: u64(1)}}],
            grid: [grid_x], block: [block_x]}}
  inout: [{{name: x, address: ptr(0), dtype: bf16, rows: 1, columns: u64(1)}}]
"""


def surroundings(checks):
    """Contexts that are released and live on, captures that others cannot end, or are forbidden by."""
    def check(bench):
        folder, told = checks.ROOT / "tests/gpu", []
        rules = bench.folder / "surroundings.yaml"
        rules.write_text(SURROUNDINGS.format(module=folder / "same_silu.ptx"))
        for work, rounds, least in (("release", "40", 100), ("capture", "60", 30), ("forbid", "30", 15)):
            argv = [sys.executable, folder / "surroundings.py", work, rounds]
            ran, document = ab(bench, ["--mode", "swap", "--no-try", "--rules", rules], argv, 0)
            require(ran.stdout == bench.run(argv).stdout, f"{work}: {ran.stdout}")
            check_sums(document)
            rule = rule_of(document, "silu")
            launches = rule["launches"]
            require(launches["replaced"] + launches["replaced_captured"] > least and
                    rule["not_replaced"]["not_loaded"] == 0, f"{work}: {rule}")
            told.append(f"{work}: {words_of(rule)}")
        return "; ".join(told)
    return check


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
        Check("ab-self-test", 240, self_test(10), "null controls: faults found, delays seen"),
        Check("ab-self-test-long", 400, self_test(50), "the same, 100 of each fault, 200 times the same"),
        Check("ab-silu", 240, decode(checks, "llm_decode", (), "llm-decode-silu", False),
              "a kernel of the program's own replaced in place"),
        Check("ab-shadow", 240, shadow(checks, lambda bench: [
            checks.sample(bench, "llm_decode"), "--steps", STEPS, "--batch", "1"]),
              "in shadow the tokens are the same"),
        Check("ab-shadow-torch", 400, shadow(checks, lambda bench: checks.TORCH),
              "in shadow the tokens of PyTorch are the same"),
        Check("ab-torch-eager", 400, torch(checks, ()), "PyTorch, eager: replaced and timed"),
        Check("ab-torch-graph", 400, torch(checks, ("--graph",)),
              "PyTorch, in a graph: launches of the graph with linears replaced"),
        Check("ab-sequences", 240, sequences(checks),
              "random calls around launches that are held: every result is right"),
        Check("ab-replays-llm_decode", 240, replays(lambda bench: [
            checks.sample(bench, "llm_decode"), "--graph", "--steps", "4000", "--batch", "1"],
              "2000"), "llm_decode in a graph: timed in both forms, by turns"),
        Check("ab-replays-same", 240, same(checks),
              "llm_decode in a graph, a kernel replaced by the same: no difference"),
        Check("ab-tried", 240, tried(checks), "a user's kernel is tried elsewhere, then replaced"),
        Check("ab-flash-2", 240, flash(checks), "FlashAttention-2 of PyTorch by the sample's rule"),
        Check("ab-surroundings", 240, surroundings(checks),
              "releases of a context, and captures of other threads: nothing is broken or lost"),
        Check("ab-wild", 240, wild(checks), "a kernel that faults never comes to the program"),
        Check("ab-naive-flash", 120, naive_flash(checks),
              "attention of llm_decode by attention_prefill, by the rule beside it"),
        Check("ab-modules", 240, modules(checks), "hashes of modules, and a rule that asks for one"),
        Check("ab-truth", 240, truth(checks), "errors against float64"),
        Check("ab-inputs", 240, other_inputs(checks), "comparisons with other inputs"),
        Check("ab-units", 240, units(checks), "tokens per second by ranges"),
        Check("ab-replays-torch", 400, replays(lambda bench: [
            *checks.TORCH, "--graph", *SEVEN_B, "--steps", "128", "--rounds", "12"], "4000"),
              "decoding of 7B by PyTorch in a graph: timed in both forms, by turns"),
    ]
