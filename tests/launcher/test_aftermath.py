"""What kprof does when the program has ended: the trace's file, lost processes, messages, reports.

In the collector's place is a library that takes a slot of the shared mapping and fills it as a
script says; see counting.c.
"""

import json
import os
import signal
import subprocess
import unittest

from harness import COUNTING, KPROF, Case, environment

FREE, RUNNING, DISABLED, ENDED = range(4)


class Aftermath(Case):
    def scripted(self, script, *words):
        return self.kprof(*words, env=environment(KPROF_INJECT_LIB=COUNTING, LAUNCHER_SLOT=script))

    def info(self, name):
        result = self.kprof("info", "--format", "json", name)
        self.assertEqual((result.returncode, result.stderr), (0, b""))
        return json.loads(result.stdout)

    def test_killed_process_is_counted_exactly(self):
        result = self.scripted(f"{RUNNING} 1000 900 850 3 1", "-o", "t.kprof", "--", "sh", "-c",
                               "kill -9 $$")
        self.assertEqual(result.returncode, 137, result.stderr)
        process = self.info("t.kprof")["processes"][0]
        self.assertFalse(process["ended"])
        counts = process["counts"]
        self.assertEqual((counts["kernels_issued"], counts["kernels_recorded"],
                          counts["kernels_unwritten"], counts["records_dropped"],
                          counts["write_errno"]), (1000, 900, 50, 3, None))
        self.assertIn("Unfinished", result.stderr.decode())
        self.assertIn("1,000 launches", result.stderr.decode().replace("\n           ", " "))

    def test_unknown_counts_stay_unknown(self):
        self.scripted(f"{RUNNING} - 900 850 - 1", "-q", "-o", "t.kprof", "--", "sh", "-c",
                      "kill -9 $$")
        counts = self.info("t.kprof")["processes"][0]["counts"]
        self.assertEqual((counts["kernels_issued"], counts["kernels_recorded"],
                          counts["records_dropped"]), (None, 900, None))

    def test_orderly_process_is_left_alone(self):
        self.scripted(f"{ENDED} 10 10 10 0 2", "-q", "-o", "t.kprof", "--", "true")
        process = self.info("t.kprof")["processes"][0]
        self.assertTrue(process["ended"])
        self.assertIsNone(process["counts"]["kernels_issued"])

    def test_running_process_is_waited_for_and_named(self):
        result = self.scripted(f"{RUNNING} 5 5 5 0 1", "-o", "t.kprof", "--", "sh", "-c",
                               "sh -c 'echo $$ >pid; exec sleep 300' >/dev/null 2>&1 & "
                               "until [ -s pid ]; do sleep 0.02; done")
        self.addCleanup(os.kill, int(self.read("pid")), signal.SIGKILL)
        self.assertEqual(result.returncode, 0)
        self.assertTrue([x for x in self.words(result) if "still run" in x], result.stderr)
        for process in self.info("t.kprof")["processes"]:
            if process["pid"] is not None and os.path.exists(f"/proc/{process['pid']}"):
                self.assertIsNone(process["counts"]["kernels_issued"])

    def test_straggler_is_waited_for(self):
        result = self.scripted(f"{RUNNING} 5 5 5 0 1", "-o", "t.kprof", "--", "sh", "-c",
                               "sleep 0.4 >/dev/null 2>&1 & sleep 0.3")
        self.assertFalse([x for x in self.words(result) if "still run" in x], result.stderr)
        for process in self.info("t.kprof")["processes"]:
            self.assertEqual(process["counts"]["kernels_issued"], 5)

    def test_closed_descriptors_stay_out_of_the_trace(self):
        """Files that kprof opens never land where its words, or the program's, go."""
        env = environment(KPROF_INJECT_LIB=COUNTING, LAUNCHER_SLOT=f"{ENDED} 1 1 1 0 2")
        for closed in ("2>&-", "<&- >&- 2>&-"):
            run = self.run_plain("sh", "-c", f"{KPROF} -o t.kprof --report r.json -- "
                                 "echo >/dev/null " + closed, env=env)
            self.assertEqual((run.stdout, run.stderr), (b"", b""))
            self.assertEqual(self.files(), ["r.json", "t.kprof"])
            self.assertFalse(any(self.info("t.kprof")["damage"].values()), closed)
            self.assertEqual(json.loads(self.read("r.json"))["schema"], "kprof.report/v1")

    def test_messages_are_passed_on_once(self):
        result = self.scripted(f"{DISABLED} - 0 0 - 0 no CUPTI here", "--", "sh", "-c",
                               "sh -c : & sh -c : & wait; exit 3")
        self.assertEqual(result.returncode, 3)
        lines = [x for x in self.words(result) if "no CUPTI here" in x]
        self.assertEqual(len(lines), 1, result.stderr)
        self.assertRegex(lines[0], r"process \d+ and 2 more: no CUPTI here")
        self.assertTrue([x for x in self.words(result) if "nothing was recorded" in x])
        self.assertEqual(self.files(), [])

    def test_escapes_in_messages_are_shown(self):
        result = self.scripted(f"{DISABLED} - 0 0 - 0 a\033[31mb", "--", "true")
        self.assertIn("a\\x1b[31mb", result.stderr.decode())

    def test_record_prints_one_line(self):
        result = self.scripted(f"{ENDED} 10 10 10 0 2", "record", "true")
        self.assertEqual(result.returncode, 0)
        self.assertEqual(len(result.stderr.splitlines()), 1, result.stderr)
        self.assertIn("true.kprof", self.words(result)[0])
        self.assertEqual(self.files(), ["true.kprof"])

    def test_quiet_is_silent(self):
        result = self.scripted(f"{ENDED} 10 10 10 0 2", "-q", "-o", "t.kprof", "--", "true")
        self.assertEqual(result.stderr, b"")
        self.assertEqual(self.files(), ["t.kprof"])

    def test_reports_are_written_by_extension(self):
        for extension, start in (("txt", "Command"), ("yaml", "schema:"), ("yml", "schema:"),
                                 ("json", "{"), ("csv", "operator,name,")):
            result = self.scripted(f"{ENDED} 10 10 10 0 2", "-q", "-o", "t.kprof", "--report",
                                   "r." + extension, "--", "true")
            self.assertEqual((result.returncode, result.stderr), (0, b""))
            with open(self.path("r." + extension), encoding="utf-8") as file:
                self.assertTrue(file.read().startswith(start))

    def test_ranking_goes_to_standard_error(self):
        result = self.scripted(f"{ENDED} 10 10 10 0 2", "-o", "t.kprof", "--", "echo", "mine")
        self.assertEqual(result.stdout, b"mine\n")
        self.assertIn("scripted", result.stderr.decode())

    def test_failed_report_shows_where_the_program_succeeded(self):
        script = f"{ENDED} 10 10 10 0 2"
        os.symlink("/dev/full", os.path.join(self.folder, "r.txt"))
        for command, expected in (("true", 125), ("exit 9", 9)):
            result = self.scripted(script, "-q", "-o", "t.kprof", "--report", "r.txt",
                                   "--", "sh", "-c", command)
            self.assertEqual(result.returncode, expected, result.stderr)
            self.assertTrue([x for x in self.words(result) if "cannot write r.txt" in x])

    def test_report_that_cannot_be_written_stops_before_the_program(self):
        for report in ("/no/such/r.txt", "t.txt"):
            result = self.kprof("-o", "t.txt", "--report", report, "--", "touch", "started")
            self.assertEqual(result.returncode, 125, result.stderr)
            self.assertTrue([x for x in self.words(result) if report in x])
            self.assertFalse(os.path.exists(os.path.join(self.folder, "started")))

    def test_gone_reader_of_standard_error_changes_nothing(self):
        process = subprocess.Popen([KPROF, "-o", "t.kprof", "--", "sh", "-c", "sleep 0.3; exit 5"],
                                   cwd=self.folder, stderr=subprocess.PIPE,
                                   env=environment(KPROF_INJECT_LIB=COUNTING,
                                                   LAUNCHER_SLOT=f"{ENDED} 1 1 1 0 2"))
        process.stderr.close()
        self.assertEqual(process.wait(timeout=200), 5)


class TraceFile(Case):
    def scripted(self, *words):
        return self.kprof(*words, env=environment(KPROF_INJECT_LIB=COUNTING,
                                                  LAUNCHER_SLOT=f"{ENDED} 10 10 10 0 2"))

    def test_default_names_never_replace(self):
        for _ in range(3):
            self.assertEqual(self.scripted("--", "/bin/true").returncode, 0)
        self.assertEqual(self.files(), ["true.2.kprof", "true.3.kprof", "true.kprof"])

    def test_named_trace_is_replaced(self):
        self.scripted("-q", "-o", "t.kprof", "--", "true")
        size = os.path.getsize(self.path("t.kprof"))
        self.scripted("-q", "-o", "t.kprof", "--", "true")
        self.assertEqual(os.path.getsize(self.path("t.kprof")), size)

    def test_other_files_are_left_alone(self):
        self.write("precious", "not a trace, and longer than a header of one: " + "x" * 100)
        result = self.scripted("-o", "precious", "--", "touch", "started")
        self.assertEqual(result.returncode, 125)
        self.assertIn("precious", self.words(result)[0])
        self.assertEqual(self.files(), ["precious"])
        with open(self.path("precious"), encoding="ascii") as file:
            self.assertTrue(file.read().startswith("not a trace"))

    def test_traces_are_not_replaced_by_reports(self):
        trace = self.make_trace("k", file="r.json")
        before = os.path.getsize(trace)
        result = self.kprof("report", "--format", "json", "-o", "r.json", "r.json")
        self.assertEqual(result.returncode, 125)
        self.assertEqual(os.path.getsize(trace), before)

    def test_places_where_no_trace_can_be(self):
        os.mkfifo(self.path("pipe"))
        for place in ("/dev/null", ".", "no/such/folder/t.kprof", "pipe"):
            result = self.scripted("-o", place, "--", "touch", "started")
            self.assertEqual(result.returncode, 125, place)
            self.assertEqual(len(self.words(result)), 1, result.stderr)
        self.assertEqual(self.files(), ["pipe"])

    def test_unknown_extension_is_an_error_before_the_start(self):
        for name in ("r.xyz", "r", ".json/r", "r.JSONx"):
            result = self.scripted("--report", name, "--", "touch", "started")
            self.assertEqual(result.returncode, 125, name)
            self.assertIn(".yaml", self.words(result)[0])
        self.assertEqual(self.files(), [])


if __name__ == "__main__":
    unittest.main()
