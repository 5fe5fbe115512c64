#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# fetchd, traind and uploadd killed at random points of one run, again and again: the final weights equal those of the
# undisturbed run, bit for bit, and every file that a reader of the store can see is whole. Then fetchd and traind killed in
# each kind of segment.
# KILN_SEEDS: one run per seed (default "1 2 3").
. "$(dirname "$0")/lib.sh"
kills_wanted=20
data=$work/data epochs='epochs = 40; batch_rows = 32;' split=''
seeds=${KILN_SEEDS:-1 2 3}

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

# All nodes use the kernels that the undisturbed run compiled.
begin() { # name
	node "$1"
	config "$1"
	[ "$1" = undisturbed ] ||
		{ mkdir -p "$KILN_ROOT/data/kiln" && cp -a "$work/nodes/undisturbed/data/kiln/cache" "$KILN_ROOT/data/kiln/"; }
	"$KILN_BIN/kiln-oneshot" begin --config "$work/kiln.conf" >"$KILN_ROOT/id" 2>>"$KILN_ROOT/log"
}

declare -A pid
start() { # fetchd|traind|uploadd
	local arguments=
	[ "$1" = uploadd ] && arguments=--drain
	"$KILN_BIN/kiln-$1" $arguments 2>>"$KILN_ROOT/log" &
	pid[$1]=$!
}

# A daemon that ended with 0 is done; one that was killed, or ended with 69 or 75, is started again.
tend() { # name
	kill -0 "${pid[$1]}" 2>/dev/null && return
	wait "${pid[$1]}"
	case $? in
	0) ended[$1]=1 ;;
	137 | 69 | 75) start "$1" ;;
	*) ended[$1]=1 gave_up=1 ;;
	esac
}

state() {
	cat "$KILN_ROOT/data/kiln/run/current/state" 2>/dev/null
}

progress() { # step of the newest checkpoint on this disk
	find "$KILN_ROOT/data/kiln/spool" -name 'ckpt-*.safetensors' 2>/dev/null | sed 's/.*ckpt-0*\([0-9]*\)\..*/\1/' |
		sort -n | tail -n 1
}

# Kill only a running daemon, and only after there was progress since its last kill, so that each kill hits real work.
start_all() { # name
	declare -gA ended=()
	gave_up=0
	begin "$1"
	start fetchd
	start traind
	start uploadd
}

tend_all() {
	local name
	for name in fetchd traind uploadd; do
		[ -n "${ended[$name]:-}" ] || tend $name
	done
	[ "${#ended[@]}" != 3 ] && [ $SECONDS -le $deadline ]
}

run() { # name, seed or ""
	local victims=(traind fetchd uploadd) victim now
	last=-1
	declare -gA killed=([traind]=0 [fetchd]=0 [uploadd]=0)
	kills=0
	[ -z "$2" ] || RANDOM=$2
	start_all "$1"
	while tend_all; do
		now=$(progress)
		if [ -n "$2" ] && [ $kills -lt $kills_wanted ] && [ "${now:-0}" != "$last" ] && [ "$(state)" = running ]; then
			sleep 0.0$((RANDOM % 10))
			victim=${victims[RANDOM % 3]}
			if [ -z "${ended[$victim]:-}" ] && kill -KILL "${pid[$victim]}" 2>/dev/null; then
				kills=$((kills + 1)) killed[$victim]=$((killed[$victim] + 1))
				wait "${pid[$victim]}" 2>/dev/null
				start "$victim"
				last=${now:-0}
			fi
		fi
		sleep 0.02
	done
	final=$(sha256sum "$work/runs/$1"/*/model/model.safetensors 2>/dev/null | cut -d' ' -f1)
}

# Digest of the weights alone: the file's header names run and configuration.
weights() { # name
	python3 - "$work/runs/$1"/*/model/model.safetensors <<-'PY'
		import hashlib, struct, sys
		data = open(sys.argv[1], "rb").read()
		print(hashlib.sha256(data[8 + struct.unpack("<Q", data[:8])[0]:]).hexdigest())
	PY
}

"$KILN_BUILD/system/make_shards" "$work/data" train 10 1500
"$KILN_BUILD/system/make_shards" "$work/data" test 2 100
deadline=$((SECONDS + 300))
run undisturbed ''
is "$gave_up $(state)" "0 finished" "the undisturbed run finishes"
expected=$(weights undisturbed)
epochs() { # name: the epochs in run.json, without the run's names
	python3 -c 'import json, sys; r = json.load(open(sys.argv[1])); print(json.dumps([r["epochs"], r["metrics"], r["state"]]))' \
		"$work/runs/$1"/*/run.json
}
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
