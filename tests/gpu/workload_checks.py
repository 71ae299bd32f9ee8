"""Checks of programs that others' compilers launch kernels for: Triton, TorchInductor, XLA, and the
models of transformers and timm (tests/gpu/workloads). One row each, like those of checks.py.
"""

import json
import sys
from pathlib import Path

import compare
from runner import Check, Skip

FOLDER = Path(__file__).resolve().parent / "workloads"
# Name, modules that it needs, and its command line.
WORKLOADS = (
    ("triton", ("torch", "triton"), ["triton_block.py"]),
    ("compile", ("torch", "triton"), ["llama_torch.py", "--compile", "--layers", "2"]),
    ("eager", ("torch",), ["llama_torch.py"]),
    ("transformers", ("torch", "transformers"), ["transformers_model.py", "llama"]),
    ("convnet", ("torch", "timm"), ["convnet.py"]),
    ("jax", ("jax",), ["jax_decoder.py"]),
)


def need_modules(bench, names):
    probe = f"import {', '.join(names)}"
    if bench.run([sys.executable, "-c", probe], status=None).status != 0:
        raise Skip(f"no Python that has {' and '.join(names)}")


def argv_of(words, *options):
    return [sys.executable, FOLDER / words[0], *words[1:], *options]


def issued_check(checks, modules, words):
    """The whole run, compilation and trial runs included: recorded = issued."""
    def check(bench):
        need_modules(bench, modules)
        _, trace = checks.record(bench, argv_of(words))
        seen = checks.report(bench, trace)
        return compare.counts(seen.kernels, checks.issued(seen), seen.dropped)
    return check


def profiler_check(checks, modules, words):
    """The steady part, kernel by kernel: kprof's calls = torch.profiler's."""
    def check(bench):
        need_modules(bench, modules)
        path = bench.folder / "torch.json"
        bench.run(argv_of(words, "--profile", path))
        _, seen = checks.record_with(bench, ["--range", "steady"], argv_of(words))
        theirs = {"".join(name.split()): calls
                  for name, calls in json.loads(path.read_text()).items()}
        ours = {"".join(name.split()): row.calls for name, row in seen.by_full_name().items()}
        return compare.same_kernels(theirs, ours)
    return check


def rows(checks):
    """`checks`: the module checks, whose parts these share."""
    table = [Check(f"workload-{name}", 400, issued_check(checks, modules, words),
                   "recorded = issued at the driver, the whole run")
             for name, modules, words in WORKLOADS]
    table += [Check(f"workload-{name}-torch", 600, profiler_check(checks, modules, words),
                    "launches by kernel = torch.profiler's, the steady part")
              for name, modules, words in WORKLOADS if "torch" in modules]
    return table
