#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Texts to tokens to a trained embedding_bag to answers: kiln prep --tokens, the daemons, kiln predict; ids that are not in
# the table.
. "$(dirname "$0")/lib.sh"
kiln=$KILN_BIN/kiln

# Words for weather or food decide the class; in one text of four the order of two words decides it.
python3 - >"$work/texts.tsv" <<'PY'
import random
rng = random.Random(44)
filler = "the a of and so it was there then we all some very quite rather today".split()
good, bad = "sunny tasty warm fresh lovely".split(), "rainy stale cold soggy awful".split()
for i in range(900):
    label = i % 2
    words = rng.choices(filler, k=rng.randint(3, 40)) + rng.choices(good if label else bad, k=2)
    rng.shuffle(words)
    words += ["not", rng.choice(bad if label else good)] if i % 4 < 2 else []
    print(f"{['neg', 'pos'][label]}\t{' '.join(words)}")
PY

bag="values_max = 96;" # the schema of tokens, and the layers of a table with the given rows
bag_layers='{ op = "embedding_bag"; input_dim = %d; output_dim = 8; }'
config() { # name, rows of the table, schema of tokens, layers
	cat >"$work/$1.conf" <<-CONF
		run: { name = "$1"; epochs = 8; batch_rows = 32; };
		source: { url = "file://$work/data"; };
		sink: { url = "file://$work/runs"; };
		split: { train_glob = "train-*"; test_glob = "test-*"; };
		ring: { small_pages = true; };
		optimizer: { learning_rate = 0.01; };
		schema = ( { name = "tokens"; dtype = "int64"; ${3:-$bag} },
		           { name = "label"; dtype = "int64"; shape = [ 2 ]; } );
		model: {
		  input = "tokens";
		  layers = ( $(printf "${4:-$bag_layers}" "$2"),
		             { op = "dense"; units = 2; }, { op = "softmax"; } );
		};
	CONF
}

config tokens 400
node tokens
"$kiln" prep "$work/texts.tsv" --config "$work/tokens.conf" --tokens --ngrams 2 --vocabulary 400 --tokens-max 96 \
	--test-percent 20 >"$work/prep.log" 2>&1
ok $? "prep makes tokens" "$(cat "$work/prep.log")"
tools/night "$KILN_BIN" "$work/tokens.conf" >"$work/log" 2>&1
ok $? "the daemons train on them" "$(tail -n 20 "$work/log")"
run=$(cat "$KILN_ROOT/run/kiln/night/run-id")
"$kiln" report --config "$work/tokens.conf" --json "$run" >"$work/run.json"
accuracy=$(python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["metrics"]["test"]["accuracy"])' "$work/run.json")
awk -v a="${accuracy:-0}" 'BEGIN { exit !(a >= 0.95) }'
ok $? "the model learns" "test accuracy ${accuracy:-none}"

# ---- Answers ----
model=$work/runs/$run/model
cmp -s "$work/data/vocabulary.txt" "$model/vocabulary.txt"
ok $? "the vocabulary lies beside the model"
[ -s "$model/model.onnx" ] && [ -s "$model/saved_model/1/saved_model.pb" ]
ok $? "the model is there for other tools, too" "$(ls "$model")"
answers=$("$kiln" predict "$model" "it was warm and lovely" "so stale and soggy" "" 2>&1)
is "$(awk '{ print $1 }' <<<"$answers" | head -n 2 | xargs)" "positive negative" "kiln predict takes texts" "$answers"
cut -f 2 "$work/texts.tsv" | "$kiln" predict "$model" >"$work/all" 2>&1
is "$(wc -l <"$work/all")" 900 "more texts than a batch has rows"
right=$(paste <(cut -f 1 "$work/texts.tsv") <(cut -c 1-3 "$work/all") | awk '$1 == $2' | wc -l)
[ "$right" -ge 855 ]
ok $? "with the answers that were learnt" "$right of 900"
"$kiln" predict "$model" --split test >"$work/all" 2>&1
is "$(wc -l <"$work/all") $(python3 - "$work/all" "$work/run.json" <<'PY'
import json, sys
answers = [json.loads(line) for line in open(sys.argv[1])]
print(all(a["label"] in ("positive", "negative") and a["shard"].startswith("test-") for a in answers), len({(a["shard"], a["record"]) for a in answers}))
PY
)" "180 True 180" "kiln predict --split: each record of the run's own split once"
answers() { # a line: class, label, probability
	"$kiln" predict "$model" 2>&1 | python3 -c 'import json, sys
for line in sys.stdin: a = json.loads(line); print(a["class"], a["label"], a["probability"])'
}
warm=$(($(grep -nx warm "$model/vocabulary.txt" | cut -d: -f1) - 1))
printf '{"text": "warm"}\n{"text": "so stale and soggy"}\n' | answers >"$work/texts"
printf '{"tokens": [%d]}\n{"tokens": []}\n{"tokens": %d}\n' "$warm" "$warm" | answers >"$work/tokens"
is "$(cut -d ' ' -f 1-2 "$work/texts" | xargs)" "1 positive 0 negative" "texts as JSON lines"
is "$(sed -n '1p;3p' "$work/tokens" | uniq)" "$(head -n 1 "$work/texts")" "and tokens by name, none, one and a list: the same answers"
printf '{"tokens": [1, 2.5]}\n' | "$kiln" predict "$model" >"$work/said" 2>&1
like "$? $(cat "$work/said")" '^1 kiln: line 1: "tokens": found 2.5 as value 1, expected an integer$' "what is no integer"
printf '{"tokens": [1]}\n{"tokens": [400]}\n' | "$kiln" predict "$model" >"$work/said" 2>&1
like "$? $(cat "$work/said")" "^1 kiln: lines 1 .. 2: .*layer 'embedding_bag': found id 400, allowed: 0 .. 399" "an id that the table lacks"
"$kiln" predict "$model" --encoder x "a text" >"$work/said" 2>&1
like "$? $(cat "$work/said")" '^1 kiln: .*: found --encoder, but the network reads tokens and needs no encoder$' "it takes no encoder"
mv "$model/vocabulary.txt" "$work/kept"
"$kiln" predict "$model" "a text" >"$work/said" 2>&1
like "$? $(cat "$work/said")" '^1 kiln: vocabulary.txt: ' "without its vocabulary it says so"
head -c 100 /dev/zero | tr '\0' '\n' >"$model/vocabulary.txt"
"$kiln" predict "$model" "a text" >"$work/said" 2>&1
like "$? $(cat "$work/said")" '^1 kiln: vocabulary.txt: .*line' "a damaged one is named"
seq 1000 | sed '1s/.*//;2s/.*/[UNK]/;3,$s/^/w/' >"$model/vocabulary.txt"
"$kiln" predict "$model" "w3 w999" >"$work/said" 2>&1
like "$? $(cat "$work/said")" "^1 kiln: .*layer 'embedding_bag': found id 998, allowed: 0 .. 399" "another vocabulary's ids are refused"

# ---- A tokenizer in the place of the vocabulary: pieces with the numbers of its words ----
rm "$model/vocabulary.txt"
python3 - "$work/kept" "$model" <<'PY'
import hashlib, json, sys
kept, model = sys.argv[1:]
pieces = {w: i for i, w in enumerate(open(kept).read().split("\n")[:-1]) if w and " " not in w}
text = json.dumps({"normalizer": {"type": "BertNormalizer"}, "pre_tokenizer": {"type": "BertPreTokenizer"}, "model": {
    "type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##", "vocab": pieces}})
open(model + "/tokenizer.json", "w").write(text)
dataset = json.load(open(model + "/dataset.json"))
del dataset["vocabulary"]
dataset["tokenizer"] = {"key": "tokenizer.json", "size": 400, "id": hashlib.sha256(text.encode()).hexdigest()}
json.dump(dataset, open(model + "/dataset.json", "w"))
PY
is "$(printf '{"text": "Warm"}\n' | answers)" "$(head -n 1 "$work/texts")" "kiln predict takes the tokenizer beside the model"
echo >>"$model/tokenizer.json"
"$kiln" predict "$model" "a text" >"$work/said" 2>&1
like "$? $(cat "$work/said")" '^1 kiln: tokenizer.json: found SHA-256 .* expected .* of dataset.json$' "another tokenizer than the records' is refused"

# ---- A table that is too small ----
config small 50
node small
timeout 120 tools/night "$KILN_BIN" "$work/small.conf" >"$work/log" 2>&1
[ $? != 0 ]
ok $? "an id that the table lacks: no run begins"
like "$(cat "$work/log" "$KILN_ROOT"/run/kiln/night/*.log 2>/dev/null)" \
	'train-[^:]*: record [0-9]+: feature "tokens": found [0-9]+, but the network takes 0 .. 49' "and shard, record and id are named"

# ---- The same records, padded: 48 tokens in each row, zeros behind those of a short text ----
config padded 400 'shape = [ 48 ]; padding = "post"; overflow = "truncate";' \
	'{ op = "embedding"; input_dim = %d; output_dim = 8; }, { op = "global_average_pooling1d"; }'
node padded
tools/night "$KILN_BIN" "$work/padded.conf" >"$work/log" 2>&1
ok $? "a network of embedding trains on padded tokens" "$(tail -n 20 "$work/log")"
model=$work/runs/$(cat "$KILN_ROOT/run/kiln/night/run-id")/model
printf '{"text": "warm"}\n' | answers >"$work/texts"
printf '{"tokens": [%d]}\n{"tokens": [%d%s]}\n' "$warm" "$warm" "$(printf ', 0%.0s' $(seq 47))" | answers >"$work/tokens"
is "$(sort -u "$work/tokens" | wc -l) $(head -n 1 "$work/tokens")" "1 $(cat "$work/texts")" \
	"a text, its token and its token with the zeros: the same answer"
yes warm | head -n 60 | xargs | "$kiln" predict "$model" >"$work/long" 2>&1
yes warm | head -n 48 | xargs | "$kiln" predict "$model" >"$work/cut" 2>&1
is "$(cut -c 1-20 "$work/long")" "$(cut -c 1-20 "$work/cut")" "a longer text is cut"
printf '{"tokens": [%s1]}\n' "$(printf '1, %.0s' $(seq 48))" | "$kiln" predict "$model" >"$work/said" 2>&1
is "$? $(wc -l <"$work/said")" "0 1" "and so are more tokens" "$(cat "$work/said")"
sed 's/overflow = "truncate"; //; s/shape = \[ 48 \]/shape = [ 8 ]/; s/"padded"/"short"/' "$work/padded.conf" >"$work/short.conf"
node short
"$kiln" check "$work/short.conf" >"$work/said" 2>&1
like "$? $(grep -m1 'found 51' "$work/said") $(grep -m1 schema: "$work/said")" \
	'^1 .*"tokens": found 51 values, at most 8 .*"tokens": found int64 \[ 8 \], .*dataset.json has int64, values_max' \
	"kiln check: records longer than the row"
