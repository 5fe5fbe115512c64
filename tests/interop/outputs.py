# SPDX-License-Identifier: Apache-2.0
"""Reads a run's results with other tools: TensorBoard's own reader reads the curves, also after a restart that repeated
epochs; the safetensors package loads checkpoints and model; numpy, with these weights, computes the test result in
run.json."""
import glob
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import numpy as np
import safetensors.numpy
import tensorflow as tf
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.backend.event_processing.plugin_event_accumulator import EventAccumulator as PluginEventAccumulator

from lib.tap import BIN, BUILD, end, ok

EPOCHS = 5
CONFIG = """
run: {{ name = "t"; epochs = {epochs}; batch_rows = 32; }};
source: {{ url = "file://{work}/data"; }};
sink: {{ url = "file://{work}/runs"; }};
ring: {{ small_pages = true; }};
checkpoint: {{ every_steps = 20; keep = 100; }};
tensorboard: {{ every_steps = 50; segment_bytes = 8192; }};
schema = ( {{ name = "sentence"; dtype = "float32"; shape = [ 8 ]; }},
           {{ name = "label"; dtype = "int64"; shape = [ 2 ]; }} );
model: {{ layers = ( {{ op = "dense"; units = 16; }}, {{ op = "relu"; }}, {{ op = "dropout"; rate = 0.2; }},
                    {{ op = "dense"; units = 2; }}, {{ op = "softmax"; }} ); }};
"""


def start(program, *arguments):
    log = open(os.environ["KILN_ROOT"] + "/log", "a")
    return subprocess.Popen([f"{BIN}/kiln-{program}", *arguments], stderr=log)


def steps(folder):
    return sorted(int(os.path.basename(f)[5:17]) for f in glob.glob(folder + "/checkpoints/ckpt-*.safetensors"))


def make_run(work):
    """A run whose trainer is killed in its last epochs and has to return to its first ones."""
    node = os.environ["KILN_ROOT"] = work + "/node"
    os.makedirs(node)
    with open(work + "/kiln.conf", "w") as out:
        out.write(CONFIG.format(work=work, epochs=EPOCHS))
    for name, shards in (("train", 10), ("test", 2)):
        subprocess.run([BUILD + "/system/make_shards", work + "/data", name, str(shards), "2000"], check=True)
    run_id = subprocess.run([BIN + "/kiln-oneshot", "begin", "--config", work + "/kiln.conf"], check=True,
                            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout.strip()
    spool = f"{node}/data/kiln/spool/traind/{run_id}"
    fetchd, traind = start("fetchd"), start("traind")
    until = time.monotonic() + 120
    while not any(step > 1800 for step in steps(spool)) and time.monotonic() < until:
        time.sleep(0.005)
    traind.send_signal(signal.SIGKILL)
    traind.wait()
    for step in steps(spool):
        if step > 700:  # in the second epoch of 563 steps
            os.unlink(f"{spool}/checkpoints/ckpt-{step:012d}.safetensors")
    code = start("traind").wait()
    uploadd = start("uploadd", "--drain").wait()
    fetchd.wait()
    if code or uploadd:
        print(open(node + "/log").read(), file=sys.stderr)
    ok(code == 0 and uploadd == 0, "a run that was killed and went back", (code, uploadd))
    return f"{work}/runs/{run_id}"


def events(folder):
    for path in sorted(glob.glob(folder + "/events.out.tfevents.*")):
        for record in tf.data.TFRecordDataset(path):
            yield path, tf.compat.v1.Event.FromString(record.numpy())


def check_events(run, record):
    for split, prefix in (("train", ""), ("validation", "validation_")):
        folder = f"{run}/logs/{split}"
        raw = list(events(folder))
        first = {}
        for path, event in raw:
            first.setdefault(path, event)
        ok(len(first) >= 2 and all(e.file_version == "brain.Event:2" for e in first.values()),
           f"{split}: two files or more, each begins with brain.Event:2", first)
        points = sum(value.tag == "epoch_loss" for _, event in raw for value in event.summary.value)
        ok(points == EPOCHS, f"{split}: what was void is cut from the files ({points} points)")
        reader, server = EventAccumulator(folder).Reload(), PluginEventAccumulator(folder).Reload()
        for tag in ("epoch_loss", "epoch_accuracy", "epoch_learning_rate")[:3 if split == "train" else 2]:
            found = [(e.step, e.value) for e in reader.Scalars(tag)]
            shown = [(e.step, float(tf.make_ndarray(e.tensor_proto))) for e in server.Tensors(tag)]
            key = prefix + tag.split("_", 1)[1]
            expected = [(i, float(np.float32(e[key]))) for i, e in enumerate(record["epochs"])]
            ok(found == expected, f"{split}: TensorBoard has one point an epoch of {tag}, those of run.json",
               (found, expected))
            ok(shown == expected, f"{split}: and so does its server", (shown, expected))


def check_steps(run, record):
    tags = ["batch_accuracy", "batch_learning_rate", "batch_loss", "records_per_second", "stall_percent"]
    ends = [e["step"] for e in record["epochs"]]
    expected = sorted(set(range(50, ends[-1] + 1, 50)) | set(ends))
    folder = run + "/logs/steps"
    reader, server = EventAccumulator(folder).Reload(), PluginEventAccumulator(folder).Reload()
    ok(sorted(reader.Tags()["scalars"]) == tags, "curves by step", reader.Tags())
    for tag in tags:
        found = [e.step for e in reader.Scalars(tag)]
        shown = [e.step for e in server.Tensors(tag)]
        ok(found == expected and shown == expected, f"{tag}: a point every 50 steps and at each epoch's end, once",
           (found, shown))
    losses = {e.step: e.value for e in reader.Scalars("batch_loss")}
    ok(all(losses[e["step"]] == float(np.float32(e["loss"])) for e in record["epochs"]),
       "batch_loss at an epoch's end is epoch_loss", losses)
    ok(all(0 <= e.value <= 100 for e in reader.Scalars("stall_percent"))
       and all(e.value > 0 for e in reader.Scalars("records_per_second")), "rates are such")
    sizes = [os.path.getsize(path) for path in glob.glob(run + "/logs/*/events*")]
    ok(max(sizes) <= 8192 and len([size for size in sizes if size > 7000]) >= 3, "files have their bound", sizes)


def tensorflows(work, write):
    """The summary that TensorFlow writes, without the wall time."""
    folder = tempfile.mkdtemp(dir=work)
    with tf.summary.create_file_writer(folder).as_default():
        write()
    records = [r.numpy()[9:] for path in glob.glob(folder + "/*") for r in tf.data.TFRecordDataset(path)]
    return records[1:]


def kerass_tags(work):
    """The tags that Keras's own callback writes for a model with the same layers."""
    layers = tf.keras.layers
    model = tf.keras.Sequential([layers.Dense(16, activation="relu", name="dense"), layers.Dense(2, name="dense_1")])
    model.compile("adam", "mse", metrics=["accuracy"])
    folder = work + "/keras"
    model.fit(np.zeros((4, 8)), np.zeros((4, 2)), verbose=0,
              callbacks=[tf.keras.callbacks.TensorBoard(folder, histogram_freq=1, write_graph=False)])
    return {value.tag.replace("sequential/", "") for _, event in events(folder + "/train")
            for value in event.summary.value}


def check_tensors(run, work):
    folder = run + "/logs/train"
    reader, server = EventAccumulator(folder).Reload(), PluginEventAccumulator(folder).Reload()
    weights = {"dense/kernel": 128, "dense/bias": 16, "dense_1/kernel": 32, "dense_1/bias": 2}
    ours = {value.tag for _, event in events(folder) for value in event.summary.value}
    keras = kerass_tags(work)
    ok(keras <= ours and ours - keras == {"config"} | {w + "/gradient/histogram" for w in weights},
       "the tags of Keras's callback with histogram_freq=1, gradients and config besides", (ours, keras))
    for tag, count in [(w + kind, n) for w, n in weights.items() for kind in ("/histogram", "/gradient/histogram")]:
        for name, accumulator in (("TensorBoard", reader), ("its server", server)):
            found = accumulator.Tensors(tag)
            arrays = [tf.make_ndarray(e.tensor_proto) for e in found]
            ok([e.step for e in found] == list(range(EPOCHS))
               and all(a.shape == (30, 3) and a.dtype == np.float64 and a[:, 2].sum() == count for a in arrays),
               f"{name} has one histogram an epoch of {tag}", found)
    for accumulator in (reader, server):
        text = tf.make_ndarray(accumulator.Tensors("config")[0].tensor_proto).item().decode()
        ok(len(accumulator.Tensors("config")) == 1 and "every_steps = 50" in text, "and the configuration, once", text)
    ok(server.AllSummaryMetadata()["config"].plugin_data.plugin_name == "text"
       and server.AllSummaryMetadata()["dense/bias/histogram"].plugin_data.plugin_name == "histograms", "for its plugins")
    latest = json.load(open(run + "/checkpoints/latest.json"))
    checkpoint = safetensors.numpy.load_file(f"{run}/{latest['key']}")
    written = [record for path in sorted(glob.glob(folder + "/events*"))
               for record in (r.numpy()[9:] for r in tf.data.TFRecordDataset(path))]
    for name in weights:
        theirs = tensorflows(work, lambda: tf.summary.histogram(name + "/histogram", checkpoint[name], step=EPOCHS - 1))
        ok(len(theirs) == 1 and theirs[0] in written, f"{name}: byte for byte what TensorFlow writes of these weights")


def check_form(run):
    """Compares the form with Keras's, byte for byte: one value an event, in protobuf's canonical encoding."""
    for path in glob.glob(run + "/logs/train/events.out.tfevents.*"):
        for record in tf.data.TFRecordDataset(path):
            event = tf.compat.v1.Event.FromString(record.numpy())
            if len(event.summary.value) > 1:
                return ok(False, "one value an event", event)
            if event.SerializeToString() != record.numpy():
                return ok(False, "events are canonical", event)
    return ok(True, "one value an event, encoded as TensorFlow does")


def test_result(work, weights):
    features = {"sentence": tf.io.FixedLenFeature([8], tf.float32), "label": tf.io.FixedLenFeature([2], tf.int64)}
    rows = tf.data.TFRecordDataset(sorted(glob.glob(work + "/data/test-*")), compression_type="GZIP").batch(100000)
    batch = tf.io.parse_example(next(iter(rows)), features)
    x, y = batch["sentence"].numpy().astype(np.float64), batch["label"].numpy()
    hidden = np.maximum(x @ weights["dense/kernel"] + weights["dense/bias"], 0)
    logits = hidden @ weights["dense_1/kernel"] + weights["dense_1/bias"]
    logits -= logits.max(axis=1, keepdims=True)
    p = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    return float(-np.log((p * y).sum(axis=1)).mean()), float((p.argmax(axis=1) == y.argmax(axis=1)).mean())


def check_safetensors(run, work, record):
    model = safetensors.numpy.load_file(run + "/model/model.safetensors")
    shapes = {name: tensor.shape for name, tensor in model.items()}
    ok(shapes == {"dense/kernel": (8, 16), "dense/bias": (16,), "dense_1/kernel": (16, 2), "dense_1/bias": (2,)},
       "safetensors loads the model: Keras's names and layout", shapes)
    loss, accuracy = test_result(work, model)
    test = record["metrics"]["test"]
    ok(abs(loss - test["loss"]) < 1e-5 and accuracy == test["accuracy"],
       "numpy with these weights gets run.json's test result", (loss, accuracy, test))
    latest = json.load(open(run + "/checkpoints/latest.json"))
    checkpoint = safetensors.numpy.load_file(f"{run}/{latest['key']}")
    ok(all(np.array_equal(checkpoint[name], tensor) for name, tensor in model.items()),
       "safetensors loads the last checkpoint: the same weights")
    ok(int(checkpoint["state/step"].reshape(-1)[0]) == latest["step"]
       and all(f"optimizer/{slot}/{name}" in checkpoint for slot in "mv" for name in model),
       "and the optimizer's state and the step", sorted(checkpoint))
    with safetensors.safe_open(f"{run}/{latest['key']}", framework="np") as file:
        metadata = file.metadata()
    ok(metadata["format"] == "kiln/checkpoint" and metadata["run_id"] == os.path.basename(run)
       and all("crc32c/" + name in metadata for name in checkpoint), "and its metadata", metadata)
    theirs = work + "/theirs.safetensors"
    safetensors.numpy.save_file({**model, "ids": np.arange(5), "odd": np.zeros(3, np.uint8)}, theirs, {"a": "b"})
    ok(subprocess.run([BUILD + "/system/make_checkpoint", "--check", theirs]).returncode == 0,
       "Kiln reads what safetensors wrote")


def main():
    work = tempfile.mkdtemp(prefix="kiln-interop-")
    try:
        run = make_run(work)
        record = json.load(open(run + "/run.json"))
        check_events(run, record)
        check_steps(run, record)
        check_tensors(run, work)
        check_form(run)
        check_safetensors(run, work, record)
    finally:
        subprocess.run([BIN + "/kiln-oneshot", "release"])
        shutil.rmtree(work)
    return end()


sys.exit(main())
