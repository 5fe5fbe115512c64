#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# traind with a real fetchd: stop and resume, damaged checkpoints, a new disk, bad data, NaN, weights of an earlier run.
. "$(dirname "$0")/lib.sh"
. tests/system/train_lib.sh

data=$work/data
"$make_shards" "$data" train 10 1200
"$make_shards" "$data" test 2 100

# ---- Undisturbed ----
config whole "$data" '' ''
node whole
begin whole
run_to_end
is "$code $(state)" "0 finished" "a run ends with state finished"
expected=$(model_bits)
epochs=$(record_json '[r["epochs"], r["metrics"]]')
is "$(record_json '[(e["epoch"], e["step"]) for e in r["epochs"]] == [(k, 338 * k + 338) for k in range(12)]')" True \
	"run.json has every epoch with its step"
is "$(record_json 'r["metrics"]["test"]["rows"]')" 200 "run.json has the test result"
is "$(record_json 'r["tensor_cores"]')" none "run.json says that no tensor cores compute products"
is "$(record_json 'r["metrics"]["test"]["accuracy"] > 0.9 and r["epochs"][11]["validation_accuracy"] > 0.9')" True \
	"the model learns"
is "$(find "$KILN_ROOT/data/kiln/cache/kernels" -type f ! -name '*.bin' | wc -l)" 0 \
	"of the kernels, only files that check themselves lie where a power cut leaves them"
is "$(grep -c 'compiling the kernels of this network for the \(train\|validation\|test\) split' "$KILN_ROOT/log")" 3 \
	"a new network: the log says that its kernels are compiled"
like "$(cat "$KILN_ROOT/log")" 'after 12 of 12 epochs: test loss' "the test comes after all epochs"
wait_for 5 test ! -d /proc/$fetchd
ok $? "fetchd ends with the run"
start traind
wait $traind
is "$? $(state)" "0 finished" "started once more it has nothing to do"

# ---- traind asks for the first batches before it opens the device ----
config asked "$data" '' ''
node asked
begin asked
start fetchd
wait_for 20 test -e "$record/plan"
OCL_ICD_VENDORS=$work/none timeout 60 "$KILN_BIN/kiln-traind" 2>>"$KILN_ROOT/log"
is "$? $(state)" "69 running" "without a device the trainer ends, the run goes on"
has_batches() {
	[ "$("$KILN_BUILD/system/show_status" fetchd batch 2>/dev/null || echo 0)" -gt 0 ]
}
wait_for 20 has_batches
ok $? "fetchd has read the first batches meanwhile"
run_to_end
is "$code $(state) $(model_bits)" "0 finished $expected" "with a device it is the same run, with the same bits"
is "$(grep -c 'compiling the kernels' "$KILN_ROOT/log")" 0 "with kernels from the disk nothing is compiled"

# ---- SIGTERM ----
config stopped "$data" '' ''
node stopped
begin stopped
run_until 400 TERM
is "$code $(state)" "0 running" "SIGTERM: exit 0, the run goes on at the next start"
step=$(sed -n 's/.*stopped at step \([0-9]*\).*/\1/p' "$KILN_ROOT/log")
like "$(newest)" "ckpt-0*$step.safetensors" "with a checkpoint of its last step"
begin stopped
is "$(state)" running "begin adopts it"
run_to_end
is "$code $(state) $(model_bits)" "0 finished $expected" "and it ends with the same bits"
is "$(record_json '[r["epochs"], r["metrics"]]')" "$epochs" "and the same figures"
stop_fetchd

# ---- 16 bits: three epochs, and again with a kill in between ----
for name in half killed; do
	model='precision = "mixed_float16";' config $name "$data" '' ''
	sed -i 's/epochs = 12/epochs = 3/' "$work/$name.conf"
	node $name
	mkdir -p "$KILN_ROOT/data/kiln"
	cp -a "$work/nodes/$([ $name = half ] && echo whole || echo half)/data/kiln/cache" "$KILN_ROOT/data/kiln/"
	begin $name
	[ $name = half ] || run_until 400 KILL
	run_to_end
	is "$code $(state)" "0 finished" "mixed_float16: a run ends, $name"
	[ $name = killed ] || half=$(model_bits) figures=$(record_json '[r["epochs"], r["metrics"]]')
	stop_fetchd
done
is "$(model_bits) $(record_json '[r["epochs"], r["metrics"]]')" "$half $figures" "killed, it ends with the same bits and figures"
is "$(record_json 'r["metrics"]["test"]["accuracy"] > 0.9')" True "what there is to learn is learnt in 16 bits"

# ---- A second traind on one spool ----
config second "$data" '' ''
node second
begin second
start traind
wait_for 20 grep -q 'waiting for fetchd to fix the plan' "$KILN_ROOT/log"
ok $? "before there is a plan it says what it waits for"
start fetchd
wait_for 60 at_step 20
like "$(cat "$KILN_ROOT/log")" "starting from initial weights" "without a checkpoint it says that it starts from scratch"
kill -STOP $traind
is_still() { # PID: all of its threads
	! grep -hq '^State:[[:space:]][^T]' /proc/"$1"/task/*/status
}
wait_for 20 is_still $traind
bad=$(newest)
printf 'x' | dd of="$bad" bs=1 seek=$(($(stat -c %s "$bad") - 100)) conv=notrunc 2>/dev/null
before=$(find "$spool" | sort)
timeout 20 "$KILN_BIN/kiln-traind" 2>>"$KILN_ROOT/log" &
wait $!
is "$? $(state)" "69 running" "a second one ends, the run goes on"
like "$(tail -n 1 "$KILN_ROOT/log")" "another process writes there" "it says why"
is "$(find "$spool" | sort)" "$before" "and left the spool alone"
kill -KILL $traind
wait $traind 2>/dev/null
stop_fetchd

# ---- A full disk ----
points() { # split: epochs in its curve, in the order of the files, without those that a later session replaced
	python3 - "$spool/logs/$1" <<-'PY'
		import glob, struct, sys
		def fields(data):
		    at = 0
		    while at < len(data):
		        key, shift, number, at = data[at], 0, 0, at + 1
		        if key & 7 == 1: number, at = data[at:at + 8], at + 8
		        elif key & 7 == 5: number, at = data[at:at + 4], at + 4
		        else:
		            while True:
		                byte, at = data[at], at + 1
		                number, shift = number | (byte & 127) << shift, shift + 7
		                if byte < 128: break
		            if key & 7 == 2: number, at = data[at:at + number], at + number
		        yield key >> 3, number
		seen = []
		for path in sorted(glob.glob(sys.argv[1] + "/events.*")):
		    data, at = open(path, "rb").read(), 0
		    while at < len(data):
		        size = struct.unpack("<Q", data[at:at + 8])[0]
		        event, at = dict(fields(data[at + 12:at + 12 + size])), at + size + 16
		        step = event.get(2, 0)
		        if 7 in event: seen = [s for s in seen if s < step]
		        if 5 in event and b"epoch_loss" in event[5]: seen.append(step)
		print(*seen)
	PY
}
disk=$work/nodes/full/data/kiln
cleanup() {
	umount "$disk" 2>/dev/null
}
full() {
	! head -c 4096 /dev/zero >>"$disk/fill"
}
config full "$data" '' ''
node full
mkdir -p "$disk"
if mount -t tmpfs -o size=4m kiln-test "$disk" 2>/dev/null; then
	cp -a "$work/nodes/whole/data/kiln/cache" "$disk/"
	begin full
	start fetchd
	start traind
	wait_for 60 at_step 20
	kill -STOP $traind
	until full 2>/dev/null; do :; done
	kill -CONT $traind
	wait_for 60 grep -q 'waiting for space on the disk' "$KILN_ROOT/log"
	ok $? "a full disk: training goes on to the end and waits for space" "$(tail -n 5 "$KILN_ROOT/log")"
	like "$(cat "$KILN_ROOT/log")" "No space left on device; going on" "with warnings"
	kill -KILL $traind
	wait $traind 2>/dev/null
	: >"$KILN_ROOT/log"
	start traind
	wait_for 60 grep -q 'waiting for space on the disk' "$KILN_ROOT/log"
	ok $? "started on a full disk it gets there too" "$(tail -n 5 "$KILN_ROOT/log")"
	rm "$disk/fill"
	wait $traind
	is "$? $(state) $(model_bits)" "0 finished $expected" "once there is space the run ends, with the same weights"
	is "$(record_json '[r["epochs"], r["metrics"]]')" "$epochs" "run.json has every figure"
	is "$(points train), $(points validation)" "0 1 2 3 4 5 6 7 8 9 10 11, 0 1 2 3 4 5 6 7 8 9 10 11" "and so have the curves"
	stop_fetchd
else
	skip "a full disk" "no tmpfs can be mounted here"
fi

# ---- A damaged checkpoint, a torn write ----
config damaged "$data" '' ''
node damaged
begin damaged
run_until 400 KILL
bad=$(newest)
printf 'x' | dd of="$bad" bs=1 seek=$(($(stat -c %s "$bad") - 100)) conv=notrunc 2>/dev/null
head -c 100 "$bad" >"$spool/checkpoints/ckpt-000000009999.safetensors.tmp"
run_to_end
is "$code $(state) $(model_bits)" "0 finished $expected" "a damaged checkpoint: the one before it, the same bits"
like "$(cat "$KILN_ROOT/log")" "$(basename "$bad").*going back to the checkpoint before it" "with a warning"
like "$(cat "$KILN_ROOT/log")" "going on from .*: (train|validation) [0-9]*, batch [0-9]*, step [0-9]*$" "saying where it goes on"
stop_fetchd

# ---- A lost device ----
config lost "$data" '' ''
node lost
begin lost
for name in -2,CL_DEVICE_NOT_AVAILABLE -5,CL_OUT_OF_RESOURCES -36,CL_INVALID_COMMAND_QUEUE; do
	[ -d "/proc/${fetchd:-none}" ] || start fetchd
	LD_PRELOAD=$KILN_BUILD/system/preload/device_lost.so KILN_DEVICE_LOST_AT=700 KILN_DEVICE_LOST_CODE=${name%,*} \
		timeout 60 "$KILN_BIN/kiln-traind" 2>>"$KILN_ROOT/log"
	is "$? $(state)" "69 running" "a device that is lost, ${name#*,}: to be started again"
	said=$(grep -E "${name#*,} \\(${name%,*}\\)(; a command failed .*)?\$" "$KILN_ROOT/log" | tail -n 1) # a message about a checkpoint may follow it
	like "$said" "traind: [^:]+: [^:]*, driver [^:]+: .*: ${name#*,} \\(${name%,*}\\)(; a command failed .*)?$" "and the device is named"
done
is "$(cat "$KILN_ROOT/data/kiln/run/reason-traind" 2>&1)" "${said#*traind: }" "to the next process, too"
run_to_end
is "$code $(state) $(model_bits)" "0 finished $expected" "with a device again: the same bits"
stop_fetchd

# ---- No checkpoint left, a new disk ----
config newdisk "$data" '' ''
node newdisk
begin newdisk
"$KILN_BIN/kiln-uploadd" 2>>"$KILN_ROOT/log" &
uploadd=$!
run_until 400 TERM
steps() {
	python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["step"])' "$work/runs/newdisk/$id/checkpoints/latest.json"
}
step=$(sed -n 's/.*stopped at step \([0-9]*\).*/\1/p' "$KILN_ROOT/log")
wait_for 20 eval '[ "$(steps)" = "$step" ]'
kill -KILL $uploadd
wait $uploadd 2>/dev/null
stop_fetchd
rm -r "$KILN_ROOT/data"
begin newdisk
like "$(cat "$KILN_ROOT/log")" "going on from checkpoints/ckpt-0*$step.safetensors in the store" "a new disk takes the run from the store"
run_to_end
is "$code $(state) $(model_bits)" "0 finished $expected" "and ends with the same bits"
stop_fetchd

# ---- Another network ----
config other "$data" '' ''
node other
begin other
run_until 100 KILL
sed -i 's/units = 16/units = 24/' "$record/config"
run_to_end
is "$code $(state)" "78 running" "a checkpoint of another network is refused"
like "$(tail -n 1 "$KILN_ROOT/log")" "graph_hash: found .*, expected .*; dense/kernel: found F32 \\[8, 16\\], expected F32 \\[8, 24\\]" \
	"naming both hashes and what differs"
sed -i 's/units = 24/units = 16/' "$record/config"
"$make_checkpoint" "$id" 999999 1000
before=$(find "$spool/checkpoints" | sort)
run_to_end
is "$code $(state)" "78 running" "a file that is no checkpoint is refused"
like "$(tail -n 1 "$KILN_ROOT/log")" "ckpt-000000999999.safetensors: format: found nothing, expected kiln/checkpoint" "by name"
is "$(find "$spool/checkpoints" | sort)" "$before" "and nothing is removed"
rm "$spool/checkpoints/ckpt-000000999999.safetensors"

# ---- Another learning rate between two nights ----
sed -i 's/optimizer: { /&learning_rate = 0.0005; /' "$record/config"
run_to_end
is "$code $(state)" "0 finished" "other configuration than graph and data may change"
like "$(cat "$KILN_ROOT/log")" "going on from .*ckpt-" "and the run goes on where it was"
[ "$(model_bits)" != "$expected" ]
ok $? "with the new learning rate"
stop_fetchd

# ---- Checkpoints by time ----
config timed "$data" '' ''
sed -i 's/epochs = 12/epochs = 200/; s/every_steps = 20/every_minutes = 0.0001/' "$work/timed.conf"
node timed
begin timed
run_until 4000 TERM
between=$(sed -n 's/.*step \([0-9]*\): wrote ckpt.*/\1/p' "$KILN_ROOT/log" | awk '$1 % 338' | wc -l)
[ "$code $(state)" = "0 running" ] && [ "$between" -ge 2 ] # one of them is from the stop
ok $? "checkpoints by time are written between the ends of epochs, too" "$code, $(state), $between of them"
stop_fetchd

# ---- Weights of an earlier run ----
config whole "$data" 'start_from = "latest";' 'name = "sgd"; momentum = 0.9; learning_rate = 0.0005;'
export KILN_ROOT=$work/nodes/whole
first=$id
"$KILN_BIN/kiln-uploadd" --drain 2>>"$KILN_ROOT/log"
begin whole
run_to_end
like "$(cat "$KILN_ROOT/log")" "starting with the weights of t-" "start_from = latest takes the last run's weights"
is "$(record_json 'r["epochs"][0]["accuracy"] > 0.9 and r["epochs"][0]["step"] == 338')" True "and begins anew with them"
is "$(record_json 'r["epochs"][0]["learning_rate"]')" 0.0005 "with whatever else the configuration says by now"
stop_fetchd

# ---- A moving average of the weights, gradients of three batches a step ----
averages() { # how many of the model's tensors are the newest checkpoint's averages, and are not its weights
	python3 - "$spool/model/model.safetensors" "$(newest)" <<-'PY'
		import json, struct, sys
		def tensors(path):
		    data = open(path, "rb").read()
		    start = 8 + struct.unpack("<Q", data[:8])[0]
		    header = json.loads(data[8:start])
		    return {n: data[start + t["data_offsets"][0]:start + t["data_offsets"][1]]
		            for n, t in header.items() if n != "__metadata__"}
		model, checkpoint = map(tensors, sys.argv[1:])
		print(sum(t == checkpoint["optimizer/average/" + n] != checkpoint[n] for n, t in model.items()), len(model))
	PY
}
config average "$data" '' 'use_ema = true; gradient_accumulation_steps = 3; schedule = "cosine"; decay_steps = 4000;'
sed -i 's/epochs = 12/epochs = 3/; s/model: { /&top_k = 2; /' "$work/average.conf"
node average
begin average
run_to_end
is "$code $(state) $(averages)" "0 finished 4 4" "the finished model is the moving average of the weights"
is "$(record_json '[r["metrics"][s]["top_k_accuracy"] for s in ("train", "validation", "test")] + [r["epochs"][2]["validation_top_k_accuracy"]]')" \
	"[1, 1, 1, 1]" "run.json says how many rows are among the k most probable"
average=$(model_bits)
cp "$work/average.conf" "$work/averaged.conf"
node averaged
begin averaged
run_until 100 KILL
run_to_end
is "$code $(state) $(model_bits)" "0 finished $average" "a run killed between two updates ends with the same bits"
stop_fetchd

# ---- Labels that are not a class ----
config label "$data" '' ''
sed -i 's/model: { /&label = "class"; loss = "sparse_categorical_crossentropy"; /
	s/shape = \[ 2 \]; }/&, { name = "class"; dtype = "int64"; shape = [ 1 ]; missing = "default"; fill = 2; }/' "$work/label.conf"
node label
begin label
is $? 65 "a label that is no class: no run begins"
like "$(cat "$KILN_ROOT/log")" 'record 0: feature "class": found 2, but the network takes 0 .. 1' "naming the record, what was found and what is allowed"
is "$(find "$spool/checkpoints" -type f 2>/dev/null | wc -l)" 0 "and there is no checkpoint"

# ---- Data that cannot be used ----
"$make_shards" "$work/bad" train 4 400 plain
printf '\xff' | dd of="$work/bad/train-00002-of-00004.tfrecord" bs=1 seek=40 conv=notrunc 2>/dev/null
config bad "$work/bad" '' ''
node bad
begin bad
run_to_end
is "$code $(state)" "65 failed" "corrupt data: exit 65, state failed"
like "$(tail -n 1 "$KILN_ROOT/log")" "traind: .*train-00002.*byte 0" "naming object and byte"
like "$(record_json 'r["reason"]')" "train-00002.*byte 0" "and so does the run's record"
stop_fetchd

# ---- NaN: without relu, which can output 0 for ever, weights grow without limit ----
relu=
config nan "$data" '' 'name = "sgd"; learning_rate = 1e6;'
node nan
begin nan
run_to_end
is "$code $(state)" "65 failed" "NaN: exit 65, state failed"
like "$(cat "$KILN_ROOT/log")" "traind: step [0-9]*: .* became NaN or infinite" "naming step and tensor"
good=0
for file in "$spool"/checkpoints/*.safetensors; do
	[ ! -e "$file" ] || "$make_checkpoint" --check "$file" || good=1
	[ ! -e "$file" ] || python3 -c '
import json, math, struct, sys
d = open(sys.argv[1], "rb").read(); n = struct.unpack("<Q", d[:8])[0]; h = json.loads(d[8:8 + n])
for k, t in h.items():
    if k != "__metadata__" and t["dtype"] == "F32":
        a, b = t["data_offsets"]
        assert all(map(math.isfinite, struct.unpack("<%df" % ((b - a) // 4), d[8 + n + a:8 + n + b])))' "$file" || good=1
done
is $good 0 "and no checkpoint with a NaN in it"
stop_fetchd

# ---- The operator's requests ----
relu='{ op = "relu"; }, { op = "dropout"; rate = 0.2; },'
want() { # seq, state, checkpoint_seq
	printf '{"seq": %d, "state": "%s", "checkpoint_seq": %d}' "$1" "$2" "$3" >"$record/want.new"
	mv "$record/want.new" "$record/want"
}
is_phase() { # phase
	[ "$(page phase)" = "$1" ]
}
page() { # member
	"$KILN_BUILD/system/show_status" traind "$1"
}
is_page() { # PID, phase
	[ "$(page pid) $(page phase)" = "$1 $2" ]
}
steps_pass() {
	[ "$(page step)" -gt "$1" ]
}

config wanted "$data" '' ''
sed -i 's/epochs = 12/epochs = 200/; s/every_steps = 20/every_steps = 0/' "$work/wanted.conf"
node wanted
begin wanted
start fetchd
start traind
wait_for 60 steps_pass 30
ok $? "the status page counts steps" "$(tail -n 3 "$KILN_ROOT/log")"
like "$(page run_id) $(page phase) $(page pid)" "^$id (training|evaluating) $traind\$" "and says which run, what it does and who"
[ "$(page busy_us)" -gt 0 ]
ok $? "and how long the device was at work" "$(page busy_us)"
want 1 running 1
wait_for 60 grep -q 'wrote ckpt' "$KILN_ROOT/log"
ok $? "a checkpoint is taken when it is asked for" "$(tail -n 3 "$KILN_ROOT/log")"
want 2 paused 1
wait_for 60 is_phase paused
is "$? $(state)" "0 paused" "the run pauses"
paused_at=$(page step)
is "$(newest)" "$spool/checkpoints/$(printf 'ckpt-%012d.safetensors' "$paused_at")" "with a checkpoint of the step it stands at"
sleep 0.5
is "$(page step) $(page phase)" "$paused_at paused" "and stands still"
echo '{' >"$record/want"
wait_for 60 grep -q 'want.*; going on' "$KILN_ROOT/log"
ok $? "a want that cannot be read is warned of" "$(tail -n 3 "$KILN_ROOT/log")"
is "$(state)" paused "and changes nothing"
want 2 paused 1
kill -KILL $traind
wait $traind 2>/dev/null
start traind
wait_for 60 is_page "$traind" paused
is "$? $(page step)" "0 $paused_at" "killed while it is paused: it is paused again before its first step"
want 3 running 1
wait_for 60 steps_pass $((paused_at + 5))
is "$? $(state)" "0 running" "the run goes on"
want 4 stopped 1
wait $traind
is "$? $(state)" "0 stopped" "the run stops"
begin wanted
[ ! -e "$record/want" ]
ok $? "the next begin goes on, whatever was wanted then" "$(cat "$record/want" 2>&1)"
stop_fetchd

# ---- A trainer that waits for data also obeys ----
waits_without_data() { # fetchd stands still, and the ring is empty
	local at
	at=$(page step)
	sleep 1
	[ "$(page step)" = "$at" ]
}
newest_is_here() {
	[ "$(newest)" = "$spool/checkpoints/$(printf 'ckpt-%012d.safetensors' "$(page step)")" ]
}
start fetchd
start traind
wait_for 60 is_page "$traind" training
kill -STOP $fetchd
wait_for 60 waits_without_data
want 11 running 11
wait_for 20 newest_is_here
ok $? "without data: a checkpoint is taken when it is asked for" "$(newest), at step $(page step)"
want 12 paused 11
wait_for 20 is_phase paused
is "$? $(state)" "0 paused" "it pauses"
want 13 running 11
is_running() { is_phase training && [ "$(state)" = running ]; } # the page says so before the run's record
wait_for 20 is_running
is "$? $(state)" "0 running" "goes on"
want 14 stopped 11
wait_for 20 test ! -d /proc/$traind
is "$? $(state)" "0 stopped" "and stops"
wait $traind 2>/dev/null
kill -CONT $fetchd
stop_fetchd
begin wanted
"$KILN_BIN/kiln-oneshot" release
start traind
wait_for 20 is_page "$traind" waiting
want 15 stopped 0
wait_for 20 test ! -d /proc/$traind
is "$? $(state)" "0 stopped" "without a ring it stops, too"
wait $traind 2>/dev/null
begin wanted

# ---- A stop is not forgotten, whether systemd's signal or the request comes first ----
start fetchd
start traind
wait_for 60 is_phase training
kill -STOP $traind
want 5 stopped 1
kill -TERM $traind
kill -CONT $traind
wait $traind
is "$? $(state)" "0 stopped" "systemd's signal before the request was seen: stopped all the same"
stop_fetchd
echo running >"$record/state"
"$KILN_BIN/kiln-oneshot" resume 2>>"$KILN_ROOT/log"
is "$? $(state)" "0 stopped" "the power went in between: it is not gone on with at boot"
