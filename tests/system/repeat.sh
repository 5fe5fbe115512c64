#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# `kiln run --from run.json`: repeats a run, from the store alone, with the same weights. Also a run that starts with the
# weights of another run.
. "$(dirname "$0")/lib.sh"
. tests/system/train_lib.sh
data=$work/data
"$make_shards" "$data" train 4 600
"$make_shards" "$data" test 1 100
echo '{"classes": ["no", "yes"]}' >"$data/dataset.json"
config whole "$data" 'seed = 45;' 'learning_rate = 0.002;'
sed -i 's/epochs = 12/epochs = 3/; s/layers = (/layers = ( { op = "normalization"; },/' "$work/whole.conf"
node whole
begin whole
# traind first computes statistics of the training split. No checkpoint is written before they are done.
echo '{"seq": 1, "state": "paused", "checkpoint_seq": 1}' >"$record/want"
start fetchd
start traind
paused() {
	[ "$(state)" = paused ]
}
wait_for 60 paused
kill -KILL $traind
wait $traind 2>/dev/null
is "$(find "$spool/checkpoints" -name "ckpt-*")" "" "no checkpoint before the layers have adapted"
rm "$record/want"
run_to_end
like "$(cat "$KILN_ROOT/log")" "adapted to 1800 rows of the training split" "they read it once, before the first step"
variances=$(python3 - "$spool/model/model.safetensors" <<-'PY'
	import json, struct, sys
	data = open(sys.argv[1], "rb").read()
	n = struct.unpack("<Q", data[:8])[0]
	a, b = json.loads(data[8:8 + n])["normalization/variance"]["data_offsets"]
	print(*["%.2f" % v for v in struct.unpack("<8f", data[8 + n + a:8 + n + b])])
PY
)
is "$variances" "0.08 0.08 0.08 0.08 0.08 0.08 0.08 0.08" "the model has its statistics"
"$KILN_BIN/kiln-uploadd" --drain 2>>"$KILN_ROOT/log"
stop_fetchd
first=$id stored=$work/runs/whole
expected=$(weights_of "$stored/$first/model/model.safetensors") figures=$(record_json '[r["epochs"], r["metrics"]]')
cp "$stored/$first/run.json" "$work/run.json"
echo '{"classes": ["of other data"]}' >"$data/dataset.json"

repeat() { # node
	node "$1"
	mkdir -p "$KILN_ROOT/data/kiln"
	cp -a "$work/nodes/whole/data/kiln/cache" "$KILN_ROOT/data/kiln/" 2>/dev/null
	timeout 120 "$KILN_BIN/kiln" run --from "$work/run.json" >"$KILN_ROOT/out" 2>"$KILN_ROOT/log"
	code=$?
	record=$KILN_ROOT/data/kiln/run/current
}
repeat other
is "$code $(state)" "0 finished" "on another disk, from the store alone, the run is repeated"
[ "$(cat "$KILN_ROOT/out")" != "$first" ] && [ "$(record_json 'r["repeats"]')" = "$first" ]
ok $? "as a run of its own, which says what it repeats" "$(cat "$KILN_ROOT/out")"
is "$(weights_of "$stored/$(cat "$KILN_ROOT/out")/model/model.safetensors")" "$expected" "with the same bits"
is "$(record_json '[r["epochs"], r["metrics"]]')" "$figures" "and the same figures"
again=$stored/$(cat "$KILN_ROOT/out")
cmp -s "$again/plan" "$stored/$first/plan" && cmp -s "$again/model/dataset.json" "$stored/$first/model/dataset.json"
ok $? "its plan, and what its texts were made with, are in its own folder" "$(ls "$again" "$again/model")"
is "$("$KILN_BIN/kiln" evaluate "$again/model" 2>&1 | grep loss)" "$("$KILN_BIN/kiln" evaluate "$stored/$first/model" 2>&1 | grep loss)" \
	"so its model is evaluated as the first one is"
repeat whole
is "$code $(state) $(record_json '[r["epochs"], r["metrics"]]')" "0 finished $figures" "on the same disk, too"

# ---- A repeat that fails is not the box's current run ----
current() { # member
	python3 -c 'import json, sys; print(json.load(open(sys.argv[1])).get(sys.argv[2]))' "$record/run.json" "$1"
}
before=$(current id)
shard=$(ls "$data" | grep -m 1 train)
mv "$data/$shard" "$work/moved"
repeat whole
mv "$work/moved" "$data/$shard"
failed=$(cat "$KILN_ROOT/out")
is "$code $(current id) $(state)" "1 $before finished" "a repeat that fails: the run before it is the current run again" "$(tail -n 3 "$KILN_ROOT/log")"
is "$(cat "$KILN_ROOT/data/kiln/run/archive/$failed/state")" failed "the failed one is in the archive"
mv "$data/$shard" "$work/moved"
repeat empty
mv "$work/moved" "$data/$shard"
is "$code $(ls "$KILN_ROOT/data/kiln/run/current" 2>&1 | grep -c 'No such file')" "1 1" "where there was none, there is no current run"

# ---- A record that names other stores ----
foreign() { # statement that changes the record `r`, arguments of kiln run
	python3 - "$work/run.json" "$1" >"$work/foreign.json" <<-'PY'
		import json, sys
		r = json.load(open(sys.argv[1]))
		exec(sys.argv[2])
		print(json.dumps(r))
	PY
	node foreign
	mkdir -p "$KILN_ROOT/data/kiln"
	cp -a "$work/nodes/whole/data/kiln/cache" "$KILN_ROOT/data/kiln/"
	timeout 120 "$KILN_BIN/kiln" run --from "$work/foreign.json" "${@:2}" >"$KILN_ROOT/out" 2>"$KILN_ROOT/log"
	code=$?
	record=$KILN_ROOT/data/kiln/run/current
}
s3='r["config"] = r["config"].replace("sink: { url = \"file://'"$work"'/runs", "sink: { credential = \"box\"; endpoint = \"http://127.0.0.1:9\"; url = \"s3://bucket/runs")'
foreign "$s3"
like "$code $(cat "$KILN_ROOT/log")" '^1 .*sink.url is "s3://bucket/runs.*", and there is no kiln.conf that names this store; .*--config FILE' "without a kiln.conf nothing is sent to a server"
weights='r["config"] = r["config"].replace("sink: {", "sink: { credential = \"box\"; endpoint = \"http://127.0.0.1:9\";").replace("model: {", "model: { weights = \"s3://bucket/w/f.safetensors\";"); r["weights_sha256"] = "0" * 64'
foreign "$weights"
like "$code $(cat "$KILN_ROOT/log")" '^1 .*model.weights is "s3://bucket/w/f.safetensors", and there is no kiln.conf that names this store' "nor for the weights"
foreign "$weights" --config "$work/whole.conf" --adopt
like "$code $(cat "$KILN_ROOT/log")" '^1 .*model.weights is "s3://bucket/w/f.safetensors" in the record, which is in no store of kiln.conf' "nor with --adopt, which takes the stores of kiln.conf"
foreign "$s3" --config "$work/whole.conf"
like "$code $(cat "$KILN_ROOT/log")" '^1 .*names other stores than .*whole.conf, .*only with --adopt.*: sink.endpoint is "http://127.0.0.1:9" in the record and "" in kiln.conf' \
	"nor where kiln.conf names another"
foreign "$s3" --config "$work/whole.conf" --adopt
is "$code $(state) $(record_json '[r["epochs"], r["metrics"]]')" "0 finished $figures" "with --adopt it is repeated with the stores of kiln.conf" "$(tail -n 3 "$KILN_ROOT/log")"

before=$(current id)
foreign 'r["seed"] = "a" * 5000000' --config "$work/whole.conf"
like "$code $(cat "$KILN_ROOT/log")" '^1 .*"seed": found a string, expected a whole number' "a seed that is no number is not taken"
is "$(current id) $(state)" "$before finished" "the run before it stays the current run"
foreign 'r["config"] += "\n#" + "\x01" * 900000' --config "$work/whole.conf"
like "$code $(cut -c 1-300 "$KILN_ROOT/log")" '^1 .*bytes when Kiln writes it, at most 3145728 expected' "nor a record larger than Kiln reads"
is "$(current id) $(state)" "$before finished" "the run before it stays the current run"

node whole
record=$KILN_ROOT/data/kiln/run/current
echo running >"$record/state"
repeat whole
like "$code $(cat "$KILN_ROOT/log")" '^1 .*is running, so no other run can begin' "not while a run is unfinished"
python3 - "$work/run.json" <<-'PY'
	import json, sys
	record = json.load(open(sys.argv[1]))
	digest = record["plan_sha256"]
	record["plan_sha256"] = ("1" if digest[0] == "0" else "0") + digest[1:]
	json.dump(record, open(sys.argv[1], "w"))
PY
repeat foreign
like "$code $(cat "$KILN_ROOT/log")" '^1 .*plan: SHA-256 [0-9a-f]+, expected [0-9a-f]+ by ' "nor with another plan"

# ---- Weights of another net: a frozen base, a new head ----
tensors_of() { # safetensors file, part of a name: digest of the tensors whose names have this part
	python3 - "$1" "$2" <<-'PY'
		import hashlib, json, struct, sys
		data = open(sys.argv[1], "rb").read()
		n = struct.unpack("<Q", data[:8])[0]
		header = json.loads(data[8:8 + n])
		digest = hashlib.sha256()
		for name in sorted(header):
		    if name.startswith(sys.argv[2]):
		        a, b = header[name]["data_offsets"]
		        digest.update(name.encode() + data[8 + n + a:8 + n + b])
		print(digest.hexdigest())
	PY
}
transfer_config() { # weights, further keys
	config transfer "$data" '' 'learning_rate = 0.01;'
	sed -i "s,epochs = 12,epochs = 3,
		s,layers = (,layers = ( { op = \"normalization\"; }\,,
		s,units = 16;,units = 16; trainable = false;,
		s,{ op = \"dense\"; units = 2;,{ op = \"dense\"; name = \"head\"; units = 2;,
		s,model: {,model: { weights = \"$1\"; ${2:-}," "$work/transfer.conf"
}
mkdir -p "$work/runs/transfer"
cp "$stored/$first/model/model.safetensors" "$work/runs/transfer/given.safetensors"
node transfer
transfer_config absent.safetensors
begin transfer
like "$(cat "$KILN_ROOT/log")" 'model.weights: .*absent.safetensors' "weights that are not there: no run"
transfer_config given.safetensors 'weights_layers = "dense head";'
begin transfer
like "$(cat "$KILN_ROOT/log")" "transfer.conf: model.weights: given.safetensors: found no tensor for layer 'head'" "nor with ones that do not fit"
[ ! -e "$record" ]
ok $? "no record is left"
transfer_config "file://$stored/$first/model/model.safetensors"
begin transfer
run_to_end
"$KILN_BIN/kiln-uploadd" --drain 2>>"$KILN_ROOT/log"
stop_fetchd
second=$work/runs/transfer/$id
ok $([ "$code $(state)" = "0 finished" ]; echo $?) "a run starts with another's model, by a URL" "$code $(state) $(tail -n 20 "$KILN_ROOT/log")"
like "$(cat "$KILN_ROOT/log")" 'starting with file:.*model.safetensors: 4 of 6 tensors; head as initialized; not used: dense_1/' "the log says what it took"
[ "$(grep -c 'adapted to' "$KILN_ROOT/log")" = 0 ]
ok $? "the statistics, too, so that nothing is adapted"
is "$(record_json '[r["weights"]["tensors"], r["weights"]["of"], r["weights"]["as_initialized"], r["start_run"]]')" "[4, 6, 'head', '']" "the record, too"
is "$(record_json 'r["weights_sha256"]')" "$(sha256sum <"$stored/$first/model/model.safetensors" | cut -d" " -f1)" "and which file it was"
is "$(tensors_of "$second/model/model.safetensors" dense/)" "$(tensors_of "$stored/$first/model/model.safetensors" dense/)" "the frozen base is the same bit for bit"
like "$(record_json '[e["loss"] for e in r["epochs"]] == sorted([e["loss"] for e in r["epochs"]], reverse=True)')" True "the new head learns"
expected=$(weights_of "$second/model/model.safetensors")
cp "$second/run.json" "$work/run.json"
repeat begun_with
is "$code $(state) $(weights_of "$work/runs/transfer/$(cat "$KILN_ROOT/out")/model/model.safetensors")" "0 finished $expected" "repeated on another disk: the same bits"
cp "$second/checkpoints/$(ls "$second/checkpoints" | grep ckpt | tail -n 1)" "$stored/$first/model/model.safetensors"
repeat changed
like "$code $(cat "$KILN_ROOT/log")" '^1 .*model.weights: .*model.safetensors: SHA-256 [0-9a-f]{64}, expected [0-9a-f]{64}' "not with other weights"
transfer_config given.safetensors 'weights_layers = "dense"; weights_skip_mismatch = true;'
begin transfer
like "$(cat "$KILN_ROOT/log")" 'given.safetensors: 2 of 6 tensors; normalization, head as initialized' "by a key of the sink, chosen layers alone"
node torn
head -c 300 "$work/runs/transfer/given.safetensors" >"$work/runs/transfer/torn.safetensors"
transfer_config torn.safetensors
begin transfer
like "$(cat "$KILN_ROOT/log")" 'model.weights: torn.safetensors: .*: a header of [0-9]+ bytes in a file of 300' "torn ones are refused by name"

# ---- A trial of a series ----
config series "$data" 'seed = 45;' 'learning_rate = 0.002;'
sed -i 's/epochs = 12/epochs = 3/' "$work/series.conf"
echo 'experiments = ( { name = "wide"; overrides = { model = { layers = { dense = { units = 24; }; }; }; }; },
                { name = "sgd"; overrides = { optimizer = { name = "sgd"; }; run = { seed = 46; }; }; } );' >>"$work/series.conf"
node series
timeout 200 "$KILN_BIN/kiln" run --config "$work/series.conf" >"$KILN_ROOT/out" 2>"$KILN_ROOT/log"
is $? 0 "a series" "$(tail -n 3 "$KILN_ROOT/log")"
for trial in wide sgd; do
	found=$(grep -l "\"trial\":.*\"$trial\"" "$work"/runs/series/t-*/run.json)
	cp "$found" "$work/run.json"
	expected=$(weights_of "${found%/run.json}/model/model.safetensors")
	repeat "trial-$trial"
	is "$code $(state) $(weights_of "$work/runs/series/$(cat "$KILN_ROOT/out")/model/model.safetensors")" "0 finished $expected" \
		"its trial $trial is repeated on another disk: the same bits" "$(tail -n 3 "$KILN_ROOT/log")"
	is "$(record_json '"series" in r, r["repeats"]')" "(False, '$(basename "${found%/run.json}")')" "as a run of its own"
done
