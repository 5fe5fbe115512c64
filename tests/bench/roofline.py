#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The least time that each benchmark of a GPU can take on named devices, beside what was measured on an H200: README.md, "On a
GPU". A part of a benchmark takes as long as its arithmetic at the device's peak, or as its bytes at the device's bandwidth,
whichever is longer, without regard to caches that are smaller than a matrix; every launch takes LAUNCH_US of the host. A product of
tiles, its sums in one chunk, has the arithmetic of the units that its groups keep busy: the last groups leave units without
work. Of the sizes of tile, the one counts that leaves the fewest so. The rest is what the kernels or the compiler leave.
Units: 1e12 operations a second, GB/s, microseconds.

A second table has the occupancy: the items of a kernel that a unit of a device holds at once, as a share of the most that it can
hold, by README's table of tools/gpu-static. A product needs few items, because each has many sums under way; a kernel that only
moves bytes needs many.

With --kit it does so for the results of tools/gpu-kit on the device that measured them, the furthest from its least time first, and
says what to look at first.

Usage: roofline.py [README], or roofline.py --kit FOLDER   Exit code 1: README lacks a figure, or a figure is below what the device
can.
"""
import json
import re
import sys
from pathlib import Path

LAUNCH_US = 5.5  # measured, README.md
TILES = (128, 128), (128, 64), (64, 64), (64, 32)  # rows and columns, firmware/model/plan/tiles.h
FLOAT = 4
ADAM_BYTES = 7 * FLOAT  # reads weight, gradient and two moments, writes three of them

# Data sheets of NVIDIA (H200 SXM, H100 SXM, A100 80GB SXM; Ada whitepaper 1.1, table 2) and AMD (MI250, vector FP32 and matrix
# bfloat16, halved: OpenCL shows each of its two dies as a device). Dense, sums of bfloat16 in float32; float16 has the same speed
# on all of them. `items`: the most that a unit holds; `kernels`: the architecture of tools/gpu-static, None where it has none.
DEVICES = {
    "H200": {"float32": 67, "bfloat16": 989, "bytes": 4800, "units": 132, "items": 2048, "kernels": "sm_90"},
    "H100": {"float32": 67, "bfloat16": 989, "bytes": 3350, "units": 132, "items": 2048, "kernels": "sm_90"},
    "A100": {"float32": 19.5, "bfloat16": 312, "bytes": 2039, "units": 108, "items": 2048, "kernels": "sm_80"},
    "MI250": {"float32": 22.6, "bfloat16": 181, "bytes": 1638, "units": 104, "items": 2048, "kernels": "gfx90a"},
    "RTX 4090": {"float32": 82.6, "bfloat16": 165.2, "bytes": 1008, "units": 128, "items": 1536, "kernels": None},
}


for device in DEVICES.values():
    device["float16"] = device["bfloat16"]


def product(m, n, k, kind="float32", size=FLOAT, tiled=False):
    """(kind, operations, bytes, groups) of C [m, n] = A [m, k] x B [k, n]; groups: of each size of tile, none = not taken into account."""
    groups = [-(-m // rows) * -(-n // columns) for rows, columns in TILES] if tiled else []
    return kind, 2 * m * n * k, size * (m * k + k * n + m * n), groups


def convolution(rows, side, channels, filters, kernel):
    """A convolution that keeps the size of the image."""
    positions = rows * side * side
    return ("float32", 2 * positions * filters * channels * kernel * kernel,
            FLOAT * (positions * (channels + filters) + channels * filters * kernel * kernel), [])


def adam(parameters):
    return "float32", 12 * parameters, ADAM_BYTES * parameters, []


def dense_step(sizes, rows, kind="float32", size=FLOAT):
    """A training step: each layer forward and the gradient of its weights; of its input, too, except in the first; Adam. Layers
    of at least 1024 units are taken to have large tiles in float32."""
    parts = []
    for i, (k, n) in enumerate(zip(sizes, sizes[1:])):
        tiled = min(k, n) >= 1024 and kind == "float32"
        parts += [product(*sizes, kind, size, tiled) for sizes in [(rows, n, k), (k, n, rows), (rows, k, n)][:3 if i else 2]]
    return parts + [adam(sum(k * n + n for k, n in zip(sizes, sizes[1:])))]


def counted(operations, size):
    """A network by its operations and the bytes of its weights and activations."""
    return [("float32", operations, size, [])]


# Benchmark: its parts, its launches, and where README has the figure: the start of its row, and in the column "now" the number
# and what makes microseconds of it (or the operations, if the figure is a speed in Tflop/s). Without the latter: not measured yet.
NN = product(512, 4096, 4096, tiled=True)
BENCHES = {
    "step 512-256-16-2, batch 128": (dense_step([512, 256, 16, 2], 128), 8, "a step of 512-256-16-2", r"([\d.]+) to [\d.]+ us", 1),
    "step 1024-4096-4096-10, batch 512": (dense_step([1024, 4096, 4096, 10], 512), 11, "a step of 1024-4096-4096-10",
                                          r"([\d.]+) ms", 1e3),
    "the same in mixed_bfloat16": (dense_step([1024, 4096, 4096, 10], 512, "bfloat16", 2), 13, "the same in `mixed_bfloat16`",
                                   r"([\d.]+);", 1e3),
    "the same in mixed_float16": (dense_step([1024, 4096, 4096, 10], 512, "float16", 2), 13),
    "product 512 x 4096 x 4096": ([NN], 0, "the kernel of a product 512 x 4096 x 4096", r"([\d.]+);", NN),
    "3x3 convolution 64-64, 56 x 56, batch 32": ([convolution(32, 56, 64, 64, 3)], 0, "3x3 convolution", r"([\d.]+);", 1e3),
    "its gradients": ([convolution(32, 56, 64, 64, 3)] * 2, 0, "3x3 convolution", r"; ([\d.]+) ms", 1e3),
    # Convolutions of 3 to 32, 32 to 64 and 64 to 64 channels on 126, 61 and 28 positions a side, and the first dense layer: 0.112e9
    # multiply-adds an image forward, and twice as many backward, less the gradient of the input; 0.98e6 activations an image.
    "step of the small CNN, batch 32": (counted(2 * 32 * 0.322e9, 32 * 3 * 4 * 0.98e6), 30, "a step of the small CNN",
                                        r"([\d.]+) ms", 1e3),
    # 1.82e9 multiply-adds an image forward, twice as many backward; about 374 launches.
    "step of ResNet-18, batch 8": (counted(2 * 3 * 8 * 1.82e9, 8 * 3 * 20e6), 374, "a step of ResNet-18", r"([\d.]+) ms", 1e3),
    # 15.5e9 multiply-adds an image, forward alone.
    "step of VGG16 frozen, batch 8": (counted(2 * 8 * 15.5e9, 8 * 55e6 + 4 * 14.7e6), 30, "a step of VGG16", r"([\d.]+) ms", 1e3),
    "Adam, 21 M parameters": ([adam(21e6)], 0, "Adam, 21 M parameters", r"([\d.]+) us", 1),
    "bfloat16 product 8192 cubed": ([product(8192, 8192, 8192, "bfloat16", 2)], 0, "products of bfloat16 by warp groups",
                                    r"; ([\d.]+) Tflop/s", product(8192, 8192, 8192)),
    "float16 product 8192 cubed": ([product(8192, 8192, 8192, "float16", 2)], 0),
}


# The lines of tools/gpu-kit: what a line begins with, name and case with a colon between, and the benchmark; the operations of a
# speed in Gflop/s.
KIT = [
    ("step-mlp:", "step 512-256-16-2, batch 128", None),
    ("step-mlp-large:", "step 1024-4096-4096-10, batch 512", None),
    ("step-mlp-large-bf16:", "the same in mixed_bfloat16", None),
    ("step-mlp-large-f16:", "the same in mixed_float16", None),
    ("gemm-cpu:NN 512x4096x4096", "product 512 x 4096 x 4096", NN[1]),
    ("conv:3x3 convolution, 64 to 64 channels, 56 x 56, batch 32, forward", "3x3 convolution 64-64, 56 x 56, batch 32", None),
    ("conv:3x3 convolution, 64 to 64 channels, 56 x 56, batch 32, backward", "its gradients", None),
    ("gemm-cpu:NN 8192x8192x8192, bfloat16", "bfloat16 product 8192 cubed", 2 * 8192 ** 3),
    ("gemm-cpu:NN 8192x8192x8192, float16", "float16 product 8192 cubed", 2 * 8192 ** 3),
    ("step-pictures:small CNN", "step of the small CNN, batch 32", None),
    ("step-pictures:ResNet-18", "step of ResNet-18, batch 8", None),
    ("step-pictures:VGG16", "step of VGG16 frozen, batch 8", None),
]
ADVICE = {
    "launches": "the host: results/kernels has the launches of a step, results/feed.json the time that the host needs for them",
    "memory": "the bytes: results/kernels has the time of each kernel, `make gpu-static` the accesses of 16 bytes",
    "arithmetic": "the tiles: results/times has the time of each size, results/kernels the shares of the kernels",
}


def busy(device, groups):
    """The share of a device's units that have work, in the mean, until the last group is done, with the best of these numbers of groups."""
    return max((n / (device["units"] * -(-n // device["units"])) for n in groups), default=1)


def least_us(device, parts, launches):
    """The least time, and what sets it."""
    times = [(1e-6 * n / device[kind] / busy(device, groups), 1e-3 * size / device["bytes"]) for kind, n, size, groups in parts]
    arithmetic, memory = (sum(column) for column in zip(*times))
    kernels = sum(max(pair) for pair in times)
    host = launches * LAUNCH_US
    if host > kernels:
        return host, "launches"
    return kernels, "arithmetic" if arithmetic > memory else "memory"


def print_occupancy(readme):
    """Prints the shares for the devices whose kernels the table of gpu-static has."""
    devices = {name: device for name, device in DEVICES.items() if device["kernels"]}
    heads = re.search(r"^\| float32, items of a group \|(.*)\|$", readme, re.M)
    if not heads:
        sys.exit("roofline: README has no table of gpu-static")
    archs = [head.strip() for head in heads.group(1).split("|")]
    print("\n| items at once, of the most | " + " | ".join(devices) + " |\n" + "| --- " * (1 + len(devices)) + "|")
    for kernel, items, cells in re.findall(r"^\| `(\w+)`, (\d+) \|(.*)\|$", readme, re.M):
        groups = dict(zip(archs, (int(cell.split(";")[-1]) if ";" in cell else None for cell in cells.split("|"))))
        shares = [f"{100 * groups[device['kernels']] * int(items) / device['items']:.0f} %" for device in devices.values()]
        print(f"| `{kernel}` | " + " | ".join(shares) + " |")


def section(readme):
    """The section about GPUs."""
    found = re.search(r"^## On a GPU$(.*?)^## ", readme, re.M | re.S)
    return found.group(1) if found else ""


def measured_us(readme, row, pattern, scale):
    """The figure of the column "now", in microseconds."""
    line = re.search(rf"^\| {re.escape(row)}[^|]*\|[^|]*\|([^|]*)\|", readme, re.M)
    found = re.search(pattern, line.group(1) if line else "")
    if not found:
        sys.exit(f"roofline: README has no figure for {row}")
    value = float(found.group(1))
    return 1e-6 * scale[1] / value if isinstance(scale, tuple) else scale * value


def kit_us(line):
    """The benchmark of a line, and its microseconds; None if it has none. A case must end or go on with a comma."""
    what = f"{line.get('name')}:{line.get('case')}"
    for begin, bench, operations in KIT:
        rest = what[len(begin):]
        if not what.startswith(begin) or not (begin.endswith(":") or rest == "" or (rest[0] in " ," and "float16" not in rest)):
            continue
        value = float(line["value"])
        return bench, operations / value / 1e3 if operations else value * {"ms": 1e3, "us": 1}[line["unit"]]
    return None


def kit_lines(folder):
    """The JSON lines of all parts."""
    for path in sorted(folder.iterdir()):
        if path.is_file():
            for line in path.read_text(errors="replace").splitlines():
                if line.startswith('{"name"'):
                    yield json.loads(line)


def kit(folder):
    """Prints the table of the results of tools/gpu-kit."""
    lines = list(kit_lines(folder))
    description = next((line["device"] for line in lines if "device" in line), "a device that results/device does not name")
    name = next((name for name in DEVICES if name in description), None)
    rows = []
    for bench, measured in filter(None, map(kit_us, lines)):
        parts, launches, *_ = BENCHES[bench]
        least, bound = least_us(DEVICES[name or "H200"], parts, launches)
        rows.append((least / measured, bench, bound, measured, least))
    print(description + ("" if name else ": no data sheet of this device is in roofline.py, so the least times are those of an H200"))
    if not rows:
        print("No part measured a benchmark of the table: look at what each part says below results/ first.")
        return 0
    rows.sort()
    print("| benchmark | bound | measured | least | of the roof |\n| --- | --- | --- | --- | --- |")
    for share, bench, bound, measured, least in rows:
        print(f"| {bench} | {bound} | {measured:.0f} us | {least:.0f} us | {100 * share:.3g} % |")
    print(f"Look first at: {rows[0][1]}, and there at {ADVICE[rows[0][2]]}.")
    return 1 if name and rows[-1][0] > 1 else 0


def main():
    if len(sys.argv) == 3 and sys.argv[1] == "--kit":
        return kit(Path(sys.argv[2]))
    readme = Path(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).with_name("README.md")).read_text()
    readme = section(readme)
    figures = {name: measured_us(readme, *bench[2:]) for name, bench in BENCHES.items() if bench[2:]}
    print("| benchmark | bound on an H200 | measured, H200 | of the roof | " + " | ".join(DEVICES) + " |")
    print("| --- " * (4 + len(DEVICES)) + "|")
    impossible = 0
    for name, (parts, launches, *_) in BENCHES.items():
        least, bound = least_us(DEVICES["H200"], parts, launches)
        measured = figures.get(name)
        impossible += measured is not None and measured < least
        found = f"{measured:.0f} us | {100 * least / measured:.0f} %" if measured else "not measured |"
        times = [f"{least_us(device, parts, launches)[0]:.0f} us" for device in DEVICES.values()]
        print(f"| {name} | {bound} | {found} | " + " | ".join(times) + " |")
    print_occupancy(readme)
    return 1 if impossible else 0


if __name__ == "__main__":
    sys.exit(main())
