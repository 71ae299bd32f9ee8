#!/usr/bin/env python3
"""Installs kprof into an empty folder, and uses libkprof_kernels from there as another program would:
pkg-config, headers alone, the sample, which runs on the fake GPU; then kprof bench --against."""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[2]
HAVE_NVCC = os.environ.get("KPROF_HAVE_NVCC") == "ON"
OPTIONS = None
FLAGS = ("-std=c11", "-Wall", "-Wextra", "-Werror")


class Installed(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = Path(tempfile.mkdtemp(prefix="kprof-install-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        # Installed, then moved: nothing may know where it was.
        subprocess.run([OPTIONS.cmake, "--install", OPTIONS.build, "--prefix", cls.folder / "first"],
                       check=True, capture_output=True)
        cls.prefix = cls.folder / "moved"
        (cls.folder / "first").rename(cls.prefix)
        cls.libraries = next(cls.prefix.glob("lib*/**/libkprof_kernels.a")).parent

    def run_in(self, *argv, status=0, **variables):
        environment = {key: value for key, value in os.environ.items()
                       if not key.startswith(("KP", "CUDA_", "LD_"))}
        environment.update(PKG_CONFIG_PATH=str(self.libraries / "pkgconfig"),
                           XDG_CACHE_HOME=str(self.folder), **variables)
        ran = subprocess.run([str(word) for word in argv], cwd=self.folder, env=environment,
                             capture_output=True, text=True, timeout=200, check=False)
        self.assertEqual(ran.returncode, status, ran.stdout + ran.stderr)
        return ran.stdout

    def fake(self):
        return {"LD_LIBRARY_PATH": str(Path(OPTIONS.build) / "tests/fake_gpu/cuda")}

    def pkg_config(self, *words):
        if not shutil.which("pkg-config"):
            self.skipTest("no pkg-config")
        return self.run_in("pkg-config", *words, "kprof_kernels").split()

    def test_headers_alone(self):
        """Each header is enough by itself, for C and for C++."""
        headers = sorted((self.prefix / "include/kprof/kernels").glob("*.h"))
        self.assertGreater(len(headers), 6)
        compilers = [(OPTIONS.cc, "c", FLAGS)]
        if shutil.which("c++"):
            compilers.append(("c++", "c++", ("-std=c++17", "-Wall", "-Wextra", "-Werror")))
        for header in headers:
            source = self.folder / "alone.c"
            source.write_text(f"#include <kernels/{header.name}>\nint unused = KP_DTYPE_COUNT;\n")
            for compiler, language, flags in compilers:
                self.run_in(compiler, *flags, "-x", language, "-fsyntax-only",
                            f"-I{self.prefix}/include/kprof", source)

    def test_every_operator_links(self):
        """The archive needs nothing but libc, libm and libdl; each operator has its four functions."""
        calls = []
        for path in sorted((self.prefix / "include/kprof/kernels").glob("*.h")):
            for line in path.read_text().splitlines():
                word = line.split("(")[0].split()[-1].lstrip("*") if "(" in line else ""
                if word.startswith("kp_") and not line.startswith((" ", "\t")):
                    calls.append((path.name, word))
        self.assertGreater(len(calls), 40)
        includes = "".join(f"#include <kernels/{name}>\n" for name in sorted({n for n, _ in calls}))
        source = self.folder / "all.c"
        source.write_text(includes + "void (*all[])(void) = {" + ", ".join(
            f"(void (*)(void)){word}" for _, word in calls) + "};\nint main(void) { return !all[0]; }\n")
        self.run_in(OPTIONS.cc, *FLAGS, "-Wno-cast-function-type", source, "-o", self.folder / "all",
                    *self.pkg_config("--cflags", "--libs", "--static"))
        self.run_in(self.folder / "all")

    def test_sample(self):
        """The plan without a GPU, then the kernel on the fake one."""
        if not OPTIONS.cuda_include or "NOTFOUND" in OPTIONS.cuda_include:
            self.skipTest("no cuda.h")
        sample = self.folder / "rmsnorm"
        self.run_in(OPTIONS.cc, *FLAGS, "-isystem", OPTIONS.cuda_include,
                    SOURCE / "samples/kernels/rmsnorm.c", "-o", sample,
                    *self.pkg_config("--cflags", "--libs", "--static"),
                    f"-L{OPTIONS.build}/tests/fake_gpu/cuda", "-lcuda")
        said = self.run_in(sample, status=0 if HAVE_NVCC else 1, **self.fake())
        self.assertTrue(said.startswith("kp_rmsnorm_block_1_bf16, 4 blocks of 128 threads\n"), said)
        self.assertEqual(said.endswith("\nright\n"), HAVE_NVCC, said)
        said = self.run_in(sample, status=1, KP_FAKE="init_fail=100", **self.fake())
        self.assertIn("cuInit fails with error 100", said)

    def test_against(self):
        """kprof finds its Python program where it was installed."""
        python = self.folder / "python"
        python.write_text('#!/bin/sh\necho "kprof: this is $2 for $4" >&2\nexit 3\n')
        python.chmod(0o755)
        kprof = self.prefix / "bin/kprof"
        ran = subprocess.run([kprof, "bench", "softmax", "--against", "torch"], capture_output=True,
                             env={"KPROF_PYTHON": str(python)}, timeout=200, check=False)
        self.assertEqual((ran.returncode, ran.stdout), (125, b""))
        self.assertRegex(ran.stderr.decode(),
                         r"^kprof: this is \S+/bench_references\.py for softmax\n$")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", required=True)
    parser.add_argument("--cmake", required=True)
    parser.add_argument("--cc", required=True)
    parser.add_argument("--cuda-include", default="")
    OPTIONS, rest = parser.parse_known_args()
    unittest.main(argv=[sys.argv[0], *rest])
