"""What the tests of the built kprof command share: running it, making traces, a folder each."""

import json
import os
import shutil
import subprocess
import tempfile
import unittest

KPROF = os.environ["KPROF"]
HELPERS = os.environ["HELPERS"]
SOURCE = os.environ["SOURCE"]
CC = os.environ.get("CC", "cc")
SANITIZED = os.environ.get("SANITIZED", "OFF").upper() in ("ON", "1", "TRUE", "YES")

PROBE = os.path.join(HELPERS, "launcher_probe")
NOTHING = os.path.join(HELPERS, "launcher_nothing.so")
COUNTING = os.path.join(HELPERS, "launcher_counting.so")


def environment(**changes):
    """The environment of a test: nothing that the machine has set for kprof or other tools."""
    env = {k: v for k, v in os.environ.items()
           if not k.startswith(("KPROF_", "LD_PRELOAD", "CUDA_INJ", "NVTX_INJ"))}
    for name in ("COLUMNS", "NO_COLOR"):
        env.pop(name, None)
    env["KPROF_INJECT_LIB"] = NOTHING
    env["LC_ALL"] = "C.UTF-8"
    if SANITIZED:
        env["ASAN_OPTIONS"] = "verify_asan_link_order=0"
    for name, value in changes.items():
        if value is None:
            env.pop(name, None)
        else:
            env[name] = value
    return env


def status_of(returncode):
    """An exit status as a shell has it."""
    return 128 - returncode if returncode < 0 else returncode


class Case(unittest.TestCase):
    """A test in a directory of its own."""

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="kprof-test-")
        self.addCleanup(shutil.rmtree, self.folder)

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, content, mode=0o644):
        path = self.path(name)
        with open(path, "wb") as file:
            file.write(content if isinstance(content, bytes) else content.encode())
        os.chmod(path, mode)
        return path

    def read(self, path):
        with open(self.path(path), "rb") as file:
            return file.read()

    def run_plain(self, *words, **keywords):
        keywords.setdefault("env", environment())
        return subprocess.run(words, cwd=self.folder, capture_output=True, timeout=200, **keywords)

    def kprof(self, *words, **keywords):
        return self.run_plain(KPROF, *words, **keywords)

    def words(self, result):
        """kprof's own lines on stderr."""
        return [line for line in result.stderr.decode().splitlines() if line.startswith("kprof: ")]

    def make_trace(self, *names, file="made.kprof", **variables):
        made = self.run_plain(os.path.join(HELPERS, "launcher_make_trace"), *names,
                              env=environment(**variables))
        self.assertEqual(made.returncode, 0, made.stderr)
        return self.write(file, made.stdout)

    def report(self, *words, **keywords):
        result = self.kprof("report", *words, **keywords)
        self.assertEqual((result.returncode, result.stderr), (0, b""))
        return result.stdout.decode()

    def report_json(self, *words):
        return json.loads(self.report("--format", "json", *words))

    def files(self):
        return sorted(os.listdir(self.folder))
