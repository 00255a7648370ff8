#!/usr/bin/env python3
"""Reads one entry of a ptx-disk store and prints what its header says.

Written from FORMAT.md with nothing but Python's standard library, as a second opinion on the
format. The content goes to the file named by a second argument. Python decodes zstd from 3.14 on;
before, the command `zstd` is asked.
"""

import hashlib
import pathlib
import shutil
import struct
import subprocess
import sys

MAGIC = b"\x89PTX\r\n\x1a\n"
LONGEST_HEADER = 1 << 20
LONGEST_PAYLOAD = 1 << 30
KINDS = {1: "ptx", 2: "cubin"}
ENCODINGS = {0: "plain", 1: "zstd", 2: "zstd with a dictionary", 3: "LZ4"}
FIXED = struct.Struct("<8sHBBI32s32s32sQQQQIiHH")


DICTIONARIES = {1_876_794_469: "dictionary/ptx-1.zdict"}


class Refused(Exception):
    pass


class NoDecoder(Exception):
    pass


def require(holds, complaint):
    if not holds:
        raise Refused(complaint)


def decode_lz4(block, content_bytes):
    """The content of a block: sequences of literals and a match, the last without a match."""
    require(content_bytes <= 255 * len(block), "the block cannot stand for so much")
    content, at = bytearray(), 0

    def take(count):
        nonlocal at
        require(at + count <= len(block), "the payload does not decode")
        at += count
        return block[at - count : at]

    def length(first):
        total, byte = first, 255 if first == 15 else 0
        while byte == 255:
            byte = take(1)[0]
            total += byte
        return total

    while True:
        token = take(1)[0]
        content += take(length(token >> 4))
        if at == len(block):
            return bytes(content)
        distance = int.from_bytes(take(2), "little")
        require(0 < distance <= len(content), "the payload does not decode")
        matched = 4 + length(token & 15)
        require(len(content) + matched <= content_bytes, "the payload does not decode")
        for _ in range(matched):
            content.append(content[-distance])


def decode(stored, encoding, dictionary, content_bytes):
    """The content of a stored payload."""
    if encoding == 0:
        return stored
    if encoding == 3:
        return decode_lz4(stored, content_bytes)
    path = None
    if encoding == 2:
        require(dictionary in DICTIONARIES, "a newer dictionary: leave it alone")
        path = pathlib.Path(__file__).parent.parent / DICTIONARIES[dictionary]
    try:
        from compression import zstd
    except ImportError:
        command = shutil.which("zstd")
        if command is None:
            raise NoDecoder("neither Python 3.14 nor the command zstd is here") from None
        with_dictionary = [] if path is None else ["-D", path]
        run = subprocess.run([command, "-d", "-c", *with_dictionary], input=stored,
                             capture_output=True, check=False)
        require(run.returncode == 0, "the payload does not decode")
        return run.stdout
    try:
        known = None if path is None else zstd.ZstdDict(path.read_bytes())
        return zstd.decompress(stored, known)
    except zstd.ZstdError as error:
        raise Refused("the payload does not decode") from error


def read_entry(data):
    """What the header says, as pairs, and a function that gives the content."""
    require(len(data) >= 16, "cut short")
    require(data[:8] == MAGIC, "the magic is not there")
    version, header_length = struct.unpack_from("<H2xI", data, 8)
    require(48 <= header_length <= LONGEST_HEADER, "the header's length is impossible")
    require(len(data) >= header_length, "cut short")
    header, digest = data[: header_length - 32], data[header_length - 32 : header_length]
    require(hashlib.sha256(header).digest() == digest, "the header does not fit its digest")
    require(version == 1, "a newer version: leave it alone")

    require(len(header) >= FIXED.size, "the header is too short")
    (_, _, kind, encoding, _, key, stored_digest, content_digest, stored_bytes, content_bytes,
     cost, created, dictionary, level, producer_length, attribute_count) = FIXED.unpack_from(header)
    require(kind in KINDS and encoding in ENCODINGS, "a newer kind or encoding: leave it alone")
    require(dictionary == 0 or encoding == 2, "a dictionary that nothing needs")
    require(max(stored_bytes, content_bytes) <= LONGEST_PAYLOAD, "impossible lengths")

    at = FIXED.size

    def take(length):
        nonlocal at
        require(at + length <= len(header), "the header is too short")
        at += length
        return header[at - length : at]

    require(producer_length <= 255, "the producer is too long")
    producer = take(producer_length).decode("utf-8")
    require(attribute_count <= 256, "too many attributes")
    attributes = []
    for _ in range(attribute_count):
        name_length, value_length = struct.unpack("<HI", take(6))
        require(1 <= name_length <= 255, "an attribute's name has an impossible length")
        name = take(name_length)
        name.decode("utf-8")
        require(not attributes or attributes[-1][0] < name, "attributes out of order")
        attributes.append((name, take(value_length)))
    require(at == len(header), "the header is too long")

    stored = data[header_length:]
    require(len(stored) == stored_bytes, "the payload has another length")
    require(hashlib.sha256(stored).digest() == stored_digest, "the payload does not fit its digest")

    def content():
        decoded = decode(stored, encoding, dictionary, content_bytes)
        require(len(decoded) == content_bytes, "the content has another length")
        require(hashlib.sha256(decoded).digest() == content_digest,
                "the content does not fit its digest")
        if kind == 1:
            decoded.decode("utf-8")
        return decoded

    said = [("kind", KINDS[kind]), ("key", key.hex()), ("encoding", ENCODINGS[encoding]),
            ("cost_nanos", cost), ("created_nanos", created), ("level", level), ("producer", producer)]
    said += [("attribute " + name.decode("utf-8"), value.hex()) for name, value in attributes]
    said += [("content_bytes", content_bytes), ("content_sha256", content_digest.hex())]
    return said, content


def main():
    with open(sys.argv[1], "rb") as file:
        data = file.read()
    try:
        said, content = read_entry(data)
        for name, value in said:
            print(name, value)
        if len(sys.argv) > 2:
            with open(sys.argv[2], "wb") as file:
                file.write(content())
    except (Refused, NoDecoder, UnicodeDecodeError) as reason:
        sys.exit(f"{sys.argv[1]}: {reason}")


if __name__ == "__main__":
    main()
