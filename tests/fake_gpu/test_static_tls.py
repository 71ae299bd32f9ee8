#!/usr/bin/env python3
"""How much static thread-local storage libkprof_inject.so wants: little enough to be loaded late.

Its thread-local variables are of the initial-exec model, so that a hook calls nothing to find them. Where
the library is preloaded they cost nothing. Where the driver loads it, as the CUDA injection, they must
fit into what the C library keeps for all that is loaded after the start: some 1664 bytes in glibc, of
which other libraries want their part. Beyond it the dynamic loader says «cannot allocate memory in static
TLS block», and nothing is recorded.
"""

import argparse
import os
import struct
import sys

LIMIT_BYTES = 1024
PT_TLS = 7


def tls_bytes(path):
    """The size of the segment of a 64-bit ELF file, from its program headers."""
    with open(path, "rb") as file:
        data = file.read()
    if data[:6] != b"\x7fELF\x02\x01":
        raise ValueError(f"{path} is no 64-bit little-endian ELF file")
    at, = struct.unpack_from("<Q", data, 32)
    size, count = struct.unpack_from("<HH", data, 54)
    total = 0
    for header in range(at, at + size * count, size):
        kind, = struct.unpack_from("<I", data, header)
        if kind == PT_TLS:
            total += struct.unpack_from("<Q", data, header + 40)[0]
    return total


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("library")
    path = parser.parse_args().library
    got = tls_bytes(path)
    print(f"{os.path.basename(path)}: {got} bytes of static TLS, {LIMIT_BYTES} at most")
    if got == 0:
        print("none at all: this is not the library that the hooks are in")
    if got > LIMIT_BYTES:
        print("a program that loads it late may have no room for it: make _Thread_local variables "
              "of inject/ smaller, or let them point to memory of their own")
    return 0 if 0 < got <= LIMIT_BYTES else 1


if __name__ == "__main__":
    sys.exit(main())
