#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Keras fit, or PyTorch's eager mode, on a network beside Kiln's step (step.c, which compares itself with float64 first):
rounds of both alternate, medians, one JSON line. Data in memory, Adam, as many threads as cores.

Usage: step_peers.py PATH-OF-STEP step-mlp|step-mlp-large keras|torch   (in the virtual environment of tests/bench)
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

# name: units of the layers, rates of the dropouts behind them, inputs, rows of a batch, rounds, steps of each
NETS = {
    "step-mlp": ((256, 16, 2), (0.2, 0.2), 512, 128, 7, 300),
    "step-mlp-large": ((4096, 4096, 10), (0, 0), 1024, 512, 5, 4),
}


def keras_peer(units, rates, inputs, rows, steps, x, y):
    import tensorflow
    from peer import keras_network
    model = keras_network(inputs, units, rates)

    def run():
        model.fit(x, y, batch_size=rows, epochs=1, shuffle=False, verbose=0)
    return "keras-" + tensorflow.keras.__version__, run


def torch_peer(units, rates, inputs, rows, steps, x, y):
    import torch
    torch.set_num_threads(len(os.sched_getaffinity(0)))
    layers, width = [], inputs
    for i, wide in enumerate(units):
        layers.append(torch.nn.Linear(width, wide))
        width = wide
        if i < len(rates):
            layers.append(torch.nn.ReLU())
        if i < len(rates) and rates[i]:
            layers.append(torch.nn.Dropout(rates[i]))
    model, loss_of = torch.nn.Sequential(*layers), torch.nn.CrossEntropyLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.001, eps=1e-7)
    inputs_of, labels_of = torch.from_numpy(x), torch.from_numpy(y.argmax(axis=1))

    def run():
        for first in range(0, steps * rows, rows):
            optimizer.zero_grad()
            loss_of(model(inputs_of[first:first + rows]), labels_of[first:first + rows]).backward()
            optimizer.step()
    return "pytorch-" + torch.__version__, run


def kiln_us(step, net, steps):
    out = subprocess.run([step, net, "3", str(steps)], check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    return json.loads(out.stdout.splitlines()[0])


def main():
    step, net, peer = sys.argv[1:]
    units, rates, inputs, rows, rounds, steps = NETS[net]
    random = numpy.random.default_rng(44)
    x = random.uniform(-1, 1, (steps * rows, inputs)).astype(numpy.float32)
    y = numpy.eye(units[-1], dtype=numpy.float32)[(x.sum(axis=1) > 0).astype(int)]
    name, run = {"keras": keras_peer, "torch": torch_peer}[peer](units, rates, inputs, rows, steps, x, y)
    run()  # traces and warms up
    ours, theirs = [], []
    for _ in range(rounds):
        ours.append(kiln_us(step, net, steps))
        start = time.perf_counter()
        run()
        theirs.append((time.perf_counter() - start) / steps * 1e6)
    value, of_peer = statistics.median(o["value"] for o in ours), statistics.median(theirs)
    print(json.dumps({"name": net, "case": ours[0]["case"], "value": round(value, 1), "unit": "us", "peer": name,
                      "peer_value": round(of_peer, 1), "ratio": round(of_peer / value, 3)}))


main()
