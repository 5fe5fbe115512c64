#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# How soon a run is as fast as before after a fault: an endless run from radosgw through fault_proxy.py. Compares the bytes
# received in the 10 s before a fault with those in the 10 s that begin 10 s after its end, and prints a JSON line per fault
# with the ratio. A measurement needs a quiet machine, so this is no part of make test.
# shellcheck source=tests/system/lib.sh
. "$(dirname "$0")/../system/lib.sh"
LEAST=0.8
start_radosgw 'recovery'
server=${KILN_S3_ENDPOINT##*:}
"$KILN_BUILD/system/make_shards" "$work/data" train 8 8000 plain 512
upload "$work/data" "s3://$KILN_S3_BUCKET/data"

mkdir "$work/proxy"
echo '[]' >"$work/proxy/faults"
/usr/bin/python3 tests/system/fault_proxy.py "$work/proxy" "$server" >"$work/proxy/port" 2>"$work/proxy/err" &
wait_for 20 test -s "$work/proxy/port"

node recovery
cat >"$work/kiln.conf" <<-CONF
	run: { name = "t"; epochs = 100000; };
	source: { url = "s3://$KILN_S3_BUCKET/data"; endpoint = "http://127.0.0.1:$(cat "$work/proxy/port")"; };
	sink: { url = "file://$work/runs"; };
	ring: { small_pages = true; };
	split: { validation_percent = 0; test_glob = ""; };
	order: { window_shards = 1; };
	schema = ( { name = "sentence"; dtype = "float32"; shape = [ 512 ]; }, { name = "label"; dtype = "int64"; shape = [ 2 ]; } );
CONF
"$KILN_BIN/kiln-oneshot" begin --config "$work/kiln.conf" >/dev/null 2>"$work/begin.log"
ok $? 'a run without end' "$(cat "$work/begin.log")"
"$KILN_BIN/kiln-fetchd" 2>"$KILN_ROOT/log" &
fetchd=$!
"$KILN_BUILD/system/fetch_reader" --rate >/dev/null &
reader=$!

received() {
	"$KILN_BUILD/system/show_status" fetchd bytes
}

in_ten_seconds() {
	local before
	before=$(received)
	sleep 10
	echo $(($(received) - before))
}

recovers() { # name, seconds, fault
	local before after ratio
	before=$(in_ten_seconds)
	echo "[$3]" >"$work/proxy/faults"
	sleep "$2"
	echo '[]' >"$work/proxy/faults"
	sleep 10
	after=$(in_ten_seconds)
	ratio=$(awk "BEGIN { printf \"%.3f\", $after / ($before > 0 ? $before : 1) }")
	awk "BEGIN { exit !($before > 10000000 && $ratio >= $LEAST) }"
	ok $? "$1: as fast as before 10 s after its end" "$before bytes in 10 s before, $after after: $ratio; $(tail -n 3 "$KILN_ROOT/log")"
	echo '{"name":"recovery","case":"'"$1"'","value":'"$ratio"',"unit":"of the rate before"}'
}

sleep 10
for round in 1 2; do # a fault in the first minute, and one later
	recovers "503 to everything for 5 s, $round" 5 '{"fault": "status", "status": 503}'
done
recovers '429 with Retry-After for 5 s' 5 '{"fault": "status", "status": 429, "retry_after": 2}'
recovers '500 to half of the requests for 10 s' 10 '{"fault": "status", "status": 500, "match": "tfrecord.*0000[0-3]-of"}'
recovers 'connections reset for 5 s' 5 '{"fault": "reset", "at": 1000000}'
recovers 'short bodies for 5 s' 5 '{"fault": "short", "at": 1000000}'
recovers 'nothing moves for 30 s' 30 '{"fault": "dark", "seconds": 30, "count": 1}'
recovers 'every connection is refused for 10 s' 10 '{"fault": "refuse", "seconds": 10, "count": 1}'
recovers 'a drip of 100 kB/s for 10 s' 10 '{"fault": "drip", "at": 1000, "rate": 100000}'
kill -0 $fetchd
ok $? 'fetchd never ended' "$(tail -n 5 "$KILN_ROOT/log")"
kill -KILL $reader $fetchd
wait $reader $fetchd 2>/dev/null
