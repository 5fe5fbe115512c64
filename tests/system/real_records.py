# SPDX-License-Identifier: Apache-2.0
"""Reads TFRecord files that other projects' tools wrote: real_records.py SHARED DUMP_RECORDS
Compares each file below SHARED/data/tfrecord with its row in MANIFEST.tsv (records, lengths, features with kinds and
counts), and every value with a second reader, the one below. Records that are no Examples must be refused one by one,
with a sentence. Prints TAP."""
import csv
import gzip
import hashlib
import json
import os
import struct
import subprocess
import sys

KINDS = {1: "bytes", 2: "float", 3: "int64"}
number = failed = 0


def ok(good, what, detail=""):
    global number, failed
    number += 1
    failed |= not good
    print(f"{'ok' if good else 'not ok'} {number} - {what}")
    if not good and detail:
        print("# " + str(detail)[:2000].replace("\n", "\n# "))


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, at


def fields(data):
    """(number, value) of each field of a message: bytes, or a varint's number."""
    at = 0
    while at < len(data):
        tag, at = varint(data, at)
        if tag & 7 == 0:
            value, at = varint(data, at)
        elif tag & 7 == 2:
            size, at = varint(data, at)
            value, at = data[at:at + size], at + size
        else:
            size = {1: 8, 5: 4}[tag & 7]
            value, at = data[at:at + size], at + size
        yield tag >> 3, value


def values(kind, message):
    """Values as dump_records prints them: floats as their bits, bytes in hex."""
    found = []
    for _, value in fields(message):
        if kind == "bytes":
            found.append(value.hex())
        elif kind == "float":
            found += struct.unpack(f"<{len(value) // 4}I", value)
        else:
            at = 0
            while isinstance(value, bytes) and at < len(value):
                whole, at = varint(value, at)
                found.append(whole - (1 << 64) if whole >> 63 else whole)
            found += [value] if isinstance(value, int) else []
    return found


def features(record):
    """{name: (kind, values)}, the kind None for an unset feature."""
    found = {}
    for field, message in fields(record):
        if field != 1:
            continue
        for _, entry in fields(message):
            parts = dict(fields(entry))
            found[parts[1].decode()] = (None, None)
            for kind, content in fields(parts.get(2, b"")):
                found[parts[1].decode()] = (KINDS[kind], values(KINDS[kind], content))
    return found


def records(path):
    with open(path, "rb") as file:
        data = file.read()
    if data[:2] == b"\x1f\x8b":
        data = gzip.decompress(data)
    at = 0
    while at < len(data):
        size, = struct.unpack_from("<Q", data, at)
        yield data[at + 12:at + 12 + size]
        at += size + 16


def summary(examples):
    """MANIFEST.tsv's notation: name:kind|kind[min..max], without the mark for packed lists."""
    kinds, counts = {}, {}
    for example in examples:
        for name, (kind, content) in example.items():
            kinds.setdefault(name, set()).add(kind or "unset")
            counts.setdefault(name, set()).add(len(content or []))
    return {f"{name}:{'|'.join(sorted(kinds[name]))}[{min(counts[name])}..{max(counts[name])}]" for name in kinds}


def check(root, row, dump):
    path = os.path.join(root, row["path"])
    name, count = row["path"], int(row["records"])
    with open(path, "rb") as file:
        if hashlib.sha256(file.read()).hexdigest() != row["sha256"]:
            return ok(False, f"{name}: the file that the manifest means")
    told = subprocess.run([dump, path], capture_output=True, text=True)
    head, *lines = [json.loads(line) for line in told.stdout.splitlines()]
    sizes = [line["bytes"] for line in lines]
    ok(told.returncode == 0 and head["compression"] == row["compression"] and len(lines) == count
       and f"{min(sizes)}..{max(sizes)}" == row["payload_len_min..max"],
       f"{name}: {count} records of {row['payload_len_min..max']} bytes, {row['compression']}", (head, told.stderr))
    if row["types"].startswith("not-Example"):
        ok(all(line.get("error", "").startswith("not a tf.train.Example") for line in lines),
           f"{name}: each of them refused, it is no Example", lines)
        return None
    expected = [features(record) for record in records(path)]
    stated = {part.replace(" packed", "") for part in row["features"].split("; ") if "FeatureList" not in part}
    ok(summary(expected) == stated, f"{name}: {len(stated)} features as the manifest has them",
       (summary(expected), stated))
    wrong = [(i, line) for i, (line, example) in enumerate(zip(lines, expected))
             if line.get("values") != {key: content for key, (_, content) in example.items()}]
    ok(not wrong, f"{name}: every value", wrong[:1])
    return None


def main():
    root, dump = os.path.join(sys.argv[1], "data/tfrecord"), sys.argv[2]
    if not os.path.exists(root + "/MANIFEST.tsv"):
        print(f"ok 1 - real TFRecord files # SKIP none below {root}; KILN_SHARED names another folder\n1..1")
        return 0
    with open(root + "/MANIFEST.tsv", newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    for row in rows:
        check(root, row, dump)
    there = {os.path.relpath(os.path.join(folder, name), root) for folder, _, names in os.walk(root) for name in names}
    ok(there == {row["path"] for row in rows} | {"MANIFEST.tsv"}, f"{len(rows)} files, all that are there")
    print(f"1..{number}")
    return failed


sys.exit(main())
