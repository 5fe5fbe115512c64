# SPDX-License-Identifier: Apache-2.0
"""JPEG files to squares of uint8 on one core: data/picture.h (picture.c) beside libjpeg-turbo, which only decodes, tf.data, DALI,
torchvision and Pillow. Every program gets the same files in memory and the same core, in turns; rates are pictures per second of
CPU time, medians over the turns. The values of Kiln are compared with those of TensorFlow and Pillow first. Prints JSON lines.

Usage: picture_peers.py PROGRAM NAME LIST       (in the virtual environment of tests/bench)
       picture_peers.py --peer PEER LIST        prints the rates of one peer: bilinear, and with antialias; 0 = the peer has none
PROGRAM: picture.c's; NAME: of the set of files; LIST: a file with one path a line.
"""
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

SIDE, TURNS, CORE, BATCH = 224, 3, 0, 32
BARS = {"tf.data": "tf.data", "dali": "DALI CPU", "torchvision": "torchvision", "pillow": "Pillow"}


def files_of(path):
    with open(path) as lines:
        return [open(line.strip(), "rb").read() for line in lines]


def rate(work, count):
    work()  # the first pass warms up
    start = time.process_time()
    work()
    return count / (time.process_time() - start)


def tensorflow(files):
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
    import tensorflow as tf

    def passes(antialias):
        def make(file):
            picture = tf.image.resize(tf.io.decode_jpeg(file, channels=3), [SIDE, SIDE], antialias=antialias)
            return tf.cast(tf.round(picture), tf.uint8)
        options = tf.data.Options()
        options.threading.private_threadpool_size = 1
        data = tf.data.Dataset.from_tensor_slices(files).map(make).batch(BATCH).with_options(options)
        return lambda: [None for _ in data]
    return [rate(passes(antialias), len(files)) for antialias in (False, True)]


def dali(files):
    import numpy
    from nvidia.dali import fn, pipeline_def, types

    batches = [[numpy.frombuffer(file, numpy.uint8) for file in files[i:i + BATCH]] for i in range(0, len(files), BATCH)]

    def passes(antialias):
        @pipeline_def(batch_size=BATCH, num_threads=1, device_id=None)
        def pipeline():
            file = fn.external_source(source=batches, cycle=True, batch=True)
            picture = fn.decoders.image(file, device="cpu", output_type=types.RGB)
            return fn.resize(picture, resize_x=SIDE, resize_y=SIDE, interp_type=types.INTERP_LINEAR, antialias=antialias)
        made = pipeline()
        made.build()
        return lambda: [made.run() for _ in batches]
    return [rate(passes(antialias), len(files)) for antialias in (False, True)]


def torchvision(files):
    import torch
    from torchvision.io import ImageReadMode, decode_jpeg
    from torchvision.transforms.v2 import functional

    torch.set_num_threads(1)
    tensors = [torch.frombuffer(bytearray(file), dtype=torch.uint8) for file in files]

    def passes(antialias):
        return lambda: [functional.resize(decode_jpeg(tensor, mode=ImageReadMode.RGB), [SIDE, SIDE], antialias=antialias)
                        for tensor in tensors]
    return [rate(passes(antialias), len(files)) for antialias in (False, True)]


def pillow(files):
    import io
    from PIL import Image

    def work():  # Pillow's bilinear filter always has antialias
        for file in files:
            Image.open(io.BytesIO(file)).convert("RGB").resize((SIDE, SIDE), Image.Resampling.BILINEAR).tobytes()
    return [0, rate(work, len(files))]


def peer_rates(peer, path):
    made = subprocess.run([sys.executable, __file__, "--peer", peer, path], check=True, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, text=True)
    return [float(word) for word in made.stdout.split()[-2:]]


def check(program, path):
    """Compares the values: TensorFlow's with the accurate DCT for bilinear, Pillow's for antialias."""
    import io
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
    import numpy
    import tensorflow as tf
    from PIL import Image

    files = files_of(path)
    with tempfile.NamedTemporaryFile() as out:
        subprocess.run([program, path, str(SIDE), out.name], check=True)
        ours = numpy.fromfile(out.name, numpy.uint8).reshape(2, len(files), SIDE, SIDE, 3).astype(int)
    for i in range(0, len(files), 7):
        decoded = tf.io.decode_jpeg(files[i], channels=3, dct_method="INTEGER_ACCURATE")
        plain = numpy.rint(tf.image.resize(decoded, [SIDE, SIDE]).numpy()).astype(int)
        smooth = Image.open(io.BytesIO(files[i])).convert("RGB").resize((SIDE, SIDE), Image.Resampling.BILINEAR)
        for kind, theirs in ((0, plain), (1, numpy.asarray(smooth).astype(int))):
            most = abs(ours[kind][i] - theirs).max()
            assert most <= 1, f"picture {i}: kind {kind} differs by {most}"


def main(program, name, path):
    check(program, path)
    turns = {peer: [] for peer in BARS}
    ours = []
    for _ in range(TURNS):
        told = subprocess.run([program, path, str(SIDE)], check=True, stdout=subprocess.PIPE, text=True).stdout
        ours.append([float(word) for word in told.split()])
        for peer in BARS:
            turns[peer].append(peer_rates(peer, path))

    def tell(case, value, peer, theirs, ratios):
        print(json.dumps({"name": "picture-decode", "case": f"{name} to {SIDE}x{SIDE}, {case}, one core", "value": round(value),
                          "unit": "pictures/s", "peer": peer, "peer_value": round(theirs),
                          "ratio": round(statistics.median(ratios), 2)}), flush=True)

    middle = [statistics.median(turn[kind] for turn in ours) for kind in range(3)]
    tell("bilinear", middle[1], "libjpeg-turbo, decode only", middle[0], [turn[1] / turn[0] for turn in ours])
    for kind, case in ((1, "bilinear"), (2, "bilinear with antialias")):
        for peer, title in BARS.items():
            rates = [turn[kind - 1] for turn in turns[peer]]
            if all(rates):
                tell(case, middle[kind], title, statistics.median(rates), [a[kind] / b for a, b in zip(ours, rates)])


os.sched_setaffinity(0, {CORE})
if sys.argv[1] == "--peer":
    peers = {"tf.data": tensorflow, "dali": dali, "torchvision": torchvision, "pillow": pillow}
    print(*peers[sys.argv[2]](files_of(sys.argv[3])))
else:
    main(*sys.argv[1:])
