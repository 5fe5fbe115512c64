# SPDX-License-Identifier: Apache-2.0
"""Kiln's tokenisers and the package `tokenizers` on the same texts and threads, in turns: compares the ids of each text, then
prints a JSON line for each tokeniser. Usage: tokenise.py TOKENISE THREADS [REVIEWS]"""
import json
import os
import statistics
import struct
import subprocess
import sys
import tempfile
import time

program, threads = sys.argv[1], int(sys.argv[2])
os.environ["TOKENIZERS_PARALLELISM"] = "true" if threads > 1 else "false"
os.environ["RAYON_NUM_THREADS"] = str(threads)
sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../interop"))
from tokenizers import Tokenizer, pre_tokenizers

from lib.tokenisers import first_difference, reviews, train_bert, train_bpe

VOCABULARY, BATCH, ROUNDS = 8000, 1000, 3


def cases(texts):
    yield "WordPiece", train_bert(texts, VOCABULARY)
    yield "byte-level BPE", train_bpe(texts, VOCABULARY, pre_tokenizers.ByteLevel(add_prefix_space=False))
    for path in filter(None, os.environ.get("KILN_BENCH_TOKENIZERS", "").split(":")):
        yield os.path.basename(os.path.dirname(path)), Tokenizer.from_file(path)


def theirs(tokenizer, texts):
    start = time.perf_counter()
    ids = sum(len(e.ids) for at in range(0, len(texts), BATCH) for e in tokenizer.encode_batch_fast(texts[at:at + BATCH]))
    return time.perf_counter() - start, ids


def ours(path, packed):
    told = subprocess.run([program, path, packed, str(threads)], check=True, capture_output=True, text=True).stdout
    rounds = [line.split() for line in told.splitlines()]
    return statistics.median(float(seconds) for seconds, _ in rounds), int(rounds[0][1])


def main():
    texts = reviews(int(sys.argv[3]) if len(sys.argv) > 3 else None)
    megabytes = sum(len(text.encode()) for text in texts) / 1e6
    with tempfile.TemporaryDirectory() as folder:
        path, packed = os.path.join(folder, "tokenizer.json"), os.path.join(folder, "texts")
        with open(packed, "wb") as out:
            for text in texts:
                out.write(struct.pack("<I", len(text.encode())) + text.encode())
        for name, tokenizer in cases(texts):
            tokenizer.no_padding()
            tokenizer.save(path)
            difference = first_difference(tokenizer, path, texts)
            if difference:
                sys.exit(f"{name}: {difference}")
            rounds = [(ours(path, packed), theirs(tokenizer, texts)) for _ in range(ROUNDS)]
            assert all(mine[1] == peer[1] for mine, peer in rounds), rounds
            mine, peer = (statistics.median(round[i][0] for round in rounds) for i in (0, 1))
            print(json.dumps({"name": "tokenise", "case": f"{name}, {len(texts)} texts, {threads} threads",
                              "value": round(megabytes / mine, 1), "unit": "MB/s", "peer": "tokenizers",
                              "peer_value": round(megabytes / peer, 2), "ratio": round(peer / mine, 2)}), flush=True)


main()
