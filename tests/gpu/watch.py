"""Watches the memory of a running program: its resident set by /proc, the GPU's by NVML."""

import ctypes
import os
import subprocess
import time

from runner import Failure


class Nvml:
    """The memory that is in use on GPU 0, all processes together; None where NVML is not there."""

    class Memory(ctypes.Structure):
        _fields_ = [("total", ctypes.c_ulonglong), ("free", ctypes.c_ulonglong),
                    ("used", ctypes.c_ulonglong)]

    def __init__(self):
        self.device = ctypes.c_void_p()
        try:
            self.library = ctypes.CDLL("libnvidia-ml.so.1")
        except OSError:
            self.library = None
            return
        if (self.library.nvmlInit_v2() != 0 or
                self.library.nvmlDeviceGetHandleByIndex_v2(0, ctypes.byref(self.device)) != 0):
            self.library = None

    def used_bytes(self):
        memory = self.Memory()
        if not self.library or self.library.nvmlDeviceGetMemoryInfo(self.device,
                                                                    ctypes.byref(memory)) != 0:
            return None
        return memory.used


def resident_bytes(pid):
    """None when the process has ended (a zombie has no resident set)."""
    try:
        with open(f"/proc/{pid}/status", encoding="utf-8") as status:
            for line in status:
                if line.startswith("VmRSS:"):
                    return int(line.split()[1]) * 1024
    except OSError:
        pass
    return None


def child_of(pid, name):
    """The child of a process whose executable is called `name`; None as long as there is none."""
    try:
        with open(f"/proc/{pid}/task/{pid}/children", encoding="utf-8") as children:
            for child in children.read().split():
                if os.path.basename(os.readlink(f"/proc/{child}/exe")) == name:
                    return int(child)
    except OSError:
        pass
    return None


class Series:
    """Numbers in order of time."""

    def __init__(self):
        self.numbers = []

    def add(self, number):
        if number is not None:
            self.numbers.append(number)

    @property
    def peak(self):
        return max(self.numbers, default=None)

    @property
    def growth(self):
        """Of what is always there: the least of the second quarter, when all is warm, and of the
        last. None if there are too few numbers."""
        count = len(self.numbers)
        if count < 8:
            return None
        return min(self.numbers[-(count // 4):]) - min(self.numbers[count // 4:count // 2])


class Watched:
    """How a command ended, and what it used meanwhile."""

    def __init__(self):
        self.status = None
        self.seconds = 0.0
        self.stdout = b""
        self.stderr = b""
        self.resident, self.gpu = Series(), Series()


def watch(argv, folder, limit_s, program=None, env=None, period_s=1.0):
    """Runs a command and looks at it every period; `program`: look at that child of it instead."""
    argv = [str(word) for word in argv]
    watched, nvml = Watched(), Nvml()
    out, err = folder / "watched.out", folder / "watched.err"
    begin = time.monotonic()
    with open(out, "wb") as to_out, open(err, "wb") as to_err:
        process = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=to_out, stderr=to_err,
                                   env=env)
        pid = None if program else process.pid
        while True:
            try:
                watched.status = process.wait(timeout=period_s if pid else 0.02)
                break
            except subprocess.TimeoutExpired:
                pass
            if time.monotonic() - begin > limit_s:
                for victim in (pid, process.pid):
                    if victim:
                        os.kill(victim, 9)
                process.wait()
                raise Failure(f"not finished after {limit_s:.0f} s")
            pid = pid or child_of(process.pid, program)
            if pid:
                watched.resident.add(resident_bytes(pid))
                watched.gpu.add(nvml.used_bytes())
    watched.seconds = time.monotonic() - begin
    watched.stdout, watched.stderr = out.read_bytes(), err.read_bytes()
    return watched
