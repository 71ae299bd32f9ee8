"""A row of the tables of scenarios: what runs, and what must then hold; see scenarios.py."""

from dataclasses import dataclass, field


@dataclass
class Scenario:
    """One row."""

    name: str
    program: str = "prog_launch"
    args: list = field(default_factory=list)
    script: str = ""           # the text of a script that runs instead; {fakes}: where programs are
    options: tuple = ()        # of kprof
    faults: str = ""           # KP_FAKE
    env: dict = field(default_factory=dict)
    files: dict = field(default_factory=dict)  # texts of further scripts, by name: {directory}/NAME
    root: bool = False         # only root can do what the program does
    status: int = 0            # of the program, bare and under kprof
    trace: bool = True         # whether a trace is left
    kernels: int = None        # in the report
    agrees: bool = True        # the report agrees with what the fake CUPTI delivered
    says: tuple = ()           # patterns in what kprof prints
    seconds: float = 60        # the longest that it may take, on a machine that is busy elsewhere
    check: callable = None     # gets a harness.Run
    play: callable = None      # does everything itself: gets the scenario and a harness.Place
