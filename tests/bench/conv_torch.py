#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""PyTorch's convolution beside Kiln's (conv.c, which compares its own numbers with float64): rounds of both alternate,
medians, a JSON line for each pass. PyTorch runs in its faster memory format, with bias, as many threads as cores.

Usage: conv_torch.py PATH-OF-CONV   (in the virtual environment of tests/bench)
"""
import json
import os
import statistics
import subprocess
import sys
import time

import torch

ROUNDS, PASSES = 7, 7
torch.set_num_threads(len(os.sched_getaffinity(0)))


def network(memory_format):
    torch.manual_seed(44)
    layer = torch.nn.Conv2d(64, 64, 3, padding=1).to(memory_format=memory_format)
    x, dy = (torch.randn(32, 64, 56, 56).to(memory_format=memory_format) for _ in range(2))
    return layer, x.requires_grad_(True), dy


def torch_us(layer, x, dy):
    forward, backward = [], []
    for _ in range(PASSES):
        layer.zero_grad()
        x.grad = None
        start = time.perf_counter()
        y = layer(x)
        middle = time.perf_counter()
        y.backward(dy)
        forward.append((middle - start) * 1e6)
        backward.append((time.perf_counter() - middle) * 1e6)
    return statistics.median(forward), statistics.median(backward)


def kiln_us(conv):
    out = subprocess.run([conv, str(PASSES)], check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    return tuple(float(word) for word in out.stdout.split())


def main():
    peers = [network(torch.contiguous_format), network(torch.channels_last)]
    peer = min(peers, key=lambda made: (torch_us(*made), sum(torch_us(*made)))[1])  # warm, then judged
    kiln_us(sys.argv[1])
    rounds = [(kiln_us(sys.argv[1]), torch_us(*peer)) for _ in range(ROUNDS)]
    for i, case in enumerate(("forward", "backward")):
        value, of_peer = (statistics.median(both[who][i] for both in rounds) for who in range(2))
        print(json.dumps({"name": "conv-cpu", "case": f"3x3, 64->64, 56x56, batch 32, {case}", "value": round(value, 1),
                          "unit": "us", "peer": "pytorch-" + torch.__version__, "peer_value": round(of_peer, 1),
                          "ratio": round(of_peer / value, 3)}))


main()
