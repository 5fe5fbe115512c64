# SPDX-License-Identifier: Apache-2.0
"""The first pictures of a run in its event files: TensorBoard's readers and the source of its page of images have them, with the
pixels that kiln preview writes, in the form of tf.summary.image."""
import glob
import os
import shutil
import subprocess
import sys
import tempfile

import numpy as np
import tensorflow as tf
from tensorboard import context
from tensorboard.backend.event_processing import data_provider, plugin_event_multiplexer
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from lib.tap import BIN, BUILD, ROOT, end, ok

IMAGES = 6
CONFIG = """
run: {{ name = "t"; epochs = 1; batch_rows = 16; }};
source: {{ url = "file://{work}/pictures"; format = "objects"; }};
sink: {{ url = "file://{work}/runs"; }};
split: {{ train_glob = "*/*"; test_glob = ""; }};
ring: {{ small_pages = true; }};
tensorboard: {{ images = {images}; every_steps = 1; }};
schema = ( {{ name = "image"; dtype = "picture"; shape = [ 24, 20, 3 ]; fit = "crop"; random_crop = true; }},
           {{ name = "label"; dtype = "int64"; shape = [ 1 ]; }} );
model: {{ input = "image"; label = "label"; loss = "sparse_categorical_crossentropy";
         layers = ( {{ op = "random_flip"; }}, {{ op = "rescaling"; scale = 0.00392; }}, {{ op = "flatten"; }},
                    {{ op = "dense"; units = 2; }}, {{ op = "softmax"; }} ); }};
"""


def values(folder):
    for path in sorted(glob.glob(folder + "/events.out.tfevents.*")):
        for record in tf.data.TFRecordDataset(path):
            yield from tf.compat.v1.Event.FromString(record.numpy()).summary.value


def check(work, logs, seen):
    pixels = [tf.io.decode_png(open(path, "rb").read()).numpy() for path in seen]
    found = EventAccumulator(logs + "/steps").Reload().Tensors("pictures")
    ok(len(found) == 1 and found[0].step == 1, "TensorBoard's reader has the pictures once, at step 1", found)
    width, height, *files = tf.make_ndarray(found[0].tensor_proto)
    ok((width, height) == (b"20", b"24") and len(files) == IMAGES
       and all((tf.io.decode_png(a).numpy() == b).all() for a, b in zip(files, pixels)), "with the pixels of kiln preview")

    # The page of images reads through this provider.
    multiplexer = plugin_event_multiplexer.EventMultiplexer().AddRunsFromDirectory(logs)
    multiplexer.Reload()
    provider = data_provider.MultiplexerDataProvider(multiplexer, logs)
    read = provider.read_blob_sequences(context.RequestContext(), experiment_id="", plugin_name="images", downsample=10)
    ok(list(read) == ["steps"] and list(read["steps"]) == ["pictures"], "the page of images lists them", read)
    keys = [value.blob_key for value in read["steps"]["pictures"][0].values]
    blobs = [provider.read_blob(context.RequestContext(), blob_key=key) for key in keys]
    ok(blobs == [b"20", b"24", *files], "and reads the files")

    ours = [value for value in values(logs + "/steps") if value.tag == "pictures"]
    with tf.summary.create_file_writer(work + "/theirs").as_default():
        tf.summary.image("pictures", np.stack(pixels), step=1, max_outputs=IMAGES)
    theirs = list(values(work + "/theirs"))
    ok(len(ours) == 1 and len(theirs) == 1 and ours[0].tensor.dtype == theirs[0].tensor.dtype
       and ours[0].tensor.tensor_shape == theirs[0].tensor.tensor_shape
       and ours[0].tensor.string_val[:2] == theirs[0].tensor.string_val[:2]
       and ours[0].metadata.plugin_data.plugin_name == theirs[0].metadata.plugin_data.plugin_name
       and all((tf.io.decode_png(a).numpy() == tf.io.decode_png(b).numpy()).all()
               for a, b in zip(ours[0].tensor.string_val[2:], theirs[0].tensor.string_val[2:])),
       "the form of tf.summary.image, with its pixels", (ours, theirs))


def main():
    work = tempfile.mkdtemp(prefix="kiln-interop-")
    os.environ["KILN_ROOT"] = work + "/node"
    try:
        subprocess.run([BUILD + "/system/make_pictures", work + "/pictures", "30", "40", "48", "1", "daisy", "rose"], check=True)
        with open(work + "/kiln.conf", "w") as out:
            out.write(CONFIG.format(work=work, images=IMAGES))
        preview = subprocess.run([BIN + "/kiln", "preview", work + "/kiln.conf", "--output", work + "/seen", "--rows", str(IMAGES)],
                                 check=True, stdout=subprocess.PIPE, text=True).stdout.split()
        night = subprocess.run([ROOT + "/tools/night", BIN, work + "/kiln.conf"], capture_output=True, text=True)
        ok(night.returncode == 0, "a run on pictures", night.stdout + night.stderr)
        check(work, glob.glob(work + "/runs/*/logs")[0], preview)
    finally:
        subprocess.run([BIN + "/kiln-oneshot", "release"])
        shutil.rmtree(work)
    return end()


sys.exit(main())
