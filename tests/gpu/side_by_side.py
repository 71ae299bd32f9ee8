"""One workload under every tool at the same time, in turns of a twentieth of a second.

For rows that the CPU bounds: such a machine may take twice as long for the same in one minute as in
the next, so that runs one after another compare minutes, not tools. Here every tool has its process
(blocks.py) from the begin on; all but one of them wait, and each works a block in each pass.

The launching threads share one CPU, one at a time. All other threads, those of profilers included,
keep off it and off its sibling: whether the scheduler puts a profiler's thread beside the program's
is chance, and the same for every tool.

Several sets of processes are there at once: what clings to a process from its start, such as its
places in memory, is not to be taken for what clings to a tool.

`alone` is bare before the others are there: it tells whether their presence changes anything. Not
for --duty: windows that come while a program waits cost nothing and cannot end.
"""

import contextlib
import os
import random
import selectors
import socket
import time
from pathlib import Path

from runner import Failure, Skip

ALONE = "alone"
ALONE_S = 4
END_S = 20           # left for tools that have much to write at the end
LEAST_CPUS = 4


def siblings_of(cpu):
    """The CPUs that share a core with one, itself among them."""
    path = Path(f"/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list")
    numbers = set()
    with contextlib.suppress(OSError, ValueError):
        for part in path.read_text().strip().split(","):
            first, _, last = part.partition("-")
            numbers.update(range(int(first), int(last or first) + 1))
    return numbers | {cpu}


@contextlib.contextmanager
def cpu_of_its_own():
    """Keeps this process and what it starts off a CPU; yields its number, -1 where there are few."""
    before = os.sched_getaffinity(0)
    others = before - siblings_of(max(before))
    if len(others) < LEAST_CPUS - 1:
        yield -1
        return
    os.sched_setaffinity(0, others)
    try:
        yield max(before)
    finally:
        os.sched_setaffinity(0, before)


class Seat:
    """One tool's process. `command`: the program, its script, and what the script is told."""

    def __init__(self, bench, tool, command, cpu):
        self.bench, self.tool = bench, tool
        name = f"kprof-overhead.{os.getpid()}.{bench.folder.name}"
        words, env = tool.wrap(bench, [*command[:2], name, str(cpu), *command[2:]])
        self.lines = None
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(f"\0{name}")
        self.listener.listen(1)
        self.started = bench.start(words, env)

    def left_s(self):
        return max(0.1, self.bench.deadline - time.monotonic())

    def wait_ready(self):
        """Until the program has said so, has ended, or time is up."""
        with selectors.DefaultSelector() as selector:
            selector.register(self.listener, selectors.EVENT_READ)
            while not selector.select(0.2):
                if self.started.process.poll() is not None or self.left_s() <= 0.1:
                    raise Failure(f"it did not get ready: {self.started.log}.err")
        connection, _ = self.listener.accept()
        connection.settimeout(self.left_s())
        self.lines = connection.makefile("rw", buffering=1)
        connection.close()  # the file keeps it open
        self.read()

    def read(self):
        try:
            line = self.lines.readline()
        except OSError as error:
            raise Failure(f"no answer: {error}") from error
        if not line:
            raise Failure(f"it ended in the midst: {self.started.log}.err")
        return line

    def block(self):
        try:
            print("block", file=self.lines)
        except OSError as error:
            raise Failure(f"it ended in the midst: {self.started.log}.err") from error
        return float(self.read())

    def dismiss(self):
        """The program ends; what its tool still does goes on."""
        if self.lines:
            with contextlib.suppress(OSError):
                self.lines.close()
            self.lines = None
        self.listener.close()

    def finish(self):
        """Waits for the tool and sees whether it recorded."""
        self.dismiss()
        self.tool.check(self.bench, self.bench.finish(self.started))


class Seats:
    """The processes of one workload. `cells`: by column; `make_bench`: of a column and a set."""

    def __init__(self, cells, make_bench):
        self.cells, self.make_bench = cells, make_bench
        self.seats = {}  # by set and column
        self.samples = {name: {} for name in cells}

    def give_up(self, name, reason):
        """One of its processes failed: the column is out, whatever it had."""
        self.cells[name].give_up(reason)
        self.samples[name] = {}
        for key in [key for key in self.seats if key[1] == name]:
            seat = self.seats.pop(key)
            seat.dismiss()
            seat.bench.end(seat.started)

    def attempt(self, name, action):
        """What an action returned; None, and the tool is out, where it failed."""
        try:
            return action()
        except (Failure, Skip, OSError, ValueError) as reason:
            self.give_up(name, reason)
            return None

    def invite(self, keys, tools, command, cpu):
        """Processes for these sets and columns; returns when all are ready."""
        for part, name in keys:
            if self.cells[name].reason:
                continue
            bench = self.make_bench(name, part)
            seat = self.attempt(name, lambda b=bench, t=tools[name]: Seat(b, t, command, cpu))
            if seat:
                self.seats[part, name] = seat
        for key in keys:
            if key in self.seats:
                self.attempt(key[1], self.seats[key].wait_ready)

    def run_pass(self, number, column=None):
        """A block of each, set by set, in an order of its own."""
        order = random.Random(number)
        for part in sorted({part for part, _ in self.seats}):
            names = [name for at, name in self.seats if at == part]
            order.shuffle(names)
            for name in names:
                if (part, name) not in self.seats:
                    continue  # out meanwhile
                value = self.attempt(name, self.seats[part, name].block)
                if value is not None:
                    self.samples[column or name][part, number] = value

    def run_passes(self, end, most, column=None):
        """Passes until the time `end`, as far as the last one tells; how many."""
        took_s = 0.0
        for number in range(most):
            begin = time.monotonic()
            if not self.seats or begin + took_s > end:
                return number
            self.run_pass(number, column)
            took_s = time.monotonic() - begin
        return most

    def finish(self):
        """The samples count once their tool has shown that it recorded."""
        for seat in self.seats.values():
            seat.dismiss()
        for key in list(self.seats):
            if key in self.seats:
                self.attempt(key[1], self.seats[key].finish)
        for name, samples in self.samples.items():
            self.cells[name].samples.update(samples)


def run(seats, tools, command, sets, limit_s, most):
    """`tools`: those that take part, by column. Returns how many passes there were."""
    end = time.monotonic() + limit_s - min(END_S, limit_s / 3)
    keys = [(part, name) for part in range(sets) for name in tools]
    first = keys[:1] if "bare" in tools else []
    with cpu_of_its_own() as cpu:
        try:
            seats.invite(first, tools, command, cpu)
            seats.run_passes(time.monotonic() + ALONE_S, most, ALONE)
            seats.invite(keys[len(first):], tools, command, cpu)
            return seats.run_passes(end, most)
        finally:
            seats.finish()
