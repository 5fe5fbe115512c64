#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Read-ahead: while the trainer waits for windows from a slow store, fetchd reads more of them at the same time, as far as
# fetch.memory_bytes allows. status tells how many and why, and the records stay the same.
# shellcheck source=tests/system/lib.sh
. "$(dirname "$0")/lib.sh"
reader=$KILN_BUILD/system/fetch_reader kiln=$KILN_BIN/kiln
start_radosgw 'read-ahead'
server=${KILN_S3_ENDPOINT##*:}

"$KILN_BUILD/system/make_shards" "$work/data" train 48 700 plain
upload "$work/data" s3://kiln/data

fetch() { # name, source, keys of order, keys of fetch: prints the trainer's rows
	node "$1"
	cat >"$work/$1.conf" <<-CONF
		run: { name = "t"; epochs = 2; batch_rows = 64; };
		source: { $2 };
		sink: { url = "file://$work/runs/$1"; };
		ring: { small_pages = true; slots = 4; };
		split: { validation_percent = 0; test_glob = ""; };
		order: { $3 };
		schema = ( { name = "sentence"; dtype = "float32"; shape = [ 8 ]; },
		           { name = "label"; dtype = "int64"; shape = [ 2 ]; } );
		fetch: { hedge_percent = 0; $4 };
	CONF
	"$KILN_BIN/kiln-oneshot" begin --config "$work/$1.conf" >"$work/$1.begin" 2>&1
	"$KILN_BIN/kiln-controld" 2>"$work/$1.controld" &
	controld=$!
	"$KILN_BIN/kiln-fetchd" 2>"$work/$1.fetchd" &
	fetchd=$!
	timeout 120 "$reader" >"$work/$1.out" 2>"$work/$1.err"
	wait $fetchd
	"$kiln" stalls --json >"$work/$1.json" 2>&1
	"$kiln" stalls >"$work/$1.text" 2>&1
	kill $controld
	wait $controld 2>/dev/null
	"$KILN_BIN/kiln-oneshot" release
}

late() { # name, the run to compare with, keys of order, keys of fetch: the answer for each shard is late
	mkdir -p "$work/$1.proxy"
	echo '[{"fault": "late", "ms": 200}]' >"$work/$1.proxy/faults"
	/usr/bin/python3 tests/system/fault_proxy.py "$work/$1.proxy" "$server" >"$work/$1.proxy/port" 2>"$work/$1.proxy/err" &
	proxy=$!
	wait_for 20 test -s "$work/$1.proxy/port"
	fetch "$1" "url = \"s3://kiln/data\"; endpoint = \"http://127.0.0.1:$(cat "$work/$1.proxy/port")\";" "$3" "$4"
	kill $proxy
	wait $proxy 2>/dev/null
	cmp -s "$work/$1.out" "$work/$2.out" && grep -q ^END_RUN "$work/$1.out"
	ok $? "$1: the trainer gets the same as from files" "$(tail -n 3 "$work/$1".{out,err,fetchd,begin} 2>&1)"
}

# The most requests for shards that the store had at the same time.
at_once() {
	/usr/bin/python3 - "$work/$1.proxy/requests" <<-'E'
		import json, sys
		requests = [r for r in map(json.loads, open(sys.argv[1])) if r["fault"] == "late"]
		moments = sorted([(r["t"], 1) for r in requests] + [(r["end"], -1) for r in requests])
		n = most = 0
		for _, change in moments:
		    n += change
		    most = max(most, n)
		print(most)
	E
}
tuning() { /usr/bin/python3 -c 'import json, sys; print(json.load(sys.stdin)["tuning"]["windows_ahead'"${2:-}"'"])' <"$work/$1.json"; }

fetch files "url = \"file://$work/data\";" 'window_shards = 1;' ''
like "$(cat "$work/files.text")" '^read ahead +[0-9]+ of at most [0-9]+ windows: [a-z]' 'kiln stalls tells the read-ahead and why'

late late files 'window_shards = 1;' ''
[ "$(tuning late)" -ge 8 ] && [ "$(at_once late)" -ge 8 ]
ok $? 'a trainer that waits: more windows are read ahead' "$(tuning late) ahead, $(at_once late) requests at once"
like "$(tuning late _why)" '^(the trainer waited for windows to arrive|more are never read ahead)$' 'for that reason'
like "$(cat "$work/late.fetchd")" 'windows read ahead: 2 a stream, the trainer waited for windows to arrive' 'which the log has, too'

late tight-late files 'window_shards = 1;' 'memory_bytes = 1048576;'
max=$(tuning tight-late _max)
[ "$(at_once tight-late)" -le $((max + 1)) ] && [ "$(tuning tight-late)" -le "$max" ] && [ "$max" -lt 31 ] && [ "$max" -ge 2 ]
ok $? 'never more than fetch.memory_bytes holds' "$(tuning tight-late) of $max ahead, $(at_once tight-late) at once"
is "$(tuning tight-late _why)" 'fetch.memory_bytes holds no more windows' 'as it says'
! grep -q 'lie in' "$work/tight-late.fetchd"
ok $? 'so that nothing lies on disk for it'

fetch files-4 "url = \"file://$work/data\";" 'lanes = 4; window_shards = 2;' ''
late lanes-late-4 files-4 'lanes = 4; window_shards = 2;' ''
[ "$(tuning lanes-late-4)" -gt 1 ]
ok $? 'four lanes read ahead, each' "$(cat "$work/lanes-late-4.json")"
