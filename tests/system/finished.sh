#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# kiln-oneshot finished: it waits for the uploads, reports what stays in the spool, archives the record, sets the alarm;
# afterwards programs can still ask for the run. uploadd is a real one; there is no systemd.
. "$(dirname "$0")/lib.sh"
# Whatever goes wrong, this machine is not switched off.
export DBUS_SYSTEM_BUS_ADDRESS=unix:path=$work/no-bus
kiln=$KILN_BIN/kiln
a_shard "$work/data"

next_s=$((($(date +%s) / 60 + 360) * 60)) # the next start, whatever the time of day is
at() { # seconds of the clock: the minute, as in kiln.conf
	date -u -d "@$1" +%H:%M
}
config() { # power, further keys of run
	mkdir -p "$KILN_ROOT/etc/kiln"
	cat >"$KILN_ROOT/etc/kiln/kiln.conf" <<-CONF
		run: { name = "t"; at = "$(at "$next_s")"; zone = "UTC"; ${2:-} };
		source: { url = "file://$work/data"; };
		sink: { url = "file://$sink"; };
		power: { $1 };
	CONF
}

begin() { # node, power, further keys of run
	node "$1"
	sink=$work/runs/$1
	config "$2" "${3:-}"
	again
}

again() {
	id=$("$KILN_BIN/kiln-oneshot" begin 2>"$work/begin.log")
	runs=$KILN_ROOT/data/kiln/run
	spool=$KILN_ROOT/data/kiln/spool/traind/$id record=$runs/current archived=$runs/archive/$id
}

rest() { # state
	echo "$1" >"$record/state.new"
	mv "$record/state.new" "$record/state"
	: >"$record/finished"
}

finished() {
	"$KILN_BIN/kiln-oneshot" finished 2>"$work/errors"
	rc=$?
	errors=$(grep -v 'without the report of this night' "$work/errors") # kiln-report.service is not there
}

start_uploadd() {
	"$KILN_BIN/kiln-uploadd" "$@" 2>>"$KILN_ROOT/log" &
	uploadd=$!
}

end_uploadd() {
	kill -TERM $uploadd
	wait $uploadd 2>/dev/null
}

by_timer() { # as kiln-oneshot nightly leaves the run
	printf '{"from_s": %s, "by": "timer", "run": "", "reason": ""}\n' "$(date +%s)" >"$runs/tonight.json"
}

left() { # member of the record: what stayed in the spool
	python3 -c 'import json,sys; print(json.load(open(sys.argv[1])).get("left_behind", {}).get(sys.argv[2], ""))' \
		"$record/run.json" "$1"
}

# ---- All files are in the store ----
begin all 'when_finished = "nothing";'
"$KILN_BUILD/system/make_checkpoint" "$id" 10 1000
rest finished
start_uploadd
finished
is "$rc" 0 "after a run" "$errors"
like "$errors" "$id: all of its files are in the store" "it waits for uploadd, and says so"
[ ! -e "$spool" ]
ok $? "nothing is left in the spool by then" "$(find "$spool" 2>&1)"
[ ! -e "$record/finished" ]
ok $? "the mark is taken away"
is "$(cat "$archived/state" 2>&1)" finished "the record is in the archive"
is "$(left files)" "" "it says of nothing that it is left behind"
like "$("$kiln" report --json)" "\"id\":.*\"$id\"" "kiln report: last night's run"
"$KILN_BIN/kiln-controld" 2>"$work/controld.log" &
controld=$!
wait_for 10 "$kiln" node
like "$("$kiln" status)" "^state +finished" "kiln status: finished"
like "$("$kiln" status)" "^run +$id" "and which run"
is "$("$kiln" runs | grep -c "^$id  *finished")" 1 "kiln runs lists it once"
like "$("$kiln" runs "$id")" '^state   finished$' "kiln runs ID shows it"
like "$("$kiln" runs "$id" --json)" '"state":.*"finished"' "with --json its record"
first=$id
again
[ "$id" != "$first" ] && [ -n "$id" ]
ok $? "the next night begins a new run" "$(cat "$work/begin.log")"
is "$(ls "$runs/archive")" "$first" "the last one stays in the archive"
is "$("$kiln" runs | sed 1d | cut -d' ' -f1)" "$id
$first" "kiln runs lists both, the newest first"
kill $controld
wait $controld 2>/dev/null
end_uploadd

# ---- Uploads that are late: the model is judged once they are complete ----
begin late 'when_finished = "nothing"; upload_wait_min = 0; }; promote: { against = "champion"'
"$KILN_BUILD/system/make_checkpoint" "$id" 10 1000
mv "$sink" "$sink-away"
: >"$sink" # a file, where a folder should be
rest finished
finished
is "$rc $(ls "$runs" | grep -xE 'unjudged|judge')" "0 unjudged" "uploads are late: finished notes that the model is not judged" "$errors"
start_uploadd
like_soon() { grep -q 'trying again' "$KILN_ROOT/log"; }
wait_for 20 like_soon
is "$(ls "$runs" | grep -xE 'unjudged|judge')" unjudged "while the store is away uploadd asks for nothing" "$(tail -n 3 "$KILN_ROOT/log")"
rm "$sink"
mv "$sink-away" "$sink"
wait_for 60 test -e "$runs/judge"
ok $? "once the store has all files, it asks for the judgement" "$(tail -n 3 "$KILN_ROOT/log")"
[ ! -e "$spool" ] && [ ! -e "$runs/unjudged" ]
ok $? "not earlier, and once" "$(find "$spool" 2>&1)"
"$KILN_BIN/kiln-oneshot" promote 2>"$work/errors"
is "$(ls "$runs" | grep -xE 'unjudged|judge')" "" "the judgement takes the request away" "$(cat "$work/errors")"
like "$(cat "$runs/current/run.json")" '"promotion"' "and the night has its outcome"
end_uploadd

# ---- A store that is down ----
begin away 'when_finished = "nothing"; upload_wait_min = 0;'
rm -rf "$sink" "$spool"
: >"$sink" # a file, where a folder should be
mkdir -p "$spool"/{checkpoints,model,logs/train}
for name in checkpoints/ckpt-000000000010.safetensors logs/train/events.out.tfevents.1 model/{a,b,c,d,e,f,g}.bin; do
	printf 12345 >"$spool/$name"
done
: >"$spool/model/x.tmp"
rest finished
finished
is "$rc" 0 "a store that is away does not keep it for ever" "$errors"
like "$errors" "$id: 9 files of 45 bytes stay in the spool after 0 minutes.*: checkpoints/ckpt-000000000010.safetensors, .*, and 1 more" \
	"it names what stays behind"
is "$(left files) $(left bytes)" "9 45" "the record says so" "$(cat "$record/run.json")"
like "$(left names)" "^\['checkpoints/ckpt-000000000010.safetensors', 'logs/train/events.out.tfevents.1', 'model/a.bin', .*'model/f.bin'\]$" \
	"by name"
is "$(cat "$archived/state" 2>&1)" finished "and is in the archive all the same"
like "$("$kiln" report)" "^left behind +9 files, 45 bytes" "kiln report says it, too"
"$KILN_BIN/kiln-controld" 2>"$work/controld.log" &
controld=$!
wait_for 10 "$kiln" node
like "$("$kiln" status)" "^left +9 files, 45 B, not in the store yet: checkpoints/" "so does kiln status"
kill $controld
wait $controld 2>/dev/null
# The next night: a new run starts, and the files of the first one are uploaded from the archive.
rm "$sink" "$spool/checkpoints"/*
first=$id first_record=$archived
again
start_uploadd
wait_for 30 test ! -e "$KILN_ROOT/data/kiln/spool/traind/$first"
ok $? "when the store is back, uploadd brings it there from the archive" "$(cat "$KILN_ROOT/log")"
is "$(cat "$sink/$first/model/a.bin" 2>&1)" 12345 "with every file"
! grep -q left_behind "$sink/$first/run.json" "$first_record/run.json"
ok $? "then nothing is left behind any more" "$(cat "$first_record/run.json")"
end_uploadd

# ---- Uploads finish in the same night ----
begin later 'when_finished = "nothing"; upload_wait_min = 0;'
printf 12345 >"$spool/model/a.bin"
rest finished
finished
is "$(left files)" 1 "one file is left behind"
start_uploadd --drain
wait $uploadd
is "$? $(left files)" "0 " "uploaded while it is still the current run, the record no longer says so"
like "$(cat "$sink/$id/run.json")" '"state":.*"finished"' "and the store has it"

# ---- The night ends while the trial of a series is parked: there is no current run ----
begin parked 'when_finished = "nothing"; upload_wait_min = 0; };
	vary: { optimizer = { learning_rate = [ 0.1, 0.01, 0.001 ]; }; }; series: { method = "halving"; reduction = 3' 'epochs = 9; ends_at = "'"$(at $((next_s - 3600)))"'";'
python3 - "$runs"/series/*/series.json "$record/run.json" <<-'PY'
	import json, sys
	series, run = (json.load(open(path)) for path in sys.argv[1:])
	series["since_s"] -= 2 * 86400
	run["night_s"] = series["since_s"]
	run["epochs"] = [{"epoch": 0, "step": 1, "loss": 0.5, "accuracy": 0.5, "validation_loss": 0.5, "validation_accuracy": 0.5}]
	for path, content in zip(sys.argv[1:], (series, run)):
	    json.dump(content, open(path, "w"))
PY
rest stopped
finished
is "$rc $(ls "$runs/parked") $([ -e "$record" ] || echo none)" "0 $id none" "it is parked, and its night ends as any other" "$errors"
like "$errors" 't-series-[0-9-]*: expired' "the journal says so"
like "$(cat "$runs"/series/*/series.json)" '"state":[^"]*"expired"' "and the record of the series"

# ---- An unfinished run ----
begin night 'when_finished = "nothing"; upload_wait_min = 0;'
"$KILN_BUILD/system/make_checkpoint" "$id" 10 1000
printf 12345 >"$spool/model/a.bin"
"$KILN_BUILD/system/status_pages" "$id" training &
pages=$!
wait_for 10 test -e "$KILN_ROOT/run/kiln/status/uploadd/page"
rest expired
finished
is "$rc" 0 "at the end of a night that did not suffice"
is "$(left names)" "['model/a.bin']" "what uploadd has in the store is not left behind"
[ ! -L "$record" ] && [ ! -e "$archived" ]
ok $? "an unfinished run is not archived"
kill $pages
wait $pages 2>/dev/null
rest stopped
printf 12345 >"$spool/model/b.bin"
finished
is "$rc $(left names)" "0 ['model/a.bin', 'model/b.bin']" "stopped by the heat: its uploads are waited for" "$errors"
[ ! -L "$record" ] && [ ! -e "$archived" ]
ok $? "nor is that one archived"
rm "$spool/model/b.bin"
rest stopped
echo '{"seq": "1", "checkpoint_seq": "0", "state": "stopped"}' >"$record/want"
finished
is "$rc $(cat "$record/state") $(left names)" "0 stopped ['model/a.bin', 'model/b.bin']" "stopped by hand: nothing follows" "$errors"
first=$id
again
is "$id" "$first" "begin goes on with it"

# ---- A failed run ----
begin failed 'when_finished = "suspend"; upload_wait_min = 0;'
by_timer
echo failed >"$record/state"
"$KILN_BIN/kiln-oneshot" run-failed 2>"$work/errors"
is "$? $(cat "$archived/state" 2>&1)" "0 failed" "a failed run goes to the archive" "$(cat "$work/errors")"
like "$(cat "$work/errors")" 'no hardware clock with an alarm' "then the box does what it does after any run"
begin stuck 'when_finished = "nothing";'
"$KILN_BIN/kiln-oneshot" run-failed 2>"$work/errors"
is "$? $(cat "$record/state")" "0 running" "one that only cannot go on does not" "$(cat "$work/errors")"
[ ! -e "$archived" ]
ok $? "and stays where it is"

# ---- A kiln.conf that has become wrong ----
begin broken 'when_finished = "off"; upload_wait_min = 0;'
echo 'run: {' >"$KILN_ROOT/etc/kiln/kiln.conf"
rest finished
finished
is "$rc" 78 "a wrong kiln.conf (exit 78)"
like "$errors" 'kiln.conf:2: syntax error' "it says where"
is "$(cat "$archived/state" 2>&1)" finished "the record is in the archive all the same"
! grep -qE 'D-Bus|when_finished' <<<"$errors"
ok $? "and the box stays on" "$errors"

# ---- Power off, and suspend ----
held() { # reason for staying on, name
	like "$errors" "power.when_finished: the box stays on: $1" "$2"
	! grep -q 'D-Bus' <<<"$errors"
	ok $? "$2: systemd is not asked" "$errors"
}
clock() { # name, the clock's time
	mkdir -p "$KILN_ROOT/sys/class/rtc/$1/device/power"
	echo "$2" >"$KILN_ROOT/sys/class/rtc/$1/since_epoch"
	echo enabled >"$KILN_ROOT/sys/class/rtc/$1/device/power/wakeup"
}
night() { # power: a night that the timer started is over
	config "$1"
	: >"$record/finished"
	by_timer
	finished
}
begin asleep 'when_finished = "suspend"; upload_wait_min = 0;'
rest finished
finished
is "$rc" 0 "a run that somebody started" "$errors"
! grep -qE 'when_finished|D-Bus' <<<"$errors"
ok $? "ends, and the box stays on" "$errors"
for word in suspend off; do
	night "when_finished = \"$word\"; upload_wait_min = 0;"
	is "$rc" 0 "$word, and no clock" "$errors"
	held "$KILN_ROOT/sys/class/rtc: no hardware clock with an alarm that wakes the box" "$word, and no clock could wake the box"
done
is "$(cat "$archived/state" 2>&1)" finished "the record is in the archive before"
clock rtc0 5 # without an alarm
clock rtc1 1000000
alarm=$KILN_ROOT/sys/class/rtc/rtc1/wakealarm
for early in 10 30; do
	echo 1 >"$alarm"
	before=$(date +%s)
	night "when_finished = \"off\"; upload_wait_min = 0; wake_early_min = $early;"
	like "$errors" 'cannot reach systemd over D-Bus' "off, and the alarm is set: then it asks systemd"
	found=$(($(cat "$alarm") - 1000000 + early * 60))
	[ $found -le $((next_s - before)) ] && [ $found -ge $((next_s - $(date +%s))) ]
	ok $? "the alarm is $early minutes before the next start, in the clock's own time" "found: $found"
done
mkdir -p "$KILN_ROOT/run"
python3 - "$KILN_ROOT/run/utmp" "$work/gone" <<'PY'
import os, struct, subprocess, sys
gone = subprocess.Popen(["true"])
gone.wait()
def entry(pid, user):  # utmp(5), USER_PROCESS
    return struct.pack("=hxxi32s4s32s256shhiii4i20x", 7, pid, b"pts/0", b"ts/0", user, b"", 0, 0, 0, 0, 0, 0, 0, 0, 0)
open(sys.argv[1], "wb").write(entry(gone.pid, b"left") + entry(os.getppid(), b"somebody"))
open(sys.argv[2], "wb").write(entry(gone.pid, b"left"))
PY
night 'when_finished = "off"; upload_wait_min = 0;'
held 'somebody is logged in' "who is logged in"
mv "$work/gone" "$KILN_ROOT/run/utmp"
night 'when_finished = "off"; upload_wait_min = 0;'
like "$errors" 'cannot reach systemd over D-Bus' "a session that was cut off does not keep the box on"
later_s=$next_s next_s=$(date -d '+14 minutes' +%s)
config 'when_finished = "off"; upload_wait_min = 0;'
next_s=$later_s
: >"$record/finished"
by_timer
finished
held 'the box would wake in [0-9]+ s for the next night' "the next night is near"
echo disabled >"$KILN_ROOT/sys/class/rtc/rtc1/device/power/wakeup"
night 'when_finished = "off"; upload_wait_min = 0;'
held '.*device/power/wakeup: found "disabled"' "an alarm that wakes nobody"
night 'when_finished = "off"; wake_by = "other"; upload_wait_min = 0;'
like "$errors" 'cannot reach systemd over D-Bus' "wake_by = other: no alarm is needed"

# ---- A power cut before the record is archived ----
begin cut 'when_finished = "suspend"; upload_wait_min = 0;'
echo finished >"$record/state"
like "$("$KILN_BIN/kiln-oneshot" resume 2>&1)" 'cannot reach systemd over D-Bus' "at boot kiln-finished is asked for"
rm "$runs/tonight.json"
finished
is "$rc $(cat "$archived/state" 2>&1)" "0 finished" "without a mark the record is archived all the same" "$errors"
! grep -qE 'D-Bus|wakealarm|when_finished' <<<"$errors"
ok $? "and the box stays on" "$errors"
is "$("$KILN_BIN/kiln-oneshot" resume 2>&1)" "" "once it is archived boot has nothing to do"

# ---- The timer starts a night ----
node timer
sink=$work/runs/timer
config 'when_finished = "nothing";'
conf=$KILN_ROOT/etc/kiln/kiln.conf
sed -i 's/zone = /catch_up = true; zone = /' "$conf"
again
nightly() {
	"$KILN_BIN/kiln-oneshot" nightly 2>"$work/errors"
	rc=$?
	errors=$(grep -v 'without the report of this night' "$work/errors")
}
touch -d '2 days ago' "$conf"
nightly
like "$errors" 'cannot reach systemd over D-Bus' "a night: systemd is asked for a run"
touch "$conf"
nightly
is "$rc" 0 "but not for a start before kiln.conf was written" "$errors"
like "$errors" 'no run: run.at = "[0-9:]+" was past when .*kiln.conf was written' "and it says so"
touch -d '2 days' "$conf"
nightly
like "$errors" 'cannot reach systemd over D-Bus' "a kiln.conf with a time in the future does not prevent the night"
echo 'run: {' >"$conf"
touch -d '2 days ago' "$conf"
nightly
like "$errors" 'cannot reach systemd over D-Bus' "a wrong kiln.conf: an unfinished run has its nights"
like "$errors" 'kiln.conf:2: syntax error' "the mistake is said"
echo "run: { name = \"t\"; at = \"$(at "$next_s")\"; ends_at = \"$(at $((next_s + 60)))\"; zone = \"UTC\"; catch_up = true; };
source: { url = \"file:///a\"; }; sink: { url = \"file:///b\"; };" >"$conf.good"
nightly
is "$rc" 0 "by the last good one, where there is one" "$errors"
like "$errors" 'this is after run.ends_at = "[0-9:]+"' "whose night is over"
rest finished
nightly
is "$rc" 78 "no new run begins by a wrong kiln.conf" "$errors"
