# SPDX-License-Identifier: Apache-2.0
"""Trains a small convolutional network on pictures in class folders of an S3 server, changed at random, until the evaluation,
checkpoints and curves are in the bucket. Compares Kiln's three daemons with the program of the article: tf.data (list_files,
decode, resize, flip, shear, zoom, rescale, prefetch) and Keras, on the same server, pictures, network and batch. The peer
keeps the decoded pictures in memory: TensorFlow's S3 file system opens single objects slowly. Every round
checks the files that both leave in the bucket. The accuracies of a few hundred test pictures vary by a point and more from
seed to seed, so the means of all rounds are compared.

Usage: pictures_e2e.py WORK CONFIG       S3 server in the environment; WORK is a scratch folder; CONFIG's run is timed
       pictures_e2e.py keras PICTURES OUTPUT EPOCHS SEED       (the peer: a process of its own)
       KILN_BENCH_ROUNDS: how many rounds (3), interleaved, each with a seed of its own
"""
import os
import re
import statistics
import sys

import nights

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["CUDA_VISIBLE_DEVICES"] = "-1"
ROUNDS, EPOCHS, ROWS, SIDE = int(os.environ.get("KILN_BENCH_ROUNDS", 3)), int(os.environ.get("KILN_BENCH_EPOCHS", 10)), 32, 128


def network(classes):
    """The layers of config/examples/pictures-s3.conf behind those that change pictures."""
    import keras
    layers = keras.layers
    model = keras.Sequential([layers.Input((SIDE, SIDE, 3))])
    for filters in (16, 32, 64):
        model.add(layers.Conv2D(filters, 3, activation="relu"))
        model.add(layers.MaxPooling2D())
    model.add(layers.Conv2D(64, 3, activation="relu"))
    model.add(layers.GlobalAveragePooling2D())
    model.add(layers.Dropout(0.2))
    model.add(layers.Dense(classes, activation="softmax"))
    model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
    return model


def keras_program(pictures, output, epochs, seed):
    import keras
    import tensorflow as tf
    import tensorflow_io  # noqa: F401  registers the file system
    auto = tf.data.AUTOTUNE
    keras.utils.set_random_seed(seed)
    names = sorted(name.rstrip("/") for name in tf.io.gfile.listdir(pictures + "/train"))
    changes = [keras.layers.RandomFlip("horizontal"), keras.layers.RandomShear(x_factor=0.1), keras.layers.RandomZoom(0.2)]

    def load(path):
        label = tf.argmax(tf.strings.split(path, "/")[-2] == names)
        return tf.image.resize(tf.io.decode_jpeg(tf.io.read_file(path), channels=3), [SIDE, SIDE]), label

    def change(batch, labels):
        for layer in changes:
            batch = layer(batch, training=True)
        return batch, labels

    def rows(split, training):
        data = tf.data.Dataset.list_files(f"{pictures}/{split}/*/*.jpg", shuffle=training)
        data = data.map(load, num_parallel_calls=auto).cache()
        data = data.shuffle(4096).batch(ROWS) if training else data.batch(ROWS)
        data = data.map(change, num_parallel_calls=auto) if training else data
        return data.map(lambda batch, labels: (batch / 255, labels), num_parallel_calls=auto).prefetch(auto)

    model = network(len(names))
    model.fit(rows("train", True), epochs=epochs, verbose=0, callbacks=nights.keras_callbacks(output))
    print(model.evaluate(rows("test", False), verbose=0)[1], "keras-" + keras.__version__, flush=True)
    os._exit(0)  # the S3 file system aborts in its destructor


def with_seed(config, seed):
    path = f"{config}.{seed}"
    with open(path, "w") as out:
        out.write(re.sub(r"seed = \d+", f"seed = {seed}", open(config).read()))
    return path


def main():
    if sys.argv[1] == "keras":
        return keras_program(sys.argv[2], sys.argv[3], int(sys.argv[4]), int(sys.argv[5]))
    node, config = sys.argv[1] + "/node", sys.argv[2]
    first = nights.kiln_night(node, config, EPOCHS)
    ours, theirs = [], []
    for seed in range(ROUNDS):
        prefix = f"keras/{seed}"
        ours.append(nights.kiln_night(node, with_seed(config, seed), EPOCHS))
        theirs.append(nights.peer_night([sys.executable, __file__, "keras", f"s3://{nights.BUCKET}/pictures",
                                         f"s3://{nights.BUCKET}/{prefix}", str(EPOCHS), str(seed)], prefix, EPOCHS))
        print(ours[-1], theirs[-1], file=sys.stderr, flush=True)
    means = [statistics.mean(night[2] for night in nights_) for nights_ in (ours, theirs)]
    nights.compare("pictures-e2e", ours, theirs, first)
    assert min(means) > 0.3, means  # the largest of five classes alone is 0.25
    assert means[0] > means[1] - 0.01, ("mean test accuracies", *means)


main()
