#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Faults between fetchd and a real S3 server (Ceph's radosgw), made by fault_proxy.py: a run ends with the records of an
# undisturbed run, in the same order, or stops with the sentence that says why. Then random schedules of faults, by seed:
# KILN_FAULT_SEEDS of them (10). The tests mostly wait, so KILN_FAULT_JOBS of them (6) run in parallel. A mount namespace
# contains the host names of this test.
[ -n "${KILN_NAMES+x}" ] || { KILN_NAMES=$(unshare --mount true 2>&1 && echo yes) && export KILN_NAMES && exec unshare --mount "$0"; }
# shellcheck source=tests/system/lib.sh
. "$(dirname "$0")/lib.sh"
reader=$KILN_BUILD/system/fetch_reader
KILN_S3_NAME=kiln.test start_radosgw 'faults'
server=${KILN_S3_ENDPOINT##*:}

"$KILN_BUILD/system/make_shards" "$work/data" train 6 8000 plain
upload "$work/data" s3://kiln/data

# Runs a case in parallel, in a shell of its own; collect() prints the results in order.
parts=0
part() { # command...
	while [ "$(jobs -rp | wc -l)" -ge "${KILN_FAULT_JOBS:-6}" ]; do wait -n; done
	parts=$((parts + 1))
	("$@") >"$work/part$parts" 2>&1 &
}

collect() {
	local n line
	wait
	for ((n = 1; n <= parts; n++)); do
		while IFS= read -r line; do
			case $line in
			ok\ * | not\ ok\ *)
				tap_n=$((tap_n + 1))
				[[ $line = ok* ]] || tap_failed=1
				echo "${line%%ok*}ok $tap_n - ${line#*ok * - }"
				;;
			*) echo "$line" ;;
			esac
		done <"$work/part$n"
		grep -qE '^(not )?ok ' "$work/part$n" || ok 1 "part $n says how it ended" "$(cat "$work/part$n")"
	done
	parts=0
}

start_proxy() { # name, faults, options...
	mkdir -p "$work/$1"
	proxied=$work/$1
	[ -z "$2" ] || echo "$2" >"$proxied/faults"
	/usr/bin/python3 tests/system/fault_proxy.py "$proxied" "$server" "${@:3}" >"$proxied/port" 2>"$proxied/err" &
	proxy=$!
	wait_for 20 test -s "$proxied/port"
	port=$(cat "$proxied/port")
}

end_proxy() {
	kill -KILL "$proxy"
	wait "$proxy" 2>/dev/null
}

begin() { # name, endpoint, other keys of fetch
	node "$1"
	cat >"$work/$1.conf" <<-CONF
		run: { name = "t"; epochs = 1; batch_rows = 64; };
		source: { url = "s3://kiln/data"; endpoint = "http://$2"; };
		sink: { url = "file://$work/runs/$1"; };
		ring: { small_pages = true; };
		order: { window_shards = ${window_shards:-2}; };
		schema = ( { name = "sentence"; dtype = "float32"; shape = [ 8 ]; },
		           { name = "label"; dtype = "int64"; shape = [ 2 ]; } );
		fetch: { part_bytes = ${part_bytes:-65536}; connect_timeout_ms = 2000; ${3:-low_speed_s = 1; attempts_max = 20;} };
	CONF
	# The faults are for fetchd: kiln-oneshot, which looks at the data, meets none of them.
	[ ! -e "$work/$1/faults" ] || mv "$work/$1/faults" "$work/$1/faults.later"
	"$KILN_BIN/kiln-oneshot" begin --config "$work/$1.conf" >"$work/$1.begin" 2>&1
	[ ! -e "$work/$1/requests" ] || : >"$work/$1/requests"
	[ ! -e "$work/$1/faults.later" ] || mv "$work/$1/faults.later" "$work/$1/faults"
}

# Puts the reader's lines into $work/NAME.out, fetchd's log into $KILN_ROOT/fetchd.log, and the seconds into $took.
run() { # name, endpoint, other keys of fetch
	local began=$SECONDS
	begin "$@"
	"$KILN_BIN/kiln-fetchd" 2>"$KILN_ROOT/fetchd.log" &
	fetchd=$!
	# shellcheck disable=SC2086
	timeout 60 "$reader" ${pace:-} >"$work/$1.out" 2>"$work/$1.err"
	took=$((SECONDS - began))
	grep -q ^END_RUN "$work/$1.out" && wait_for 5 test ! -d /proc/$fetchd || kill -KILL $fetchd
	wait $fetchd 2>/dev/null
	"$KILN_BIN/kiln-oneshot" release
}

details() { # name
	tail -n 3 "$work/$1.out" "$KILN_ROOT/fetchd.log" "$proxied/err" 2>&1
	cat "$proxied/faults" 2>/dev/null
}

counters() {
	grep ': requests=' "$KILN_ROOT/fetchd.log" | tail -n 1
}

# A run with these faults has the records of the undisturbed run, met the fault, and counted it.
same() { # name, counters (a regular expression; "" = none are logged), most seconds, faults, other keys
	local name=same$parts counters=${2:-^$} met again bad=0
	start_proxy "$name" "$4"
	run "$name" "127.0.0.1:$port" "${5:-}"
	met=$(grep -cE '"fault": "[a-z]' "$proxied/requests")
	end_proxy
	again=$(grep -c 'fetching it once more' "$KILN_ROOT/fetchd.log")
	# Only an answer with other bytes, or of another object, is more than the store can settle.
	[[ $4 != *corrupt* && $4 != *etag* ]] || bad=1
	cmp -s "$work/undisturbed.out" "$work/$name.out" && [ "$met" -gt 0 ] && [ "$took" -le "$3" ] && [ "$again" = $bad ] &&
		[[ $(counters) =~ $counters ]]
	ok $? "$1" "took $took s, $met requests met a fault, $again shards fetched once more, expected $2; $(counters)
$(details "$name")"
}

stops() { # name, regular expression for the last line, faults, extra keys
	local name=stops$parts
	start_proxy "$name" "$3"
	run "$name" "127.0.0.1:$port" "${4:-}"
	end_proxy
	like "$(tail -n 1 "$work/$name.out")" "$2" "$1" || details "$name"
}

stays() { # name, fetchd's exit status, regular expression for its last line, faults
	local name=stays$parts code
	start_proxy "$name" "$4"
	begin "$name" "127.0.0.1:$port" 'attempts_max = 3;'
	timeout 60 "$KILN_BIN/kiln-fetchd" 2>"$KILN_ROOT/fetchd.log"
	code=$?
	end_proxy
	"$KILN_BIN/kiln-oneshot" release
	like "$code $(tail -n 1 "$KILN_ROOT/fetchd.log")" "^$2 .*$3" "$1"
}

run undisturbed "127.0.0.1:$server" ''
is "$(awk '$1 == "DATA" { n += $5 } END { print n }' "$work/undisturbed.out")" 48000 'without faults: every record once'

# ---- Faults that pass ----
part same 'a server that is away for 30 s, with the usual attempts' 'connect=[1-9]' 58 '[{"fault": "refuse", "seconds": 30, "from": 20, "count": 1}]' 'hedge_percent = 0;'
part same 'a network that is dead for 30 s, likewise' 'timeout=[1-9]' 58 '[{"fault": "dark", "seconds": 30, "from": 20, "count": 1}]' 'low_speed_s = 2;'
part same 'connections reset at a byte' 'reset=[1-9]' 20 '[{"fault": "reset", "at": 30000, "from": 3, "count": 12}]'
part same 'short bodies' 'reset=[1-9]' 20 '[{"fault": "short", "at": 1, "from": 3, "count": 12}]'
part same 'no byte of an answer' 'reset=[1-9]' 20 '[{"fault": "short", "at": 0, "count": 3}]'
part same 'a stall is cut after the time-out' 'timeout=[1-9]' 20 '[{"fault": "stall", "at": 1000, "from": 40, "count": 1}]' 'low_speed_s = 1; hedge_percent = 0;'
part same 'or the range is asked for again before' 'hedged=[1-9][0-9]* won=[1-9].* timeout=0' 20 \
	'[{"fault": "stall", "at": 1000, "from": 40, "count": 1}]' 'low_speed_s = 30;'
part same 'so where it only drips' 'hedged=[1-9][0-9]* won=[1-9].* timeout=0' 20 '[{"fault": "drip", "rate": 5000, "at": 1000, "from": 40, "count": 1}]' 'low_speed_s = 30;'
part same '503, a burst' 'slow_down=[1-9]' 20 '[{"fault": "status", "from": 5, "count": 15}]'
part same '503 with Retry-After' 'slow_down=4' 20 '[{"fault": "status", "retry_after": 1, "from": 5, "count": 4}]'
part same '429' 'slow_down=[1-9]' 20 '[{"fault": "status", "status": 429, "from": 20, "count": 10}]'
part same '500' 'server=[1-9]' 20 '[{"fault": "status", "status": 500, "from": 5, "count": 30}]'
part same '307 to presigned URLs' '' 20 '[{"fault": "redirect"}]' 'hedge_percent = 0;'
part same 'a wrong byte: fetched once more' 'requests=' 20 '[{"fault": "corrupt", "at": 5000, "from": 20, "count": 1}, {"fault": "reset", "at": 9, "count": 1}]'
part same 'another ETag, though the object is the same: fetched once more' 'requests=' 20 '[{"fault": "etag", "from": 20, "count": 1}, {"fault": "reset", "at": 9, "count": 1}]'
part same 'another range' 'malformed=1' 20 '[{"fault": "range", "from": 20, "count": 1}]'
part same 'login pages for some ranges' 'malformed=4' 20 '[{"fault": "page", "from": 20, "count": 4}]'
part same 'seven bytes that are not HTTP, for some ranges' 'malformed=4' 20 '[{"fault": "garbage", "from": 20, "count": 4}]'
for kind in page garbage half; do
	part same "the listing: $kind, three times" '' 40 '[{"match": "(list-type|versions)=", "fault": "'$kind'", "count": 3}]'
done
for kind in page garbage; do
	part same "HEAD of the manifest: $kind, three times" '' 40 '[{"match": "^HEAD .*manifest", "fault": "'$kind'", "count": 3}]'
done

# ---- Faults that are over before the trainer needs the data ----
# Three answers of 500 use up all attempts of a shard that is read ahead of a slow trainer.
ahead() {
	local window_shards=1 part_bytes=8000000 pace='--pace-ms 5' keys='hedge_percent = 0; attempts_max = 3;' third
	start_proxy ahead ''
	run ahead "127.0.0.1:$port" "$keys"
	end_proxy
	third=$(/usr/bin/python3 -c 'import json, sys
shards = [r for r in map(json.loads, open(sys.argv[1])) if "tfrecord" in r["path"] and r["method"] == "GET"]
print(sorted(shards, key=lambda r: r["t"])[2]["path"].split("/")[-1].split("?")[0])' "$proxied/requests")
	start_proxy ahead_failed '[{"fault": "status", "status": 500, "match": "^GET .*'"$third"'", "count": 3}]'
	run ahead_failed "127.0.0.1:$port" "$keys"
	end_proxy
	is "$(grep -c '"fault": "status"' "$proxied/requests") $(grep -c "GET.*$third" "$proxied/requests")" '3 4' \
		'read-ahead that failed: the shard is asked for once more when it is needed'
	grep -q ^END_RUN "$work/ahead.out" && cmp -s "$work/ahead.out" "$work/ahead_failed.out"
	ok $? 'and the run goes on as if nothing had been' "$(details ahead_failed)"
	like "$(cat "$KILN_ROOT/fetchd.log")" "$third.* after 3 attempts.*InternalError.*loading its window once more" 'the log says so'
}
part ahead

# ---- All addresses of a name ----
{ cat /etc/hosts && printf '127.0.0.%d kiln.test\n' 2 3 4 5; } >"$work/hosts"
addresses() {
	start_proxy addresses '[{"fault": "close"}]' --listen 127.0.0.2 --listen 127.0.0.3 --listen 127.0.0.4
	run addresses "kiln.test:$port" ''
	end_proxy
	is "$(grep -o '127[.]0[.]0[.][0-9]' "$proxied/requests" | sort -u | xargs)" '127.0.0.2 127.0.0.3 127.0.0.4' \
		'connections spread over the addresses of a name'
	cmp -s "$work/undisturbed.out" "$work/addresses.out" && [ -z "$(counters)" ]
	ok $? 'one more, where nobody listens, costs not even a retry' "$(counters) $(details addresses)"
}
if [ "$KILN_NAMES" = yes ] && mount --bind "$work/hosts" /etc/hosts; then
	part addresses
else
	part skip 'addresses of a name' 'no mount namespace can be made here'
fi

# ---- Time until a fault is overcome ----
over() { # name, seconds, fault
	same "$1" 'requests=' 20 "$3"
	/usr/bin/python3 - "$proxied/requests" "$2" <<-'PY'
		import json, sys
		data = [r for r in map(json.loads, open(sys.argv[1])) if "tfrecord" in r["path"]]
		fault = max(r["t"] for r in data if r["fault"]) + float(sys.argv[2])
		late = max(r["end"] for r in data) - fault
		sys.exit(f"the last range ends {late:.1f} s after the fault" if late > 10 else 0)
	PY
	ok $? 'back within 10 s after it'
}
part over 'nothing moves for 3 s' 3 '[{"fault": "dark", "seconds": 3, "from": 20, "count": 1}]'
part over 'every connection is refused for 3 s' 3 '[{"fault": "refuse", "seconds": 3, "from": 20, "count": 1}]'
part over '503 to everything for 3 s' 0 '[{"fault": "status", "seconds": 3, "from": 20}]'

# ---- Faults that do not pass ----
part stops 'If-Match ignored, another object: both pins are named' '^ERROR -116 .*changed: pinned [0-9]+ bytes, "[0-9a-f]+.*"; found "another"' \
	'[{"fault": "etag", "from": 10}]'
part stops '403: bucket, key, code and message' '^ERROR -13 train-.* s3://kiln/data/train-.*403 AccessDenied: so it is' \
	'[{"fault": "status", "status": 403, "from": 10}]'
part stops '500 for ever: given up after all attempts' '^ERROR -5 .*after 4 attempts.*500 InternalError: so it is' \
	'[{"fault": "status", "status": 500, "from": 10}]' 'attempts_max = 4; low_speed_s = 1;'
part stops 'wrong bytes for ever' '^ERROR -74 train-.*CRC' '[{"fault": "corrupt", "at": 0, "from": 10}]'
few='attempts_max = 3; low_speed_s = 1;'
part stops 'another range for ever' '^ERROR -74 .*asked for bytes [0-9]+-[0-9]+, the answer has .bytes 1' '[{"fault": "range", "from": 10}]' "$few"
part stops 'another range for ever is no bad record' '^ERROR -74 .*asked for bytes [0-9]+-[0-9]+, the answer has .bytes 1' \
	'[{"fault": "range", "from": 10}]' "$few"' bad_record = "skip"; skip_records_max = 1000000;'
part stops 'ranges ignored' '^ERROR -74 .*ignores ranges' '[{"fault": "all", "from": 10}]' "$few"
part stops 'a login page for ever: no object changed' '^ERROR -64 train-.*the network answers for the store: found status 200' \
	'[{"fault": "page", "from": 10}]' "$few"
part stays 'a listing that is always cut: exit 65' 65 'GET s3://kiln/data/: after 3 attempts: the answer.s XML' \
	'[{"match": "(list-type|versions)=", "fault": "half"}]'
part stays 'a login page for the listing, for ever: exit 69' 69 'GET s3://kiln/data/: after 3 attempts: the network answers for the store' \
	'[{"match": "(list-type|versions)=", "fault": "page"}]'

# ---- Random schedules ----
schedule() { # seed
	local name=seed$1
	start_proxy "$name" '' --seed "$1"
	run "$name" "127.0.0.1:$port" ''
	end_proxy
	cmp -s "$work/undisturbed.out" "$work/$name.out"
	ok $? "faults of seed $1: the same records in the same order ($took s)" "$(details "$name")"
	rm -rf "$KILN_ROOT" "$work/$name" "$work/$name".* "$work/runs/$name"
}
for ((seed = 1; seed <= ${KILN_FAULT_SEEDS:-10}; seed++)); do
	part schedule "$seed"
done
collect
