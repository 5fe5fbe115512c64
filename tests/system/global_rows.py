# SPDX-License-Identifier: Apache-2.0
"""Puts the batches of ranks together as one rank gives them.

Usage: global_rows.py LANES BATCH_ROWS FOLDER FILE:FIRST:OWN...   FILE has what fetch_reader --columns printed, for a rank that
owns the OWN lanes from FIRST on (data/order.h). Its row i is of lane FIRST + i % OWN.
Prints a line for each row of training: segment, batch, row of the global batch, SHA-256 of its columns. Writes the pictures of
each global batch to FOLDER/SEGMENT-BATCH, rows that no rank gives are zeros.
"""
import hashlib
import sys

lanes, batch_rows, folder = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
found, pictures = {}, {}


def add(batch, first, own, columns):
    rows = len(columns["empty"])
    for i in (i for i in range(rows) if not columns["empty"][i]):
        row = i // own * lanes + first + i % own
        parts = {name: data[len(data) // rows * i:len(data) // rows * (i + 1)] for name, data in columns.items()}
        if batch + (row,) in found:
            sys.exit(f"row {row} of batch {batch[1]}, segment {batch[0]}: given twice")
        found[batch + (row,)] = hashlib.sha256(parts["image"] + parts["label"]).hexdigest()
        size = len(parts["image"])
        whole = pictures.setdefault(batch, bytearray(size * batch_rows))
        whole[size * row:size * (row + 1)] = parts["image"]


for argument in sys.argv[4:]:
    path, first, own = argument.rsplit(":", 2)
    batch, columns = None, {}
    for line in open(path):
        word = line.split()
        if word[0] == "ROW":
            continue
        if word[0] == "COLUMN":
            columns[word[1]] = bytes.fromhex(word[3]) if len(word) > 3 else b""
            continue
        if batch:
            add(batch, int(first), int(own), columns)
        batch, columns = (int(word[2]), int(word[3])) if word[:2] == ["DATA", "0"] else None, {}
    if batch:
        add(batch, int(first), int(own), columns)
for batch, data in pictures.items():
    open(f"{folder}/{batch[0]}-{batch[1]}", "wb").write(data)
for place, digest in sorted(found.items()):
    print(*place, digest)
