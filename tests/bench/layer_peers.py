#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A training step of a network with one layer of sequences: Keras's train_on_batch and PyTorch's eager mode beside Kiln's step
(step.c). First Kiln's outputs, gradients and weights after a step are compared with Keras's, by tests/interop/parity.py, and
PyTorch's outputs with Keras's, all from the same weights. Then rounds of all three alternate. Medians of the time, and of the
time of all cores, a JSON line for each peer. Data in memory, Adam, as many threads as cores.

Usage: layer_peers.py lstm-step|attention-step PATH-OF-STEP   (in the virtual environment of tests/bench)
"""
import json
import os
import resource
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

K, ROUNDS, STEPS = parity.K, 5, 4


class Lstm(torch.nn.Module):
    """lstm(128), dense(2) on 64 rows of 100 x 64."""
    rows, time, features = 64, 100, 64
    units = 128
    row = parity.Row("lstm-step", f'{{ op = "lstm"; name = "a"; units = {units}; }}, {{ op = "dense"; name = "out"; units = 5; }}',
                     parity.chain(lambda: K.LSTM(Lstm.units, name="a"), parity.dense(5, "out")),
                     features={"sentence": ("float32", [time, features], None)})

    def __init__(self):
        super().__init__()
        self.lstm, self.dense = torch.nn.LSTM(self.features, self.units, batch_first=True), torch.nn.Linear(self.units, 2)

    def forward(self, x):
        return self.dense(self.lstm(x)[1][0][0])

    def take(self, weights):
        """Takes Keras's weights: both have the gates in the order i, f, g, o; PyTorch has a second bias."""
        kernel, recurrent, bias, dense, dense_bias = (torch.from_numpy(w.T.copy()) for w in weights)
        self.load_state_dict({"lstm.weight_ih_l0": kernel, "lstm.weight_hh_l0": recurrent, "lstm.bias_ih_l0": bias,
                              "lstm.bias_hh_l0": torch.zeros_like(bias), "dense.weight": dense, "dense.bias": dense_bias})

    @staticmethod
    def keras(x):
        return K.LSTM(Lstm.units)(x)


class Attention(torch.nn.Module):
    """multi_head_attention of 12 heads of 32 without bias, the mean over the steps, dense(2), on 32 rows of 128 x 384."""
    rows, time, features = 32, 128, 384
    heads, size = 12, 32
    row = parity.Row("attention-step", f'{{ op = "multi_head_attention"; name = "a"; num_heads = {heads}; key_dim = {size}; '
                     'use_bias = false; }, { op = "global_average_pooling1d"; }, { op = "dense"; name = "out"; units = 5; }',
                     lambda inputs: K.Dense(5, name="out")(Attention.keras(next(iter(inputs.values())))),
                     features={"sentence": ("float32", [time, features], None)})

    def __init__(self):
        super().__init__()
        self.attention = torch.nn.MultiheadAttention(self.features, self.heads, bias=False, batch_first=True)
        self.dense = torch.nn.Linear(self.features, 2)

    def forward(self, x):
        return self.dense(self.attention(x, x, x, need_weights=False)[0].mean(1))

    def take(self, weights):
        """Takes Keras's weights: query, key and value [features, heads, size], output [heads, size, features]."""
        width = self.features
        query, key, value, output = (torch.from_numpy(w) for w in weights[:4])
        self.load_state_dict({"attention.in_proj_weight": torch.cat([w.reshape(width, width).T for w in (query, key, value)]),
                              "attention.out_proj.weight": output.reshape(width, width).T,
                              "dense.weight": torch.from_numpy(weights[4].T.copy()), "dense.bias": torch.from_numpy(weights[5])})

    @staticmethod
    def keras(x):
        y = K.MultiHeadAttention(Attention.heads, Attention.size, use_bias=False, name="a")(x, x)
        return K.GlobalAveragePooling1D()(y)


PEERS = {"lstm-step": Lstm, "attention-step": Attention}


def keras_model(peer):
    inputs = K.Input((peer.time, peer.features))
    model = parity.keras.Model(inputs, K.Dense(2, activation="softmax")(peer.keras(inputs)))
    model.compile("adam", "categorical_crossentropy")
    return model


def verify(keras, peer, x):
    with tempfile.TemporaryDirectory(prefix="kiln-peers-") as work:
        os.environ["KILN_ROOT"] = work
        parity.STEPS = 1
        comparison = parity.Comparison(peer.row)
        parity.compare_steps(peer.row, work, numpy.random.default_rng(44), comparison)
    peer.take(keras.get_weights())
    difference = numpy.abs(torch.softmax(peer(torch.from_numpy(x)), 1).detach().numpy() - keras.predict_on_batch(x)).max()
    if comparison.wrong or not difference <= 1e-5:
        sys.exit("\n".join(["layer_peers: outputs differ", f"PyTorch and Keras: by {difference:.1e}, allowed: 1e-5",
                            *comparison.wrong]))


def torch_steps(peer, x, y):
    optimizer, loss = torch.optim.Adam(peer.parameters(), lr=0.001, eps=1e-7), torch.nn.CrossEntropyLoss()
    x, y = torch.from_numpy(x), torch.from_numpy(y.argmax(axis=1))

    def step():
        optimizer.zero_grad()
        loss(peer(x), y).backward()
        optimizer.step()
    return step


def cpu_us(who):
    used = resource.getrusage(who)
    return (used.ru_utime + used.ru_stime) * 1e6


def timed(step):
    """Returns the time of a step and the time of all cores for it, in microseconds."""
    start, used = time.perf_counter(), cpu_us(resource.RUSAGE_SELF)
    for _ in range(STEPS):
        step()
    return (time.perf_counter() - start) / STEPS * 1e6, (cpu_us(resource.RUSAGE_SELF) - used) / STEPS


def kiln(path, name):
    out = subprocess.run([path, name, "1", str(STEPS)], check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    return json.loads(out.stdout)


def compare(path, name, steps, rounds=ROUNDS):
    """Measures Kiln's step and those of the peers, a dictionary of label and function, in turns, and prints a line for each."""
    ours, theirs = [], {label: [] for label in steps}
    for step in steps.values():
        timed(step)  # traces and warms up
    for _ in range(rounds):
        ours.append(kiln(path, name))
        for label, step in steps.items():
            theirs[label].append(timed(step))
    for key, unit, at in (("value", "us", 0), ("cpu_us", "us of CPU time", 1)):
        value = statistics.median(line[key] for line in ours)
        for label, of_peer in theirs.items():
            peer_value = statistics.median(times[at] for times in of_peer)
            print(json.dumps({"name": name, "case": ours[0]["case"], "value": round(value, 1), "unit": unit, "peer": label,
                              "peer_value": round(peer_value, 1), "ratio": round(peer_value / value, 3)}), flush=True)


def main():
    name, path = sys.argv[1:]
    torch.set_num_threads(len(os.sched_getaffinity(0)))
    peer = PEERS[name]()
    random = numpy.random.default_rng(44)
    x = random.uniform(-1, 1, (peer.rows, peer.time, peer.features)).astype(numpy.float32)
    y = numpy.eye(2, dtype=numpy.float32)[(x.sum(axis=(1, 2)) > 0).astype(int)]
    keras = keras_model(peer)
    verify(keras, peer, x)
    steps = {"keras-" + tensorflow.keras.__version__: lambda: keras.train_on_batch(x, y),
             "pytorch-" + torch.__version__: torch_steps(peer, x, y)}
    compare(path, name, steps)


if __name__ == "__main__":
    main()
