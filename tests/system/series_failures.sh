#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A series whose trials cannot begin or go on, or whose record is lost: what fails, what goes on, and how the night ends. Most
# cases call kiln-oneshot as systemd and `kiln run` do, and train nothing.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/series_lib.sh"
"$make_shards" "$work/data" train 2 100
"$make_shards" "$work/data" validation 1 50
"$make_shards" "$work/data" test 1 50
three='vary = { run = { seed = [ 1, 2, 3 ]; }; };'

begin() { # configuration: sets code, series
	timeout 60 "$KILN_BIN/kiln-oneshot" begin --config "$work/$1.conf" >>"$KILN_ROOT/out" 2>>"$KILN_ROOT/log"
	code=$?
	newest_series
}

ended() { # arguments: sets code, series
	timeout 60 "$KILN_BIN/kiln-oneshot" trial-ended "$@" >>"$KILN_ROOT/out" 2>>"$KILN_ROOT/log"
	code=$?
	newest_series
}

records() { # prints how many series the node has
	find "$KILN_ROOT/data/kiln/run/series" -name series.json 2>/dev/null | wc -l
}

run=data/kiln/run
state() { # prints the id's name and the state of the current run
	echo "$(python3 -c 'import json, sys; print(json.load(open(sys.argv[1])).get("series", {}).get("trial"))' "$KILN_ROOT/$run/current/run.json" 2>/dev/null) $(cat "$KILN_ROOT/$run/current/state" 2>/dev/null)"
}

finish_run() { # state
	echo "$1" >"$KILN_ROOT/$run/current/state"
}

# ---- A trial fails after its record is made ----
node after_record
python3 -u -m http.server 0 --bind 127.0.0.1 >"$work/port" 2>/dev/null &
wait_for 30 grep -q port "$work/port"
port=$(grep -oE 'port [0-9]+' "$work/port")
config before ''
begin before
finish_run finished # the disk is no new one, which would look for its series in the store
config after_record "$three"
sed -i "s|sink: .*|sink: { url = \"s3://bucket/b\"; endpoint = \"https://127.0.0.1:${port#port }\"; ca_file = \"$work/missing.pem\"; };|" "$work/after_record.conf"
export AWS_ACCESS_KEY_ID=a AWS_SECRET_ACCESS_KEY=b
begin after_record
is "$code $(of_series 's["state"], [x["state"] for x in t]')" "78 ('running', ['waiting', 'waiting', 'waiting'])" \
	"a series whose id cannot be claimed in the store does not begin"
# The series has its id now, as if the store had failed after that.
python3 -c 'import json, sys; s = json.load(open(sys.argv[1])); s["machine"] = "a" * 32; json.dump(s, open(sys.argv[1], "w"))' "$series"
begin after_record
unset AWS_ACCESS_KEY_ID AWS_SECRET_ACCESS_KEY
is "$code $(of_series 's["state"], [(x["state"], x["run"] != "") for x in t], len({x["run"] for x in t})') $(state)" \
	"82 ('failed', [('failed', True), ('failed', True), ('failed', True)], 3) grid-03 failed" \
	"a trial that fails after its record is made: its run fails, too, and no other trial takes it over" "$(tail -n 5 "$KILN_ROOT/log")"

# ---- A trial that lacks its weights ----
node weights
config weights 'experiments = ( { name = "lacking"; overrides = { model = { weights = "file://'"$work/missing.safetensors"'"; }; }; },
	{ name = "good"; overrides = { run = { seed = 2; }; }; } );'
begin weights
is "$code $(of_series '[x["state"] for x in t]') $(state)" "0 ['failed', 'running'] good running" \
	"a trial whose weights are missing fails, and the next one begins" "$(tail -n 5 "$KILN_ROOT/log")"

# ---- A trial whose network has a mistake ----
node network
config network 'experiments = ( { name = "wrong"; overrides = { model = { loss = "none"; }; }; },
	{ name = "good"; overrides = { run = { seed = 2; }; }; } );'
begin network
is "$code $(of_series '[x["state"] for x in t]') $(state)" "0 ['failed', 'running'] good running" \
	"a trial whose network has a mistake fails, and the next one begins" "$(tail -n 5 "$KILN_ROOT/log")"
like "$(of_series 't[0]["reason"]')" '/series/[^/]+/kiln\.conf:11: model\.loss: found "none"' "its reason names the line of kiln.conf"

# ---- A series that cannot begin ----
node mended
config mended "$three"
sed "s|model: {|model: { weights = \"file://$work/missing.safetensors\";|" "$work/mended.conf" >"$work/mended-not.conf"
begin mended-not
is "$code $(of_series 's["state"], [x["state"] for x in t]')" "77 ('running', ['waiting', 'waiting', 'waiting'])" "weights of kiln.conf are missing: no trial begins"
first=$series
begin mended
is "$code $(records) $(state)" "0 2 grid-01 running" "kiln.conf is mended: another series begins" "$(tail -n 5 "$KILN_ROOT/log")"
series=$first
is "$(of_series 's["state"], s["reason"]')" "('failed', 'it never began, and kiln.conf changed')" "the first one has ended"
begin mended-not
is "$code $(records) $(state)" "0 2 grid-01 running" "a series that has begun keeps its configuration"

# ---- Between two trials ----
node between
config between "$three"
begin between
finish_run finished
ended
is "$code $(of_series 's.get("next"), s["state"]')" "0 ('grid-02', 'running')" "between two trials the record says which one is next"
resume() { # prints what a boot asks systemd for; this machine's systemd is not asked
	DBUS_SYSTEM_BUS_ADDRESS=unix:path=$work/no-bus timeout 60 "$KILN_BIN/kiln-oneshot" resume 2>&1
}
like "$(resume)" 'cannot reach systemd over D-Bus' "a boot between two trials goes on"
begin between
is "$code $(of_series 's.get("next"), s["state"]') $(state)" "0 (None, 'running') grid-02 running" "and nothing while one is at work"

# ---- A stop that a power cut overtakes ----
echo '{"seq": 1, "checkpoint_seq": 0, "state": "stopped"}' >"$KILN_ROOT/$run/current/want"
resume >>"$KILN_ROOT/log"
is "$(state) $(of_series 's["state"], "mark" in s')" "grid-02 stopped ('stopped', False)" "a boot ends the stop: the series waits, and its budget does not run" "$(tail -n 3 "$KILN_ROOT/log")"

# ---- The end of a night, the next one, and a stop ----
night_over() { # as if the night had been asked for two hours ago: run.ends_at is past
	python3 -c 'import json, sys, time; s = json.load(open(sys.argv[1])); s["since_s"] = time.time() // 1 - 7200; json.dump(s, open(sys.argv[1], "w"))' "$series"
}
node nights
config nights "$three" "zone = \"UTC\"; ends_at = \"$(date -u -d '-1 hour' +%H:%M)\";"
begin nights
is "$code $(state)" "0 grid-01 running" "a series with run.ends_at begins" "$(tail -n 5 "$KILN_ROOT/log")"
finish_run expired
night_over
ended
is "$code $(of_series 's["state"], t[0]["state"]')" "81 ('expired', 'running')" "the night ends within a trial: the series waits"
begin nights
is "$code $(records) $(state) $(of_series 's["state"], len({x["run"] for x in t if x["run"]})')" "0 1 grid-01 running ('running', 1)" \
	"the next night goes on with this trial" "$(tail -n 5 "$KILN_ROOT/log")"
finish_run finished
night_over
ended
is "$code $(of_series 's["state"], s.get("next"), t[0]["state"]')" "81 ('expired', 'grid-02', 'finished')" "the night ends with a trial: no other one begins"
begin nights
is "$code $(records) $(state)" "0 1 grid-02 running" "the next night begins the next trial" "$(tail -n 5 "$KILN_ROOT/log")"
finish_run stopped
ended
is "$code $(of_series 's["state"]')" "81 stopped" "a trial is stopped: the series waits"
sleep 1 # a night is known by the second in which it was asked for
begin nights
is "$code $(records) $(state) $(of_series 's["state"]')" "0 1 grid-02 running running" "kiln start goes on with this trial" "$(tail -n 5 "$KILN_ROOT/log")"

# ---- The last trial has ended, and the process is killed before the series has ----
node killed
config killed "$three"
for _ in 1 2 3; do
	begin killed
	finish_run finished
done
begin killed
is "$code $(records) $(of_series 's["state"], [x["state"] for x in t]')" "82 1 ('finished', ['finished', 'finished', 'finished'])" \
	"begin that ends a series says so, and trains nothing" "$(tail -n 5 "$KILN_ROOT/log")"
sleep 1 # a night is known by the second in which it was asked for
begin killed
is "$code $(records)" "0 2" "the next night is another series"

# ---- Lost records ----
node lost_run
config lost_run "$three"
begin lost_run
finish_run stopped
rm -r "$KILN_ROOT/$run/current"
begin lost_run
is "$code $(of_series '[x["state"] for x in t]') $(state)" "0 ['failed', 'running', 'waiting'] grid-02 running" \
	"the record of a trial is lost: the trial fails, the next one begins" "$(tail -n 5 "$KILN_ROOT/log")"
like "$(of_series 't[0]["reason"]')" 'the record of its run .* is lost' "it says why"
finish_run stopped
echo '{' >"$KILN_ROOT/$run/current/run.json"
begin lost_run
is "$code $(of_series '[x["state"] for x in t]') $(state)" "0 ['failed', 'failed', 'running'] grid-03 running" \
	"so it is where the record cannot be read" "$(tail -n 5 "$KILN_ROOT/log")"

node lost_series
config lost_series 'vary = { optimizer = { learning_rate = [ 0.1, 0.01, 0.001 ]; }; }; series = { method = "halving"; reduction = 2; };'
begin lost_series
like "$(cat "$KILN_ROOT/$run/current/run.json")" rest_after_epoch "halving: a trial rests after its rung"
sed -i -E "s/(\"plan_sha256\":\s*\")\"/\1$(printf '%064d' 0)\"/" "$KILN_ROOT/$run/current/run.json"
echo '{' >"$series"
begin lost_series
is "$code $(state) $(grep -c rest_after_epoch "$KILN_ROOT/$run/current/run.json")" "0 halving-01 running 0" \
	"the record of its series cannot be read: the trial trains to its end" "$(tail -n 5 "$KILN_ROOT/log")"
finish_run finished
begin lost_series
is "$code $(records) $(state)" "0 2 halving-01 running" "and the next night is another series" "$(tail -n 5 "$KILN_ROOT/log")"

# ---- A series that a person gives up between two trials ----
node given_up
config given_up "$three"
begin given_up
finish_run finished
touch "$(dirname "$series")/given-up"
first=$series
begin given_up
is "$code $(records) $(state)" "0 2 grid-01 running" "a series that a person gave up ends, and another one begins" "$(tail -n 5 "$KILN_ROOT/log")"
series=$first
is "$(of_series 's["state"], s["reason"], s["winner"]')" "('failed', 'a person gave it up', None)" "it says why"

# ---- A trial that the device has no memory for ----
config large 'experiments = ( { name = "large"; overrides = { model = { layers = { dense = { units = 1000000; }; }; }; }; },
	{ name = "small"; overrides = { run = { epochs = 1; }; }; } );'
sed -i 's/units = 16; }, /units = 16; }, { op = "dense"; units = 1000000; }, /' "$work/large.conf"
sed -i 's/name = "small"; overrides = {/& model = { layers = { dense_1 = { units = 4; }; }; };/' "$work/large.conf"
night large large
is "$code $(of_series '[x["state"] for x in t], s["winner"]')" "0 (['failed', 'finished'], 'small')" \
	"a trial that is too large for the device fails, and the next one begins" "$(tail -n 5 "$KILN_ROOT/log")"
like "$(of_series 't[0]["reason"]')" 'the device has too little memory' "it says why"

# ---- Trials for which the device itself has no memory, although the estimate fits ----
config full 'vary = { run = { seed = [ 1, 2 ]; }; };'
LD_PRELOAD=$KILN_BUILD/system/preload/device_lost.so KILN_DEVICE_LOST_AT=1 KILN_DEVICE_LOST_CODE=-4 night full full
is "$(of_series 's["state"], [x["state"] for x in t]')" "('failed', ['failed', 'failed'])" \
	"trials for which the device has no memory fail after a few tries" "$(tail -n 5 "$KILN_ROOT/log")"
like "$(of_series 't[0]["reason"]')" 'the trial is too large: .*CL_MEM_OBJECT_ALLOCATION_FAILURE' "it says why"
is "$(grep -lE '"memory_tries":\s*3' "$KILN_ROOT"/$run/archive/*/run.json | wc -l)" 2 "after three tries each"

# ---- A trial for which the machine has no memory: the kernel kills its trainer ----
node oom
config oom 'vary = { run = { seed = [ 1, 2 ]; }; };'
begin oom
id=$(python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["id"])' "$KILN_ROOT/$run/current/run.json")
mkdir -p "$KILN_ROOT/proc" "$KILN_ROOT/run/kiln/status/traind"
echo 'oom_kill 5' >"$KILN_ROOT/proc/vmstat"
echo "$id 4 2" >"$KILN_ROOT/run/kiln/status/traind/working" # two trainers were killed, and now a third one
timeout 200 "$KILN_BIN/kiln" run --config "$work/oom.conf" >>"$KILN_ROOT/out" 2>>"$KILN_ROOT/log"
is "$? $(of_series 's["state"], [x["state"] for x in t]')" "0 ('finished', ['failed', 'finished'])" \
	"a trial whose trainer the kernel has killed three times fails, and the next one trains" "$(tail -n 5 "$KILN_ROOT/log")"
like "$(of_series 't[0]["reason"]')" 'the kernel has killed its trainer 3 times for lack of memory' "it says why"
is "$(find "$KILN_ROOT/run/kiln/status/traind" -name working)" '' "a trainer that ends leaves no note"

# ---- A run that rests ----
node rests
config rests ''
begin rests
finish_run stopped
ended
is "$code" 81 "a run that is stopped waits for another night"
finish_run finished
ended
is "$code" 80 "one that has finished does not"
