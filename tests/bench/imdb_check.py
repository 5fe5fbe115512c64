# SPDX-License-Identifier: Apache-2.0
"""Checks a run's files in its bucket with other tools: boto3 lists and fetches them, TensorBoard reads the curves,
safetensors loads the checkpoints. Usage: imdb_check.py BUCKET RUN-ID; endpoint and credentials in the environment."""
import hashlib
import json
import os
import sys
import tempfile

os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import boto3
from safetensors.numpy import load_file
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

bucket, run = sys.argv[1:3]
s3 = boto3.client("s3", endpoint_url=os.environ["KILN_S3_ENDPOINT"], region_name="us-east-1")
keys = {
    item["Key"]: item["Size"]
    for page in s3.get_paginator("list_objects_v2").paginate(Bucket=bucket)
    for item in page.get("Contents", [])
}
folder = tempfile.mkdtemp(prefix="kiln-check-")


def fetch(key):
    path = os.path.join(folder, key)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    s3.download_file(bucket, key, path)
    return path


# The data set: every shard of the manifest, with the size and SHA-256 that it says.
manifest = [json.loads(line) for line in open(fetch("data/manifest.jsonl"))]
assert sum(row["records"] for row in manifest) == 50000, "50 000 reviews"
for row in manifest:
    assert keys["data/" + row["key"]] == row["size"], row
    assert hashlib.sha256(open(fetch("data/" + row["key"]), "rb").read()).hexdigest() == row["sha256"], row
for name in ("data/dataset.json", "data/encoder.bin"):
    assert keys[name] > 0, name

# The run: record, plan, checkpoints behind latest.json, the model.
prefix = f"runs/{run}/"
record = json.load(open(fetch(prefix + "run.json")))
assert record["state"] == "finished", record["state"]
plan = open(fetch(prefix + "plan"), "rb").read()
assert hashlib.sha256(plan).hexdigest() == record["plan_sha256"]
latest = json.load(open(fetch(prefix + "checkpoints/latest.json")))
checkpoint = fetch(prefix + latest["key"])
assert hashlib.sha256(open(checkpoint, "rb").read()).hexdigest() == latest["sha256"]
tensors = load_file(checkpoint)
assert tensors["dense/kernel"].shape == (512, 256) and tensors["optimizer/m/dense/kernel"].shape == (512, 256)
for key in [k for k in keys if k.startswith(prefix + "checkpoints/ckpt-")]:
    load_file(fetch(key))
model = load_file(fetch(prefix + "model/model.safetensors"))
assert (model["dense/kernel"] == tensors["dense/kernel"]).all(), "the last checkpoint holds the model"

# The curves, as TensorBoard reads them.
for split, loss, accuracy in (("train", "loss", "accuracy"), ("validation", "validation_loss", "validation_accuracy")):
    for key in [k for k in keys if k.startswith(f"{prefix}logs/{split}/")]:
        fetch(key)
    events = EventAccumulator(os.path.join(folder, prefix, "logs", split))
    events.Reload()
    for tag, member in (("epoch_loss", loss), ("epoch_accuracy", accuracy)):
        tags = events.Tags()
        if tag in tags["scalars"]:
            found = [event.value for event in events.Scalars(tag)]
        else:
            from tensorboard.util import tensor_util

            found = [float(tensor_util.make_ndarray(event.tensor_proto)) for event in events.Tensors(tag)]
        wanted = [epoch[member] for epoch in record["epochs"]]
        assert len(found) == len(wanted) and all(abs(a - b) < 1e-5 for a, b in zip(found, wanted)), (tag, found, wanted)
print(f"{len(keys)} objects in the bucket; boto3, safetensors and TensorBoard agree with run.json")
