"""Runs a table of checks: a time limit each, logs of every command, a table of results.

A check is a function of a Bench. It returns what it measured, in a few words, and raises Failure
where that is not good enough, or Skip where this machine lacks something. Every command that it
runs leaves its command line, output and errors in a folder of its own.
"""

import contextlib
import dataclasses
import os
import resource
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

KILL_S = 10  # how long a killed process is waited for: one that hangs in the driver may never end
LEAST_S = 5  # of time left, for a check to begin


class Failure(Exception):
    """The check ran, and what it found is not good enough."""


class Skip(Exception):
    """The check cannot run on this machine."""


def require(condition, message):
    if not condition:
        raise Failure(message)


@dataclasses.dataclass
class Ran:
    """How a command ended. status is as a shell gives it: 128 + n for signal n."""

    status: int
    stdout: bytes
    stderr: bytes
    seconds: float
    peak_bytes: int
    log: Path

    def text(self):
        return self.stdout.decode("utf-8", "replace")

    def number(self, name):
        """The number behind a word that begins a line of stdout: `kernel_launches 123`."""
        for line in self.text().splitlines():
            words = line.split()
            if len(words) >= 2 and words[0] == name:
                return int(words[1])
        raise Failure(f"no line «{name} N» in the output: {self.log}.out")


@dataclasses.dataclass
class Started:
    """A command that runs."""

    process: subprocess.Popen
    log: Path
    begin: float


def end_session(leader):
    """Kills all processes of a session, whatever groups they are in."""
    for entry in os.listdir("/proc"):
        with contextlib.suppress(OSError, ValueError):
            if entry.isdigit() and os.getsid(int(entry)) == leader:
                os.kill(int(entry), signal.SIGKILL)


class Bench:
    """What a check works with: the build, a folder for its files, and a clock that runs out."""

    def __init__(self, build, folder, limit_s):
        self.build = Path(build).resolve()
        self.folder = Path(folder).resolve()
        self.folder.mkdir(parents=True, exist_ok=True)
        self.deadline = time.monotonic() + limit_s
        self.count = 0
        self.running = []

    def environment(self, extra):
        """Ours, with the libraries that came with the build in front."""
        environment = dict(os.environ)
        libraries = self.build / "lib"
        if libraries.is_dir():
            old = environment.get("LD_LIBRARY_PATH")
            environment["LD_LIBRARY_PATH"] = f"{libraries}:{old}" if old else str(libraries)
        environment.update(extra or {})
        return environment

    def start(self, argv, env=None):
        """Starts a command in a session of its own, with logs; finish() waits for it."""
        self.count += 1
        argv = [str(word) for word in argv]
        log = self.folder / f"{self.count:02d}-{Path(argv[0]).name}"
        set_words = [f"{name}={shlex.quote(value)}" for name, value in (env or {}).items()]
        Path(f"{log}.cmd").write_text(" ".join([*set_words, shlex.join(argv)]) + "\n")
        begin = time.monotonic()
        with open(f"{log}.out", "wb") as out, open(f"{log}.err", "wb") as err:
            process = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=out, stderr=err,
                                       env=self.environment(env), start_new_session=True)
        self.running.append(process)
        return Started(process, log, begin)

    def finish(self, started, status=0):
        """Waits for what was started; `status` is what it must end with (None: anything)."""
        raw, usage = self.wait(started.process)
        ended = os.waitstatus_to_exitcode(raw)
        log = started.log
        ran = Ran(
            status=ended if ended >= 0 else 128 - ended,
            stdout=Path(f"{log}.out").read_bytes(),
            stderr=Path(f"{log}.err").read_bytes(),
            seconds=time.monotonic() - started.begin,
            peak_bytes=usage.ru_maxrss * 1024,
            log=log,
        )
        if status is not None and ran.status != status:
            last = ran.stderr.decode("utf-8", "replace").strip().splitlines()[-1:]
            raise Failure(f"{log.name[3:]} ended with {ran.status}, not {status}"
                          f"{': ' + last[0] if last else ''} ({log}.err)")
        return ran

    def run(self, argv, status=0, env=None):
        """Runs a command to its end; `status` is what it must end with (None: anything)."""
        return self.finish(self.start(argv, env), status)

    def end(self, started):
        """Kills what was started, and all that it started."""
        self.kill(started.process)

    def kill(self, process):
        if process.returncode is None:
            end_session(process.pid)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(KILL_S)
        if process in self.running:
            self.running.remove(process)

    def close(self):
        """Kills what a check that failed has left running."""
        for process in list(self.running):
            self.kill(process)

    def wait(self, process):
        """Waits for the process with its resource usage; ends its session when time is up."""
        pause = 0.001
        while True:
            pid, raw, usage = os.wait4(process.pid, os.WNOHANG)
            if pid:
                process.returncode = raw
                self.running.remove(process)
                return raw, usage
            if time.monotonic() > self.deadline:
                self.kill(process)
                raise Failure("over its time limit: the command was ended")
            time.sleep(pause)
            pause = min(pause * 1.5, 0.05)


PROBED = {}  # how many GPUs PyTorch sees, once it was asked: that takes seconds


def need_torch(bench, gpus=1):
    """Skips a check where PyTorch is not there, or does not see so many GPUs."""
    if not PROBED:
        probe = "import torch, sys; print(torch.cuda.device_count())"
        ran = bench.run([sys.executable, "-c", probe], status=None)
        PROBED["gpus"] = int(ran.text()) if ran.status == 0 else 0
    if PROBED["gpus"] < gpus:
        raise Skip(f"no PyTorch that sees {'a GPU' if gpus == 1 else f'{gpus} GPUs'}")


@dataclasses.dataclass
class Check:
    name: str
    limit_s: int
    function: object
    what: str


@dataclasses.dataclass
class Row:
    check: Check
    verdict: str
    measured: str
    seconds: float


def run_check(check, build, logs, limit_s):
    begin = time.monotonic()
    bench = None
    try:
        if limit_s < LEAST_S:
            raise Skip("no time was left for it")
        bench = Bench(build, Path(logs) / check.name, limit_s)
        verdict, measured = "PASS", check.function(bench)
    except Skip as reason:
        verdict, measured = "SKIP", str(reason)
    except Failure as reason:
        verdict, measured = "FAIL", str(reason)
    except Exception as error:  # a check that breaks has failed, and the others still run
        verdict, measured = "FAIL", f"{type(error).__name__}: {error}"
    finally:
        if bench:
            bench.close()
    return Row(check, verdict, measured, time.monotonic() - begin)


def run_table(checks, build, logs, seconds=float("inf"), done=lambda rows: None):
    """Runs all checks in order, for so many seconds in all, and returns the rows. Each is printed as it
    ends; then `done` has all that there are."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    end = time.monotonic() + seconds
    rows = []
    for check in checks:
        row = run_check(check, build, logs, min(check.limit_s, end - time.monotonic()))
        print(f"{row.verdict}  {check.name:<18} {row.seconds:6.1f} s  {row.measured}", flush=True)
        rows.append(row)
        done(rows)
    return rows


def markdown(title, facts, rows):
    """The results as a page: facts are (name, value) pairs."""
    lines = [f"# {title}", ""]
    lines += [f"- {name}: {value}" for name, value in facts]
    lines += ["", "| check | verdict | measured | what it checks | s |", "|---|---|---|---|---|"]
    for row in rows:
        cells = (row.check.name, row.verdict, row.measured, row.check.what, f"{row.seconds:.0f}")
        lines.append("| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ")
                                       for cell in cells) + " |")
    return "\n".join(lines) + "\n"
