#!/usr/bin/env python3
"""The explorer in a terminal that draws: what tmux shows is what --keys prints.

usage: tmux_session.py KPROF TRACE

Keys, sizes in a storm, and a crash, on terminals of several kinds; screens are waited
for, so nothing here depends on how fast the machine is.
"""
import os
import shutil
import subprocess
import sys
import tempfile
import time
from shlex import quote

KPROF, TRACE = map(os.path.abspath, sys.argv[1:3])
PATIENCE_S = 60
# Terminals, their locale and size: all that ncurses does otherwise there.
KINDS = (("xterm-256color", "C.UTF-8", (80, 24)), ("vt100", "C", (40, 12)),
         ("screen", "C.UTF-8", (132, 40)), ("linux", "C", (300, 60)),
         ("tmux-256color", "C.UTF-8", (20, 5)))
# Keys as tmux has them, and as scripts do.
KEYS = (("2", "2"), ("+", "+"), ("Right", "Right"), ("?", "?"), ("PPage", "PgUp"),
        ("Escape", "Esc"), ("1", "1"), ("Down", "Down"), ("Enter", "Enter"), ("BTab", "BackTab"))


def environment(locale):
    clean = {key: value for key, value in os.environ.items()
             if key not in ("NO_COLOR", "TMUX", "LINES", "COLUMNS", "LANG")}
    return dict(clean, LC_ALL=locale, XDG_CACHE_HOME="/nonexistent")


def printed(keys, size, locale):
    """The screens that the script of keys prints, one a P."""
    columns, rows = size
    out = subprocess.run([KPROF, "tui", "--size", f"{columns}x{rows}", "--keys", ",".join(keys),
                          TRACE], env=environment(locale), check=True, capture_output=True,
                         encoding="utf-8").stdout
    return out.splitlines()


class Tmux:
    def __init__(self, term, locale, size):
        self.folder = tempfile.mkdtemp(prefix="kprof-tmux-")
        self.socket = os.path.join(self.folder, "socket")
        columns, rows = size
        job = (f"stty -g > before; env TERM={term} LC_ALL={locale} {quote(KPROF)} tui {quote(TRACE)}; "
               "stty -g > after; cmp before after && echo restored; sleep 600")
        self("new-session", "-d", "-x", str(columns), "-y", str(rows), "-c", self.folder, job)
        self("set-option", "-g", "status", "off")
        self("set-option", "-g", "window-size", "manual")
        self.resize(size)

    def __call__(self, *words):
        return subprocess.run(["tmux", "-u", "-S", self.socket, "-f", "/dev/null", *words],
                              env=environment("C.UTF-8"), check=True, capture_output=True,
                              encoding="utf-8").stdout

    def resize(self, size):
        self("resize-window", "-x", str(size[0]), "-y", str(size[1]))

    def screen(self):
        return [line.rstrip() for line in self("capture-pane", "-p").splitlines()]

    def expect(self, lines, what):
        lines = [line.rstrip() for line in lines]
        end = time.monotonic() + PATIENCE_S
        while (seen := self.screen()) != lines:
            assert time.monotonic() < end, "\n".join(
                (f"{what}: tmux shows", *seen, "and not", *lines))
            time.sleep(0.02)

    def expect_restored(self, what):
        end = time.monotonic() + PATIENCE_S
        while not any(line == "restored" for line in self.screen()):
            assert time.monotonic() < end, f"{what}: {self.screen()}"
            time.sleep(0.02)
        cursor = self("display-message", "-p", "#{cursor_flag} #{alternate_on}").split()
        assert cursor == ["1", "0"], f"{what}: cursor and other screen are {cursor}"

    def job(self):
        """The explorer's number."""
        shell = self("display-message", "-p", "#{pane_pid}").strip()
        with open(f"/proc/{shell}/task/{shell}/children", encoding="ascii") as children:
            return int(children.read())

    def __enter__(self):
        return self

    def __exit__(self, *why):
        self("kill-server")
        shutil.rmtree(self.folder)


def check_keys(term, locale, size):
    script, rows = ["P"], size[1]
    for _, key in KEYS:
        script += [key, "P"]
    lines = printed(script, size, locale)
    with Tmux(term, locale, size) as tmux:
        tmux.expect(lines[:rows], f"{term} at the start")
        for number, (key, _) in enumerate(KEYS, 1):
            tmux("send-keys", key)
            tmux.expect(lines[number * rows:(number + 1) * rows], f"{term} behind {key}")
        tmux("send-keys", "Q")
        tmux.expect_restored(f"{term}: Q")


def check_storm_and_crash():
    size = (80, 24)
    with Tmux("tmux-256color", "C.UTF-8", size) as tmux:
        tmux.expect(printed(["P"], size, "C.UTF-8"), "before the storm")
        for number in range(40):
            tmux.resize((10 + number * 37 % 290, 3 + number * 11 % 57))
        tmux.resize((19, 4))
        tmux.expect(printed(["19x4", "P"], size, "C.UTF-8"), "too small")
        tmux.resize((100, 30))
        tmux.expect(printed(["100x30", "P"], size, "C.UTF-8"), "behind the storm")
        os.kill(tmux.job(), 11)
        tmux.expect_restored("a crash")


if not shutil.which("tmux"):
    sys.exit(77)
for kind in KINDS:
    check_keys(*kind)
    print("ok", *kind)
check_storm_and_crash()
print("ok storm and crash")
