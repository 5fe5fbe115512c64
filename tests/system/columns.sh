#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Features of texts and integers enter a network: rows of `preprocess`, and casts; a night, predictions, the export.
. "$(dirname "$0")/lib.sh"
kiln=$KILN_BIN/kiln
export PYTHONPATH=$PWD/config/examples
cd "$work" || exit 1

# Whether somebody buys depends on the town, the age and the user's number modulo something that only its hash says.
python3 - <<'PY'
import os, random
import tfrecord
random.seed(5)
os.mkdir("people")
def row():
    city, age, user = random.choice(["Bonn", "Köln", "Oslo", "東京"]), random.randint(18, 80), random.randint(1, 20)
    label = int((age - 49) / 18 + (1.5 if city in ("Bonn", "東京") else -1.5) + (0.5 if user in (3, 5, 8) else 0) > 0)
    features = {"city": ("bytes", [city.encode()]), "age": ("int64", [age]), "user": ("int64", [user]), "bought": ("bytes", [b"yes" if label else b"no"])}
    if random.random() < 0.02:
        del features["city"]
    return tfrecord.example(features)
for split, count in (("train", 3000), ("test", 500)):
    for shard in range(3):
        with open(f"people/{split}-{shard:05}.tfrecord", "wb") as file:
            for _ in range(count // 3):
                file.write(tfrecord.framed(row()))
PY
cat >people.conf <<EOF
run: { name = "people"; epochs = 5; batch_rows = 32; };
source: { url = "file://$work/people"; };
sink: { url = "file://$work/runs"; };
split: { by = "shard"; validation_percent = 0; test_glob = "test-*"; };
schema = (
  { name = "city"; dtype = "bytes"; shape = [ 1 ]; bytes_max = 32; missing = "default"; },
  { name = "age"; dtype = "int64"; shape = [ 1 ]; },
  { name = "user"; dtype = "int64"; shape = [ 1 ]; },
  { name = "bought"; dtype = "bytes"; shape = [ 1 ]; bytes_max = 8; }
);
preprocess = (
  { op = "string_lookup"; name = "city_id"; input = "city"; vocabulary = [ "Bonn", "Köln", "東京" ]; mask_token = ""; },
  { op = "hashing"; name = "user_bin"; input = "user"; num_bins = 16; },
  { op = "discretization"; name = "age_bin"; input = "age"; bin_boundaries = [ 30.0, 50.0, 65.0 ]; output_mode = "one_hot"; },
  { op = "string_lookup"; name = "bought_id"; input = "bought"; vocabulary = [ "no", "yes" ]; num_oov_indices = 0; }
);
model: {
  input = "age"; label = "bought_id"; loss = "sparse_categorical_crossentropy";
  layers = (
    { op = "cast"; name = "age_number"; inputs = [ "age" ]; },
    { op = "normalization"; name = "age_n"; inputs = [ "age_number" ]; },
    { op = "embedding"; name = "city_e"; inputs = [ "city_id" ]; input_dim = 5; output_dim = 4; }, { op = "flatten"; name = "city_f"; },
    { op = "embedding"; name = "user_e"; inputs = [ "user_bin" ]; input_dim = 16; output_dim = 2; }, { op = "flatten"; name = "user_f"; },
    { op = "concatenate"; inputs = [ "age_n", "age_bin", "city_f", "user_f" ]; },
    { op = "dense"; units = 16; activation = "relu"; }, { op = "dense"; units = 2; }, { op = "softmax"; }
  );
};
optimizer: { name = "adam"; learning_rate = 0.01; };
EOF
"$kiln" config check people.conf >good.log 2>&1
ok $? "the configuration is good" "$(cat good.log)"
"$kiln" config show people.conf >shown.conf 2>&1 && "$kiln" config check shown.conf >good.log 2>&1
ok $? "what kiln config show prints is read again" "$(cat good.log)"
is "$("$kiln" config show --json people.conf | python3 -c 'import json, sys; c = json.load(sys.stdin); print(len(c["schema"]), [r["op"] for r in c["preprocess"]])')" \
	"4 ['string_lookup', 'hashing', 'discretization', 'string_lookup']" "config show --json has the rows"
node people
"$kiln" check people.conf >check.log 2>&1
ok $? "kiln check" "$(cat check.log)"
timeout 300 "$kiln" run --config people.conf >run.log 2>&1
ok $? "a night" "$(tail -n 5 run.log)"
accuracy=$("$kiln" report | sed -n 's/^test accuracy \([0-9]*\)[.0-9]* %.*/\1/p')
[ "${accuracy:-0}" -ge 92 ]
ok $? "it has learned from all columns" "$("$kiln" report 2>&1 | tail -n 15)"
run=$(ls runs | grep '^people-')

# The same rows as records and as lines have the same answers.
"$kiln" predict "runs/$run" --split test >records.jsonl 2>&1
ok $? "predictions of records" "$(tail -n 2 records.jsonl)"
is "$(printf '%s\n' '{"city": "Bonn", "age": 40, "user": 1}' '{"city": "Köln", "age": 40, "user": 1}' '{"city": "Rom", "age": 40, "user": 1}' '{"age": 40, "user": 1}' |
	"$kiln" predict "runs/$run" --data - 2>&1 | python3 -c 'import json, sys
rows = [json.loads(line) for line in sys.stdin]
print([r["class"] for r in rows[:2]], len({r["probability"] for r in rows}))')" "[1, 0] 4" \
	"predictions of lines: known towns, an unknown one and a missing one, without the label that a row makes"
like "$(echo '{"city": 3, "age": 40, "user": 1}' | "$kiln" predict "runs/$run" --data - 2>&1)" '"city": found 3 as value 0, expected a string' "a number as a town is refused"
like "$(echo '{"city_id": 3, "age": 40, "user": 1}' | "$kiln" predict "runs/$run" --data - 2>&1)" 'found "city_id", allowed: "city", "age"' "so is what a row makes"

# A record that a row cannot take is a bad record, by name.
sed 's/mask_token = "";/num_oov_indices = 0;/; s/name = "people"/name = "strict"/' people.conf >strict.conf
node strict
like "$("$kiln" check strict.conf 2>&1)" 'feature "city_id": found "Oslo", allowed: a value of the vocabulary' "an unknown value without a number for it"

"$kiln" export "runs/$run" --output exported >export.log 2>&1
ok $? "the network is exported" "$(cat export.log)"
is "$(grep -c '^left out: the row' export.log)" 3 "and the export names the rows that are left out" "$(cat export.log)"
