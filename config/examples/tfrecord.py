#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Shows the records of TFRecord files, and makes such files from a table, with Python alone, without TensorFlow.

    tfrecord.py show FILE [COUNT]
        Prints the first COUNT records (default 1): each feature with its type, number of values and first values.
    tfrecord.py from-csv FILE.csv FOLDER --label COLUMN [--integers COLUMN,...] [--test-percent 10] [--per-shard 500]
        Makes one record from each line of a CSV file with a header. The column of --label becomes the feature "label".
        Each column of --integers becomes a feature of type int64 with the name of the column. All other columns
        together become the feature "features", float32, in the order of the header. Labels that are not numbers are
        names of classes: the record gets the number of the class, in alphabetical order of the names. Writes
        FOLDER/train-*.tfrecord.gz and FOLDER/test-*.tfrecord.gz, and prints the schema for kiln.conf.
"""
import argparse
import csv
import gzip
import os
import random
import struct
import sys

TABLE = []
for n in range(256):
    for _ in range(8):
        n = n >> 1 ^ (0x82F63B78 if n & 1 else 0)
    TABLE.append(n)


def masked_crc(data):
    """TFRecord's checksum: CRC-32C, rotated and offset."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ TABLE[(crc ^ byte) & 255]
    crc ^= 0xFFFFFFFF
    return struct.pack("<I", ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF)


# ---- Writing: the wire format of tf.train.Example ----

def varint(value):
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes(out + bytes([value]))


def field(number, data):
    return varint(number << 3 | 2) + varint(len(data)) + data


def example(features):
    """A record: {name: (type, values)}, type one of "bytes", "float32", "int64"."""
    entries = b""
    for name, (kind, values) in features.items():
        if kind == "bytes":
            feature = field(1, b"".join(field(1, value) for value in values))
        elif kind == "float32":
            feature = field(2, field(1, struct.pack(f"<{len(values)}f", *values)))
        else:
            feature = field(3, field(1, b"".join(varint(value & (1 << 64) - 1) for value in values)))
        entries += field(1, field(1, name.encode()) + field(2, feature))
    return field(1, entries)


def framed(record):
    length = struct.pack("<Q", len(record))
    return length + masked_crc(length) + record + masked_crc(record)


def write_shards(folder, split, records, per_shard):
    """FOLDER/<split>-00000-of-00003.tfrecord.gz and so on; the same records give the same bytes."""
    shards = max(1, -(-len(records) // per_shard))
    for i in range(shards):
        part = records[i * per_shard:(i + 1) * per_shard]
        with open(os.path.join(folder, f"{split}-{i:05}-of-{shards:05}.tfrecord.gz"), "wb") as file:
            file.write(gzip.compress(b"".join(map(framed, part)), mtime=0))
    return shards


# ---- Reading ----

def number_at(data, at):
    """A varint, and where it ends."""
    value = shift = 0
    while True:
        value |= (data[at] & 127) << shift
        shift += 7
        at += 1
        if data[at - 1] < 128:
            return value, at


def fields(data):
    """Number and content of each field of a message: bytes, or a number."""
    at = 0
    while at < len(data):
        key, at = number_at(data, at)
        if key & 7 == 0:
            value, at = number_at(data, at)
            yield key >> 3, value
        else:
            size, at = number_at(data, at) if key & 7 == 2 else ({1: 8, 5: 4}[key & 7], at)
            yield key >> 3, data[at:at + size]
            at += size


def integers(content):
    """A list may be packed into one field, or have a field a number."""
    for _, value in fields(content):
        at = 0
        while not isinstance(value, int) and at < len(value):
            number, at = number_at(value, at)
            yield number
        if isinstance(value, int):
            yield value


def values_of(feature):
    """Type and values."""
    for kind, content in fields(feature):
        if kind == 1:
            return "bytes", [value for _, value in fields(content)]
        if kind == 2:
            packed = b"".join(value for _, value in fields(content))
            return "float32", list(struct.unpack(f"<{len(packed) // 4}f", packed))
        return "int64", [n - (1 << 64) if n >> 63 else n for n in integers(content)]
    return "unset", []


def read_records(path):
    """Gzip or not; ends where the file does."""
    with open(path, "rb") as file:
        compressed = file.read(2) == b"\x1f\x8b"
    with (gzip.open if compressed else open)(path, "rb") as file:
        while header := file.read(12):
            size, = struct.unpack("<Q", header[:8])
            if masked_crc(header[:8]) != header[8:]:
                raise SystemExit(f"{path}: not a TFRecord file, or damaged")
            yield file.read(size)
            file.read(4)


def show(path, count):
    for i, record in zip(range(count), read_records(path)):
        print(f"record {i}: {len(record)} bytes")
        for _, all_features in fields(record):
            entries = [dict(fields(entry)) for _, entry in fields(all_features)]
            for entry in sorted(entries, key=lambda e: e[1]):
                kind, values = values_of(entry.get(2, b""))
                first = " ".join(str(v[:24] if kind == "bytes" else round(v, 4)) for v in values[:4])
                print(f"  {entry[1].decode():24} {kind:8} {len(values):6} values: {first}{' ...' if len(values) > 4 else ''}")


# ---- Tables ----

def from_csv(options):
    with open(options.csv, newline="", encoding="utf-8-sig") as file:
        rows = list(csv.DictReader(file))
    if not rows or options.label not in rows[0]:
        raise SystemExit(f"{options.csv}: no column \"{options.label}\"")
    whole = [name for name in options.integers.split(",") if name]
    columns = [name for name in rows[0] if name not in whole + [options.label]]
    try:
        labels = {row[options.label]: ("float32", [float(row[options.label])]) for row in rows}
    except ValueError:
        names = sorted({row[options.label] for row in rows})
        labels = {name: ("int64", [i]) for i, name in enumerate(names)}
        print("classes: " + ", ".join(f"{i} {name}" for i, name in enumerate(names)))
    records = [example({**{name: ("int64", [int(row[name])]) for name in whole},
                        "features": ("float32", [float(row[name]) for name in columns]),
                        "label": labels[row[options.label]]}) for row in rows]
    random.Random(44).shuffle(records)
    held = len(records) * options.test_percent // 100
    os.makedirs(options.folder, exist_ok=True)
    shards = write_shards(options.folder, "train", records[held:], options.per_shard)
    shards += write_shards(options.folder, "test", records[:held], options.per_shard) if held else 0
    print(f"{len(records) - held} records to train on, {held} to test, in {shards} shards; features: {' '.join(columns)}")
    print("schema = (")
    for name in whole:
        print(f"  {{ name = \"{name}\"; dtype = \"int64\"; shape = [ 1 ]; }},")
    print(f"  {{ name = \"features\"; dtype = \"float32\"; shape = [ {len(columns)} ]; }},")
    print(f"  {{ name = \"label\"; dtype = \"{next(iter(labels.values()))[0]}\"; shape = [ 1 ]; }}\n);")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = parser.add_subparsers(dest="verb", required=True)
    verb = verbs.add_parser("show")
    verb.add_argument("file")
    verb.add_argument("count", nargs="?", type=int, default=1)
    verb = verbs.add_parser("from-csv")
    verb.add_argument("csv")
    verb.add_argument("folder")
    verb.add_argument("--label", required=True)
    verb.add_argument("--integers", default="")
    verb.add_argument("--test-percent", type=int, default=10)
    verb.add_argument("--per-shard", type=int, default=500)
    options = parser.parse_args()
    show(options.file, options.count) if options.verb == "show" else from_csv(options)
