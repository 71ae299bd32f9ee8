"""Checks of what is read out of the launches of PyTorch's kernels: rows of checks.py."""

import sys
from pathlib import Path

import torch_launches
from ab_checks import ab, check_sums, rule_of, words_of
from runner import Check, Skip, require

HERE = Path(__file__).resolve().parent


def told_sequences(text):
    """{case: [«kind rows x columns»]} of torch_told's output, and how many launches were known."""
    cases, case, known = {}, None, [0, 0]
    for line in text.splitlines():
        word, _, rest = line.partition(" ")
        if word == "CASE":
            case = cases.setdefault(rest, [])
        elif word == "SEQ":
            # «rms norm (host) 8 launches 4 x 2048 eps …»
            kind, _, shape = rest.partition(" launches ")
            kind = kind.rsplit(" ", 1)[0].removesuffix(" (host)")
            case.append(f"{kind} {' '.join(shape.split()[:3])}")
        elif word == "IS":
            known[rest != "not known"] += 1
    return cases, known


EAGER = ("eager-rms-norm", "eager-residual-rms-norm", "eager-rms-norm-one", "eager-silu-mul",
         "eager-gelu-mul", "eager-gelu-tanh-mul", "eager-scale-softmax")
ROUNDS = "60"


def replaced(need_torch):
    """On the driver's allocator each kind is replaced and right; on PyTorch's own all is as
    without."""
    def check(bench):
        need_torch(bench)
        program = [sys.executable, "-B", HERE / "torch_sequences.py"]
        options = ["--mode", "swap", "--again", "50", *(word for name in EAGER
                                                      for word in ("--rule", name))]
        ran, document = ab(bench, options, [*program, "async", ROUNDS], 0)
        require(ran.text().startswith("all "), ran.text())
        check_sums(document)
        for name in EAGER:
            rule = rule_of(document, name)
            launches = rule["launches"]
            require(launches["elided"] > 0.9 * launches["replaced"] > 0,
                    f"{words_of(rule)}: {launches} {rule['not_replaced']}")
        bare = bench.run([*program, "native", ROUNDS])
        ran, native = ab(bench, options, [*program, "native", ROUNDS], None)
        # 122: nothing was replaced.
        require(ran.status in (0, 122), f"status {ran.status}: {ran.log}.err")
        check_sums(native)
        require(ran.stdout == bare.stdout, f"{ran.text()} for {bare.text()}")
        require(not any(rule["launches"]["elided"] for rule in native["rules"]), "elided")
        return "; ".join(words_of(rule_of(document, name)) for name in EAGER)
    return check


def rows(need_torch):
    """The rows of checks.py; the argument is its function."""
    def check(bench):
        need_torch(bench)
        library = bench.build / "tests/gpu/libtorch_parameters.so"
        told = bench.build / "tests/gpu/torch_told"
        if not library.exists() or not told.exists():
            raise Skip(f"{library} or {told} was not built")
        dump = bench.folder / "torch_launches.txt"
        bench.run([sys.executable, "-B", HERE / "torch_launches.py", library],
                  env={"CUDA_INJECTION64_PATH": str(library), "TORCH_PARAMETERS": str(dump)})
        cases, known = told_sequences(bench.run([told, dump]).text())
        wrong = {name: cases.get(name) for name, expected, _, _ in torch_launches.SEQUENCES
                 if cases.get(name) != expected}
        require(not wrong, f"told otherwise: {wrong}")
        return f"{len(torch_launches.SEQUENCES)} cases, {known[1]} of {sum(known)} launches known"

    return [Check("torch-launches", 240, check,
                  "operations and sequences read from the parameters of PyTorch's launches"),
            Check("ab-torch", 240, replaced(need_torch),
                  "PyTorch's eager norms, gates and softmax replaced in place")]
