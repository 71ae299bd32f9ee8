#!/usr/bin/env python3
"""A program that works in blocks, each when it is told to, so that several can take turns.

    blocks.py NAME CPU empty LIBRARY LAUNCHES   empty launches of libspin.so, ns each to issue
    blocks.py NAME CPU decode PROGRAM OPTION…   samples/torch_decode.py, ms a token
    blocks.py tokens SECONDS PROGRAM OPTION…    at once and alone; when each token began and ended

Everything is loaded and warm before it connects to the abstract Unix socket NAME and says «ready». It
then answers each line with the value of a block, and ends when the socket is closed. CPU: where the
thread that launches goes once all other threads are there; they stay where they are. -1: anywhere.
"""

import ctypes
import importlib.util
import os
import re
import socket
import sys
import time


def serve(name, cpu, block):
    """Blocks on demand; one that counts for nothing goes before them."""
    block()
    if cpu >= 0:
        os.sched_setaffinity(0, {cpu})
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(f"\0{name}")
        with client.makefile("rw", buffering=1) as lines:
            print("ready", file=lines)
            for _ in lines:
                print(block(), file=lines)


def empty(path, launches):
    """spin in this process; what it says on stderr is read back from a file."""
    library = ctypes.CDLL(path)
    words = [b"spin", b"--empty", launches.encode()]
    argv = (ctypes.c_char_p * (len(words) + 1))(*words, None)

    def block():
        said, kept = os.memfd_create("said"), os.dup(2)
        os.dup2(said, 2)
        status = library.spin_run(len(words), argv)
        os.dup2(kept, 2)
        text = os.pread(said, 4096, 0).decode()
        os.close(said)
        os.close(kept)
        match = re.search(r"^empty: ([\d.]+) ns a launch to issue", text, re.M)
        if status != 0 or not match:
            sys.exit(f"blocks.py: spin ended with {status}: {text}")
        return float(match[1])
    return block


def decoder_of(path, options):
    """samples/torch_decode.py as a module, warm: (module, its options, decoder, a step)."""
    spec = importlib.util.spec_from_file_location("torch_decode", path)
    program = sys.modules["torch_decode"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(program)
    sys.argv = [path, *options]
    args = program.parse_args()
    program.torch.set_grad_enabled(False)
    decoder = program.Decoder(args)
    step = decoder.step
    program.warm_up(decoder, step)
    if args.graph:
        step = program.capture(step)
    return program, args, decoder, step


def decode(path, *options):
    """A block is --rounds times --steps tokens, from the same position each time."""
    program, args, decoder, step = decoder_of(path, options)

    def block():
        seconds = program.decode(decoder, step)
        decoder.rewind()
        program.synchronize(args)
        return 1e3 * seconds / (args.rounds * args.steps)
    return block


def tokens(seconds, path, *options):
    """When each token began and ended to be issued, without a wait for the GPU in between."""
    program, args, decoder, step = decoder_of(path, options)
    times = []
    end_ns = time.monotonic_ns() + int(float(seconds) * 1e9)
    while time.monotonic_ns() < end_ns:
        for _ in range(args.steps):
            begin_ns = time.monotonic_ns()
            step()
            times.append((begin_ns, time.monotonic_ns()))
        decoder.rewind()
    program.synchronize(args)
    for begin_ns, end_ns in times:
        print("token", begin_ns, end_ns)


def main():
    if sys.argv[1] == "tokens":
        tokens(*sys.argv[2:])
        return
    name, cpu, kind, *rest = sys.argv[1:]
    serve(name, int(cpu), {"empty": empty, "decode": decode}[kind](*rest))


if __name__ == "__main__":
    sys.exit(main())
