#!/usr/bin/env python3
"""Random calls around launches that kprof ab may hold, with checked results, on a real GPU.

    sequence_games.py FIRST COUNT      plays COUNT games from the seed FIRST on

It talks to the driver by ctypes, as any program does, and knows nothing of kprof. Memory belongs to
one stream at a time and goes to another by an event or a wait, so that a game has one outcome, which
is computed here too. Prints how many games were right; status 1 if one was not.
"""

import ctypes
import os
import random
import sys
from ctypes import byref, c_float, c_uint32, c_uint64, c_void_p

WORDS = 256
BYTES = WORDS * 4
BUFFERS = 7
STEPS = 60
DEFAULT, BLOCKING = 0, 3
NOT_READY = 600
PTX = os.path.join(os.path.dirname(os.path.abspath(__file__)), "sequence.ptx")


class Driver:
    """The driver's functions; a result that is not 0 is an error."""

    def __init__(self):
        self.library = ctypes.CDLL("libcuda.so.1")

    def ask(self, name, *arguments):
        return getattr(self.library, name)(*arguments)

    def __call__(self, name, *arguments):
        result = self.ask(name, *arguments)
        if result:
            raise RuntimeError(f"{name}: error {result}")


def mix(a, b, salt):
    return [(31 * x + 17 * (i if b is None else b[i]) + 7 * salt + 1) % 65521
            for i, x in enumerate(a)]


class Games:
    """What all games share, and the one that is played."""

    def __init__(self):
        self.cuda = Driver()
        context, module = c_void_p(), c_void_p()
        self.cuda("cuInit", 0)
        self.cuda("cuDevicePrimaryCtxRetain", byref(context), 0)
        self.cuda("cuCtxSetCurrent", context)
        with open(PTX, "rb") as file:
            self.cuda("cuModuleLoadData", byref(module), file.read() + b"\0")
        self.functions = {}
        for name in ("first", "second", "third", "other"):
            function = c_void_p()
            self.cuda("cuModuleGetFunction", byref(function), module, b"seq_" + name.encode())
            self.functions[name] = function
        self.streams = [c_void_p()]
        for number in range(1, 4):
            stream = c_void_p()
            self.cuda("cuStreamCreate", byref(stream), 0 if number == BLOCKING else 1)
            self.streams.append(stream)
        self.event = c_void_p()
        self.cuda("cuEventCreate", byref(self.event), 2)
        self.buffers = [c_uint64() for _ in range(BUFFERS)]
        for buffer in self.buffers:
            self.cuda("cuMemAlloc_v2", byref(buffer), ctypes.c_size_t(BYTES))
        self.owners, self.values, self.random, self.wrong = [], [], None, 0

    # ---- whose memory it is ----

    def release(self, stream=None):
        self.owners = [None if stream in (None, owner) else owner for owner in self.owners]

    def take(self, buffer, stream):
        owner = self.owners[buffer]
        ordered = (None, stream, *((DEFAULT, BLOCKING) if stream in (DEFAULT, BLOCKING) else ()))
        if owner not in ordered:
            self.pass_on(self.streams[owner], self.streams[stream])
        self.owners[buffer] = stream

    def pass_on(self, old, new):
        way = self.random.randrange(5)
        if way == 0:
            self.cuda("cuStreamSynchronize", old)
        elif way == 1:
            self.cuda("cuCtxSynchronize")
        elif way == 2:
            while self.cuda.ask("cuStreamQuery", old) == NOT_READY:
                pass
        else:
            self.cuda("cuEventRecord", self.event, old)
            if way == 3:
                self.cuda("cuEventSynchronize", self.event)
            else:
                self.cuda("cuStreamWaitEvent", new, self.event, 0)

    # ---- what is done ----

    def launch(self, name, stream, buffers, salt):
        for buffer in buffers:
            self.take(buffer, stream)
        values = [self.buffers[buffer] for buffer in buffers] + [c_uint64(BYTES), c_uint32(salt)]
        arguments = (c_void_p * len(values))(*(ctypes.addressof(value) for value in values))
        self.cuda("cuLaunchKernel", self.functions[name], 1, 1, 1, WORDS, 1, 1, 0,
                  self.streams[stream], arguments, None)
        out, *inputs = (self.values[buffer] for buffer in buffers)
        out[:] = mix(inputs[0], inputs[1] if len(inputs) > 1 else None, salt)

    def look(self, buffer, stream):
        words = (c_float * WORDS)()
        self.take(buffer, stream)
        if stream == DEFAULT:
            self.cuda("cuMemcpyDtoH_v2", words, self.buffers[buffer], ctypes.c_size_t(BYTES))
        else:
            self.cuda("cuMemcpyDtoHAsync_v2", words, self.buffers[buffer], ctypes.c_size_t(BYTES),
                      self.streams[stream])
            self.cuda("cuStreamSynchronize", self.streams[stream])
        self.wrong += [int(word) for word in words] != self.values[buffer]

    def write(self, buffer, stream):
        words = [self.random.randrange(60000) for _ in range(WORDS)]
        self.take(buffer, stream)
        self.cuda("cuMemcpyHtoDAsync_v2", self.buffers[buffer], (c_float * WORDS)(*words),
                  ctypes.c_size_t(BYTES), self.streams[stream])
        self.cuda("cuStreamSynchronize", self.streams[stream])  # the words go now
        self.values[buffer][:] = words

    def clear(self, buffer, stream):
        self.take(buffer, stream)
        self.cuda("cuMemsetD8Async", self.buffers[buffer], 0, ctypes.c_size_t(BYTES),
                  self.streams[stream])
        self.values[buffer][:] = [0] * WORDS

    def copy(self, to, origin, stream):
        self.take(to, stream)
        self.take(origin, stream)
        self.cuda("cuMemcpyDtoDAsync_v2", self.buffers[to], self.buffers[origin],
                  ctypes.c_size_t(BYTES), self.streams[stream])
        self.values[to][:] = self.values[origin]

    def chain(self, stream):
        """Three launches that rules replace, mostly; something comes between now and then."""
        x, t, w, u, y = self.random.sample(range(BUFFERS), 5)
        for name, buffers in (("first", (t, x)), ("second", (u, t, w)), ("third", (y, u))):
            self.launch(name, stream, buffers, 1)
            if self.random.randrange(12) == 0:
                self.other()

    def other(self):
        draw = self.random.randrange
        buffer, stream, another = draw(BUFFERS), draw(4), (draw(BUFFERS - 1) + 1)
        what = draw(6)
        if what == 0:
            self.launch("other", stream, (buffer, (buffer + another) % BUFFERS), draw(9))
        elif what == 1:
            self.look(buffer, stream)
        elif what == 2:
            self.write(buffer, stream)
        elif what == 3:
            self.clear(buffer, stream)
        elif what == 4:
            self.copy(buffer, (buffer + another) % BUFFERS, stream)
        else:
            self.launch("first", stream, (buffer, (buffer + another) % BUFFERS), 2)

    def play(self, seed):
        """Whether all that was looked at was right."""
        self.random, self.wrong = random.Random(seed), 0
        self.owners = [None] * BUFFERS
        self.values = [[0] * WORDS for _ in range(BUFFERS)]
        for buffer in range(BUFFERS):
            self.write(buffer, self.random.randrange(4))
        for _ in range(STEPS // 3):
            if self.random.randrange(4):
                self.chain(self.random.randrange(4))
            else:
                self.other()
        self.cuda("cuCtxSynchronize")
        self.release()
        for buffer in range(BUFFERS):
            self.look(buffer, DEFAULT)
        return self.wrong == 0


def main():
    first, count = int(sys.argv[1]), int(sys.argv[2])
    games = Games()
    right = sum(games.play(seed) for seed in range(first, first + count))
    print(f"{right} of {count} games right")
    return 0 if right == count else 1


if __name__ == "__main__":
    sys.exit(main())
