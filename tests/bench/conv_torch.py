#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""PyTorch's convolution beside Kiln's (conv.c and depthwise.c, which compare their own numbers with float64): rounds of
both alternate, medians, a JSON line for each pass. PyTorch runs in its faster memory format, as many threads as cores.

Usage: conv_torch.py conv-cpu|depthwise-cpu PATH-OF-PROGRAM   (in the virtual environment of tests/bench)
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

# rows, side, channels, size, stride: plain ones, then those of EfficientNet-Lite0 at 224x224.
DEPTHWISE = [(16, 56, 144, 3, 1), (16, 56, 144, 5, 1), (16, 112, 32, 3, 1), (16, 112, 96, 3, 2), (16, 56, 144, 5, 2),
             (16, 28, 240, 5, 1), (16, 28, 240, 3, 2), (16, 14, 480, 3, 1), (16, 14, 480, 5, 1), (16, 14, 672, 5, 1),
             (16, 14, 672, 5, 2), (16, 7, 1152, 5, 1), (16, 7, 1152, 3, 1)]


class Same(torch.nn.Module):
    """A depthwise convolution with padding "same" of TensorFlow."""

    def __init__(self, side, channels, size, stride):
        super().__init__()
        needed = max((-(-side // stride) - 1) * stride + size - side, 0)
        self.even = needed % 2 == 0
        self.pad = torch.nn.ZeroPad2d((needed // 2, needed - needed // 2) * 2)
        self.conv = torch.nn.Conv2d(channels, channels, size, stride=stride, groups=channels, bias=False,
                                    padding=needed // 2 if self.even else 0)

    def forward(self, x):
        return self.conv(x if self.even else self.pad(x))


def network(make, rows, channels, side, memory_format):
    torch.manual_seed(44)
    layer = make().to(memory_format=memory_format)
    x = torch.randn(rows, channels, side, side).to(memory_format=memory_format).requires_grad_(True)
    return layer, x, torch.randn_like(layer(x)).to(memory_format=memory_format)


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


def kiln_us(command):
    out = subprocess.run([*command, str(PASSES)], check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                         text=True)
    return tuple(float(word) for word in out.stdout.split())


def compare(name, what, command, make, rows, channels, side):
    peers = [network(make, rows, channels, side, memory_format)
             for memory_format in (torch.contiguous_format, torch.channels_last)]
    peer = min(peers, key=lambda made: (torch_us(*made), sum(torch_us(*made)))[1])  # warm, then judged
    kiln_us(command)
    rounds = [(kiln_us(command), torch_us(*peer)) for _ in range(ROUNDS)]
    for i, case in enumerate(("forward", "backward")):
        value, of_peer = (statistics.median(both[who][i] for both in rounds) for who in range(2))
        print(json.dumps({"name": name, "case": f"{what}, {case}", "value": round(value, 1), "unit": "us",
                          "peer": "pytorch-" + torch.__version__, "peer_value": round(of_peer, 1),
                          "ratio": round(of_peer / value, 3)}), flush=True)


def main():
    name, program = sys.argv[1:]
    if name == "conv-cpu":
        compare(name, "3x3, 64->64, 56x56, batch 32", [program], lambda: torch.nn.Conv2d(64, 64, 3, padding=1), 32, 64,
                56)
        return
    for rows, side, channels, size, stride in DEPTHWISE:
        compare(name, f"{size}x{size}, stride {stride}, {side}x{side}x{channels}, batch {rows}",
                [program, *map(str, (rows, side, channels, size, stride))],
                lambda side=side, channels=channels, size=size, stride=stride: Same(side, channels, size, stride), rows,
                channels, side)


main()
