#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A training step of all of a BERT of the size of all-MiniLM-L6-v2: PyTorch's eager mode beside Kiln's step (step.c). First the
mean vectors of two texts, one with padding, are computed by both from the same weights: Kiln reads PyTorch's, through kiln weights
convert. Then rounds of both alternate. A JSON line has the medians of the time, another those of the time of all cores.

Usage: bert_peers.py PATH-OF-STEP   (in the virtual environment of tests/bench)
"""
import json
import os
import subprocess
import sys
import tempfile

import layer_peers
import numpy
import safetensors.numpy
import torch
from layer_peers import parity
from torch.nn import Dropout, Embedding, LayerNorm, Linear, Module, ModuleList
from torch.nn.functional import gelu, scaled_dot_product_attention

ROWS, TOKENS, CLASSES, ROUNDS, STEPS, LIMIT = 32, 128, 2, 3, 2, 1e-4  # LIMIT: of a difference, of the largest number
WORDS, POSITIONS, SIZE, LAYERS, HEADS, INNER, EPSILON, RATE = 30522, 512, 384, 6, 12, 1536, 1e-12, 0.1
CONFIG = {"model_type": "bert", "hidden_size": SIZE, "num_hidden_layers": LAYERS, "num_attention_heads": HEADS,
          "intermediate_size": INNER, "vocab_size": WORDS, "max_position_embeddings": POSITIONS, "type_vocab_size": 2,
          "hidden_act": "gelu", "layer_norm_eps": EPSILON, "hidden_dropout_prob": RATE, "attention_probs_dropout_prob": RATE,
          "pad_token_id": 0}
KILN_CONF = """
run: {{ name = "t"; batch_rows = {rows}; }};
source: {{ url = "file:///nowhere"; }};
sink: {{ url = "file:///nowhere"; }};
schema = ( {{ name = "tokens"; dtype = "int64"; shape = [ {tokens} ]; padding = "post"; }},
           {{ name = "label"; dtype = "float32"; shape = [ {size} ]; }} );
model: {{ input = "tokens"; loss = "mean_squared_error"; {keys} base_pooling = "avg"; layers = ( {{ op = "flatten"; }} ); }};
"""


# ---- PyTorch. The modules have the names of Hugging Face's -----------------------------------------------------------

class Embeddings(Module):
    def __init__(self):
        super().__init__()
        self.word_embeddings, self.position_embeddings = Embedding(WORDS, SIZE), Embedding(POSITIONS, SIZE)
        self.token_type_embeddings = Embedding(2, SIZE)
        self.LayerNorm, self.dropout = LayerNorm(SIZE, EPSILON), Dropout(RATE)

    def forward(self, ids):
        x = self.word_embeddings(ids) + self.position_embeddings.weight[:ids.shape[1]] + self.token_type_embeddings.weight[0]
        return self.dropout(self.LayerNorm(x))


class Projections(Module):
    def __init__(self):
        super().__init__()
        self.query, self.key, self.value = Linear(SIZE, SIZE), Linear(SIZE, SIZE), Linear(SIZE, SIZE)

    def forward(self, x, mask):
        q, k, v = (of(x).unflatten(-1, (HEADS, -1)).transpose(1, 2) for of in (self.query, self.key, self.value))
        y = scaled_dot_product_attention(q, k, v, attn_mask=mask, dropout_p=RATE if self.training else 0)
        return y.transpose(1, 2).flatten(2)


class Output(Module):
    """The end of a block: dense, dropout, and the norm of the sum with the block's input."""

    def __init__(self, width):
        super().__init__()
        self.dense, self.LayerNorm, self.dropout = Linear(width, SIZE), LayerNorm(SIZE, EPSILON), Dropout(RATE)

    def forward(self, y, x):
        return self.LayerNorm(x + self.dropout(self.dense(y)))


class Layer(Module):
    def __init__(self):
        super().__init__()
        self.attention, self.intermediate, self.output = Module(), Module(), Output(INNER)
        self.attention.self, self.attention.output = Projections(), Output(SIZE)
        self.intermediate.dense = Linear(SIZE, INNER)

    def forward(self, x, mask):
        x = self.attention.output(self.attention.self(x, mask), x)
        return self.output(gelu(self.intermediate.dense(x)), x)


class Bert(Module):
    def __init__(self):
        super().__init__()
        self.embeddings, self.encoder = Embeddings(), Module()
        self.encoder.layer = ModuleList(Layer() for _ in range(LAYERS))

    def forward(self, ids):
        counts = ids != 0
        x, mask = self.embeddings(ids), counts[:, None, None, :]
        for layer in self.encoder.layer:
            x = layer(x, mask)
        return (x * counts[..., None]).sum(1) / counts.sum(1, keepdim=True)


def torch_steps(bert, ids, labels):
    head = Linear(SIZE, CLASSES)
    optimizer = torch.optim.Adam([*bert.parameters(), *head.parameters()], lr=0.001, eps=1e-7)
    loss = torch.nn.CrossEntropyLoss()
    bert.train()

    def step():
        optimizer.zero_grad()
        loss(head(bert(ids)), labels).backward()
        optimizer.step()
    return step


# ---- Kiln ------------------------------------------------------------------------------------------------------------

def run(*arguments):
    return subprocess.run(arguments, check=True, stdout=subprocess.PIPE, text=True).stdout


def by_kiln(bert, ids, work):
    folder = f"{work}/bert"
    os.mkdir(folder)
    with open(f"{folder}/config.json", "w") as out:
        json.dump(CONFIG, out)
    safetensors.numpy.save_file({n: t.numpy() for n, t in bert.state_dict().items()}, f"{folder}/model.safetensors")
    said = run(f"{parity.BIN}/kiln", "weights", "convert", folder, "--base", "bert", f"{work}/kiln.safetensors")
    keys = said.split("model: {")[1].split("weights =")[0]
    with open(f"{work}/kiln.conf", "w") as out:
        out.write(KILN_CONF.format(rows=len(ids), tokens=TOKENS, size=SIZE, keys=keys))
    weights = safetensors.numpy.load_file(f"{work}/kiln.safetensors")
    safetensors.numpy.save_file({**{f"at/0/{n}": w for n, w in weights.items()}, "batch/tokens": ids[None],
                                 "batch/label": numpy.zeros([1, len(ids), SIZE], numpy.float32)}, f"{work}/in.safetensors")
    run(f"{parity.BUILD}/system/train_steps", f"{work}/kiln.conf", f"{work}/in.safetensors", f"{work}/out.safetensors")
    return safetensors.numpy.load_file(f"{work}/out.safetensors")["output/0"].reshape(len(ids), -1)


def verify(bert, ids):
    ids = ids[:2].copy()
    ids[1, 40:] = 0
    with torch.no_grad():
        wanted = bert.eval()(torch.from_numpy(ids)).numpy()
    with tempfile.TemporaryDirectory(prefix="kiln-peers-") as work:
        os.environ["KILN_ROOT"] = work
        difference = numpy.abs(by_kiln(bert, ids, work) - wanted).max() / numpy.abs(wanted).max()
    if not difference <= LIMIT:
        sys.exit(f"bert_peers: vectors of PyTorch and Kiln differ by {difference:.1e} of the largest, allowed: {LIMIT}")


def main():
    torch.set_num_threads(len(os.sched_getaffinity(0)))
    torch.manual_seed(44)
    random = numpy.random.default_rng(44)
    ids = random.integers(1, WORDS, (ROWS, TOKENS))
    bert = Bert()
    verify(bert, ids)
    step = torch_steps(bert, torch.from_numpy(ids), torch.from_numpy(random.integers(0, CLASSES, ROWS)))
    layer_peers.STEPS = STEPS
    layer_peers.compare(sys.argv[1], "bert-step", {"pytorch-" + torch.__version__: step}, ROUNDS)


main()
