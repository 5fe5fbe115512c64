#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# kiln stalls: tells which stage a waiting reader waits for, during the wait and afterwards. Stages are held by a preloaded
# library, and by faults between fetchd and a real S3 server (Ceph's radosgw). Also fetchd's choices, and their reasons.
# shellcheck source=tests/system/lib.sh
. "$(dirname "$0")/lib.sh"
reader=$KILN_BUILD/system/fetch_reader kiln=$KILN_BIN/kiln

start() { # name, source, floats of a record, keys of fetch, options of the reader...
	node "$1"
	cat >"$work/$1.conf" <<-CONF
		run: { name = "t"; epochs = 1; batch_rows = 64; };
		source: { $2 };
		sink: { url = "file://$work/runs/$1"; };
		ring: { small_pages = true; };
		order: { window_shards = 2; };
		schema = ( { name = "sentence"; dtype = "float32"; shape = [ $3 ]; },
		           { name = "label"; dtype = "int64"; shape = [ 2 ]; } );
		fetch: { part_bytes = 65536; hedge_percent = 0; $4 };
	CONF
	"$KILN_BIN/kiln-oneshot" begin --config "$work/$1.conf" >"$work/$1.begin" 2>&1
	"$KILN_BIN/kiln-controld" 2>"$work/$1.controld" &
	controld=$!
	# The faults are for fetchd: kiln-oneshot, which looks at the data, meets none of them.
	[ ! -e "$work/$1.proxy/faults.later" ] || mv "$work/$1.proxy/faults.later" "$work/$1.proxy/faults"
	LD_PRELOAD=${preload:-} "$KILN_BIN/kiln-fetchd" 2>"$work/$1.fetchd" &
	fetchd=$!
	timeout 120 stdbuf -oL "$reader" "${@:5}" >"$work/$1.out" 2>"$work/$1.err" &
	reading=$!
}

begin() { # name, faults, keys of fetch, options of the reader...
	mkdir -p "$work/$1.proxy"
	echo "$2" >"$work/$1.proxy/faults.later"
	/usr/bin/python3 tests/system/fault_proxy.py "$work/$1.proxy" "$server" >"$work/$1.proxy/port" 2>"$work/$1.proxy/err" &
	proxy=$!
	wait_for 20 test -s "$work/$1.proxy/port"
	start "$1" "url = \"s3://kiln/data\"; endpoint = \"http://127.0.0.1:$(cat "$work/$1.proxy/port")\";" 8 "${@:3}"
}

# The last answer about the run remains after fetchd has ended.
end() { # name
	wait $reading
	wait $fetchd
	"$kiln" stalls --json >"$work/$1.json" 2>&1
	"$kiln" stalls >"$work/$1.text" 2>&1
	kill $controld ${proxy:-}
	wait $controld ${proxy:-} 2>/dev/null
	"$KILN_BIN/kiln-oneshot" release
	grep -q ^END_RUN "$work/$1.out"
	ok $? "$1: the run goes through" "$(tail -n 3 "$work/$1".{out,err,fetchd,begin} 2>&1)"
}

of_json() { # expression over s, the stage's seconds, and d, the answer
	/usr/bin/python3 -c 'import json, sys
d = json.load(sys.stdin)
s = {x["stage"]: x["waited_s"] for x in d.get("stages", [])}
print('"$1"')'
}
worst() { of_json 'max((v, k) for k, v in s.items() if k != "list")[1]' <"$work/$1.json"; }
waits_for() { [[ "$("$kiln" stalls --json | of_json 'd["run"] and d["now"] and d["now"]["stage"]')" =~ ^($1)$ ]]; }
key_is_known() { [[ "$("$kiln" stalls --json | of_json 'd["run"] and d["now"] and d["now"]["key"]')" =~ ^train-.*tfrecord$ ]]; }

# A stage is held until kiln stalls has reported the wait.
told() { # stage: whether kiln stalls has counted a second of waiting for it
	[ "$("$kiln" stalls --json | of_json "s[\"$1\"] >= 1")" = True ]
}
kept() { # name, stage: the report remains
	is "$(of_json "s[\"$2\"] >= 1" <"$work/$1.json")" True "afterwards that is kept" "$(of_json s <"$work/$1.json")"
}

# ---- Stages that this machine's cores do ----
export KILN_HOLD=$work/hold
mkdir "$KILN_HOLD"
"$KILN_BUILD/system/make_shards" "$work/gzip" train 40 200 gzip 512
held() { # name, options of the reader...
	preload=$KILN_BUILD/system/preload/hold.so start "$1" "url = \"file://$work/gzip\";" 512 '' "${@:2}"
}
for one in inflate:inflate crc:parse; do
	touch "$KILN_HOLD/${one%:*}"
	held "${one#*:}"
	wait_for 30 told "${one#*:}" && waits_for "${one#*:}"
	ok $? "while a shard is in ${one%:*}: it waits for stage ${one#*:}" "$("$kiln" stalls)"
	rm "$KILN_HOLD/${one%:*}"
	end "${one#*:}"
	kept "${one#*:}" "${one#*:}"
done

# A worker rests while the ring is always full, and works again when the reader had to wait for the others.
workers() { "$kiln" stalls --json | of_json 'd["tuning"]["workers"], d["tuning"]["workers_max"], d["tuning"]["workers_why"]'; }
reader_is() { # STOP, CONT
	kill "-$1" "$(pgrep -P $reading)"
}
held tuned --pace-ms 50
wait_for 30 grep -q ^DATA "$work/tuned.out"
most=$("$kiln" stalls --json | of_json 'd["tuning"]["workers_max"]')
if [ "$most" -gt 1 ]; then
	reader_is STOP
	wait_for 60 grep -q "decode workers: $((most - 1)) of $most, the ring was full all the time" "$work/tuned.fetchd"
	ok $? 'a reader that takes nothing: one decode worker less' "$(cat "$work/tuned.fetchd")"
	touch "$KILN_HOLD/inflate"
	reader_is CONT
	wait_for 30 told inflate
	reader_is STOP
	rm "$KILN_HOLD/inflate"
	wait_for 30 grep -q "decode workers: [0-9]* of $most, the trainer waited for them" "$work/tuned.fetchd"
	ok $? 'one that had to wait for them: one more' "$(cat "$work/tuned.fetchd")"
	like "$(workers)" 'the trainer waited for them' 'status has the reason'
	reader_is CONT
else
	skip 'decode workers follow the waits' 'one core'
fi
end tuned
like "$(cat "$work/tuned.text")" '^requests .*: a folder is read without requests$' 'a folder: why there are no requests'

# ---- A store behind faults ----
start_radosgw 'faults of a store'
server=${KILN_S3_ENDPOINT##*:}
"$KILN_BUILD/system/make_shards" "$work/data" train 4 8000 plain
upload "$work/data" s3://kiln/data

begin dripping '[{"fault": "drip", "rate": 20000, "from": 20, "count": 1}]' 'low_speed_s = 60;'
wait_for 30 waits_for transfer
ok $? 'while an answer drips: it waits for the transfer' "$("$kiln" stalls)"
wait_for 30 key_is_known
ok $? 'and of which shard' "$("$kiln" stalls --json)"
like "$("$kiln" stalls)" '^now +the trainer waits: transfer of train-.*tfrecord' 'so kiln stalls says'
like "$("$kiln" status --json)" '"fetch":' 'status has it besides'
like "$("$kiln" metrics)" '^kiln_stall_seconds_total[{]stage="transfer"[}] [0-9.]+' 'and metrics'
end dripping
like "$(cat "$work/dripping.text")" '^now +kiln-fetchd has ended' 'after its end it waits for nothing'
is "$(worst dripping)" transfer 'afterwards: most of the wait was for the transfer'
like "$(cat "$work/dripping.text")" '^most +the network, or the store' 'which kiln stalls puts into words'
like "$(cat "$work/dripping.text")" '^requests +[0-9]+ of at most [0-9]+, 0[.]1 MiB each: [a-z]' 'what was chosen, and why'
like "$(cat "$work/dripping.text")" '^workers +[0-9]+ of [0-9]+: [a-z]' 'and of the workers'
like "$(grep 'waited' "$work/dripping.fetchd")" 'the reader waited .*transfer [0-9.]+ s' 'the log keeps it'

begin thinking '[{"fault": "hold", "from": 20, "count": 1}]' 'low_speed_s = 60;'
wait_for 30 told first_byte && waits_for first_byte
ok $? 'while the store thinks: it waits for the first byte' "$("$kiln" stalls)"
touch "$work/thinking.proxy/released"
end thinking
kept thinking first_byte

begin listing '[{"match": "GET /kiln/?[?].*versions", "fault": "hold", "count": 1}]' 'low_speed_s = 60;'
wait_for 30 test -e "$work/listing.proxy/held"
ok $? 'the list is asked for' "$(cat "$work/listing.proxy/requests")"
sleep 1 # the request is held for at least so long
touch "$work/listing.proxy/released"
end listing
kept listing list

begin refused '[{"fault": "refuse", "seconds": 4, "from": 20, "count": 1}]' 'connect_timeout_ms = 2000;'
wait_for 30 waits_for 'connect|retry'
ok $? 'while connections are refused: it waits for one' "$("$kiln" stalls)"
end refused
like "$(worst refused)" '^(retry|connect)$' 'afterwards: most of it went into attempts that failed'

begin dark '[{"fault": "stall", "at": 0, "from": 20, "count": 1}]' 'low_speed_s = 3;'
end dark
is "$(worst dark)" retry 'an answer that never came: most of it went into that attempt'

begin slow '[]' '' --pace-ms 10
end slow
of_json 's' <"$work/slow.json" >"$work/slow.stages"
is "$(of_json 'd["ring_full_s"] > 10 * (sum(s.values()) - s["list"])' <"$work/slow.json")" True \
	'a slow reader: the ring was full, and it hardly waited' 

node idle
"$KILN_BIN/kiln-controld" 2>"$work/idle.controld" &
controld=$!
wait_for 20 "$kiln" node >/dev/null 2>&1
like "$("$kiln" stalls; echo "code $?")" 'no run fetches.*
code 7' 'an idle box says so, and exits with 7'
kill $controld
wait $controld 2>/dev/null
