# SPDX-License-Identifier: Apache-2.0
"""Compares the pixels that a feature of dtype "picture" gets with TensorFlow's and Pillow's, for pictures that this program
makes. Both decode a file as Kiln does, bit for bit: TensorFlow with dct_method INTEGER_ACCURATE. A filter agrees within 1 of
255; TensorFlow's numbers are not rounded before.

Each filter is compared with the peers that define it as Kiln does:
- nearest: TensorFlow. antialias means nothing.
- bilinear, bicubic without antialias: TensorFlow, which leaves out what lies beyond the edge, as Kiln does. Pillow always has
  antialias; where a picture gets larger in both directions, that means nothing, and Pillow is compared, too.
- bilinear, bicubic with antialias: TensorFlow and Pillow. For bicubic, Pillow gets pixels as float32: a bicubic filter goes
  beyond 0 and 255, and with uint8 Pillow cuts this off between the two directions, which Kiln and TensorFlow do not do.
- area: TensorFlow. Pillow's BOX counts a pixel of the file as a whole or not at all, which is the same only where the picture
  gets smaller by whole numbers, so it is compared there. antialias means nothing.
"""
import io
import itertools
import os
import shutil
import subprocess
import sys
import tempfile

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")
import numpy as np
import tensorflow as tf
from PIL import Image, ImageOps

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.environ.get("KILN_BUILD", os.path.join(ROOT, "build/release"))
CONFIG = """
run: {{ name = "t"; }};
source: {{ url = "file:///nowhere"; }};
sink: {{ url = "file:///nowhere"; }};
schema = ( {{ name = "image"; dtype = "picture"; {keys} }}, {{ name = "label"; dtype = "int64"; shape = [ 1 ]; }} );
model: {{ input = "image"; label = "label"; loss = "sparse_categorical_crossentropy";
  layers = ( {{ op = "flatten"; }}, {{ op = "dense"; units = 2; }}, {{ op = "softmax"; }} ); }};
"""
FILTERS = ("nearest", "bilinear", "bicubic", "area")
PILLOW = {"bilinear": Image.Resampling.BILINEAR, "bicubic": Image.Resampling.BICUBIC, "area": Image.Resampling.BOX}
ORIENTATION = 0x0112  # the tag of EXIF

# (height, width) of the file and of the result
SIZES = [((48, 64), (24, 16)), ((75, 100), (32, 32)), ((300, 200), (17, 23)), ((21, 33), (64, 50)), ((40, 90), (61, 31)),
         ((1, 7), (5, 3)), ((7, 1), (3, 5)), ((64, 64), (1, 1)), ((37, 29), (37, 29)), ((20, 3000), (20, 10)), ((2500, 8), (7, 24))]
# The same, what crop keeps of the file, and what pad fills of the result
FITS = [((60, 90), (40, 40), (60, 60), (27, 40)), ((100, 50), (30, 60), (25, 50), (30, 15)),
        ((20, 31), (64, 64), (20, 20), (41, 64)), ((33, 33), (10, 40), (8, 33), (10, 10)),
        ((60, 40), (30, 20), (60, 40), (30, 20))]


# ---- Pictures ----

def paint(size, channels, noise):
    """Waves, with noise where it says so: the full range of 0 to 255, with edges that a bicubic filter goes beyond."""
    y, x, c = np.mgrid[0:size[0], 0:size[1], 0:channels]
    wave = np.sin(y / 9 + c) * np.cos(x / 7 - c) * 100 + 127
    if noise:
        wave += np.random.default_rng(size[0]).normal(0, 90, wave.shape)
    return Image.fromarray(np.clip(wave, 0, 255).astype(np.uint8).squeeze(2) if channels == 1 else
                           np.clip(wave, 0, 255).astype(np.uint8))


class Picture:
    """A file, and what the peers decode of it: [height, width, channels], uint8."""

    def __init__(self, work, name, image, channels, upright=True, **how):
        self.name, self.channels, self.path = name, channels, f"{work}/{name}"
        image.save(self.path, **how)
        self.bytes = open(self.path, "rb").read()
        opened = Image.open(io.BytesIO(self.bytes))
        self.pillow = ImageOps.exif_transpose(opened) if upright else opened
        if opened.format == "JPEG":
            self.pixels = tf.io.decode_jpeg(self.bytes, channels=channels, dct_method="INTEGER_ACCURATE").numpy()
        else:
            self.pixels = tf.io.decode_png(self.bytes, channels=channels).numpy()


def pictures_of(work, size):
    yield Picture(work, "smooth.jpg", paint(size, 3, False), 3, quality=92)
    yield Picture(work, "noisy.jpg", paint(size, 3, True), 3, quality=80, progressive=True)
    yield Picture(work, "noisy.png", paint(size, 3, True), 3)
    yield Picture(work, "gray.jpg", paint(size, 1, True), 1, quality=90)
    yield Picture(work, "gray.png", paint(size, 1, True), 1)
    yield Picture(work, "gray-as-colour.png", paint(size, 1, False), 3)
    yield Picture(work, "colour-as-gray.jpg", paint(size, 3, True), 1, quality=90)


# ---- The three programs ----

def kiln(work, picture, size, **keys):
    """What Kiln decodes: `keys` are those of the feature."""
    keys = {"shape": f"[ {size[0]}, {size[1]}, {picture.channels} ]"} | {
        key: str(value).lower() if isinstance(value, bool) else f'"{value}"' for key, value in keys.items()}
    with open(f"{work}/kiln.conf", "w") as out:
        out.write(CONFIG.format(keys=" ".join(f"{key} = {value};" for key, value in keys.items())))
    done = subprocess.run([f"{BUILD}/system/decode_picture", picture.path, f"{work}/kiln.conf"], capture_output=True)
    if done.returncode:
        raise RuntimeError(done.stderr.decode())
    return np.array(Image.open(io.BytesIO(done.stdout))).reshape(*size, picture.channels)


def by_tensorflow(pixels, size, interpolation, antialias):
    return tf.image.resize(pixels, size, interpolation, antialias=antialias).numpy().astype(float).clip(0, 255)


def by_pillow(pixels, size, interpolation):
    dtype = np.float32 if interpolation == "bicubic" else np.uint8
    planes = [Image.fromarray(pixels[..., c].astype(dtype)).resize(size[::-1], PILLOW[interpolation])
              for c in range(pixels.shape[-1])]
    return np.stack(planes, axis=-1).astype(float).clip(0, 255)


def pillow_means_the_same(before, after, interpolation, antialias):
    if interpolation == "area":
        return all(b % a == 0 for b, a in zip(before, after))
    return interpolation in PILLOW and (antialias or all(b <= a for b, a in zip(before, after)))


# ---- What is compared ----

class Comparison:
    def __init__(self):
        self.count, self.failed = 0, False

    def look(self, what, differences, limit=1.0):
        """`differences`: the largest of each picture, by its name."""
        self.count += 1
        name, largest = max(differences.items(), key=lambda item: item[1])
        good = largest <= limit
        self.failed |= not good
        print(f"{'ok' if good else 'not ok'} {self.count} - {what} # largest difference {largest:.2f} of 255"
              f"{'' if good else f' ({name}), allowed: {limit:g}'}", flush=True)


def difference(found, wanted):
    if found.shape != wanted.shape:
        raise RuntimeError(f"found {found.shape}, expected {wanted.shape}")
    return np.max(np.abs(found.astype(float) - wanted))


def compare_pixels(comparison, work):
    """Without a filter, the decoders alone."""
    size = (37, 50)
    pictures = list(pictures_of(work, size))
    found = {picture.name: kiln(work, picture, size) for picture in pictures}
    comparison.look("decoded as TensorFlow decodes", {p.name: difference(found[p.name], p.pixels) for p in pictures}, 0)
    # Pillow decodes colour and gray as they are, and then makes colour of gray.
    pictures = [picture for picture in pictures if picture.name != "colour-as-gray.jpg"]
    decoded = {p.name: np.array(p.pillow.convert("L" if p.channels == 1 else "RGB")).reshape(p.pixels.shape) for p in pictures}
    comparison.look("decoded as Pillow decodes", {p.name: difference(found[p.name], decoded[p.name]) for p in pictures}, 0)


def compare_filters(comparison, work):
    for before, after in SIZES:
        pictures = list(pictures_of(work, before))
        for interpolation, antialias in itertools.product(FILTERS, (False, True)):
            how = f"{before} to {after}, {interpolation}{', antialias' if antialias else ''}"
            found = {p.name: kiln(work, p, after, interpolation=interpolation, antialias=antialias) for p in pictures}
            comparison.look(f"as TensorFlow: {how}", {p.name: difference(found[p.name], by_tensorflow(
                p.pixels, after, interpolation, antialias)) for p in pictures}, 0 if interpolation == "nearest" else 1)
            if pillow_means_the_same(before, after, interpolation, antialias):
                comparison.look(f"as Pillow: {how}", {p.name: difference(found[p.name], by_pillow(
                    p.pixels, after, interpolation)) for p in pictures})


def compare_fits(comparison, work):
    for before, after, kept, filled in FITS:
        pictures = list(pictures_of(work, before))
        for fit, interpolation, antialias in itertools.product(("crop", "pad"), FILTERS, (False, True)):
            cropped = kept if fit == "crop" else before
            resized = filled if fit == "pad" else after
            differences = {}
            for p in pictures:
                found = kiln(work, p, after, interpolation=interpolation, antialias=antialias, fit=fit)
                part = tf.image.resize_with_crop_or_pad(p.pixels, *cropped).numpy()
                wanted = by_tensorflow(part, resized, interpolation, antialias)
                differences[p.name] = difference(found, tf.image.resize_with_crop_or_pad(wanted, *after).numpy())
            comparison.look(f"as TensorFlow: {before} to {after}, {fit}, {interpolation}{', antialias' if antialias else ''}",
                            differences, 0 if interpolation == "nearest" else 1)


def compare_orientations(comparison, work):
    """All values of EXIF, in both formats, upright and as the file lies; with a filter and a cut behind the turn."""
    for value in range(1, 9):
        exif = Image.Exif()
        exif[ORIENTATION] = value
        exact, filtered = {}, {}
        for name, upright in itertools.product(("turned.jpg", "turned.png"), (True, False)):
            picture = Picture(work, name, paint((40, 64), 3, True), 3, upright, exif=exif)
            wanted = np.array(picture.pillow)
            found = kiln(work, picture, wanted.shape[:2], orientation=upright)
            exact[f"{name}, {upright}"] = difference(found, wanted)
            found = kiln(work, picture, (25, 25), orientation=upright, antialias=True, fit="crop")
            part = tf.image.resize_with_crop_or_pad(wanted, 40, 40).numpy()
            filtered[f"{name}, {upright}"] = difference(found, by_tensorflow(part, (25, 25), "bilinear", True))
        comparison.look(f"as Pillow: EXIF orientation {value}", exact, 0)
        comparison.look(f"as Pillow and TensorFlow: EXIF orientation {value}, crop, bilinear, antialias", filtered)


def main():
    work, comparison = tempfile.mkdtemp(prefix="kiln-resize-"), Comparison()
    for compare in (compare_pixels, compare_filters, compare_fits, compare_orientations):
        compare(comparison, work)
    print(f"1..{comparison.count}")
    shutil.rmtree(work)
    return comparison.failed


if __name__ == "__main__":
    sys.exit(main())
