#!/usr/bin/env python3
"""Runs a program inside this process with a profiler of PyTorch or Triton on, from begin to end.

    in_process.py PROFILER PROGRAM [ARGUMENT…]

PROFILER: torch-cuda, torch-cpu-cuda (torch.profiler), proton (triton.profiler), or none.
PROGRAM: a Python script, or a shared library with `int spin_run(int argc, char **argv)`, such as
samples/libspin.so. These profilers can only be started from within a process, so programs that are
not Python's come to them. How many records there were goes to stderr.
"""

import contextlib
import ctypes
import os
import runpy
import sys
import tempfile


@contextlib.contextmanager
def torch_profiler(names):
    import torch
    from torch.profiler import ProfilerActivity

    torch.cuda.init()
    activities = [getattr(ProfilerActivity, name) for name in names]
    with torch.profiler.profile(activities=activities) as profiler:
        yield
        torch.cuda.synchronize()
    # Not by an export, which takes longer than the run.
    events = profiler.profiler.kineto_results.events()
    records = sum(event.device_type() == torch.autograd.DeviceType.CUDA for event in events)
    print(f"in_process: {records} records", file=sys.stderr)


@contextlib.contextmanager
def proton():
    import torch
    from triton import profiler

    torch.cuda.init()
    with tempfile.TemporaryDirectory() as folder:
        name = os.path.join(folder, "proton")
        profiler.start(name)
        yield
        torch.cuda.synchronize()
        profiler.finalize()
        data = b""
        for file in os.listdir(folder):
            with open(os.path.join(folder, file), "rb") as tree:
                data += tree.read()
    # A tree: each of its nodes that is a kernel has a count.
    print(f"in_process: {data.count(b'count')} records", file=sys.stderr)


PROFILERS = {
    "none": contextlib.nullcontext,
    "torch-cuda": lambda: torch_profiler(["CUDA"]),
    "torch-cpu-cuda": lambda: torch_profiler(["CPU", "CUDA"]),
    "proton": proton,
}


def run(program, arguments):
    """The exit status of the program."""
    if program.endswith(".py"):
        sys.argv = [program, *arguments]
        runpy.run_path(program, run_name="__main__")
        return 0
    words = [word.encode() for word in (program, *arguments)]
    return ctypes.CDLL(os.path.abspath(program)).spin_run(
        len(words), (ctypes.c_char_p * (len(words) + 1))(*words, None))


def main():
    if len(sys.argv) < 3 or sys.argv[1] not in PROFILERS:
        sys.exit(__doc__)
    with PROFILERS[sys.argv[1]]():
        status = run(sys.argv[2], sys.argv[3:])
    return status


if __name__ == "__main__":
    sys.exit(main())
