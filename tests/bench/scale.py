#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a step costs on up to 1024 devices, 8 in a box, on paper: the bytes that it exchanges, how long that takes, how much of it
backward does not hide, the rows below which a device does not pay, the store and the memory. README.md, "On many boxes".

The exchange is that of drivers/ranks/ranks.h: a reduce-scatter and an allgather of float32, so each rank sends 2 (world - 1) / world
of the values and 2 (world - 1) messages for each bucket. On several boxes it is hierarchical: the devices of a box through shared
memory, then one leader a box. One thread of a rank does both, one after the other.

An exchange takes as long as its messages or as its bytes, whichever is longer. What a message and a byte take is fitted to the rows of
2 ranks of `make bench-ranks-exchange`; the rows of 4 ranks check the model.

Standard output has JSON lines, standard error the tables. Units: seconds, bytes, bytes a second, unless a name says otherwise.

Usage: scale.py RESULTS [README]   RESULTS: the lines of bench-ranks-exchange; where the file is not there, README's figures count.
Exit code 1: a figure is missing, or the model misses a measured time by more than CHECK_FACTOR.
"""
import bisect
import json
import math
import os
import re
import sys
from dataclasses import dataclass, replace
from pathlib import Path

import roofline

# ---- Assumptions. "Measured" means README.md, "Measured figures" and "On a GPU" ----

WORLDS = 1, 8, 64, 1024  # devices
BOX_DEVICES = 8  # the aim: 8 GPUs x 128 boxes
BUCKET_BYTES = 16 << 20  # planned
FLOAT = 4  # bytes: ranks.h, gradients travel as float32
README_CORES = 2  # cores of the server of README's figures
WIRE_RATE = 100e9 / 8  # bytes/s out of a box, not measured: one link of 100 Gbit/s, and switches that keep up with all boxes
PINNED_RATE = 55e9  # bytes/s between device and pinned memory, measured: H200, PCI Express 5.0 x16
DEVICE_BYTES = 141e9  # NVIDIA's data sheet of the H200 SXM
GATEWAY_RATE = 1.42e9  # bytes/s from one radosgw, measured: plain shards, sustained
PICTURE_BYTES = 138e9 / 1281167  # ImageNet's training files of 2012 by their number
DECODED_RATE = 1330  # pictures/s of a core, measured: 384 x 512 to 224 x 224
RECORD_FRAME_BYTES = 2106 - 512 * FLOAT  # measured: a record of 512 floats, framed
VGG16_PARAMETERS = 138357544  # Simonyan and Zisserman 2014, configuration D, 1000 classes
VGG16_LAUNCHES = 3 * 30  # roofline.py: 30 forward; backward taken as twice as many
MLP_SIZES = [1024] + [8192] * 16 + [10]  # 1.015e9 weights
MLP_LAUNCHES = 11 / 3 * (len(MLP_SIZES) - 1)  # roofline.py: 11 for 3 layers
PAYS = 0.5  # a device pays when at least this share of its time computes
CHECK_FACTOR = 2  # how far the model may miss a measured time, which others' work on the two cores moves as much

# The rows of bench-ranks-exchange, in the order of README's table: floats, link, ranks.
MEASURED_CASES = [(25000000, "shared memory", 2), (25000000, "shared memory", 4), (25000000, "TCP", 2), (25000000, "TCP", 4)]
MEASURED_CASES += [(floats, link, ranks) for floats in (2500000, 148000) for link in ("shared memory", "TCP") for ranks in (2, 4)]


# ---- Measured figures ----

def read_readme(text):
    """The times of bench-ranks-exchange in README's table, in seconds by case."""
    begins = r"25 M floats exchanged between ranks|the same, TCP between|the same with (?:2\.5 M|148 000) floats"
    rows = re.findall(rf"^\| (?:{begins})[^|]*\|([^|]*)\|", text, re.M)
    times = [float(number) / 1e3 for row in rows for number in re.findall(r"\d[\d.]*", row)]
    if len(times) != len(MEASURED_CASES):
        sys.exit(f"scale: README has {len(times)} times of bench-ranks-exchange, expected {len(MEASURED_CASES)}")
    return dict(zip(MEASURED_CASES, times))


def read_results(text):
    """The same from the JSON lines of the benchmark."""
    times = {}
    for line in map(json.loads, text.splitlines()):
        found = re.fullmatch(r"(\d+) floats, (\d+) ranks, ([^,]+)", line["case"])
        if found:
            times[int(found[1]), found[3], int(found[2])] = line["value"] / 1e3
    missing = [case for case in MEASURED_CASES if case not in times]
    if missing:
        sys.exit("scale: the results of bench-ranks-exchange lack the case of %d floats, %s, %d ranks: run it as root" % missing[0])
    return times


def read_measured(results, readme):
    """The times, and the cores of the machine that measured them: of this one, if it has results."""
    if results.exists():
        return read_results(results.read_text()), len(os.sched_getaffinity(0))
    return read_readme(readme), README_CORES


# ---- The exchange ----

@dataclass
class Link:
    message: float  # seconds of a message, if it has few bytes
    rate: float  # bytes/s out of a rank: values that no cache holds
    cached_rate: float  # the same of values of at most CACHED_BYTES
    cores: float = math.inf  # that the ranks share; inf = a rank waits for the link, not for a core


CACHED_BYTES = 2500000 * FLOAT


def bytes_out(size, world):
    """Bytes that a rank sends in an exchange of values of `size` bytes: both halves."""
    return 2 * (world - 1) / world * size


def messages_out(world):
    """Messages that a rank sends for a bucket: one for each other rank in each half."""
    return 2 * (world - 1)


def turns(world, cores):
    """How many ranks a core serves, one after another."""
    return max(1, world / cores)


def exchange_time(link, size, world, buckets=1):
    rate = link.cached_rate if size <= CACHED_BYTES else link.rate
    return max(buckets * messages_out(world) * link.message, turns(world, link.cores) * bytes_out(size, world) / rate)


def fit_link(measured, name, cores):
    """A link by its three times with 2 ranks: the smallest exchange is messages alone, the others are bytes alone."""
    rates = {floats: turns(2, cores) * bytes_out(floats * FLOAT, 2) / measured[floats, name, 2] for floats in (25000000, 2500000)}
    return Link(measured[148000, name, 2] / messages_out(2), rates[25000000], rates[2500000], cores)


def fit_links(measured, cores):
    """Both links of the benchmark. Its ranks in shared memory copy all the time and share the cores; those of TCP mostly wait."""
    return {"shared memory": fit_link(measured, "shared memory", cores), "TCP": fit_link(measured, "TCP", math.inf)}


def check_model(measured, links):
    """Prints predicted and measured times; returns the largest factor between them."""
    worst = 1
    for (floats, name, ranks), found in measured.items():
        predicted = exchange_time(links[name], floats * FLOAT, ranks)
        worst = max(worst, predicted / found, found / predicted)
        say(f"predicted: {floats} floats, {ranks} ranks, {name}", 1e3 * predicted, "ms", peer="measured", peer_value=number(1e3 * found),
            ratio=round(predicted / found, 3))
    return worst


# ---- A step ----

@dataclass
class Network:
    name: str
    parameters: int
    forward: float  # seconds of a row, where there are many
    backward: float
    launches: float  # of a micro-batch
    row_bytes: float  # in the store
    decoded_rate: float  # rows/s that a core decodes; inf = no matter
    weight_bytes: int  # of a weight that a product reads
    rows: int  # of a device in the tables

    @property
    def size(self):
        return FLOAT * self.parameters

    @property
    def buckets(self):
        return math.ceil(self.size / BUCKET_BYTES)


def dense_network(name, gpu_us, adam_us, weight_bytes):
    """The network of 1e9 weights, as fast as the measured step of 1024-4096-4096-10 with 512 rows was without Adam."""
    operations = sum(part[1] for part in roofline.dense_step([1024, 4096, 4096, 10], 512)[:-1])
    row = sum(part[1] for part in roofline.dense_step(MLP_SIZES, 1)[:-1]) * 1e-6 * (gpu_us - adam_us) / operations
    parameters = sum(k * n + n for k, n in zip(MLP_SIZES, MLP_SIZES[1:]))
    return Network(name, parameters, row / 3, row * 2 / 3, MLP_LAUNCHES, MLP_SIZES[0] * FLOAT + RECORD_FRAME_BYTES, math.inf,
                   weight_bytes, 512)


def read_networks(readme):
    """The networks, and the bytes/s of the device's memory, by the times that README has of an H200."""
    gpu = {name: roofline.measured_us(roofline.section(readme), *bench[2:]) for name, bench in roofline.BENCHES.items() if bench[2:]}
    adam_us = gpu["Adam, 21 M parameters"]
    picture = 1e-6 * gpu["step of VGG16 frozen, batch 8"] / 8
    backward = gpu["its gradients"] / gpu["3x3 convolution 64-64, 56 x 56, batch 32"]
    return [
        Network("VGG16", VGG16_PARAMETERS, picture, backward * picture, VGG16_LAUNCHES, PICTURE_BYTES, DECODED_RATE, FLOAT, 32),
        dense_network("MLP", gpu["step 1024-4096-4096-10, batch 512"], adam_us, FLOAT),
        dense_network("MLP, mixed_bfloat16", gpu["the same in mixed_bfloat16"], adam_us, 2),
    ], 21e6 * roofline.ADAM_BYTES / (1e-6 * adam_us)


def pass_times(network, rows, memory_rate):
    """Forward and backward of a micro-batch: by its rows, by the bytes of the weights, or by the launches. Backward has two products where
    forward has one."""
    weights = network.weight_bytes * network.parameters / memory_rate
    launches = network.launches * 1e-6 * roofline.LAUNCH_US / 3
    return max(rows * network.forward, weights, launches), max(rows * network.backward, 2 * weights, 2 * launches)


def step_times(network, rows, world, lanes, memory_rate):
    """Seconds that a device with `rows` rows computes, and how much of that can hide the exchange: the backward pass of the last
    micro-batch, because the sum over the micro-batches is known no earlier. The optimizer is sharded."""
    micro_batches = lanes // world
    forward, backward = pass_times(network, rows / micro_batches, memory_rate)
    update = roofline.ADAM_BYTES * network.parameters / world / memory_rate
    added = (3 * (micro_batches - 1) + 2 * (micro_batches // 2)) * network.size / memory_rate  # parts.h: additions, copies
    return micro_batches * (forward + backward) + update + added, backward


def box_ranks(world):
    """The devices of a box, and the boxes."""
    return min(world, BOX_DEVICES), math.ceil(world / BOX_DEVICES)


def exchange_parts(network, world, links):
    """Seconds of each part of the exchange of a step. `links`: within a box, between boxes."""
    local, boxes = box_ranks(world)
    return {
        "copies": 2 * network.size / PINNED_RATE if world > 1 else 0,
        "box": exchange_time(links[0], network.size, local, network.buckets),
        "boxes": exchange_time(links[1], network.size, boxes, network.buckets),
    }


def whole_exchange(parts):
    """The thread of a rank exchanges within and between boxes; the copies have a queue of their own beside it."""
    return max(parts["copies"], parts["box"] + parts["boxes"])


def flat_exchange(network, world, link):
    """The same without leaders: each rank sends to all others, and the devices of a box share its wire."""
    shared = replace(link, rate=min(link.rate, WIRE_RATE / BOX_DEVICES))
    return exchange_time(shared, network.size, world, network.buckets)


def exposed_time(exchange, hiding, buckets):
    """What backward does not hide: at least the last bucket."""
    return max(exchange / buckets, exchange - hiding)


def efficiency(network, rows, world, links, memory_rate):
    """The share of the time of a device that computes; as many lanes as devices."""
    computes, hiding = step_times(network, rows, world, world, memory_rate)
    exposed = exposed_time(whole_exchange(exchange_parts(network, world, links)), hiding, network.buckets)
    return computes / (computes + exposed)


def paying_rows(network, world, links, memory_rate):
    """The least rows of a device with which it pays. More rows never make it worse."""
    return bisect.bisect_left(range(1 << 30), PAYS, lo=1, key=lambda rows: efficiency(network, rows, world, links, memory_rate))


# ---- Store and memory ----

def device_bytes(parameters, world, lanes, copies=0):
    """Weights, gradients, further gradients of the tree over the micro-batches of a device, Adam's sharded moments, and the copies of the
    weights that mixed precision reads. Without activations."""
    gradients = 1 + math.ceil(math.log2(lanes // world))
    return parameters * (FLOAT + FLOAT * gradients + 2 * FLOAT / world + copies)


def most_parameters(world, copies=0):
    """The weights that fit in a device, without activations."""
    return DEVICE_BYTES / device_bytes(1, world, world, copies)


# ---- Tables ----

def number(value):
    return float(f"{value:.4g}")


def say(case, value, unit, **more):
    print(json.dumps({"name": "scale", "case": case, "value": number(value), "unit": unit, **more}))


def print_row(cells):
    print("| " + " | ".join(str(cell) for cell in cells) + " |", file=sys.stderr)


def print_head(cells):
    print_row(cells)
    print("| --- " * len(cells) + "|", file=sys.stderr)


def short(value):
    """Three digits, and no exponent."""
    value = float(f"{value:.3g}")
    return f"{value:.0f}" if value >= 100 else f"{value:g}"


def outlook(network, world, links, memory_rate):
    """What the table has of a network over links, by name: the times in ms."""
    _, hiding = step_times(network, network.rows, world, world, memory_rate)
    parts = exchange_parts(network, world, links)
    return {
        "box": 1e3 * parts["box"],
        "boxes": 1e3 * parts["boxes"],
        "without leaders": 1e3 * flat_exchange(network, world, links[1]) if world > BOX_DEVICES else 1e3 * parts["box"],
        "exposed": 1e3 * exposed_time(whole_exchange(parts), hiding, network.buckets),
        "computing": 100 * efficiency(network, network.rows, world, links, memory_rate),
        "pays from": paying_rows(network, world, links, memory_rate),
    }


UNITS = {"computing": "%", "pays from": "rows of a device"}  # of an outlook; the others are ms


def print_exchanges(networks, memory_rate, pairs):
    print_head(["network, rows of a device", "devices", "MB out of a leader, a step", "computing, ms",
                "exchange, ms: box; boxes; without leaders", "exposed, ms", "a device computes", "it pays from rows; rows of the batch"])
    for network in networks:
        for world in WORLDS:
            found = {name: outlook(network, world, links, memory_rate) for name, links in pairs.items()}
            for name, line in found.items():
                for what, value in line.items():
                    say(f"{network.name}, {network.rows} rows, world {world}, {name}: {what}", value, UNITS.get(what, "ms"))
            sent = sum(bytes_out(network.size, ranks) for ranks in box_ranks(world))
            say(f"{network.name}, world {world}: out of a leader", 1e-6 * sent, "MB/step")
            cells = [[short(line["box"]) + "; " + short(line["boxes"]) + "; " + short(line["without leaders"]), short(line["exposed"]),
                      short(line["computing"]) + " %", short(line["pays from"]) + "; " + short(line["pays from"] * world)] for line in found.values()]
            computes, _ = step_times(network, network.rows, world, world, memory_rate)
            print_row([f"{network.name}, {network.rows}", world, short(1e-6 * sent), short(1e3 * computes), *map(" / ".join, zip(*cells))])


def print_needs(networks, memory_rate):
    print(file=sys.stderr)
    print_head(["network, if nothing is exposed", "devices", "rows/s", "from the store, GB/s", "gateways", "cores of a box that decode",
                "GB in a device without activations", "most weights, 1e9"])
    for network in networks:
        for world in WORLDS:
            speed = network.rows * world / step_times(network, network.rows, world, world, memory_rate)[0]
            store = speed * network.row_bytes
            copies = network.weight_bytes if network.weight_bytes < FLOAT else 0
            used = device_bytes(network.parameters, world, world, copies)
            say(f"{network.name}, world {world}: from the store", 1e-9 * store, "GB/s")
            say(f"{network.name}, world {world}: in a device without activations", 1e-9 * used, "GB")
            print_row([network.name, world, short(speed), short(1e-9 * store), math.ceil(store / GATEWAY_RATE),
                       short(speed / box_ranks(world)[1] / network.decoded_rate), short(1e-9 * used),
                       short(1e-9 * most_parameters(world, copies))])


def main():
    folder = Path(__file__).parent
    results = Path(sys.argv[1])
    readme = (Path(sys.argv[2]) if len(sys.argv) > 2 else folder / "README.md").read_text()
    measured, cores = read_measured(results, readme)
    links = fit_links(measured, cores)
    worst = check_model(measured, links)
    box = replace(links["shared memory"], cores=math.inf)  # a core for each device
    wire = Link(box.message, WIRE_RATE, WIRE_RATE)
    pairs = {
        "TCP as measured": (box, links["TCP"]),
        "100 Gbit/s": (box, wire),
        "100 Gbit/s, the rest free": (Link(0, math.inf, math.inf), replace(wire, message=0)),
    }
    networks, memory_rate = read_networks(readme)
    print_exchanges(networks, memory_rate, pairs)
    print_needs(networks, memory_rate)
    places = re.search(r"^#define CURSOR_PLACES_MAX (\d+)u$", (folder / "../../firmware/core/ring/cursor.h").read_text(), re.M)
    say("lanes of a run with one source, so ranks", int(places.group(1)), "at most")
    say("the largest factor between a predicted and a measured time", worst, "x")
    if worst > CHECK_FACTOR:
        print(f"scale: a predicted time is {worst:.3g} times off a measured one, at most {CHECK_FACTOR} is expected", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
