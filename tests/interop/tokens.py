# SPDX-License-Identifier: Apache-2.0
"""Compares tokenisers with the package `tokenizers`, id for id: on texts, on every character of Unicode in every neighbourhood
that a pattern knows, and on what a file can say. What Kiln does not know is refused by name."""
import json
import os
import sys
import tempfile

from tokenizers import AddedToken, Tokenizer, models, pre_tokenizers, processors

from lib.tap import end, ok
from lib.tokenisers import (bert, bytes_of_all, first_difference, frame_bert, kiln_ids, llama3, pieces_of_all, reviews,
                            texts_of_all, texts_of_classes, train_bert, train_bpe, train_roberta)

VOCABULARY = 4000
ODD = ["", " ", "\n", "  two  spaces ", "tab\tand\r\nline", "ΑΣ ΣΑΣ", "İstanbul ǅ ŉ", "e\u0301\u0323 Ǻ", "don't I'LL we\u2019ve 'ſ",
       "中文 and 日本語", "한국어", "a" * 101, "b" * 100, "é" * 100, "1234567 12.5", "\u200bzero\u00adsoft", "x\x00y\ufffdz",
       "[CLS] is [MASK]ed [mask]", "a <mask> b  <mask>", "<|endoftext|>", "ﬁ Ⅷ ½ ²", "\u00a0\u3000 \u2028wide", "!?.,", "\n\n  x\n",
       "\r\n \r\nfoo", "x   y", "𝔘𝔫𝔦 👩‍👩‍👧 🇩🇪", "'", "' s", "''s", "-" * 300, "ab" * 3000, "…\n\n!\n"]


def saved(folder, tokenizer):
    path = os.path.join(folder, "tokenizer.json")
    tokenizer.save(path)
    return path


def same(folder, name, tokenizer, texts):
    difference = first_difference(tokenizer, saved(folder, tokenizer), texts)
    ok(not difference, f"{name}: the same ids", difference)


def check_texts(folder):
    texts = reviews(600) + ODD
    visible = [text for text in texts if "\x00" not in text]  # Kiln's JSON holds no \u0000, which would become a piece
    plain = pre_tokenizers.ByteLevel(add_prefix_space=False)
    same(folder, "WordPiece, uncased", train_bert(texts, VOCABULARY), texts)
    same(folder, "WordPiece, cased", train_bert(texts, VOCABULARY, lowercase=False), texts)
    same(folder, "WordPiece, small letters with accents", train_bert(texts, VOCABULARY, strip_accents=False), texts)
    same(folder, "WordPiece, no cleaning", train_bert(visible, VOCABULARY, clean_text=False, handle_chinese_chars=False), visible)
    same(folder, "BPE of GPT-2", train_bpe(texts, VOCABULARY, plain), texts)
    same(folder, "BPE of RoBERTa", train_roberta(texts, VOCABULARY), texts)
    same(folder, "BPE of Llama 3", train_bpe(texts, VOCABULARY, llama3("{1,3}"), ignore_merges=True), texts)
    same(folder, "BPE of Qwen 2", train_bpe(texts, VOCABULARY, llama3("")), texts)


def check_characters(folder):
    texts = texts_of_all()
    for name, options in (("uncased", {}), ("capitals, no accents", {"lowercase": False, "strip_accents": True}),
                          ("accents, not cleaned", {"strip_accents": False, "clean_text": False})):
        tokenizer = bert(**options)
        tokenizer.model = models.WordPiece(pieces_of_all(), unk_token="[UNK]")
        same(folder, f"every character, WordPiece, {name}", frame_bert(tokenizer), texts)
    vocab, merges = bytes_of_all()
    for name, split in (("GPT-2", pre_tokenizers.ByteLevel(add_prefix_space=False)), ("Llama 3", llama3("{1,3}"))):
        tokenizer = Tokenizer(models.BPE(vocab=vocab, merges=merges))
        tokenizer.pre_tokenizer = split
        same(folder, f"every class of characters, BPE of {name}", tokenizer, texts_of_classes())


def check_settings(folder):
    texts = reviews(40) + ODD
    for direction in ("right", "left"):
        tokenizer = train_bert(texts, 500)
        tokenizer.enable_truncation(24, direction=direction)
        same(folder, f"truncation on the {direction}", tokenizer, texts)
    tokenizer = train_bert(texts, 500)
    path = saved(folder, tokenizer)
    tokenizer.enable_truncation(16)
    ok(kiln_ids(path, texts, 16)[0] == [e.ids for e in tokenizer.encode_batch(texts)], "a limit of the caller cuts as truncation does")
    tokenizer = train_bert(texts, 500)
    tokenizer.add_tokens([AddedToken("Ünder", normalized=True), AddedToken("tHe", normalized=False, rstrip=True)])
    same(folder, "added tokens before and behind the normaliser", tokenizer,
         texts + ["ÜNDER the tHe  x", "tHetHe  under", "wünderbar " * 3])
    tokenizer = train_bpe(texts, 500, pre_tokenizers.ByteLevel(add_prefix_space=True))
    end_id = tokenizer.token_to_id("<|endoftext|>")
    tokenizer.post_processor = processors.Sequence([processors.ByteLevel(trim_offsets=True), processors.TemplateProcessing(
        single="<|endoftext|> $A", pair=None, special_tokens=[("<|endoftext|>", end_id)])])
    same(folder, "a sequence of processors", tokenizer, texts)


def check_list(folder):
    tokenizer = train_bert(reviews(200), 2000)
    vocab = sorted(tokenizer.get_vocab().items(), key=lambda item: item[1])
    path = os.path.join(folder, "vocab.txt")
    with open(path, "w", encoding="utf-8") as lines:
        lines.writelines(piece + "\n" for piece, _ in vocab)
    difference = first_difference(tokenizer, path, reviews(200) + ODD)
    ok(not difference, "vocab.txt: the same ids", difference)


def check_refusals(folder):
    made = json.loads(train_bert(reviews(50), 300).to_str())

    def refused(change, words):
        text = json.loads(json.dumps(made))
        change(text)
        path = os.path.join(folder, "refused.json")
        with open(path, "w") as out:
            json.dump(text, out)
        said = kiln_ids(path, ["x"])[1]
        ok(words in said, f"refused: {words}", said)

    refused(lambda t: t["model"].update(type="Unigram"), 'model.type: found "Unigram", expected WordPiece or BPE')
    refused(lambda t: t["normalizer"].update(type="NFKC"), 'normalizer.type: found "NFKC"')
    refused(lambda t: t["normalizer"].update(shout=True), "normalizer.shout: is not known")
    refused(lambda t: t.update(pre_tokenizer={"type": "Whitespace"}), 'pre_tokenizer.type: found "Whitespace"')
    refused(lambda t: t.update(pre_tokenizer={"type": "ByteLevel"}), "pre_tokenizer: found an object, expected BertPreTokenizer")
    refused(lambda t: t["added_tokens"][1].update(single_word=True), "added_tokens[1].single_word: found true")
    refused(lambda t: t["added_tokens"][1].update(id=7), "added_tokens[1].id: found 7")
    refused(lambda t: t["post_processor"].update(type="Other"), 'post_processor.type: found "Other"')
    refused(lambda t: t.update(truncation={"max_length": 2, "strategy": "LongestFirst"}), "truncation.max_length: found 2")
    refused(lambda t: t["model"]["vocab"].update(x=-1), "model.vocab.x: found -1")


def main():
    with tempfile.TemporaryDirectory() as folder:
        check_texts(folder)
        check_settings(folder)
        check_list(folder)
        check_refusals(folder)
        check_characters(folder)
    return end()


sys.exit(main())
