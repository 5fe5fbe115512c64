# SPDX-License-Identifier: Apache-2.0
"""Base networks (model.base) beside keras.applications, torchvision and efficientnet-lite-pytorch: from the same weights
and the same pixels, scaled by both, they give the same features, up to 1e-4 of the largest. The weights of PyTorch go the
way that a user's go: tools/weights, then kiln weights convert; those of efficientnet_lite0 are real, of ImageNet. So do .h5
files that Keras writes. Arguments: parts of names to choose rows."""
import os
import shutil
import subprocess
import sys
import tempfile

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
import keras
import numpy as np
import parity
import safetensors.numpy

LIMIT = 1e-4
ROWS = 2
KERAS = {"vgg16": "VGG16", "vgg19": "VGG19", "resnet50": "ResNet50", "mobilenet_v2": "MobileNetV2"}
MODULES = {"vgg16": "vgg16", "vgg19": "vgg19", "resnet50": "resnet50", "mobilenet_v2": "mobilenet_v2"}
CONFIG = """
run: {{ name = "t"; batch_rows = {rows}; }};
source: {{ url = "file:///nowhere"; }};
sink: {{ url = "file:///nowhere"; }};
optimizer: {{ name = "sgd"; }};
schema = ( {{ name = "image"; dtype = "uint8"; shape = [ {height}, {width}, 3 ]; }},
           {{ name = "label"; dtype = "float32"; shape = [ {features} ]; }} );
model: {{ input = "image"; loss = "mean_squared_error"; base = "{base}"; base_pooling = "avg"; base_scaling = "{scaling}";
          layers = ( {{ op = "flatten"; }} ); }};
"""


def numbers_of(base, scaling, pixels, features, weights, work):
    """The features that Kiln computes."""
    with open(f"{work}/kiln.conf", "w") as out:
        out.write(CONFIG.format(rows=len(pixels), height=pixels.shape[1], width=pixels.shape[2], features=features, base=base,
                                scaling=scaling))
    tensors = {f"at/0/{n}": np.ascontiguousarray(w) for n, w in weights.items()}
    tensors["batch/image"] = pixels[None]
    tensors["batch/label"] = np.zeros([1, len(pixels), features], np.float32)
    safetensors.numpy.save_file(tensors, f"{work}/in.safetensors")
    done = subprocess.run([f"{parity.BUILD}/system/train_steps", f"{work}/kiln.conf", f"{work}/in.safetensors",
                           f"{work}/out.safetensors"], capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(done.stderr)
    return safetensors.numpy.load_file(f"{work}/out.safetensors")["output/0"].reshape(len(pixels), -1)


def difference(found, wanted):
    if found.shape != wanted.shape:
        raise RuntimeError(f"{found.shape}, not {wanted.shape}")
    worst = np.max(np.abs(found - wanted)) / np.max(np.abs(wanted))
    if not worst <= LIMIT:
        raise RuntimeError(f"differs by {worst:.2e}, allowed: {LIMIT:.0e}")
    return worst


def random_statistics(model, rng):
    """Moving statistics and factors as after training, so that no number vanishes or grows."""
    for layer in model.layers:
        if isinstance(layer, keras.layers.BatchNormalization):
            layer.set_weights([rng.uniform(0.5, 1.5, w.shape) if w.name in ("gamma", "moving_variance") else
                               rng.normal(0, 0.2, w.shape) for w in layer.weights])


def by_h5(model, base, work):
    """The weights of a model by way of the file that Keras writes."""
    model.save(f"{work}/model.h5")
    return converted(sys.executable, f"{work}/model.h5", base, work)[0]


def converted(python, file, base, work):
    """The weights of a file by way of tools/weights and kiln weights convert, and their scaling."""
    run(python, "tools/weights", file, f"{work}/theirs.safetensors")
    said = run(f"{parity.BIN}/kiln", "weights", "convert", f"{work}/theirs.safetensors", "--base", base,
               f"{work}/kiln.safetensors")
    return safetensors.numpy.load_file(f"{work}/kiln.safetensors"), said.split('base_scaling = "')[1].split('"')[0]


def as_keras(base, height, width, work, by_file=False):
    keras.backend.clear_session()
    keras.utils.set_random_seed(44)
    rng = np.random.default_rng(7)
    model = getattr(keras.applications, KERAS[base])(weights=None, include_top=False, input_shape=(height, width, 3),
                                                     pooling="avg")
    random_statistics(model, rng)
    pixels = rng.integers(0, 256, [ROWS, height, width, 3], np.uint8)
    scaled = getattr(keras.applications, MODULES[base]).preprocess_input(pixels.astype(np.float32))
    wanted = model(scaled, training=False).numpy()
    weights = by_h5(model, base, work) if by_file else parity.weights_of(model)
    return difference(numbers_of(base, "auto", pixels, wanted.shape[1], weights, work), wanted)


def run(*arguments):
    done = subprocess.run(arguments, capture_output=True, text=True, cwd=parity.ROOT)
    if done.returncode:
        raise RuntimeError(done.stderr)
    return done.stdout


def as_torch(base, height, width, work):
    python = run("tests/interop/venv", "torch").strip()
    run(python, "tests/torch/features.py", base, str(height), str(width), work)
    weights, scaling = converted(python, f"{work}/weights.pth", base, work)
    peer = np.load(f"{work}/peer.npz")
    return difference(numbers_of(base, scaling, peer["pixels"], peer["features"].shape[1], weights, work), peer["features"])


def refuses_new_form(work):
    """Files of save_weights() have no names of layers."""
    keras.Sequential([keras.Input([2]), keras.layers.Dense(1)]).save_weights(f"{work}/new.weights.h5")
    try:
        run(sys.executable, "tools/weights", f"{work}/new.weights.h5", f"{work}/new.safetensors")
    except RuntimeError as error:
        if "new.weights.h5: found no layer_names, allowed: " in str(error):
            return 0
        raise
    raise RuntimeError("not refused")


TORCH = ["vgg16", "vgg19", "resnet18", "resnet34"]
ROWS_OF_ALL = [(f"{base}, {height}x{width}", lambda work, row=(base, height, width): as_keras(*row, work))
               for base in KERAS for height, width in [(64, 64)] + [(63, 49)] * (base not in ("vgg16", "vgg19"))]
ROWS_OF_ALL += [(f"{base}, weights of an .h5 file, 64x64",
                 lambda work, base=base: as_keras(base, 64, 64, work, by_file=True)) for base in KERAS]
ROWS_OF_ALL += [("refused: an .h5 file without names of layers", refuses_new_form)]
ROWS_OF_ALL += [(f"{base} of torchvision, 64x64", lambda work, base=base: as_torch(base, 64, 64, work)) for base in TORCH]
# The package pads as it must at this size alone.
ROWS_OF_ALL += [("efficientnet_lite0, weights of ImageNet, 224x224",
                 lambda work: as_torch("efficientnet_lite0", 224, 224, work))]


def main():
    work = tempfile.mkdtemp(prefix="kiln-networks-")
    os.environ["KILN_ROOT"] = work
    os.environ.setdefault("POCL_CACHE_DIR", os.path.join(parity.ROOT, "build/kernels"))
    os.makedirs(os.environ["POCL_CACHE_DIR"], exist_ok=True)
    names = sys.argv[1:]
    rows = [row for row in ROWS_OF_ALL if not names or any(name in row[0] for name in names)]
    failed = False
    for number, (name, look) in enumerate(rows, 1):
        try:
            print(f"ok {number} - as others compute it: {name} # {look(work):.1e}", flush=True)
        except Exception as error:  # raised by any of the tools
            failed = True
            print(f"not ok {number} - as others compute it: {name}\n# " + str(error).strip().replace("\n", "\n# "), flush=True)
    print(f"1..{len(rows)}")
    shutil.rmtree(work)
    return failed


if __name__ == "__main__":
    sys.exit(main())
