# SPDX-License-Identifier: Apache-2.0
"""Puts the slots of ranks together into the batches of all ranks.

Usage: global_rows.py LANES BATCH_ROWS FILE:FIRST:OWN...   FILE has what fetch_reader --columns printed, for a rank that owns the OWN
lanes from FIRST on. The rows of a lane lie side by side (struct order_part in data/order.h).
Prints a line for each row that is not empty: split, segment, batch, row of the global batch, SHA-256 of its columns. A row that
two ranks give is an error. With PICTURES=FOLDER in the environment, writes the column image of each training batch, as a slot
with all lanes has it, to FOLDER/SEGMENT-BATCH.
"""
import hashlib
import os
import sys

lanes, batch_rows, folder = int(sys.argv[1]), int(sys.argv[2]), os.environ.get("PICTURES")
lane_rows = batch_rows // lanes
found, pictures = {}, {}


def add(batch, first, own, columns):
    rows = len(columns["empty"])
    if lanes > 1 and rows != own * lane_rows:
        sys.exit(f"batch {batch}: {rows} rows, expected {own} lanes of {lane_rows}")
    parts = {name: (data, len(data) // rows) for name, data in columns.items() if name not in ("empty", "quarantine")}
    for i in range(rows):
        row = [data[i * size:(i + 1) * size] for data, size in parts.values()]
        if columns["empty"][i]:
            if any(map(any, row)):
                sys.exit(f"batch {batch}: empty row {i} is not zero")
            continue
        place = batch + (i % lane_rows * lanes + first + i // lane_rows,)
        if place in found:
            sys.exit(f"row {place[3]} of batch {batch} is given twice")
        found[place] = hashlib.sha256(b"".join(row)).hexdigest()
    if folder and batch[0] == 0:
        data, size = parts["image"]
        whole = pictures.setdefault(batch, bytearray(size * batch_rows))
        whole[first * lane_rows * size:first * lane_rows * size + len(data)] = data


for argument in sys.argv[3:]:
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
        batch, columns = tuple(map(int, word[1:4])) if word[0] == "DATA" else None, {}
    if batch:
        add(batch, int(first), int(own), columns)
for (_, segment, number), data in pictures.items():
    open(f"{folder}/{segment}-{number}", "wb").write(data)
for place, digest in sorted(found.items()):
    print(*place, digest)
