# SPDX-License-Identifier: Apache-2.0
"""Promotes the models of two nights, and reads the champion as a server would: TensorFlow's loader takes the newest
saved_model/<n> that has a saved_model.pb, ONNX Runtime takes onnx/<n>; both predict the test records as well as champion.json
says, and the run's own SavedModel does the same, bit for bit."""
import glob
import json
import os
import shutil
import subprocess
import sys
import tempfile

import numpy as np
import onnxruntime
import tensorflow as tf

from lib.tap import BIN, BUILD, end, ok

CONFIG = """
run: {{ name = "t"; epochs = {epochs}; seed = {epochs}; batch_rows = 32; }};
source: {{ url = "file://{work}/data"; }};
sink: {{ url = "file://{work}/sink"; }};
ring: {{ small_pages = true; }};
promote: {{ against = "champion"; }};
schema = ( {{ name = "sentence"; dtype = "float32"; shape = [ 8 ]; }},
           {{ name = "label"; dtype = "int64"; shape = [ 2 ]; }} );
model: {{ layers = ( {{ op = "dense"; units = 16; }}, {{ op = "relu"; }}, {{ op = "dense"; units = 2; }}, {{ op = "softmax"; }} ); }};
"""


def call(program, *arguments):
    with open(os.environ["KILN_ROOT"] + "/log", "a") as log:
        return subprocess.run([f"{BIN}/kiln-{program}", *arguments], stdout=subprocess.PIPE, stderr=log, text=True, check=True)


def night(work, epochs):
    with open(f"{work}/kiln.conf", "w") as f:
        f.write(CONFIG.format(work=work, epochs=epochs))
    run = call("oneshot", "begin", "--config", f"{work}/kiln.conf").stdout.strip()
    fetchd = subprocess.Popen([f"{BIN}/kiln-fetchd"], stderr=subprocess.DEVNULL)
    call("traind")
    fetchd.wait()
    call("uploadd", "--drain")
    call("oneshot", "promote")
    return run


def records(work):
    schema = {"sentence": tf.io.FixedLenFeature([8], tf.float32), "label": tf.io.FixedLenFeature([2], tf.int64)}
    files = sorted(glob.glob(f"{work}/data/test*"))
    raw = list(tf.data.TFRecordDataset(files, compression_type="GZIP").batch(100000))
    return {n: v.numpy() for n, v in tf.io.parse_example(raw[0], schema).items()}


def newest(folder):  # as TensorFlow Serving chooses a version
    return max(int(n) for n in os.listdir(folder) if n.isdigit() and os.path.exists(f"{folder}/{n}/saved_model.pb"))


def by_tensorflow(folder, batch):
    loaded = tf.saved_model.load(folder)
    return next(iter(loaded.signatures["serving_default"](sentence=tf.constant(batch)).values())).numpy()


def main():
    work = tempfile.mkdtemp(prefix="kiln-promote-")
    os.environ["KILN_ROOT"] = f"{work}/node"
    os.makedirs(os.environ["KILN_ROOT"])
    for prefix, shards, rows in (("train", 4, 600), ("test", 2, 400)):
        subprocess.run([f"{BUILD}/system/make_shards", f"{work}/data", prefix, str(shards), str(rows)], check=True)
    models, batch = f"{work}/sink/models/t", records(work)
    for n, epochs in enumerate((1, 6), 1):
        run = night(work, epochs)
        champion = json.load(open(f"{models}/champion.json"))
        ok(champion["run_id"] == run and champion["number"] == newest(f"{models}/saved_model") == n,
           f"champion {n}: the newest version of saved_model/ is the champion's")
        found = by_tensorflow(f"{models}/saved_model/{n}", batch["sentence"])
        onnx = onnxruntime.InferenceSession(f"{models}/onnx/{n}/model.onnx").run(None, {"sentence": batch["sentence"]})[0]
        ok(np.array_equal(found, by_tensorflow(f"{work}/sink/{run}/model/saved_model/1", batch["sentence"])),
           "TensorFlow's loader takes it, and predicts what the run's own model predicts")
        ok(np.max(np.abs(onnx - found)) < 1e-5, "so does ONNX Runtime")
        accuracy = np.mean(found.argmax(1) == batch["label"].argmax(1))
        test = champion["test"]["model"]["accuracy"] if n > 1 else champion["metrics"]["test"]["accuracy"]
        ok(abs(accuracy - test) < 0.5 / len(found), f"its accuracy is that of champion.json: {accuracy:.4f}, {test:.4f}")
    call("oneshot", "release")
    shutil.rmtree(work)
    return end()


if __name__ == "__main__":
    sys.exit(main())
