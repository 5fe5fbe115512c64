# SPDX-License-Identifier: Apache-2.0
"""Trains the article's network from prepared shards in an S3 server, until the evaluation, checkpoints and curves are in the
bucket. Compares Kiln's three daemons with the article's program (tf.data and Keras) on the same server, shards, network
and batch. Prints wall time and CPU-seconds from process start until everything is in the bucket, as medians in JSON
lines; a ratio > 1 means that Kiln is better. Every round checks the files that both leave in the bucket, and their test
accuracies.

Usage: article.py WORK CONFIG       S3 server in the environment; WORK is a scratch folder; CONFIG's run is timed
       article.py keras SHARDS OUTPUT EPOCHS CLASSES [OPTIMIZER RATE]       (the peer: a process of its own)
       KILN_BENCH_ROUNDS: how many rounds (5), interleaved
"""
import os
import sys

import nights

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["CUDA_VISIBLE_DEVICES"] = "-1"
ROUNDS, EPOCHS, ROWS, INPUTS = int(os.environ.get("KILN_BENCH_ROUNDS", 5)), 10, 128, 512


def keras(shards, output, epochs, classes, optimizer="adam", rate=0.001):
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

    model = keras_network(INPUTS, (256, 16, classes), optimizer=tf.keras.optimizers.get({"class_name": optimizer,
                                                                                         "config": {"learning_rate": rate}}))
    model.fit(rows("train", True), epochs=epochs, verbose=0, callbacks=nights.keras_callbacks(output))
    print(model.evaluate(rows("test", False), verbose=0)[1], "keras-" + tf.keras.__version__, flush=True)
    os._exit(0)  # the S3 file system aborts in its destructor


def main():
    if sys.argv[1] == "keras":
        return keras(sys.argv[2], sys.argv[3], int(sys.argv[4]), int(sys.argv[5]), *sys.argv[6:7], *map(float, sys.argv[7:]))
    node, config = sys.argv[1] + "/node", sys.argv[2]
    first = nights.kiln_night(node, config, EPOCHS)
    ours, theirs = [], []
    for number in range(ROUNDS):
        prefix = f"keras/{number}"
        ours.append(nights.kiln_night(node, config, EPOCHS))
        theirs.append(nights.peer_night([sys.executable, __file__, "keras", f"s3://{nights.BUCKET}/data",
                                         f"s3://{nights.BUCKET}/{prefix}", str(EPOCHS), os.environ["KILN_BENCH_CLASSES"]],
                                        prefix, EPOCHS))
        assert abs(ours[-1][2] - theirs[-1][2]) < 0.02, ("test accuracies", ours[-1][2], theirs[-1][2])
    nights.compare("article-e2e", ours, theirs, first)


main()
