# SPDX-License-Identifier: Apache-2.0
"""The bits of a safetensors file, for tests that compare weights."""
import hashlib
import json
import struct


def digest(path):
    """Returns a part of the SHA-256 of all tensors, in order of their names; the header's other members do not count."""
    data = open(path, "rb").read()
    n = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8:8 + n])
    tensors = sorted(k for k in header if not k.startswith("__"))
    parts = (data[8 + n + header[k]["data_offsets"][0]:8 + n + header[k]["data_offsets"][1]] for k in tensors)
    return hashlib.sha256(b"".join(parts)).hexdigest()[:16]
