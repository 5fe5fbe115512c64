# SPDX-License-Identifier: Apache-2.0
"""Holds out a fifth of each class: transfer_split.py PICTURES OUT MOST. Of PICTURES/CLASS/NAME links come into
OUT/train/CLASS and OUT/test/CLASS, by a hash of the name; at most MOST pictures of a class, 0 = all."""
import hashlib
import os
import sys

pictures, out, most = sys.argv[1], sys.argv[2], int(sys.argv[3])
for label in sorted(os.listdir(pictures)):
    names = sorted(os.listdir(f"{pictures}/{label}"), key=lambda name: hashlib.sha256(f"{label}/{name}".encode()).digest())
    names = names[:most] if most else names
    for split, part in (("test", names[:len(names) // 5]), ("train", names[len(names) // 5:])):
        os.makedirs(f"{out}/{split}/{label}")
        for name in part:
            os.link(f"{pictures}/{label}/{name}", f"{out}/{split}/{label}/{name}")
