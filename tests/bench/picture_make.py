# SPDX-License-Identifier: Apache-2.0
"""Makes JPEG files of the sizes of a set of photographs, in folders of classes:
picture_make.py FOLDER flowers5-128|trash6-384x512"""
import os
import sys

import numpy
from PIL import Image

FILES, CLASSES, QUALITY = 400, 5, 90
folder, (height, width) = sys.argv[1], {"flowers5-128": (128, 128), "trash6-384x512": (384, 512)}[sys.argv[2]]
for label in range(CLASSES):
    os.makedirs(f"{folder}/class-{label}")
random = numpy.random.default_rng(44)
for i in range(FILES):
    # Noise at several scales: each octave has half the amplitude of the one before, as photographs do.
    picture = numpy.zeros((height, width, 3))
    for octave in range(8):
        side = 2 << octave
        noise = Image.fromarray(random.integers(0, 256, (side, side, 3), numpy.uint8)).resize((width, height), Image.Resampling.BICUBIC)
        picture += numpy.asarray(noise, float) / 2 ** (octave + 1)
    Image.fromarray(picture.clip(0, 255).astype(numpy.uint8)).save(f"{folder}/class-{i % CLASSES}/{i:04}.jpg", quality=QUALITY)
