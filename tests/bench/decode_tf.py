# SPDX-License-Identifier: Apache-2.0
"""tf.data and the decoder on the same shard and core, in turns, both by their CPU time: checks the values, then prints the
decoder's JSON lines with medians over the turns, the local file's beside tf.data's.

Usage: decode_tf.py DECODER SHARD RECORDS
"""
import json
import os
import statistics
import subprocess
import sys
import time

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import tensorflow as tf

ROUNDS = 7
decoder, shard, records = sys.argv[1], sys.argv[2], int(sys.argv[3])
passes = -(-60000 // records)  # a small shard is read several times
schema = {"sentence": tf.io.FixedLenFeature([512], tf.float32), "label": tf.io.FixedLenFeature([2], tf.int64)}


def ours():
    told = subprocess.run([decoder, shard, str(records)], check=True, capture_output=True, text=True).stdout
    return [json.loads(line) for line in told.splitlines()]


def theirs():
    rows, start = 0, time.process_time()
    for batch in batches:
        rows += batch["label"].shape[0]
    assert rows == records * passes, rows
    return rows / (time.process_time() - start)


lines = [ours()]
batches = tf.data.TFRecordDataset([shard] * passes).batch(128).map(lambda batch: tf.io.parse_example(batch, schema))
first = next(iter(batches))
assert all(abs(float(first["sentence"][1][i]) - ((31 + i * 7) % 2003 / 2003 - 0.5)) < 1e-6 for i in range(512))
assert first["label"][1].numpy().tolist() == [1, 0]
theirs()
peer = []
for _ in range(ROUNDS):
    lines.append(ours())
    peer.append(theirs())
for line, *others in zip(*lines):
    line["value"] = statistics.median(other["value"] for other in others)
    if "peer" in line:
        line["peer_value"] = statistics.median(other["peer_value"] for other in others)
        line["ratio"] = round(statistics.median(other["ratio"] for other in others), 3)
    else:
        rate = statistics.median(peer)
        line.update(peer="tf.data", peer_value=round(rate), ratio=round(line["value"] / rate, 2))
    print(json.dumps(line))
