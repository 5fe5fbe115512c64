# SPDX-License-Identifier: Apache-2.0
"""A network that learnt from pictures, for other programs: `kiln predict` of PNG files, and the exports of the model in
onnxruntime and TensorFlow, which get the pixels of these files as uint8, say the same probabilities, up to 1e-4. What the
model says of its pictures and classes is read with the other programs' readers."""
import glob
import json
import os
import shutil
import subprocess
import sys
import tempfile

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
import export
import numpy as np
import onnx
import parity
import safetensors
import tensorflow as tf
from google.protobuf import struct_pb2
from tensorflow.python.saved_model import loader_impl

LIMIT = 1e-4
SIDE, SHOWN = 32, 6
CLASSES = ["asters", "bluebells", "ünknown \"x\""]
CONFIG = """
run: {{ name = "pictures"; epochs = 2; batch_rows = 8; }};
source: {{ url = "file://{work}/pictures"; format = "objects"; }};
sink: {{ url = "file://{work}/runs"; }};
split: {{ by = "hash"; train_glob = "train/*"; test_glob = "test/*"; validation_percent = 0; }};
ring: {{ small_pages = true; }};
schema = ( {{ name = "image"; dtype = "picture"; shape = [ {side}, {side}, 3 ]; antialias = true; fit = "crop"; random_crop = true; }},
           {{ name = "label"; dtype = "int64"; shape = [ 1 ]; }} );
model: {{
  input = "image"; label = "label"; loss = "sparse_categorical_crossentropy";
  layers = (
    {{ op = "random_flip"; }}, {{ op = "random_contrast"; factor = 0.2; }}, {{ op = "rescaling"; scale = 0.00392156862745098; }},
    {{ op = "conv2d"; filters = 8; kernel_size = 3; activation = "relu"; }}, {{ op = "global_average_pooling2d"; }},
    {{ op = "dense"; units = {classes}; }}, {{ op = "softmax"; }}
  );
}};
optimizer: {{ name = "adam"; learning_rate = 0.02; }};
"""


def run(*arguments):
    done = subprocess.run(arguments, capture_output=True, text=True, cwd=parity.ROOT)
    if done.returncode:
        raise RuntimeError(done.stderr)
    return done.stdout


def by_kiln(model, folder):
    """The probabilities of the files of a folder, in the order of their names, and the names of the classes."""
    said = run(f"{parity.BIN}/kiln", "predict", model, *sorted(glob.glob(f"{folder}/*.png")), "--json")
    rows = [json.loads(line)["probabilities"] for line in said.splitlines()]
    return np.array([list(row.values()) for row in rows]), list(rows[0])


def differences(model, folder, pixels):
    """For each export its largest difference from kiln predict; `pixels` are those of the files of `folder`."""
    wanted = by_kiln(model, folder)[0]
    forms = {"onnxruntime": export.by_onnx(f"{model}/model.onnx"),
             "TensorFlow": export.by_tensorflow(f"{model}/saved_model/1/saved_model.pb")}
    return {form: float(np.max(np.abs(of({"image": pixels}) - wanted))) for form, of in forms.items()}


# ---- What a model says of its data ----

def of_onnx(model):
    return {entry.key: entry.value for entry in onnx.load(f"{model}/model.onnx").metadata_props}


def of_saved_model(model):
    meta = loader_impl.parse_saved_model(f"{model}/saved_model/1").meta_graphs[0].meta_info_def
    said = struct_pb2.Struct()
    if not meta.any_info.Unpack(said):
        raise RuntimeError(f"any_info is a {meta.any_info.type_url}")
    return dict(said.items())


def of_safetensors(model):
    with safetensors.safe_open(f"{model}/model.safetensors", "np") as file:
        return file.metadata()


def of_record(model):
    record = json.load(open(f"{model}/../run.json"))
    return {key: json.dumps(record[key]) for key in ("schema", "classes")}


def look_at_words(said):
    feature = json.loads(said["schema"])[0]
    found = {key: feature[key] for key in ("name", "dtype", "shape", "interpolation", "antialias", "fit")}
    wanted = {"name": "image", "dtype": "picture", "shape": [SIDE, SIDE, 3], "interpolation": "bilinear", "antialias": True,
              "fit": "crop"}
    if found != wanted or json.loads(said["classes"]) != CLASSES:
        raise RuntimeError(f"found {found} and {said['classes']}")


# ---- The model ----

def make_model(work):
    for split, count, seed in (("train", 12, 1), ("test", 3, 2)):
        run(f"{parity.BUILD}/system/make_pictures", f"{work}/pictures/{split}", str(count), "40", "48", str(seed), *CLASSES)
    with open(f"{work}/kiln.conf", "w") as out:
        out.write(CONFIG.format(work=work, side=SIDE, classes=len(CLASSES)))
    run("tools/night", parity.BIN, f"{work}/kiln.conf")
    return glob.glob(f"{work}/runs/*/model")[0]


def make_pixels(work):
    pixels = np.random.default_rng(7).integers(0, 256, [SHOWN, SIDE, SIDE, 3], np.uint8)
    for i, picture in enumerate(pixels):
        tf.io.write_file(f"{work}/png/{i}.png", tf.io.encode_png(picture))
    return pixels


def look_at_outputs(model, work, pixels):
    for form, difference in differences(model, f"{work}/png", pixels).items():
        if not difference <= LIMIT:
            raise RuntimeError(f"{form}: differs by {difference:.2e}, allowed: {LIMIT:.0e}")


def look_at_names(model, work):
    os.unlink(f"{model}/dataset.json")
    names = by_kiln(model, f"{work}/png")[1]
    if names != CLASSES:
        raise RuntimeError(f"found {names}")


def main():
    work = tempfile.mkdtemp(prefix="kiln-pictures-")
    os.environ["KILN_ROOT"] = f"{work}/node"
    os.makedirs(os.environ["KILN_ROOT"])
    os.environ.setdefault("POCL_CACHE_DIR", os.path.join(parity.ROOT, "build/kernels"))
    model, pixels = make_model(work), make_pixels(work)
    checks = [("onnxruntime and TensorFlow say what kiln predict says", lambda: look_at_outputs(model, work, pixels)),
              ("schema and classes in ONNX", lambda: look_at_words(of_onnx(model))),
              ("schema and classes in the SavedModel", lambda: look_at_words(of_saved_model(model))),
              ("schema and classes in model.safetensors", lambda: look_at_words(of_safetensors(model))),
              ("schema and classes in run.json", lambda: look_at_words(of_record(model))),
              ("the model alone knows its classes", lambda: look_at_names(model, work)),
              ("kiln export says the same", lambda: (run(f"{parity.BIN}/kiln", "export", model, "--output", model),
                                                     look_at_words(of_onnx(model)), look_at_words(of_saved_model(model))))]
    failed = False
    for number, (name, look) in enumerate(checks, 1):
        try:
            look()
            print(f"ok {number} - {name}", flush=True)
        except Exception as error:  # raised by any of the tools
            failed = True
            print(f"not ok {number} - {name}\n# " + str(error).strip().replace("\n", "\n# "), flush=True)
    print(f"1..{len(checks)}")
    run(f"{parity.BIN}/kiln-oneshot", "release")
    shutil.rmtree(work)
    return failed


if __name__ == "__main__":
    sys.exit(main())
