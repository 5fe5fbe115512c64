#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# One network thread and three for a source: the same records in the same order, also when requests fail, when a window
# fails in one thread, and when fetchd is killed.
. "$(dirname "$0")/fetch_lib.sh"
start_radosgw 'network threads'
server=${KILN_S3_ENDPOINT##*:}

config() { # name, port, fetch's keys
	cat >"$work/kiln.conf" <<-CONF
		run: { name = "t"; epochs = 2; batch_rows = 32; };
		source: { url = "s3://$KILN_S3_BUCKET/data"; endpoint = "http://127.0.0.1:$2"; };
		sink: { url = "file://$work/runs/$1"; };
		ring: { small_pages = true; };
		order: { window_shards = 3; };
		schema = ( { name = "sentence"; dtype = "float32"; shape = [ 8 ]; },
		           { name = "label"; dtype = "int64"; shape = [ 2 ]; } );
		fetch: { part_bytes = ${part_bytes:-65536}; connect_timeout_ms = 2000; attempts_max = ${attempts:-20}; low_speed_s = 1; $3 };
	CONF
}

start_proxy() { # name, faults, options...
	proxied=$work/proxy-$1
	mkdir "$proxied"
	[ -z "$2" ] || echo "$2" >"$proxied/faults"
	/usr/bin/python3 tests/system/fault_proxy.py "$proxied" "$server" "${@:3}" >"$proxied/port" 2>"$proxied/err" &
	proxy=$!
	wait_for 20 test -s "$proxied/port"
	port=$(cat "$proxied/port")
}

# A run with three threads through a proxy has the rows of the run with one thread, and met a fault.
same() { # name, name of the test, faults, options of the proxy
	start_proxy "$1" "$3" ${4:-}
	whole_run "three-$1" "$port" 'network_threads = 3;' >"$work/$1.out"
	kill "$proxy"
	wait "$proxy" 2>/dev/null
	cmp -s "$work/one" "$work/$1.out" && grep -qE '"fault": "[a-z]' "$proxied/requests"
	ok $? "$2" "$(tail -n 2 "$work/$1.out" "$KILN_ROOT/fetchd.log" "$proxied/err"; cat "$proxied/faults")"
}

"$make_shards" "$work/data" train 10 800 plain
"$make_shards" "$work/data" test 2 300
upload "$work/data" "s3://$KILN_S3_BUCKET/data"

whole_run one "$server" 'network_threads = 1;' >"$work/one"
like "$(tail -n 1 "$work/one")" END_RUN "a run with one thread ends" "$(tail -n 2 "$KILN_ROOT/fetchd.log")"
like "$(cat "$KILN_ROOT/fetchd.log")" 'network threads for each source: 1, fetch.network_threads says so; on cores' "it says so"
whole_run three "$server" 'network_threads = 3;' >"$work/three"
cmp -s "$work/one" "$work/three"
ok $? "three threads: the same records in the same order" "$(tail -n 1 "$work/three" "$KILN_ROOT/fetchd.log")"
like "$(cat "$KILN_ROOT/fetchd.log")" 'network threads for each source: 3, fetch.network_threads says so' "three threads, indeed"
whole_run two "$server" 'network_threads = 8; connections = 2;' >"$work/two"
cmp -s "$work/one" "$work/two"
ok $? "more threads than connections: the same" "$(tail -n 1 "$work/two" "$KILN_ROOT/fetchd.log")"
like "$(cat "$KILN_ROOT/fetchd.log")" 'network threads for each source: 2, a source has no more connections' "each thread has a connection"

begin figures "$server" 'network_threads = 3;'
start_fetchd
timeout 60 "$reader" >/dev/null
wait $fetchd
bytes=$("$KILN_BUILD/system/show_status" fetchd bytes)
stored=$(cat "$work/data"/* | wc -c)
[ "$bytes" -ge "$stored" ]
ok $? "the figures of the threads are added" "$bytes bytes, the shards have $stored"

# ---- Faults ----
same refused '503, resets, short bodies and wrong bytes: the same' '[{"fault": "status", "from": 5, "count": 15},
	{"fault": "reset", "at": 3000, "from": 3, "count": 12}, {"fault": "short", "at": 1, "from": 8, "count": 5},
	{"fault": "corrupt", "at": 5000, "from": 40, "count": 1}]'
same stalled 'requests that stall: the same' '[{"fault": "stall", "at": 1000, "from": 9, "count": 2}]'
same dark 'a network that is dead for 2 s: the same' '[{"fault": "dark", "seconds": 2, "from": 10, "count": 1}]'
for seed in 1 2 3; do
	same "seed$seed" "faults of seed $seed: the same" '' "--seed $seed"
done

# ---- A window that fails in one thread is given up in all, and loaded once more when its rows are needed ----
# One connection asks for the shards in their order: the fifth is in the second window, of three shards. Three answers of 500 use
# up all attempts of it while the reader holds the first slot: nobody needs the second window by then.
part_bytes=8000000 attempts=3
start_proxy window ''
whole_run ahead "$port" 'network_threads = 1; connections = 1; hedge_percent = 0;' >"$work/ahead"
kill "$proxy"
wait "$proxy" 2>/dev/null
shard=$(sed '1,/manifest/d' "$proxied/requests" | grep -o 'train-[0-9]*-of-[0-9]*\.tfrecord' | sed -n 5p) # after the last request of begin
start_proxy fails '[{"fault": "status", "status": 500, "match": "^GET .*'"$shard"'", "count": 3}]'
begin fails "$port" 'network_threads = 3; hedge_percent = 0;'
failed_thrice() {
	[ "$(grep -c '"fault": "status"' "$proxied/requests")" -eq 3 ]
}
start_fetchd
timeout 60 "$reader" --rows --hold "$work/go" >"$work/fails" &
follower=$!
wait_for 40 failed_thrice
sleep 1 # fetchd reads the third answer
touch "$work/go"
wait $follower
kill $fetchd 2>/dev/null
wait $fetchd
kill "$proxy"
wait "$proxy" 2>/dev/null
cmp -s "$work/one" "$work/fails"
ok $? "a window that failed ahead is loaded once more: the same" "$(tail -n 2 "$work/fails" "$KILN_ROOT/fetchd.log")"
like "$(cat "$KILN_ROOT/fetchd.log")" "$shard.* after 3 attempts.*loading its window once more" "the log says so"
unset part_bytes attempts

# ---- Kills ----
begin killed "$server" 'network_threads = 3;'
killed_at '^DATA 0 0 20 ' '^DATA 1 0 1 ' '^DATA 0 1 5 ' '^DATA 2 0 1 '
cmp -s <(grep -v ^ROW "$work/one") "$work/killed"
ok $? "killed in train, validation and test segments: the same slots" \
	"$(wc -l <"$work/killed") of $(grep -vc ^ROW "$work/one") lines"
wait $fetchd 2>/dev/null
