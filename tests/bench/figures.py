# SPDX-License-Identifier: Apache-2.0
"""Compares Kiln's rounds with a peer's: medians as JSON lines, ratio > 1 where Kiln is better.

Usage: figures.py NAME PEER KILN PEERS UNIT...    files with lines: records bytes seconds CPU-seconds

A case is its unit; where the file of Kiln's rounds is not called kiln, what it is called comes with it.
"""
import json
import os
import statistics
import sys

MEASURES = {  # of a round; whether more is better
    "GB/s": (lambda records, size, wall, cpu: size / wall / 1e9, True),
    "records/s": (lambda records, size, wall, cpu: records / wall, True),
    "records/CPU-s": (lambda records, size, wall, cpu: records / cpu, True),
    "CPU-s/GB": (lambda records, size, wall, cpu: cpu / size * 1e9, False),
}


def rounds(path):
    return [[float(word) for word in line.split()] for line in open(path)]


name, peer, *files = sys.argv[1:5]
kind = os.path.basename(files[0])
for unit in sys.argv[5:]:
    value_of, more_is_better = MEASURES[unit]
    value, peer_value = (statistics.median(value_of(*line) for line in rounds(path)) for path in files)
    ratio = value / peer_value if more_is_better else peer_value / value
    print(json.dumps({"name": name, "case": unit if kind == "kiln" else f"{unit} {kind}", "value": float(f"{value:.4g}"), "unit": unit, "peer": peer,
                      "peer_value": float(f"{peer_value:.4g}"), "ratio": round(ratio, 3)}))
