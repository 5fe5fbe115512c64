#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Series of many trials: 40 are trained, and 1000, the most that there may be, are planned and begun. What is asked of them is
# answered in a time that a person waits for. CPU time is compared, which other work on the machine does not change.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/series_lib.sh"
"$make_shards" "$work/data" train 1 64
"$make_shards" "$work/data" validation 1 32
"$make_shards" "$work/data" test 1 32

numbers() { # count: "1, 2, 3"
	seq -s ', ' "$1"
}

cpu() { # seconds, name, command...: the command succeeds within so many seconds of CPU time; its output goes to $work/out
	local most=$1 name=$2 r used TIMEFORMAT='%U %S'
	shift 2
	{ time "$@" >"$work/out" 2>"$work/err"; } 2>"$work/time"
	r=$?
	used=$(tail -n 1 "$work/time" | awk '{ printf "%.2f", $1 + $2 }')
	[ $r = 0 ] && awk "BEGIN { exit !($used < $most) }"
	ok $? "$name: $used s of CPU time" "exit $r, allowed: $most s; $(tail -n 3 "$work/err")"
}

# ---- 40 trials ----
config forty "vary = { run = { seed = [ $(numbers 40) ]; }; };" ''
sed -i 's/epochs = 4/epochs = 1/' "$work/forty.conf"
began=$SECONDS
night list forty
echo "# $((SECONDS - began)) s of wall time for 40 trials"
is "$code $(of_series 's["state"], len({x["run"] for x in t}), {x["state"] for x in t}')" "0 ('finished', 40, {'finished'})" \
	"40 trials are trained" "$(tail -n 5 "$KILN_ROOT/log")"
is "$(of_series 's["winner"] == max(t, key=lambda x: x["value"])["name"]')" True "the best of them wins"
store="--store --config $work/forty.conf"
cpu 2 "list" "$KILN_BIN/kiln" experiments list $store
cpu 2 "show" "$KILN_BIN/kiln" experiments show $store
is "$(grep -c '^grid-' "$work/out")" 40 "show has a line for each trial"
cpu 2 "show --csv" "$KILN_BIN/kiln" experiments show --csv $store
is "$(python3 -c 'import csv, sys; r = list(csv.DictReader(open(sys.argv[1]))); v = [float(x["validation.accuracy"]) for x in r]; print(len(r), v == sorted(v, reverse=True))' "$work/out")" \
	"40 True" "sorted by the objective"
cpu 2 "compare" "$KILN_BIN/kiln" experiments compare grid-01 grid-40 $store
cpu 4 "runs" "$KILN_BIN/kiln" runs $store
cpu 4 "the page of the night" "$KILN_BIN/kiln" report "$(of_series 't[0]["run"]')" --config "$work/forty.conf" --html "$work/page.html"
[ "$(stat -c %s "$work/page.html")" -lt 2000000 ] && [ "$(grep -oE '<th>grid-[0-9]+</th>' "$work/page.html" | sort -u | wc -l)" = 40 ]
ok $? "has all trials, in $(stat -c %s "$work/page.html") bytes"

# ---- 1000 trials ----
config thousand "vary = { run = { seed = [ $(numbers 100) ]; batch_rows = [ $(numbers 10) ]; }; };" ''
cpu 10 "kiln config check of 1000 trials" "$KILN_BIN/kiln" config check "$work/thousand.conf"
node thousand
cpu 10 "kiln-oneshot begin" "$KILN_BIN/kiln-oneshot" begin --config "$work/thousand.conf"
newest_series
is "$(of_series 'len(t), t[0]["state"], t[999]["name"]')" "(1000, 'running', 'grid-1000')" "a series of 1000 begins" "$(cat "$work/err")"
echo finished >"$KILN_ROOT/data/kiln/run/current/state"
cpu 5 "kiln-oneshot trial-ended" "$KILN_BIN/kiln-oneshot" trial-ended
cpu 10 "begin of the next trial" "$KILN_BIN/kiln-oneshot" begin --config "$work/thousand.conf"
"$KILN_BIN/kiln-controld" 2>"$work/controld.log" &
wait_for 20 "$KILN_BIN/kiln" node
cpu 5 "show" "$KILN_BIN/kiln" experiments show
is "$(grep -c '^grid-' "$work/out")" 1000 "show has a line for each trial"
