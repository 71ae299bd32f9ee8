#!/usr/bin/env python3
"""Launches of one kernel while contexts are released and streams are captured, on a real GPU.

    surroundings.py release|capture|forbid ROUNDS

«release»: the context is retained and released once more beside its launches. «capture»: another
thread tries to end each capture. «forbid»: each capture forbids other threads what is unsafe, and
one of them launches meanwhile. It talks to the driver by ctypes, and knows nothing of kprof. Prints
how many results were right; status 1 if one was not.
"""

import ctypes
import os
import struct
import sys
import threading
from ctypes import byref, c_size_t, c_uint64, c_void_p

from sequence_games import Driver

COUNT = 1024
BYTES = 2 * COUNT
GLOBAL, THREAD_LOCAL = 0, 1
WRONG_THREAD = 908
NON_BLOCKING = 1
PTX = os.path.join(os.path.dirname(os.path.abspath(__file__)), "same_silu.ptx")
# bf16 of -4 to 4.
DATA = b"".join(struct.pack("<f", (i % 257 - 128) / 32)[2:] for i in range(COUNT))


class World:
    """The context, the kernel, a stream and data of each of two threads."""

    def __init__(self):
        self.cuda = Driver()
        self.context, module, self.function = c_void_p(), c_void_p(), c_void_p()
        self.cuda("cuInit", 0)
        self.cuda("cuDevicePrimaryCtxRetain", byref(self.context), 0)
        self.cuda("cuCtxSetCurrent", self.context)
        with open(PTX, "rb") as file:
            self.cuda("cuModuleLoadData", byref(module), file.read() + b"\0")
        self.cuda("cuModuleGetFunction", byref(self.function), module, b"same_silu")
        self.streams, self.memory = [c_void_p(), c_void_p()], [c_uint64(), c_uint64()]
        for stream, memory in zip(self.streams, self.memory):
            self.cuda("cuStreamCreate", byref(stream), NON_BLOCKING)
            self.cuda("cuMemAlloc_v2", byref(memory), c_size_t(BYTES))
        self.right = self.all = 0
        self.put()
        self.launch()
        self.expected = self.get()

    def put(self):
        self.cuda("cuMemcpyHtoD_v2", self.memory[0], DATA, c_size_t(BYTES))

    def get(self):
        data = ctypes.create_string_buffer(BYTES)
        self.cuda("cuStreamSynchronize", self.streams[0])
        self.cuda("cuMemcpyDtoH_v2", data, self.memory[0], c_size_t(BYTES))
        return data.raw

    def check(self):
        self.all += 1
        self.right += self.get() == self.expected

    def launch(self, thread=0):
        values = [self.memory[thread], c_uint64(COUNT)]
        arguments = (c_void_p * 2)(*(ctypes.addressof(value) for value in values))
        self.cuda("cuLaunchKernel", self.function, COUNT // 256, 1, 1, 256, 1, 1, 0,
                  self.streams[thread], arguments, None)

    def beside(self, work):
        """Work in a thread of its own; what goes wrong there goes wrong here."""
        errors = []

        def run():
            try:
                self.cuda("cuCtxSetCurrent", self.context)
                work()
            except RuntimeError as error:
                errors.append(error)
        thread = threading.Thread(target=run)
        thread.start()
        thread.join()
        if errors:
            raise errors[0]

    def capture(self, mode, work):
        """What is captured is the launch; then the graph is launched, and what comes of it is checked."""
        graph, execution = c_void_p(), c_void_p()
        self.put()
        self.cuda("cuStreamBeginCapture_v2", self.streams[0], mode)
        self.beside(work)
        self.launch()
        self.cuda("cuStreamEndCapture", self.streams[0], byref(graph))
        self.cuda("cuGraphInstantiateWithFlags", byref(execution), graph, c_uint64(0))
        self.cuda("cuGraphLaunch", execution, self.streams[0])
        self.check()
        self.cuda("cuGraphExecDestroy", execution)
        self.cuda("cuGraphDestroy", graph)


def release(world):
    again = c_void_p()
    world.cuda("cuDevicePrimaryCtxRetain", byref(again), 0)
    for _ in range(5):
        world.put()
        world.launch()
        world.check()
    world.cuda("cuDevicePrimaryCtxRelease_v2", 0)


def capture(world):
    def end():
        graph = c_void_p()
        result = world.cuda.ask("cuStreamEndCapture", world.streams[0], byref(graph))
        world.right -= result != WRONG_THREAD
    world.put()
    world.launch()
    world.check()
    world.capture(THREAD_LOCAL, end)


def forbid(world):
    world.capture(GLOBAL, lambda: [world.launch(1) for _ in range(20)])


def main():
    world = World()
    work = {"release": release, "capture": capture, "forbid": forbid}[sys.argv[1]]
    for _ in range(int(sys.argv[2])):
        work(world)
    print(f"{world.right} of {world.all} right")
    return world.right != world.all


if __name__ == "__main__":
    sys.exit(main())
