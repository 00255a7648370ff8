#!/usr/bin/env python3
"""Reads a bundle of ptx-disk and prints what is in it.

Written from FORMAT.md with nothing but Python's standard library. The contents go to files named
by their keys in the directory named by a second argument.
"""

import hashlib
import pathlib
import struct
import sys

from read_entry import NoDecoder, Refused, read_entry, require

MAGIC = b"\x89PTB\r\n\x1a\n"
MOST_ENTRIES = 1 << 22
HEAD = struct.Struct("<8sHHIQQ")
LINE = struct.Struct("<32sQB7s")
KINDS = {1: "ptx", 2: "cubin"}


def read_bundle(data):
    """The bundle's name, and its entries: key, kind, the bytes of an entry's file."""
    require(len(data) >= HEAD.size, "cut short")
    magic, version, name_length, zero, count, place = HEAD.unpack_from(data)
    require(magic == MAGIC, "the magic is not there")
    require(version == 1, "a newer version: leave it alone")
    require(name_length <= 255 and zero == 0 and count <= MOST_ENTRIES, "an impossible head")
    first = HEAD.size + name_length
    require(first <= place and place + LINE.size * count + 32 == len(data),
            "the index does not end where the file does")
    index, digest = data[place:-32], data[-32:]
    require(hashlib.sha256(data[:first] + index).digest() == digest,
            "head and index do not fit their digest")

    entries, at, last = [], first, None
    for key, length, kind, zeros in LINE.iter_unpack(index):
        require(kind in KINDS and zeros == bytes(7), "an impossible line")
        require(last is None or last < (key, kind), "lines out of order")
        last = (key, kind)
        entries.append((key, KINDS[kind], data[at : at + length]))
        at += length
    require(at == place, "the entries do not end where the index begins")
    return data[HEAD.size : first].decode("utf-8"), entries


def main():
    with open(sys.argv[1], "rb") as file:
        data = file.read()
    try:
        name, entries = read_bundle(data)
        print("name", name)
        for key, kind, entry in entries:
            said, content = read_entry(entry)
            require(("key", key.hex()) in said and ("kind", kind) in said, "another entry's bytes")
            print("entry", kind, key.hex())
            if len(sys.argv) > 2:
                pathlib.Path(sys.argv[2], f"{key.hex()}.{kind}").write_bytes(content())
    except (Refused, NoDecoder, UnicodeDecodeError) as reason:
        sys.exit(f"{sys.argv[1]}: {reason}")


if __name__ == "__main__":
    main()
