#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# kiln-oneshot begin against the embedded store: which run it is, what it brings, what it refuses; kiln config.
. "$(dirname "$0")/lib.sh"

mkdir -p "$work/data" "$work/runs"
printf 'encoder' >"$work/data/encoder.bin"
printf '{}' >"$work/data/dataset.json"

config() { # start_from
	cat >"$work/kiln.conf" <<-CONF
		run: { name = "t"; start_from = "$1"; };
		source: { url = "file://$work/data"; };
		sink: { url = "file://$work/runs"; };
	CONF
}

# Sets rc, said (stdout: the id) and errors.
begin() {
	said=$("$KILN_BIN/kiln-oneshot" begin --config "$work/kiln.conf" 2>"$work/errors")
	rc=$?
	errors=$(cat "$work/errors")
}

put_state() { # state
	echo "$1" >"$record/state.new"
	mv "$record/state.new" "$record/state"
}

# A checkpoint in the store, with another digest than its own on request.
store_checkpoint() { # run id, text, [sha256]
	local folder=$work/runs/$1/checkpoints name=checkpoints/ckpt-000000000007.safetensors
	local sum=${3:-$(printf '%s' "$2" | sha256sum | cut -d' ' -f1)}
	mkdir -p "$folder"
	printf '%s' "$2" >"$work/runs/$1/$name"
	printf '{"version":1,"step":7,"key":"%s","bytes":%d,"sha256":"%s","time":1}' "$name" ${#2} "$sum" >"$folder/latest.json"
}

# ---- One disk, several nights ----
node first
record=$KILN_ROOT/data/kiln/run/current
config scratch
begin
first=$said
is "$rc" 0 "a run is begun"
like "$first" '^t-[0-9]{8}-[0-9]{6}$' "its id is printed"
like "$(cat "$work/runs/$first/run.json")" '"state":.*"running"' "its record is in the store before the first batch"
is "$(cat "$KILN_ROOT/data/kiln/spool/traind/$first/model/encoder.bin")" encoder "the encoder goes with the model"
is "$(cat "$KILN_ROOT/data/kiln/spool/traind/$first/model/dataset.json")" '{}' "so does dataset.json"

put_state expired
echo "broken" >"$work/kiln.conf"
begin
is "$rc $said" "0 $first" "an unfinished run goes on with its own configuration, whatever kiln.conf says"
is "$(cat "$record/state")" running "it is running again"

put_state finished
begin
is "$rc" 78 "a wrong kiln.conf begins nothing (exit 78)" "$errors"
like "$errors" 'kiln.conf:2: syntax error: at the end of the file' "it says where"
config scratch
sed -i 's/^run: /model: { loss = "mine"; }; run: /' "$work/kiln.conf"
begin
is "$rc" 78 "nor does a model that cannot be built" "$errors"
is "$(cat "$record/state")" finished "the last run stays as it was"
config scratch
begin
[ "$rc" = 0 ] && [ "$said" != "$first" ]
ok $? "after a final run comes a new one" "$said $errors"

# ---- Shards that are not all there ----
incomplete=$work/data/prep.incomplete
: >"$incomplete"
put_state expired
begin
is "$rc" 65 "an unfinished run without a plan is refused while kiln prep is not done (exit 65)"
like "$errors" "file://$work/data/prep.incomplete: kiln prep did not finish here; run it again" "it names the object"
plan_sha256() { # one, or none
	sed -i "s/\"plan_sha256\":.*/\"plan_sha256\": \"$1\",/" "$record/run.json"
}
plan_sha256 "$(printf '%064d' 1)"
begin
is "$rc $said" "0 $(sed -n 's/.*"id":[^"]*"\([^"]*\)".*/\1/p' "$record/run.json")" "one that has its plan goes on" "$errors"
plan_sha256 ""
put_state finished
before=$(cat "$record/run.json")
begin
is "$rc $(cat "$record/state")" "65 finished" "and no new run begins"
is "$(cat "$record/run.json")" "$before" "the last run stays as it was"
rm "$incomplete"
begin
is "$rc" 0 "until kiln prep is done" "$errors"

# ---- A new disk ----
second=$said
node second
record=$KILN_ROOT/data/kiln/run/current
checkpoint=$KILN_ROOT/data/kiln/spool/traind/$second/checkpoints/ckpt-000000000007.safetensors
store_checkpoint "$second" weights 0000
begin
is "$rc" 65 "a checkpoint that is not what latest.json says is refused (exit 65)" "$errors"
[ ! -e "$checkpoint" ] && [ ! -e "$record" ]
ok $? "and neither it nor a record is left" "$(ls "$record" 2>&1)"
store_checkpoint "$second" weights
begin
is "$rc $said" "0 $second" "a new disk takes the unfinished run from the store"
is "$(cat "$checkpoint")" weights "with its newest checkpoint"

node third
sed -i 's/"state":.*"running"/"state": "finished"/' "$work/runs/$second/run.json"
config latest
begin
[ "$rc" = 0 ] && [ "$said" != "$second" ]
ok $? "a new disk after a finished run begins a new one" "$said $errors"
is "$(cat "$KILN_ROOT/data/kiln/run/current/start.safetensors")" weights "run.start_from = latest: from the store's last run"

# ---- Usage ----
"$KILN_BIN/kiln-oneshot" begin --conf x >"$work/said" 2>&1
is "$?" 64 "begin takes --config FILE and nothing else"
"$KILN_BIN/kiln" config reference | cmp -s - config/kiln.conf
ok $? "kiln config reference is config/kiln.conf"
"$KILN_BIN/kiln" config show "$work/kiln.conf" >"$work/shown.conf" && "$KILN_BIN/kiln" config check "$work/shown.conf" >"$work/said" 2>&1
ok $? "what kiln config show prints is good" "$(cat "$work/said")"
echo 'run: { epoch = 1; };' >>"$work/shown.conf"
"$KILN_BIN/kiln" config check "$work/shown.conf" >"$work/said" 2>&1
is "$?" 1 "kiln config check of a wrong file exits with 1"
"$KILN_BIN/kiln" config check a b >/dev/null 2>&1
is "$?" 2 "and with 2 when called wrongly"
