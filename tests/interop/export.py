# SPDX-License-Identifier: Apache-2.0
"""Loads what `kiln export` writes in onnxruntime and in TensorFlow: the nets of parity.py give the same outputs as Kiln's
own prediction, up to 1e-5, for any number of rows; ONNX's own checker finds no fault; the signature is the one that
serving expects."""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import zlib

import numpy as np
import onnx
import onnxruntime
import parity
import safetensors.numpy
import tensorflow as tf

LIMIT = 1e-5
FEW = 3


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc = CRCS[(crc ^ byte) & 255] ^ crc >> 8
    return crc ^ 0xFFFFFFFF


def shifted(crc):
    for _ in range(8):
        crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc


CRCS = [shifted(byte) for byte in range(256)]


def write_model(config, work, weights):
    with safetensors.safe_open(f"{work}/out.safetensors", "np") as steps:
        metadata = {"format": "kiln/model", "version": "1", "config": config, **steps.metadata()}
    metadata = {n: v for n, v in metadata.items() if not n.startswith("crc32c/")}
    metadata.update({f"crc32c/{n}": f"{crc32c(np.ascontiguousarray(w).tobytes()):08x}" for n, w in weights.items()})
    safetensors.numpy.save_file({n: np.ascontiguousarray(w) for n, w in weights.items()}, f"{work}/model.safetensors", metadata)


def export(work):
    done = subprocess.run([os.path.join(os.environ["KILN_BIN"], "kiln"), "export", f"{work}/model.safetensors", "--output",
                           f"{work}/out", "--json"], capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(done.stderr)
    files = {f["form"]: os.path.join(work, "out", f["file"]) for f in json.loads(done.stdout)["files"]}
    for path in files.values():
        if not os.path.getsize(path):
            raise RuntimeError(f"{path} is empty")
    return files


def by_onnx(path):
    model = onnx.load(path)
    onnx.checker.check_model(model, full_check=True)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(path, options)
    return lambda batch: session.run(None, batch)[0]


def by_tensorflow(path):
    folder = os.path.dirname(path)
    if not os.path.basename(folder).isdigit():  # TensorFlow Serving expects <base path>/<version>
        raise RuntimeError(f"{folder} is no version's")
    loaded = tf.saved_model.load(folder)
    serve = loaded.signatures["serving_default"]
    by_tensorflow.alive.append(loaded)
    return lambda batch: next(iter(serve(**{n: tf.constant(b) for n, b in batch.items()}).values())).numpy()


by_tensorflow.alive = []


def first_rows(inputs, rows):
    """Values and splits of a ragged feature; values after the last split do not count."""
    splits = {n: b[:rows + 1] for n, b in inputs.items() if n.endswith("/splits")}
    return {**{n: b[:rows] if n.replace("/values", "/splits") not in splits else b for n, b in inputs.items()}, **splits}


def look(row, work):
    rng = np.random.default_rng(zlib.crc32(row.name.encode()))
    peer, batches = parity.Peer(row), parity.make_batches(row, rng, 1)
    weights = {n: w for n, w in peer.state().items() if not n.startswith(("optimizer/", "state/"))}
    columns = parity.columns_of(row, batches)
    if row.name.startswith("mask"):  # no step of a row counts
        columns["batch/words"] = columns["batch/words"].copy()
        columns["batch/words"][0][1] = 0
    found = parity.kiln(row, work, {**columns,
                                    **{f"at/0/{n}": w for n, w in weights.items()}})["output/0"].reshape(parity.ROWS, -1)
    batch = {n.removeprefix("batch/"): b[0] for n, b in columns.items() if n not in ("batch/label", "batch/weight")}
    write_model(parity.config_of(row), work, weights)
    files, worst = export(work), 0
    for form, open_it in (("onnx", by_onnx), ("saved_model", by_tensorflow)):
        run = open_it(files[form])
        for rows in (parity.ROWS, FEW):
            got = run(first_rows(batch, rows)).reshape(rows, -1)
            difference = np.max(np.abs(got - found[:rows])) / max(np.max(np.abs(found)), 1e-6)
            worst = max(worst, difference)
            if not difference <= LIMIT:
                raise RuntimeError(f"{form}, {rows} rows: differs by {difference:.2e}, allowed: {LIMIT:.0e}")
    return worst


def main():
    work = tempfile.mkdtemp(prefix="kiln-export-")
    os.environ["KILN_ROOT"] = work
    os.environ.setdefault("KILN_BIN", os.path.join(parity.ROOT, "build/release/bin"))
    os.environ.setdefault("POCL_CACHE_DIR", os.path.join(parity.ROOT, "build/kernels"))
    os.makedirs(os.environ["POCL_CACHE_DIR"], exist_ok=True)
    names = sys.argv[1:]
    rows = [row for row in parity.LAYERS + parity.LOSSES if not names or any(name in row.name for name in names)]
    failed = False
    for number, row in enumerate(rows, 1):
        try:
            print(f"ok {number} - as others see it: {row.name} # {look(row, work):.1e}", flush=True)
        except Exception as error:  # raised by any of three tools
            failed = True
            print(f"not ok {number} - as others see it: {row.name}\n# " + str(error).strip().replace("\n", "\n# "), flush=True)
    print(f"1..{len(rows)}")
    shutil.rmtree(work)
    return failed


if __name__ == "__main__":
    sys.exit(main())
