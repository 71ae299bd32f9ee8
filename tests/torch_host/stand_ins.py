#!/usr/bin/env python3
"""Builds the shared libraries that PyTorch's ask for: stand_ins.py TORCH-LIBRARIES OUT

Each has the functions that PyTorch's libraries want of it; libcudart's are those of stand_in.c, and every
other function returns 0, or gives a handle where one is created.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

LIBRARY = re.compile(r"lib(cu|nccl|nv)\w*\.so.*")
CUDA = re.compile(r"(cu[A-Zbdfrs]|__cuda|nccl|nvrtc|nvtx|nvshmem|cupti)\w*$")
SOURCE = Path(__file__).resolve().parent / "stand_in.c"
CONTEXT = """
int cuDevicePrimaryCtxGetState(int device, unsigned *flags, int *active)
{ (void)device; *flags = 0; *active = 1; return 0; }
int cuCtxGetCurrent(void **context) { *context = (void *)64; return 0; }
int cuCtxSetCurrent(void *context) { (void)context; return 0; }
"""


def lines(*argv):
    return subprocess.run(argv, check=True, capture_output=True, text=True).stdout.splitlines()


def wanted(folder):
    """({library}, {function: version}) that the libraries in a folder want of others."""
    libraries, functions = {"libcuda.so.1"}, {}
    for path in sorted(folder.glob("lib*.so*")):
        for line in lines("readelf", "-d", path):
            found = re.search(r"\(NEEDED\).*\[(.*)\]", line)
            if found and LIBRARY.fullmatch(found[1]):
                libraries.add(found[1])
        for line in lines("nm", "-D", "--undefined-only", path):
            name, _, version = line.split()[-1].partition("@")
            if version.startswith(("lib", "NVSHMEM")) or (not version and CUDA.match(name)):
                functions[name] = version.strip("@")
    return libraries, functions


def code_of(name):
    if re.match(r"cu(blas|blasLt|dnn|solverDn|sparse)\w*Create(_v2)?$", name):
        return f"int {name}(void **p) {{ *p = calloc(1, 65536); return 0; }}"
    if re.search(r"Error(String|Name)$|Status(String|Name)$", name):
        return f'const char *{name}(void) {{ return ""; }}'
    if name == "cudaGetSymbolAddress":
        return f"int {name}(void **p) {{ *p = calloc(1, 65536); return 0; }}"
    if name == "cudaGetDriverEntryPointByVersion":
        return ("static int nothing(void) { return 0; }\n"
                "int cuDevicePrimaryCtxGetState(int, unsigned *, int *);\n" + CONTEXT +
                f"int {name}(const char *n, void **p, unsigned v, unsigned long long f, int *q)"
                "{ (void)v; (void)f; *p = strcmp(n, \"cuDevicePrimaryCtxGetState\") ? (void *)nothing"
                " : (void *)cuDevicePrimaryCtxGetState; if (q) *q = 0; return 0; }")
    return f"int {name}(void) {{ return 0; }}"


def build(out, library, functions, version):
    known = set(re.findall(r"^\w[\w *]*?\b(\w+)\(", SOURCE.read_text(), re.M))
    is_runtime = library.startswith("libcudart.")
    rest = [name for name in sorted(functions) if not (is_runtime and name in known)]
    text = "\n".join(["#include <stdlib.h>", "#include <string.h>", *map(code_of, rest), ""])
    if library == "libcuda.so.1":
        text += CONTEXT
    source = out / f"{library}.c"
    source.write_text(text)
    argv = ["gcc", "-w", "-shared", "-fPIC", "-O1", "-D_GNU_SOURCE", f"-Wl,-soname,{library}",
            "-o", out / library, source]
    if is_runtime:
        argv += [SOURCE, f"-I{os.environ.get('CUDA_HOME', '/usr/local/cuda')}/include"]
    if version:
        script = out / f"{library}.map"
        script.write_text(f"{version} {{ global: *; }};\n")
        argv.append(f"-Wl,--version-script,{script}")
    subprocess.run(argv, check=True)


def main():
    folder, out = Path(sys.argv[1]), Path(sys.argv[2])
    out.mkdir(parents=True, exist_ok=True)
    libraries, functions = wanted(folder)
    homes = {"NVSHMEM": next((n for n in libraries if n.startswith("libnvshmem")), None),
             "": next((n for n in libraries if n.startswith("libcupti")), None)}
    for library in sorted(libraries):
        own = [name for name, version in functions.items()
               if homes.get(version, version) == library]
        versions = {functions[name] for name in own} - {""}
        build(out, library, own, versions.pop() if versions else "")


if __name__ == "__main__":
    main()
