# SPDX-License-Identifier: Apache-2.0
"""A table like that of an ad server: 13 numbers, 26 categories, a label. And the peer of `kiln prep` on it.

Usage: prep_csv.py make FILE MEGABYTES
       prep_csv.py peer FILE FOLDER         pyarrow's reader of CSV, tf.train.Example, TFRecordWriter with gzip
"""
import random
import sys

NUMBERS = [f"n{i}" for i in range(13)]
CATEGORIES = [f"c{i}" for i in range(26)]
SHARDS = 20


def make(path, megabytes):
    rng = random.Random(1)
    sizes = [int(10 * 1.25 ** i) for i in range(len(CATEGORIES))]

    def row():
        numbers = ["" if rng.random() < 0.1 else f"{rng.gauss(0, 100):.3f}" for _ in NUMBERS]
        texts = [f"{rng.randrange(size):06x}" for size in sizes]
        return ",".join(numbers + texts + [str(int(rng.random() < 0.3))]) + "\n"

    # The rows repeat after 50 000: making them is slow, and neither side notices.
    block = "".join(row() for _ in range(50000)).encode()
    left = megabytes * 1000000
    with open(path, "wb") as file:
        file.write((",".join(NUMBERS + CATEGORIES + ["label"]) + "\n").encode())
        while left > 0:
            piece = block if left >= len(block) else block[:block.rindex(b"\n", 0, left) + 1] if left > 300 else b""
            if not piece:
                break
            file.write(piece)
            left -= len(piece)


def peer(path, folder):
    """Two passes, as categories need: vocabularies and means, then records. Without a shuffle, which Kiln does."""
    import pyarrow
    import pyarrow.compute as compute
    import pyarrow.csv as csv
    import tensorflow as tf

    types = {**{n: pyarrow.float32() for n in NUMBERS}, **{c: pyarrow.string() for c in CATEGORIES}, "label": pyarrow.int64()}
    convert = csv.ConvertOptions(column_types=types)
    vocabulary, sums, counts = {c: set() for c in CATEGORIES}, dict.fromkeys(NUMBERS, 0.0), dict.fromkeys(NUMBERS, 0)
    for batch in csv.open_csv(path, convert_options=convert):
        for c in CATEGORIES:
            vocabulary[c].update(compute.unique(batch.column(c)).to_pylist())
        for n in NUMBERS:
            sums[n] += compute.sum(batch.column(n)).as_py() or 0
            counts[n] += len(batch) - batch.column(n).null_count
    ids = {c: {text: i + 1 for i, text in enumerate(sorted(vocabulary[c]))} for c in CATEGORIES}
    means = {n: sums[n] / max(counts[n], 1) for n in NUMBERS}
    writers = [tf.io.TFRecordWriter(f"{folder}/train-{i:05d}-of-{SHARDS:05d}.tfrecord.gz", "GZIP") for i in range(SHARDS)]
    rows = 0
    for batch in csv.open_csv(path, convert_options=convert):
        columns = {n: batch.column(n).fill_null(means[n]).to_pylist() for n in NUMBERS}
        texts = {c: [ids[c][t] for t in batch.column(c).to_pylist()] for c in CATEGORIES}
        labels = batch.column("label").to_pylist()
        for i in range(len(batch)):
            feature = {"numbers": tf.train.Feature(float_list=tf.train.FloatList(value=[columns[n][i] for n in NUMBERS])),
                       "label": tf.train.Feature(int64_list=tf.train.Int64List(value=[labels[i]]))}
            for c in CATEGORIES:
                feature[c] = tf.train.Feature(int64_list=tf.train.Int64List(value=[texts[c][i]]))
            writers[rows % SHARDS].write(tf.train.Example(features=tf.train.Features(feature=feature)).SerializeToString())
            rows += 1
    for writer in writers:
        writer.close()
    print(rows)


if __name__ == "__main__":
    make(sys.argv[2], int(sys.argv[3])) if sys.argv[1] == "make" else peer(sys.argv[2], sys.argv[3])
