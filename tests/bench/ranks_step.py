#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A training step of two ranks on this machine, each with half of the batch: Kiln's daemons, from shards on the disk, against
PyTorch's DistributedDataParallel with Gloo, data in memory. Adam, float32, half of the cores for each rank. First the weights of
Kiln's two ranks are compared with those of one: the same bits. Prints one JSON line.

Usage: ranks_step.py step-mlp|step-mlp-large   (KILN_BIN set; in the virtual environment of tests/bench)
"""
import glob
import hashlib
import json
import os
import statistics
import struct
import subprocess
import sys
import tempfile
import time

import numpy

# name: units of the layers, rate of the dropouts, inputs, rows of a batch, steps of an epoch, epochs
NETS = {
    "step-mlp": ((256, 16, 2), 0.2, 512, 128, 300, 7),
    "step-mlp-large": ((4096, 4096, 10), 0, 1024, 512, 4, 6),
}
RANKS = 2


def make_data(folder, inputs, classes, rows):
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
    import tensorflow as tf
    random = numpy.random.default_rng(44)
    x = random.uniform(-1, 1, (rows, inputs)).astype(numpy.float32)
    label = (x.sum(axis=1) > 0).astype(numpy.int64)
    for shard in range(4):
        with tf.io.TFRecordWriter(f"{folder}/train-{shard}.tfrecord") as out:
            for row in range(shard, rows, 4):
                one_hot = numpy.eye(classes, dtype=numpy.int64)[label[row]]
                out.write(tf.train.Example(features=tf.train.Features(feature={
                    "x": tf.train.Feature(float_list=tf.train.FloatList(value=x[row])),
                    "label": tf.train.Feature(int64_list=tf.train.Int64List(value=one_hot)),
                })).SerializeToString())
    return x, label


def kiln(work, ranks, net):
    """Trains with so many ranks; returns us of a step, and the digest of the weights."""
    units, rate, inputs, rows, steps, epochs = net
    dropout = f'{{ op = "dropout"; rate = {rate}; }}, ' if rate else ""
    layers = ", ".join([f'{{ op = "dense"; units = {wide}; activation = "relu"; }}, {dropout}'.rstrip(", ") for wide in units[:-1]]
                       + [f'{{ op = "dense"; units = {units[-1]}; activation = "softmax"; }}'])
    conf = f"{work}/{ranks}.conf"
    os.makedirs(f"{work}/runs-{ranks}", exist_ok=True)
    with open(conf, "w") as out:
        out.write(f"""run: {{ name = "step"; epochs = {epochs}; batch_rows = {rows}; seed = 1; }};
source: {{ url = "file://{work}/data"; }};
sink: {{ url = "file://{work}/runs-{ranks}"; }};
split: {{ train_glob = "train-*"; test_glob = ""; validation_percent = 0; }};
ring: {{ small_pages = true; }};
order: {{ lanes = {RANKS}; window_shards = 2; }};
device: {{ count = {ranks}; }};
ranks: {{ check_steps = 0; }};
checkpoint: {{ every_steps = 1000000; }};
schema = ( {{ name = "x"; dtype = "float32"; shape = [ {inputs} ]; }}, {{ name = "label"; dtype = "int64"; shape = [ {units[-1]} ]; }} );
model: {{ input = "x"; label = "label"; loss = "categorical_crossentropy"; layers = ( {layers} ); }};
""")
    root = f"{work}/node-{ranks}"
    os.makedirs(root)
    binaries = os.environ["KILN_BIN"]
    env = dict(os.environ, KILN_ROOT=root)
    subprocess.run(["tools/night", binaries, conf], check=True, env=env, stdout=sys.stderr)
    subprocess.run([f"{binaries}/kiln-oneshot", "release"], env=env, stderr=subprocess.DEVNULL)
    (record,) = glob.glob(f"{root}/data/kiln/run/*/run.json")[:1]
    ends = [epoch["at_ms"] for epoch in json.load(open(record))["epochs"]]
    (model,) = glob.glob(f"{work}/runs-{ranks}/*/model/model.safetensors")
    data = open(model, "rb").read()
    return (statistics.median(b - a for a, b in zip(ends, ends[1:])) / steps * 1000,
            hashlib.sha256(data[8 + struct.unpack("<Q", data[:8])[0]:]).hexdigest())


def ddp(rank, net, port, x, label, queue):
    import torch
    import torch.distributed as dist
    units, rate, inputs, rows, steps, epochs = net
    torch.set_num_threads(max(1, len(os.sched_getaffinity(0)) // RANKS))
    dist.init_process_group("gloo", init_method=f"tcp://127.0.0.1:{port}", rank=rank, world_size=RANKS)
    layers, width = [], inputs
    for i, wide in enumerate(units):
        layers.append(torch.nn.Linear(width, wide))
        width = wide
        if i < len(units) - 1:
            layers += [torch.nn.ReLU()] + ([torch.nn.Dropout(rate)] if rate else [])
    model = torch.nn.parallel.DistributedDataParallel(torch.nn.Sequential(*layers))
    loss_of = torch.nn.CrossEntropyLoss()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.001, eps=1e-7)
    mine = slice(rank, None, RANKS)
    inputs_of, labels_of, half = torch.from_numpy(x[mine].copy()), torch.from_numpy(label[mine].copy()), rows // RANKS
    times = []
    for _ in range(epochs):
        start = time.perf_counter()
        for first in range(0, steps * half, half):
            optimizer.zero_grad()
            loss_of(model(inputs_of[first:first + half]), labels_of[first:first + half]).backward()
            optimizer.step()
        times.append((time.perf_counter() - start) / steps * 1e6)
    if rank == 0:
        queue.put(statistics.median(times[1:]))
    dist.destroy_process_group()


def peer(net, x, label):
    import torch.multiprocessing as processes
    context = processes.get_context("spawn")
    queue = context.Queue()
    running = [context.Process(target=ddp, args=(rank, net, 29000 + os.getpid() % 1000, x, label, queue)) for rank in range(RANKS)]
    for process in running:
        process.start()
    us = queue.get(timeout=600)
    for process in running:
        process.join()
    return us


def main():
    name = sys.argv[1]
    net = NETS[name]
    units, _, inputs, rows, steps, _ = net
    with tempfile.TemporaryDirectory(prefix="kiln-ranks-step-", dir="/dev/shm") as work:
        os.makedirs(f"{work}/data")
        x, label = make_data(f"{work}/data", inputs, units[-1], rows * steps)
        _, bits = kiln(work, 1, net)
        us, same = kiln(work, RANKS, net)
        if same != bits:
            sys.exit(f"{name}: two ranks have other weights than one")
        theirs = peer(net, x, label)
    import torch
    print(json.dumps({"name": "ranks-step", "case": f"{name} {RANKS} ranks", "value": round(us, 1), "unit": "us",
                      "peer": "pytorch-ddp-gloo-" + torch.__version__, "peer_value": round(theirs, 1), "ratio": round(theirs / us, 3)}))


if __name__ == "__main__":
    main()
