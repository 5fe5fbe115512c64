#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Several ranks train one model: each a kiln-traind with a device, a ring and a kiln-fetchd of its own, started by mpirun. 1, 2, 3
# and 4 ranks, and a change from one to the other in the middle of an epoch, have the same weights and the same figures, to the
# bit.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/train_lib.sh"
. "$(dirname "$0")/ranks_lib.sh"

"$make_shards" "$work/data" train 9 61 plain
"$make_shards" "$work/data" test 3 40

# The losses by step are those of all ranks.
step_losses() {
	/usr/bin/python3 - $(find "$spool" -path '*steps*' -name 'events*' | sort) <<-'PY'
		import re, struct, sys
		for path in sys.argv[1:]:
		    for value in re.findall(rb"batch_loss\x15(....)", open(path, "rb").read(), re.S):
		        print("%.5f" % struct.unpack("<f", value))
	PY
}

ranks_config plain "" "" "$net tensorboard: { every_steps = 5; };"
for world in 1 2 4; do
	whole plain $world
	[ $world != 1 ] || { bits=$(model_bits) told=$(figures) losses=$(step_losses); }
	[ $world = 1 ] || same plain $world
	[ $world = 1 ] || is "$(step_losses)" "$losses" "plain: and its losses by step"
done
like "$(wc -l <<<"$losses")" '^[1-9][0-9]' "which are there"

# Everything that happens once for a step, after the sum; and what is decided after an epoch.
ranks_config steps "" 'remainder = "drop";' "${net/\"batch_norm\"/\"layer_norm\"}
	optimizer: { global_clipnorm = 0.5; gradient_accumulation_steps = 3; use_ema = true; };
	reduce_on_plateau: { monitor = \"val_loss\"; min_delta = 10.0; patience = 1; factor = 0.5; min_lr = 0.0002; };
	early_stopping: { monitor = \"val_loss\"; min_delta = 10.0; patience = 2; restore_best = true; };"
sed -i 's/epochs = 3/epochs = 6/' "$work/steps.conf"
whole steps 1
bits=$(model_bits) told=$(figures)
whole steps 3
same steps 3
like "$told" "'epoch': 2" "steps: it ends early"
is "$(grep -c 'stopping early' "$KILN_ROOT/log")" 1 "steps: one rank says so"

# Statistics of the data, which each rank computes of its lanes; and fewer test shards than lanes.
ranks_config adapts "" "" 'model: { layers = ( { op = "normalization"; }, { op = "dense"; units = 2; }, { op = "softmax"; } ); };'
whole adapts 1
bits=$(model_bits) told=$(figures)
whole adapts 3
same adapts 3

# Damaged records, in shards of different ranks.
cp -r "$work/data" "$work/damaged"
for shard in 3 7; do
	printf 'xxxx' | dd of="$(find "$work/damaged" -name "train-0000$shard*")" bs=1 seek=$((1000 * shard)) conv=notrunc 2>/dev/null
done
ranks_config damaged "" "" "$net fetch: { bad_record = \"skip\"; skip_records_max = 1000; };"
sed -i "s,file://$work/data,file://$work/damaged," "$work/damaged.conf"
whole damaged 1
bits=$(model_bits) told=$(figures)
whole damaged 2
same damaged 2
like "$told" "offset.*offset" "damaged: records of two shards are left out"
# One record of each shard. Each rank alone leaves out no more records than the run may.
cp -r "$work/data" "$work/damaged-all"
for shard in "$work"/damaged-all/train-*; do
	printf 'xxxx' | dd of="$shard" bs=1 seek=1730 conv=notrunc 2>/dev/null
done
sed 's,skip_records_max = 1000,skip_records_max = 5,; s,/damaged,/damaged-all,' "$work/damaged.conf" >"$work/limit.conf"
fails limit 2 65 failed "^6 records skipped in this run by all ranks, fetch.skip_records_max is 5"

# A network of convolutions on pictures, which each epoch crops and flips in another way.
"$KILN_BUILD/system/make_pictures" "$work/pictures" 30 28 32 1 daisy rose tulip
cat >"$work/pictures.conf" <<-CONF
	run: { name = "t"; epochs = 2; batch_rows = 16; };
	source: { url = "file://$work/pictures"; format = "objects"; };
	sink: { url = "file://$work/runs/pictures"; };
	split: { train_glob = "*/*"; test_glob = ""; };
	ring: { small_pages = true; };
	order: { lanes = 4; };
	optimizer: { global_clipnorm = 1.0; gradient_accumulation_steps = 2; };
	schema = ( { name = "image"; dtype = "picture"; shape = [ 20, 20, 3 ]; fit = "crop"; random_crop = true; },
	           { name = "label"; dtype = "int64"; shape = [ 1 ]; } );
	model: { input = "image"; label = "label"; loss = "sparse_categorical_crossentropy";
	         layers = ( { op = "random_flip"; }, { op = "random_rotation"; factor = 0.1; }, { op = "rescaling"; scale = 0.00392; },
	                    { op = "conv2d"; filters = 4; kernel_size = [ 3, 3 ]; strides = [ 2, 2 ]; }, { op = "batch_norm"; }, { op = "relu"; },
	                    { op = "global_average_pooling2d"; }, { op = "dense"; units = 3; }, { op = "softmax"; } ); };
CONF
whole pictures 1
bits=$(model_bits) told=$(figures)
whole pictures 2
same pictures 2
[ "$(id -u)" != 0 ] || each_box=2 # only root gives host names
whole pictures 4
same pictures 4
like "$(cat "$KILN_ROOT/log")" "rank 3 of 4, on box ${each_box:-1} of ${each_box:-1}" "pictures: two ranks on each of two boxes"
each_box=

# ---- Another number of ranks goes on ----
until_step() { # world, step, command: lets so many ranks train up to a step, then runs the command, which ends them
	start_ranks "$1"
	wait_for 60 at_step "$2"
	"${@:3}"
	end_ranks
}

signal() { # SIGNAL: to all that mpirun started, or to the only rank
	kill -"$1" $ranks
}

kill_rank() { # one that does not lead
	kill -KILL "$(pgrep -P $ranks | tail -n 1)"
}

"$make_shards" "$work/long" train 41 203
# The gradients are several buckets, so the ranks divide the update, and checkpoints gather the state of the optimizer.
ranks_config changes "" "" "${net/units = 16/units = 256} ranks: { bucket_bytes = 4096; check_steps = 50; };"
sed -i "s,epochs = 3,epochs = 24,; s,/data,/long,; s,every_steps = 10,every_steps = 25," "$work/changes.conf"
whole changes 1
bits=$(model_bits) told=$(figures)
node changes
begin changes
until_step 4 100 signal USR2
is "$code $(state)" "0 running" "4 ranks stop with a checkpoint" "$(tail -n 9 "$KILN_ROOT/log")"
stopped=$(newest)
like "$(tail -n 9 "$KILN_ROOT/log")" "stopped at step" "and say so"
until_step 1 600 signal TERM
is "$code" 0 "one rank goes on, and stops"
until_step 2 1000 kill_rank
[ "$code" != 0 ]
ok $? "a killed rank ends the others"
no_rank
is "$? $(state)" "0 running" "none is left"
start_ranks 3
wait_for 60 at_step 1500
want paused
wait_for 20 is_state paused
ok $? "3 ranks pause"
paused=$(newest)
sleep 1
is "$(newest)" "$paused" "during a pause nothing is trained"
want running
end_ranks
is "$code $(state)" "0 finished" "and go on to the end" "$(tail -n 9 "$KILN_ROOT/log")"
same changes "4, 1, 2 and 3"

node stopped
sed 's/every_steps = 25/every_steps = 1000000/' "$work/changes.conf" >"$work/stopped.conf"
begin stopped
start_ranks 2
wait_for 60 at_step 40
for checkpoints in 1 2 3; do
	before=$(newest)
	want running
	wait_for 20 is_newer
	ok $? "2 ranks write checkpoint $checkpoints that the operator asks for" "$(tail -n 9 "$KILN_ROOT/log")"
done
want stopped
end_ranks
is "$code $(state)" "0 stopped" "the operator stops all ranks" "$(tail -n 9 "$KILN_ROOT/log")"

# ---- What cannot go on ----
ranks_config corrupt "" "" "$net"
sed -i "s,file://$work/data,file://$work/damaged," "$work/corrupt.conf"
fails corrupt 2 65 failed '^rank [01] on .*: fetchd: .*CRC.*object train-0000[37]'
ranks_config diverges "" "" 'optimizer: { name = "sgd"; learning_rate = 1e6; };
	model: { layers = ( { op = "dense"; units = 16; }, { op = "dense"; units = 2; }, { op = "softmax"; } ); };'
fails diverges 3 65 failed 'step [0-9]*: .* became NaN or infinite'
# In step 9, sums that rank 0 sends to rank 1 become wrong on their way.
ranks_config wrong "" "" "$net ranks: { check_steps = 5; };"
export LD_PRELOAD=$KILN_BUILD/system/preload/wrong_bit.so KILN_WRONG_RANK=0 KILN_WRONG_SEND=35
fails wrong 3 65 failed "step [0-9]*[05]: rank 1 on .* has other weights in '[a-z_/0-9]*' than rank 0 on "
unset LD_PRELOAD
# Rank 2 alone cannot copy its weights for the comparison: all ranks hear of it, and end.
ranks_config copy "" "" "$net ranks: { check_steps = 5; };"
export LD_PRELOAD=$KILN_BUILD/system/preload/copy_fails.so KILN_COPY_FAILS_RANK=2
fails copy 4 69 running 'traind: rank 2 on .*: clEnqueueCopyBuffer of [0-9]* bytes'
is "$(grep -c 'traind: rank 2 on .*: clEnqueueCopyBuffer' "$KILN_ROOT/log")" 4 "copy: by each rank"
# Rank 2 alone cannot read its figures, before the comparison.
sed 's,runs/copy,runs/read,' "$work/copy.conf" >"$work/read.conf"
export KILN_COPY_FAILS_RANK= KILN_READ_FAILS_RANK=2
fails read 4 69 running 'traind: rank 2 on .*: clEnqueueReadBuffer of [0-9]* bytes'
is "$(grep -c 'traind: rank 2 on .*: clEnqueueReadBuffer' "$KILN_ROOT/log")" 4 "read: by each rank"
unset LD_PRELOAD KILN_COPY_FAILS_RANK KILN_READ_FAILS_RANK
ranks_config narrow "" "" "$net"
sed -i 's/lanes = 4;//' "$work/narrow.conf"
fails narrow 2 78 running 'order.lanes: found 1, expected 2 or more, the ranks of the run'
out=$("$KILN_BIN/kiln-traind" --rank-from-env 2>&1)
is $? 78 "without a launcher: exit status 78"
like "$out" 'found no launcher of ranks, expected mpirun' "and the error says what is missing"
