#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# kiln prep of images (IDX files, as MNIST's) and of texts as tokens: compares records with the input read by Python; the
# files beside the shards; bad input.
. "$(dirname "$0")/lib.sh"
kiln=$KILN_BIN/kiln dump=$KILN_BUILD/system/dump_records
cd "$work" || exit 1
mkdir out

prep() { # folder below out/, arguments
	local out=$1
	shift
	"$kiln" prep "$@" --output "file://$work/out/$out" >"$work/$out.log" 2>&1
}

dataset() { # folder below out/, Python expression of the dataset d
	python3 -c "import json; d = json.load(open('out/$1/dataset.json')); print($2)"
}

beside() { # folder below out/: prints the names of the files beside the shards
	ls "out/$1" | grep -v tfrecord | xargs
}

sums() { # folder below out/
	(cd "out/$1" && sha256sum $(ls -A | grep -v manifest.jsonl))
}

refused() { # expected sentence, name, arguments
	local sentence=$1 name=$2 said
	shift 2
	said=$(timeout 30 "$kiln" prep "$@" --output "file://$work/out/refused" 2>&1)
	like "$? $(tail -n 1 <<<"$said")" "^1 kiln: $sentence" "$name"
}

# ---- Images ----

cat >make_idx <<'PY'
# make_idx NAME IMAGES HEIGHT WIDTH [CHANNELS]: NAME-images-idxN-ubyte and NAME-labels-idx1-ubyte
import random, struct, sys
name, images, *shape = sys.argv[1], *map(int, sys.argv[2:])
rng = random.Random(name)
size = 1
for side in shape:
    size *= side
with open(f"{name}-images-idx{1 + len(shape)}-ubyte", "wb") as f:
    f.write(struct.pack(f">4B{1 + len(shape)}I", 0, 0, 8, 1 + len(shape), images, *shape) + rng.randbytes(images * size))
with open(f"{name}-labels-idx1-ubyte", "wb") as f:
    f.write(struct.pack(">4BI", 0, 0, 8, 1, images) + bytes(i % 7 for i in range(images)))
PY
cat >compare <<'PY'
# compare DUMP FOLDER SPLIT NAME IMAGES-FILE: the records of a split are the images of the files, each once, in another order
import glob, json, struct, subprocess, sys
dump, out, split, name, images = sys.argv[1:]
data = open(images, "rb").read()
dims = data[3]
count, *shape = struct.unpack(f">{dims}I", data[4:4 + 4 * dims])
size = 1
for side in shape:
    size *= side
pixels = data[4 + 4 * dims:]
labels = open(name + "-labels-idx1-ubyte", "rb").read()[8:]
bits = [struct.unpack("<I", struct.pack("<f", p / 255))[0] for p in range(256)]
expected = [([labels[i]], [bits[p] for p in pixels[i * size:(i + 1) * size]]) for i in range(count)]
found = []
for shard in sorted(glob.glob(f"{out}/{split}-*")):
    for line in subprocess.run([dump, shard], capture_output=True, text=True).stdout.splitlines()[1:]:
        values = json.loads(line)["values"]
        found.append((values["label"], values["image"]))
sys.exit(sorted(found) != sorted(expected) or found == expected)
PY
mkdir mnist && (cd mnist && python3 ../make_idx train 1200 6 5 && python3 ../make_idx t10k 130 6 5)
prep idx mnist
ok $? "a folder as MNIST's" "$(cat idx.log)"
for split in train:train test:t10k; do
	python3 compare "$dump" out/idx ${split%:*} mnist/${split#*:} mnist/${split#*:}-images-idx3-ubyte
	ok $? "${split%:*}: every image once, with its label, / 255, in another order"
done
is "$(dataset idx "(d['schema'], d['classes'], d['records'])")" "([{'name': 'image', 'dtype': 'float32', 'shape': [6, 5, 1]}, \
{'name': 'label', 'dtype': 'int64', 'shape': [1]}], ['0', '1', '2', '3', '4', '5', '6'], {'train': 1200, 'test': 130})" "dataset.json"
is "$(beside idx)" "dataset.json manifest.jsonl" "no encoder, no vocabulary"
mkdir packed && gzip -c mnist/train-images-idx3-ubyte >packed/train-images-idx3-ubyte.gz
for file in train-labels-idx1-ubyte t10k-images-idx3-ubyte t10k-labels-idx1-ubyte; do gzip -c mnist/$file >packed/$file.gz; done
prep packed packed
is "$(sums packed)" "$(sums idx)" "gzip or not: the same bytes"
cp mnist/* packed/ && prep both packed
is "$(sums both)" "$(sums idx)" "both in one folder count once"
prep files mnist/train-images-idx3-ubyte --test mnist/t10k-images-idx3-ubyte
is "$(sums files)" "$(sums idx)" "files by their names"
prep objects "file://$work/mnist/train-images-idx3-ubyte" --test "file://$work/packed/t10k-images-idx3-ubyte.gz"
is "$(sums objects)" "$(sums idx)" "objects in a store, labels and all"
prep again mnist --seed 45
[ "$(sums again)" != "$(sums idx)" ]
ok $? "another seed, another order"
mkdir held && cp mnist/train-* held/ && prep held held --test-percent 25
is "$(dataset held "d['records']")" "{'train': 900, 'test': 300}" "--test-percent 25 holds out a quarter"
mkdir -p rgb && (cd rgb && python3 ../make_idx train 40 3 4 3)
prep rgb rgb/train-images-idx4-ubyte --test-percent 0
is "$(dataset rgb "d['schema'][0]['shape']")" "[3, 4, 3]" "colour images, channels last"
python3 compare "$dump" out/rgb train rgb/train rgb/train-images-idx4-ubyte
ok $? "with their values"

bad() { # name, the set whose file is changed, Python over the bytes d
	rm -rf "$1" && mkdir "$1" && cp mnist/* "$1/"
	python3 -c "d = bytearray(open('mnist/$2', 'rb').read()); $3; open('$1/$2', 'wb').write(d)"
}
images=train-images-idx3-ubyte labels=train-labels-idx1-ubyte
bad type $images 'd[2] = 13'
refused "type/$images: found 00000d03 at its start, expected 00000801, 00000803 or 00000804$" "another type of value" type
bad short $images 'd = d[:-7]'
refused "short/$images: ends at byte 36009, 7 more were expected$" "a file that is cut" short
bad long $images 'd += b"x"'
refused "long/$images: longer than the 36000 values its header announces$" "a file that goes on" long
bad count $labels 'd[7] -= 1'
refused "count/$labels: found 1 dimensions and 1199 labels, expected 1 and 1200$" "another number of labels" count
bad size t10k-images-idx3-ubyte 'd[11], d[15] = 5, 6'
refused "size: found test images of 5 x 6 x 1, the training images are 6 x 5 x 1$" "test images of another size" size
bad label t10k-labels-idx1-ubyte 'd[20] = 9'
refused "label: found the label 9 among the test images, the largest training label is 6$" "a label that only the test images have" label
bad zero $labels 'd[8:] = bytes(len(d) - 8)'
refused "zero: found only the label 0, at least 2 labels are needed$" "one label" zero
bad none $images 'd[4:8] = bytes(4)'
refused "none/$images: found 0 images, expected 1 \.\. " "no images" none
bad gone $images 'pass' && rm gone/$labels
refused "gone/$labels: cannot read it: No such file" "no labels" gone
cp mnist/$images pictures
refused 'pictures: an IDX file; expected "images" and "idx3" or "idx4" in its name' "a name that does not say where the labels are" pictures
gzip -c mnist/$images | head -c 3000 >gone/$images.gz && rm gone/$images && cp mnist/$labels gone/
refused "gone/$images\.gz: (damaged|ends at byte)" "a cut .gz" gone
printf 'a\tx\nb\ty\n' >two.tsv
refused "mnist: found texts and images, expected one of them$" "images and texts" mnist two.tsv
refused "mnist: found --tokens, which is an option for tokens of texts \(--tokens\), but the output is images$" "images as tokens" mnist --tokens
refused "two.tsv: found --ngrams, which is an option for tokens of texts \(--tokens\), but the output is vectors of texts " "an option that vectors do not take" two.tsv --ngrams 2
refused "two.tsv: found --dims, which is an option for vectors of texts \(without --tokens\), but the output is tokens of texts " "an option that tokens do not take" two.tsv --tokens --dims 16
printf 'a\tx\nc\ty\n' >three.tsv
refused 'two.tsv: class "c" has 0 training texts, at least 1 is needed$' "a class that only the test texts have" two.tsv --test three.tsv --tokens

# ---- Tokens ----

awk 'BEGIN { srand(3); n = split("film plot don'\''t score! WELL caf\303\251 10", w, " ")
	for (i = 0; i < 700; i++) {
		s = "The"
		for (k = 0; k < 3 + i % 9; k++) s = s " " w[1 + int(rand() * n)]
		print (i % 3 ? "pos" : "neg") "\t" (i == 5 ? "" : s) (i % 50 ? "" : " rare" i "<br />")
	} }' >train.tsv
printf 'pos\tA film nobody saw\nneg\tthe plot\n' >test.tsv
prep tok train.tsv --test test.tsv --tokens --ngrams 2 --vocabulary 40
ok $? "--tokens" "$(cat tok.log)"
is "$(beside tok)" "dataset.json manifest.jsonl vocabulary.txt" "vocabulary.txt stands beside dataset.json"
python3 - "$dump" out/tok train.tsv test.tsv >said <<'PY'
import collections, glob, hashlib, json, re, subprocess, sys
dump, out, *inputs = sys.argv[1:]
def words(text):
    text = text.replace("<br />", " ").encode()
    text = bytes(c + 32 if 65 <= c <= 90 else c for c in text)
    return [w.decode() for w in re.findall(rb"[!?()\":;*+]|[a-z0-9\x80-\xff](?:[a-z0-9\x80-\xff]|'(?=[a-z0-9\x80-\xff]))*", text)]
rows = {s: [l.split("\t", 1) for l in open(i, encoding="utf-8").read().splitlines()] for s, i in zip(("train", "test"), inputs)}
count = collections.Counter()
for _, text in rows["train"]:
    w = words(text)
    count.update(set(w) | {a + " " + b for a, b in zip(w, w[1:])})
# Words with equal counts are in bytewise order.
order = sorted((t for t in count if count[t] > 1), key=lambda t: (-count[t], [x.encode() for x in t.split(" ")]))
vocabulary = ["", "[UNK]"] + order[:38]
found = open(out + "/vocabulary.txt", encoding="utf-8").read().split("\n")
print("same" if found == vocabulary + [""] else f"{found} {vocabulary}", "vocabulary.txt: what most texts say", sep="\t")
number = {t: i for i, t in enumerate(vocabulary)}
def tokens(text):
    w, result = words(text), []
    for i, word in enumerate(w):
        result.append(number.get(word, 1))
        if i and w[i - 1] + " " + word in number:
            result.append(number[w[i - 1] + " " + word])
    return result
longest = 0
for split in rows:
    expected = sorted((tokens(text), [int(label == "neg"), int(label == "pos")]) for label, text in rows[split])
    longest = max([longest] + [len(t) for t, _ in expected])
    got = []
    for shard in glob.glob(f"{out}/{split}-*"):
        for line in subprocess.run([dump, shard], capture_output=True, text=True).stdout.splitlines()[1:]:
            values = json.loads(line)["values"]
            got.append((values["tokens"] or [], values["label"]))
    print("same" if sorted(got) == expected else f"{sorted(got)[:5]} {expected[:5]}", split + ": the numbers of its words", sep="\t")
d = json.load(open(out + "/dataset.json"))
print("same" if d["schema"][0] == {"name": "tokens", "dtype": "int64", "values_max": longest} else d["schema"], "dataset.json: ragged, the longest", sep="\t")
sha = hashlib.sha256(open(out + "/vocabulary.txt", "rb").read()).hexdigest()
print("same" if d["vocabulary"] == {"key": "vocabulary.txt", "size": 40, "id": sha} else d, "dataset.json: the vocabulary's id", sep="\t")
PY
while IFS=$'\t' read -r found what; do
	is "$found" same "$what"
done <said
[ "$(wc -l <said)" = 5 ]
ok $? "Python has checked all of this" "$(cat said)"
sort -r train.tsv >turned.tsv
prep turned turned.tsv --test test.tsv --tokens --ngrams 2 --vocabulary 40
is "$(sums turned)" "$(sums tok)" "whatever order the lines had"
prep short train.tsv --test test.tsv --tokens --tokens-max 4
is "$(dataset short "d['schema'][0]['values_max']") $(for f in out/short/t*; do "$dump" "$f"; done | grep -c '"tokens":\[[0-9]*,[0-9]*,[0-9]*,[0-9]*\]')" "4 700" \
	"--tokens-max cuts off what is beyond" "$(cat short.log)"
prep tok train.tsv --test test.tsv --dims 8 --replace
is "$(beside tok)" "dataset.json encoder.bin manifest.jsonl" "vectors in the same place: the vocabulary goes"
like "$("$kiln" prep train.tsv --tokens --ngrams 9 --output "file://$work/out/refused" 2>&1; echo "exit $?")" \
	'^kiln prep: --ngrams: found "9", expected a whole number of 1 \.\. 4$' "an option out of bounds"
[ ! -e out/refused ] || [ -z "$(ls out/refused)" ]
ok $? "nothing was written where input was bad" "$(ls out/refused 2>&1)"
