#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A training step of lstm(128), dense(2), softmax on 64 rows of 100 x 64: Keras's train_on_batch and PyTorch's eager mode beside
Kiln's step (step.c). First Kiln's outputs, gradients and weights after a step are compared with Keras's, by tests/interop/
parity.py, and PyTorch's outputs with Keras's, all from the same weights. Then rounds of all three alternate. Medians, a JSON line
for each peer. Data in memory, Adam, as many threads as cores.

Usage: lstm_peers.py PATH-OF-STEP   (in the virtual environment of tests/bench)
"""
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

os.environ["CUDA_VISIBLE_DEVICES"] = "-1"
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../interop"))

import numpy  # noqa: E402
import parity  # noqa: E402  (imports TensorFlow)
import tensorflow  # noqa: E402
import torch  # noqa: E402

UNITS, ROWS, TIME, FEATURES, ROUNDS, STEPS = 128, 64, 100, 64, 5, 4
ROW = parity.Row("lstm-step", f'{{ op = "lstm"; name = "a"; units = {UNITS}; }}, {{ op = "dense"; name = "out"; units = 5; }}',
                 parity.chain(lambda: parity.K.LSTM(UNITS, name="a"), parity.dense(5, "out")),
                 features={"sentence": ("float32", [TIME, FEATURES], None)})


class Torch(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm, self.dense = torch.nn.LSTM(FEATURES, UNITS, batch_first=True), torch.nn.Linear(UNITS, 2)

    def forward(self, x):
        return self.dense(self.lstm(x)[1][0][0])

    def take(self, weights):
        """Takes Keras's weights: both have the gates in the order i, f, g, o; PyTorch has a second bias."""
        kernel, recurrent, bias, dense, dense_bias = (torch.from_numpy(w.T.copy()) for w in weights)
        self.load_state_dict({"lstm.weight_ih_l0": kernel, "lstm.weight_hh_l0": recurrent, "lstm.bias_ih_l0": bias,
                              "lstm.bias_hh_l0": torch.zeros_like(bias), "dense.weight": dense, "dense.bias": dense_bias})


def keras_model():
    layers = parity.K
    model = parity.keras.Sequential([layers.Input((TIME, FEATURES)), layers.LSTM(UNITS), layers.Dense(2, activation="softmax")])
    model.compile("adam", "categorical_crossentropy")
    return model


def verify(keras, peer, x):
    with tempfile.TemporaryDirectory(prefix="kiln-lstm-") as work:
        os.environ["KILN_ROOT"] = work
        parity.STEPS = 1
        comparison = parity.Comparison(ROW)
        parity.compare_steps(ROW, work, numpy.random.default_rng(44), comparison)
    peer.take(keras.get_weights())
    difference = numpy.abs(torch.softmax(peer(torch.from_numpy(x)), 1).detach().numpy() - keras.predict_on_batch(x)).max()
    if comparison.wrong or not difference <= 1e-5:
        sys.exit("\n".join(["lstm_peers: outputs differ", f"PyTorch and Keras: by {difference:.1e}, allowed: 1e-5", *comparison.wrong]))


def torch_steps(peer, x, y):
    optimizer, loss = torch.optim.Adam(peer.parameters(), lr=0.001, eps=1e-7), torch.nn.CrossEntropyLoss()
    x, y = torch.from_numpy(x), torch.from_numpy(y.argmax(axis=1))

    def step():
        optimizer.zero_grad()
        loss(peer(x), y).backward()
        optimizer.step()
    return step


def timed(step):
    start = time.perf_counter()
    for _ in range(STEPS):
        step()
    return (time.perf_counter() - start) / STEPS * 1e6


def kiln(path):
    out = subprocess.run([path, "lstm-step", "1", str(STEPS)], check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    return json.loads(out.stdout)


def main():
    torch.set_num_threads(len(os.sched_getaffinity(0)))
    random = numpy.random.default_rng(44)
    x = random.uniform(-1, 1, (ROWS, TIME, FEATURES)).astype(numpy.float32)
    y = numpy.eye(2, dtype=numpy.float32)[(x.sum(axis=(1, 2)) > 0).astype(int)]
    keras, peer = keras_model(), Torch()
    verify(keras, peer, x)
    steps = {"keras-" + tensorflow.keras.__version__: lambda: keras.train_on_batch(x, y),
             "pytorch-" + torch.__version__: torch_steps(peer, x, y)}
    ours, theirs = [], {name: [] for name in steps}
    for name, step in steps.items():
        timed(step)  # traces and warms up
    for _ in range(ROUNDS):
        ours.append(kiln(sys.argv[1]))
        for name, step in steps.items():
            theirs[name].append(timed(step))
    value = statistics.median(line["value"] for line in ours)
    for name, of_peer in theirs.items():
        print(json.dumps({"name": "lstm-step", "case": ours[0]["case"], "value": round(value, 1), "unit": "us", "peer": name,
                          "peer_value": round(statistics.median(of_peer), 1),
                          "ratio": round(statistics.median(of_peer) / value, 3)}), flush=True)


main()
