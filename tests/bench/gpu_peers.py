#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""PyTorch's training steps of step.c's networks on an NVIDIA GPU, and its products and one convolution: eager and as a CUDA
graph; float32, TF32, bfloat16; and Adam alone. Each step copies its batch from pinned host memory, as step.c does. Prints JSON lines.

Usage: gpu_peers.py   (in an environment that has PyTorch with CUDA)
"""
import json
import statistics
import time

import torch
from torch import nn

ROUNDS = 7
# name: sizes, rows of a batch, dropout, steps of a round
NETWORKS = {"step-mlp": ([512, 256, 16, 2], 128, 0.2, 300), "step-mlp-large": ([1024, 4096, 4096, 10], 512, 0, 50)}
# m, n, k; the first is transposed; the second is transposed: those of gemm.c
PRODUCTS = [(128, 256, 512, "NN"), (512, 256, 128, "TN"), (1024, 1024, 1024, "NN"), (512, 4096, 4096, "NN"),
            (512, 4096, 4096, "NT"), (512, 4096, 4096, "TN"), (4096, 4096, 512, "TN"), (8192, 8192, 8192, "NN")]


def figure(case, value, unit):
    print(json.dumps({"name": "gpu-peers", "case": case, "value": round(value, 2), "unit": unit,
                      "peer": "pytorch-" + torch.__version__}), flush=True)


def timed_us(run, times):
    """The median of rounds, each of `times` runs, in microseconds a run."""
    run()
    found = []
    for _ in range(ROUNDS):
        torch.cuda.synchronize()
        start = time.perf_counter()
        for _ in range(times):
            run()
        torch.cuda.synchronize()
        found.append((time.perf_counter() - start) / times * 1e6)
    return statistics.median(found)


def network(sizes, dropout):
    layers = []
    for inputs, units in zip(sizes, sizes[1:]):
        layers += [nn.Linear(inputs, units), nn.ReLU()] + ([nn.Dropout(dropout)] if dropout else [])
    return nn.Sequential(*layers[:-2 if dropout else -1]).cuda()


class Step:
    def __init__(self, name, autocast):
        sizes, rows, dropout, self.times = NETWORKS[name]
        self.model = network(sizes, dropout)
        self.optimizer = torch.optim.Adam(self.model.parameters(), fused=True, capturable=True)
        self.host = [torch.randn(rows, sizes[0]).pin_memory(), torch.randint(0, sizes[-1], (rows,)).pin_memory()]
        self.batch = [tensor.cuda() for tensor in self.host]
        self.autocast = autocast

    def compute(self):
        self.optimizer.zero_grad(set_to_none=True)
        with torch.autocast("cuda", torch.bfloat16, self.autocast):
            loss = nn.functional.cross_entropy(self.model(self.batch[0]), self.batch[1])
        loss.backward()
        self.optimizer.step()

    def copy(self):
        for to, host in zip(self.batch, self.host):
            to.copy_(host, non_blocking=True)

    def eager(self):
        self.copy()
        self.compute()

    def graph(self):
        """Returns a step that replays a CUDA graph."""
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            for _ in range(3):
                self.compute()
        torch.cuda.current_stream().wait_stream(stream)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            self.compute()

        def replay():
            self.copy()
            graph.replay()
        return replay


def steps(precision):
    for name in NETWORKS:
        step = Step(name, precision == "bf16")
        figure(f"{name}, {precision}, eager", timed_us(step.eager, step.times), "us")
        figure(f"{name}, {precision}, CUDA graph", timed_us(step.graph(), step.times), "us")


def products(precision):
    for m, n, k, form in PRODUCTS:
        kind = torch.bfloat16 if precision == "bf16" else torch.float32
        a, b = torch.randn(m, k, device="cuda", dtype=kind), torch.randn(k, n, device="cuda", dtype=kind)
        a = a.t().contiguous().t() if form[0] == "T" else a
        b = b.t().contiguous().t() if form[1] == "T" else b
        us = timed_us(lambda a=a, b=b: a @ b, max(3, min(200, int(4e11 / (2 * m * n * k)))))
        figure(f"product {form} {m} x {n} x {k}, {precision}", 2e-3 * m * n * k / us, "Gflop/s")


def convolution(precision):
    kind = torch.bfloat16 if precision == "bf16" else torch.float32
    layer = nn.Conv2d(64, 64, 3, padding=1).cuda().to(kind, memory_format=torch.channels_last)
    x = torch.randn(32, 64, 56, 56, device="cuda", dtype=kind).to(memory_format=torch.channels_last).requires_grad_(True)
    dy = torch.randn_like(layer(x))

    def both():
        x.grad = None
        layer.zero_grad()
        layer(x).backward(dy)
    forward = timed_us(lambda: layer(x), 50)
    figure(f"3x3 convolution, 64 to 64 channels, 56 x 56, batch 32, {precision}, forward", forward, "us")
    figure(f"the same, {precision}, backward", timed_us(both, 50) - forward, "us")


def adam():
    """A step of the optimizer alone, on 21 million parameters in four tensors, as step-mlp-large has."""
    tensors = [torch.randn(*shape, device="cuda", requires_grad=True) for shape in ((1024, 4096), (4096,), (4096, 4096), (4096,))]
    for tensor in tensors:
        tensor.grad = torch.randn_like(tensor)
    optimizer = torch.optim.Adam(tensors, fused=True)
    figure("Adam, 21 M parameters", timed_us(optimizer.step, 50), "us")


def copies():
    """Bytes from the host: pageable and pinned memory."""
    device = torch.empty(256 << 20, dtype=torch.uint8, device="cuda")
    for name, host in (("pageable", torch.ones(256 << 20, dtype=torch.uint8)),
                       ("pinned", torch.ones(256 << 20, dtype=torch.uint8).pin_memory())):
        figure(f"copy of 256 MiB to the device, {name}", (256 << 20) / timed_us(lambda host=host: device.copy_(host), 4) / 1e3,
               "GB/s")


def main():
    torch.manual_seed(44)
    copies()
    adam()
    for precision in ("fp32", "tf32", "bf16"):
        torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = precision == "tf32"
        steps(precision)
        products(precision)
        convolution(precision)



if __name__ == "__main__":
    main()
