# SPDX-License-Identifier: Apache-2.0
"""A small BERT of random numbers, as Hugging Face keeps one:
bert_folder.py make DIR [KEY=VALUE ...]  writes config.json (with these members), model.safetensors, vocab.txt and what
                                         sentence-transformers adds
bert_folder.py vectors DIR               prints the vectors of the texts on standard input, one a line, computed in float64:
                                         the mean of the tokens' vectors, of length 1"""
import array
import json
import math
import os
import random
import struct
import sys

WORDS = "good bad film films not a the was is plot actor dull great warm cold very . , !".split()
VOCABULARY = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"] + WORDS
SIZE, LAYERS, HEADS, INNER, POSITIONS, LONGEST = 8, 2, 2, 12, 32, 12
CONFIG = {"model_type": "bert", "hidden_size": SIZE, "num_hidden_layers": LAYERS, "num_attention_heads": HEADS,
          "intermediate_size": INNER, "vocab_size": len(VOCABULARY), "max_position_embeddings": POSITIONS, "type_vocab_size": 2,
          "hidden_act": "gelu", "layer_norm_eps": 1e-12, "hidden_dropout_prob": 0.1, "attention_probs_dropout_prob": 0.1,
          "pad_token_id": 0}
DENSES = [("attention.self.query", SIZE, SIZE), ("attention.self.key", SIZE, SIZE), ("attention.self.value", SIZE, SIZE),
          ("attention.output.dense", SIZE, SIZE), ("intermediate.dense", INNER, SIZE), ("output.dense", SIZE, INNER)]


# ---- The files -------------------------------------------------------------------------------------------------------

def shapes(inner):
    found = {f"embeddings.{name}_embeddings.weight": [rows, SIZE]
             for name, rows in (("word", len(VOCABULARY)), ("position", POSITIONS), ("token_type", 2))}
    norms = ["embeddings.LayerNorm"]
    for i in range(LAYERS):
        for name, *sizes in DENSES:
            out, into = (inner if size == INNER else size for size in sizes)
            found.update({f"encoder.layer.{i}.{name}.weight": [out, into], f"encoder.layer.{i}.{name}.bias": [out]})
        norms += [f"encoder.layer.{i}.attention.output.LayerNorm", f"encoder.layer.{i}.output.LayerNorm"]
    found.update({f"{name}.{part}": [SIZE] for name in norms for part in ("weight", "bias")})
    return {**found, "pooler.dense.weight": [SIZE, SIZE], "pooler.dense.bias": [SIZE]}


def numbers(name, shape, rng):
    middle = 1.0 if name.endswith("LayerNorm.weight") else 0.0
    return [middle + rng.uniform(-0.5, 0.5) for _ in range(math.prod(shape))]


def write(path, content):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as out:
        out.write(content if isinstance(content, str) else json.dumps(content))


def make(folder, members):
    rng, header, data = random.Random(44), {}, array.array("f")
    config = {**CONFIG, **{key: json.loads(value) for key, value in members}}
    for name, shape in shapes(config["intermediate_size"]).items():
        at = 4 * len(data)
        data.extend(numbers(name, shape, rng))
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [at, 4 * len(data)]}
    text = json.dumps(header).encode()
    write(f"{folder}/config.json", config)
    write(f"{folder}/vocab.txt", "".join(f"{word}\n" for word in VOCABULARY))
    write(f"{folder}/sentence_bert_config.json", {"max_seq_length": LONGEST, "do_lower_case": False})
    write(f"{folder}/modules.json", [{"idx": i, "name": str(i), "path": path, "type": f"sentence_transformers.models.{kind}"}
                                     for i, (path, kind) in enumerate((("", "Transformer"), ("1_Pooling", "Pooling"),
                                                                       ("2_Normalize", "Normalize")))])
    write(f"{folder}/1_Pooling/config.json", {"word_embedding_dimension": SIZE, "pooling_mode_mean_tokens": True,
                                              "pooling_mode_cls_token": False, "pooling_mode_max_tokens": False})
    with open(f"{folder}/model.safetensors", "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + data.tobytes())


# ---- In float64 ------------------------------------------------------------------------------------------------------

def load(folder):
    with open(f"{folder}/model.safetensors", "rb") as file:
        header = json.loads(file.read(struct.unpack("<Q", file.read(8))[0]))
        data = file.read()
    return {name: array.array("f", data[slice(*of["data_offsets"])]) for name, of in header.items()}


def dense(of, name, rows):
    weight, bias = of[f"{name}.weight"], of[f"{name}.bias"]
    return [[sum(w * x for w, x in zip(weight[o * len(row):], row)) + b for o, b in enumerate(bias)] for row in rows]


def norm(of, name, rows):
    def one(row):
        mean = sum(row) / len(row)
        root = math.sqrt(sum((x - mean) ** 2 for x in row) / len(row) + 1e-12)
        return [(x - mean) / root * w + b for x, w, b in zip(row, of[f"{name}.weight"], of[f"{name}.bias"])]
    return [one(row) for row in rows]


def plus(a, b):
    return [[x + y for x, y in zip(p, q)] for p, q in zip(a, b)]


def attend(of, name, rows):
    q, k, v = (dense(of, f"{name}.self.{part}", rows) for part in ("query", "key", "value"))
    context, width = [[0.0] * SIZE for _ in rows], SIZE // HEADS
    for columns in (range(h * width, h * width + width) for h in range(HEADS)):
        for t in range(len(rows)):
            weights = [math.exp(sum(q[t][c] * key[c] for c in columns) / math.sqrt(width)) for key in k]
            for c in columns:
                context[t][c] = sum(w * value[c] for w, value in zip(weights, v)) / sum(weights)
    return dense(of, f"{name}.output.dense", context)


def vector(of, text):
    ids = [VOCABULARY.index(word) if word in WORDS else 1 for word in text.lower().split()]
    ids = [2] + ids[:LONGEST - 2] + [3]
    row = lambda name, i: of[f"embeddings.{name}_embeddings.weight"][i * SIZE:(i + 1) * SIZE]
    x = norm(of, "embeddings.LayerNorm",
             [[a + b + c for a, b, c in zip(row("word", i), row("position", t), row("token_type", 0))]
              for t, i in enumerate(ids)])
    for i in range(LAYERS):
        name = f"encoder.layer.{i}"
        x = norm(of, f"{name}.attention.output.LayerNorm", plus(x, attend(of, f"{name}.attention", x)))
        inner = [[0.5 * y * (1 + math.erf(y / math.sqrt(2))) for y in row] for row in dense(of, f"{name}.intermediate.dense", x)]
        x = norm(of, f"{name}.output.LayerNorm", plus(x, dense(of, f"{name}.output.dense", inner)))
    mean = [sum(column) / len(x) for column in zip(*x)]
    length = math.sqrt(sum(y * y for y in mean))
    return [y / length for y in mean]


def main():
    what, folder, *rest = sys.argv[1:]
    if what == "make":
        make(folder, [member.split("=", 1) for member in rest])
        return
    of = load(folder)
    for text in sys.stdin:
        print(*(f"{y:.9f}" for y in vector(of, text)))


main()
