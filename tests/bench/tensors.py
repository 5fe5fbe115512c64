# SPDX-License-Identifier: Apache-2.0
"""Safetensors files as dictionaries of numpy arrays: github.com/huggingface/safetensors, README "Format"."""
import json

import numpy

TYPES = {"F32": numpy.float32, "I64": numpy.int64, "U8": numpy.uint8}


def read_tensors(path):
    data = open(path, "rb").read()
    size = int.from_bytes(data[:8], "little")
    header = json.loads(data[8:8 + size])
    found = {}
    for name, tensor in header.items():
        if name == "__metadata__":
            continue
        begin, end = tensor["data_offsets"]
        kind = numpy.dtype(TYPES[tensor["dtype"]])
        found[name] = numpy.frombuffer(data, kind, (end - begin) // kind.itemsize, 8 + size + begin).reshape(tensor["shape"])
    return found


def write_tensors(path, tensors):
    header, at = {}, 0
    for name, numbers in tensors.items():
        kind = next(kind for kind, of in TYPES.items() if numbers.dtype == of)
        header[name] = {"dtype": kind, "shape": list(numbers.shape), "data_offsets": [at, at + numbers.nbytes]}
        at += numbers.nbytes
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as out:
        out.write(len(text).to_bytes(8, "little") + text)
        for numbers in tensors.values():
            out.write(numpy.ascontiguousarray(numbers).tobytes())
