#!/usr/bin/env python3
"""Sessions of the explorer on a pseudo-terminal: keys, a storm of sizes, and every way to end.

usage: session.py KPROF TRACE

Whatever ends it, the terminal must be as it was: its modes, the normal screen, a visible cursor.
"""
import fcntl
import os
import pty
import select
import signal
import struct
import sys
import tempfile
import termios
import time

KPROF, TRACE = map(os.path.abspath, sys.argv[1:3])
PATIENCE_S = 60  # for a loaded machine; nothing here waits for time to pass
LEAVE = b"\x1b[?1049l"
SHOW_CURSOR = b"\x1b[?25h"


class Session:
    running = set()

    def __init__(self, *arguments, term="xterm-256color", rows=24, columns=80):
        self.master, self.slave = pty.openpty()
        self.resize(rows, columns)
        self.before = termios.tcgetattr(self.slave)
        self.output = b""
        environment = dict(os.environ, LC_ALL="C.UTF-8", XDG_CACHE_HOME="/nonexistent")
        environment.pop("NO_COLOR", None)
        environment.pop("TERM", None)
        if term is not None:
            environment["TERM"] = term
        self.news, news = os.pipe()
        self.shell = os.fork()
        if self.shell == 0:
            self.be_shell(news, [KPROF, "tui", *arguments, TRACE], environment)
        os.close(news)
        self.pid = int(self.read_news())
        self.running.add(self.pid)

    def be_shell(self, news, command, environment):
        """As a shell would: a session, a foreground job, and what becomes of it in `news`."""
        os.setsid()
        fcntl.ioctl(self.slave, termios.TIOCSCTTY, 0)
        signal.signal(signal.SIGTTOU, signal.SIG_IGN)
        job = os.fork()
        if job == 0:
            os.setpgid(0, 0)
            os.tcsetpgrp(self.slave, os.getpid())
            signal.signal(signal.SIGTTOU, signal.SIG_DFL)
            for fd in range(3):
                os.dup2(self.slave, fd)
            os.closerange(3, 64)
            os.execve(command[0], command, environment)
        os.write(news, b"%d\n" % job)
        while True:
            _, status = os.waitpid(job, os.WUNTRACED)
            os.write(news, b"%d\n" % status)
            if not os.WIFSTOPPED(status):
                os._exit(0)

    def read_news(self):
        line = b""
        while not line.endswith(b"\n"):
            line += os.read(self.news, 1)
        return line

    def resize(self, rows, columns):
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def read(self, wait_s=0.1):
        if not select.select([self.master], [], [], wait_s)[0]:
            return False
        try:
            data = os.read(self.master, 65536)
        except OSError:
            return False
        self.output += data
        return bool(data)

    def expect(self, text):
        """Reads until text has come, which must be new."""
        end = time.monotonic() + PATIENCE_S
        while text not in self.output:
            self.read()
            assert time.monotonic() < end, f"no {text!r} in {self.output[-3000:]!r}"
        self.output = self.output[self.output.index(text) + len(text):]

    def send(self, keys):
        os.write(self.master, keys.encode() if isinstance(keys, str) else keys)

    def wait(self):
        """Waits until it stops or ends; returns its wait status."""
        end = time.monotonic() + PATIENCE_S
        while True:
            self.read(0.05)
            if select.select([self.news], [], [], 0)[0]:
                while self.read(0):
                    pass
                return int(self.read_news())
            assert time.monotonic() < end, "it neither stops nor ends"

    def wait_for(self, path):
        """Waits until there is something in a file."""
        end = time.monotonic() + PATIENCE_S
        while not (os.path.exists(path) and os.path.getsize(path)):
            self.read()
            assert time.monotonic() < end, f"nothing in {path}"

    def check_restored(self, what):
        after = termios.tcgetattr(self.slave)
        assert after[:4] == self.before[:4], f"{what}: the terminal's modes are not restored"
        assert LEAVE in self.output, f"{what}: still on the other screen"
        assert SHOW_CURSOR in self.output, f"{what}: no cursor"

    def close(self):
        os.waitpid(self.shell, 0)
        self.running.remove(self.pid)
        os.close(self.news)
        os.close(self.master)
        os.close(self.slave)


def session_quits():
    session = Session()
    session.expect(b"Operators")
    session.expect(b"gemm")
    session.send("?")
    session.expect(b"Keys of this view")
    session.send("\x1b")
    session.expect(b"gemm")
    session.send("\x1b\x1b\x1b")  # Esc never quits
    session.send("i")
    session.expect(b"Counts")
    session.send("Q")
    assert session.wait() == 0
    session.check_restored("Q")
    session.close()


def session_survives_resizes():
    session = Session()
    session.expect(b"gemm")
    for i in range(200):
        session.resize(3 + i * 7 % 60, 1 + i * 13 % 250)
        if i % 10 == 0:
            session.send("2" if i % 20 else "1")
        session.read(0)
    session.resize(40, 132)
    session.send("?")
    session.expect(b"Keys of this view")
    session.send("Q")
    assert session.wait() == 0
    session.check_restored("resizes")
    session.close()


def session_restores_on_signals():
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGSEGV, signal.SIGABRT):
        session = Session()
        session.expect(b"gemm")
        os.kill(session.pid, number)
        status = session.wait()
        assert os.WIFSIGNALED(status) and os.WTERMSIG(status) == number, (number, status)
        session.check_restored(number.name)
        session.close()


def session_stops_and_goes_on():
    session = Session()
    session.expect(b"gemm")
    for how in ("key", "signal"):
        session.output = b""
        if how == "key":
            session.send("\x1a")
        else:
            # ncurses ignores the signal while it paints: then it is lost, and comes again here.
            while not select.select([session.news], [], [], 0)[0]:
                os.kill(session.pid, signal.SIGTSTP)
                session.read(0.2)
        status = session.wait()
        assert os.WIFSTOPPED(status), (how, status)
        session.check_restored(how)
        session.output = b""
        os.kill(session.pid, signal.SIGCONT)
        session.send("?" if how == "key" else "i")  # what was not on the screen before
        session.expect(b"Keys of this view" if how == "key" else b"Counts")
    session.send("Q")
    assert session.wait() == 0
    session.close()


def session_takes_the_mouse():
    session = Session()
    session.expect(b"gemm")
    session.send("\x1b[<0;20;2M\x1b[<0;20;2m")  # on the second tab
    session.expect(b"stream")
    session.send("\x1b[<0;2;2M\x1b[<0;2;2m")  # on the first
    session.expect(b"gemm")
    session.send("\x1b[<0;33;3M\x1b[<0;33;3m")  # on the title of a column: sorts by it
    session.expect("\N{DOWNWARDS ARROW}".encode())
    session.send("Q")
    assert session.wait() == 0
    session.check_restored("mouse")
    session.close()
    session = Session("--no-mouse")
    session.expect(b"gemm")
    session.send("Q")
    assert session.wait() == 0
    assert b"\x1b[?1000h" not in session.output
    session.close()


def session_writes_files():
    """The view as text, by the name that is offered; the report in full; no file is replaced."""
    before = os.getcwd()
    report = os.path.join(os.path.dirname(os.path.abspath(__file__)),
                          "../recorded/llm_decode_graph.ab.yaml")
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        session = Session("--ab", report)
        session.expect(b"of span")  # all is read
        session.send("8")
        session.expect(b"linear-skinny")
        # One key a screen: of two at once only what is new since the screen before is drawn.
        session.send("P")
        session.expect(b"Write to: ")
        session.expect(b"kprof-a-b.txt")
        session.send("\r")
        session.expect(b"Written to kprof-a-b.txt.")
        session.send("P")
        session.expect(b"Write to: ")
        session.expect(b"kprof-a-b.txt")
        session.send("\r")
        session.expect(b"kprof-a-b.txt: File exists")
        session.send("P")
        session.expect(b"Write to: ")
        session.expect(b"kprof-a-b.txt")
        session.send("whole.yaml\r")  # in the place of the name that it proposed
        session.wait_for("whole.yaml")
        session.send("Q")
        assert session.wait() == 0
        session.close()
        with open("kprof-a-b.txt", encoding="utf-8") as file:
            text = file.read()
        assert "llm-decode-silu" in text and "EnterOpen" not in text, text
        with open("whole.yaml", encoding="utf-8") as file:
            assert file.readline().startswith("schema: "), "the report is not whole.yaml's"
        os.chdir(before)


def session_needs_a_terminal():
    for term, words in ((None, b"TERM is not set"), ("dumb", b"TERM is dumb"),
                        ("no-such", b"nothing is known of terminals called no-such")):
        session = Session(term=term)
        status = session.wait()
        assert os.WEXITSTATUS(status) == 125, status
        assert session.output.startswith(b"kprof: ") and words in session.output, session.output
        assert session.output.count(b"\n") == 1, session.output
        session.close()


def main():
    for name, session in sorted(globals().items()):
        if name.startswith("session_"):
            try:
                session()
            except BaseException:
                for pid in Session.running:
                    os.kill(pid, signal.SIGKILL)
                raise
            print("ok", name)


main()
