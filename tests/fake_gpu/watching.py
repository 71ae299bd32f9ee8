"""Scenarios of kprof top: what it shows is what was launched, and nobody notices that it looks.

Screens are read like a user reads them: by the names of columns and rows.
"""

import os
import re
import shutil
import signal
import subprocess
import time

from ab import rules_for
from harness import (Skip, check_agreement, check_manners, check_sum, find_child, require,
                     require_equal, start_under_kprof, TIME_LIMIT_S)
from scenario import Scenario

WIDE = ("--size", "200x50", "--charset", "utf-8")
SINCE_START = "t,t"  # twice from the last ten seconds on
END = ("--frames", "0", *WIDE)
SLOWLY = ["--interval-us", "500"]


def plain_environment():
    return {key: value for key, value in os.environ.items() if not key.startswith("LD_")}


def calls_of(screen):
    """The column Calls by the rows' names."""
    lines = screen.splitlines()
    head = next(i for i, line in enumerate(lines) if " Calls " in line and "Share" in line)
    end = lines[head].index("Calls ", lines[head].index("Calls/s") + 7) + 5
    rows = {}
    for line in lines[head + 1:]:
        count = re.search(r"[\d,]+$", line[:end])
        if not count:
            break
        rows[line[end:].split()[-1]] = int(count.group().replace(",", ""))
    return rows


def top(scenario, place, *options):
    """kprof top over the program of a scenario; the screens, and how it ended."""
    command = [place.kprof, "top", "-o", place.trace, *options, "--", *place.command(scenario)]
    return place.run(command, place.environment(scenario, traced=True))


def play_totals(scenario, place):
    """Totals are the launches that were issued, and the program's output and status are its own."""
    bare = place.run(place.command(scenario), place.environment(scenario, traced=False))
    result = top(scenario, place, "--keys", SINCE_START, *END)
    ledger = place.ledger.read()
    check_manners(ledger)
    screen = result.out.decode()
    require_equal("status", (result.status, result.err), (bare.status, ""))
    require_equal("launches shown", sum(calls_of(screen).values()), ledger["kernels_issued"])
    require(screen.endswith(bare.out.decode()), f"the program's output is not shown: {screen}")
    require_equal("left behind", sorted(os.listdir(place.directory)),
                  sorted({"ledger"} & set(os.listdir(place.directory))))


def play_ranges(scenario, place):
    """Ranges are counted, and what of them is asked for."""
    result = top(scenario, place, "--keys", SINCE_START + ",3", "--unit-range", "ten launches",
                 "--units", "10", *END)
    screen = result.out.decode()
    require_equal("status", result.status, 0)
    require_equal("ranges", calls_of(screen), {"launches": 50})
    require("«ten launches»" in screen, screen)


def play_record(scenario, place):
    """w records from there on, and says so; counts are exact."""
    result = top(scenario, place, "--keys", "Wait,w,Wait,P,w,Wait,P", *END)
    require_equal("status", (result.status, f"the trace is in {place.trace}" in result.err),
                  (0, True))
    on, off = result.out.decode().split("[1 Kernels]")[:2]
    require("RECORDING" in on and "RECORDING" not in off, f"{on} and then {off}")
    document = place.report()
    check_sum(document, place.ledger.read())
    counts = document["counts"]
    require(0 < counts["kernels"] < 5000 and counts["kernels_out_of_window"] > 0, f"{counts}")
    require_equal("windows", document["windows"]["count"], 1)


def play_untimed(scenario, place):
    """Half of the kernels could not be timed by CUPTI: those that come while w records are kept."""
    top(scenario, place, "--keys", "Wait,w,Wait,Wait,w,Wait", *END)
    document = place.report()
    check_sum(document, place.ledger.read())
    counts = document["counts"]
    require(counts["kernels_untimed"] * 4 > counts["kernels"] > counts["kernels_untimed"] > 0,
            f"{counts}")


def play_stop(scenario, place):
    """kprof top has gone, and what it recorded is stopped by kprof ctl: CUPTI goes, too."""
    command = [place.kprof, "top", "-o", place.trace, "--keys", "Wait,w,Wait", "--frames", "1",
               *WIDE, "--", *place.command(scenario)]
    process = subprocess.Popen(command, env=place.environment(scenario, traced=True),
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    require(any(b"RECORDING" in line for line in process.stdout), "it does not record")
    pid = find_child(process.pid, scenario.program)
    time.sleep(0.5)  # nobody watches any more, mostly; no result depends on it
    done = place.run([place.kprof, "ctl", str(pid), "stop"], plain_environment())
    require_equal("status of kprof ctl", done.status, 0)
    process.stdout.close()
    require_equal("status", process.wait(timeout=TIME_LIMIT_S), 0)
    process.stderr.close()
    ledger = place.ledger.read()
    require_equal("times that CUPTI was detached", ledger["finalizes"], 1)
    check_sum(place.report(), ledger)


def play_process(scenario, place):
    """A process under kprof record can be watched meanwhile, by two at once; its trace is whole."""
    process, pid = start_under_kprof(scenario, place)
    command = [place.kprof, "top", "--keys", "Wait,z", "--frames", "1", *WIDE, str(pid)]
    first, second = (subprocess.Popen(command, env=plain_environment(), stdout=subprocess.PIPE)
                     for _ in range(2))
    for watcher in (first, second):
        screen = watcher.communicate(timeout=TIME_LIMIT_S)[0].decode()
        require_equal("status of kprof top", watcher.returncode, 0)
        require(sum(calls_of(screen).values()) > 0 and "RECORDING" in screen, screen)
    _, err = process.communicate(timeout=TIME_LIMIT_S)
    require_equal("status", process.returncode, scenario.status)
    document = place.report()
    check_agreement(document, place.ledger.read())
    check_sum(document, place.ledger.read())
    check_manners(place.ledger.read())
    late = place.run([place.kprof, "top", "--frames", "1", str(pid)], plain_environment())
    require(late.status == 125 and "no process" in late.err, f"{late.status} {late.err} {err}")


def play_program_is_killed(scenario, place):
    """The program dies first: the screen stays, with what there was."""
    process, pid = start_under_kprof(scenario, place)
    watcher = subprocess.Popen([place.kprof, "top", "--frames", "0", *WIDE, str(pid)],
                               env=plain_environment(), stdout=subprocess.PIPE)
    time.sleep(1.2)  # so that there is something to be seen; no result depends on it
    os.kill(pid, signal.SIGKILL)
    screen = watcher.communicate(timeout=TIME_LIMIT_S)[0].decode()
    require_equal("status of kprof top", watcher.returncode, 0)
    require(" ended " in screen, screen)
    process.communicate(timeout=TIME_LIMIT_S)


def play_watcher_is_killed(scenario, place):
    """kprof top dies first: the program notices nothing."""
    command = [place.kprof, "top", "-o", place.trace, "--frames", "100", "--", "sh", "-c",
               '"$@"; echo "$?" >"$0"', os.path.join(place.directory, "status"),
               *place.command(scenario)]
    watcher = subprocess.Popen(command, env=place.environment(scenario, traced=True),
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + TIME_LIMIT_S
    while place.ledger.read()["kernels_issued"] == 0 and time.monotonic() < deadline:
        time.sleep(0.01)
    watcher.kill()
    watcher.wait()
    path = os.path.join(place.directory, "status")
    while not (os.path.exists(path) and os.path.getsize(path)) and time.monotonic() < deadline:
        time.sleep(0.05)
    with open(path, encoding="utf-8") as status:
        require_equal("the program's status", status.read().strip(), "0")
    ledger = place.ledger.read()
    require_equal("issued", ledger["kernels_issued"], scenario.kernels)
    check_manners(ledger)


def play_exec(scenario, place):
    """A process that becomes another program is counted anew, and once."""
    screen = top(scenario, place, "--keys", SINCE_START + ",4", *END).out.decode()
    rows = [line.split() for line in screen.splitlines() if re.match(r"[ >]pid \d+ .*%", line)]
    require_equal("processes", len(rows), 1)
    require_equal("kernels of the second", rows[0][6], "7")


def play_status(scenario, place):
    """Exit statuses of kprof top are those of kprof itself."""
    result = top(scenario, place, *END)
    require_equal("status", result.status, scenario.status)
    for command, status in ((["nowhere-to-be-found"], 127), ([place.directory], 126)):
        result = place.run([place.kprof, "top", "--frames", "1", "--", *command],
                           plain_environment())
        require_equal(f"status of {command}", result.status, status)
    strangers = place.run([place.kprof, "top", "--frames", "1", str(os.getpid())],
                          plain_environment())
    require(strangers.status == 125 and "not started under kprof" in strangers.err, strangers.err)


# ---- on a terminal ----

class Terminal:
    """A tmux session of its own server, so that no other is touched."""

    def __init__(self, place, environment):
        self.socket = os.path.join(place.directory, "tmux")
        self.environment = dict(environment, LC_ALL="C.UTF-8", TERM="xterm-256color")

    def tmux(self, *words):
        return subprocess.run(["tmux", "-u", "-f", "/dev/null", "-S", self.socket, *words],
                              env=self.environment, capture_output=True, check=False).stdout.decode()

    def start(self, command):
        self.tmux("new-session", "-d", "-x", "100", "-y", "30", "sh")
        self.tmux("set-option", "-g", "remain-on-exit", "on")
        self.tmux("send-keys", "-l", command)
        self.tmux("send-keys", "Enter")

    def expect(self, *texts):
        deadline = time.monotonic() + TIME_LIMIT_S
        screen = ""
        while time.monotonic() < deadline:
            screen = self.tmux("capture-pane", "-p")
            if all(text in screen for text in texts):
                return screen
            time.sleep(0.05)
        require(False, f"no {texts} in {screen}")
        return None

    def close(self):
        self.tmux("kill-server")


def play_terminal(scenario, place):
    """On a terminal: keys, sizes, and the program's output where it cannot spoil the screen."""
    if not shutil.which("tmux"):
        raise Skip("no tmux")
    terminal = Terminal(place, place.environment(scenario, traced=True))
    words = " ".join(place.command(scenario))
    try:
        terminal.start(f"{place.kprof} top -o {place.trace} -- {words}; echo status=$?")
        terminal.expect("vector_add", "running", "Kernels")
        terminal.tmux("send-keys", "Tab")
        terminal.expect("[2 Operators]")
        terminal.tmux("resize-window", "-x", "50", "-y", "12")
        terminal.tmux("send-keys", "1")
        terminal.expect("[1 Kernels]")
        terminal.tmux("resize-window", "-x", "100", "-y", "30")
        terminal.tmux("send-keys", "Space")
        terminal.expect("PAUSED")
        terminal.tmux("send-keys", "Space")
        terminal.tmux("send-keys", "w")
        terminal.expect("RECORDING")
        terminal.tmux("send-keys", "t", "t")
        screen = terminal.expect("ended with 5")  # it stays until it is left
        require("main: " not in screen, f"the program's output is on the screen: {screen}")
        terminal.tmux("send-keys", "q")
        screen = terminal.expect("main: 4000 kernels", "status=5", "the trace is in")
        require("Kernels]" not in screen, f"the screen is not given back: {screen}")
    finally:
        terminal.close()
    check_sum(place.report(), place.ledger.read())


def play_left_early(scenario, place):
    """q leaves the program to run on in the foreground; its status is passed on."""
    if not shutil.which("tmux"):
        raise Skip("no tmux")
    terminal = Terminal(place, place.environment(scenario, traced=True))
    words = " ".join(place.command(scenario))
    try:
        terminal.start(f"{place.kprof} top -- {words}; echo status=$?")
        terminal.expect("vector_add")
        terminal.tmux("send-keys", "q")
        screen = terminal.expect("main: 3000 kernels", "status=6")
        require("the trace is in" not in screen, screen)
    finally:
        terminal.close()
    check_manners(place.ledger.read())


# ---- rules of A/B ----

SWITCHES = "Wait,5,Wait,P,x,Wait,Wait,P,x,Wait,Wait,P,Enter,P"


def rules_of(scenario, place, entry="twice"):
    """The options of kprof top, its environment, and the program, for the rule «double»."""
    environment = place.environment(scenario, traced=True)
    environment["KPROF_CANDIDATES_LIB"] = os.path.join(place.fakes, "libfake_candidates.so")
    path = os.path.join(place.directory, "rules.yaml")
    with open(path, "w", encoding="utf-8") as file:
        file.write(rules_for(place, entry))
    command = place.write_script("program", "#!/bin/sh\necho $$ >'{directory}/pid'\n"
                                 f"exec {' '.join(place.command(scenario))}\n")
    return ["-o", place.trace, "--rules", path], environment, command


def end_program(place):
    """It would run for long."""
    with open(os.path.join(place.directory, "pid"), encoding="utf-8") as file:
        os.kill(int(file.read()), signal.SIGKILL)


def state_of(screen, rule):
    """The cells of the rule's row by the columns' names: words of its state, and numbers."""
    lines = screen.splitlines()
    head = next(i for i, line in enumerate(lines) if line.split()[:2] == ["State", "Was/s"])
    row = next(line for line in lines[head + 1:] if line.split()[-1:] == [rule])
    cells = {}
    for name in ("Fits/s", "Replaced", "Seen"):
        end = re.search(rf"{name}( |$)", lines[head]).end(0) - 1
        cells[name] = float(row[:end].split()[-1].replace(",", "").replace("-", "0"))
    cells["State"] = row[1:].split()[0]
    return cells


def play_rules(scenario, place):
    """x switches a rule off and on again while the program runs."""
    options, environment, command = rules_of(scenario, place)
    process = subprocess.Popen([place.kprof, "top", *options, "--keys", SWITCHES, *WIDE, "--",
                                command], env=environment, stdout=subprocess.PIPE)
    lines = []
    while not lines or "[5 A/B] > Rule" not in lines[-1]:
        lines.append(process.stdout.readline().decode())
        require(lines[-1], f"it has ended: {lines}")
    end_program(place)
    text = "".join(lines) + process.stdout.read().decode()
    process.stdout.close()
    require_equal("status", process.wait(timeout=TIME_LIMIT_S), 128 + 9)
    parts = re.split(r"(?m)^(?= program )", text)[1:]
    require_equal("screens", len(parts), 4)
    before, off, again = (state_of(part, "double") for part in parts[:3])
    require(before["State"] in ("comparing", "on"), f"{before}")
    require_equal("states", [cells["State"] for cells in (off, again)], ["off", "on"])
    require(0 < before["Replaced"] <= off["Replaced"] < again["Replaced"],
            f"{before} {off} {again}")
    require("Before it was last switched, and since" in parts[3], parts[3])
    left = set(os.listdir(place.directory))
    require_equal("left behind", left & {"ledger", "rules.yaml", "program", "pid"}, left)


def play_rules_wrong(scenario, place):
    """A wrong result is told when the screen is left, whatever was on it."""
    options, environment, _ = rules_of(scenario, place, "zeros")
    bare = place.run(place.command(scenario), place.environment(scenario, traced=False))
    result = place.run([place.kprof, "top", *options, "--no-try", "--keys", "5", *END, "--",
                        *place.command(scenario)], environment)
    require_equal("status", result.status, 0)
    require("a result of the rule double was wrong" in result.err, result.err)
    screen = result.out.decode()
    require(screen.endswith(bare.out.decode()), f"{screen} does not end in {bare.out}")


def play_rules_process(scenario, place):
    """What runs under kprof ab is watched and switched, too, with nothing recorded of it."""
    _, environment, command = rules_of(scenario, place)
    process = subprocess.Popen(
        [place.kprof, "ab", "--rules", os.path.join(place.directory, "rules.yaml"), "--mode",
         "swap", "--", command], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    deadline = time.monotonic() + TIME_LIMIT_S
    while place.ledger.read()["kernels_issued"] == 0 and time.monotonic() < deadline:
        time.sleep(0.01)
    pid = find_child(process.pid, "prog_ab")
    result = place.run([place.kprof, "top", "--keys", "5,x,P", "--frames", "3", *WIDE, str(pid)],
                       plain_environment())
    require_equal("status", (result.status, result.err), (0, ""))
    last = re.split(r"(?m)^(?= \d+ )", result.out.decode())[-1]
    require_equal("state", state_of(last, "double")["State"], "off")
    refused = place.run([place.kprof, "top", "--all-rules", "--frames", "1", str(pid)],
                        plain_environment())
    require(refused.status == 125 and "that kprof starts" in refused.err, refused.err)
    end_program(place)
    process.communicate(timeout=TIME_LIMIT_S)


def play_rules_terminal(scenario, place):
    """The same with fingers on a terminal."""
    if not shutil.which("tmux"):
        raise Skip("no tmux")
    options, environment, command = rules_of(scenario, place)
    terminal = Terminal(place, environment)
    try:
        terminal.start(f"{place.kprof} top {' '.join(options)} -- {command}; echo status=$?")
        terminal.expect("5 A/B", "running")
        terminal.tmux("send-keys", "5")
        terminal.expect("[5 A/B]", "xSwitch", ">on ")
        terminal.tmux("send-keys", "x")
        terminal.expect(">off ", "double is off: the originals run")
        terminal.tmux("send-keys", "Enter")
        terminal.expect("> Rule", "off: the originals run")
        terminal.tmux("send-keys", "x")
        terminal.expect("on: launches that it fits are replaced", "double is on")
        terminal.tmux("send-keys", "Escape")
        terminal.expect(">on ")
        terminal.tmux("send-keys", "q")
        end_program(place)
        terminal.expect("status=137")
    finally:
        terminal.close()


MANY = ["--kernels", "500", "--print"]
SCENARIOS = [
    Scenario("top_totals", play=play_totals, args=[*MANY, "--exit-code", "3"], status=3),
    Scenario("top_totals_many", play=play_totals,
             args=["--kernels", "20000", "--threads", "3", "--streams", "2", "--graph", "40x500",
                   "--print"]),
    Scenario("top_totals_close_fds", play=play_totals, args=[*MANY, "--close-fds"]),
    Scenario("top_ranges", play=play_ranges, args=["--kernels", "500", "--nvtx"]),
    Scenario("top_record", play=play_record, faults="wall",
             args=["--kernels", "5000", "--nvtx", *SLOWLY]),
    Scenario("top_record_untimed", play=play_untimed, faults="wall,untimed=2",
             args=["--kernels", "5000", *SLOWLY]),
    Scenario("top_stop", play=play_stop, faults="wall", args=["--kernels", "8000", *SLOWLY]),
    Scenario("top_process", play=play_process, faults="wall", args=["--kernels", "12000", *SLOWLY]),
    Scenario("top_program_is_killed", play=play_program_is_killed, faults="wall",
             args=["--kernels", "1000000", *SLOWLY]),
    Scenario("top_watcher_is_killed", play=play_watcher_is_killed, faults="wall", kernels=2000,
             args=["--kernels", "2000", *SLOWLY]),
    Scenario("top_exec", play=play_exec,
             args=["--kernels", "5", "--exec", "{directory}/second"],
             files={"second": "#!/bin/sh\nexec {fakes}/prog_launch --kernels 7\n"}),
    Scenario("top_status", play=play_status, args=[*MANY, "--raise", "15"], status=128 + 15),
    Scenario("top_terminal", play=play_terminal, faults="wall",
             args=["--kernels", "4000", *SLOWLY, "--exit-code", "5", "--print"]),
    Scenario("top_rules", program="prog_ab", play=play_rules, faults="wall",
             args=["paced", "1000000"]),
    Scenario("top_rules_wrong", program="prog_ab", play=play_rules_wrong, args=["double", "300"]),
    Scenario("top_rules_process", program="prog_ab", play=play_rules_process, faults="wall",
             args=["paced", "1000000"]),
    Scenario("top_rules_terminal", program="prog_ab", play=play_rules_terminal, faults="wall",
             args=["paced", "1000000"]),
    Scenario("top_left_early", play=play_left_early, faults="wall",
             args=["--kernels", "3000", *SLOWLY, "--exit-code", "6", "--print"]),
]
