#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Decisions at the end of an epoch: early stopping, the learning rate on a plateau, the best weights. A run that was killed
# decides the same way. Also a run that stops when the night ends.
. "$(dirname "$0")/lib.sh"
. tests/system/train_lib.sh
data=$work/data
"$make_shards" "$data" train 6 8000
"$make_shards" "$data" test 2 100

epochs() {
	record_json 'len(r["epochs"])'
}

undisturbed() { # name, configuration, members of the optimizer
	config "$1" "$data" '' "${3:-}"
	cat >>"$work/$1.conf" <<<"$2"
	sed -i 's/every_steps = 20;/every_steps = 100; keep = 1000;/' "$work/$1.conf"
	node "$1"
	begin "$1"
	run_to_end
	stop_fetchd
	result="$code $(state) $(epochs) $(model_bits)"
}

# On a loaded machine a run may end before the test sees the checkpoint and kills the trainer. Then a new run tries again.
killed() { # name, step...
	local name=$1 step kills try
	shift
	for try in 1 2 3 4 5; do
		cp "$work/$name.conf" "$work/$name-killed$try.conf"
		node "$name-killed$try"
		begin "$name-killed$try"
		kills=0
		for step; do
			run_until "$step" KILL
			[ "$code" != 137 ] || kills=$((kills + 1))
		done
		[ $kills -lt $# ] || break
		stop_fetchd
	done
	is $kills $# "$name: killed in its second epoch and in a later one"
	run_to_end
	stop_fetchd
	is "$code $(state) $(epochs) $(model_bits)" "$result" "$name, killed: the same epochs, the same bits"
}

# No epoch can improve a figure by 10, so the first epoch stays the best.
never='monitor = "val_loss"; min_delta = 10.0;'
undisturbed whole "early_stopping: { $never patience = 4; };"
like "$result" '^0 finished 5 ' "early stopping: the run ends after its fifth epoch"
is "$(record_json 'r["metrics"]["test"]["rows"]')" 200 "with its test"
per_epoch=$(record_json 'r["epochs"][0]["step"]')
is "$(weights_of "$spool/model/model.safetensors")" "$(weights_of "$(newest)")" "the last weights are the model"
like "$(cat "$KILN_ROOT/log")" "epoch 5: no improvement for 4 epochs, stopping early; the best was epoch 1" "and it says so"
like "$(cat "$KILN_ROOT/log")" "after 5 of 12 epochs: test loss" "the test comes after the fifth epoch"
killed whole $((per_epoch + 1)) $((2 * per_epoch + 1))

undisturbed best "early_stopping: { $never patience = 4; restore_best = true; };"
like "$result" '^0 finished 5 ' "restore_best: the run also ends after its fifth epoch"
is "$(weights_of "$spool/model/model.safetensors")" \
	"$(weights_of "$spool/checkpoints/$(printf 'ckpt-%012d.safetensors' "$per_epoch")")" "the first epoch's weights are the model"
[ "$(weights_of "$spool/model/model.safetensors")" != "$(weights_of "$(newest)")" ]
ok $? "not the last ones"
killed best $((per_epoch + 1)) $((2 * per_epoch + 1))

undisturbed keeping 'keep_best: { monitor = "val_accuracy"; };'
best=$(record_json 'max(r["epochs"], key=lambda e: (e["validation_accuracy"], -e["epoch"]))["step"]')
is "$(weights_of "$spool/model/model.safetensors")" \
	"$(weights_of "$spool/checkpoints/$(printf 'ckpt-%012d.safetensors' "$best")")" "keep_best: the weights of the best epoch are the model"
like "$result" '^0 finished 12 ' "and every epoch was trained"
killed keeping $((per_epoch + 1)) $((8 * per_epoch))

# The model has the best weights also after a test pass of several batches, and with a moving average.
undisturbed averaged 'keep_best: { monitor = "val_accuracy"; };' 'use_ema = true; ema_momentum = 0.999;'
like "$result" '^0 finished 12 ' "with a moving average, too, every epoch is trained"
best=$(record_json 'max(r["epochs"], key=lambda e: (e["validation_accuracy"], -e["epoch"]))["step"]')
is "$(weights_of "$spool/model/model.safetensors")" \
	"$(weights_of "$spool/checkpoints/$(printf 'ckpt-%012d.safetensors' "$best")")" "the best epoch's weights, not their average"

undisturbed plateau "reduce_on_plateau: { $never patience = 1; factor = 0.5; min_lr = 0.0002; };"
is "$(record_json '[round(e["learning_rate"], 6) for e in r["epochs"][:6]]')" "[0.001, 0.001, 0.0005, 0.00025, 0.0002, 0.0002]" \
	"plateau: the learning rate of each epoch"
killed plateau $((2 * per_epoch + 1)) $((5 * per_epoch + 1))

# Without a test split the run ends right after training.
config untested "$data" '' ''
echo "early_stopping: { $never }; split: { test_glob = \"\"; };" >>"$work/untested.conf"
node untested
begin untested
run_to_end
is "$code $(state) $(epochs)" "0 finished 2" "without a test split, too, early stopping ends the run"
stop_fetchd

# ---- The end of the night ----
config night "$data" '' ''
sed -i 's/epochs = 12/epochs = 100000/' "$work/night.conf"
node night
begin night
ends=$(($(date +%s) + 20))
python3 - "$record/run.json" "$ends" <<-'PY'
	import json, os, sys
	record = json.load(open(sys.argv[1]))
	record["ends_s"] = int(sys.argv[2])
	json.dump(record, open(sys.argv[1] + ".new", "w"))
	os.rename(sys.argv[1] + ".new", sys.argv[1])
PY
run_to_end
is "$code $(state)" "0 expired" "at the end of the night the run rests"
step=$(sed -n 's/.*the night is over, stopped at step \([0-9]*\).*/\1/p' "$KILN_ROOT/log")
like "$(newest)" "ckpt-0*$step.safetensors" "with a checkpoint of its last step"
[ "$(stat -c %Y "$(newest)")" -le "$ends" ]
ok $? "which is on the disk by then" "written $(stat -c %Y "$(newest)"), the night ended $ends"
stop_fetchd
