#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Two boxes with one run.name begin in the same second: each gets an id of its own, for its run as for its series. The stores: one
# that does not know If-None-Match, and a folder, which knows what it means.
. "$(dirname "$0")/lib.sh"
a_shard "$work/data"
python3 tests/system/unconditional_s3.py "$work/port" 2>"$work/server.log" &
wait_for 10 test -s "$work/port"
port=$(cat "$work/port")
config() { # name, sink, more keys
	cat >"$work/$1.conf" <<-CONF
		run: { name = "t"; };
		source: { url = "file://$work/data"; };
		sink: { $2 };
		split: { test_glob = ""; };
		${3:-}
	CONF
}
three='vary = { run = { seed = [ 1, 2, 3 ]; }; };'
config run "url = \"s3://bucket\"; endpoint = \"http://127.0.0.1:$port\"; credential = \"store\";"
config series "url = \"s3://bucket/series\"; endpoint = \"http://127.0.0.1:$port\"; credential = \"store\";" "$three"
config folder "url = \"file://$work/folder\";" "$three"
a_box() { # name, a digit: prepares it
	node "$1"
	mkdir -p "$KILN_ROOT/etc/kiln/credentials" "$KILN_ROOT/data/kiln/credentials"
	printf "$2%.0s" {1..32} >"$KILN_ROOT/etc/machine-id"
	printf 'aws_access_key_id = ID\naws_secret_access_key = SECRET\n' >"$KILN_ROOT/data/kiln/credentials/store"
}
begun=()
for night in run series folder; do
	a_box $night-one a
	a_box $night-two b
done
sleep "0.$((1000000000 - 10#$(date +%N)))" # to the begin of a second
for night in run series folder; do
	for box in one two; do
		name=$night-$box
		(
			KILN_ROOT=$work/nodes/$name timeout 120 "$KILN_BIN/kiln-oneshot" begin --config "$work/$night.conf" >"$work/$name.id" 2>"$work/$name.log"
			echo $? >"$work/$name.rc"
		) &
		begun[${#begun[@]}]=$!
	done
done
wait "${begun[@]}"
stored() { # night, key below the sink: prints an object
	case $1 in
	run) curl -s "http://127.0.0.1:$port/bucket/$2" ;;
	series) curl -s "http://127.0.0.1:$port/bucket/series/$2" ;;
	folder) cat "$work/folder/$2" ;;
	esac
}
for night in run series folder; do
	is "$(cat "$work/$night-one.rc" "$work/$night-two.rc" | xargs)" "0 0" "$night: both begin" "$(tail -n 5 "$work/$night"-{one,two}.log)"
	[ -s "$work/$night-one.id" ] && [ "$(cat "$work/$night-one.id")" != "$(cat "$work/$night-two.id")" ]
	ok $? "$night: each run has an id of its own" "$(cat "$work/$night"-{one,two}.{id,log})"
	for box in one two; do
		machine=$(cat "$work/nodes/$night-$box/etc/machine-id")
		like "$(stored $night "$(cat "$work/$night-$box.id")/run.json")" "$machine" "$night: the store's record of $box is that box's"
		[ $night != run ] || continue
		ids=("$work/nodes/$night-$box/data/kiln/run/series"/*)
		is "${#ids[@]}" 1 "$night: $box has one series"
		like "$(stored $night "series/$(basename "${ids[0]}")/series.json")" "$machine" "$night: the store's record of it is that box's"
		like "$(cat "${ids[0]}/series.json")" "$machine" "$night: $box knows that the series is its own"
	done
done
like "$(cat "$work"/run-{one,two}.log)" 's3://bucket.*does not know If-None-Match: looking in 10 s' "the log says why it waits"
like "$(cat "$work"/series-{one,two}.log)" 'the store has a series with this id already, so this one gets a later id' "and which box gave way"
