#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Trials side by side share the disk cache: with an empty one the store, a real S3 server (Ceph's radosgw), sends each object to one
# of their fetchds; requests are counted by fault_proxy.py. Also when a fetchd is killed while the others wait for its object.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/series_lib.sh"
. tests/system/kill_night_lib.sh
export POCL_DEVICES="${POCL_DEVICES:-basic basic}"
need_attributes 'trials share the cache'
start_radosgw 'trials share the cache'
"$make_shards" "$work/data" train 12 600
"$make_shards" "$work/data" validation 1 200
"$make_shards" "$work/data" test 1 100
upload "$work/data" s3://kiln/data
start_fault_proxy
source="url = \"s3://kiln/data\"; endpoint = \"$proxy\";"
config turn 'vary = { optimizer = { learning_rate = [ 0.001, 0.01 ]; }; };
	fetch: { hedge_percent = 0; }; series = { method = "grid"; parallel = 1; };' 'seed = 7;'
for name in beside killed; do
	sed "s|parallel = 1|parallel = 2|; s|runs/turn\"|runs/$name\"|" "$work/turn.conf" >"$work/$name.conf"
done
# The second trial begins before the first one has its shards. (kiln-oneshot begin reads the first shard of a split.)
late='[{ "fault": "late", "match": "^GET /kiln/data/train-000(0[1-9]|1)", "ms": 2000 }]'

count() { # since: the requests for shards
	tail -n +$(($1 + 1)) "$work/proxy/requests" | grep -c '"path": "/kiln/data/[^"?]*tfrecord\|"GET /kiln/data/[^"?]*tfrecord'
}

requests_of() { # node, configuration: sets asked, code, series
	local before
	before=$(wc -l <"$work/proxy/requests")
	night "$1" "$2"
	asked=$(count "$before")
}

# ---- In turn, and side by side ----
echo "$late" >"$work/proxy/faults"
requests_of list turn
is "$code $(of_series 's["state"], s["slots"]')" "0 ('finished', 1)" "two trials in turn" "$(tail -n 5 "$KILN_ROOT/log")"
expected=$(bits turn) once=$asked
requests_of beside beside
is "$code $(of_series 's["state"], s["slots"]')" "0 ('finished', 2)" "two trials side by side" "$(tail -n 5 "$KILN_ROOT/log")"
ok $((asked * 10 > once * 11)) "with an empty cache they ask the store for the shards as often as in turn: $once requests, and $asked side by side"
is "$(bits beside)" "$expected" "with the same bits"

# ---- Killed ----
fetchds() {
	local pid
	for pid in $(programs); do
		[ "$(cat "/proc/$pid/comm" 2>/dev/null)" != kiln-fetchd ] || echo "$pid"
	done
}
both_wait() { [ -e "$work/proxy/held" ] && [ "$(fetchds | wc -l)" = 2 ]; }
echo '[{ "fault": "hold", "match": "^GET /kiln/data/train-00007", "count": 1 }]' >"$work/proxy/faults"
before=$(wc -l <"$work/proxy/requests")
node killed
mkdir -p "$KILN_ROOT/data/kiln/cache"
cp -a "$work/nodes/list/data/kiln/cache/kernels" "$KILN_ROOT/data/kiln/cache/"
timeout 200 "$KILN_BIN/kiln" run --config "$work/killed.conf" >>"$KILN_ROOT/out" 2>>"$KILN_ROOT/log" &
night=$!
wait_for 60 both_wait
ok $? "two fetchds work, and the answer for a shard is held back"
mapfile -t pids < <(fetchds)
[ "$(tail -n +$((before + 1)) "$work/proxy/requests" | grep -c '/kiln/data/train-00007')" -le 1 ]
ok $? "one of them has asked for it" "$(tail -n 5 "$work/proxy/requests")"
since=$SECONDS
kill -KILL "${pids[0]}"
sleep 0.3
kill -KILL "${pids[1]}" 2>/dev/null
wait $night
code=$?
took=$((SECONDS - since))
touch "$work/proxy/released"
newest_series
[ "$took" -lt 60 ]
ok $? "no fetchd waits a minute for the shard of one that was killed" "it took $took s"
is "$code $(of_series 's["state"]') $(bits killed)" "0 finished $expected" "both are killed, and the night ends with the same bits" "$(tail -n 5 "$KILN_ROOT/log")"
