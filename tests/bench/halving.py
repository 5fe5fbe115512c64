# SPDX-License-Identifier: Apache-2.0
"""Successive halving against the whole grid: 27 settings, the same seed and data. Prints the epochs that both have trained, and
their best validation accuracies, as JSON lines. Checks that the sum of epochs is that of the trials' run records, and that
a trial which halving trained to the end has the figures of the same trial in the grid.

Usage: halving.py WORK     WORK has kiln.conf and the shards
"""
import glob
import json
import os
import subprocess
import sys

WORK = sys.argv[1]
VARY = """
vary = { optimizer = { learning_rate = [ 0.0001, 0.001, 0.01 ]; };
         model = { layers = { dense = { units = [ 32, 128, 256 ]; }; dropout = { rate = [ 0.0, 0.2, 0.5 ]; }; }; }; };
"""


def series(method):
    node, config = f"{WORK}/{method}", f"{WORK}/{method}.conf"
    with open(config, "w") as file:
        file.write(open(WORK + "/kiln.conf").read().replace("/runs", f"/{method}-runs") + VARY + f'series: {{ method = "{method}"; }};\n')
    subprocess.run([os.environ["KILN_BIN"] + "/kiln", "run", "--config", config], check=True, stdout=sys.stderr,
                   env={**os.environ, "KILN_ROOT": node})
    path, = glob.glob(f"{WORK}/{method}-runs/series/*/series.json")
    record = json.load(open(path))
    assert record["state"] == "finished" and len(record["trials"]) == 27, record
    for trial in record["trials"]:
        run = json.load(open(f"{WORK}/{method}-runs/{trial['run']}/run.json"))
        assert len(run["epochs"]) == trial["epochs"], (trial, run["epochs"])
    return record


def key(trial):
    return json.dumps(trial["overrides"], sort_keys=True)


def main():
    grid, halving = series("grid"), series("halving")
    of_grid = {key(trial): trial for trial in grid["trials"]}
    finished = [trial for trial in halving["trials"] if trial["state"] == "finished"]
    assert finished and all(trial["value"] == of_grid[key(trial)]["value"] for trial in finished), finished
    epochs = [sum(trial["epochs"] for trial in record["trials"]) for record in (halving, grid)]
    best = [max(trial["value"] for trial in record["trials"]) for record in (halving, grid)]
    for case, unit, (value, peer_value) in (("epochs trained", "epochs", epochs), ("best validation accuracy", "fraction", best)):
        ratio = peer_value / value if unit == "epochs" else value / peer_value
        print(json.dumps({"name": "experiments-halving", "case": f"27 trials on MNIST: {case}", "value": value, "unit": unit,
                          "peer": "the whole grid", "peer_value": peer_value, "ratio": round(ratio, 4)}))
    assert best[0] >= best[1] - 0.002, best


main()
