#!/usr/bin/env python3
"""Offsets and sizes of the parameters of every kernel in a CUDA library: layouts.py LIBRARY OUT

Reads the fat binaries of the ELF section .nv_fatbin (needs the Python package zstandard), takes the
cubins of one architecture, and writes a line for each kernel: its mangled name, and offset:size of each
parameter, as the section .nv.info.NAME has them.
"""

import mmap
import struct
import sys

import zstandard

ARCHITECTURE = 90
FATBIN_MAGIC = 0xBA55ED50
KIND_CUBIN = 2
FLAG_ZSTD = 0x8000
ATTRIBUTE_PARAMETER = 0x17  # EIATTR_KPARAM_INFO
FORMAT_SIZED = 4


def sections(elf):
    """(name, offset, size) of the sections of a 64-bit ELF file."""
    table, = struct.unpack_from("<Q", elf, 0x28)
    count, names = struct.unpack_from("<HH", elf, 0x3C)
    rows = []
    for i in range(count):
        name, _, _, _, offset, size = struct.unpack_from("<IIQQQQ", elf, table + 64 * i)
        rows.append((name, offset, size))
    strings = rows[names][1]
    for name, offset, size in rows:
        end = elf.find(b"\0", strings + name)
        yield bytes(elf[strings + name:end]).decode(), offset, size


def parameters(cubin, at, end):
    """[(offset, size)] of a kernel's parameters, in order."""
    found = {}
    while at < end:
        kind, attribute = cubin[at], cubin[at + 1]
        size = 0
        if kind == FORMAT_SIZED:
            size, = struct.unpack_from("<H", cubin, at + 2)
            if attribute == ATTRIBUTE_PARAMETER:
                _, number, offset, flags = struct.unpack_from("<IHHI", cubin, at + 4)
                found[number] = (offset, flags >> 18)
        at += 4 + size
    return [found[number] for number in sorted(found)]


def cubins(library, at, end):
    """The cubins for ARCHITECTURE between two offsets."""
    while at < end:
        magic, _, header, size = struct.unpack_from("<IHHQ", library, at)
        if magic != FATBIN_MAGIC:
            at += 8
            continue
        entry, at = at + header, at + header + size
        while entry < at:
            kind, _, header, size = struct.unpack_from("<HHIQ", library, entry)
            packed, = struct.unpack_from("<I", library, entry + 16)
            architecture, = struct.unpack_from("<I", library, entry + 28)
            flags, = struct.unpack_from("<Q", library, entry + 40)
            if kind == KIND_CUBIN and architecture == ARCHITECTURE:
                data = library[entry + header:entry + header + (packed or size)]
                if flags & FLAG_ZSTD:
                    data = zstandard.ZstdDecompressor().decompressobj().decompress(data)
                yield data
            entry += header + size


def main():
    library, out = sys.argv[1:]
    with open(library, "rb") as file:
        data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        offset, size = next((o, s) for n, o, s in sections(data) if n == ".nv_fatbin")
        table = {}
        for cubin in cubins(data, offset, offset + size):
            for name, at, length in sections(cubin):
                if name.startswith(".nv.info."):
                    table[name.removeprefix(".nv.info.")] = parameters(cubin, at, at + length)
    with open(out, "w", encoding="ascii") as file:
        for name, rows in sorted(table.items()):
            file.write(" ".join([name, *(f"{offset}:{size}" for offset, size in rows)]) + "\n")


if __name__ == "__main__":
    main()
