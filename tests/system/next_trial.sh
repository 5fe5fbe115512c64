#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The first objects of the next trial are fetched into the disk cache while the last one still trains, from a real S3 server (Ceph's
# radosgw); requests are counted by fault_proxy.py. Other data; the same data in a cache that is too small; kiln-fetchd killed
# in the middle; a trial that ends in the middle; side by side.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/series_lib.sh"
. tests/system/kill_night_lib.sh
export POCL_DEVICES="${POCL_DEVICES:-basic basic}"
need_attributes 'the next trial'
start_radosgw 'the next trial'
for prefix in train more; do
	"$make_shards" "$work/data" $prefix 12 600
done
"$make_shards" "$work/data" validation 1 200
upload "$work/data" s3://kiln/data
start_fault_proxy
source="url = \"s3://kiln/data\"; endpoint = \"$proxy\";"

make_config() { # name, keys: two epochs, and a ring that holds them, so that kiln-fetchd needs no more objects before the trainer has begun
	config "$1" "fetch: { hedge_percent = 0; ${3:-} }; $2" 'seed = 7;'
	sed -i 's|epochs = 4|epochs = 2|; s|small_pages = true;|& slots = 512;|' "$work/$1.conf"
}
other='experiments = ( { name = "first"; }, { name = "second"; overrides = { split = { train_glob = "more-*"; }; }; } );'
make_config other "$other series = { parallel = 1; };"
for name in killed ended; do
	sed "s|runs/other\"|runs/$name\"|" "$work/other.conf" >"$work/$name.conf"
done
sed 's|parallel = 1|parallel = 2|; s|runs/other"|runs/beside"|' "$work/other.conf" >"$work/beside.conf"
make_config large 'vary = { run = { seed = [ 1, 2 ]; }; }; series = { method = "grid"; };'
make_config small 'vary = { run = { seed = [ 1, 2 ]; }; }; series = { method = "grid"; };' \
	"cache_bytes = $(($(cat "$work"/data/train-0000[0-8]* | wc -c) + 64));"

asked() { # regular expression of a key: requests for it since the night began. (kiln-oneshot begin reads the first shard of a split.)
	tail -n +$((before + 1)) "$work/proxy/requests" | grep -cE "/kiln/data/($1)[^\"?]*tfrecord"
}
others='more-000(0[1-9]|1[01])'

# Begins a night and stops the trainer of its first trial before it has a batch.
begin_night() { # node, configuration, faults of later requests: sets night, trainer, before
	before=$(wc -l <"$work/proxy/requests" 2>/dev/null || echo 0)
	rm -f "$work/proxy/held" "$work/proxy/released"
	echo "[{ \"fault\": \"late\", \"match\": \"^GET /kiln/data/train-00007\", \"count\": 1, \"ms\": 3000 }${3:-}]" >"$work/proxy/faults"
	node "$1"
	mkdir -p "$KILN_ROOT/data/kiln/cache"
	[ "$1" = list ] || cp -a "$work/nodes/list/data/kiln/cache/kernels" "$KILN_ROOT/data/kiln/cache/"
	timeout 200 "$KILN_BIN/kiln" run --config "$work/$2.conf" >>"$KILN_ROOT/out" 2>>"$KILN_ROOT/log" &
	night=$!
	wait_for 60 waits_for_shards
	kill -STOP "$trainer"
}
waits_for_shards() {
	trainer=$(program kiln-traind)
	[ -n "$trainer" ] && [ "$(asked 'train-00001')" -gt 0 ] && grep -q 'traind: starting' "$KILN_ROOT/log"
}
end_night() { # sets code, series
	kill -CONT "$trainer"
	wait $night
	code=$?
	newest_series
}
ahead() { grep -c 'fetched ahead for trial' "$KILN_ROOT/log"; }
is_ahead() { [ "$(ahead)" -gt 0 ]; }
ended() { of_series '[x["state"] for x in t]'; }

# ---- Other data ----
begin_night list other
wait_for 60 is_ahead
is "$(grep -o 'trial second: [0-9]* objects' "$KILN_ROOT/log")" 'trial second: 6 objects' "while the first trial is stopped, the first two windows of the second one are fetched" \
	"$(tail -n 5 "$KILN_ROOT/log")"
newest_series
is "$(ended)" "['running', 'waiting']" "the first trial has not ended"
early=$(asked "$others")
counted() { [ "$("$KILN_BUILD/system/show_status" fetchd next_objects)" = 6 ]; }
wait_for 10 counted
ok $? "the status page counts them"
end_night
is "$code $(ended)" "0 ['finished', 'finished']" "the night ends" "$(tail -n 5 "$KILN_ROOT/log")"
[ "$early" -ge 5 ]
ok $? "the store was asked for them before the trial ended" "$early"
is "$(asked "$others")" 11 "and is asked for every object once"
is "$(ls "$KILN_ROOT/data/kiln/cache/new" "$KILN_ROOT"/data/kiln/cache/*.plan* 2>/dev/null | grep -v :)" "" "nothing is left beside the objects"
expected=$(bits other)

# ---- Side by side: which slot takes the next trial is not known ----
rm "$work/proxy/faults"
before=$(wc -l <"$work/proxy/requests")
night beside beside
is "$code $(of_series 's["slots"]') $(ahead)" "0 2 0" "side by side nothing is fetched ahead" "$(tail -n 5 "$KILN_ROOT/log")"
is "$(bits beside)" "$expected" "both nights have the same bits"

# ---- Killed ----
hold=', { "fault": "hold", "match": "^GET /kiln/data/more-000(0[1-9]|1)", "from": 2, "count": 1 }'
begin_night killed killed "$hold"
wait_for 60 test -e "$work/proxy/held"
ok $? "an object of the second trial is held back"
kill -KILL "$(program kiln-fetchd)"
touch "$work/proxy/released"
wait_for 60 is_ahead
ok $? "kiln-fetchd is killed, and the next one fetches what is missing" "$(tail -n 5 "$KILN_ROOT/log")"
end_night
is "$code $(bits killed)" "0 $expected" "the night ends with the same bits" "$(tail -n 5 "$KILN_ROOT/log")"
is "$(ls "$KILN_ROOT/data/kiln/cache/new" "$KILN_ROOT"/data/kiln/cache/*.plan* 2>/dev/null | grep -v :)" "" "nothing is left beside the objects"

# ---- The trial ends in the middle ----
begin_night ended ended "$hold"
wait_for 60 test -e "$work/proxy/held"
since=$SECONDS
end_night
[ $((SECONDS - since)) -lt 60 ]
ok $? "the trial ends while an object is held back, and the next one does not wait for it" "$((SECONDS - since)) s"
is "$code $(bits ended)" "0 $expected" "the night ends with the same bits" "$(tail -n 5 "$KILN_ROOT/log")"
touch "$work/proxy/released"

# ---- The same data ----
begin_night large large
wait_for 60 is_ahead
is "$(grep -o 'objects, [0-9]* bytes' "$KILN_ROOT/log")" 'objects, 0 bytes' "what the cache has is not asked for again"
end_night
is "$code $(asked 'train-000(0[1-9]|1[01])')" "0 11" "the store sends each object once in the night" "$(tail -n 5 "$KILN_ROOT/log")"
expected=$(bits large)
begin_night small small
wait_for 60 is_ahead
end_night
grep -oE 'fetched ahead for trial grid-02: [1-3] objects' "$KILN_ROOT/log" >/dev/null
ok $? "a cache that is too small for all has the objects of the first windows" "$(grep ahead "$KILN_ROOT/log")"
[ "$(cat "$KILN_ROOT"/data/kiln/cache/objects/*/* | wc -c)" -le "$(sed -n 's/.*cache_bytes = \([0-9]*\).*/\1/p' "$work/small.conf")" ]
ok $? "within its bounds"
is "$code $(bits small)" "0 $expected" "with the same bits" "$(tail -n 5 "$KILN_ROOT/log")"
