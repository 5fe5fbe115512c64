#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Pictures to a trained network to answers: kiln prep, the daemons, kiln predict of files, kiln evaluate --worst.
. "$(dirname "$0")/lib.sh"
kiln=$KILN_BIN/kiln
cd "$work" || exit 1

"$KILN_BUILD/system/make_pictures" pictures 40 40 48 1 daisy rose tulip
# Bytes that belong to nothing, in a picture that has all its pixels.
python3 - pictures/daisy/0000.jpg <<'PY'
import sys
data = open(sys.argv[1], "rb").read()
at = 4 + int.from_bytes(data[4:6], "big")
open(sys.argv[1], "wb").write(data[:at] + b"abc" + data[at:])
PY
cat >pictures.conf <<CONF
run: { name = "pictures"; epochs = 12; batch_rows = 16; };
source: { url = "file://$work/data"; };
sink: { url = "file://$work/runs"; };
split: { by = "hash"; };
ring: { small_pages = true; };
optimizer: { learning_rate = 0.01; };
schema = (
  { name = "image/encoded"; dtype = "picture"; shape = [ 24, 24, 3 ]; antialias = true; fit = "crop"; random_crop = true; },
  { name = "image/class/label"; dtype = "int64"; shape = [ 1 ]; }
);
model: {
  input = "image/encoded"; label = "image/class/label"; loss = "sparse_categorical_crossentropy";
  layers = ( { op = "rescaling"; scale = 0.00392156862745098; },
             { op = "conv2d"; filters = 8; kernel_size = [ 3, 3 ]; strides = [ 2, 2 ]; activation = "relu"; },
             { op = "global_average_pooling2d"; }, { op = "dense"; units = 16; activation = "relu"; },
             { op = "dense"; units = 3; }, { op = "softmax"; } );
};
CONF
node pictures
"$kiln" prep pictures --config pictures.conf --test-percent 20 >prep.log 2>&1
ok $? "prep makes shards" "$(cat prep.log)"

# ---- Training ----

"$OLDPWD/tools/night" "$KILN_BIN" pictures.conf >log 2>&1
ok $? "the daemons train on them" "$(tail -n 20 log)"
like "$(cat "$KILN_ROOT/run/kiln/night/fetchd.log")" 't[a-z]+-[0-9]+-of-[0-9]+\.tfrecord: byte [0-9]+: the decoder warned of a picture that has all its pixels' "a warning of the library is named"
run=$(cat "$KILN_ROOT/run/kiln/night/run-id")
model=$work/runs/$run/model
"$kiln" report --config pictures.conf --json "$run" >run.json
accuracy=$(python3 -c 'import json; print(json.load(open("run.json"))["metrics"]["test"]["accuracy"])')
awk -v a="${accuracy:-0}" 'BEGIN { exit !(a >= 0.9) }'
ok $? "the model learns" "test accuracy ${accuracy:-none}"

# ---- kiln predict FILE ----

"$kiln" predict "$model" pictures/daisy/0000.jpg pictures/rose/0003.png >two 2>&1
like "$(head -n 1 two)" '^pictures/daisy/0000\.jpg: daisy [01]\.[0-9]{4}, (rose|tulip) 0\.[0-9]{4}, (rose|tulip) 0\.[0-9]{4}$' "a file: its classes, the most probable first"
like "$(tail -n 1 two)" '^pictures/rose/0003\.png: rose [01]\.[0-9]{4}, ' "and another one"
"$kiln" predict "$model" pictures >all 2>&1
is "$? $(wc -l <all)" "0 120" "a folder: more pictures than a batch has rows"
right=$(awk -F'[/: ]+' '$2 == $4' all | wc -l)
[ "$right" -ge 108 ]
ok $? "with the answers that were learnt" "$right of 120"
"$kiln" predict "$model" --json pictures/daisy/0000.jpg pictures/tulip >some.json 2>&1
"$kiln" predict "$model" --split test >records.json 2>&1
is "$(python3 - "$OLDPWD/config/examples" <<'PY'
import glob, json, sys
sys.path.insert(0, sys.argv[1])
sys.dont_write_bytecode = True
import tfrecord
answers = [json.loads(line) for line in open("some.json")]
first = answers[0]
print(len(answers), first["file"], first["label"], first["label"] == first["top"][0]["label"], len(first["top"]), len(first["probabilities"]))
# The same pictures as records of the test split.
def name(record):
    for _, data in tfrecord.fields(record):
        for _, entry in tfrecord.fields(data):
            parts = dict(tfrecord.fields(entry))
            if parts[1] == b"image/filename":
                return next(v for _, v in tfrecord.fields(next(v for _, v in tfrecord.fields(parts[2])))).decode()
of_file = {a["file"]: a["probabilities"] for a in answers}
pairs = 0
for answer in map(json.loads, open("records.json")):
    record = list(tfrecord.read_records(f"data/{answer['shard']}"))[answer["record"]]
    other = of_file.get("pictures/" + name(record))
    if other:
        pairs += 1
        assert max(abs(answer["probabilities"][c] - other[c]) for c in other) < 1e-6
print(pairs > 0)
PY
)" "41 pictures/daisy/0000.jpg daisy True 3 3
True" "--json; a file and its record have the same answer"
head -c 400 pictures/rose/0000.jpg >cut.jpg
printf 'GIF89a' >other.gif
"$kiln" predict "$model" cut.jpg pictures/rose/0001.jpg other.gif missing.jpg >mixed 2>mixed.errors
is "$? $(wc -l <mixed)" "1 1" "files that are no pictures: the others are predicted"
like "$(cat mixed.errors)" '^kiln: cut\.jpg: JPEG of 400 bytes, at byte [0-9]+: ' "a cut file is named"
like "$(cat mixed.errors)" '^kiln: other\.gif: found a GIF file, expected a JPEG or PNG file$' "another format is named"
like "$(cat mixed.errors)" '^kiln: .*missing\.jpg' "a missing file is named"
like "$(tail -n 1 mixed.errors)" '^kiln: 3 of 4 files were not predicted$' "and the error says how many"

# ---- kiln evaluate --worst ----

"$kiln" evaluate "$model" --worst 5 --json >worst.json 2>&1
is "$(python3 - <<'PY'
import json
worst = json.load(open("worst.json"))["worst"]
records = {(r["shard"], r["record"]): r for r in map(json.loads, open("records.json"))}
order = [w["label_probability"] for w in worst]
same = all(abs(records[w["shard"], w["record"]]["probabilities"][w["label"]] - w["label_probability"]) < 1e-6 and
           records[w["shard"], w["record"]]["label"] == w["predicted"] for w in worst)
print(len(worst), order == sorted(order), same)
PY
)" "5 True True" "--worst: shard and record, label, prediction, the most wrong first" "$(cat worst.json)"
"$kiln" evaluate "$model" --worst 1000 >worst 2>&1
is "$(grep -cE '^[01]\.[0-9]{6}  (daisy|rose|tulip) +(daisy|rose|tulip) +[01]\.[0-9]{6}  test-[0-9]+-of-[0-9]+\.tfrecord: record [0-9]+$' worst)" \
	"$(wc -l <records.json)" "more than there are: each record once"

# ---- kiln predict FILE of a network that reads the pixels of kiln prep --raw ----

sed "s|file://$work/data|file://$work/raw|; s|\"image/encoded\"|\"image/raw\"|; s|dtype = \"picture\"|dtype = \"uint8\"|; s|\"pictures\"|\"raw\"|
	s|antialias = true; fit = \"crop\"; random_crop = true;||; s|epochs = 12|epochs = 1|" pictures.conf >raw.conf
node raw
"$kiln" prep pictures --config raw.conf --test-percent 20 --size 24 --raw --fit crop >prep.log 2>&1 &&
	"$OLDPWD/tools/night" "$KILN_BIN" raw.conf >log 2>&1
ok $? "pixels of kiln prep --raw: a run" "$(tail -n 20 prep.log log)"
model=$work/runs/$(cat "$KILN_ROOT/run/kiln/night/run-id")/model
is "$(python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["classes"])' "${model%/model}/run.json")" "['daisy', 'rose', 'tulip']" \
	"its record has the names of the classes"
"$kiln" predict "$model" --split test >records.json 2>&1
"$kiln" predict "$model" --json pictures >files.json 2>&1
is "$(python3 - <<'PY'
import json
def key(answer):
    return tuple(round(p, 5) for p in answer["probabilities"].values())
files = {key(json.loads(line)) for line in open("files.json")}
records = [key(json.loads(line)) for line in open("records.json")]
print(len(files) > 60, len(records) > 10, all(record in files for record in records))
PY
)" "True True True" "predict of a file decodes it as prep did: the answer is that of its record" "$(head -n 3 files.json)"
mv "$model/dataset.json" kept.json
"$kiln" predict "$model" pictures/daisy/0000.jpg >none.log 2>&1
like "$? $(cat none.log)" "^1 kiln: the network reads 'image/raw', pixels of \[ 24, 24, 3 \], and nothing says how a file becomes these: found no dataset.json" \
	"without dataset.json nobody knows how to decode it"
sed 's/"size":\t24/"size":\t48/' kept.json >"$model/dataset.json"
"$kiln" predict "$model" pictures/daisy/0000.jpg >none.log 2>&1
like "$? $(cat none.log)" "^1 kiln: the network reads 'image/raw'" "nor with one of another size"
