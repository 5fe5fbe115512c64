#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The time of day jumps by hours while a trial of a series with a budget trains, as when a time server is reached late. The budget
# is time of work: it ends neither earlier nor later.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/series_lib.sh"
. tests/system/kill_night_lib.sh
"$make_shards" "$work/data" train 2 100
"$make_shards" "$work/data" validation 1 50
"$make_shards" "$work/data" test 1 50
export KILN_TEST_DAY=$work/ahead POCL_MAX_PTHREAD_COUNT=1

jump() { # seconds: the time of day is that much ahead from now on
	echo "$1" >"$KILN_TEST_DAY.new"
	mv "$KILN_TEST_DAY.new" "$KILN_TEST_DAY"
}

night_of() { # name, budget: begins a night in the background; waits until its trial trains
	config "$1" "vary = { run = { seed = [ 1, 2, 3 ]; }; }; series = { budget = \"$2\"; };"
	sed -i 's/epochs = 4/epochs = 1000000/' "$work/$1.conf"
	node "$1"
	jump 0
	LD_PRELOAD=$KILN_BUILD/system/preload/day.so timeout 200 "$KILN_BIN/kiln" run --config "$work/$1.conf" >>"$KILN_ROOT/out" 2>>"$KILN_ROOT/log" &
	night=$!
	wait_for 60 has_epochs
	newest_series
}

record() { # python expression of run.json
	python3 -c 'import json, sys; r = json.load(open(sys.argv[1])); print(eval(sys.argv[2]))' "$KILN_ROOT/data/kiln/run/current/run.json" "$1"
}

epochs() { record 'len(r["epochs"])'; }
has_epochs() { [ "$(epochs)" -gt 0 ]; }

# ---- Forward ----
night_of forward 02:00
before=$(epochs)
jump $((3 * 3600))
wait_for 30 eval '[ "$(epochs)" -gt $((before + 20)) ]'
ok $? "the clock jumps forward beyond the budget: the trial goes on" "$(tail -n 5 "$KILN_ROOT/log")"
is "$(of_series 's["state"], [x["state"] for x in t]') $(grep -c 'night is over' "$KILN_ROOT/log")" "('running', ['running', 'waiting', 'waiting']) 0" \
	"and has not rested"
kill -TERM $night
wait $night
is "$(of_series '0 <= s["spent_s"] < 200')" True "the jump is no time of work" "$(of_series 's["spent_s"]')"

# ---- Back ----
began=$SECONDS
night_of back 00:01
jump $((-3 * 3600))
with_slow_trainer wait $night
is $? 0 "the clock jumps back: the night ends" "$(tail -n 5 "$KILN_ROOT/log")"
took=$((SECONDS - began))
[ $took -lt 120 ]
ok $? "when its budget of a minute is spent, after $took s"
is "$(of_series 's["state"], s["reason"], t[0]["state"], t[0]["reason"], t[1]["state"], 40 < s["spent_s"] < 100')" \
	"('finished', 'series.budget is spent', 'pruned', 'series.budget is spent', 'waiting', True)" "the trial that trained stops early" "$(of_series 's["spent_s"]')"
like "$(cat "$KILN_ROOT/log")" "the budget of the series is spent, stopped at step" "the trainer says so"
