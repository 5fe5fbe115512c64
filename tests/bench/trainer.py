# SPDX-License-Identifier: Apache-2.0
"""The trainer as it runs at night, under the clock, against Keras on the same shards: the article's network, batches of
128 rows of 512 floats. Medians as JSON lines; a ratio > 1 means that Kiln is better. The results are checked first.

Usage: trainer.py checkpoint-stall | cold-start | memory      (KILN_BENCH_ROUNDS: how many rounds, 5)
       trainer.py keras FOLDER EPOCHS                         (the peer: a process of its own)
"""
import glob
import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
os.environ["CUDA_VISIBLE_DEVICES"] = "-1"
ROUNDS = int(os.environ.get("KILN_BENCH_ROUNDS", 5))
BUILD, BIN = os.environ["KILN_BUILD"], os.environ["KILN_BIN"]
SHARDS, RECORDS, ROWS, INPUTS = 10, 3000, 128, 512
CONFIG = """
run: {{ name = "bench"; epochs = {epochs}; batch_rows = 128; }};
source: {{ url = "file://{data}"; }};
sink: {{ url = "file://{work}/runs"; }};
split: {{ validation_percent = 0; test_glob = ""; }};
ring: {{ small_pages = true; }};
fetch: {{ memory_bytes = 134217728; }};
{more}
"""


# ---- Kiln ----

class Node:
    """A node with a run of its own; it uses the kernels that an earlier node compiled."""

    def __init__(self, work, name, epochs, more, kernels=None):
        self.root = f"{work}/{name}"
        os.makedirs(self.root + "/data/kiln")
        if kernels:
            shutil.copytree(kernels + "/data/kiln/cache", self.root + "/data/kiln/cache")
        with open(self.root + "/kiln.conf", "w") as out:
            out.write(CONFIG.format(epochs=epochs, data=work + "/shards", work=self.root, more=more))
        self.environment = {**os.environ, "KILN_ROOT": self.root}
        self.id = subprocess.run([BIN + "/kiln-oneshot", "begin", "--config", self.root + "/kiln.conf"], check=True,
                                 env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                 text=True).stdout.strip()
        self.spool = f"{self.root}/data/kiln/spool/traind/{self.id}"
        self.fetchd = self.start("fetchd")

    def start(self, program):
        return subprocess.Popen([f"{BIN}/kiln-{program}"], env=self.environment,
                                stderr=open(self.root + "/log", "a"))

    def fetchd_waits(self):
        """Waits until fetchd has started; that time does not count."""
        until = time.monotonic() + 20
        last = -1
        while time.monotonic() < until:
            now = sum(float(x) for x in open(f"/proc/{self.fetchd.pid}/stat").read().rsplit(") ", 1)[1].split()[11:13])
            if now == last and os.path.exists(self.root + "/data/kiln/run/current/plan"):
                return
            last = now
            time.sleep(0.2)

    def points(self):
        """(step, wall time) of the points by step, as TensorFlow reads them."""
        import tensorflow as tf
        found = []
        for path in sorted(glob.glob(self.spool + "/logs/steps/events*")):
            for record in tf.data.TFRecordDataset(path):
                event = tf.compat.v1.Event.FromString(record.numpy())
                if event.summary.value:
                    found.append((event.step, event.wall_time))
        return found

    def accuracy(self):
        return json.load(open(self.root + "/data/kiln/run/current/run.json"))["epochs"][-1]["accuracy"]

    def close(self):
        if self.fetchd.poll() is None:
            self.fetchd.kill()
        self.fetchd.wait()
        subprocess.run([BIN + "/kiln-oneshot", "release"], env=self.environment)


def run_whole(node):
    """Runs traind to the run's end and returns its peak resident memory in bytes."""
    traind = node.start("traind")
    _, status, usage = os.wait4(traind.pid, 0)
    assert status == 0, open(node.root + "/log").read()
    node.fetchd.wait()
    return usage.ru_maxrss * 1024


def say(case, value, unit, peer, peer_value, **more):
    print(json.dumps({"name": sys.argv[1], "case": case, "value": float(f"{value:.4g}"), "unit": unit, "peer": peer,
                      "peer_value": float(f"{peer_value:.4g}"), **more}), flush=True)


# ---- The peer ----

def keras(folder, epochs):
    """The article's program on the same shards; prints the seconds to its first step, its accuracy, its peak."""
    start = float(os.environ["KILN_BENCH_START"])
    import tensorflow as tf
    from peer import keras_network
    features = {"sentence": tf.io.FixedLenFeature([INPUTS], tf.float32), "label": tf.io.FixedLenFeature([2], tf.int64)}
    data = tf.data.TFRecordDataset(sorted(glob.glob(folder + "/train-*")))
    data = data.shuffle(4096, seed=44).batch(ROWS).map(lambda rows: tf.io.parse_example(rows, features))
    data = data.map(lambda row: (row["sentence"], row["label"])).prefetch(2)
    model = keras_network(INPUTS)
    first = []

    class First(tf.keras.callbacks.Callback):
        def on_train_batch_end(self, batch, logs=None):
            if not first:
                first.append(time.time() - start)

    history = model.fit(data, epochs=epochs, verbose=0, callbacks=[First()])
    print(first[0], history.history["accuracy"][-1], resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
          tf.keras.__version__)


def keras_round(work, epochs):
    out = subprocess.run([sys.executable, __file__, "keras", work + "/shards", str(epochs)], check=True, text=True,
                         stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                         env={**os.environ, "KILN_BENCH_START": str(time.time())}).stdout.split()
    return float(out[0]), float(out[1]), float(out[2]), "keras-" + out[3]


# ---- The benchmarks ----

def cold_start(work, kernels):
    """Time from exec to the end of the first step. The kernels are in the cache, fetchd is ready and waits for the trainer
    to say where to begin, and the shards are in memory, also for Keras."""
    ours, theirs = [], []
    for number in range(ROUNDS):
        node = Node(work, f"cold{number}", 1, "tensorboard: { every_steps = 1; };", kernels)
        node.fetchd_waits()
        start = time.time()
        run_whole(node)
        step, when = node.points()[0]
        assert step == 1 and node.accuracy() > 0.8, (step, node.accuracy())
        ours.append(when - start)
        node.close()
        seconds, accuracy, _, peer = keras_round(work, 1)
        assert accuracy > 0.8, accuracy
        theirs.append(seconds)
    value, peer_value = statistics.median(ours), statistics.median(theirs)
    say("process start to first step", value * 1e3, "ms", peer, peer_value * 1e3, ratio=round(peer_value / value, 2))


def memory(work, kernels):
    ours, theirs = [], []
    for number in range(ROUNDS):
        node = Node(work, f"memory{number}", 3, "", kernels)
        ours.append(run_whole(node))
        assert node.accuracy() > 0.9, node.accuracy()
        node.close()
        _, accuracy, peak, peer = keras_round(work, 3)
        assert accuracy > 0.9, accuracy
        theirs.append(peak)
    value, peer_value = statistics.median(ours), statistics.median(theirs)
    say("peak resident memory of the trainer, 3 epochs", value / 1e6, "MB", peer, peer_value / 1e6,
        ratio=round(peer_value / value, 2))


def step_times(work, name, more, kernels):
    """Seconds between two steps of an epoch, and how many checkpoints were written in that time."""
    node = Node(work, name, 4, more + " tensorboard: { every_steps = 1; histogram_epochs = 0; };", kernels)
    run_whole(node)
    points, per_epoch = node.points(), -(-SHARDS * RECORDS // ROWS)
    taken = len(glob.glob(node.spool + "/checkpoints/*"))
    assert node.accuracy() > 0.9 and [step for step, _ in points] == list(range(1, 4 * per_epoch + 1))
    node.close()
    return [b[1] - a[1] for a, b in zip(points, points[1:]) if a[0] % per_epoch], taken


def percentile(values, share):
    return sorted(values)[int(share * (len(values) - 1))]


def checkpoint_stall(work, kernels):
    """Compares a checkpoint every 20 steps (where the disk can keep up), far more than usual, with none: by how much the
    slowest of 100 steps is slower. A value is the median of rounds."""
    stalls, with_, without = [], [], []
    for number in range(ROUNDS):
        often, taken = step_times(work, f"often{number}", "checkpoint: { every_steps = 20; };", kernels)
        never, _ = step_times(work, f"never{number}", "checkpoint: { every_steps = 0; };", kernels)
        assert taken >= len(often) // 100, taken  # enough checkpoints to show in the percentile
        with_.append(percentile(often, 0.99))
        without.append(percentile(never, 0.99))
        stalls.append((with_[-1] - without[-1]) / statistics.median(never))
    say("step time, 99th percentile, a checkpoint every 20 steps", statistics.median(with_) * 1e3, "ms", "no checkpoints",
        statistics.median(without) * 1e3, stall_steps=round(statistics.median(stalls), 3),
        ratio=round(statistics.median(without) / statistics.median(with_), 3))


def main():
    if sys.argv[1] == "keras":
        return keras(sys.argv[2], int(sys.argv[3]))
    work = tempfile.mkdtemp(prefix="kiln-trainer-", dir="/dev/shm" if sys.argv[1] != "checkpoint-stall" else None)
    try:
        subprocess.run([BUILD + "/system/make_shards", work + "/shards", "train", str(SHARDS), str(RECORDS), "plain",
                        str(INPUTS)], check=True)
        first = Node(work, "first", 1, "")
        run_whole(first)
        first.close()
        {"cold-start": cold_start, "memory": memory, "checkpoint-stall": checkpoint_stall}[sys.argv[1]](work, first.root)
    finally:
        shutil.rmtree(work)


main()
