#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""One training step of networks of pictures, Kiln's (picture_step.c) beside PyTorch's eager mode: the same weights, the same
batch of uint8 pictures, SGD with momentum, as many threads as cores. First two steps of both are compared with PyTorch's in
float64: the losses, and what the steps changed; Kiln's error may be twice that of PyTorch's in float32. Then rounds of both
alternate: medians, a JSON line; and a line for the memory, the largest resident memory of the process while it makes steps, less
that before the model.

STEP_DEVICE=cuda times PyTorch on its GPU, STEP_TF32=1 lets it use TF32 there; the comparison is with PyTorch on the CPU always.
STEP_BF16=1: Kiln's precision is mixed_bfloat16, PyTorch computes by autocast in bfloat16, also where the errors are compared.

Usage: step_pictures.py PATH-OF-PICTURE_STEP [NETWORK...]   (in the virtual environment of tests/bench)
"""
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

import numpy
import torch
import torchvision
from torch import nn

from tensors import read_tensors, write_tensors

DEVICE, TF32, BF16 = os.environ.get("STEP_DEVICE", "cpu"), bool(os.environ.get("STEP_TF32")), bool(os.environ.get("STEP_BF16"))
KIND = "bf16" if BF16 else "tf32" if TF32 else "fp32"
PEER = f"pytorch-{torch.__version__}" + (f"-{DEVICE}-{KIND}" if DEVICE != "cpu" or BF16 else "")
PRECISION = "mixed_bfloat16" if BF16 else "float32"
ROUNDS, CLASSES, RATE, MOMENTUM = int(os.environ.get("ROUNDS", 5)), 10, 1e-3, 0.9
# A deep network makes rounding errors larger: PyTorch's own in float32 are up to 7 % of a tensor's change (EfficientNet-Lite0).
# TIMES: allowed, relative to PyTorch's. A tensor that changes by less than NOISE of others is not compared.
TIMES, LEAST_LOSS, LEAST_UPDATE, NOISE = 2, 1e-5, 1e-3, 1e-2
MEAN, DEVIATION = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]
CONFIG = """
run: {{ name = "t"; batch_rows = {rows}; }};
source: {{ url = "file:///nowhere"; }};
sink: {{ url = "file:///nowhere"; }};
optimizer: {{ name = "sgd"; learning_rate = {rate}; momentum = {momentum}; }};
schema = ( {{ name = "image"; dtype = "uint8"; shape = [ {side}, {side}, 3 ]; }},
           {{ name = "label"; dtype = "int64"; shape = [ 1 ]; }} );
model: {{ input = "image"; label = "label"; loss = "sparse_categorical_crossentropy"; precision = "{precision}"; {model} }};
"""


# ---- The networks in PyTorch: modules have the names of Kiln's layers, or `kiln_name` makes them --------------------------

def torch_scale(x):
    return (x / 255 - x.new_tensor(MEAN).view(1, 3, 1, 1)) / x.new_tensor(DEVIATION).view(1, 3, 1, 1)


class Same(nn.Module):
    """A convolution with padding "same" of TensorFlow."""

    def __init__(self, side, channels, filters, size, stride, groups):
        super().__init__()
        needed = max((-(-side // stride) - 1) * stride + size - side, 0)
        self.padding = (needed // 2, needed - needed // 2) * 2
        self.is_even = needed % 2 == 0
        self.conv = nn.Conv2d(channels, filters, size, stride, needed // 2 if self.is_even else 0, groups=groups, bias=False)

    def forward(self, x):
        return self.conv(x if self.is_even else nn.functional.pad(x, self.padding))


class Lite0(nn.Module):
    """EfficientNet-Lite0 (Tan and Le, 2019) with Keras's names of layers."""
    STAGES = [(3, 1, 16, 1, 1), (3, 6, 24, 2, 2), (5, 6, 40, 2, 2), (3, 6, 80, 3, 2), (5, 6, 112, 3, 1), (5, 6, 192, 4, 2),
              (3, 6, 320, 1, 1)]

    def __init__(self, side):
        super().__init__()
        self.side, self.order = side, []
        self.add("stem_", "conv", "bn", 3, 32, 3, 2, True)
        channels = 32
        for stage, (size, expansion, filters, repeats, first_stride) in enumerate(self.STAGES):
            for repeat in range(repeats):
                prefix, wide = f"block{stage + 1}{chr(97 + repeat)}_", channels * expansion
                self.order.append(("begin", None, None, False))
                if expansion > 1:
                    self.add(prefix, "expand_conv", "expand_bn", channels, wide, 1, 1, True)
                self.add(prefix, "dwconv", "bn", wide, wide, size, 1 if repeat else first_stride, True, wide)
                self.add(prefix, "project_conv", "project_bn", wide, filters, 1, 1, False)
                if repeat:
                    self.order.append(("add", None, None, False))
                channels = filters
        self.add("top_", "conv", "bn", channels, 1280, 1, 1, True)
        self.head = nn.Linear(1280, CLASSES)

    def add(self, prefix, conv, norm, channels, filters, size, stride, relu, groups=1):
        self.add_module(prefix + conv, Same(self.side, channels, filters, size, stride, groups))
        self.add_module(prefix + norm, nn.BatchNorm2d(filters, eps=1e-3, momentum=0.01))
        self.order.append(("conv", prefix + conv, prefix + norm, relu))
        self.side = -(-self.side // stride)

    def forward(self, x):
        begin = x
        for what, conv, norm, relu in self.order:
            if what == "begin":
                begin = x
            elif what == "add":
                x = x + begin
            else:
                x = getattr(self, norm)(getattr(self, conv)(x))
                x = nn.functional.relu6(x, inplace=True) if relu else x
        return self.head(x.mean([2, 3]))


class SmallCnn(nn.Module):
    """Three convolutions with pools, as in config/examples/pictures-s3.conf, and a dense layer."""

    def __init__(self):
        super().__init__()
        for i, (channels, filters) in enumerate([(3, 32), (32, 64), (64, 64)]):
            self.add_module(f"conv{i}", nn.Conv2d(channels, filters, 3))
        self.hidden, self.head = nn.Linear(14 * 14 * 64, 64), nn.Linear(64, CLASSES)

    def forward(self, x):
        for i in range(3):
            x = nn.functional.max_pool2d(nn.functional.relu(getattr(self, f"conv{i}")(x)), 2)
        x = x.permute(0, 2, 3, 1).flatten(1)  # in the order of Kiln and Keras
        return self.head(nn.functional.relu(self.hidden(x)))


class Vgg16(nn.Module):
    """VGG16, frozen, and a head."""

    def __init__(self):
        super().__init__()
        self.features = torchvision.models.vgg16(weights=None).features.requires_grad_(False)
        self.hidden, self.head = nn.Linear(7 * 7 * 512, 256), nn.Linear(256, CLASSES)

    def forward(self, x):
        x = self.features(x).permute(0, 2, 3, 1).flatten(1)
        return self.head(nn.functional.relu(self.hidden(x)))


def resnet18():
    model = torchvision.models.resnet18(weights=None)
    model.fc = nn.Linear(512, CLASSES)
    return model


def vgg_name(name):
    """The layer of features.N."""
    if not name.startswith("features."):
        return name
    convs, at = [2, 2, 3, 3, 3], int(name.split(".")[1])
    for block, count in enumerate(convs):
        if at < 2 * count:
            return f"block{block + 1}_conv{at // 2 + 1}"
        at -= 2 * count + 1
    raise KeyError(name)


def small_layers():
    convs = "".join(f'{{ op = "conv2d"; name = "conv{i}"; filters = {filters}; kernel_size = 3; activation = "relu"; }},'
                    '{ op = "max_pooling2d"; },' for i, filters in enumerate([32, 64, 64]))
    return ('layers = ( { op = "rescaling"; scale = 0.00392156862745098; },' + convs + '{ op = "flatten"; },'
            '{ op = "dense"; name = "hidden"; units = 64; activation = "relu"; },' + HEAD)


HEAD = '{ op = "dense"; name = "head"; units = 10; }, { op = "softmax"; } );'
# name: its text, side, rows, steps of a round, Kiln's keys, PyTorch's module, scaling, names
NETWORKS = {
    "small-cnn": ("small CNN, 128 x 128, batch 32", 128, 32, 6, small_layers(), SmallCnn, lambda x: x / 255, str),
    "vgg16": ("VGG16 frozen and a head, 224 x 224, batch 8", 224, 8, 1,
              'base = "vgg16"; base_trainable = false; base_scaling = "torch"; layers = ( { op = "flatten"; },'
              '{ op = "dense"; name = "hidden"; units = 256; activation = "relu"; },' + HEAD, Vgg16, torch_scale, vgg_name),
    "resnet18": ("ResNet-18, 224 x 224, batch 8", 224, 8, 2,
                 'base = "resnet18"; base_scaling = "torch"; base_pooling = "avg"; layers = ('
                 '{ op = "dense"; name = "fc"; units = 10; }, { op = "softmax"; } );', resnet18, torch_scale, str),
    "lite0": ("EfficientNet-Lite0, 224 x 224, batch 8", 224, 8, 2,
              'base = "efficientnet_lite0"; base_pooling = "avg"; layers = (' + HEAD, lambda: Lite0(224),
              lambda x: (x - 127) / 128, lambda name: name.removesuffix(".conv")),
}
PARTS = {nn.Conv2d: {"weight": "kernel", "bias": "bias"}, nn.Linear: {"weight": "kernel", "bias": "bias"},
         nn.BatchNorm2d: {"weight": "gamma", "bias": "beta", "running_mean": "moving_mean", "running_var": "moving_variance"}}


def tensors_of(model, kiln_name):
    """The model's numbers with Kiln's names and layouts."""
    found = {}
    for name, module in model.named_modules():
        for part, ours in PARTS.get(type(module), {}).items():
            tensor = getattr(module, part)
            if tensor is None:
                continue
            numbers = tensor.detach().numpy()
            if part == "weight" and numbers.ndim == 4:
                depthwise = module.groups > 1
                numbers = numbers.transpose((2, 3, 0, 1) if depthwise else (2, 3, 1, 0))
            elif part == "weight" and numbers.ndim == 2:
                numbers = numbers.T
            found[f"{kiln_name(name)}/{ours}"] = numpy.array(numbers, order="C")
    return found


def resident(key):
    for line in open("/proc/self/status"):
        if line.startswith(key):
            return int(line.split()[1]) * 1024
    raise KeyError(key)


class Peer:
    """PyTorch's steps, in this process. The faster memory format is found by `time_of`."""

    def __init__(self, network, pixels, labels, memory_format, device="cpu", kind=torch.float32):
        _, _, _, _, _, make, self.scale, self.kiln_name = NETWORKS[network]
        self.before = resident("VmRSS:")
        torch.manual_seed(44)
        self.format = memory_format
        self.model = make().train().to(device, kind, memory_format=memory_format)
        self.optimizer = torch.optim.SGD([p for p in self.model.parameters() if p.requires_grad], lr=RATE, momentum=MOMENTUM)
        self.pixels, self.labels = torch.from_numpy(pixels), torch.from_numpy(labels)
        self.device, self.kind = device, kind
        self.loss_of = nn.CrossEntropyLoss()
        with open("/proc/self/clear_refs", "w") as out:
            out.write("5\n")

    def step(self):
        x = self.scale(self.pixels.to(self.device).permute(0, 3, 1, 2).to(self.kind)).contiguous(memory_format=self.format)
        self.optimizer.zero_grad()
        with torch.autocast(self.device, torch.bfloat16, enabled=BF16 and self.kind == torch.float32):
            loss = self.loss_of(self.model(x), self.labels.to(self.device))
        loss.backward()
        self.optimizer.step()
        return loss

    def steps_us(self, steps):
        start = time.perf_counter()
        for _ in range(steps):
            loss = self.step()
        loss.item()  # waits for the device
        return (time.perf_counter() - start) / steps * 1e6


class Process:
    """A process that answers lines: picture_step, or this program with `peer`."""

    def __init__(self, *command):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                        text=True)

    def ask(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        if not answer:
            raise RuntimeError(f"{self.process.args}: no answer to {line}")
        return answer.strip()

    def end(self):
        self.process.stdin.close()
        if self.process.wait():
            raise RuntimeError(f"{self.process.args}: exit status {self.process.returncode}")


def peer_main(network, path, memory_format):
    torch.set_num_threads(len(os.sched_getaffinity(0)))
    given = read_tensors(path)
    peer = Peer(network, given["batch/image"], given["batch/label"], getattr(torch, memory_format), DEVICE)
    torch.backends.cudnn.allow_tf32 = torch.backends.cuda.matmul.allow_tf32 = TF32
    losses = []
    for line in sys.stdin:
        if line.startswith("steps "):
            answer = peer.steps_us(int(line.split()[1]))
        elif line == "memory\n":
            answer = resident("VmHWM:") - peer.before
        else:
            raise ValueError(line)
        print(answer, flush=True)


def two_steps(network, pixels, labels, kind):
    """PyTorch's mean loss, and the numbers after the steps, in the float type `kind`."""
    peer = Peer(network, pixels, labels, torch.contiguous_format, kind=kind)
    loss = statistics.mean(peer.step().item() for _ in range(2))
    return loss, tensors_of(peer.model, NETWORKS[network][7])


def write_inputs(network, work):
    """Writes what Kiln reads. Returns pictures, labels and the first numbers."""
    _, side, rows, _, model, _, _, kiln_name = NETWORKS[network]
    random = numpy.random.default_rng(44)
    pixels = random.integers(0, 256, (rows, side, side, 3), numpy.uint8)
    labels = random.integers(0, CLASSES, rows)
    first = tensors_of(Peer(network, pixels, labels, torch.contiguous_format).model, kiln_name)
    write_tensors(f"{work}/in.safetensors", {**first, "batch/image": pixels, "batch/label": labels})
    with open(f"{work}/kiln.conf", "w") as out:
        out.write(CONFIG.format(rows=rows, side=side, rate=RATE, momentum=MOMENTUM, precision=PRECISION, model=model))
    return pixels, labels, first


def worst_update(found, exact, first):
    """The largest error of a tensor's change, relative to the change, in the norm; and the tensor."""
    change = {name: numpy.sqrt(numpy.mean((after - first[name]) ** 2)) for name, after in exact.items()}
    worst = (0.0, "")
    for part in ("kernel", "bias", "gamma", "beta"):
        names = [name for name in exact if name.endswith("/" + part)]
        for name in names:
            # Before a convolution and a batch_norm a beta has no gradient but rounding errors.
            if change[name] > NOISE * max(change[other] for other in names):
                off = numpy.sqrt(numpy.mean((found[name].reshape(exact[name].shape) - exact[name]) ** 2)) / change[name]
                worst = max(worst, (float(off), name))
    return worst


def verify(network, program, work):
    pixels, labels, first = write_inputs(network, work)
    exact_loss, exact = two_steps(network, pixels, labels, torch.float64)
    peer_loss, peers = two_steps(network, pixels, labels, torch.float32)
    kiln = Process(program, f"{work}/kiln.conf", f"{work}/in.safetensors", f"{work}/out.safetensors")
    kiln.ask("steps 2")
    loss = float(kiln.ask("loss"))
    kiln.ask("write")
    kiln.ask("keep")
    kiln.end()
    (worst, where), (of_peer, _) = (worst_update(found, exact, first)
                                    for found in (read_tensors(f"{work}/out.safetensors"), peers))
    sys.stderr.write(f"{network}: loss {exact_loss:.7f}, off by {loss - exact_loss:.1e}, PyTorch's by {peer_loss - exact_loss:.1e}; "
                     f"updates off by {worst:.1e} ({where}), PyTorch's by {of_peer:.1e}\n")
    if not (abs(loss - exact_loss) <= max(LEAST_LOSS, TIMES * abs(peer_loss - exact_loss) / exact_loss) * exact_loss and
            worst <= max(LEAST_UPDATE, TIMES * of_peer)):
        sys.exit(f"step_pictures: {network}: Kiln's error is too large")


def print_figure(case, value, unit, peer_value):
    print(json.dumps({"name": "step-pictures", "case": case, "value": round(value, 1), "unit": unit,
                      "peer": PEER, "peer_value": round(peer_value, 1),
                      "ratio": round(peer_value / value, 3)}), flush=True)


def compare(network, program):
    text, _, _, steps = NETWORKS[network][:4]
    with tempfile.TemporaryDirectory(prefix="kiln-step-pictures-") as work:
        os.environ["KILN_ROOT"] = work
        verify(network, program, work)
        kiln = Process(program, f"{work}/kiln.conf", f"{work}/in.safetensors", f"{work}/out.safetensors")
        peers = [Process(sys.executable, __file__, "peer", network, f"{work}/in.safetensors", memory_format)
                 for memory_format in ("contiguous_format", "channels_last")]
        memory = []
        for process in [kiln, *peers]:  # warm
            process.ask("steps 2")
            memory.append(float(process.ask("memory")))
        rounds = []
        for _ in range(ROUNDS):
            rounds.append([float(process.ask(f"steps {steps}")) for process in [kiln, *peers]])
        for process in [kiln, *peers]:
            process.end()
    value, *of_peers = (statistics.median(column) for column in zip(*rounds))
    faster = of_peers.index(min(of_peers))
    print_figure(text, value / 1000, "ms", of_peers[faster] / 1000)
    if DEVICE == "cpu":
        print_figure(text + ", memory", memory[0] / 1e6, "MB", memory[1 + faster] / 1e6)


def main():
    if sys.argv[1] == "peer":
        peer_main(*sys.argv[2:])
        return
    os.environ.setdefault("POCL_CACHE_DIR", os.path.abspath("build/kernels"))
    os.makedirs(os.environ["POCL_CACHE_DIR"], exist_ok=True)
    torch.set_num_threads(len(os.sched_getaffinity(0)))
    for network in sys.argv[2:] or NETWORKS:
        compare(network, sys.argv[1])


main()
