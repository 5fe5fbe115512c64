#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What kiln-oneshot begin and trial-ended note of trials in several slots, from night to night: without daemons, but for a
# trainer whose device is gone. The test writes the state of a run in place of its trainer, and the number of devices in place
# of kiln-traind.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/series_lib.sh"
"$make_shards" "$work/data" train 1 100
"$make_shards" "$work/data" validation 1 100
"$make_shards" "$work/data" test 1 100
config grid 'vary = { optimizer = { learning_rate = [ 0.001, 0.01, 0.1 ]; }; }; series = { method = "grid"; parallel = 0; };'
config halving 'vary = { optimizer = { learning_rate = [ 0.001, 0.01, 0.1 ]; }; };
	series = { method = "halving"; parallel = 0; reduction = 2; };'
run=data/kiln/run

devices() { mkdir -p "$KILN_ROOT/run/kiln/usable" && printf '%s' "$1" >"$KILN_ROOT/run/kiln/usable/count"; }
slot_now() { [ "$1" = 0 ] && echo . || echo "slot-$1"; }
in_slot() { # slot, verb, options: prints the exit code
	local slot=$1
	shift
	KILN_SLOT=$slot timeout 60 "$KILN_BIN/kiln-oneshot" "$@" >>"$KILN_ROOT/out" 2>>"$KILN_ROOT/log"
	echo $?
}
begins() { in_slot "$1" begin --config "$work/$conf.conf" --slots 16; }
ended() { in_slot "$1" trial-ended; }
trains_until() { printf '%s' "$2" >"$KILN_ROOT/$run/$(slot_now "$1")/current/state"; } # slot, state
says() { newest_series && of_series "$1"; }
states() { says '[(x["state"], x.get("slot", 0)) for x in t]'; }
asked_ago() { # seconds: the night was asked for so long ago
	mkdir -p "$KILN_ROOT/$run" && printf '%s\n' "$(($(date +%s) - $1))" >"$KILN_ROOT/$run/asked"
}
one_left() { # of three trials slot 0 ends two, while slot 1 works on the other one
	asked_ago 1000
	is "$(begins 0) $(begins 1)" "0 0" "two trials begin side by side"
	trains_until 0 finished
	is "$(ended 0) $(begins 0)" "0 0" "slot 0 goes on with the third one"
	trains_until 0 finished
	is "$(ended 0)" 83 "and then has nothing to do"
}
case_of() { # name, configuration, devices
	node "$1"
	conf=$2
	devices "$3"
}

# ---- A kill of begin after the store has the claim of a run, before the disk and the series note it ----
case_of claimed grid 1
is "$(begins 0)" 0 "a trial begins"
python3 - "$KILN_ROOT/$run/current/run.json" "$KILN_ROOT/$run"/series/*/series.json <<-'PY'
	import json, sys
	record, series = (json.load(open(path)) for path in sys.argv[1:])
	del record["machine"], record["root"]
	series["trials"][0]["run"] = ""
	for path, content in zip(sys.argv[1:], (record, series)):
	    json.dump(content, open(path, "w"))
PY
ok $? "begin was killed before the disk and the series noted the run"
claimed=$(cd "$work/runs/grid" && ls -d */run.json)
is "$(begins 0) $(cd "$work/runs/grid" && ls -d */run.json)" "0 $claimed" "the same run goes on: the store has no other one" "$(tail -n 5 "$KILN_ROOT/log")"

# ---- Only slot 1 had work when the night ended ----
case_of rests grid 2
one_left
trains_until 1 stopped
is "$(ended 1) $(says 's["state"]')" "81 stopped" "the night ends while slot 1 works"
is "$(ended 0)" 81 "and slot 0 does not wait for a trial of the next one"
is "$(begins 0) $(begins 1) $(says 's["state"]')" "83 0 running" "in the next night slot 1 goes on" "$(tail -n 5 "$KILN_ROOT/log")"
trains_until 1 finished
is "$(ended 1) $(says 's["state"]')" "82 finished" "and ends the series"

# ---- Fewer devices, while the trial of slot 0 is a later one ----
for kind in grid halving; do
	case_of "fewer-$kind" $kind 2
	is "$(begins 0) $(begins 1)" "0 0" "$kind: two trials begin side by side"
	trains_until 0 failed
	is "$(ended 0) $(begins 0) $(states)" "0 0 [('failed', 0), ('running', 1), ('running', 0)]" "$kind: slot 0 has a later trial than slot 1"
	devices 1
	spool=$(find "$KILN_ROOT/data/kiln/spool" -type d -name "$(says 't[1]["run"]')")
	exec 9<"$spool"
	flock 9 # as a trainer
	is "$(begins 0) $(grep -c "slot 1 is not used any more" "$KILN_ROOT/log")" "69 1" "$kind: with one device slot 0 waits for the trainer of slot 1" \
		"$(tail -n 5 "$KILN_ROOT/log")"
	exec 9<&-
	is "$(begins 0) $(states)" "0 [('failed', 0), ('running', 0), ('running', 0)]" "$kind: with one device slot 0 goes on with its own" "$(tail -n 5 "$KILN_ROOT/log")"
	is "$(begins 0) $(says '[x.get("moved", False) for x in t]')" "0 [False, True, False]" "$kind: also after a kill"
	trains_until 0 failed
	is "$(ended 0) $(begins 0) $(says '[x.get("moved", False) for x in t]')" "0 0 [False, False, False]" "$kind: then with that of slot 1" "$(tail -n 5 "$KILN_ROOT/log")"
	trains_until 0 finished
	is "$(ended 0) $(states)" "82 [('failed', 0), ('finished', 0), ('failed', 0)]" "$kind: and ends the series"
done

# ---- Fewer devices, and the run of slot 1 has ended unnoted ----
case_of unnoted grid 2
is "$(begins 0) $(begins 1)" "0 0" "two trials begin side by side"
trains_until 1 finished
devices 1
is "$(begins 0) $(states)" "0 [('running', 0), ('finished', 1), ('waiting', 0)]" "the next begin notes that the run of slot 1 has finished" \
	"$(tail -n 5 "$KILN_ROOT/log")"

# ---- A run of slot 1 that outlived its series ----
case_of stray grid 2
is "$(begins 0) $(begins 1)" "0 0" "two trials begin side by side"
newest_series
rm -r "$(dirname "$series")" "$work/runs/grid/series"
trains_until 0 failed
# The id of a series is the second in which it begins. That of the first series is free again, because its record is gone.
sleep 2
sed 's/0.001, 0.01/0.002, 0.02/' "$work/grid.conf" >"$work/other.conf"
conf=other
is "$(begins 0) $(begins 1) $(states)" "0 0 [('running', 0), ('running', 1), ('waiting', 0)]" "it fails when the next series begins, and slot 1 works" \
	"$(tail -n 5 "$KILN_ROOT/log")"

# ---- The store has all files of a trial before the record of the series says that the trial has ended ----
case_of stored grid 2
is "$(begins 0) $(begins 1)" "0 0" "two trials begin side by side"
newest_series
trial_1=$(of_series 't[1]["run"]')
mkdir -p "$KILN_ROOT/data/kiln/spool/traind/$trial_1/model"
echo weights >"$KILN_ROOT/data/kiln/spool/traind/$trial_1/model/model.safetensors"
touch "$work/runs/grid/$trial_1/model" # in the place of the folder: the store does not take the file
trains_until 1 finished
is "$(ended 1) $(says 't[1]["state"]')" "0 finished" "a trial ends in slot 1"
uploaded() { # prints the state of the trial in the store's record, once $1 holds, or after 5 s
	"$KILN_BIN/kiln-uploadd" 2>>"$KILN_ROOT/log" &
	local pid=$!
	wait_for 5 "$1"
	kill $pid && wait $pid
	series=$work/runs/grid/series/$(basename "$(dirname "$series")")/series.json of_series 't[1]["state"]'
}
[ "$(uploaded false)" != finished ]
ok $? "while the store does not take its files, the store's record does not say that it has ended" "$(tail -n 5 "$KILN_ROOT/log")"
rm "$work/runs/grid/$trial_1/model"
has_end() { grep -q '"finished"' "$work/runs/grid/series/"*/series.json; }
is "$(uploaded has_end) $(cat "$work/runs/grid/$trial_1/model/model.safetensors")" "finished weights" "then the store has the files and the end" \
	"$(tail -n 5 "$KILN_ROOT/log")"

# ---- The last trial ends in slot 1 at the moment when slot 0 begins its next one ----
case_of ends grid 2
one_left
trains_until 1 finished
is "$(ended 1) $(says 's["state"]')" "82 finished" "the series ends in slot 1"
says 's["since_s"]' >"$KILN_ROOT/$run/asked" # as kiln-oneshot finished in slot 0 asks for the next trial
is "$(begins 0) $(ls "$KILN_ROOT/$run/series" | wc -l)" "82 1" "slot 0 begins no other series in this night" "$(tail -n 5 "$KILN_ROOT/log")"
is "$(begins 0) $(ls "$KILN_ROOT/$run/series" | wc -l)" "0 2" "the next night does" "$(tail -n 5 "$KILN_ROOT/log")"

# ---- What an older night has asked for in slot 1 ----
case_of asked grid 2
sed 's/epochs = 4;/epochs = 4; ends_at = "'"$(date -d '2 hours' +%H:%M)"'";/' "$work/grid.conf" >"$work/asked.conf"
conf=asked
is "$(begins 0)" 0 "a night with an end begins"
mkdir -p "$KILN_ROOT/$run/slot-1"
printf '%s\n' "$(($(date +%s) - 90000))" >"$KILN_ROOT/$run/slot-1/asked"
is "$(begins 1) $(says 's["state"]')" "0 running" "slot 1 works in the night of the series" "$(tail -n 5 "$KILN_ROOT/log")"

# ---- On a box systemd starts one slot, whatever kiln run has counted in this boot ----
case_of box grid 2
is "$(in_slot 0 begin --config "$work/grid.conf") $(says 's["slots"]')" "0 1" "a caller that starts no slots gets one" "$(tail -n 5 "$KILN_ROOT/log")"

# ---- A stop of another night ----
case_of night grid 2
asked_ago 1000
is "$(begins 0) $(begins 1)" "0 0" "two trials begin side by side"
trains_until 0 stopped
trains_until 1 stopped
is "$(ended 0) $(says 's["state"]')" "81 stopped" "a person stops the night, and slot 1 has not noted it yet"
is "$(begins 0)" 0 "the next night begins"
is "$(ended 1) $(says 's["state"]')" "0 running" "the stop of the night before does not end it" "$(tail -n 5 "$KILN_ROOT/log")"
is "$(begins 1)" 0 "slot 1 goes on"
trains_until 1 stopped
is "$(ended 1) $(says 's["state"]')" "81 stopped" "until a person stops this night"

# ---- A stop while a trial begins ----
case_of begins grid 2
asked_ago 1000
is "$(begins 0)" 0 "a trial begins"
newest_series
changed_in_begin() { # member, value: of the series, while slot 1 begins its trial; prints the run that the record has then, and the exit code
	KILN_SLOT=1 python3 - "$series" "$1" "$2" "$KILN_BIN/kiln-oneshot" begin --config "$work/$conf.conf" <<-'PY' 2>>"$KILN_ROOT/log"
		import json, os, signal, subprocess, sys
		def series():
		    return json.load(open(sys.argv[1]))
		begin = subprocess.Popen(sys.argv[4:], stdout=subprocess.DEVNULL)
		while series()["trials"][1]["state"] != "running":
		    pass
		begin.send_signal(signal.SIGSTOP)
		record = series()
		record[sys.argv[2]] = json.loads(sys.argv[3])
		with open(sys.argv[1] + ".new", "w") as file:
		    json.dump(record, file)
		os.rename(sys.argv[1] + ".new", sys.argv[1])
		begin.send_signal(signal.SIGCONT)
		print(repr(record["trials"][1]["run"]), begin.wait(timeout=60))
	PY
}
is "$(changed_in_begin state '"stopped"')" "'' 81" "a person stops the series while slot 1 begins a trial: the slot rests" "$(tail -n 5 "$KILN_ROOT/log")"
is "$(cat "$KILN_ROOT/$run/slot-1/current/state") $(says 's["state"], t[1]["state"], bool(t[1]["run"])')" "stopped ('stopped', 'running', True)" \
	"and the trial, too"
like "$(cat "$KILN_ROOT/$run/slot-1/current/want")" '"state": ?"stopped"' "as where its trainer was asked"
is "$(begins 0) $(begins 1) $(says 's["state"]')" "0 0 running" "the next night goes on with it"

# ---- A pause while a trial begins ----
case_of pauses grid 2
is "$(begins 0)" 0 "a trial begins"
newest_series
is "$(changed_in_begin paused true)" "'' 0" "a person pauses the series while slot 1 begins a trial" "$(tail -n 5 "$KILN_ROOT/log")"
like "$(cat "$KILN_ROOT/$run/slot-1/current/want")" '"state": ?"paused"' "its trainer is asked to pause"
sleep 1 # a night is known by its second
is "$(begins 0) $(says '"paused" in s')" "0 False" "the series is paused no more in the next night"

# ---- A device that is gone ----
case_of gone grid 2
is "$(begins 0) $(begins 1)" "0 0" "two trials begin side by side"
wants() { printf '{"seq": 1, "checkpoint_seq": 0, "state": "%s"}' "$2" >"$KILN_ROOT/$run/slot-$1/current/want"; } # slot, state
trains() { # slot, devices: prints the exit code
	KILN_SLOT=$1 POCL_DEVICES=$2 timeout 60 "$KILN_BIN/kiln-traind" >>"$KILN_ROOT/out" 2>>"$KILN_ROOT/log"
	echo $?
}
wants 1 stopped
is "$(trains 1 basic) $(cat "$KILN_ROOT/$run/slot-1/current/state")" "0 stopped" "kiln stop reaches the trial of a slot without a device" \
	"$(tail -n 5 "$KILN_ROOT/log")"
case_of moves grid 2
is "$(begins 0) $(begins 1)" "0 0" "two trials begin side by side"
is "$(trains 1 basic)" 69 "the trainer of slot 1 has no device"
is "$(in_slot 1 trial-ended --code 84) $(says '[(x["state"], x.get("slot", 0), x.get("moved", False)) for x in t]')" \
	"0 [('running', 0, False), ('running', 0, True), ('waiting', 0, False)]" "its trial moves to slot 0" "$(tail -n 5 "$KILN_ROOT/log")"
trains_until 0 finished
is "$(ended 0) $(begins 0) $(says 't[1].get("moved", False), t[1]["state"]')" "0 0 (False, 'running')" "which goes on with it next"
trains_until 0 finished
is "$(ended 0) $(states)" "0 [('finished', 0), ('finished', 0), ('waiting', 0)]" "and ends it" "$(tail -n 5 "$KILN_ROOT/log")"
