"""kprof import of what other tools record on this GPU; rows of checks.py.

torch_decode.py runs once under the other tool and once under kprof; what kprof report says of the
imported file must be what the other tool saw: launches by kernel as kprof's, times near them.
"""

import glob
import shutil

import compare
from runner import Check, Skip, require

NSYS_PLACES = "/opt/nvidia/nsight-compute/*/host/target-linux-x64/nsys"
SLACK = 0.05  # of kernel time: two runs of one program


def find_nsys():
    return shutil.which("nsys") or next(iter(sorted(glob.glob(NSYS_PLACES), reverse=True)), None)


def record_nsys(bench, argv):
    nsys = find_nsys()
    if not nsys:
        raise Skip("no nsys here")
    out = bench.folder / "nsys"
    bench.run([nsys, "profile", "--trace=cuda,nvtx", "--cuda-graph-trace=node", "--sample=none",
               "--cpuctxsw=none", "--force-overwrite=true", "--output", out, *argv])
    if not (bench.folder / "nsys.nsys-rep").exists():
        raise Skip("this nsys has no importer, and left a .qdstrm")
    path = bench.folder / "nsys.sqlite"
    bench.run([nsys, "export", "--type", "sqlite", "--force-overwrite", "true", "--output", path,
               f"{out}.nsys-rep"])
    return path


# torch_decode.py's own --profile keeps sums only.
PROFILED = """
import runpy, sys, torch
path, sys.argv = sys.argv[1], sys.argv[2:]
torch.cuda.init()
with torch.profiler.profile() as profiler:
    runpy.run_path(sys.argv[0], run_name="__main__")
    torch.cuda.synchronize()
profiler.export_chrome_trace(path)
"""


def record_torch(bench, argv):
    path = bench.folder / "torch.json"
    python, *program = argv
    bench.run([python, "-c", PROFILED, path, *program])
    return path


def rows(record, report, need_torch, torch):
    """The rows of checks.py; the arguments are its functions, and torch_decode's command."""
    def imported(record_other, options):
        def check(bench):
            need_torch(bench)
            argv = [*torch, *options]
            path = record_other(bench, argv)
            trace = bench.folder / "imported.kprof"
            bench.run([bench.build / "kprof", "import", "-o", trace, path])
            theirs = report(bench, trace)
            _, own = record(bench, argv)
            ours = report(bench, own)
            told = compare.same_kernels(*({name: kernel.calls for name, kernel in
                                           seen.by_full_name().items()} for seen in (theirs, ours)))
            ratio = (theirs.document["totals"]["kernel_time_ns"]
                     / ours.document["totals"]["kernel_time_ns"])
            require(abs(ratio - 1) <= SLACK, f"kernel time is {ratio:.3f} × kprof's own")
            return f"{told}; kernel time {ratio:.3f} × kprof's own"
        return check

    return [
        Check("import-nsys", 300, imported(record_nsys, []),
              "an SQLite export of nsys, PyTorch eager: launches by kernel as kprof's"),
        Check("import-nsys-graph", 300, imported(record_nsys, ["--graph"]),
              "the same, CUDA graph"),
        Check("import-torch", 300, imported(record_torch, []),
              "a Chrome trace of torch.profiler: the same"),
    ]
