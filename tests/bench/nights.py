# SPDX-License-Identifier: Apache-2.0
"""Whole nights for the benchmarks from an S3 server to the results in it: Kiln's three daemons, and a peer's program. Both
are timed from process start until everything is in the bucket. The server is that of the environment."""
import json
import os
import resource
import statistics
import subprocess
import time

BIN, BUCKET = os.environ["KILN_BIN"], os.environ["KILN_S3_BUCKET"]


def timed(command, **environment):
    """Seconds and CPU-seconds of a command with all its descendants, and what it printed."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    out = subprocess.run(command, check=True, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                         env={**os.environ, **environment}).stdout
    wall, after = time.monotonic() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, out


def bucket():
    import boto3
    return boto3.client("s3", endpoint_url=os.environ["KILN_S3_ENDPOINT"], region_name="us-east-1")


def objects(prefix):
    pages = bucket().get_paginator("list_objects_v2").paginate(Bucket=BUCKET, Prefix=prefix)
    return {item["Key"][len(prefix):]: item["Size"] for page in pages for item in page.get("Contents", [])}


def kiln_night(node, config, epochs):
    """The folder of a node stays from one night to the next, as on a box, and with it the compiled kernels. Returns wall,
    CPU-seconds, test accuracy."""
    os.makedirs(node, exist_ok=True)
    wall, cpu, _ = timed(["tools/night", BIN, config], KILN_ROOT=node)
    run = open(node + "/run/kiln/night/run-id").read().strip()
    record = json.load(bucket().get_object(Bucket=BUCKET, Key=f"runs/{run}/run.json")["Body"])
    assert record["state"] == "finished" and len(record["epochs"]) == epochs, record
    left = objects(f"runs/{run}/")
    last = f"checkpoints/ckpt-{record['epochs'][-1]['step']:012}.safetensors"
    for name in (last, "checkpoints/latest.json", "run.json", "model/model.safetensors"):
        assert left.get(name), (name, sorted(left))
    assert any(name.startswith("logs/train/events") for name in left), sorted(left)
    return wall, cpu, record["metrics"]["test"]["accuracy"]


def peer_night(command, prefix, epochs):
    """`command` leaves a checkpoint for each epoch and its curves below `prefix`, and prints its test accuracy and its
    version. Returns wall, CPU-seconds, test accuracy, version."""
    wall, cpu, out = timed(command, S3_ENDPOINT=os.environ["KILN_S3_ENDPOINT"], AWS_REGION="us-east-1")
    accuracy, version = out.split()
    left = objects(prefix + "/")
    assert left.get(f"checkpoints/{epochs - 1:04}.keras") and any(name.startswith("logs/train/events") for name in left), left
    return wall, cpu, float(accuracy), version


def keras_callbacks(output):
    """ModelCheckpoint writes to disk; a copy goes to the bucket at the end of each epoch, as with Kiln. And TensorBoard."""
    import tensorflow as tf

    class Upload(tf.keras.callbacks.Callback):
        def on_epoch_end(self, epoch, logs=None):
            path = f"/dev/shm/kiln-article-{os.getpid()}.keras"
            self.model.save(path)
            tf.io.gfile.copy(path, f"{output}/checkpoints/{epoch:04}.keras")
            os.unlink(path)

    return [Upload(), tf.keras.callbacks.TensorBoard(f"{output}/logs", histogram_freq=1)]


def compare(name, ours, theirs, first):
    """Medians of nights as JSON lines; the wall of a box's first night, which compiles the kernels."""
    for case, unit, column in (("wall", "s", 0), ("CPU", "CPU-s", 1), ("test accuracy", "fraction", 2)):
        value, peer_value = (statistics.median(night[column] for night in nights) for nights in (ours, theirs))
        ratio = value / peer_value if unit == "fraction" else peer_value / value
        print(json.dumps({"name": name, "case": case, "value": float(f"{value:.4g}"), "unit": unit, "peer": theirs[-1][3],
                          "peer_value": float(f"{peer_value:.4g}"), "ratio": round(ratio, 3)}), flush=True)
    print(json.dumps({"name": name, "case": "wall of a box's first night, which compiles the kernels",
                      "value": float(f"{first[0]:.4g}"), "unit": "s"}))
