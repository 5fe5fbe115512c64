# SPDX-License-Identifier: Apache-2.0
"""Sentence vectors by Kiln and by PyTorch, in turns: compares them, then prints a JSON line. PyTorch gets what sentence-transformers
gives it: texts sorted by length, batches of 32, padded to the longest of the batch, fused attention. Its weights are loaded
before the clock starts; Kiln's are loaded while it runs. Usage: sentence_vectors.py DIR TEXTS"""
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np
import safetensors.torch
import torch
from tokenizers import Tokenizer
from torch.nn import functional as F

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../interop"))
from lib.tap import BIN, BUILD
from lib.tokenisers import reviews

BATCH, ROUNDS, LEAST = 32, 3, 0.9999


class Peer:
    def __init__(self, folder):
        self.of = safetensors.torch.load_file(f"{folder}/model.safetensors")
        self.config = json.load(open(f"{folder}/config.json"))
        self.tokenizer = Tokenizer.from_file(f"{folder}/tokenizer.json")
        self.tokenizer.enable_truncation(json.load(open(f"{folder}/sentence_bert_config.json"))["max_seq_length"])
        self.tokenizer.enable_padding()

    def dense(self, x, name):
        return F.linear(x, self.of[f"{name}.weight"], self.of[f"{name}.bias"])

    def norm(self, x, name):
        return F.layer_norm(x, x.shape[-1:], self.of[f"{name}.weight"], self.of[f"{name}.bias"], self.config["layer_norm_eps"])

    def layer(self, x, mask, name):
        heads = self.config["num_attention_heads"]
        q, k, v = (self.dense(x, f"{name}.attention.self.{part}").unflatten(-1, (heads, -1)).transpose(1, 2)
                   for part in ("query", "key", "value"))
        context = F.scaled_dot_product_attention(q, k, v, attn_mask=mask[:, None, None, :]).transpose(1, 2).flatten(2)
        x = self.norm(x + self.dense(context, f"{name}.attention.output.dense"), f"{name}.attention.output.LayerNorm")
        inner = F.gelu(self.dense(x, f"{name}.intermediate.dense"))
        return self.norm(x + self.dense(inner, f"{name}.output.dense"), f"{name}.output.LayerNorm")

    def batch(self, texts):
        encoded = self.tokenizer.encode_batch(texts)
        ids = torch.tensor([e.ids for e in encoded])
        mask = torch.tensor([e.attention_mask for e in encoded], dtype=torch.bool)
        x = self.of["embeddings.word_embeddings.weight"][ids] + self.of["embeddings.position_embeddings.weight"][:ids.shape[1]]
        x = self.norm(x + self.of["embeddings.token_type_embeddings.weight"][0], "embeddings.LayerNorm")
        for i in range(self.config["num_hidden_layers"]):
            x = self.layer(x, mask, f"encoder.layer.{i}")
        return F.normalize((x * mask[..., None]).sum(1) / mask.sum(1, keepdim=True), dim=1)

    @torch.inference_mode()
    def vectors(self, texts):
        order = sorted(range(len(texts)), key=lambda i: -len(texts[i]))
        found = np.empty([len(texts), self.config["hidden_size"]], np.float32)
        for at in range(0, len(order), BATCH):
            rows = order[at:at + BATCH]
            found[rows] = self.batch([texts[i] for i in rows]).numpy()
        return found


def ours(folder, work):
    start = time.perf_counter()
    subprocess.run([f"{BIN}/kiln", "prep", f"{work}/texts.tsv", "--test-percent", "0", "--encoder", f"bert:{folder}", "--replace",
                    "--output", f"file://{work}/set"], check=True, capture_output=True)
    return time.perf_counter() - start


def theirs(peer, texts):
    start = time.perf_counter()
    peer.vectors(texts)
    return time.perf_counter() - start


def verify(peer, texts, work):
    """Each text's vector is among those that Kiln wrote, which are in another order."""
    lines = [line for name in sorted(os.listdir(f"{work}/set")) if name.startswith("train-")
             for line in subprocess.run([f"{BUILD}/system/dump_records", f"{work}/set/{name}"], check=True, capture_output=True,
                                        text=True).stdout.splitlines() if '"values"' in line]
    found = np.array([json.loads(line)["values"]["sentence"] for line in lines], np.uint32).view(np.float32)
    least = (peer.vectors(texts) @ found.T).max(1).min()
    if len(found) != len(texts) or not least >= LEAST:
        sys.exit(f"{len(found)} vectors, cosine {least}; expected {len(texts)}, at least {LEAST}")


def main():
    folder, count = sys.argv[1], int(sys.argv[2])
    texts = [" ".join(text.split()) for text in reviews(count)]
    torch.set_num_threads(os.cpu_count())
    peer = Peer(folder)
    with tempfile.TemporaryDirectory() as work:
        os.environ.setdefault("KILN_ROOT", work)
        with open(f"{work}/texts.tsv", "w") as out:
            out.writelines(f"{'ab'[i % 2]}\t{text}\n" for i, text in enumerate(texts))
        ours(folder, work)
        verify(peer, texts, work)
        rounds = [(ours(folder, work), theirs(peer, texts)) for _ in range(ROUNDS)]
    mine, other = (statistics.median(pair[i] for pair in rounds) for i in (0, 1))
    print(json.dumps({"name": "sentence-vectors", "case": f"all-MiniLM-L6-v2, {len(texts)} reviews",
                      "value": round(len(texts) / mine, 1), "unit": "texts/s", "peer": f"PyTorch {torch.__version__}",
                      "peer_value": round(len(texts) / other, 1), "ratio": round(other / mine, 2)}), flush=True)


main()
