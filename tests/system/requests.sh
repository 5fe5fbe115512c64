#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Requests to the store: a slow range is requested twice, within fetch.hedge_percent and never beyond. The number of
# simultaneous requests stays at what fetch.target_bytes_per_s needs, and status reports it. A real S3 server (Ceph's radosgw)
# behind fault_proxy.py, whose log counts the requests.
# shellcheck source=tests/system/lib.sh
. "$(dirname "$0")/lib.sh"
reader=$KILN_BUILD/system/fetch_reader show_status=$KILN_BUILD/system/show_status kiln=$KILN_BIN/kiln
part_bytes=65536
start_radosgw 'what the store is asked for'
server=${KILN_S3_ENDPOINT##*:}

"$KILN_BUILD/system/make_shards" "$work/data" train 6 8000 plain
upload "$work/data" s3://kiln/data

start() { # name, source, keys of order, keys of fetch
	node "$1"
	cat >"$work/$1.conf" <<-CONF
		run: { name = "t"; epochs = 1; batch_rows = 64; };
		source: { $2 };
		sink: { url = "file://$work/runs/$1"; };
		split: { validation_percent = 0; test_glob = ""; };
		ring: { small_pages = true; };
		order: { $3 };
		schema = ( { name = "sentence"; dtype = "float32"; shape = [ 8 ]; },
		           { name = "label"; dtype = "int64"; shape = [ 2 ]; } );
		fetch: { part_bytes = $part_bytes; low_speed_s = 120; $4 };
	CONF
	"$KILN_BIN/kiln-oneshot" begin --config "$work/$1.conf" >"$work/$1.begin" 2>&1
	"$KILN_BIN/kiln-controld" 2>"$work/$1.controld" &
	controld=$!
	"$KILN_BIN/kiln-fetchd" 2>"$work/$1.fetchd" &
	fetchd=$!
	"$reader" >"$work/$1.out" 2>"$work/$1.err" &
	reading=$!
}

behind_proxy() { # name, faults, keys of order, keys of fetch
	proxied=$work/$1.proxy
	mkdir "$proxied"
	echo "$2" >"$proxied/faults"
	/usr/bin/python3 tests/system/fault_proxy.py "$proxied" "$server" >"$proxied/port" 2>"$proxied/err" &
	wait_for 20 test -s "$proxied/port"
	start "$1" "url = \"s3://kiln/data\"; endpoint = \"http://127.0.0.1:$(cat "$proxied/port")\";" "$3" "$4"
}

run_ends() { # name: the run ends by itself
	wait_for 60 grep -q ^END_RUN "$work/$1.out" || kill -KILL $fetchd $reading 2>/dev/null
	wait $reading $fetchd 2>/dev/null
	"$kiln" stalls --json >"$work/$1.json" 2>&1
	kill $controld
	wait $controld 2>/dev/null
	"$KILN_BIN/kiln-oneshot" release
}

# Whether $1, a Python expression over these names, is true of the proxy's log. held: number of requests that were held.
# twice, thrice: what was requested more than once, more than twice. asked: bytes of all requests. most: the most simultaneous
# requests.
logged() { # expression
	/usr/bin/python3 - "$proxied/requests" "$1" <<-'E'
		import collections, json, sys
		shards = [r for r in map(json.loads, open(sys.argv[1])) if r["range"] and "tfrecord" in r["path"]]
		asked_for = collections.Counter((r["path"], r["range"]) for r in shards)
		held_of = {(r["path"], r["range"]) for r in shards if r["fault"] == "hold"}
		held = sum(r["fault"] == "hold" for r in shards)
		def bytes_of(range):
		    first, last = range.removeprefix("bytes=").split("-")
		    return int(last) + 1 - int(first)
		twice = {of for of, n in asked_for.items() if n > 1}
		thrice = {of for of, n in asked_for.items() if n > 2}
		once_bytes = sum(bytes_of(of[1]) for of in asked_for)
		twice_bytes = sum(bytes_of(of[1]) for of in twice)
		moments = sorted([(r["t"], 1) for r in shards] + [(r["end"], -1) for r in shards])
		n = most = 0
		for _, change in moments:
		    n += change
		    most = max(most, n)
		print(f"{len(shards)} requests, {held} held, {len(twice)} ranges twice, {twice_bytes} of {once_bytes} bytes, {most} at once")
		sys.exit(not eval(sys.argv[2]))
	E
}

same_records() { # name, what
	cmp -s "$work/files.out" "$work/$1.out" && grep -q ^END_RUN "$work/$1.out"
	ok $? "$2" "$(tail -n 3 "$work/$1".{out,err,fetchd,begin} 2>&1)"
}

start files "url = \"file://$work/data\";" 'window_shards = 2;' ''
run_ends files

# ---- Requested twice: held requests are answered only after $proxied/released exists ----
release_held() { # count: waits until so many requests are in the log
	touch "$proxied/released"
	wait_for 20 logged "held == $1"
}

hold() { # name, how many, keys of fetch
	behind_proxy "$1" "[{\"fault\": \"hold\", \"from\": 40, \"count\": $2}]" 'window_shards = 2;' "$3"
}

hold one 1 ''
run_ends one
same_records one 'a range that never comes is asked for again: the run has its records'
release_held 1
result=$(logged 'held == 1 and held_of <= twice and not thrice and twice_bytes <= max(65536, once_bytes * 5 / 100)')
ok $? 'it was asked for twice, and no more than fetch.hedge_percent of the bytes' "$result"
grep -q 'hedged=[1-9][0-9]* won=[1-9]' "$work/one.fetchd"
ok $? 'as the log counts' "$(tail -n 2 "$work/one.fetchd")"

hold three 3 'hedge_percent = 100;'
run_ends three
same_records three 'so are three, where fetch.hedge_percent allows them'
release_held 3
result=$(logged 'held == 3 and held_of <= twice and not thrice')
ok $? 'each of them twice' "$result"

# The trainer waits for held ranges: long enough for a client without a budget to request all of them again.
waited_s() { "$kiln" stalls --json | /usr/bin/python3 -c 'import json, sys; print(int(sum(s["waited_s"] for s in json.load(sys.stdin)["stages"])))'; }
has_waited_longer() { [ "$(waited_s)" -ge $(($1 + 3)) ]; }
waits_for_held() { # name
	wait_for 60 test -e "$proxied/held" && wait_for 60 has_waited_longer "$(waited_s)"
	ok $? "$1: the trainer waits" "$("$kiln" stalls)"
}

# One per cent of the data, 4 MB, is less than a range: the first hedge is free, and there is no second one.
hold budget 3 'hedge_percent = 1;'
waits_for_held budget
is "$("$show_status" fetchd hedged)" 1 'a budget of one range: the second is not asked for again'
release_held 3
run_ends budget
same_records budget 'they come some time, and the run has its records'
result=$(logged 'held == 3 and len(twice) == 1 and not thrice')
ok $? 'the store was asked for one range twice, in all of the run' "$result"

hold never 1 'hedge_percent = 0;'
waits_for_held never
release_held 1
run_ends never
same_records never 'without a budget it comes when it comes'
result=$(logged 'held == 1 and not twice')
ok $? 'and nothing is asked for twice' "$result"

# ---- Simultaneous requests: each answer is late, so that more requests would be faster ----
at_rate() { # name, bytes/s, expression on the tuning in status that has to become true
	behind_proxy "$1" '[{"fault": "late", "ms": 300}]' 'window_shards = 6;' "hedge_percent = 0; target_bytes_per_s = $2;"
	wait_for 60 tuning "$3"
	ok $? "$1: status says what follows from it" "$("$kiln" stalls)"
	run_ends "$1"
	same_records "$1" "$1: the records are the same"
}
tuning() { "$kiln" stalls --json | /usr/bin/python3 -c 'import json, sys
t = json.load(sys.stdin)["tuning"]
sys.exit(not eval(sys.argv[1]))' "$1"; }

start files "url = \"file://$work/data\";" 'window_shards = 6;' ''
run_ends files
at_rate 'a low target rate' 1000 \
	't["requests_in_flight"] == 8 and t["request_bytes"] == 65536 and t["requests_why"] == "the target rate is reached"'
result=$(logged 'most <= 8')
ok $? 'no more requests at once than it takes' "$result"
at_rate 'a high target rate' 1000000000000L 't["requests_in_flight"] > 8 and "target" not in t["requests_why"]'
result=$(logged 'most > 8')
ok $? 'more requests at once' "$result"
