#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A trainer on a device with memory of its own, which copies batches from the ring: through a stop, another ring and all splits the
# model has the same bits as one whose driver is given each batch. PoCL runs the code for GPUs.
. "$(dirname "$0")/lib.sh"
. tests/system/train_lib.sh
export KILN_DEVICE_TYPE=gpu
device=$KILN_BUILD/system/preload/device_type.so

data=$work/data
"$make_shards" "$data" train 4 320 plain 512
"$make_shards" "$data" test 1 96 plain 512
begin_wide() { # name
	config "$1" "$data" '' ''
	sed -i 's/shape = \[ 8 \]/shape = [ 512 ]/; s/epochs = 12/epochs = 4/' "$work/$1.conf"
	node "$1"
	begin "$1"
}
train_to_end() {
	LD_PRELOAD=$device start traind
	wait $traind
	code=$?
}

begin_wide whole
start fetchd
train_to_end
is "$code $(state)" "0 finished" "batches that the driver is given: the run ends" "$(tail -n 5 "$KILN_ROOT/log")"
expected=$(model_bits)
stop_fetchd

export KILN_DEVICE_OWN_MEMORY=1
begin_wide ring
start fetchd
LD_PRELOAD=$device start traind
wait_for 60 at_step 20
kill -TERM $traind
wait $traind
stop_fetchd
like "$(cat "$KILN_ROOT/log")" 'stopped at step' "batches from the ring: the run stops"
begin ring
start fetchd
train_to_end
is "$code $(state)" "0 finished" "goes on with another ring, and ends" "$(tail -n 5 "$KILN_ROOT/log")"
is "$(model_bits)" "$expected" "with the same bits"
is "$(grep -c 'the ring is not pinned' "$KILN_ROOT/log")" 0 "the ring was pinned"
stop_fetchd
