#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A night of several trials, in the foreground: a list, a grid, successive halving, a budget, a trial that fails. Killed again
# and again at random moments, every program, it ends with the same bits of every trial, and no trial runs twice. Trials that
# share the disk cache read a real S3 server (Ceph's radosgw) once; fault_proxy.py counts the requests.
. "$(dirname "$0")/lib.sh"
. tests/system/kill_night_lib.sh
. "$(dirname "$0")/series_lib.sh"
kills_wanted=${KILN_KILLS:-5}
"$make_shards" "$work/data" train 6 600
"$make_shards" "$work/data" validation 1 200
"$make_shards" "$work/data" test 1 100

# ---- A list ----
config list 'experiments = ( { name = "adam"; overrides = { optimizer = { name = "adam"; }; }; },
	{ name = "wide"; overrides = { model = { layers = { dense = { units = 32; }; }; }; }; } );'
night list list
is "$code $(of_series 's["state"], s["method"], [(x["name"], x["state"], x["epochs"]) for x in t]')" \
	"0 ('finished', 'list', [('adam', 'finished', 4), ('wide', 'finished', 4)])" "two experiments: both are trained to their end" "$(tail -n 5 "$KILN_ROOT/log")"
is "$(of_series 's["winner"] == max(t, key=lambda x: x["value"])["name"], s["objective"], s["direction"]')" "(True, 'validation.accuracy', 'max')" \
	"the winner is the one with the best value"
record=$KILN_ROOT/data/kiln/run/current/run.json
is "$(python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["series"])' "$record")" \
	"{'id': '$(of_series 's["id"]')', 'trial': '$(of_series 's["winner"]')'}" "its run is the box's current run"
like "$(cat "$(dirname "$record")/config")" 'cache_bytes = [1-9]' "a trial has a cache, though the file has none"
is "$(grep -c experiments "$(dirname "$record")/config")" 0 "its configuration is that of an ordinary run"
is "$(find "$work/runs/list" -path '*/model/model.safetensors' | wc -l) $(find "$work/runs/list" -name run.json | wc -l)" "2 2" "both are in the store"
cmp -s "$series" "$work/runs/list/series/$(of_series 's["id"]')/series.json"
ok $? "so is the record of the series"
night list list
is "$code $(find "$KILN_ROOT/data/kiln/run/series" -name series.json | wc -l)" "0 2" "the next night is another series"

# ---- A trial that fails ----
config fails 'experiments = ( { name = "mad"; overrides = { optimizer = { name = "sgd"; learning_rate = 1000000.0; }; }; },
	{ name = "sane"; overrides = { optimizer = { name = "adam"; }; }; } );'
night fails fails
is "$code $(of_series 's["state"], s["winner"], [x["state"] for x in t]')" "0 ('finished', 'sane', ['failed', 'finished'])" \
	"a trial that fails: the others go on" "$(tail -n 5 "$KILN_ROOT/log")"
like "$(of_series 't[0]["reason"]')" 'nan|NaN|inf|loss' "it says why"
sed 's/experiments = /series = { stop_on_failure = true; }; experiments = /' "$work/fails.conf" >"$work/strict.conf"
night strict strict
is "$(of_series 's["state"], s["winner"], [x["state"] for x in t]')" "('failed', None, ['failed', 'waiting'])" "with stop_on_failure the series ends"

# ---- A budget ----
config budget 'vary = { run = { seed = [ 1, 2, 3, 4, 5, 6, 7, 8 ]; }; }; series = { method = "grid"; budget = "00:00"; };'
sed -i 's/00:00/00:01/; s/epochs = 4/epochs = 100000/' "$work/budget.conf"
began=$SECONDS
with_slow_trainer night budget budget
[ $((SECONDS - began)) -lt 120 ]
ok $? "a budget of a minute ends a series in $((SECONDS - began)) s"
is "$(of_series 's["state"], s["reason"], t[0]["state"], t[0]["reason"], t[1]["state"]')" \
	"('finished', 'series.budget is spent', 'pruned', 'series.budget is spent', 'waiting')" "the trial that runs then stops early, the others never begin"

# ---- Killed ----
compare() { # configuration, seed
	local expected
	night "$1" "$1"
	is "$code $(of_series 's["state"]')" "0 finished" "$1: the series that nobody kills finishes" "$(tail -n 5 "$KILN_ROOT/log")"
	expected=$(bits "$1")
	sed "s|runs/$1\"|runs/$1-killed\"|" "$work/$1.conf" >"$work/$1-killed.conf"
	killed_night "$1-killed" "$1-killed" "$2" list
	is "$code $(of_series 's["state"]') $(find "$KILN_ROOT/data/kiln/run/series" -name series.json | wc -l)" "0 finished 1" \
		"$1: killed $kills times, the same series finishes" "$(tail -n 5 "$KILN_ROOT/log")"
	is "$(bits "$1-killed")" "$expected" "$1: with the same bits and figures of every trial"
	is "$(find "$work/runs/$1-killed" -name run.json | wc -l) $(of_series 'len({x["run"] for x in t})')" "$(of_series 'len(t), len(t)' | tr -d '(),')" \
		"$1: and no trial has run twice"
}

config grid 'vary = { optimizer = { learning_rate = [ 0.001, 0.01 ]; name = [ "adam", "sgd" ]; }; }; series = { method = "grid"; };' 'seed = 7;'
compare grid 1
config halving 'vary = { optimizer = { learning_rate = { min = 1e-5; max = 0.1; scale = "log"; }; }; };
	series = { method = "halving"; trials = 6; reduction = 2; };' 'seed = 7;'
compare halving 2
is "$(of_series 'sum(x["state"] == "pruned" for x in t) > 2, s["winner"] == max((x for x in t if x["state"] == "finished"), key=lambda x: x["value"])["name"]')" \
	"(True, True)" "halving: most trials stop early, and one that has finished wins"

# A trial that was parked ends with the bits of a run that never was.
alone=$(of_series '[x for x in t if x["name"] == s["winner"]][0]["overrides"]["optimizer.learning_rate"]')
config alone '' 'seed = 7;'
sed -i "s/learning_rate = 0.002/learning_rate = $alone/" "$work/alone.conf"
night alone alone
weights() { # run's folder
	python3 - "$1/model/model.safetensors" <<-'PY'
		import hashlib, struct, sys
		data = open(sys.argv[1], "rb").read()
		print(hashlib.sha256(data[8 + struct.unpack("<Q", data[:8])[0]:]).hexdigest())
	PY
}
single=$(weights "$work"/runs/alone/t-*)
series=$(ls "$work"/nodes/halving/data/kiln/run/series/*/series.json)
is "$(weights "$work/runs/halving/$(of_series '[x for x in t if x["name"] == s["winner"]][0]["run"]')")" "$single" "a trial that was parked has the bits of a run that never was"

# ---- One reading ----
start_radosgw 'four trials cost the store one reading'
"$make_shards" "$work/large" train 8 2000 plain
"$make_shards" "$work/large" validation 1 500 plain
upload "$work/large" s3://kiln/data
start_fault_proxy
source="url = \"s3://kiln/data\"; endpoint = \"$proxy\";"
config stored 'vary = { run = { seed = [ 1, 2, 3, 4 ]; }; };'
night stored stored
total=$(cat "$work"/large/* | wc -c)
read -r bytes < <(of_series 'sum(x["bytes"] for x in t)')
is "$code $(of_series '[x["state"] for x in t]')" "0 ['finished', 'finished', 'finished', 'finished']" "four trials from a real S3 server" "$(tail -n 5 "$KILN_ROOT/log")"
[ $((bytes * 100)) -ge $((total * 90)) ] && [ $((bytes * 100)) -le $((total * 105)) ]
ok $? "four trials cost the store one reading" "$bytes bytes, the data have $total: $(of_series '[x["bytes"] for x in t]')"
