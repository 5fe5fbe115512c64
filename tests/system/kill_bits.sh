#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# fetchd, traind and uploadd killed at random points of one run, again and again: the final weights equal those of the
# undisturbed run, bit for bit, and every file that a reader of the store can see is whole. Then fetchd and traind killed in
# each kind of segment.
# KILN_SEEDS: one run per seed (1; make test-soak: "1 2 3").
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/kill_lib.sh"
data=$work/data epochs='epochs = 40; batch_rows = 32;' split=''
seeds=${KILN_SEEDS:-1}

config() { # name
	cat >"$work/kiln.conf" <<-CONF
		run: { name = "t"; $epochs };
		source: { url = "file://$data"; };
		split: { $split };
		sink: { url = "file://$work/runs/$1"; };
		ring: { small_pages = true; };
		order: { window_shards = 3; };
		checkpoint: { every_steps = 50; keep = 2; };
		schema = ( { name = "sentence"; dtype = "float32"; shape = [ 8 ]; },
		           { name = "label"; dtype = "int64"; shape = [ 2 ]; } );
		model: { layers = ( { op = "dense"; units = 512; }, { op = "relu"; }, { op = "dropout"; rate = 0.2; },
		                    { op = "dense"; units = 2; }, { op = "softmax"; } ); };
	CONF
}

"$KILN_BUILD/system/make_shards" "$work/data" train 10 1500
"$KILN_BUILD/system/make_shards" "$work/data" test 2 100
deadline=$((SECONDS + 300))
run undisturbed ''
is "$gave_up $(state)" "0 finished" "the undisturbed run finishes"
expected=$(weights undisturbed)
same=1
for seed in $seeds; do
	run "seed$seed" "$seed"
	[ $kills -ge $kills_wanted ] && [ "${killed[traind]}" -gt 0 ] && [ "${killed[fetchd]}" -gt 0 ] && [ "${killed[uploadd]}" -gt 0 ]
	ok $? "seed $seed: $kills kills landed in the run (${killed[traind]} traind, ${killed[fetchd]} fetchd, ${killed[uploadd]} uploadd), the last behind step $last"
	is "$gave_up $(state)" "0 finished" "seed $seed: the run finishes all the same"
	found=$(weights "seed$seed")
	is "$found" "$expected" "seed $seed: the same weights, bit for bit"
	[ "$found" = "$expected" ] || same=0
	is "$(epochs "seed$seed")" "$(epochs undisturbed)" "seed $seed: the same losses and accuracies, digit for digit"
done
echo "{\"name\":\"kill-bits\",\"case\":\"$kills_wanted kills a run, seeds $seeds\",\"value\":$same,\"unit\":\"equal\",\"peer\":\"undisturbed run\",\"peer_value\":1,\"ratio\":$same}"

# ---- In each kind of segment ----
"$KILN_BUILD/system/make_shards" "$work/long" train 4 4000
"$KILN_BUILD/system/make_shards" "$work/long" validation 2 40000
"$KILN_BUILD/system/make_shards" "$work/long" test 2 40000
data=$work/long epochs='epochs = 2; batch_rows = 16;' split='by = "prefix";'
deadline=$((SECONDS + 240))

page() { # daemon, member
	"$KILN_BUILD/system/show_status" "$1" "$2" 2>/dev/null
}

is_in() { # split
	[ "$(page traind pid)" = "${pid[traind]}" ] && [[ $(page traind text) = "$1 "* ]]
}

resumed() { # prints the split of each position at which a fetchd began
	sed -n 's/.*generation [0-9]*: from split \([0-9]\),.*/\1/p' "$KILN_ROOT/log"
}

kill_in() { # split, number of the split's batch, daemon
	local before
	until is_in "$1"; do
		tend_all || break
		sleep 0.01
	done
	kill -KILL "${pid[$3]}"
	wait "${pid[$3]}" 2>/dev/null
	before=$(resumed | wc -l)
	if [ "$3" = traind ]; then
		is_in "$1"
		ok $? "traind was killed in a segment of $1" "$(page traind text)"
		start traind
	else
		start fetchd
		more() { [ "$(resumed | wc -l)" -gt "$before" ]; }
		wait_for 60 more
		is "$(resumed | sed -n "$((before + 1))p")" "$2" "fetchd was killed in a segment of $1"
	fi
}

run calm ''
is "$gave_up $(state)" "0 finished" "a run with long validation and test segments"
start_all segments
for split_of in 'train 0' 'validation 1' 'test 2'; do
	for victim in fetchd traind; do
		# shellcheck disable=SC2086
		kill_in $split_of $victim
	done
done
while tend_all; do sleep 0.02; done
is "$gave_up $(state)" "0 finished" "it finishes after a kill of each in each kind of segment"
is "$(weights segments)" "$(weights calm)" "with the same weights, bit for bit"
is "$(epochs segments)" "$(epochs calm)" "and the same losses and accuracies"
