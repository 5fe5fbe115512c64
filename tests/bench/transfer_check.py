# SPDX-License-Identifier: Apache-2.0
"""Looks at a finished run of run-transfer-e2e: transfer_check.py SET RUN FOLDER SECONDS. Compares its test accuracy with that of
the peer (FOLDER/peer.json), and its exports in onnxruntime and TensorFlow with `kiln predict` on the same pixels
(FOLDER/png, FOLDER/pixels.npz). Prints JSON lines. With FEW test pictures or more, the accuracy has to be within a point."""
import json
import os
import statistics
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../interop"))
import numpy as np
import pictures

POINT, FEW = 0.01, 100


def line(case, value, unit, **more):
    print(json.dumps({"name": "transfer-e2e", "case": case, "value": value, "unit": unit, **more}), flush=True)


def main():
    of, run, folder, seconds = sys.argv[1:]
    peer, record = json.load(open(f"{folder}/peer.json")), json.load(open(f"{run}/run.json"))
    ours, theirs = record["metrics"]["test"]["accuracy"], statistics.mean(peer["accuracies"])
    assert record["metrics"]["test"]["rows"] == peer["test"], (record["metrics"], peer["test"])
    line(f"{of}: test accuracy", ours, "fraction", peer=peer["peer"], peer_value=round(theirs, 4), ratio=round(ours / theirs, 4))
    line(f"{of}: seconds of the night", round(float(seconds), 1), "s")
    pixels = np.load(f"{folder}/pixels.npz")["pixels"]
    for form, difference in pictures.differences(f"{run}/model", f"{folder}/png", pixels).items():
        line(f"{of}: largest difference between {form} and kiln predict", float(f"{difference:.2e}"), "probability")
        assert difference <= pictures.LIMIT, (form, difference)
    assert peer["test"] < FEW or ours >= theirs - POINT, ("test accuracies", ours, theirs, peer["accuracies"])


main()
