# SPDX-License-Identifier: Apache-2.0
"""Writes weights for the base of a configuration, with Keras's names and seeded numbers, as safetensors:
base_weights.py KILN CONFIG OUT [LEFT OUT [ONE MORE]]"""
import array
import json
import math
import random
import struct
import subprocess
import sys


def shapes_of(layers):
    shapes, channels, before = {}, {}, ""
    for layer in layers:
        name, kind, width = layer["name"], layer["type"], layer["output_shape"][-1]
        into = channels.get((layer.get("inputs") or [before])[0], 3)
        if kind == "conv2d":
            size = round((layer["params"] / into / width) ** 0.5)
            shapes[f"{name}/kernel"] = [size, size, into, width]
        elif kind == "depthwise_conv2d":
            size = round((layer["params"] / into) ** 0.5)
            shapes[f"{name}/kernel"] = [size, size, into, 1]
        elif kind == "batch_norm":
            shapes.update({f"{name}/{p}": [width] for p in ("gamma", "beta", "moving_mean", "moving_variance")})
        channels[name], before = width, name
    return shapes


def numbers_of(name, shape, rng):
    """Kernels of as much noise as keeps the size of activations; batch_norm does nothing yet."""
    if len(shape) == 1:
        return [float(name.endswith(("gamma", "moving_variance")))] * shape[0]
    most = math.sqrt(6 / (shape[0] * shape[1] * (shape[2] if shape[3] > 1 else 1)))
    return [most * (2 * rng.random() - 1) for _ in range(math.prod(shape))]


def main():
    kiln, config, out, lacks, more = (sys.argv[1:] + ["", ""])[:5]
    said = subprocess.run([kiln, "model", "summary", config, "--json"], capture_output=True, check=True).stdout
    shapes = shapes_of(json.loads(said)["layers"])
    shapes.pop(lacks, None)
    if more:
        shapes[more] = [4]
    rng, header, data = random.Random(44), {}, array.array("f")
    for name, shape in shapes.items():
        at = 4 * len(data)
        data.extend(numbers_of(name, shape, rng))
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [at, 4 * len(data)]}
    text = json.dumps(header).encode()
    with open(out, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + data.tobytes())


main()
