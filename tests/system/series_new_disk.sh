#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The disk of a box is lost in the middle of a series: the next night brings the series from the store, and goes on with it. Every
# trial ends with the same bits, and none that has ended trains again.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/series_lib.sh"
. tests/system/kill_night_lib.sh
"$make_shards" "$work/data" train 6 600
"$make_shards" "$work/data" validation 1 200
"$make_shards" "$work/data" test 1 100

bits() { # name of the sink: name, state and model of every trial
	python3 - "$series" "$work/runs/$1" <<-'PY'
		import json, os, sys
		sys.path.insert(0, "tests/system")
		from tensors import digest
		s = json.load(open(sys.argv[1]))
		print("winner", s["winner"])
		for trial in s["trials"]:
		    model = os.path.join(sys.argv[2], trial["run"], "model/model.safetensors")
		    print(trial["name"], trial["state"], trial["epochs"], trial["value"], trial["rungs"], digest(model) if os.path.exists(model) else "no model")
	PY
}

in_store() { # trials that have ended, or a rung of theirs, in the record of the store
	grep -Eo '"state":[ 	]*"(finished|parked|pruned)"' "$work/runs/$1/series"/*/series.json | wc -l
}

lose_disk() { # node, configuration: kills the night once 2 trials have ended, and removes the disk
	node "$1"
	mkdir -p "$KILN_ROOT/etc" "$KILN_ROOT/data/kiln/cache"
	printf 'c%.0s' {1..32} >"$KILN_ROOT/etc/machine-id"
	cp -a "$work/nodes/$2/data/kiln/cache/kernels" "$KILN_ROOT/data/kiln/cache/"
	"$KILN_BIN/kiln" run --config "$work/$1.conf" >>"$KILN_ROOT/out" 2>>"$KILN_ROOT/log" &
	two() { [ "$(in_store "$1")" -ge 2 ] 2>/dev/null; }
	wait_for 100 two "$1"
	ok $? "$1: the store has the record of a series with two trials behind it" "$(tail -n 5 "$KILN_ROOT/log")"
	mapfile -t pids < <(programs)
	kill -KILL "${pids[@]}" 2>/dev/null
	gone() { [ -z "$(programs)" ]; }
	wait_for 20 gone
	newest_series
	id=$(of_series 's["id"]')
	ended=$(of_series 'sorted(x["run"] for x in t if x["state"] == "finished")')
	mv "$KILN_ROOT/data/kiln/cache/kernels" "$work/kernels"
	rm -rf "$KILN_ROOT/data"
	mkdir -p "$KILN_ROOT/data/kiln/cache"
	mv "$work/kernels" "$KILN_ROOT/data/kiln/cache/"
}

slower() { sed -i 's/epochs = 4/epochs = 100/' "$work/$1.conf"; } # configuration: the series is not over before its disk is lost

compare() { # configuration
	local expected
	night "$1" "$1"
	is "$code $(of_series 's["state"]')" "0 finished" "$1: the series of a box that keeps its disk" "$(tail -n 5 "$KILN_ROOT/log")"
	expected=$(bits "$1")
	sed "s|runs/$1\"|runs/$1-lost\"|" "$work/$1.conf" >"$work/$1-lost.conf"
	lose_disk "$1-lost" "$1"
	! declare -F "break_$1" >/dev/null || "break_$1"
	night "$1-lost" "$1-lost"
	is "$code $(of_series 's["state"], s["id"]') $(find "$KILN_ROOT/data/kiln/run/series" -name series.json | wc -l)" "0 ('finished', '$id') 1" \
		"$1: the new disk goes on with the series" "$(tail -n 9 "$KILN_ROOT/log")"
	like "$(cat "$KILN_ROOT/log")" "$id: not on this disk, going on with its record in the store" "$1: which the log says"
	is "$(bits "$1-lost")" "$expected" "$1: with the same bits of every trial, and the same winner"
	is "$(of_series "set($ended) <= {x['run'] for x in t}")" True "$1: no trial that has finished trains again"
}

config grid 'vary = { optimizer = { learning_rate = [ 0.001, 0.01 ]; name = [ "adam", "sgd" ]; }; }; series = { method = "grid"; };' 'seed = 7;'
# The store does not give the run that trained, where the best trial is brought already.
break_grid() {
	local record=$work/runs/grid-lost/series/$id/series.json
	cp "$record" "$work/whole.json"
	python3 -c 'import json, sys
s = json.load(open(sys.argv[1]))
x = [x for x in s["trials"] if x["state"] != "finished"][0]
x["state"], x["run"] = "running", "t-broken"
json.dump(s, open(sys.argv[1], "w"))' "$record"
	mkdir "$work/runs/grid-lost/t-broken"
	ln -s run.json "$work/runs/grid-lost/t-broken/run.json"
	timeout 60 "$KILN_BIN/kiln-oneshot" begin --config "$work/grid-lost.conf" >/dev/null 2>>"$KILN_ROOT/log"
	is "$([ $? = 0 ] || echo fails) $(find "$KILN_ROOT/data/kiln" -name series.json | wc -l)" "fails 0" \
		"grid: the night does not begin while the store does not give a run" "$(tail -n 3 "$KILN_ROOT/log")"
	cp "$work/whole.json" "$record"
}
slower grid
compare grid
config halving 'vary = { optimizer = { learning_rate = { min = 1e-5; max = 0.1; scale = "log"; }; }; };
	series = { method = "halving"; trials = 6; reduction = 2; };' 'seed = 3;'
slower halving
compare halving
export POCL_DEVICES="basic basic"
config beside 'vary = { optimizer = { learning_rate = [ 0.001, 0.01 ]; name = [ "adam", "sgd" ]; }; };
	series = { method = "grid"; parallel = 2; };' 'seed = 7;'
# The store's record says that a trial has finished, and the store has refused the last files of the trial.
break_beside() {
	python3 -c 'import json, sys
s = json.load(open(sys.argv[1]))
for x in [x for x in s["trials"] if x["state"] == "running" and x["run"]][:1]: # none: the disk was lost between two trials
    x["state"], x["value"] = "finished", 2.0
json.dump(s, open(sys.argv[1], "w"))' "$work/runs/beside-lost/series/$id/series.json"
	ok $? "beside: a trial that trains is noted as finished, and as the best"
}
slower beside
compare beside
unset POCL_DEVICES

# ---- What is not this box's stays ----
node other
mkdir -p "$KILN_ROOT/etc"
printf 'd%.0s' {1..32} >"$KILN_ROOT/etc/machine-id"
python3 - "$work/runs/grid-lost/series" <<'PY'
import glob, json, sys
path = glob.glob(sys.argv[1] + "/*/series.json")[0]
s = json.load(open(path)); s["state"] = "running"; json.dump(s, open(path, "w"))
PY
"$KILN_BIN/kiln-oneshot" begin --config "$work/grid-lost.conf" >"$KILN_ROOT/out" 2>"$KILN_ROOT/log"
newest_series
[ "$(of_series 's["id"]')" != "$(basename "$work"/runs/grid-lost/series/*)" ]
ok $? "another box leaves an unfinished series alone, and begins one of its own" "$(tail -n 5 "$KILN_ROOT/log")"
