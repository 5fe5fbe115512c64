# SPDX-License-Identifier: Apache-2.0
"""Trains the article's network from prepared shards in an S3 server, until the evaluation, checkpoints and curves are in the
bucket. Compares Kiln's three daemons with the article's program (tf.data and Keras) on the same server, shards, network
and batch. Prints wall time and CPU-seconds from process start until everything is in the bucket, as medians in JSON
lines; a ratio > 1 means that Kiln is better. Every round checks the files that both leave in the bucket, and their test
accuracies.

Usage: article.py WORK CONFIG       S3 server in the environment; WORK is a scratch folder; CONFIG's run is timed
       article.py keras SHARDS OUTPUT EPOCHS CLASSES       (the peer: a process of its own)
       KILN_BENCH_ROUNDS: how many rounds (5), interleaved
"""
import json
import os
import resource
import statistics
import subprocess
import sys
import time

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["CUDA_VISIBLE_DEVICES"] = "-1"
ROUNDS, EPOCHS, ROWS, INPUTS = int(os.environ.get("KILN_BENCH_ROUNDS", 5)), 10, 128, 512
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


# ---- Kiln ----

def kiln_night(node, config):
    """The folder of a node stays from one night to the next, as on a box, and with it the compiled kernels."""
    os.makedirs(node, exist_ok=True)
    wall, cpu, _ = timed(["tools/night", BIN, config], KILN_ROOT=node)
    run = open(node + "/run/kiln/night/run-id").read().strip()
    record = json.load(bucket().get_object(Bucket=BUCKET, Key=f"runs/{run}/run.json")["Body"])
    assert record["state"] == "finished" and len(record["epochs"]) == EPOCHS, record
    left = objects(f"runs/{run}/")
    last = f"checkpoints/ckpt-{record['epochs'][-1]['step']:012}.safetensors"
    for name in (last, "checkpoints/latest.json", "run.json", "model/model.safetensors"):
        assert left.get(name), (name, sorted(left))
    assert any(name.startswith("logs/train/events") for name in left), sorted(left)
    return wall, cpu, record["metrics"]["test"]["accuracy"]


# ---- The peer ----

def keras(shards, output, epochs, classes):
    import tensorflow as tf
    import tensorflow_io  # noqa: F401  registers the file system
    from peer import keras_network
    auto = tf.data.AUTOTUNE
    features = {"sentence": tf.io.FixedLenFeature([INPUTS], tf.float32), "label": tf.io.FixedLenFeature([classes], tf.int64)}

    def rows(split, shuffle):
        names = sorted(tf.io.gfile.glob(f"{shards}/{split}-*"))
        files = tf.data.Dataset.from_tensor_slices(names)
        files = files.shuffle(len(names)) if shuffle else files
        records = files.interleave(lambda name: tf.data.TFRecordDataset(name, compression_type="GZIP"), num_parallel_calls=auto)
        records = records.shuffle(4096) if shuffle else records
        return (records.batch(ROWS).map(lambda batch: tf.io.parse_example(batch, features), num_parallel_calls=auto)
                .map(lambda row: (row["sentence"], row["label"])).prefetch(auto))

    class Upload(tf.keras.callbacks.Callback):
        """ModelCheckpoint writes to disk; a copy goes to the bucket at the end of each epoch, as with Kiln."""

        def on_epoch_end(self, epoch, logs=None):
            path = f"/dev/shm/kiln-article-{os.getpid()}.keras"
            self.model.save(path)
            tf.io.gfile.copy(path, f"{output}/checkpoints/{epoch:04}.keras")
            os.unlink(path)

    model = keras_network(INPUTS, (256, 16, classes))
    model.fit(rows("train", True), epochs=epochs, verbose=0,
              callbacks=[Upload(), tf.keras.callbacks.TensorBoard(f"{output}/logs", histogram_freq=1)])
    print(model.evaluate(rows("test", False), verbose=0)[1], tf.keras.__version__, flush=True)
    os._exit(0)  # the S3 file system aborts in its destructor


def keras_night(number, classes):
    output = f"s3://{BUCKET}/keras/{number}"
    wall, cpu, out = timed([sys.executable, __file__, "keras", f"s3://{BUCKET}/data", output, str(EPOCHS), str(classes)],
                           S3_ENDPOINT=os.environ["KILN_S3_ENDPOINT"], AWS_REGION="us-east-1")
    accuracy, version = out.split()
    left = objects(f"keras/{number}/")
    assert left.get(f"checkpoints/{EPOCHS - 1:04}.keras") and any(name.startswith("logs/train/events") for name in left), left
    return wall, cpu, float(accuracy), "keras-" + version


# ---- The benchmark ----

def main():
    if sys.argv[1] == "keras":
        return keras(sys.argv[2], sys.argv[3], int(sys.argv[4]), int(sys.argv[5]))
    node, config = sys.argv[1] + "/node", sys.argv[2]
    classes = int(os.environ["KILN_BENCH_CLASSES"])
    first = kiln_night(node, config)
    ours, theirs = [], []
    for number in range(ROUNDS):
        ours.append(kiln_night(node, config))
        theirs.append(keras_night(number, classes))
        peer = theirs[-1][3]
        assert abs(ours[-1][2] - theirs[-1][2]) < 0.02, ("test accuracies", ours[-1][2], theirs[-1][2])
    for case, unit, column in (("wall", "s", 0), ("CPU", "CPU-s", 1), ("test accuracy", "fraction", 2)):
        value, peer_value = (statistics.median(night[column] for night in nights) for nights in (ours, theirs))
        ratio = value / peer_value if unit == "fraction" else peer_value / value
        print(json.dumps({"name": "article-e2e", "case": case, "value": float(f"{value:.4g}"), "unit": unit, "peer": peer,
                          "peer_value": float(f"{peer_value:.4g}"), "ratio": round(ratio, 3)}), flush=True)
    print(json.dumps({"name": "article-e2e", "case": "wall of a box's first night, which compiles the kernels",
                      "value": float(f"{first[0]:.4g}"), "unit": "s"}))


main()
