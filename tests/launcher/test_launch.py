"""kprof -- CMD: what CMD is started with, what becomes of it, and what kprof says about it.

No program here uses a GPU. In the collector's place is a library that does nothing.
"""

import os
import pty
import shutil
import signal
import struct
import subprocess
import sys
import time
import unittest

from harness import CC, KPROF, NOTHING, PROBE, Case, environment, status_of


class ExitStatus(Case):
    def assert_same(self, *command, **keywords):
        """Standard output and exit status are what they are without kprof."""
        plain = self.run_plain(*command, **keywords)
        under = self.kprof("--", *command, **keywords)
        self.assertEqual(under.stdout, plain.stdout)
        self.assertEqual(under.returncode, status_of(plain.returncode))
        return under

    def test_statuses_pass_through(self):
        self.assert_same("true")
        self.assert_same("false")
        for status in (7, 125, 126, 127, 200, 255):
            self.assert_same("sh", "-c", f"exit {status}")

    def test_signals_become_128_plus_n(self):
        for number in ("KILL", "TERM", "SEGV", "INT", "PIPE", "HUP"):
            self.assert_same("sh", "-c", f"kill -{number} $$")

    def test_output_is_byte_identical(self):
        self.assert_same("sh", "-c", "printf 'a\\000b\\377\\n'; printf 'no newline'; exit 3")
        self.assert_same("head", "-c", "200000", "/dev/zero")

    def test_standard_input_passes_through(self):
        data = bytes(range(256)) * 1000
        self.assertEqual(self.assert_same("cat", input=data).stdout, data)

    def test_standard_error_of_the_program_stays(self):
        under = self.kprof("--", "sh", "-c", "printf 'mine\\n' >&2")
        self.assertTrue(under.stderr.startswith(b"mine\n"), under.stderr)

    def test_script_with_interpreter(self):
        script = self.write("script", "#!/bin/sh\necho \"$0 $1\"; exit 9\n", 0o755)
        self.assertEqual(self.assert_same(script, "x").returncode, 9)

    def test_script_without_interpreter_goes_to_the_shell(self):
        script = self.write("bare", "echo from the shell; exit 4\n", 0o755)
        under = self.kprof("--", script)
        self.assertEqual((under.returncode, under.stdout), (4, b"from the shell\n"))

    def test_script_in_search_path(self):
        self.write("only-here", "#!/bin/sh\nexit 21\n", 0o755)
        for search in (f"/nonexistent:{self.folder}", ""):  # an empty element is the current folder
            under = self.kprof("--", "only-here", env=environment(PATH=search))
            self.assertEqual(under.returncode, 21, under.stderr)

    def test_options_end_at_the_command(self):
        under = self.kprof("--", "echo", "--help", "-o", "x")
        self.assertEqual(under.stdout, b"--help -o x\n")
        under = self.kprof("-q", "echo", "-q", "--")
        self.assertEqual(under.stdout, b"-q --\n")

    def test_closed_descriptors_stay_closed(self):
        for closed in ("<&-", ">&-", "2>&-", "<&- >&- 2>&-"):
            script = f'"$@" {closed} 9>"$OUT"'
            outputs = []
            for words in ([], [KPROF, "--"]):
                out = self.path("state")
                run = subprocess.run(["sh", "-c", script, "sh", *words, "sh", "-c",
                                      f"{PROBE} state 2>&9 9>&-; exit 5"],
                                     cwd=self.folder, env=environment(OUT=out), timeout=200)
                self.assertEqual(run.returncode, 5)
                with open(out, encoding="ascii") as file:
                    outputs.append(file.read())
            self.assertEqual(outputs[0], outputs[1])
            self.assertIn("leads its group", outputs[0])

    def test_state_is_inherited(self):
        for prefix in ("", "trap '' INT HUP; "):
            plain = self.run_plain("sh", "-c", prefix + f"{PROBE} state; exit 0")
            under = self.run_plain("sh", "-c", prefix + f"{KPROF} -q -- {PROBE} state; exit 0")
            kept = [x for x in under.stderr.splitlines() if not x.startswith(b"kprof: ")]
            self.assertEqual(kept, plain.stderr.splitlines())

    def test_ignored_child_signal_keeps_the_status(self):
        code = ("import os, signal, sys; signal.signal(signal.SIGCHLD, signal.SIG_IGN); "
                "os.execvp(sys.argv[1], sys.argv[1:])")
        under = self.run_plain(sys.executable, "-c", code, KPROF, "--", "sh", "-c", "exit 6")
        self.assertEqual(under.returncode, 6, under.stderr)


class Targets(Case):
    def assert_line(self, result, *parts):
        lines = self.words(result)
        self.assertEqual(len(lines), 1, result.stderr)
        for part in parts:
            self.assertIn(part, lines[0])
        self.assertEqual(self.files_besides_inputs(), [])

    def files_besides_inputs(self):
        return [name for name in self.files() if name.endswith((".kprof", ".live"))]

    def test_not_found(self):
        for command in ("surely-not-a-command", "./missing", "", "/bin/sh/below"):
            result = self.kprof("--", command)
            self.assertEqual((result.returncode, result.stdout), (127, b""))
            self.assert_line(result, command)

    def test_directory(self):
        result = self.kprof("--", "/tmp")
        self.assertEqual(result.returncode, 126)
        self.assert_line(result, "/tmp", "directory")

    def test_not_executable(self):
        plain = self.write("plain", "#!/bin/sh\nexit 0\n")
        result = self.kprof("--", plain)
        self.assertEqual(result.returncode, 126)
        self.assert_line(result, "not executable")

    def test_missing_interpreter(self):
        script = self.write("script", "#!/no/such/interpreter\n", 0o755)
        result = self.kprof("--", script)
        self.assertEqual(result.returncode, 127)
        self.assert_line(result, "/no/such/interpreter")

    def compile(self, name, source, *flags):
        path = self.path(name)
        self.write(name + ".c", source)
        subprocess.run([CC, "-o", path, path + ".c", *flags], check=True, timeout=200)
        return path

    def test_static_program_runs(self):
        program = self.compile("static", 'int main(void) { return 11; }', "-static")
        result = self.kprof("--", program)
        self.assertEqual(result.returncode, 11)
        self.assert_line(result, "statically linked")

    def test_script_of_a_static_interpreter(self):
        self.compile("static", 'int main(void) { return 11; }', "-static")
        script = self.write("script", f"#!{self.path('static')} -x\n", 0o755)
        result = self.kprof("--", script)
        self.assertEqual(result.returncode, 11)
        self.assert_line(result, "statically linked")

    def test_other_loader_runs_without_preload(self):
        loader = next(p for p in ("/lib64/ld-linux-x86-64.so.2", "/lib/ld-linux-aarch64.so.1")
                      if os.path.exists(p))
        other = self.path("ld-musl-test.so.1")
        os.symlink(loader, other)
        program = self.compile("foreign", "#include <stdio.h>\n#include <stdlib.h>\n"
                               'int main(void) { puts(getenv("LD_PRELOAD") ? "preload" : "none");'
                               " return 12; }", f"-Wl,--dynamic-linker={other}")
        result = self.kprof("--", program)
        self.assertEqual((result.returncode, result.stdout), (12, b"none\n"))
        self.assert_line(result, "another C library")

    def test_32_bit_program(self):
        # exit(13) by int 0x80, behind the smallest header that the system takes.
        code = bytes.fromhex("b801000000bb0d000000cd80")
        base, offset = 0x08048000, 52 + 32
        header = b"\x7fELF\x01\x01\x01" + bytes(9) + struct.pack(
            "<HHIIIIIHHHHHH", 2, 3, 1, base + offset, 52, 0, 0, 52, 32, 1, 40, 0, 0)
        segment = struct.pack("<IIIIIIII", 1, 0, base, base, offset + len(code),
                              offset + len(code), 5, 4096)
        program = self.write("small", header + segment + code, 0o755)
        try:
            expected = subprocess.run([program], timeout=200).returncode
        except OSError:
            expected = 126  # this system runs no 32-bit programs
        result = self.kprof("--", program)
        self.assertEqual(result.returncode, status_of(expected))
        self.assertIn("32-bit", self.words(result)[0])
        self.assertEqual(self.files_besides_inputs(), [])

    def test_torn_headers_are_left_to_the_system(self):
        for content in (b"\x7fELF", b"\x7fELF\x02\x01\x01" + b"\xff" * 57,
                        b"\x7fELF\x02\x01\x01" + b"\0" * 200):
            result = self.kprof("--", self.write("torn", content, 0o755))
            self.assertEqual(result.returncode, 126, result.stderr)

    @unittest.skipIf(os.geteuid() != 0, "needs root to give a file away")
    def test_privileged_program_runs(self):
        program = self.path("privileged")
        shutil.copy("/bin/true", program)
        os.chown(program, 65534, 65534)
        os.chmod(program, 0o4755)
        result = self.kprof("--", program)
        self.assertEqual(result.returncode, 0)
        self.assert_line(result, "rights of another user", "sudo kprof")

    def test_never_used_the_gpu(self):
        self.assert_line(self.kprof("--", "true"), "never used the GPU", "true")
        self.assert_line(self.kprof("record", "true"), "never used the GPU")

    def test_collector_is_missing(self):
        result = self.kprof("--", "touch", "started",
                            env=environment(KPROF_INJECT_LIB="/no/such.so"))
        self.assertEqual(result.returncode, 125)
        self.assert_line(result, "/no/such.so", "KPROF_INJECT_LIB")
        self.assertEqual(self.files(), [])


class Environment(Case):
    def variables(self, **changes):
        result = self.kprof("-o", "t.kprof", "--", "env", "-0", env=environment(**changes))
        self.assertEqual(result.returncode, 0, result.stderr)
        pairs = (word.split("=", 1) for word in result.stdout.decode().split("\0") if word)
        return dict(pairs), self.words(result)

    def test_collector_gets_in(self):
        found, _ = self.variables()
        self.assertEqual(found["LD_PRELOAD"], NOTHING)
        self.assertEqual(found["CUDA_INJECTION64_PATH"], NOTHING)
        self.assertEqual(found["NVTX_INJECTION64_PATH"], NOTHING)
        self.assertEqual(found["KPROF_TRACE"], os.path.realpath(self.path("t.kprof")))
        self.assertEqual(os.path.dirname(found["KPROF_LIVE"]), os.path.dirname(found["KPROF_TRACE"]))
        self.assertEqual(found["KPROF_REDACT"], "1")

    def test_earlier_trace_stays_where_nothing_replaces_it(self):
        trace = self.path("keep.kprof")
        with open(trace, "wb") as file:
            file.write(b"KPRF and the rest of a trace")
        bad = self.path("bad.sh")
        with open(bad, "w", encoding="utf-8") as file:
            file.write("#!/no/such/interpreter\n")
        os.chmod(bad, 0o755)
        for command in ("true", bad):
            self.kprof("-o", "keep.kprof", "--", command)
            with open(trace, "rb") as file:
                self.assertEqual(file.read(), b"KPRF and the rest of a trace")
        self.assertEqual([name for name in self.files() if name.startswith(".kprof")], [])

    def told(self, *options, **changes):
        """What the collector is told, besides where to write."""
        result = self.kprof(*options, "-o", "t.kprof", "--", "env", "-0",
                            env=environment(**changes))
        self.assertEqual(result.returncode, 0, result.stderr)
        pairs = (word.split("=", 1) for word in result.stdout.decode().split("\0") if word)
        others = ("KPROF_TRACE", "KPROF_LIVE", "KPROF_REDACT", "KPROF_CLOCKS", "KPROF_INJECT_LIB")
        return {name.removeprefix("KPROF_"): value for name, value in pairs
                if name.startswith("KPROF_") and name not in others}

    def windows(self, *options, **changes):
        """What the collector is told about windows and filters."""
        return {name: value for name, value in self.told(*options, **changes).items()
                if not name.startswith("COUNTER")}

    def counters(self, *options, **changes):
        """What the collector is told about hardware counters."""
        return {name: value for name, value in self.told(*options, **changes).items()
                if name.startswith("COUNTER")}

    def test_clocks_reach_the_collector(self):
        for options, told in (((), "1"), (("--clocks", "on"), "1"), (("--clocks", "off"), "0")):
            result = self.kprof(*options, "-o", "t.kprof", "--", "sh", "-c", "echo $KPROF_CLOCKS",
                                env=environment(KPROF_CLOCKS="x"))
            self.assertEqual(result.stdout.decode(), told + "\n")

    def test_windows_reach_the_collector_as_numbers(self):
        self.assertEqual(self.windows(), {})
        self.assertEqual(self.windows("--delay", "1.5", "--duration", "0.25", "--duty", "2%"),
                         {"DELAY_NS": "1500000000", "DURATION_NS": "250000000",
                          "DUTY_PPM": "20000"})
        self.assertEqual(self.windows("--capture-range", "cudaProfilerApi"),
                         {"CAPTURE_RANGE": "1"})
        self.assertEqual(self.windows("--kernels", "a*,b", "--skip-kernels", "c"),
                         {"KERNELS": "a*,b", "SKIP_KERNELS": "c"})
        # What a kprof around this one was asked for is not asked of this one.
        self.assertEqual(self.windows("--delay", "1", KPROF_KERNELS="x", KPROF_DUTY_PPM="9"),
                         {"DELAY_NS": "1000000000"})

    def test_counters_reach_the_collector(self):
        self.assertEqual(self.counters("--counters", "auto"),
                         {"COUNTERS": "auto", "COUNTER_SET": "memory", "COUNTER_INTERVAL_NS": "0"})
        self.assertEqual(self.counters("--counters", "auto", "--counter-set", "all",
                                      "--counter-interval", "1500"),
                         {"COUNTERS": "auto", "COUNTER_SET": "all",
                          "COUNTER_INTERVAL_NS": "1500000"})
        self.assertEqual(self.counters("--counters", "off", KPROF_COUNTERS="on"), {})
        self.assertEqual(self.counters("--counters", "auto", "--duty", "2%"), {})

    def test_default_of_counters_is_as_help_says(self):
        default = self.counters().get("COUNTERS", "off")
        text = " ".join(self.kprof("--help").stdout.decode().split())
        self.assertIn(f"where it is not; {default} is the default.", text)

    def test_counters_that_cannot_be_are_refused(self):
        for options, says in ((["--counter-interval", "19"], b"20 microseconds at least"),
                              (["--counter-set", "all", "--counter-interval", "999"],
                               b"1000 microseconds at least"),
                              (["--counters", "on"], b"cannot be sampled")):
            result = self.kprof(*options, "--", "echo", "ran")
            self.assertEqual((result.returncode, result.stdout), (125, b""))
            self.assertIn(says, b" ".join(result.stderr.split()))

    def test_the_host_side_is_asked_for(self):
        self.assertEqual(self.windows("--host"), {"HOST": "1"})
        self.assertEqual(self.windows(KPROF_HOST="1"), {})

    def test_ranges_have_occurrences(self):
        for text, name, first, last in (("step", "step", 1, 2**64 - 1), ("step:3", "step", 3, 3),
                                        ("step:3-9", "step", 3, 9),
                                        ("step:3-", "step", 3, 2**64 - 1),
                                        ("a:b c", "a:b c", 1, 2**64 - 1),
                                        ("a:1:2-2", "a:1", 2, 2),
                                        ("a:3x", "a:3x", 1, 2**64 - 1)):
            self.assertEqual(self.windows("--range", text),
                             {"RANGE": name, "RANGE_FIRST": str(first), "RANGE_LAST": str(last)})
        for text in (":3", "step:0", "step:5-4", "x" * 2000):
            result = self.kprof("--range", text, "--", "true")
            self.assertEqual(result.returncode, 125)
            self.assertIn(b"--range", result.stderr)
        result = self.kprof("--kernels", "x" * 5000, "--", "true")
        self.assertEqual(result.returncode, 125)
        self.assertIn(b"longer than", result.stderr)

    def test_users_preload_is_kept_behind(self):
        other = self.path("other.so")
        shutil.copy(NOTHING, other)
        found, _ = self.variables(LD_PRELOAD=other)
        self.assertEqual(found["LD_PRELOAD"], f"{NOTHING}:{other}")

    def test_own_preload_is_not_repeated(self):
        found, lines = self.variables(LD_PRELOAD=NOTHING, CUDA_INJECTION64_PATH=NOTHING)
        self.assertEqual(found["LD_PRELOAD"], NOTHING)
        self.assertFalse([x for x in lines if "warning" in x])

    def test_other_tools_are_kept(self):
        for name, kept in (("CUDA_INJECTION64_PATH", "KPROF_CHAIN"),
                           ("NVTX_INJECTION64_PATH", "NVTX_INJECTION64_PATH")):
            found, lines = self.variables(**{name: "/other/tool.so"})
            self.assertEqual(found[kept], "/other/tool.so")
            self.assertEqual(len([x for x in lines if name in x and "/other/tool.so" in x]), 1)

    def test_path_that_preload_cannot_carry(self):
        spaced = self.path("a b.so")
        shutil.copy(NOTHING, spaced)
        found, lines = self.variables(KPROF_INJECT_LIB=spaced)
        self.assertNotIn("LD_PRELOAD", found)
        self.assertEqual(found["CUDA_INJECTION64_PATH"], os.path.realpath(spaced))
        self.assertTrue([x for x in lines if "LD_PRELOAD cannot carry" in x])

    def test_redaction_can_be_switched_off(self):
        result = self.kprof("--redact", "off", "--", "sh", "-c", "echo $KPROF_REDACT")
        self.assertEqual(result.stdout, b"0\n")


class Signals(Case):
    """The program gets each signal exactly once, however it was sent."""

    def start(self, *words):
        process = subprocess.Popen([*words, KPROF, "-q", "--", PROBE, "signals", "1"],
                                   cwd=self.folder, env=environment(), stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, start_new_session=True)
        self.assertEqual(process.stdout.readline(), b"ready\n")
        return process

    def received(self, process):
        out, _ = process.communicate(timeout=200)
        self.assertEqual(process.returncode, 0)
        return [int(word) for word in out.split()]

    def test_sent_to_kprof_alone(self):
        for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2,
                       signal.SIGINT, signal.SIGQUIT):
            process = self.start()
            process.send_signal(number)
            self.assertEqual(self.received(process), [number])

    def test_sent_to_the_group(self):
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGUSR1):
            process = self.start()
            os.killpg(process.pid, number)
            self.assertEqual(self.received(process), [number])

    def test_sent_to_the_group_of_a_busy_machine(self):
        """What kprof has beside it to tell such signals finds no time to run for a while."""
        process = self.start()
        witness, = self.children(process.pid, b"kprof")
        os.kill(witness, signal.SIGSTOP)
        while b") T " not in self.read(f"/proc/{witness}/stat"):
            self.assertIsNone(process.poll())
        os.killpg(process.pid, signal.SIGTERM)
        time.sleep(0.6)
        os.kill(witness, signal.SIGCONT)
        self.assertEqual(self.received(process), [signal.SIGTERM])

    def test_timeout_sends_to_both(self):
        """What timeout(1) gets it sends on to kprof, and to the whole group as well."""
        process = self.start("timeout", "--preserve-status", "60")
        process.terminate()
        self.assertEqual(self.received(process), [signal.SIGTERM])

    def children(self, pid, name):
        """A process's children of that name."""
        found = []
        for child in self.read(f"/proc/{pid}/task/{pid}/children").split():
            try:
                if self.read(f"/proc/{int(child)}/comm").strip() == name:
                    found.append(int(child))
            except FileNotFoundError:
                pass  # it has ended
        return found

    def test_deadly_signal_ends_both(self):
        process = subprocess.Popen([KPROF, "-q", "--", "sleep", "60"], cwd=self.folder,
                                   env=environment(), stderr=subprocess.PIPE)
        while not self.children(process.pid, b"sleep"):
            self.assertIsNone(process.poll())
        process.terminate()
        process.communicate(timeout=200)
        self.assertEqual(process.returncode, 128 + signal.SIGTERM)
        self.assertEqual(self.files(), [])

    def test_pipeline_behind_kprof_ends(self):
        """Nothing of kprof holds the program's output open while another process goes on."""
        result = self.run_plain("sh", "-c",
                                f"{KPROF} -q -- sh -c 'exec >&-; sleep 1' | cat; echo end")
        self.assertEqual(result.stdout, b"end\n")


class Terminal(Case):
    """Job control, with kprof as the foreground job of a terminal."""

    SHELL = """
import os, signal, sys
signal.signal(signal.SIGTTOU, signal.SIG_IGN)
job = os.fork()
if job == 0:
    os.setpgid(0, 0)
    os.tcsetpgrp(0, os.getpid())
    signal.signal(signal.SIGTTOU, signal.SIG_DFL)
    os.execv(sys.argv[1], sys.argv[1:])
_, status = os.waitpid(job, os.WUNTRACED)
if os.WIFSTOPPED(status):
    print("stopped", os.WSTOPSIG(status), flush=True)
    os.killpg(job, signal.SIGCONT)
    _, status = os.waitpid(job, 0)
print("status", os.waitstatus_to_exitcode(status), flush=True)
"""

    def session(self, keys, *command):
        """Runs a little shell that runs kprof; types `keys` once the program is ready."""
        main, terminal = pty.openpty()
        process = subprocess.Popen(
            [sys.executable, "-c", "import fcntl, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0)\n"
             + self.SHELL, KPROF, "-q", "--", *command],
            stdin=terminal, stdout=terminal, stderr=terminal, cwd=self.folder,
            start_new_session=True, env=environment())
        os.close(terminal)
        output, typed = b"", False
        while True:
            try:
                chunk = os.read(main, 4096)
            except OSError:
                chunk = b""
            if not chunk:
                break
            output += chunk
            if b"ready" in output and not typed:
                os.write(main, keys)
                typed = True
            if b"stopped" in output:
                self.write("stopped", "")
        process.wait(timeout=200)
        os.close(main)
        text = output.decode().replace("^C", "").replace("^Z", "")
        lines = [line for line in text.splitlines() if not line.startswith("kprof: ")]
        return " ".join(lines).split()

    def test_interrupt_reaches_the_program_once(self):
        words = self.session(b"\x03", PROBE, "signals", "1")
        self.assertEqual(words, ["ready", "2", "status", "0"])

    def test_interrupt_that_ends_the_program(self):
        words = self.session(b"\x03", "sh", "-c", "echo ready; exec sleep 30")
        self.assertEqual(words, ["ready", "status", "130"])

    def test_stop_and_continue(self):
        words = self.session(b"\x1a", "sh", "-c",
                             "echo ready; until [ -e stopped ]; do sleep 0.02; done; exit 3")
        self.assertEqual(words, ["ready", "stopped", "20", "status", "3"])

    def test_program_may_read_the_terminal(self):
        words = self.session(b"typed\n", "sh", "-c", "echo ready; read word; echo got $word")
        self.assertEqual(words, ["ready", "typed", "got", "typed", "status", "0"])


if __name__ == "__main__":
    unittest.main()
