# SPDX-License-Identifier: Apache-2.0
"""Exchanges TFRecord files with TensorFlow: Kiln reads TensorFlow's files, value for value; tf.data reads the files of kiln
prep; both with every compression."""
import glob
import json
import os
import random
import shutil
import struct
import subprocess
import sys
import tempfile

import tensorflow as tf

from lib.tap import BIN, BUILD, end, ok

LABELS, TEXTS, DIMS = ("one", "two", "three"), 240, 32


def bits(value):
    return struct.unpack("<I", struct.pack("<f", value))[0]


def random_example(rng, i):
    """An Example, and the line that dump_records must print for it."""
    floats = [struct.unpack("<f", struct.pack("<f", rng.uniform(-1e6, 1e6)))[0] for _ in range(rng.randrange(70))]
    ints = [rng.choice((0, 1, -1, 127, 128, 2**63 - 1, -2**63, rng.getrandbits(40))) for _ in range(rng.randrange(70))]
    strings = [rng.randbytes(rng.choice((0, 1, 127, 128, 300))) for _ in range(rng.randrange(4))]
    feature = {
        "floats": tf.train.Feature(float_list=tf.train.FloatList(value=floats)),
        "ints": tf.train.Feature(int64_list=tf.train.Int64List(value=ints)),
        "strings": tf.train.Feature(bytes_list=tf.train.BytesList(value=strings)),
        "özel": tf.train.Feature(int64_list=tf.train.Int64List(value=[i])),
        "unset": tf.train.Feature(),
    }
    expected = {"floats": [bits(v) for v in floats], "ints": ints, "strings": [v.hex() for v in strings],
                "özel": [i], "unset": None}
    return tf.train.Example(features=tf.train.Features(feature=feature)).SerializeToString(), expected


def check_theirs(work):
    rng = random.Random(44)
    examples = [random_example(rng, i) for i in range(300)]
    for compression in ("", "GZIP", "ZLIB"):
        path = f"{work}/theirs-{compression or 'plain'}.tfrecord"
        with tf.io.TFRecordWriter(path, tf.io.TFRecordOptions(compression_type=compression)) as writer:
            for record, _ in examples:
                writer.write(record)
        told = subprocess.run([BUILD + "/system/dump_records", path], capture_output=True, text=True)
        _, *lines = [json.loads(line) for line in told.stdout.splitlines()]
        wrong = [(line, expected) for line, (_, expected) in zip(lines, examples) if line.get("values") != expected]
        ok(told.returncode == 0 and len(lines) == len(examples) and not wrong,
           f"TensorFlow's {compression or 'plain'} file: {len(examples)} records, every value", wrong[:1] or told.stderr)


def write_texts(work):
    """The vector of a text repeats the text's number; the label follows from the number."""
    with open(work + "/texts.tsv", "w") as out:
        for i in range(TEXTS):
            out.write(f"{LABELS[i % 3]}\ttext {i}\n")
    with open(work + "/encode", "w") as out:
        out.write(f"#!/usr/bin/python3\nimport json, sys\nfor line in sys.stdin:\n"
                  f"    print(json.dumps([int(json.loads(line).split()[1]) + 0.25] * {DIMS}), flush=True)\n")
    os.chmod(work + "/encode", 0o755)


def check_ours(work):
    write_texts(work)
    subprocess.run([BIN + "/kiln", "prep", work + "/texts.tsv", "--output", f"file://{work}/ours", "--dims", str(DIMS),
                    "--encoder", f"exec:{work}/encode", "--records-per-shard", "50"], check=True,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    names = json.load(open(work + "/ours/dataset.json"))["classes"]
    manifest = [json.loads(line) for line in open(work + "/ours/manifest.jsonl")]
    spec = {"sentence": tf.io.FixedLenFeature([DIMS], tf.float32), "label": tf.io.FixedLenFeature([len(LABELS)], tf.int64)}
    seen, wrong, counts = [], [], {}
    for path in sorted(glob.glob(work + "/ours/*.tfrecord.gz")):
        rows = list(tf.data.TFRecordDataset(path, compression_type="GZIP"))
        counts[os.path.basename(path)] = len(rows)
        for record in rows:
            row = tf.io.parse_single_example(record, spec)
            nth = int(row["sentence"][0])
            one_hot = [int(name == LABELS[nth % 3]) for name in names]
            if row["label"].numpy().tolist() != one_hot or row["sentence"].numpy().tolist() != [nth + 0.25] * DIMS:
                wrong.append((path, row))
            seen.append(nth)
            example = tf.train.Example.FromString(record.numpy())
            if example.ByteSize() != len(record.numpy()):
                wrong.append((path, "longer than protobuf's own encoding"))
    ok(sorted(seen) == list(range(TEXTS)) and not wrong, "tf.data reads kiln prep's shards: each text once, its own values",
       wrong[:1])
    ok(counts == {row["key"]: row["records"] for row in manifest}, "and as many a shard as the manifest says", (counts, manifest))


work = tempfile.mkdtemp(prefix="kiln-interop-")
try:
    check_theirs(work)
    check_ours(work)
finally:
    shutil.rmtree(work)
sys.exit(end())
