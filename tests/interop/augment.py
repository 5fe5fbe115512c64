# SPDX-License-Identifier: Apache-2.0
"""Compares the layers that change pictures at random with Keras's. Both get the same draws: this program computes those of
Kiln (Philox, firmware/model/graph/random.h) with numpy, and Keras's random numbers are replaced by them. Each layer alone
equals Keras's within 1 of 255, and neighbouring layers equal ImageDataGenerator.apply_transform, which samples once, too. A
draw may put a coordinate onto the border between two pixels, where "nearest" and "wrap" jump, so there 0.1 % of the numbers
may differ; elsewhere none."""
import os
import shutil
import subprocess
import sys
import tempfile

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")
import keras
import numpy as np
from keras import layers as K
from keras.src.legacy.preprocessing.image import ImageDataGenerator

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.environ.get("KILN_BUILD", os.path.join(ROOT, "build/release"))
SEED, STEP, FIRST_ROW, ROWS, SHAPE = 0x1234567890ABC, 7, 1000, 24, (33, 40, 3)
CONFIG = """
run: {{ name = "t"; batch_rows = {rows}; seed = {seed}L; }};
source: {{ url = "file:///nowhere"; }};
sink: {{ url = "file:///nowhere"; }};
schema = ( {{ name = "image"; dtype = "uint8"; shape = [ {shape} ]; }},
           {{ name = "label"; dtype = "int64"; shape = [ 2 ]; }} );
model: {{ input = "image"; precision = "{precision}"; layers = ( {layers},
  {{ op = "flatten"; }}, {{ op = "dense"; units = 2; }}, {{ op = "softmax"; }} ); }};
"""


# ---- Kiln's draws ------------------------------------------------------------------------------------------------------

def name_hash(name):
    value = 2166136261
    for byte in name.encode():
        value = (value ^ byte) * 16777619 & 0xFFFFFFFF
    return value


def philox(counter, key):
    """Philox4x32-10 (Salmon et al., SC 2011)."""
    c, k = list(counter), [key & 0xFFFFFFFF, key >> 32]
    for _ in range(10):
        a, b = c[0] * 0xD2511F53, c[2] * 0xCD9E8D57
        c = [b >> 32 ^ c[1] ^ k[0], b & 0xFFFFFFFF, a >> 32 ^ c[3] ^ k[1], a & 0xFFFFFFFF]
        k = [(k[0] + 0x9E3779B9) & 0xFFFFFFFF, (k[1] + 0xBB67AE85) & 0xFFFFFFFF]
    return c


def draws(layer):
    """The draws of each row: [ROWS, 4] of [0, 1)."""
    words = [philox([0, FIRST_ROW + row, STEP, name_hash(layer)], SEED) for row in range(ROWS)]
    return (np.array(words, np.uint64) >> np.uint64(8)).astype(np.float64) / 2**24


class Drawn:
    """Stands in for keras's random numbers: the next call gets the next draw of each row."""

    def __init__(self, layer):
        self.draws, self.used = draws(layer), 0

    def uniform(self, shape=(), minval=0.0, maxval=1.0, dtype=None, seed=None):
        u = self.draws[:, self.used].reshape(shape)
        self.used += 1
        return keras.ops.convert_to_tensor(minval + (maxval - minval) * u, dtype or "float32")


# ---- The two programs ----------------------------------------------------------------------------------------------------

def text_of(value):
    if isinstance(value, str):
        return f'"{value}"'
    if isinstance(value, (tuple, list)):
        return "[ " + ", ".join(map(text_of, value)) + " ]"
    return repr(value)


def kiln(work, layers, pictures, precision="float32", phase="training"):
    """`layers`: (op, name, attributes). Returns what the last one makes of the pictures."""
    text = ", ".join(f'{{ op = "{op}"; name = "{name}"; ' + " ".join(f"{k} = {text_of(v)};" for k, v in more.items()) + " }"
                     for op, name, more in layers)
    with open(f"{work}/kiln.conf", "w") as out:
        out.write(CONFIG.format(rows=ROWS, seed=SEED, shape=", ".join(map(str, pictures.shape[1:])), layers=text, precision=precision))
    pictures.tofile(f"{work}/batch")
    done = subprocess.run([f"{BUILD}/system/layer_output", f"{work}/kiln.conf", layers[-1][1], f"{work}/batch", str(STEP),
                           str(FIRST_ROW), phase], capture_output=True)
    if done.returncode:
        raise RuntimeError(done.stderr.decode())
    return np.frombuffer(done.stdout, np.float32).astype(np.float64).reshape(ROWS, -1)


def keras_output(make, name, more, pictures):
    """A layer of Keras with the draws of Kiln's layer of this name."""
    layer = make(**more)
    real, layer.backend.random.uniform = layer.backend.random.uniform, Drawn(name).uniform
    try:
        changed = layer.get_random_transformation(pictures, training=True, seed=0)
        return np.array(layer.transform_images(keras.ops.cast(pictures, "float32"), changed, training=True), np.float64)
    finally:
        layer.backend.random.uniform = real


def keras_crop(name, more, pictures):
    """Keras crops a batch at one place, Kiln each row at its own."""
    layer, drawn, rows = K.RandomCrop(**more), draws(name), []
    for row in range(ROWS):
        numbers = iter(drawn[row])
        real = layer.backend.random.uniform
        layer.backend.random.uniform = lambda shape, minval, maxval, seed: keras.ops.convert_to_tensor(
            minval + (maxval - minval) * next(numbers), "float32")
        try:
            changed = layer.get_random_transformation(pictures[row:row + 1], training=True, seed=0)
        finally:
            layer.backend.random.uniform = real
        rows.append(np.array(layer.transform_images(pictures[row:row + 1], changed, training=True))[0])
    return np.array(rows, np.float64)


# ---- What is compared ----------------------------------------------------------------------------------------------------

class Comparison:
    def __init__(self):
        self.count, self.failed = 0, False

    def look(self, what, found, wanted, exceptions=0.0, limit=1.0):
        self.count += 1
        difference = np.abs(np.asarray(found).reshape(-1) - np.asarray(wanted).reshape(-1))
        over = np.mean(difference > limit)
        good = over <= exceptions
        self.failed |= not good
        print(f"{'ok' if good else 'not ok'} {self.count} - as Keras: {what} # largest difference "
              f"{np.max(difference):.2g} of 255, {over:.2%} over {limit:g}", flush=True)


def compare_maps(comparison, work, pictures):
    maps = [("random_rotation", K.RandomRotation, {"factor": [-0.3, 0.4]}),
            ("random_zoom", K.RandomZoom, {"height_factor": 0.5}),
            ("random_zoom", K.RandomZoom, {"height_factor": [-0.5, 0.2], "width_factor": 0.3}),
            ("random_translation", K.RandomTranslation, {"height_factor": 0.5, "width_factor": [-0.3, 1.0]}),
            ("random_shear", K.RandomShear, {"x_factor": [0.1, 0.6], "y_factor": 0.4})]
    for op, make, factors in maps:
        for fill in ("constant", "nearest", "reflect", "wrap"):
            for interpolation in ("bilinear", "nearest"):
                more = {**factors, "fill_mode": fill, "interpolation": interpolation, "fill_value": 77.0}
                wanted = keras_output(make, "layer", more, pictures)
                jumps = 0.001 if interpolation == "nearest" or fill == "wrap" else 0.0
                comparison.look(f"{op}, {'two factors, ' if len(factors) > 1 else ''}{fill}, {interpolation}",
                                kiln(work, [(op, "layer", more)], pictures), wanted, jumps)


def compare_others(comparison, work, pictures):
    for mode in ("horizontal", "vertical", "horizontal_and_vertical"):
        comparison.look(f"random_flip, {mode}", kiln(work, [("random_flip", "layer", {"mode": mode})], pictures),
                        keras_output(K.RandomFlip, "layer", {"mode": mode}, pictures), limit=0)
    for op, make, more in (("random_contrast", K.RandomContrast, {"factor": [0.3, 0.9]}),
                           ("random_contrast", K.RandomContrast, {"factor": [0.2, 0.8], "value_range": [50.0, 200.0]}),
                           ("random_brightness", K.RandomBrightness, {"factor": 0.4}),
                           ("random_brightness", K.RandomBrightness, {"factor": [-0.5, 0.1], "value_range": [20.0, 230.0]})):
        wanted = keras_output(make, "layer", more, pictures)
        comparison.look(f"{op}, {more}", kiln(work, [(op, "layer", more)], pictures), wanted, limit=0.01)
    for size in ((32, 20), (1, 1), (33, 10), (33, 40)):
        more = dict(zip(("height", "width"), size))
        comparison.look(f"random_crop {size}", kiln(work, [("random_crop", "layer", more)], pictures),
                        keras_crop("layer", more, pictures), limit=0)
        comparison.look(f"center_crop {size}", kiln(work, [("center_crop", "layer", more)], pictures),
                        K.CenterCrop(*size)(pictures), limit=0)


def compare_precisions(comparison, work, pictures):
    more = {"factor": 0.3, "fill_mode": "constant", "fill_value": 77.0}
    for precision in ("mixed_bfloat16", "mixed_float16"):
        comparison.look(f"random_rotation, {precision}", kiln(work, [("random_rotation", "layer", more)], pictures, precision),
                        keras_output(K.RandomRotation, "layer", more, pictures))


def compare_prediction(comparison, work, pictures):
    layers = [("random_flip", "a", {}), ("random_rotation", "b", {"factor": 0.4}), ("random_contrast", "c", {"factor": 0.5}),
              ("random_brightness", "d", {"factor": 0.5})]
    comparison.look("nothing in prediction", kiln(work, layers, pictures, phase="prediction"), pictures.astype(float), limit=0)
    comparison.look("random_crop in prediction: the centre",
                    kiln(work, [("random_crop", "a", {"height": 20, "width": 31})], pictures, phase="prediction"),
                    K.CenterCrop(20, 31)(pictures), limit=0)


def generator_parameters(row, factors, side):
    """What ImageDataGenerator calls these draws."""
    value = {name: low + (high - low) * draws(name)[row] for name, (low, high) in factors.items()}
    return {"flip_horizontal": draws("flip")[row, 0] <= 0.5, "theta": 360 * value["rotation"][0],
            "tx": -value["translation"][1] * side, "ty": -value["translation"][0] * side,
            "zx": 1 + value["zoom"][1], "zy": 1 + value["zoom"][0]}


def near_fill(generated):
    """Pixels at most two from one that is only fill: `generated` is made of pictures of zeros."""
    near = np.any(generated != 0, axis=-1)
    for axis in (1, 2, 1, 2):
        near = near | np.roll(near, 1, axis) | np.roll(near, -1, axis)
    return near


def compare_generator(comparison, work, pictures):
    """ImageDataGenerator: rotation, shift, zoom, then a flip of the result, so the flip is the last layer. The pictures are
    square, because it turns others about a point beside the middle."""
    side = min(SHAPE[:2])
    pictures = np.ascontiguousarray(pictures[:, :side, :side])
    factors = {"rotation": (-0.2, 0.3), "translation": (-0.3, 0.2), "zoom": (-0.3, 0.4)}
    for fill in ("nearest", "reflect", "constant"):
        how = {"fill_mode": fill, "fill_value": 77.0}
        layers = [("random_rotation", "rotation", {"factor": list(factors["rotation"]), **how}),
                  ("random_translation", "translation", {"height_factor": list(factors["translation"]),
                                                         "width_factor": list(factors["translation"]), **how}),
                  ("random_zoom", "zoom", {"height_factor": list(factors["zoom"]), "width_factor": list(factors["zoom"]), **how}),
                  ("random_flip", "flip", {"mode": "horizontal"})]
        generator = ImageDataGenerator(fill_mode=fill, cval=77.0)

        def generate(of):
            return np.array([generator.apply_transform(picture.astype(np.float64), generator_parameters(row, factors, side))
                             for row, picture in enumerate(of)])
        wanted = generate(pictures)
        found = kiln(work, layers, pictures).reshape(wanted.shape)
        if fill == "constant":  # scipy has no step of one pixel between the edge and the fill
            far = ~near_fill(generate(np.zeros_like(pictures)))
            found, wanted = found[far], wanted[far]
        comparison.look(f"one map, ImageDataGenerator, {fill}", found, wanted)


def main():
    work = tempfile.mkdtemp(prefix="kiln-augment-")
    os.environ.setdefault("POCL_CACHE_DIR", os.path.join(ROOT, "build/kernels"))
    rng, comparison = np.random.default_rng(3), Comparison()
    # Smooth pictures with noise: a wrong coordinate is seen, and a rounded one is not 255.
    y, x = np.mgrid[0:SHAPE[0], 0:SHAPE[1]]
    wave = np.sin(y[..., None] / 5 + np.arange(3)) * np.cos(x[..., None] / 7) * 90 + 127
    pictures = np.clip(wave + rng.normal(0, 30, (ROWS, *SHAPE)), 0, 255).astype(np.uint8)
    for compare in (compare_maps, compare_others, compare_precisions, compare_prediction, compare_generator):
        compare(comparison, work, pictures)
    print(f"1..{comparison.count}")
    shutil.rmtree(work)
    return comparison.failed


if __name__ == "__main__":
    sys.exit(main())
