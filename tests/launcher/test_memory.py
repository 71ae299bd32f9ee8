"""Memory that runs out ends a command with a message: never with a signal, never with half a result.

Requests for memory are refused one at a time. Those of reading the rules come first, are many, and are
the same for all commands; what a command asks for on top is what is tried here."""

import os
import subprocess
import unittest

from harness import HELPERS, KPROF, SANITIZED, Case, environment

TRIALS = 16
FORMATS = ("chrome", "perfetto", "speedscope", "collapsed", "pprof", "csv", "jsonl", "parquet",
           "openmetrics")


@unittest.skipIf(SANITIZED, "sanitizers have their own allocator")
class Memory(Case):
    def setUp(self):
        super().setUp()
        made = subprocess.run([os.path.join(HELPERS, "launcher_make_events"), "a", "b;c", "hex:ff"],
                              capture_output=True, check=True, timeout=200)
        self.trace = self.write("trace.kprof", made.stdout)

    def short(self, words, **changes):
        env = environment(LD_PRELOAD=os.path.join(HELPERS, "launcher_short_memory.so"), **changes)
        return subprocess.run([KPROF, *words], env=env, capture_output=True, timeout=200)

    def count(self, words):
        path = self.path("count")
        result = self.short(words, SHORT_COUNT=path)
        self.assertEqual((result.returncode, result.stderr), (0, b""))
        return int(self.read(path)), result.stdout

    def check(self, *words, first):
        """`first`: requests that are not tried, because they are the same everywhere."""
        count, whole = self.count(words)
        first = min(first, count)
        self.assertGreater(count, 0)
        for at in range(first, count + 1, max(1, (count - first) // TRIALS)):
            for ever in (None, "1"):
                result = self.short(words, SHORT_AT=str(at), SHORT_EVER=ever)
                about = f"{words[:3]}, request {at}, ever {ever}"
                self.assertIn(result.returncode, (0, 125), about)
                if result.returncode == 0:
                    self.assertEqual(result.stdout, whole, about)
                else:
                    self.assertIn(b"kprof: ", result.stderr, about)

    def test_exports(self):
        first = self.count(["export", "-f", "csv", self.trace])[0] - 20
        for name in FORMATS:
            self.check("export", "-f", name, self.trace, first=first)

    def test_reports_and_plans(self):
        first = self.count(["export", "-f", "csv", self.trace])[0]
        for words in (("report",), ("report", "-f", "markdown"), ("report", "-f", "csv"),
                      ("report", "-f", "json"), ("plan", "-t", "0", "-f", "markdown")):
            self.check(*words, self.trace, first=first)
        self.check("diff", self.trace, self.trace, first=2 * first)

    def test_the_last_requests(self):
        """Where texts are made in memory before they are written."""
        for words in (("report", "-f", "markdown"), ("plan", "-t", "0", "-f", "markdown")):
            self.check(*words, self.trace, first=self.count([*words, self.trace])[0] - TRIALS)


if __name__ == "__main__":
    unittest.main()
