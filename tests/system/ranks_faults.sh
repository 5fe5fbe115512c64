#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What goes wrong in one rank of several: a kiln-fetchd that is killed, records that make no number.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/train_lib.sh"
. "$(dirname "$0")/ranks_lib.sh"

"$make_shards" "$work/data" train 17 203 plain
"$make_shards" "$work/data" test 3 40

# ---- A kiln-fetchd is killed ----
restart_fetchd() { # rank, world
	"$KILN_BIN/kiln-fetchd" --rank "$1" --world "$2" 2>>"$KILN_ROOT/log" &
	fetchds[$1]=$!
}

kill_fetchd() { # rank
	kill -KILL "${fetchds[$1]}"
	wait "${fetchds[$1]}" 2>/dev/null
}

ranks_config fetchd "" "" "$net"
sed -i "s,epochs = 3,epochs = 24,; s,every_steps = 10,every_steps = 25," "$work/fetchd.conf"
whole fetchd 1
bits=$(model_bits) told=$(figures)
node fetchd
begin fetchd
start_ranks 2
step=100
for rank in 0 1 0 1; do
	wait_for 60 at_step $step
	kill_fetchd $rank
	restart_fetchd $rank 2
	step=$((step + 300))
done
end_ranks
is "$code $(state)" "0 finished" "kiln-fetchd of each rank is killed twice" "$(tail -n 9 "$KILN_ROOT/log")"
same fetchd 2

# ---- A record that makes no number, in a lane of one rank ----
spoil inf "[0.5] * 7 + [inf]" '[1, 0]'
for shard in 0 1 2 3; do
	"$make_shards" "$work/sound$shard" train 9 61 plain
	"$make_shards" "$work/sound$shard" test 4 40 plain
	cp "$work/inf/train-00000-of-00001.tfrecord" "$work/sound$shard/test-0000$shard-of-00004.tfrecord"
	ranks_config "sound$shard" "" "" "$net"
	sed -i "s,/data\",/sound$shard\"," "$work/sound$shard.conf"
	whole "sound$shard" 2
	like "$(record_json 'r["test_given_up"]')" "^(rank 1 on .*: )?step [0-9]+: .*'sentence' holds inf in element 7 of row [0-9]+ of the pass" \
		"inf in shard $shard of the test: run.json says why there are no figures"
	is "$(record_json 'r["metrics"].get("test")')" None "and there are none"
done
for shard in 0 2 4 6; do
	"$make_shards" "$work/bad$shard" train 9 61 plain
	"$make_shards" "$work/bad$shard" test 4 40 plain
	cp "$work/inf/train-00000-of-00001.tfrecord" "$work/bad$shard/train-0000$shard-of-00009.tfrecord"
	ranks_config "bad$shard" "" "" "$net"
	sed -i "s,/data\",/bad$shard\"," "$work/bad$shard.conf"
	fails "bad$shard" 2 65 failed "^rank [01] on .*: step [0-9]+: .*'sentence' holds inf in element 7 of row [0-9]+ of the pass"
	is "$(grep -c 'failed at step' "$KILN_ROOT/log")" 1 "and one rank says so"
done

# ---- Ranks that would not exchange the same values ----
has_plan() { grep -q '"plan_sha256":[[:space:]]*"[0-9a-f]' "$record/run.json"; }
ranks_config other "" "" "$net"
for key in 'exact = false' 'exchange = "bfloat16"' 'bucket_bytes = 4096'; do
	node "other-${key%% *}"
	begin other
	"$KILN_BIN/kiln-fetchd" --rank 0 --world 2 2>>"$KILN_ROOT/log" &
	fetchds=($!)
	wait_for 20 has_plan
	cp -a "$KILN_ROOT" "$work/second"
	echo "ranks: { $key; };" >>"$work/second/data/kiln/run/current/config"
	timeout 60 mpirun --allow-run-as-root -n 1 "$KILN_BIN/kiln-traind" --rank-from-env \
		: -n 1 env KILN_ROOT="$work/second" "$KILN_BIN/kiln-traind" --rank-from-env 2>>"$KILN_ROOT/log" >&2 &
	ranks=$!
	end_ranks
	like "$code $(grep -o 'rank 1 on .* has plan.*' "$KILN_ROOT/log" | tr '\n' ' ')" "^78 .*ranks.${key%% *} $(tr -d '"' <<<"${key##* }")" \
		"another ranks.${key%% *} in one rank is refused, and named" "$(tail -n 9 "$KILN_ROOT/log")"
	rm -r "$work/second"
done

# ---- Ranks of two other boxes have no device ----
ranks_config devices "" "" "$net"
node devices
begin devices
echo '{"boxes": ["box-0", "box-1", "box-2"], "own": 0}' >"$record/boxes.json"
fetchds=()
for rank in 0 1 2; do
	restart_fetchd $rank 3
done
KILN_JOB=a-1 timeout 60 mpirun --allow-run-as-root -n 1 "$KILN_BIN/kiln-traind" --rank-from-env \
	: -n 2 env OCL_ICD_VENDORS="$work/nowhere" "$KILN_BIN/kiln-traind" --rank-from-env 2>>"$KILN_ROOT/log" >&2 &
ranks=$!
end_ranks
is "$code $(state)" "69 running" "ranks of two other boxes without a device do not end the run" "$(tail -n 9 "$KILN_ROOT/log")"
noted() { # number: box
	python3 -c 'import json, sys
note = json.load(open(sys.argv[1]))
print(note["run"], note["faults"], note["lasting"], note["job"], note["why"])' "$record/fault-box-$1.json" 2>&1
}
for box in 1 2; do
	like "$(noted $box)" "^$id 1 True a-1 rank $box on .*OpenCL" "box-$box: noted, as a failure that lasts"
done
ok "$([ ! -e "$record/fault-box-0.json" ]; echo $?)" "and nothing is noted of the box that leads"
