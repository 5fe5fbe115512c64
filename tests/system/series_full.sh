#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The disk of a box is full again and again in mid-series: in the record of the series, in records of runs, in checkpoints and in
# the spool. Every program waits or goes on, the log says why, and the night ends with the bits that it has on an empty disk.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/series_lib.sh"
"$make_shards" "$work/data" train 6 600
"$make_shards" "$work/data" validation 1 200
"$make_shards" "$work/data" test 1 100
disks=()
cleanup() {
	local disk
	for disk in "${disks[@]}"; do
		umount "$disk" 2>/dev/null
	done
}

small_disk() { # node: prepares it; sets disk
	node "$1"
	disk=$KILN_ROOT/data/kiln
	mkdir -p "$disk"
	mount -t tmpfs -o size=32m kiln-test "$disk" 2>/dev/null || return
	disks+=("$disk")
}

fill() {
	cat /dev/zero >"$disk/fill" 2>/dev/null
}

seeds='vary = { run = { seed = [ 1, 2, 3 ]; }; };'
config whole "$seeds" ''
sed -i 's/epochs = 4/epochs = 60/' "$work/whole.conf"
night list whole
is "$code $(of_series 's["state"]')" "0 finished" "a night with space" "$(tail -n 5 "$KILN_ROOT/log")"
expected=$(bits whole)
if ! small_disk record; then
	skip "a full disk" "no tmpfs can be mounted here"
	exit
fi

# ---- In the record of the series ----
config record "$seeds" ''
"$KILN_BIN/kiln-oneshot" begin --config "$work/record.conf" >>"$KILN_ROOT/out" 2>>"$KILN_ROOT/log"
echo finished >"$disk/run/current/state"
fill
"$KILN_BIN/kiln-oneshot" trial-ended >>"$KILN_ROOT/out" 2>>"$KILN_ROOT/log" &
ended=$!
wait_for 20 grep -q 'No space left on device, waiting for space' "$KILN_ROOT/log"
ok $? "a trial has ended on a full disk: the record of its series waits for space" "$(tail -n 5 "$KILN_ROOT/log")"
newest_series
is "$(of_series '[x["state"] for x in t]')" "['running', 'waiting', 'waiting']" "the record is as it was"
rm "$disk/fill"
wait $ended
is "$? $(of_series '[x["state"] for x in t]')" "0 ['finished', 'waiting', 'waiting']" "with space it notes the end" "$(tail -n 5 "$KILN_ROOT/log")"
fill
"$KILN_BIN/kiln-oneshot" begin --config "$work/record.conf" >>"$KILN_ROOT/out" 2>"$work/begin.log"
is "$? $(of_series 's["state"], [x["state"] for x in t]')" "69 ('running', ['finished', 'waiting', 'waiting'])" \
	"the next trial does not begin on a full disk, and does not fail" "$(cat "$work/begin.log")"
like "$(cat "$work/begin.log")" 'No space left on device' "begin says why"
rm "$disk/fill"
"$KILN_BIN/kiln-oneshot" begin --config "$work/record.conf" >>"$KILN_ROOT/out" 2>>"$KILN_ROOT/log"
is "$? $(of_series '[x["state"] for x in t], len({x["run"] for x in t if x["run"]})')" "0 (['finished', 'running', 'waiting'], 2)" \
	"with space it begins" "$(tail -n 5 "$KILN_ROOT/log")"

# ---- Anywhere ----
small_disk anywhere
sed 's|runs/whole"|runs/anywhere"|' "$work/whole.conf" >"$work/anywhere.conf"
mkdir -p "$disk/cache"
cp -a "$work/nodes/list/data/kiln/cache/kernels" "$disk/cache/"
RANDOM=20 fills=0 starts=0 code=1 until=$((SECONDS + 240))
while [ $code != 0 ] && [ $SECONDS -lt $until ]; do # systemd starts a service again that failed
	timeout 200 "$KILN_BIN/kiln" run --config "$work/anywhere.conf" >>"$KILN_ROOT/out" 2>>"$KILN_ROOT/log" &
	night=$! starts=$((starts + 1))
	while kill -0 $night 2>/dev/null; do
		sleep "0.$((RANDOM % 9 + 1))"
		[ $fills -lt 12 ] || continue
		fill
		fills=$((fills + 1))
		sleep "$((RANDOM % 2)).$((RANDOM % 9 + 1))"
		rm "$disk/fill"
	done
	wait $night
	code=$?
done
newest_series
is "$code $(of_series 's["state"]') $(find "$disk/run/series" -name series.json | wc -l)" "0 finished 1" \
	"full $fills times, started $starts times: the series finishes" "$(tail -n 5 "$KILN_ROOT/log")"
is "$(bits anywhere)" "$expected" "with the same bits and figures of every trial"
is "$(find "$work/runs/anywhere" -name run.json | wc -l) $(find "$work/runs/anywhere" -path '*/model/model.safetensors' | wc -l)" "3 3" \
	"and every trial's record and model are in the store, once"
grep -q 'No space left on device' "$KILN_ROOT/log"
ok $? "the log says why it waited"
