"""Runs one scenario of scenarios.py: the program bare, then under kprof, then reads the report.

What holds for every scenario is checked here: the program's output and status are the same with and
without kprof, nothing was done to CUPTI's buffers, and the report is valid and agrees with the
ledger of the fake GPU, which counts what really happened.
"""

import functools
import json
import os
import re
import signal
import struct
import subprocess
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
TIME_LIMIT_S = 100
TRIES = 3


class Failure(Exception):
    """An expectation that does not hold."""


class Late(Failure):
    """Something took too long, which a machine that is busy elsewhere may do: it is tried again."""


class Skip(Exception):
    """This machine cannot show it."""


def require(holds, what):
    if not holds:
        raise Failure(what)


def require_timely(holds, what):
    if not holds:
        raise Late(what)


def require_equal(what, got, expected):
    require(got == expected, f"{what}: got {got!r}, expected {expected!r}")


@functools.cache
def ledger_rows():
    """The names of the ledger's counters, in the order of the file."""
    with open(os.path.join(HERE, "common", "ledger.def"), encoding="utf-8") as table:
        return re.findall(r"^X\((\w+),", table.read(), re.MULTILINE)


class Ledger:
    """What really happened on the fake GPU; see common/ledger.h."""

    def __init__(self, path):
        self.path = path

    def create(self):
        """Of full size, so that a program that may write nothing can still count."""
        if not os.path.exists(self.path):
            with open(self.path, "wb") as ledger:
                ledger.write(bytes(8 * len(ledger_rows())))

    def read(self):
        rows = ledger_rows()
        data = b""
        if os.path.exists(self.path):
            with open(self.path, "rb") as ledger:
                data = ledger.read()
        data = data.ljust(8 * len(rows), b"\0")
        return dict(zip(rows, struct.unpack(f"<{len(rows)}Q", data)))


def refuse_duplicates(pairs):
    keys = [key for key, _ in pairs]
    require(len(keys) == len(set(keys)), f"a key twice in {keys}")
    return dict(pairs)


def refuse_constant(name):
    raise Failure(f"{name} in JSON")


def parse_json(data):
    """Strictly: UTF-8, no key twice, no NaN or infinity."""
    try:
        return json.loads(data.decode("utf-8"), object_pairs_hook=refuse_duplicates,
                          parse_constant=refuse_constant)
    except (UnicodeDecodeError, json.JSONDecodeError) as error:
        raise Failure(f"not valid JSON: {error}") from error


def shell_status(returncode):
    """A status as a shell has it: 128 + n for signal n."""
    return 128 - returncode if returncode < 0 else returncode


class Result:
    """One run of a command."""

    def __init__(self, status, out, err, seconds):
        self.status, self.out, self.err, self.seconds = status, out, err, seconds


class Place:
    """Where the binaries are, and a directory for the files of one scenario."""

    def __init__(self, build, directory):
        self.build = build
        self.fakes = os.path.join(build, "tests", "fake_gpu")
        self.directory = directory
        self.trace = os.path.join(directory, "trace.kprof")
        self.ledger = Ledger(os.path.join(directory, "ledger"))
        self.text = ""  # of the report that was read last

    @property
    def kprof(self):
        return os.path.join(self.build, "kprof")

    @property
    def cupti(self):
        return os.path.join(self.fakes, "cupti", "libcupti.so.13")

    def environment(self, scenario, traced):
        environment = {key: value for key, value in os.environ.items()
                       if not key.startswith(("KP", "CUDA_", "NVTX_", "LD_"))}
        environment["LD_LIBRARY_PATH"] = ":".join(
            os.path.join(self.fakes, part) for part in ("cuda", "cupti"))
        environment["KPROF_CUPTI"] = self.cupti
        environment["KP_FAKE"] = scenario.faults
        environment["LC_ALL"] = "C.UTF-8"
        if traced:
            environment["KP_FAKE_LEDGER"] = self.ledger.path
            self.ledger.create()
        for key, value in scenario.env.items():
            environment[key] = value.format(fakes=self.fakes, directory=self.directory)
        return environment

    def write_script(self, name, text):
        path = os.path.join(self.directory, name)
        with open(path, "w", encoding="utf-8") as script:
            script.write(self.fill(text))
        os.chmod(path, 0o755)
        return path

    def fill(self, text):
        """A text of a scenario with the places that it names."""
        return text.replace("{fakes}", self.fakes).replace("{directory}", self.directory)

    def command(self, scenario):
        """The program of a scenario, scripts written first."""
        for name, text in scenario.files.items():
            self.write_script(name, text)
        if scenario.script:
            return [self.write_script("script", scenario.script)]
        program = os.path.join(self.fakes, scenario.program)
        return [program] + [argument if isinstance(argument, bytes) else self.fill(argument)
                            for argument in scenario.args]

    def run(self, command, environment):
        begin = time.monotonic()
        try:
            done = subprocess.run(command, env=environment, cwd=self.directory,
                                  stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, timeout=TIME_LIMIT_S, check=False)
        except subprocess.TimeoutExpired as error:
            raise Failure(f"{command[0]} did not end within {TIME_LIMIT_S} s") from error
        return Result(shell_status(done.returncode), done.stdout,
                      done.stderr.decode("utf-8", "replace"), time.monotonic() - begin)

    def report_once(self):
        """The report of the trace, which may still grow, as JSON."""
        plain = {key: value for key, value in os.environ.items() if not key.startswith("LD_")}
        as_json = self.run([self.kprof, "report", "--format", "json", self.trace], plain)
        require_equal("status of kprof report", (as_json.status, as_json.err), (0, ""))
        return parse_json(as_json.out)

    def report(self):
        """The report of the trace as JSON, after it has been compared with the one as YAML."""
        plain = {key: value for key, value in os.environ.items() if not key.startswith("LD_")}
        document = self.report_once()
        as_yaml = self.run([self.kprof, "report", "--format", "yaml", self.trace], plain)
        require(as_yaml.status == 0, f"kprof report failed: {as_yaml.err}")
        converted = subprocess.run([os.path.join(self.fakes, "yaml_to_json")], input=as_yaml.out,
                                   capture_output=True, check=False)
        require(converted.returncode == 0, f"not valid YAML: {converted.stderr!r}")
        require(parse_json(converted.stdout) == document, "JSON and YAML hold different reports")
        text = self.run([self.kprof, "report", "--format", "text", self.trace], plain)
        require(text.status == 0, f"kprof report failed: {text.err}")
        self.text = text.out.decode("utf-8")
        return document


def check_agreement(document, ledger):
    """The report against what happened.

    A killed process may lack records, never have more; --duty discards some outside of its windows.
    """
    counts = document["counts"]
    killed = counts["processes_unfinished"] > 0
    less = killed or (document["windows"] or {}).get("sampled", False)
    pairs = [
        ("kernels", counts["kernels"], ledger["kernels_delivered"]),
        ("kernels_untimed", counts["kernels_untimed"],
         ledger["kernels_untimed"] + ledger["kernels_unfinished"]),
        ("kernels_invalid", counts["kernels_invalid"], ledger["kernels_absurd"]),
        ("memory operations", sum(row["calls"] for row in document["memory_operations"]),
         ledger["memops_delivered"]),
        ("records_unknown", counts["records_unknown"], ledger["unknown_delivered"]),
    ]
    for what, said, happened in pairs:
        if less:
            require(said <= happened, f"{what}: {said} in the report, {happened} happened")
        else:
            require_equal(what, said, happened)
    require_equal("kernels, row by row", sum(row["calls"] for row in document["kernels"]),
                  counts["kernels"])
    require_equal("kernels, operator by operator",
                  sum(row["calls"] for row in document["operators"]), counts["kernels"])
    if counts["records_dropped"] is not None and not killed:
        require_equal("records_dropped", counts["records_dropped"], ledger["records_dropped"])


def check_sum(document, ledger):
    """Every launch is recorded, left out on purpose, or counted as lost."""
    for process in document["processes"]:
        counts = process["counts"]
        parts = [counts[key] or 0 for key in ("kernels_recorded", "kernels_filtered",
                                              "kernels_out_of_window", "records_dropped")]
        require_equal("recorded + filtered + out of window + dropped", sum(parts),
                      counts["kernels_issued"])
    require_equal("issued", sum(process["counts"]["kernels_issued"]
                                for process in document["processes"]), ledger["kernels_issued"])


def check_own_counts(document):
    """What ended in order has counted itself: the launcher, who knows less, does not replace it."""
    for process in document["processes"]:
        require(process["ended"] and process["counts"]["memops_recorded"] is not None,
                "the collector's own counts are not in the report")


def check_manners(ledger):
    """What kprof must never do, whatever happens."""
    require_equal("violations of CUPTI's buffers", ledger["buffer_violations"], 0)
    require_equal("CUPTI calls in forked children", ledger["calls_after_fork"], 0)
    require_equal("NVML calls in forked children", ledger["nvml_after_fork"], 0)
    require_equal("unsafe calls of cuptiFinalize", ledger["unsafe_finalizes"], 0)
    require_equal("graphs that detaching has lost", ledger["graphs_stranded"], 0)
    require_equal("CUPTI calls that bring it back", ledger["calls_detached"], 0)
    require_equal("calls of PM sampling out of order", ledger["pm_violations"], 0)
    require_equal("times that the serialising kind was enabled", ledger["serial_enables"], 0)


def check_messages(scenario, result):
    for pattern in scenario.says:
        require(re.search(pattern, result.err, re.IGNORECASE | re.DOTALL),
                f"stderr does not say /{pattern}/: {result.err}")


class Run:
    """What a scenario's own check gets."""

    def __init__(self, scenario, place, result, document, ledger):
        self.scenario, self.place, self.result = scenario, place, result
        self.document, self.ledger = document, ledger

    @property
    def counts(self):
        return self.document["counts"]

    def kernel(self, name):
        rows = [row for row in self.document["kernels"] if row["mangled_name"] == name]
        require_equal(f"rows of the kernel {name}", len(rows), 1)
        return rows[0]


def run_scenario(scenario, build):
    """Raises Failure where an expectation does not hold; what is late has two more tries."""
    for _ in range(TRIES - 1):
        try:
            return run_once(scenario, build)
        except Late as late:
            print(f"again: {late}")
    return run_once(scenario, build)


def run_once(scenario, build):
    if scenario.root and os.geteuid() != 0:
        raise Skip("needs root")
    with tempfile.TemporaryDirectory(prefix="kprof-fake-") as directory:
        place = Place(build, directory)
        if scenario.play:
            scenario.play(scenario, place)
            return
        command = place.command(scenario)
        bare = place.run(command, place.environment(scenario, traced=False))
        require_equal("the bare program's status", bare.status, scenario.status)
        result = place.run([place.kprof, *scenario.options, "-o", place.trace, "--", *command],
                           place.environment(scenario, traced=True))
        require_equal("status under kprof", (result.status, result.err if result.status !=
                                             bare.status else ""), (bare.status, ""))
        require_equal("stdout under kprof", result.out, bare.out)
        require_timely(result.seconds <= scenario.seconds,
                       f"took {result.seconds:.1f} s, more than {scenario.seconds}")
        check_messages(scenario, result)
        ledger = place.ledger.read()
        check_manners(ledger)
        document = None
        if scenario.trace:
            require(os.path.exists(place.trace), f"no trace was written: {result.err}")
            document = place.report()
            if scenario.agrees:
                check_agreement(document, ledger)
            if scenario.kernels is not None:
                require_equal("kernels", document["counts"]["kernels"], scenario.kernels)
        else:
            require(not os.path.exists(place.trace), "a trace without records was left")
        left = [name for name in os.listdir(directory) if name.endswith(".live")]
        require(not left, f"left behind: {left}")
        if scenario.check:
            scenario.check(Run(scenario, place, result, document, ledger))


def start_under_kprof(scenario, place):
    """Starts kprof with the program of a scenario; returns the process and the program's pid."""
    process = subprocess.Popen([place.kprof, *scenario.options, "-o", place.trace, "--",
                                *place.command(scenario)],
                               env=place.environment(scenario, traced=True),
                               cwd=place.directory, stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    deadline = time.monotonic() + TIME_LIMIT_S
    while time.monotonic() < deadline:
        if place.ledger.read()["kernels_issued"] > 0:
            return process, find_child(process.pid, scenario.program)
        time.sleep(0.01)
    process.kill()
    raise Failure("the program never launched a kernel")


def await_kernels(place, least):
    """Until the trace of what still runs has so many kernels: the worker may be late."""
    def has_them():
        return os.path.exists(place.trace) and os.path.getsize(place.trace) > 0 and \
            place.report_once()["counts"]["kernels"] >= least
    await_that(has_them, f"{least} kernels in the trace")


def await_that(holds, what):
    """Until something holds, however busy the machine is elsewhere."""
    deadline = time.monotonic() + TIME_LIMIT_S
    while not holds():
        require(time.monotonic() < deadline, f"in vain: {what}")
        time.sleep(0.05)


def find_child(parent, program):
    """The pid of the child of `parent` that runs `program`."""
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            with open(f"/proc/{name}/stat", encoding="utf-8", errors="replace") as stat:
                text = stat.read()
            executable = os.readlink(f"/proc/{name}/exe")
        except OSError:
            continue
        fields = text[text.rindex(")") + 2:].split()
        if int(fields[1]) == parent and os.path.basename(executable) == program:
            return int(name)
    raise Failure(f"{program} is not a child of kprof")


def end(process):
    """Waits for a process; its result."""
    try:
        out, err = process.communicate(timeout=TIME_LIMIT_S)
    except subprocess.TimeoutExpired as error:
        process.kill()
        raise Failure("kprof did not end") from error
    return Result(shell_status(process.returncode), out, err.decode("utf-8", "replace"), 0)


def kill(pid, number=signal.SIGKILL):
    os.kill(pid, number)
