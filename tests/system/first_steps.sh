#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The first steps of a run under random schedules: the trainer is paused, resumed, told to write a checkpoint, stopped and
# killed, and fetchd halted and killed, while the trainer's threads pause at random (preload/schedule.c). Every checkpoint that
# a reader of the spool can see has one step: in its name, in state/step and in its cursor.
# KILN_SEEDS: one run per seed (default "1 2"). KILN_ACTIONS: how many actions a run (default 12).
. "$(dirname "$0")/lib.sh"
. tests/system/train_lib.sh
data=$work/data
"$make_shards" "$data" train 4 400
"$make_shards" "$data" test 1 100

# Looks at each checkpoint as soon as it is there, also at those that are removed again. Prints the wrong ones; when the file
# `done` is there, how many it saw.
cat >"$work/watch.py" <<'PY'
import json, os, struct, sys, time
spool, done = sys.argv[1:]
seen = {}
def steps(data):
    size = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8:8 + size])
    at = lambda name: 8 + size + header[name]["data_offsets"][0]
    return struct.unpack("<q", data[at("state/step"):][:8])[0], struct.unpack("<Q", data[at("state/cursor") + 24:][:8])[0]
last = False
while True:
    for run in os.listdir(spool):
        folder = os.path.join(spool, run, "checkpoints")
        for name in os.listdir(folder) if os.path.isdir(folder) else []:
            if not name.endswith(".safetensors"):
                continue
            try:
                with open(os.path.join(folder, name), "rb") as file:
                    key = (name, os.fstat(file.fileno()).st_ino, os.fstat(file.fileno()).st_mtime_ns)
                    if key in seen:
                        continue
                    seen[key] = steps(file.read())
            except FileNotFoundError:
                continue
            if seen[key] != (int(name[5:17]),) * 2:
                print(f"{name}: state/step {seen[key][0]}, cursor at step {seen[key][1]}", flush=True)
    if last:
        break
    last = os.path.exists(done)
    time.sleep(0.003)
print(len(seen))
PY

want() { # state: writes the operator's request; each has a number of its own
	seq=$((seq + 1))
	printf '{"seq": %d, "state": "%s", "checkpoint_seq": %d}' $seq "$1" $checkpoints >"$record/want.new"
	mv "$record/want.new" "$record/want"
}

start_trainer() {
	ASAN_OPTIONS=verify_asan_link_order=0 LD_PRELOAD=$KILN_BUILD/system/preload/schedule.so KILN_SCHEDULE_SEED=$((seed * 1000 + starts)) \
		"$KILN_BIN/kiln-traind" 2>>"$KILN_ROOT/log" &
	traind=$!
	starts=$((starts + 1))
}

tend() { # starts what has ended, also a run that was stopped; a run that failed has shown what this test looks for
	[ -d "/proc/$fetchd" ] || { wait "$fetchd" 2>/dev/null; start fetchd; }
	[ -d "/proc/$traind" ] && return
	wait "$traind" 2>/dev/null
	if [ "$(state)" = stopped ]; then
		"$KILN_BIN/kiln-oneshot" begin --config "$work/$name.conf" >/dev/null 2>>"$KILN_ROOT/log"
	fi
	[ "$(state)" != failed ] && start_trainer
}

act() {
	case $((RANDOM % 8)) in
	0) kill -KILL "$traind" ;;
	1) kill -TERM "$traind" ;;
	2) kill -KILL "$fetchd" ;;
	3) kill -STOP "$fetchd" && sleep 0.$((RANDOM % 3)) && kill -CONT "$fetchd" ;;
	4) want paused && sleep 0.$((RANDOM % 5)) && want running ;;
	5) want stopped ;;
	*) checkpoints=$((checkpoints + 1)) && want running ;;
	esac 2>/dev/null
}

goes_on() { # three checkpoints; under load a step may have none, while the last one is still being written
	tend && [ "$(find "$spool/checkpoints" -name 'ckpt-*.safetensors' | wc -l)" -ge 3 ]
}

run_seed() { # the first steps again and again: after three actions the checkpoints go, and the run begins anew
	name=seed$seed starts=0 seq=0 checkpoints=0
	config "$name" "$data" '' ''
	sed -i 's/every_steps = 20;/every_steps = 1; keep = 1000;/; s/epochs = 12/epochs = 1000/' "$work/$name.conf"
	node "$name"
	begin "$name"
	mkdir -p "$spool/checkpoints"
	python3 "$work/watch.py" "$KILN_ROOT/data/kiln/spool/traind" "$work/$name.done" >"$work/$name.seen" 2>&1 &
	watch=$!
	start fetchd
	start_trainer
	for ((i = 0; i < ${KILN_ACTIONS:-12}; i++)); do
		sleep 0.$((RANDOM % 4))$((RANDOM % 10))
		act
		if [ $((i % 3)) = 2 ]; then
			kill -KILL "$traind" 2>/dev/null
			wait "$traind" 2>/dev/null
			find "$spool/checkpoints" -name 'ckpt-*' -delete
		fi
		tend
	done
	wait_for 120 goes_on
	kill -KILL "$traind" "$fetchd" 2>/dev/null
	wait "$traind" "$fetchd" 2>/dev/null
	touch "$work/$name.done"
	wait $watch
}

config whole "$data" '' ''
node whole
begin whole
start fetchd
start traind
wait_for 120 at_step 20
ok $? "a run, for its kernels" "$(tail -n 3 "$KILN_ROOT/log")"
kill -KILL $traind $fetchd
wait $traind $fetchd 2>/dev/null
for seed in ${KILN_SEEDS:-1 2}; do
	RANDOM=$seed
	run_seed
	like "$(cat "$work/$name.seen")" '^[0-9]+$' "seed $seed: each checkpoint's name, step and cursor agree"
	[ "$(tail -n 1 "$work/$name.seen")" -ge 3 ]
	ok $? "seed $seed: $(tail -n 1 "$work/$name.seen") checkpoints were seen" "$(tail -n 5 "$KILN_ROOT/log")"
	[ "$(state)" != failed ]
	ok $? "seed $seed: no start refused the checkpoint of the start before it" "$(grep -E 'cursor|reason' "$KILN_ROOT/log" | tail -n 3)"
done
