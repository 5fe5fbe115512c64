# SPDX-License-Identifier: Apache-2.0
"""Tokenisers of the package `tokenizers`, as the files of models have them, and texts to compare them with Kiln's."""
import gzip
import os
import struct
import subprocess
import unicodedata

from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

from lib.tap import BUILD, ROOT

REVIEWS = os.path.join(ROOT, "../shared/data/imdb")
LLAMA3 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}%s| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+"
          r"|\s+(?!\S)|\s+")
BERT_TOKENS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]


def reviews(most=None):
    """The labelled reviews of the Large Movie Review Dataset; the project's manual where it is missing."""
    if not os.path.isdir(REVIEWS):
        folder = os.path.join(ROOT, "rootfs/doc")
        texts = [line.strip() for name in sorted(os.listdir(folder)) for line in open(os.path.join(folder, name))]
        return [text for text in texts if text][:most]
    texts = []
    for name in ("train.tsv.gz", "test.tsv.gz"):
        with gzip.open(os.path.join(REVIEWS, name), "rt", encoding="utf-8", newline="\n") as lines:
            texts += [line.rstrip("\n").split("\t")[1] for line in lines]
    return texts[::max(1, len(texts) // most)][:most] if most else texts


def bert(**options):
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(**options)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    return tokenizer


def frame_bert(tokenizer):
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B [SEP]",
        special_tokens=[(t, tokenizer.token_to_id(t)) for t in ("[CLS]", "[SEP]")])
    return tokenizer


def train_bert(texts, size, **options):
    tokenizer = bert(**options)
    tokenizer.train_from_iterator(texts, trainers.WordPieceTrainer(vocab_size=size, special_tokens=BERT_TOKENS,
                                                                   show_progress=False))
    return frame_bert(tokenizer)


def train_bpe(texts, size, split, special=("<|endoftext|>",), **options):
    tokenizer = Tokenizer(models.BPE(**options))
    tokenizer.pre_tokenizer = split
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.train_from_iterator(texts, trainers.BpeTrainer(
        vocab_size=size, special_tokens=list(special), show_progress=False,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet()))
    tokenizer.post_processor = processors.ByteLevel(trim_offsets=False)
    return tokenizer


def llama3(digits):
    return pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(LLAMA3 % digits), "isolated"),
                                    pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])


def train_roberta(texts, size):
    tokenizer = train_bpe(texts, size, pre_tokenizers.ByteLevel(add_prefix_space=True), ("<s>", "</s>", "<unk>"))
    tokenizer.add_special_tokens([AddedToken("<mask>", lstrip=True)])
    tokenizer.post_processor = processors.RobertaProcessing(
        sep=("</s>", tokenizer.token_to_id("</s>")), cls=("<s>", tokenizer.token_to_id("<s>")))
    return tokenizer


def all_characters():
    return [chr(c) for c in range(0x110000) if not 0xd800 <= c < 0xe000]


def pieces_of_all():
    """A WordPiece vocabulary with each character of the alphabets, alone and behind another, so that each change by the
    normaliser is seen."""
    alphabets = [c for c in all_characters() if unicodedata.category(c) not in ("Cn", "Co", "Cc") and c != "#"
                 and not unicodedata.name(c, "").startswith(("CJK UNIFIED", "HANGUL SYLLABLE", "TANGUT", "KHITAN", "NUSHU"))]
    return {piece: i for i, piece in enumerate(BERT_TOKENS + alphabets + ["##" + c for c in alphabets])}


def bytes_of_all():
    """BPE's merges that join a character's first byte with a letter, a digit or a mark, and its last one with a line end, so
    that each place where a pattern splits is seen."""
    byte = sorted(pre_tokenizers.ByteLevel.alphabet())
    bare = Tokenizer(models.BPE(vocab={b: i for i, b in enumerate(byte)}, merges=[]))
    bare.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    written = {b: bare.encode(chr(b)).tokens[0] for b in range(128)}
    first = sorted({bare.encode(chr(c)).tokens[0] for c in range(0x80, 0x110000, 64) if not 0xd800 <= c < 0xe000})
    last = sorted({bare.encode(chr(c)).tokens[-1] for c in range(0x80, 0xc0)})
    merges = [(written[ord(c)], b) for c in "a1!" for b in first] + [(b, written[10]) for b in last]
    vocab = {b: i for i, b in enumerate(byte + [x + y for x, y in merges])}
    return vocab, merges


def in_texts(form, characters):
    """Texts that show each character in the form, 64 in a text."""
    return [" ".join(form.replace("?", c) for c in characters[at:at + 64]) for at in range(0, len(characters), 64)]


def texts_of_all():
    """Each character alone, between letters, and with accents."""
    return in_texts("? a?b ?\u0301\u0323 a\u0345?\u0323", all_characters())


def texts_of_classes():
    """Each character behind a letter, a digit and a mark, and before line ends. Of the blocks that have one class alone, each
    29th character."""
    wide = ("CJK UNIFIED", "HANGUL SYLLABLE", "TANGUT", "<")
    return in_texts("a? 1? !? ?\n\nz", [c for i, c in enumerate(all_characters())
                                       if i % 29 == 0 or not unicodedata.name(c, "<").startswith(wide)])


def kiln_ids(path, texts, most=0):
    """The ids that Kiln makes of texts, and what it printed where it failed."""
    packed = b"".join(struct.pack("<I", len(data)) + data for data in (text.encode() for text in texts))
    run = subprocess.run([os.path.join(BUILD, "system/encode_texts"), path, str(most)], input=packed, capture_output=True)
    ids, at = [], 0
    while at < len(run.stdout):
        count, = struct.unpack_from("<I", run.stdout, at)
        ids.append(list(struct.unpack_from(f"<{count}I", run.stdout, at + 4)))
        at += 4 + 4 * count
    return ids, run.stderr.decode().strip()


def first_difference(tokenizer, path, texts):
    """"" where Kiln makes the same ids of all texts; otherwise the first text and both lists."""
    ours, said = kiln_ids(path, texts)
    if said or len(ours) != len(texts):
        return f"{len(ours)} of {len(texts)} texts: {said}"
    for start in range(0, len(texts), 1000):
        for text, encoding, ids in zip(texts[start:], tokenizer.encode_batch(texts[start:start + 1000]), ours[start:]):
            if encoding.ids != ids:
                at = next((i for i, (a, b) in enumerate(zip(encoding.ids, ids)) if a != b), min(len(encoding.ids), len(ids)))
                return (f"{text[:100]!r}: at {at}: tokenizers {encoding.ids[at:at + 12]} {encoding.tokens[at:at + 12]}, "
                        f"kiln {ids[at:at + 12]}")
    return ""
