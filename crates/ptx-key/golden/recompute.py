"""Recomputes golden/vectors.json from ENCODING.md, without ptx-key.

    python3 recompute.py            compares, and exits with 1 on any difference
    python3 recompute.py --write    adds the expected values of a new vector

It never changes an existing expected value: keys of one encoding version are final.
"""

import hashlib
import json
import pathlib
import struct
import sys

VECTORS = pathlib.Path(__file__).with_name("vectors.json")


def sized(tag, data):
    return tag + struct.pack("<Q", len(data)) + data


def text(value):
    return sized(b"s", value.encode("utf-8"))


def unsigned(value):
    return b"u" + struct.pack("<Q", int(value))


def digest(value):
    return b"d" + bytes.fromhex(value)


def truth(value):
    return b"b" + (b"\x01" if value else b"\x00")


def optional(encode, value):
    return b"n" if value is None else encode(value)


def hashed(domain, *tokens):
    return hashlib.sha256(text("ptx-key/1/" + domain) + b"".join(tokens)).hexdigest()


def named_value(value):
    (kind, content), = value.items()
    return {
        "bool": truth,
        "u64": unsigned,
        "i64": lambda number: b"i" + struct.pack("<q", int(number)),
        "str": text,
    }[kind](content)


def program(tokens, exact):
    """Encodes the tokens of one lane. Numbers that JSON would round are strings."""
    out = b""
    for kind, *content in tokens:
        if kind == "exact_only":
            out += program(content[0], exact) if exact else b""
        elif kind == "record":
            name, inner = content
            out += sized(b"(", name.encode("utf-8")) + program(inner, exact) + b")"
        elif kind == "absent":
            out += b"n"
        elif kind == "f64":
            out += b"f" + struct.pack("<Q", int(content[0], 16))
        elif kind == "bytes":
            out += sized(b"y", bytes.fromhex(content[0]))
        elif kind == "digest":
            out += digest(content[0])
        else:
            out += named_value({kind: content[0]})
    return out


def option(entry):
    if "content" in entry:
        value = digest(entry["content"])
    else:
        value = optional(text, entry.get("value"))
    return sized(b"(", entry["name"].encode("utf-8")) + value + b")"


def option_order(entry):
    if "content" in entry:
        return (2, bytes.fromhex(entry["content"]))
    if entry.get("value") is not None:
        return (1, entry["value"].encode("utf-8"))
    return (0, b"")


def fields(configuration):
    policy = configuration["policy"]
    features = configuration["features"]
    named = {
        "contract/name": text(configuration["contract"]["name"]),
        "contract/version": unsigned(configuration["contract"]["version"]),
        "target": text(configuration["target"]),
        "ptx_isa": text(configuration["ptx_isa"]),
        "subgroup_size": unsigned(configuration["subgroup_size"]),
        "policy/ulp_budget": optional(unsigned, policy["ulp_budget"]),
        "policy/workgroup_override": optional(
            lambda extents: b"".join(map(unsigned, extents)), policy["workgroup_override"]
        ),
    }
    for name, value in policy["named"].items():
        named["policy/named/" + name] = named_value(value)
    for name in features["known"]:
        named["feature/" + name] = truth(True)
    for name in features["named"]:
        named["feature/named/" + name] = truth(True)
    toolchain = configuration["toolchain"]
    if toolchain is not None:
        named["toolchain/name"] = text(toolchain["name"])
        named["toolchain/version"] = text(toolchain["version"])
        named["toolchain/fingerprint"] = digest(toolchain["fingerprint"])
        named["toolchain/options"] = b"".join(map(option, toolchain["options"]))
        unordered = toolchain["options_in_any_order"]
        for name in {entry["name"] for entry in unordered}:
            same = sorted((it for it in unordered if it["name"] == name), key=option_order)
            named["toolchain/option/" + name] = b"".join(map(option, same))
        for name, content in toolchain["contents"].items():
            named["toolchain/content/" + name] = digest(content)
    ordered = sorted(named.items(), key=lambda item: item[0].encode("utf-8"))
    return {name: hashed("field", value) for name, value in ordered}


def jit(configuration):
    assembler = configuration["assembler"]
    out = b"".join(map(unsigned, configuration["compute_capability"]))
    out += b"".join(unsigned(assembler[it]) for it in ("driver",) if it in assembler)
    out += b"".join(digest(assembler[it]) for it in ("build", "tool") if it in assembler)
    out += optional(unsigned, configuration["optimization_level"])
    out += optional(unsigned, configuration["max_registers"])
    out += truth(configuration["debug_info"]) + truth(configuration["line_info"])
    out += sized(b"(", b"named")
    ordered = sorted(configuration["named"].items(), key=lambda item: item[0].encode("utf-8"))
    out += b"".join(text(name) + named_value(value) for name, value in ordered)
    return out + b")"


def trace(normalized, exact, digests):
    out = b"ptxtrac1" + bytes.fromhex(normalized)
    out += b"\x00" if exact is None else b"\x01" + bytes.fromhex(exact)
    for name, value in digests.items():
        out += sized(b"", name.encode("utf-8")) + bytes.fromhex(value)
    return out.hex()


def lowering(vector):
    digests = fields(vector["configuration"])
    configuration = hashed(
        "configuration", *(text(name) + digest(value) for name, value in digests.items())
    )
    normalized = hashed("lane/normalized", program(vector["program"], exact=False))
    exact = None
    if not vector["normalized_only"]:
        exact = hashed("lane/exact", program(vector["program"], exact=True))
    key = hashed("ptx", digest(normalized), optional(digest, exact), digest(configuration))
    assembly = jit(vector["jit"])
    return {
        "normalized": normalized,
        "exact": exact,
        "fields": digests,
        "ptx_key": key,
        "module_of_lowering": hashed(
            "module-of-lowering", sized(b"y", bytes.fromhex(key)), assembly
        ),
        "module_of_text": hashed("module-of-text", text(vector["text"]), assembly),
        "trace": trace(normalized, exact, digests),
    }


def directory(vector):
    ordered = sorted(vector["files"].items(), key=lambda item: item[0].encode("utf-8"))
    contents = (
        text(path) + digest(hashlib.sha256(bytes.fromhex(content)).hexdigest())
        for path, content in ordered
    )
    return {"digest": hashed("folder", *contents)}


def main():
    write = "--write" in sys.argv
    vectors = json.loads(VECTORS.read_text(encoding="utf-8"))
    total = wrong = 0
    for kind, recompute in (("lowerings", lowering), ("folders", directory)):
        for vector in vectors[kind]:
            found = recompute(vector)
            expected = vector.setdefault("expected", {})
            if write:
                for name, value in found.items():
                    expected.setdefault(name, value)
            total += 1
            if expected != found:
                print(f"{kind}, `{vector['name']}`: recomputed {json.dumps(found, indent=2)}")
                wrong += 1
    if write:
        whole = json.dumps(vectors, indent=2, ensure_ascii=False) + "\n"
        VECTORS.write_text(whole, encoding="utf-8")
    print(f"{total - wrong} of {total} vectors agree")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
