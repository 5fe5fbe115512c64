#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# `device.count` devices of one box train a run, with nothing else to start: `kiln run`, kills of every program, a stop, and a run that
# goes on with another count. The weights are those of one device, to the bit.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/train_lib.sh"
if ! command -v mpirun >/dev/null; then
	skip "several devices of one box" "no mpirun here: tools/deps/install test"
	exit
fi
export POCL_MAX_PTHREAD_COUNT=1 # ranks share two cores

conf() { # name, devices, epochs
	cat >"$work/$1.conf" <<-CONF
		run: { name = "t"; epochs = $3; batch_rows = 32; };
		source: { url = "file://$work/data"; };
		sink: { url = "file://$work/runs/$1"; };
		ring: { small_pages = true; };
		order: { lanes = 4; window_shards = 2; };
		device: { count = $2; };
		checkpoint: { every_steps = 25; };
		schema = ( { name = "sentence"; dtype = "float32"; shape = [ 8 ]; },
		           { name = "label"; dtype = "int64"; shape = [ 2 ]; } );
		model: { layers = ( { op = "dense"; units = 16; }, { op = "relu"; }, { op = "dropout"; rate = 0.2; },
			{ op = "dense"; units = 2; }, { op = "softmax"; } ); };
	CONF
}

processes() { # of this node, by what their environment says: "PID NAME" a line
	local environ
	grep -lz "^KILN_ROOT=$KILN_ROOT\$" /proc/[0-9]*/environ 2>/dev/null | while read -r environ; do
		echo "$(cut -d/ -f3 <<<"$environ") $(tr '\0' ' ' <"${environ%/environ}/cmdline")"
	done 2>/dev/null | grep -E '^[0-9]+ [^ ]*(kiln|mpirun)'
}

none_left() {
	[ -z "$(processes)" ]
}

pid_of() { # pattern: the first process of this node that fits
	processes | grep -E -- "$1" | head -n 1 | cut -d' ' -f1
}

start_run() {
	"$KILN_BIN/kiln" run --config "$work/$1.conf" >>"$KILN_ROOT/out" 2>>"$KILN_ROOT/log" &
	run=$!
}

ran() { # name of the test
	record=$KILN_ROOT/data/kiln/run/current
	wait $run
	is "$? $(cat "$record/state")" "0 finished" "$1" "$(tail -n 15 "$KILN_ROOT/log")"
}

same() { # name of the configuration, of the test
	is "$(weights_of "$(find "$work/runs/$1" -name model.safetensors)")" "$bits" "$2: the weights are those of one device, to the bit"
}

"$make_shards" "$work/data" train 41 203
"$make_shards" "$work/data" test 3 40
conf one 1 24
conf two 2 24
node one
mkdir -p "$work/runs"
start_run one
ran "a run on one device"
bits=$(weights_of "$(find "$work/runs/one" -name model.safetensors)")
is "$(grep -c 'train together' "$KILN_ROOT/log")" 0 "it needs no mpirun"

# ---- Kills, a stop, and another count ----
step() { # of the newest checkpoint
	basename "$(newest)" | tr -dc 0-9 | sed 's/^0*\(.\)/\1/'
}

killed() { # SIGNAL, pattern of a process, name of the test: kills it, and waits for 200 more steps
	local pid before
	pid=$(pid_of "$2")
	before=$(step)
	kill "-$1" "$pid"
	wait_for 30 ended "$pid" && wait_for 30 at_step $((before + 200))
	ok $? "$3" "pid ${pid:-none}, after step $before
$(tail -n 15 "$KILN_ROOT/log")
$(processes)"
}

begun() {
	record=$KILN_ROOT/data/kiln/run/current
	[ -e "$record/run.json" ] && spool=$KILN_ROOT/data/kiln/spool/traind/$(record_json 'r["id"]')
}

node two
start_run two
wait_for 30 begun
wait_for 30 at_step 50
is "$(processes | grep -cE 'kiln-fetchd|mpirun|rank-from-env')" 5 "2 kiln-fetchd, 2 ranks of kiln-traind and mpirun work" "$(processes)"
is "$(grep -oE 'rank [0-9] of [0-9], on box 1 of 1: 2 of 4 lanes' "$KILN_ROOT/log" | sort | xargs)" \
	"rank 0 of 2, on box 1 of 1: 2 of 4 lanes rank 1 of 2, on box 1 of 1: 2 of 4 lanes" "each rank has half of the lanes"
killed KILL 'kiln-fetchd --rank 1' "the kiln-fetchd of rank 1 is killed: all go on"
killed KILL 'kiln-fetchd $' "the kiln-fetchd of rank 0 is killed: all go on"
killed KILL 'mpirun' "mpirun is killed: its ranks end, and start again"
killed KILL 'rank-from-env' "a rank is killed: both start again"
kill -KILL "$run"
wait "$run" 2>/dev/null
wait_for 30 none_left
ok $? "kiln run is killed: no process is left" "$(processes)"
like "$(tail -n 20 "$KILN_ROOT/log")" "stopped at step" "and the ranks have written a checkpoint"
sed -i 's/count = 2/count = 3/' "$record/config"
start_run two
wait_for 30 at_step $((1 + $(step)))
kill -TERM "$run"
wait "$run"
is "$(cat "$record/state")" running "3 devices go on; SIGTERM stops them"
is "$(grep -c "rank 2 of 3, on box 1 of 1" "$KILN_ROOT/log")" 1 "there are 3"
like "$(tail -n 20 "$KILN_ROOT/log")" "stopped at step" "a stop writes a checkpoint"
sed -i 's/count = 3/count = 1/' "$record/config"
start_run two
ran "one device goes on to the end"
same two "2, 3 and 1 devices"
wait_for 10 none_left
ok $? "no process is left" "$(processes)"

# ---- Without Open MPI ----
if unshare --mount true 2>/dev/null; then
	node without
	begin two
	out=$(unshare --mount sh -c 'mount --bind /dev/null /usr/bin/mpirun && exec "$1"' - "$KILN_BIN/kiln-traind" 2>&1)
	is $? 78 "without mpirun kiln-traind ends with exit status 78"
	like "$out" "/usr/bin/mpirun cannot be started: .*; install the package openmpi-bin" "and names the package"
	out=$(for _ in 1 2; do
		timeout 2 unshare --mount sh -c 'mount --bind /bin/false /usr/bin/mpirun && exec "$1"' - "$KILN_BIN/kiln-traind" 2>&1
	done)
	is "$(grep -c 'mpirun has started no rank, trying again in 10 s' <<<"$out")" 1 "where mpirun starts no rank, the next try waits" "$out"
else
	skip "without mpirun" "no mount namespaces here"
fi
