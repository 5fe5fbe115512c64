# SPDX-License-Identifier: Apache-2.0
"""How well epochs are mixed, Kiln's and tf.data's from a buffer of the same memory: JSON lines, medians over the epochs,
ratio > 1 where Kiln is better. Each epoch is first seen to hold every record once.

Usage: shuffle_quality.py shards FOLDER    |    figures FOLDER EPOCHS EXACT FAST    (of fetch_reader --columns)
"""
import glob
import json
import os
import statistics
import sys

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import numpy as np
import tensorflow as tf

SHARDS, RECORDS, LABELS, WINDOW = 128, 500, 10, 4
TOTAL = SHARDS * RECORDS
BUFFER = 2 * WINDOW * RECORDS  # Kiln holds the window in use and the next one


def write_shards(folder):
    os.mkdir(folder)
    for s in range(SHARDS):
        with tf.io.TFRecordWriter(f"{folder}/train-{s:05d}.tfrecord") as writer:
            for i in range(s * RECORDS, (s + 1) * RECORDS):
                place = tf.train.Feature(float_list=tf.train.FloatList(value=[i]))
                label = tf.train.Feature(int64_list=tf.train.Int64List(value=[1, 0]))
                features = tf.train.Features(feature={"sentence": place, "label": label})
                writer.write(tf.train.Example(features=features).SerializeToString())


# ---- Epochs: the records' places in the store, as they come ----

def kiln(path):
    epochs = [[]]
    for line in map(str.split, open(path)):
        if line[:2] == ["COLUMN", "sentence"]:
            epochs[-1].append(np.frombuffer(bytes.fromhex(line[3]), "<f4").astype(np.int64))
        elif line[0] == "END_SEGMENT":
            epochs.append([])
    return [np.concatenate(epoch) for epoch in epochs if epoch]


def tf_data(folder, epochs):
    names = sorted(glob.glob(folder + "/*"))
    files = tf.data.Dataset.from_tensor_slices(names).shuffle(SHARDS, seed=1)
    records = files.interleave(tf.data.TFRecordDataset, cycle_length=WINDOW)
    schema = {"sentence": tf.io.FixedLenFeature([], tf.float32)}
    mixed = records.shuffle(BUFFER, seed=2).batch(100).map(lambda batch: tf.io.parse_example(batch, schema)["sentence"])
    return [np.concatenate(list(mixed.as_numpy_iterator())).astype(np.int64) for _ in range(epochs)]


# ---- Measures of an epoch ----

def displacement(places):
    """Distance from where a record is stored to where it comes, as a share of the epoch: 1/3 if every order is equally
    likely."""
    return np.abs(places - np.arange(TOTAL)).mean() / TOTAL


def separation(places):
    """Distance between two records stored side by side: 1/3."""
    comes = np.empty(TOTAL, np.int64)
    comes[places] = np.arange(TOTAL)
    return np.abs(np.diff(comes)).mean() / TOTAL


def label_run(places):
    """Length of a run of records with one label: 10/9."""
    return TOTAL / (1 + np.count_nonzero(np.diff(places * LABELS // TOTAL)))


def batch_labels(places):
    """Number of the 10 labels in 100 consecutive records."""
    return np.mean([len(set(batch)) for batch in (places * LABELS // TOTAL).reshape(-1, 100)])


MEASURES = [("mean displacement", "of the epoch", displacement, True),
            ("mean distance of neighbours", "of the epoch", separation, True),
            ("mean label run", "records", label_run, False),
            ("labels in 100 records", "labels", batch_labels, True)]


def figures(folder, epochs, exact, fast):
    theirs = tf_data(folder, epochs)
    ours = {"exact": kiln(exact), "fast": kiln(fast)}
    for runs in (theirs, *ours.values()):
        assert len(runs) == epochs
        assert all(np.array_equal(np.sort(places), np.arange(TOTAL)) for places in runs)
    for what, unit, measure, more_is_better in MEASURES:
        peer = statistics.median(map(measure, theirs))
        for mode, runs in ours.items():
            value = statistics.median(map(measure, runs))
            ratio = value / peer if more_is_better else peer / value
            print(json.dumps({"name": "shuffle-quality", "case": f"{what}, {mode}", "value": round(float(value), 4), "unit": unit,
                              "peer": "tf.data", "peer_value": round(float(peer), 4), "ratio": round(float(ratio), 3)}))


if sys.argv[1] == "shards":
    write_shards(sys.argv[2])
else:
    figures(sys.argv[2], int(sys.argv[3]), *sys.argv[4:])
