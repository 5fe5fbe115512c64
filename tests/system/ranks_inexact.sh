#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# ranks.exact = false: each rank has one micro-batch. The same number of ranks gives the same weights, also after a kill; the loss is that
# of the exact run; another number of ranks goes on.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/train_lib.sh"
. "$(dirname "$0")/ranks_lib.sh"

"$make_shards" "$work/data" train 17 203 plain
"$make_shards" "$work/data" test 3 40

layers='{ op = "normalization"; }, { op = "dense"; units = 16; }, NORM { op = "relu"; }, { op = "dropout"; rate = 0.2; },
	{ op = "dense"; units = 2; }, { op = "softmax"; }'
net_with() { # layer after the first dense one
	echo "model: { layers = ( ${layers/NORM/$1} ); };"
}

# Batch normalisation takes its statistics from the rows of a rank, so the weights are not those of the exact run.
ranks_config exact "" "" "$(net_with '{ op = "batch_norm"; },')"
ranks_config normed "" "" "$(net_with '{ op = "batch_norm"; },') ranks: { exact = false; };"
whole exact 2
exact=$(model_bits)
whole normed 2
bits=$(model_bits) told=$(figures)
[ "$bits" != "$exact" ]
ok $? "the weights are not those of ranks.exact"
node killed
begin normed
start_ranks 2
wait_for 60 at_step 50
kill -KILL "$(pgrep -P $ranks | tail -n 1)"
end_ranks
is "$(state)" running "a rank is killed, and the other one ends" "$(tail -n 9 "$KILN_ROOT/log")"
start_ranks 2
end_ranks
is "$code $(state)" "0 finished" "both go on" "$(tail -n 9 "$KILN_ROOT/log")"
same normed 2

node changes
begin normed
start_ranks 4
wait_for 60 at_step 50
kill -USR2 $ranks
end_ranks
for world in 1 2; do
	start_ranks $world
	[ $world = 2 ] || { wait_for 60 at_step 150 && kill -TERM $ranks; }
	end_ranks
	is "$code" 0 "another number of ranks goes on: $world" "$(tail -n 9 "$KILN_ROOT/log")"
done
is "$(state)" finished "and the run ends"

last_loss() { record_json 'r["epochs"][-1]["loss"]'; }
ranks_config exact "" "" "$(net_with "")"
ranks_config loss "" "" "$(net_with "") ranks: { exact = false; };"
whole exact 1
expected=$(last_loss)
for world in 2 4; do
	whole loss $world
	is "$(/usr/bin/python3 -c "print(abs($(last_loss) - $expected) <= 1e-4 * $expected)")" True \
		"the loss of $world ranks is that of the exact run" "$(last_loss), expected $expected"
done

ranks_config unequal "" "" "$(net_with "") ranks: { exact = false; };"
fails unequal 3 78 running "ranks.exact: found false, with 1 of 4 lanes in rank 0 of 3, expected true, or as many lanes in each rank"
