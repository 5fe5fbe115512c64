#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Input that a trainer cannot use: a cache that cannot be written, splits without shards, layers that do not fit, NaN and
# infinite numbers.
. "$(dirname "$0")/lib.sh"
. tests/system/train_lib.sh
data=$work/data
"$make_shards" "$data" train 2 200
"$make_shards" "$data" test 1 50

try() { # name: uses the configuration that is there
	timeout 60 "$KILN_BIN/kiln-oneshot" begin --config "$work/$1.conf" >"$KILN_ROOT/id" 2>>"$KILN_ROOT/log" || { code=begin-$?; return; }
	id=$(cat "$KILN_ROOT/id") record=$KILN_ROOT/data/kiln/run/current spool=$KILN_ROOT/data/kiln/spool/traind/$id
	start fetchd
	timeout 300 "$KILN_BIN/kiln-traind" 2>>"$KILN_ROOT/log"
	code=$?
	stop_fetchd
}

config cache "$data" '' ''
sed -i 's/epochs = 12/epochs = 1/' "$work/cache.conf"
node cache
mkdir -p "$KILN_ROOT/data/kiln"
echo >"$KILN_ROOT/data/kiln/cache"
try cache
is "$code $(state)" "0 finished" "a kernel cache that cannot be written: the run goes on without it"
trained=$spool/model
like "$(cat "$KILN_ROOT/log")" "$KILN_ROOT/data/kiln/cache.*: .*; going on, the next start compiles the kernels again" \
	"and a warning names it"
id=$("$KILN_BIN/kiln-oneshot" begin --config "$work/cache.conf" 2>>"$KILN_ROOT/log")
POCL_CACHE_DIR=/dev/null/kernels timeout 60 "$KILN_BIN/kiln-traind" 2>>"$KILN_ROOT/log"
is $? 69 "a folder of PoCL's own that it cannot use: the trainer ends before PoCL would abort"
like "$(tail -n 1 "$KILN_ROOT/log")" "/dev/null/kernels: the directory for compiled kernels is not writable: Not a directory" \
	"and names it"

config notrain "$data" '' ''
echo 'split: { train_glob = "none-*"; };' >>"$work/notrain.conf"
node notrain
: >"$data/none-0"
begin notrain
rm "$data/none-0"
timeout 60 "$KILN_BIN/kiln-fetchd" 2>>"$KILN_ROOT/log"
is $? 77 "no training shards: refused"
like "$(tail -n 1 "$KILN_ROOT/log")" 'file://.*/data: no object matches split.train_glob "none-\*"' "by place and glob"

mkdir "$work/hollow"
cp "$data"/train-* "$work/hollow/"
: >"$work/hollow/val-0"
: >"$work/hollow/test-0"
config hollow "$work/hollow" '' ''
sed -i 's/epochs = 12/epochs = 2/' "$work/hollow.conf"
echo 'split: { by = "prefix"; validation_glob = "val-*"; };' >>"$work/hollow.conf"
node hollow
mkdir -p "$KILN_ROOT/data/kiln"
echo >"$KILN_ROOT/data/kiln/cache" # To cache every kernel, PoCL also compiles those that are not used.
try hollow
is "$code $(state) $(record_json '[sorted(r["metrics"]), ["validation_loss" in e for e in r["epochs"]]]')" "0 finished [['train'], [False, False]]" \
	"evaluation shards without a record: the run goes on, and has no figures of them"
like "$(cat "$KILN_ROOT/log")" "traind: the validation split: found no record that counts; going on without its figures" "with a warning"
cp "$work/hollow.conf" "$work/norows.conf"
echo 'keep_best: { monitor = "val_accuracy"; };' >>"$work/norows.conf"
node norows
try norows
is "$code $(state)" "65 failed" "but not where a monitor needs one of them: exit 65, state failed"
like "$(record_json 'r["reason"]')" 'keep_best.monitor: found a metric of the validation, whose 1 shards hold no rows, allowed:' \
	"and the reason names the key and the split"
rm "$work/hollow"/train-*
: >"$work/hollow/train-0"
sed -i '$d' "$work/hollow.conf"
echo 'split: { validation_percent = 0; test_glob = "test-*"; };' >>"$work/hollow.conf"
node hollow_train
try hollow
is "$code $(state)" "65 failed" "training shards without a record: exit 65, state failed"
like "$(record_json 'r["reason"]')" 'the 1 train shards hold 0 rows, too few for a batch' "and the reason says so"

# With one shard, no shard is held out for validation.
"$make_shards" "$work/one" train 1 100
config novalidation "$work/one" '' ''
echo 'split: { test_glob = ""; }; early_stopping: { monitor = "val_loss"; };' >>"$work/novalidation.conf"
node novalidation
begin novalidation
timeout 60 "$KILN_BIN/kiln-fetchd" 2>>"$KILN_ROOT/log"
is $? 78 "early stopping by a validation without shards: refused"
like "$(tail -n 1 "$KILN_ROOT/log")" \
	'early_stopping.monitor: found a metric of the validation, which has 0 shards .train has 1 shards, .*allowed: "loss" or "accuracy", or at least 2 train shards' \
	"by its key, with the number of shards and what helps"

config shape "$data" '' ''
sed -i 's/shape = \[ 2 \]/shape = [ 3 ]/' "$work/shape.conf"
node shape
try shape
like "$code $(cat "$KILN_ROOT/log")" "begin-78 .*model.layers: found 2 outputs, allowed: 3, the classes of label 'label'" \
	"a last layer that does not fit the labels: both sizes are named"

config memory "$data" '' ''
sed -i 's/units = 16/units = 12000/; s/units = 2/units = 12000; }, { op = "dense"; name = "last"; units = 2/' "$work/memory.conf"
node memory
id=$("$KILN_BIN/kiln-oneshot" begin --config "$work/memory.conf" 2>>"$KILN_ROOT/log")
POCL_MEMORY_LIMIT=1 timeout 60 "$KILN_BIN/kiln-traind" 2>>"$KILN_ROOT/log"
is $? 78 "a network that the device has no memory for: refused before anything is allocated"
like "$(tail -n 1 "$KILN_ROOT/log")" "traind: Portable.*: the device has too little memory: the model needs 3[89][0-9]{2}\.[0-9] MiB \(weights and optimizer state, a copy for checkpoints among them, 3[0-9]+\.[0-9]; gradients 5[0-9]+\.[0-9]; activations and scratch for run.batch_rows = 32 [0-9.]+\), found 1024\.0 MiB; most is for layer 'dense_1' 38[0-9]{2}\.[0-9] MiB, layer " \
	"saying how much is needed, by what, and what there is"

# NaN or infinity as a number.
for what in nan inf; do
	spoil $what "[0.5] * 7 + [$what]" '[1, 0]'
	config $what "$work/$what" '' ''
	echo 'split: { validation_percent = 0; test_glob = ""; };' >>"$work/$what.conf"
	node $what
	try $what
	is "$code $(state)" "65 failed" "$what in the data: exit 65, state failed"
	like "$(record_json 'r["reason"]')" \
		"^step [0-9]+: the loss became NaN or infinite, as 'sentence' holds $what in element 7 of row [0-9]+ of the pass" \
		"and the reason names step, tensor, column, element and row"
	said=$("$KILN_BIN/kiln" evaluate "$trained" --data "file://$work/$what" --split train 2>&1)
	like "$? $said" "^1 kiln: train-00000-of-00001.tfrecord: record 150: .*'sentence' holds $what in element 7 of row 150 of the pass" \
		"kiln evaluate names the record"
done

# A bad number in the test split, which is read after all epochs.
spoil sound "[0.5] * 8" '[1, 0]'
cp "$work/inf/train-00000-of-00001.tfrecord" "$work/sound/test-00000-of-00001.tfrecord"
config sound "$work/sound" '' ''
echo 'split: { validation_percent = 0; };' >>"$work/sound.conf"
node sound
try sound
is "$code $(state)" "0 finished" "inf in the test split: the trained model is not lost, the run finishes"
like "$(record_json 'r["test_given_up"]')" "^step [0-9]+: .*'sentence' holds inf in element 7 of row 150 of the pass" \
	"run.json says why there are no figures of the test"
is "$(record_json 'r["metrics"].get("test")')" None "and has none" "$(record_json 'r["metrics"]')"
like "$(cat "$KILN_ROOT/log")" "the test split: step [0-9]+: .*; the run finishes without figures of the test" "an event says so"
like "$("$KILN_BIN/kiln" report)" "no figures of the test: step" "so does kiln report"
cp "$work/inf/train-00000-of-00001.tfrecord" "$work/sound/validation-00000-of-00001.tfrecord"
sed -i 's/validation_percent = 0/by = "prefix"; test_glob = ""/' "$work/sound.conf"
node validated
try sound
is "$code $(state)" "65 failed" "inf in the validation split, which is read after the first epoch: state failed"
like "$(record_json 'r["reason"]')" "^the validation split: step [0-9]+: .*'sentence' holds inf in element 7 of row 150 of the pass" \
	"and the reason names the split, too"

# A one-hot label is 0 or 1, for every loss.
spoil hot "[0.5] * 8" '[7, 1]'
config hot "$work/hot" '' ''
echo 'split: { validation_percent = 0; test_glob = ""; };' >>"$work/hot.conf"
node hot
try hot
is "$code $(state)" "65 failed" "a label that is not one-hot: exit 65, state failed"
like "$(record_json 'r["reason"]')" \
	"^step [0-9]+: row [0-9]+ of the pass, [0-9]+ of its batch: label 'label': found 7 in element 0, allowed: 0 .. 1" \
	"and the reason names row, element, what was found and what is allowed"
