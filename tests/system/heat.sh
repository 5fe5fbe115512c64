#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A processor that is too hot, by a fake hwmon class: traind pauses and still makes progress. A GPU whose temperature is
# critical, by a fake libnvidia-ml: traind stops with a checkpoint, and the next start ends with the same weights.
. "$(dirname "$0")/lib.sh"
. tests/system/train_lib.sh

data=$work/data
"$make_shards" "$data" train 10 1200
"$make_shards" "$data" test 2 100
cpu() { # degrees
	local folder=$KILN_ROOT/sys/class/hwmon/hwmon0
	mkdir -p "$folder"
	echo coretemp >"$folder/name"
	echo "Package id 0" >"$folder/temp1_label"
	echo 100000 >"$folder/temp1_crit"
	echo "$(($1 * 1000))" >"$folder/temp1_input.new"
	mv "$folder/temp1_input.new" "$folder/temp1_input"
}
mkdir "$work/lib"
cp "$KILN_BUILD/system/preload/nvml.so" "$work/lib/libnvidia-ml.so.1"
gpu() { # degrees
	echo "$1" >"$KILN_ROOT/nvml.new"
	mv "$KILN_ROOT/nvml.new" "$KILN_ROOT/nvml"
}
errors() { # count
	echo "$1" >"$KILN_ROOT/nvml_errors.new"
	mv "$KILN_ROOT/nvml_errors.new" "$KILN_ROOT/nvml_errors"
}
said() { grep -qE "$1" "$KILN_ROOT/log"; }
page() { "$KILN_BUILD/system/show_status" traind "$1"; }
paused() { [ "$(page throttled_us)" -gt "$1" ]; } # us
event_said() { said "coretemp Package id 0 is at 97 C, limit 95 C: pausing between steps until it is 90 C"; }

config whole "$data" '' ''
node whole
cpu 40
begin whole
run_to_end
is "$code $(state)" "0 finished" "a cool processor: a run ends"
expected=$(model_bits)
is "$(record_json 'r.get("throttled_s")')" None "without a pause"
stop_fetchd

config hot "$data" '' ''
node hot
cpu 97
gpu 60
errors 3
begin hot
start fetchd
LD_LIBRARY_PATH=$work/lib start traind
wait_for 60 event_said
ok $? "a hot one: it says which sensor, what it reads and its limit" "$(tail -n 5 "$KILN_ROOT/log")"
like "$(page phase)" '^(throttled|training|evaluating)$' "its page tells what it does"
wait_for 60 paused 0
ok $? "its pauses are counted" "$(page throttled_us)"
errors 5
wait_for 60 said 'GPU NVIDIA Test gpu0: 2 errors in its memory that it could not correct'
ok $? "errors in the memory of a GPU that it counts now are told, with what to do" "$(tail -n 5 "$KILN_ROOT/log")"
gets_on() { [ "$(sed '1,/pausing between steps/d' "$KILN_ROOT/log" | grep -c ' rows/s')" -ge 2 ]; } # at least one batch after each pause
wait_for 60 gets_on && paused 8000000
ok $? "between two of them it gets on" "$(page throttled_us); $(tail -n 5 "$KILN_ROOT/log")"
kill -STOP $fetchd # fetchd waits for free slots meanwhile
cpu 40
wait_for 60 said 'cool again, after pauses of [0-9]+ s together'
ok $? "cool again: it says so" "$(tail -n 5 "$KILN_ROOT/log")"
gpu 96
wait $traind
is "$? $(state)" "0 stopped" "a GPU that is critical: the run stops"
like "$(record_json 'r["reason"]')" '^too hot: NVIDIA Test gpu0 is at 96 C, above its critical limit of 95 C$' "run.json says why"
step=$(sed -n 's/.*stopped at step \([0-9]*\).*/\1/p' "$KILN_ROOT/log")
like "$(newest)" "ckpt-0*$step.safetensors" "with a checkpoint of its last step"
is "$(record_json 'r["throttled_s"] >= 5')" True "and how long it paused"
stop_fetchd

cpu 40
begin hot
is "$(state) $(record_json 'r.get("reason")')" "running None" "the next start goes on with it"
run_to_end
is "$code $(state) $(model_bits)" "0 finished $expected" "and it ends with the same bits"
is "$(record_json 'r["throttled_s"] >= 5')" True "what the pauses came to stays in the record"
