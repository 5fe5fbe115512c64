#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Trials side by side on a machine with two devices (PoCL's): a grid with series.parallel = 2 ends with the bits that it has in
# turn, also when its programs are killed again and again, or the process of one slot is; halving ends; a night with fewer devices goes on.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/series_lib.sh"
. tests/system/kill_night_lib.sh
export POCL_DEVICES="${POCL_DEVICES:-basic basic}"
"$make_shards" "$work/data" train 6 600
"$make_shards" "$work/data" validation 1 200
"$make_shards" "$work/data" test 1 100

# ---- In turn, and side by side ----
grid='vary = { optimizer = { learning_rate = [ 0.001, 0.01 ]; name = [ "adam", "sgd" ]; }; };'
config turn "$grid series = { method = \"grid\"; };" 'seed = 7;'
config beside "$grid series = { method = \"grid\"; parallel = 2; };" 'seed = 7;'
sed -i 's/epochs = 4/epochs = 25/' "$work/turn.conf" "$work/beside.conf"
began=$EPOCHREALTIME
night list turn
in_turn=$(echo "$EPOCHREALTIME - $began" | bc)
is "$code $(of_series 's["state"], s["slots"]')" "0 ('finished', 1)" "a grid in turn" "$(tail -n 5 "$KILN_ROOT/log")"
expected=$(bits turn)
began=$EPOCHREALTIME
night beside beside
is "$code $(of_series 's["state"], s["slots"]')" "0 ('finished', 2)" "the grid side by side" "$(tail -n 20 "$KILN_ROOT/log")"
echo "# in turn $in_turn s, side by side $(echo "$EPOCHREALTIME - $began" | bc) s of wall time"
is "$(bits beside)" "$expected" "it has the same bits and figures of every trial"
of_memory() { grep -oE '[0-9]+ of memory' "$work/nodes/$1/log" | sort | uniq -c | xargs; }
is "$(of_memory list), $(of_memory beside)" "4 2147483648 of memory, 4 1073741824 of memory" "each kiln-fetchd has its share of fetch.memory_bytes"
is "$(of_series 'sorted({x.get("slot", 0) for x in t})')" "[0, 1]" "both slots have trained"
is "$(of_series 'len({x["run"] for x in t}), len(t)')" "(4, 4)" "each trial has a run of its own"

# ---- Killed ----
kills_wanted=${KILN_KILLS:-6}
sed 's|runs/beside"|runs/killed"|' "$work/beside.conf" >"$work/killed.conf"
killed_night killed killed 3 list
is "$code $(of_series 's["state"]') $(find "$KILN_ROOT/data/kiln/run/series" -name series.json | wc -l)" "0 finished 1" \
	"killed $kills times, the same series finishes" "$(tail -n 5 "$KILN_ROOT/log")"
is "$(bits killed)" "$expected" "with the same bits and figures of every trial"
is "$(find "$work/runs/killed" -name run.json | wc -l) $(of_series 'len({x["run"] for x in t})')" "4 4" "and no trial has run twice"

# ---- The process of a slot is killed, and nobody starts the night again ----
sed 's|runs/beside"|runs/orphan"|' "$work/beside.conf" >"$work/orphan.conf"
node orphan
timeout 200 "$KILN_BIN/kiln" run --config "$work/orphan.conf" >>"$KILN_ROOT/out" 2>>"$KILN_ROOT/log" &
night=$!
slots_of() { pgrep -P "$(pgrep -P $night)" -x kiln; }
two_slots() { [ "$(slots_of | wc -l)" = 2 ] && [ -e "$KILN_ROOT/data/kiln/run/slot-1/current/run.json" ]; }
wait_for 60 two_slots
kill -KILL "$(slots_of | tail -n 1)"
wait $night
code=$?
newest_series
is "$code $(of_series 's["state"]') $(bits orphan)" "0 finished $expected" "the slot works again, and the night ends with the same bits" \
	"$(tail -n 5 "$KILN_ROOT/log")"

# ---- Halving ----
config halving 'vary = { optimizer = { learning_rate = { min = 1e-5; max = 0.1; scale = "log"; }; }; };
	series = { method = "halving"; trials = 6; reduction = 2; parallel = 0; };' 'seed = 7;'
night halving halving
is "$code $(of_series 's["state"], s["slots"], sorted({x["state"] for x in t})')" "0 ('finished', 2, ['finished', 'pruned'])" \
	"halving, a slot for each device" "$(tail -n 5 "$KILN_ROOT/log")"
is "$(of_series 's["winner"] == max((x for x in t if x["state"] == "finished"), key=lambda x: x["value"])["name"]')" True "the best of those that have finished wins"

# ---- Fewer devices in the next night ----
sed 's|runs/beside"|runs/fewer"|' "$work/beside.conf" >"$work/fewer.conf"
node fewer
both() { [ "$(find "$KILN_ROOT"/data/kiln/spool/traind/*/checkpoints -name '*.safetensors' -printf '%h\n' 2>/dev/null | sort -u | wc -l)" -ge 2 ]; }
"$KILN_BIN/kiln" run --config "$work/fewer.conf" >>"$KILN_ROOT/out" 2>>"$KILN_ROOT/log" &
wait_for 60 both
kill -TERM $!
wait $!
code=$?
newest_series
is "$code $(of_series 's["state"], [x["state"] for x in t].count("running")')" "1 ('running', 2)" "a night of two slots is interrupted" "$(tail -n 5 "$KILN_ROOT/log")"
POCL_DEVICES=basic night fewer fewer
is "$code $(of_series 's["state"], s["slots"]') $(bits fewer)" "0 ('finished', 1) $expected" "with one device it goes on in turn, and ends with the same bits" \
	"$(tail -n 5 "$KILN_ROOT/log")"
