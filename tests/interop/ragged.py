# SPDX-License-Identifier: Apache-2.0
"""Reads Examples as users of tf.data have them, through fetchd into the ring: ragged numbers, byte strings, single and
missing values; plain, GZIP and ZLIB files in one run. Compares every value with tf.io.parse_example's; records are
identified by their id."""
import os
import random
import shutil
import struct
import subprocess
import sys
import tempfile

import tensorflow as tf

from lib.tap import BIN, BUILD, end, ok

RECORDS, VALUES_MAX, BYTES_MAX = 900, 40, 32
# The first shard has no longer records: `kiln-oneshot begin` looks at its first ones, and refuses what does not fit.
SHORT_MAX = 20
SPEC = {
    "id": tf.io.FixedLenFeature([], tf.int64),
    "sentence": tf.io.FixedLenFeature([4], tf.float32),
    "label": tf.io.FixedLenFeature([2], tf.int64),
    "weight": tf.io.FixedLenFeature([], tf.float32, default_value=0.5),
    "text": tf.io.FixedLenFeature([], tf.string),
    "floats": tf.io.RaggedFeature(tf.float32),
    "tokens": tf.io.RaggedFeature(tf.int64),
}
CONF = """
run: { name = "t"; epochs = 1; batch_rows = 64; };
source: { url = "file://%(data)s"; };
sink: { url = "file://%(work)s/runs/%(name)s"; };
split: { validation_percent = 0; test_glob = ""; };
fetch: { decode_workers = 3; bad_record = "%(policy)s"; skip_records_max = 1000; };
order: { window_shards = 4; };
ring: { small_pages = true; };
schema = (
  { name = "id"; dtype = "int64"; },
  { name = "tokens"; dtype = "int64"; values_max = %(values_max)d; overflow = "%(overflow)s"; },
  { name = "sentence"; dtype = "float32"; shape = [ 4 ]; },
  { name = "text"; dtype = "bytes"; bytes_max = %(bytes_max)d; overflow = "%(overflow)s"; },
  { name = "floats"; dtype = "float32"; values_max = %(values_max)d; overflow = "%(overflow)s"; },
  { name = "weight"; dtype = "float32"; missing = "default"; fill = 0.5; },
  { name = "label"; dtype = "int64"; shape = [ 2 ]; }
);
model: { layers = ( { op = "dense"; units = 2; }, { op = "softmax"; } ); };
"""


def example(rng, i, values_max):
    floats = tf.train.FloatList(value=[rng.uniform(-1e3, 1e3) for _ in range(rng.randrange(values_max + 1))])
    tokens = tf.train.Int64List(value=[rng.choice((0, -1, 2**62, rng.getrandbits(20))) for _ in range(rng.randrange(values_max + 1))])
    feature = {
        "id": tf.train.Feature(int64_list=tf.train.Int64List(value=[i])),
        "sentence": tf.train.Feature(float_list=tf.train.FloatList(value=[rng.random() for _ in range(4)])),
        "label": tf.train.Feature(int64_list=tf.train.Int64List(value=[i % 2, 1 - i % 2])),
        "text": tf.train.Feature(bytes_list=tf.train.BytesList(value=[rng.randbytes(rng.randrange(BYTES_MAX + 1))])),
        "floats": tf.train.Feature(float_list=floats),
        "tokens": tf.train.Feature(int64_list=tokens),
        "weight": tf.train.Feature(float_list=tf.train.FloatList(value=[i / 7])),
        "not in the schema": tf.train.Feature(bytes_list=tf.train.BytesList(value=[b"x" * 20])),
    }
    for name in ("floats", "tokens", "weight"):
        if rng.random() < 0.1:
            del feature[name]
        elif rng.random() < 0.1:
            feature[name] = tf.train.Feature()
    return tf.train.Example(features=tf.train.Features(feature=feature)).SerializeToString()


def write(folder):
    rng, records, kinds = random.Random(44), [], ("", "GZIP", "ZLIB")
    os.makedirs(folder)
    for shard in range(6):
        options = tf.io.TFRecordOptions(compression_type=kinds[shard % 3])
        with tf.io.TFRecordWriter(f"{folder}/train-{shard}", options) as writer:
            for _ in range(RECORDS // 6):
                records.append(example(rng, len(records), VALUES_MAX if shard else SHORT_MAX))
                writer.write(records[-1])
    return records


def expected(records):
    parsed = tf.io.parse_example(tf.constant(records), SPEC)
    return {
        "text": parsed["text"].numpy().tolist(),
        "floats": parsed["floats"].to_list(),
        "tokens": parsed["tokens"].to_list(),
        **{name: parsed[name].numpy().tolist() for name in ("sentence", "label", "weight")},
    }


def values(raw, code):
    return list(struct.unpack(f"<{len(raw) // struct.calcsize(code)}{code}", raw))


def ragged(columns, name, code):
    splits, flat = values(columns[name + "/splits"], "q"), values(columns[name + "/values"], code)
    assert splits[0] == 0 and splits[-1] == len(flat) and splits == sorted(splits), (name, splits, len(flat))
    return [flat[a:b] for a, b in zip(splits, splits[1:])]


def chunks(flat, size):
    return [flat[i:i + size] for i in range(0, len(flat), size)]


def texts(raw, bytes_max):
    rows = chunks(raw, 4 + (bytes_max + 3) // 4 * 4)
    return [row[4:4 + struct.unpack("<I", row[:4])[0]] for row in rows]


def run(work, name, reader, **settings):
    """Runs a node; the reader is fetch_reader or kiln-traind. Returns (its exit status, its output, fetchd's log)."""
    env = dict(os.environ, KILN_ROOT=f"{work}/{name}")
    settings = {"policy": "stop", "overflow": "error", "values_max": VALUES_MAX, "bytes_max": BYTES_MAX, **settings}
    os.makedirs(f"{work}/{name}")
    with open(f"{work}/{name}.conf", "w") as conf:
        conf.write(CONF % dict(settings, work=work, name=name, data=work + "/data"))
    subprocess.run([BIN + "/kiln-oneshot", "begin", "--config", f"{work}/{name}.conf"], env=env, check=True,
                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    with open(f"{work}/{name}.log", "w+") as log:
        fetchd = subprocess.Popen([BIN + "/kiln-fetchd"], env=env, stderr=log)
        try:
            told = subprocess.run(reader, env=env, capture_output=True, text=True, timeout=300)
        finally:
            fetchd.kill()
            fetchd.wait()
            subprocess.run([BIN + "/kiln-oneshot", "release"], env=env, check=False)
        log.seek(0)
        return told.returncode, told.stdout + (told.stderr if reader[0].startswith(BIN) else ""), log.read()


def batches(output):
    for line in output.splitlines():
        word, *rest = line.split(" ")
        if word == "DATA":
            columns = {}
            yield columns
        elif word == "COLUMN":
            columns[rest[0]] = bytes.fromhex(rest[2])


def rows(output, bytes_max=BYTES_MAX):
    """{id: {name: value}} of every row that is not empty."""
    found = {}
    for columns in list(batches(output)):
        named = {
            "text": texts(columns["text"], bytes_max),
            "floats": ragged(columns, "floats", "f"),
            "tokens": ragged(columns, "tokens", "q"),
            "weight": values(columns["weight"], "f"),
            "sentence": chunks(values(columns["sentence"], "f"), 4),
            "label": chunks(values(columns["label"], "q"), 2),
        }
        for row, (nth, empty) in enumerate(zip(values(columns["id"], "q"), columns["empty"])):
            if not empty:
                assert nth not in found, nth
                found[nth] = {name: column[row] for name, column in named.items()}
    return found


def compare(found, wanted, ids, cut=None):
    for i in ids:
        for name in wanted:
            want = wanted[name][i]
            want = want[:cut] if cut is not None and name in ("floats", "tokens", "text") else want
            if found.get(i, {}).get(name) != want:
                return f"record {i}, {name}: found {found.get(i, {}).get(name)}, expected {want}"
    return "" if len(found) == len(ids) else f"{len(found)} records, expected {len(ids)}"


READER = [BUILD + "/system/fetch_reader", "--columns"]
work = tempfile.mkdtemp(prefix="kiln-ragged-")
try:
    wanted = expected(write(work + "/data"))
    everything = range(RECORDS)

    status, output, log = run(work, "whole", READER)
    wrong = compare(rows(output), wanted, everything)
    ok(status == 0 and not wrong, f"{RECORDS} records of files plain, GZIP and ZLIB: every value as parse_example's", wrong or log)

    status, output, log = run(work, "cut", READER, overflow="truncate", values_max=7, bytes_max=7)
    wrong = compare(rows(output, 7), wanted, everything, cut=7)
    ok(status == 0 and not wrong, "overflow \"truncate\": the first values of each", wrong or log)

    short = [i for i in everything if all(len(wanted[name][i]) <= SHORT_MAX for name in ("floats", "tokens"))]
    status, output, log = run(work, "skipped", READER, policy="skip", values_max=SHORT_MAX)
    wrong = compare(rows(output), wanted, short)
    ok(status == 0 and not wrong and len(short) < RECORDS, "overflow \"error\" with bad records skipped: the others", wrong or log)

    status, output, log = run(work, "stopped", READER, values_max=SHORT_MAX)
    error = output.splitlines()[-1]
    ok("ERROR" in error and "train-" in error and "record at byte" in error and f"values, at most {SHORT_MAX}" in error,
       "overflow \"error\" names the record", error)

    status, output, log = run(work, "trained", [BIN + "/kiln-traind"])
    ok(status == 0, "kiln-traind passes over the columns that its model does not use", output + log)
finally:
    shutil.rmtree(work)
sys.exit(end())
