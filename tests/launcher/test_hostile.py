"""Small files that ask for much memory get 64 MiB of it at most, or four times their bytes, whatever reads
them; see trace/limits.h. The address space is limited, too: what asks for more fails instead of the machine."""

import os
import resource
import subprocess
import unittest

from harness import HELPERS, KPROF, SANITIZED, Case, environment

MIB = 1 << 20
ADDRESS_SPACE = 512 * MIB
COMMANDS = (("report",), ("report", "-f", "json"), ("diff",), ("tui", "--keys", "P"),
            ("export", "-f", "chrome"), ("export", "-f", "pprof"))


def limit_memory():
    resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE, ADDRESS_SPACE))


@unittest.skipIf(SANITIZED, "sanitizers need memory of their own")
class Hostile(Case):
    def peak_bytes(self, words):
        """Of a command that succeeds."""
        with open(self.path("stderr"), "w+b") as stderr:
            child = subprocess.Popen([KPROF, *words], env=environment(), stdin=subprocess.DEVNULL,
                                     stdout=subprocess.DEVNULL, stderr=stderr,
                                     preexec_fn=limit_memory)
            _, status, usage = os.wait4(child.pid, 0)
            child.returncode = os.waitstatus_to_exitcode(status)
            stderr.seek(0)
            said = stderr.read()
            self.assertEqual(child.returncode, 0, (words[:3], said))
            self.assertNotIn(b"memory", said)
        return usage.ru_maxrss * 1024

    def check(self, kind, count, length):
        made = subprocess.run([os.path.join(HELPERS, "launcher_make_hostile"), kind, str(count),
                               str(length)], capture_output=True, check=True, timeout=200)
        trace = self.write("trace.kprof", made.stdout)
        for words in COMMANDS:
            files = [trace, trace] if words[0] == "diff" else [trace]
            most = max(64 * MIB, 4 * len(made.stdout) * len(files))
            peak = self.peak_bytes([*words, *files])
            self.assertLessEqual(peak, most, f"{kind}: {len(made.stdout)} bytes, {words}")

    def test_giant_names(self):
        self.check("names", 200, 60000)

    def test_giant_names_that_are_escaped(self):
        self.check("controls", 400, 60000)

    def test_many_names(self):
        self.check("names", 12000, 300)

    def test_names_that_double(self):
        self.check("mangled", 8000, 0)

    def test_giant_ranges(self):
        self.check("ranges", 400, 60000)

    def test_many_ranges(self):
        self.check("ranges", 30000, 40)

    def test_giant_fields(self):
        self.check("fields", 300, 60000)

    def test_many_devices(self):
        self.check("devices", 20000, 8)

    def test_many_streams(self):
        self.check("streams", 20000, 0)

    def test_what_must_wait_for_the_last_batch(self):
        self.check("waits", 400000, 10000)

    def test_giant_notes(self):
        self.check("notes", 300, 60000)

    def names(self, count, length):
        """The rows of the kernels with such names."""
        made = subprocess.run([os.path.join(HELPERS, "launcher_make_hostile"), "names", str(count),
                               str(length)], capture_output=True, check=True, timeout=200)
        trace = self.write("trace.kprof", made.stdout)
        result = subprocess.run([KPROF, "report", "-f", "csv", trace], env=environment(),
                                capture_output=True, check=True, timeout=200)
        return result.stdout.decode().splitlines()[1:]

    def test_names_that_are_cut_say_so(self):
        lines = self.names(3000, 1000)
        self.assertEqual(len(lines), 3000)
        self.assertEqual(sum("k1000" + 995 * "a" in line for line in lines), 1)
        self.assertEqual(sum("k2500" + 43 * "a" + "… (2500)" in line for line in lines), 1)

    def test_kernels_that_are_joined_say_so(self):
        lines = self.names(4000, 60)
        self.assertEqual(len(lines), 3072 + 1)
        self.assertEqual(sum("(kernels beyond the first 3072)" in line for line in lines), 1)


if __name__ == "__main__":
    unittest.main()
