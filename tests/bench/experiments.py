# SPDX-License-Identifier: Apache-2.0
"""Eight settings of the article's network in one series of Kiln. Shards and results are in the same S3 server.

e2e    against the article's program (tf.data and Keras), called once for each setting: wall time and CPU-seconds
bytes  against eight single runs of Kiln, one for each setting: bytes of objects that the server has sent
gap    from the end of a trial to the start of the next one's training, in turn: medians, and their share of the series; then,
       where each trial has a copy of the data of its own, how long its trainer waits for batches, the first trial apart

Every round checks that each trial is finished, that its model is in the bucket, and that the test accuracies are those of
the other side: for `bytes` to the last digit, as a trial has the bits of a single run. Prints JSON lines; a ratio > 1 means
that Kiln is better.

Usage: experiments.py e2e|bytes|gap WORK CONFIG     S3 server in the environment, with its admin socket in WORK/s3/run; WORK is a
       scratch folder; CONFIG is the article's kiln.conf, to which the settings are added
       KILN_BENCH_ROUNDS: how many rounds of e2e and of gap (3), interleaved
"""
import glob
import json
import os
import shutil
import statistics
import subprocess
import sys
import time

import nights

ROUNDS, EPOCHS = int(os.environ.get("KILN_BENCH_ROUNDS", 3)), 10
SETTINGS = [(name, rate) for name in ("adam", "sgd") for rate in (0.0003, 0.001, 0.003, 0.01)]


def setting(name, rate):
    return f'optimizer: {{ name = "{name}"; learning_rate = {rate}; }};\n'


def write(path, base, text):
    with open(path, "w") as file:
        file.write(open(base).read() + text)
    return path


def night(node, config):
    """Returns wall, CPU-seconds, and the record of the series."""
    os.makedirs(node, exist_ok=True)
    before = set(nights.objects("runs/series/"))
    wall, cpu, _ = nights.timed([nights.BIN + "/kiln", "run", "--config", config], KILN_ROOT=node)
    key, = [key for key in set(nights.objects("runs/series/")) - before if key.endswith("series.json")]
    record = json.load(nights.bucket().get_object(Bucket=nights.BUCKET, Key="runs/series/" + key)["Body"])
    assert record["state"] == "finished" and len(record["trials"]) == len(SETTINGS), record
    return wall, cpu, record


def series(node, config):
    """Returns wall, CPU-seconds, and the test accuracies in the order of SETTINGS."""
    wall, cpu, record = night(node, config)
    accuracies = {}
    for trial in record["trials"]:
        left = nights.objects(f"runs/{trial['run']}/")
        assert trial["state"] == "finished" and trial["epochs"] == EPOCHS and left.get("model/model.safetensors"), (trial, sorted(left))
        key = trial["overrides"]["optimizer.name"], trial["overrides"]["optimizer.learning_rate"]
        accuracies[key] = trial["summary"]["test_accuracy"]
    return wall, cpu, [accuracies[key] for key in SETTINGS]


def keras(number, classes):
    """The article's program, called for each setting. Returns wall, CPU-seconds, accuracies, version."""
    wall, cpu, accuracies = 0, 0, []
    for at, (name, rate) in enumerate(SETTINGS):
        prefix = f"keras/{number}/{at}"
        night = nights.peer_night([sys.executable, "tests/bench/article.py", "keras", f"s3://{nights.BUCKET}/data",
                                   f"s3://{nights.BUCKET}/{prefix}", str(EPOCHS), classes, name, str(rate)], prefix, EPOCHS)
        wall, cpu = wall + night[0], cpu + night[1]
        accuracies.append(night[2])
    return wall, cpu, accuracies, night[3]


def sent():
    """Bytes of objects that the server has sent so far."""
    socket, = glob.glob(sys.argv[2] + "/s3/run/client.rgw.asok")
    out = subprocess.run(["ceph", "--admin-daemon", socket, "perf", "dump"], check=True, stdout=subprocess.PIPE).stdout
    return json.loads(out)["rgw"]["get_b"]


def bench_e2e(node, config, base):
    series(node, config)
    ours, theirs = [], []
    for number in range(ROUNDS):
        ours.append(series(node, config))
        theirs.append(keras(number, os.environ["KILN_BENCH_CLASSES"]))
        best = [max(night[2]) for night in (ours[-1], theirs[-1])]
        assert abs(best[0] - best[1]) < 0.02, ("best test accuracies", best)
    for case, unit, column in (("wall", "s", 0), ("CPU", "CPU-s", 1)):
        value, peer_value = (statistics.median(night[column] for night in nights_) for nights_ in (ours, theirs))
        print(json.dumps({"name": "experiments-e2e", "case": f"{len(SETTINGS)} trials: {case}", "value": float(f"{value:.4g}"),
                          "unit": unit, "peer": theirs[-1][3], "peer_value": float(f"{peer_value:.4g}"),
                          "ratio": round(peer_value / value, 2)}), flush=True)


def bench_bytes(node, config, base):
    start = sent()
    together = series(node, config)[2]
    middle = sent()
    single = []
    for at, (name, rate) in enumerate(SETTINGS):
        single.append(nights.kiln_night(f"{node}.{at}", write(f"{sys.argv[2]}/{at}.conf", base, setting(name, rate)), EPOCHS)[2])
    value, peer_value = middle - start, sent() - middle
    assert together == single, ("test accuracies", together, single)
    print(json.dumps({"name": "experiments-bytes", "case": f"{len(SETTINGS)} trials: sent by the store", "value": value,
                      "unit": "bytes", "peer": f"{len(SETTINGS)} single runs", "peer_value": peer_value,
                      "ratio": round(peer_value / value, 2)}))


def gaps(node, config):
    """Returns the seconds in which no trial trained between the first and the last one, and the seconds of all."""
    log = subprocess.Popen([nights.BIN + "/kiln", "run", "--config", config], env={**os.environ, "KILN_ROOT": node},
                           stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    began, ended = [], []
    for line in log.stderr:
        if "traind: starting from initial weights" in line:
            began.append(time.monotonic())
        elif "traind: " in line and "finished after" in line:
            ended.append(time.monotonic())
    assert log.wait() == 0 and len(began) == len(ended) == len(SETTINGS), (began, ended)
    return [after - before for before, after in zip(ended, began[1:])], ended[-1] - began[0]


def own_data():
    """Copies the shards for each trial, and returns the trials as text."""
    values = []
    for at, pair in enumerate(SETTINGS):
        for key in nights.objects("data/"):
            nights.bucket().copy_object(Bucket=nights.BUCKET, Key=f"data-{at}/{key}", CopySource=f"{nights.BUCKET}/data/{key}")
        source = f'source = {{ url = "s3://{nights.BUCKET}/data-{at}"; }};'
        values.append(f'{{ name = "trial-{at}"; overrides = {{ {source} {setting(*pair).strip()} }}; }}')
    return ", ".join(values)


def waits(node, config):
    """Returns how long the trainers of all trials but the first waited for batches, on a node whose cache has no shard."""
    shutil.rmtree(node + "/data/kiln/cache/objects", ignore_errors=True)
    runs = [trial["run"] for trial in night(node, config)[2]["trials"]]
    return [json.load(nights.bucket().get_object(Bucket=nights.BUCKET, Key=f"runs/{run}/run.json")["Body"])["time"]["waiting_s"]
            for run in runs[1:]]


def bench_gap(node, config, base):
    series(node, config)
    rounds = [gaps(node, config) for _ in range(ROUNDS)]
    value = statistics.median(statistics.median(each) for each, _ in rounds)
    print(json.dumps({"name": "experiments-gap", "case": f"between two of {len(SETTINGS)} trials", "value": round(value, 3), "unit": "s"}))
    print(json.dumps({"name": "experiments-gap", "case": "their share of the series",
                      "value": round(statistics.median(sum(each) / wall for each, wall in rounds), 3), "unit": "fraction"}), flush=True)
    own = write(sys.argv[2] + "/own.conf", base, f"experiments = ( {own_data()} );\npromote: {{ objective = \"test.accuracy\"; }};\n")
    value = statistics.median(wait for _ in range(ROUNDS) for wait in waits(node, own))
    print(json.dumps({"name": "experiments-gap", "case": "data of its own: wait for batches", "value": round(value, 3), "unit": "s"}))


def main():
    what, work, base = sys.argv[1:]
    values = ", ".join(f'{{ name = "trial-{at}"; overrides = {{ {setting(*pair).strip()} }}; }}' for at, pair in enumerate(SETTINGS))
    config = write(work + "/series.conf", base, f"experiments = ( {values} );\npromote: {{ objective = \"test.accuracy\"; }};\n")
    {"e2e": bench_e2e, "bytes": bench_bytes, "gap": bench_gap}[what](work + "/node", config, base)


main()
