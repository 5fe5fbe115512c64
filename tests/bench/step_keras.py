#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Keras fit on the article's network beside Kiln's step: rounds of both alternate, medians, one JSON line.

Usage: step_keras.py PATH-OF-STEP   (in the virtual environment of tests/interop)
"""
import json
import os
import statistics
import subprocess
import sys
import time

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["CUDA_VISIBLE_DEVICES"] = "-1"

import numpy  # noqa: E402
import tensorflow  # noqa: E402

ROUNDS, STEPS, ROWS, INPUTS = 5, 300, 128, 512


def network():
    layers = tensorflow.keras.layers
    model = tensorflow.keras.Sequential([
        tensorflow.keras.Input((INPUTS,)),
        layers.Dense(256, activation="relu"),
        layers.Dropout(0.2),
        layers.Dense(16, activation="relu"),
        layers.Dropout(0.2),
        layers.Dense(2, activation="softmax"),
    ])
    model.compile(optimizer="adam", loss="categorical_crossentropy", metrics=["accuracy"])
    return model


def keras_us(model, x, y):
    start = time.perf_counter()
    model.fit(x, y, batch_size=ROWS, epochs=1, shuffle=False, verbose=0)
    return (time.perf_counter() - start) / STEPS * 1e6


def kiln_us(step):
    out = subprocess.run([step, "3", str(STEPS)], check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    return json.loads(out.stdout.splitlines()[0])["value"]


def main():
    random = numpy.random.default_rng(44)
    x = random.uniform(-1, 1, (STEPS * ROWS, INPUTS)).astype(numpy.float32)
    y = numpy.eye(2, dtype=numpy.float32)[(x.sum(axis=1) > 0).astype(int)]
    model = network()
    keras_us(model, x, y)  # traces and warms up
    ours, theirs = [], []
    for _ in range(ROUNDS):
        ours.append(kiln_us(sys.argv[1]))
        theirs.append(keras_us(model, x, y))
    value, peer = statistics.median(ours), statistics.median(theirs)
    print(json.dumps({"name": "step", "case": "512-256-16-2, batch 128", "value": round(value, 1), "unit": "us",
                      "peer": "keras-" + tensorflow.keras.__version__, "peer_value": round(peer, 1),
                      "ratio": round(peer / value, 3)}))


main()
