# SPDX-License-Identifier: Apache-2.0
"""tf.data on the shard that decode left, on one core: checks the values, then prints one JSON line with both rates.

Usage: decode_tf.py SHARD LINES   (LINES: what decode printed)
"""
import json
import os
import statistics
import sys
import time

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import tensorflow as tf

ROUNDS = 5
schema = {"sentence": tf.io.FixedLenFeature([512], tf.float32), "label": tf.io.FixedLenFeature([2], tf.int64)}
batches = tf.data.TFRecordDataset(sys.argv[1]).batch(128).map(lambda batch: tf.io.parse_example(batch, schema))


def run():
    rows, start = 0, time.monotonic()
    for batch in batches:
        rows += batch["label"].shape[0]
    return rows, time.monotonic() - start


first = next(iter(batches))
assert all(abs(float(first["sentence"][1][i]) - ((31 + i * 7) % 2003 / 2003 - 0.5)) < 1e-6 for i in range(512))
assert first["label"][1].numpy().tolist() == [1, 0]
run()
peer = statistics.median(rows / seconds for rows, seconds in (run() for _ in range(ROUNDS)))
kiln = next(line["value"] for line in map(json.loads, sys.argv[2].splitlines()) if line["unit"] == "records/s")
print(json.dumps({"name": "decode", "case": "512 floats, both CRCs, one core: records", "value": kiln,
                  "unit": "records/s", "peer": "tf.data", "peer_value": round(peer), "ratio": round(kiln / peer, 2)}))
