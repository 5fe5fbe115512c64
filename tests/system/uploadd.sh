#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# uploadd against the embedded store: order, retention, killed in mid upload, damage, a run of an earlier night.
. "$(dirname "$0")/lib.sh"
make_checkpoint=$KILN_BUILD/system/make_checkpoint
a_shard "$work/data"

begin() { # node, keep, name of a credential
	node "$1"
	sink=$work/runs/$1 endpoint=${s3:+$KILN_S3_ENDPOINT}
	url=${s3:-file://$work/runs}/$1
	cat >"$work/kiln.conf" <<-CONF
		run: { name = "t"; };
		source: { url = "file://$work/data"; };
		sink: { url = "$url"; endpoint = "$endpoint"; credential = "${3:-}"; };
		checkpoint: { keep = $2; };
	CONF
	id=$("$KILN_BIN/kiln-oneshot" begin --config "$work/kiln.conf" 2>"$work/begin.log")
	spool=$KILN_ROOT/data/kiln/spool/traind/$id record=$KILN_ROOT/data/kiln/run/current
	stored=$sink/$id
}
s3=

start() {
	"$KILN_BIN/kiln-uploadd" "$@" 2>>"$KILN_ROOT/log" &
	uploadd=$!
}

finish_run() { # state
	echo "$1" >"$record/state.new"
	mv "$record/state.new" "$record/state"
}

latest() { # field
	python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))[sys.argv[2]])' "$stored/checkpoints/latest.json" "$1" 2>/dev/null
}

steps() { # folder
	find "$1/checkpoints" -name '*.safetensors' | sed 's/.*ckpt-0*\([0-9]*\)\..*/\1/' | sort -n | tr '\n' ' '
}

is_latest() {
	[ "$(latest step)" = "$1" ]
}

# Epoch k ended at step 10 (k + 1).
write_epochs() { # for each epoch its validation accuracy, or "loss" and its validation loss: a record without accuracy
	python3 - "$record/run.json" "$@" <<-'PY'
		import json, os, sys
		path, figures = sys.argv[1], sys.argv[2:]
		record = json.load(open(path))
		with_accuracy = lambda a: {"accuracy": 0.5, "validation_loss": 1.0, "validation_accuracy": float(a)}
		with_loss = lambda text: {"validation_loss": float(text.removeprefix("loss"))}
		record["epochs"] = [{"epoch": k, "step": 10 * (k + 1), "loss": 1.0, **(with_loss if f.startswith("loss") else with_accuracy)(f)}
		                    for k, f in enumerate(figures)]
		json.dump(record, open(path + ".new", "w"))
		os.rename(path + ".new", path)
	PY
}

# ---- A night ----
begin night 2
start --drain
for step in 10 20 30 40 50; do
	accuracy=("${accuracy[@]}" $([ $step = 20 ] && echo 0.9 || echo 0.5))
	write_epochs "${accuracy[@]}"
	"$make_checkpoint" "$id" $step 100000
	wait_for 20 is_latest $step
done
is "$(latest step)" 50 "latest.json follows the newest checkpoint"
is "$(latest key)" "checkpoints/ckpt-000000000050.safetensors" "latest.json names it"
is "$(latest sha256)" "$(sha256sum <"$stored/$(latest key)" | cut -d' ' -f1)" "latest.json has its SHA-256"
is "$(latest bytes)" "$(stat -c %s "$stored/$(latest key)")" "latest.json has its size"
wait_for 20 test ! -e "$stored/checkpoints/ckpt-000000000030.safetensors"
is "$(steps "$stored")" "20 40 50 " "the newest two and the best stay in the store"
wait_for 20 test ! -e "$spool/checkpoints/ckpt-000000000030.safetensors"
is "$(steps "$spool")" "40 50 " "what is in the store and has two newer ones leaves the spool"
echo one >"$spool/logs/train/events.out.tfevents.1"
wait_for 20 test -e "$stored/logs/train/events.out.tfevents.1"
ok $? "event files are uploaded"
echo two >>"$spool/logs/train/events.out.tfevents.1"
echo weights >"$spool/model/model.safetensors"
wait_for 20 test -e "$stored/model/model.safetensors"
ok $? "the model is uploaded"
kill -0 $uploadd
ok $? "it stays while the run is not final"
finish_run finished
wait_for 20 test ! -d /proc/$uploadd
wait $uploadd
is $? 0 "--drain ends well once the run is final and in the store"
is "$(cat "$stored/logs/train/events.out.tfevents.1")" "one
two" "event files are uploaded again when they grew"
like "$(cat "$stored/run.json")" '"state":.*"finished"' "run.json says finished"
[ ! -e "$spool" ]
ok $? "nothing of the run is left in the spool"
start --drain
wait $uploadd
is $? 0 "started once more it has nothing to do"

# ---- A loss without an accuracy: the best epoch has the lowest validation loss ----
begin numbers 2
start --drain
write_epochs loss0.9 loss0.1 loss0.5 loss0.4 loss0.3
for step in 10 20 30 40 50; do
	"$make_checkpoint" "$id" $step 1000
	wait_for 20 is_latest $step
done
wait_for 20 test ! -e "$stored/checkpoints/ckpt-000000000030.safetensors"
is "$(steps "$stored")" "20 40 50 " "without accuracies, too, the newest two and the best stay in the store"
finish_run finished
wait $uploadd

# ---- Killed in the middle, again and again ----
begin killed 3
pieces=0 wrong='' kills=0
"$make_checkpoint" "$id" 1 60000000
# Every other kill waits until a part appears; the others happen at any time.
for seed in $(seq 1 16); do
	RANDOM=$seed
	start
	if [ $((seed % 2)) = 0 ]; then
		until compgen -G "$stored/checkpoints/.kiln-put-*" >/dev/null || [ $SECONDS -gt 300 ]; do :; done
	else
		sleep 0.$((RANDOM % 4))$((RANDOM % 10))
	fi
	kill -KILL $uploadd 2>/dev/null && kills=$((kills + 1))
	wait $uploadd 2>/dev/null
	[ -z "$(find "$stored" -name '.kiln-put-*' 2>/dev/null)" ] || pieces=$((pieces + 1))
	for file in "$stored"/checkpoints/ckpt-*; do
		[ ! -e "$file" ] || "$make_checkpoint" --check "$file" || wrong="$wrong $file"
	done
	if [ -e "$stored/checkpoints/latest.json" ]; then
		[ "$(latest sha256)" = "$(sha256sum <"$stored/$(latest key)" | cut -d' ' -f1)" ] || wrong="$wrong latest"
		"$make_checkpoint" "$id" $((seed + 1)) 60000000
	fi
done
is "$kills$wrong" 16 "killed 16 times, $pieces of them in the middle of an object: readers never saw a part of one"
[ $pieces -ge 1 ]
ok $? "some of the kills left a part behind"
finish_run finished
start --drain
wait $uploadd
is "$? $(latest step)" "0 $(steps "$stored" | awk '{ print $NF }')" "then it finishes what was left"
is "$(find "$stored" -name '.kiln-put-*')" "" "and removes the parts"

# ---- Damage and refusal ----
begin damaged 3
"$make_checkpoint" "$id" 10 100000
"$make_checkpoint" "$id" 20 100000
printf 'x' | dd of="$spool/checkpoints/ckpt-000000000020.safetensors" bs=1 seek=50000 conv=notrunc 2>/dev/null
finish_run failed
start --drain
wait $uploadd
is "$? $(latest step) $(steps "$stored")" "0 10 10 " "a damaged checkpoint never gets to the store"
like "$(cat "$KILN_ROOT/log")" 'ckpt-000000000020.*CRC' "and is warned of by name"

begin refused 3
rm -rf "$work/runs/refused"
mkdir -p "$work/runs"
: >"$work/runs/refused"
start --drain
sleep 0.3
rm "$work/runs/refused"
finish_run stopped
"$make_checkpoint" "$id" 10 1000
wait_for 30 is_latest 10
ok $? "a store that is away is tried again, for ever"
kill -KILL $uploadd
wait $uploadd 2>/dev/null

# ---- A store that is down while traind goes on ----
begin away 2
rm -rf "$work/runs/away"
: >"$work/runs/away"
write_epochs 0.5 0.9 0.5 0.5 0.5 0.5
for step in 10 20 30 40 50 60; do
	"$make_checkpoint" "$id" $step 1000
done
mkdir "${spool%/*}/stray" # a run without a record
start
wait_for 20 eval '[ "$(steps "$spool")" = "20 50 60 " ]'
is "$(steps "$spool")" "20 50 60 " "the spool keeps the newest and the best"
for step in 70 80; do
	"$make_checkpoint" "$id" $step 1000
done
wait_for 20 eval '[ "$(steps "$spool")" = "20 70 80 " ]'
is "$(steps "$spool")" "20 70 80 " "while it is tried again too"
rm "$work/runs/away"
wait_for 30 is_latest 80
wait_for 20 eval '[ "$(steps "$stored")" = "20 70 80 " ]'
is "$(steps "$stored")" "20 70 80 " "and the store gets them when it is back"
for step in 90 100; do
	"$make_checkpoint" "$id" $step 1000
	wait_for 20 is_latest $step
done
is "$(grep -c 'stray: .*leaving it in the spool' "$KILN_ROOT/log")" 1 "a folder that no run is known of is said once"
kill -KILL $uploadd
wait $uploadd 2>/dev/null

# ---- Two at once ----
begin twice 3
start
first=$uploadd
"$make_checkpoint" "$id" 5 1000
wait_for 20 is_latest 5 # the first one is at work
timeout 20 "$KILN_BIN/kiln-uploadd" 2>"$work/second"
is "$?" 69 "a second kiln-uploadd ends" "$(cat "$work/second")"
like "$(cat "$work/second")" "/data/kiln/spool: another process uploads from there" "and says why"
start --drain
"$make_checkpoint" "$id" 10 1000
finish_run finished
wait $uploadd
is "$? $(latest step)" "0 10" "with --drain it waits until the first one has uploaded the run" "$(tail -n 3 "$KILN_ROOT/log")"
start --drain
wait $uploadd
is "$?" 0 "which is done by now"
kill -KILL $first
wait $first 2>/dev/null

# ---- A latest.json that somebody else wrote ----
begin crafted 3
mkdir -p "$stored/checkpoints"
printf '{"version":1,"step":%d,"key":"checkpoints/ckpt-%012d.safetensors","bytes":1,"sha256":"%064d","time":""}' \
	999999999999 999999999999 0 >"$stored/checkpoints/latest.json"
"$make_checkpoint" "$id" 10 1000
finish_run finished
start --drain
wait $uploadd
is "$? $(latest step)" "0 10" "a latest.json of a checkpoint that is not there is replaced"
like "$(cat "$KILN_ROOT/log")" 'latest.json: found .*ckpt-999999999999.safetensors, which is not in the store, writing it anew' "with a warning"

# ---- Files of an earlier night ----
begin earlier 3
first=$id
"$make_checkpoint" "$id" 10 1000
finish_run finished
sed -i 's/keep = 3/keep = 4/' "$work/kiln.conf"
id=$("$KILN_BIN/kiln-oneshot" begin --config "$work/kiln.conf" 2>>"$work/begin.log")
finish_run finished
start --drain
wait $uploadd
is "$?" 0 "two runs are drained"
stored=$sink/$first
is "$(latest step)" 10 "the earlier night's checkpoint came to the store"
like "$(cat "$stored/run.json")" '"state":.*"finished"' "and its record"

# ---- An S3 server that lies ----
mkdir "$work/lying"
AWS_ACCESS_KEY_ID=id AWS_SECRET_ACCESS_KEY=secret
export AWS_ACCESS_KEY_ID AWS_SECRET_ACCESS_KEY
/usr/bin/python3 tests/system/lying_s3.py "$work/lying" >"$work/lying/port" 2>"$work/lying/err" &
wait_for 20 test -s "$work/lying/port"
KILN_S3_ENDPOINT=http://127.0.0.1:$(cat "$work/lying/port")
export KILN_S3_ENDPOINT
s3=s3://kiln

lies() { # JSON
	echo "$1" >"$work/lying/lies.new"
	mv "$work/lying/lies.new" "$work/lying/lies"
}

object_bytes() { # key below the run
	curl -sf "$KILN_S3_ENDPOINT/kiln/${KILN_ROOT##*/}/$id/$1" | wc -c
}

names_latest() { # step
	[ "$("$make_checkpoint" --latest "$url/$id" 2>&1)" = "$1" ]
}

# ---- ... and keeps half of what it gets ----
begin half 2
lies '[{"match": "^PUT .*ckpt-000000000020", "lie": "half", "count": 1}]'
"$make_checkpoint" "$id" 10 100000
"$make_checkpoint" "$id" 20 100000
bytes=$(stat -c %s "$spool/checkpoints/ckpt-000000000020.safetensors")
finish_run finished
start --drain
wait $uploadd
is "$? $("$make_checkpoint" --latest "$url/$id" 2>&1)" "0 20" "a checkpoint of which the store keeps half is uploaded again" "$(tail -n 3 "$KILN_ROOT/log")"
like "$(cat "$KILN_ROOT/log")" "ckpt-000000000020.safetensors: sent $bytes bytes, the store has $((bytes / 2)), trying again" "and said"

begin half-older 2
lies '[{"match": "^PUT .*ckpt-000000000010", "lie": "half"}]'
"$make_checkpoint" "$id" 10 100000
"$make_checkpoint" "$id" 20 100000
start
wait_for 20 grep -q 'ckpt-000000000010.safetensors: sent' "$KILN_ROOT/log"
kill -KILL $uploadd
wait $uploadd 2>/dev/null
lies '[]'
start
wait_for 20 eval '[ "$(object_bytes checkpoints/ckpt-000000000010.safetensors)" = "$(stat -c %s "$spool/checkpoints/ckpt-000000000010.safetensors")" ]'
ok $? "half of a checkpoint that an earlier process left is no checkpoint" "$(tail -n 3 "$KILN_ROOT/log")"
kill -KILL $uploadd
wait $uploadd 2>/dev/null

begin half-json 2
lies '[{"match": "^PUT .*latest.json", "lie": "half", "count": 1}, {"match": "^PUT .*run.json", "lie": "half", "count": 1}]'
"$make_checkpoint" "$id" 10 1000
finish_run finished
start --drain
wait $uploadd
is "$? $("$make_checkpoint" --latest "$url/$id" 2>&1)" "0 10" "latest.json is written again" "$(tail -n 3 "$KILN_ROOT/log")"
is "$(curl -sf "$KILN_S3_ENDPOINT/kiln/half-json/$id/run.json" | python3 -c 'import json, sys; print(json.load(sys.stdin)["state"])' 2>&1)" finished "and run.json"

# ---- ... and refuses what is right ----
begin forbidden 2
refusal='[{"match": "^PUT ", "lie": "refuse", "status": 403, "code": "AccessDenied"}]'
lies "$refusal"
for step in 10 20 30; do
	"$make_checkpoint" "$id" $step 1000
done
start
wait_for 20 grep -q 'AccessDenied.*trying again' "$KILN_ROOT/log"
ok $? "a refusal is tried again while the run goes on" "$(tail -n 3 "$KILN_ROOT/log")"
is "$("$KILN_BUILD/system/show_status" uploadd phase)" degraded "and a person is told"
for step in 40 50 60; do
	"$make_checkpoint" "$id" $step 1000
done
wait_for 20 eval '[ "$(steps "$spool")" = "50 60 " ]'
is "$(steps "$spool")" "50 60 " "meanwhile the spool is trimmed"
lies '[]'
wait_for 60 names_latest 60
ok $? "it goes on when the store takes the files" "$(tail -n 3 "$KILN_ROOT/log")"
wait_for 20 grep -q 'uploading works again' "$KILN_ROOT/log"
is "$("$KILN_BUILD/system/show_status" uploadd phase)" watching "and is well"
lies "$refusal"
finish_run finished
wait_for 60 test ! -d /proc/$uploadd
wait $uploadd
is $? 77 "at the end of the run a refusal ends it" "$(tail -n 3 "$KILN_ROOT/log")"
start --drain
wait $uploadd
is $? 77 "with --drain, too" "$(tail -n 3 "$KILN_ROOT/log")"
lies '[]'
start --drain
wait $uploadd
is $? 0 "until a person has corrected the rights"

# ---- ... and refuses a credential ----
credential() { # access key id
	mkdir -p "$KILN_ROOT/data/kiln/credentials"
	printf 'AWS_ACCESS_KEY_ID=%s\nAWS_SECRET_ACCESS_KEY=secret\n' "$1" >"$KILN_ROOT/data/kiln/credentials/sink"
}
KILN_ROOT=$work/nodes/renewed
credential OLD
begin renewed 2 sink
lies '[{"match": "^PUT .* OLD$", "lie": "refuse", "status": 403, "code": "InvalidAccessKeyId"}]'
"$make_checkpoint" "$id" 10 1000
start
wait_for 20 grep -q 'InvalidAccessKeyId.*trying again' "$KILN_ROOT/log"
ok $? "a refused credential is tried again" "$(tail -n 3 "$KILN_ROOT/log")"
credential NEW
wait_for 60 names_latest 10
ok $? "and read again" "$(tail -n 3 "$KILN_ROOT/log")"
kill -KILL $uploadd
wait $uploadd 2>/dev/null

# ---- ... and refuses one file ----
begin one-file 2
lies '[{"match": "^PUT .*logs/train", "lie": "refuse", "status": 409, "code": "BucketAlreadyExists"}]'
start
echo one >"$spool/logs/train/events.out.tfevents.1"
wait_for 20 grep -q '409 BucketAlreadyExists' "$KILN_ROOT/log"
"$make_checkpoint" "$id" 10 1000
echo weights >"$spool/model/model.safetensors"
wait_for 60 names_latest 10
ok $? "a checkpoint does not wait for a file that the store refuses" "$(tail -n 3 "$KILN_ROOT/log")"
wait_for 20 eval '[ "$(object_bytes model/model.safetensors)" = 8 ]'
ok $? "nor does another file"
lies '[]'
finish_run finished
wait_for 60 test ! -d "$spool"
is "$(object_bytes logs/train/events.out.tfevents.1)" 4 "in the end the file is there, too"
kill -KILL $uploadd
wait $uploadd 2>/dev/null

# ---- ... and lists unfinished uploads for ever ----
begin listed 2
lies '[{"match": "^GET .*uploads=", "lie": "uploads"}]'
: >"$work/lying/log"
"$make_checkpoint" "$id" 10 1000
finish_run finished
start --drain
wait_for 60 test ! -d /proc/$uploadd
ok $? "a list of unfinished uploads without end holds nothing up"
kill -KILL $uploadd 2>/dev/null
wait $uploadd 2>/dev/null
is "$? $(grep -c '^DELETE .*uploadId' "$work/lying/log")" "0 1000" "and does not flood the server"
like "$(cat "$KILN_ROOT/log")" 'unfinished uploads: 1000 are removed.*more' "which is said"
unset AWS_ACCESS_KEY_ID AWS_SECRET_ACCESS_KEY KILN_S3_ENDPOINT
s3=

# ---- A real S3 server that says for a moment that it does not have what was just put ----
start_radosgw "killed in the middle of parts"
s3=s3://$KILN_S3_BUCKET
start_fault_proxy
server=$KILN_S3_ENDPOINT
export KILN_S3_ENDPOINT=$proxy
printf '[{"match": "^HEAD .*ckpt-000000000010", "fault": "status", "status": 404, "count": 2}]' >"$work/proxy/faults"
begin late 2
"$make_checkpoint" "$id" 10 1000
finish_run finished
start --drain
wait $uploadd
is "$? $(KILN_S3_ENDPOINT=$server "$make_checkpoint" --latest "$s3/late/$id")" "0 10" "S3: two 404 after the upload are no end" "$(tail -n 3 "$KILN_ROOT/log")"
is "$(grep -c '"fault": "status"' "$work/proxy/requests")" 2 "S3: there were two"

# ---- Killed while it uploads parts to it ----
echo '[{"match": "^PUT .*partNumber=2", "fault": "stall", "upload": true, "count": 1}]' >"$work/proxy/faults"
begin parts 2
"$make_checkpoint" "$id" 1 60000000
start
wait_for 60 test -e "$work/proxy/stalled"
kill -KILL $uploadd
wait $uploadd 2>/dev/null
start
wait_for 60 grep -q "unfinished uploads removed" "$KILN_ROOT/log"
ok $? "S3: parts of a killed upload are removed at the next start" "$(tail -n 3 "$KILN_ROOT/log")"
kill -KILL $uploadd
wait $uploadd 2>/dev/null
wrong=''
for seed in $(seq 1 12); do
	RANDOM=$seed
	start
	sleep 0.$((RANDOM % 9))$((RANDOM % 10))
	kill -KILL $uploadd
	wait $uploadd 2>/dev/null
	step=$("$make_checkpoint" --latest "$s3/parts/$id" 2>&1) || wrong="$wrong $step"
	[ "$step" = none ] || "$make_checkpoint" "$id" $((seed + 1)) 60000000
done
is "$wrong" "" "S3: killed 12 times, what latest.json names is whole"
newest=$(steps "$spool" | awk '{ print $NF }')
finish_run finished
: >"$KILN_ROOT/log"
start --drain
wait $uploadd
is "$? $("$make_checkpoint" --latest "$s3/parts/$id")" "0 $newest" "S3: then it finishes what was left"
: >"$KILN_ROOT/log"
start --drain
wait $uploadd
is "$(grep -c unfinished "$KILN_ROOT/log")" 0 "S3: and leaves no part behind"
