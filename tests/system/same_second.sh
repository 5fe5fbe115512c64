#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Two boxes with one run.name begin in the same second, at a store that does not know If-None-Match: each gets an id of its own.
. "$(dirname "$0")/lib.sh"
a_shard "$work/data"
python3 tests/system/unconditional_s3.py "$work/port" 2>"$work/server.log" &
wait_for 10 test -s "$work/port"
cat >"$work/kiln.conf" <<-CONF
	run: { name = "t"; };
	source: { url = "file://$work/data"; };
	sink: { url = "s3://bucket"; endpoint = "http://127.0.0.1:$(cat "$work/port")"; credential = "store"; };
	split: { test_glob = ""; };
CONF
a_box() { # name, a digit: prepares it
	node "$1"
	mkdir -p "$KILN_ROOT/etc/kiln/credentials" "$KILN_ROOT/data/kiln/credentials"
	printf "$2%.0s" {1..32} >"$KILN_ROOT/etc/machine-id"
	printf 'aws_access_key_id = ID\naws_secret_access_key = SECRET\n' >"$KILN_ROOT/data/kiln/credentials/store"
}
a_box one a
a_box two b
begun=()
sleep "0.$((1000000000 - 10#$(date +%N)))" # to the begin of a second
for name in one two; do
	(
		KILN_ROOT=$work/nodes/$name timeout 120 "$KILN_BIN/kiln-oneshot" begin --config "$work/kiln.conf" >"$work/$name.id" 2>"$work/$name.log"
		echo $? >"$work/$name.rc"
	) &
	begun[${#begun[@]}]=$!
done
wait "${begun[@]}"
is "$(cat "$work/one.rc" "$work/two.rc" | xargs)" "0 0" "both begin" "$(tail -n 5 "$work"/{one,two}.log)"
[ -s "$work/one.id" ] && [ "$(cat "$work/one.id")" != "$(cat "$work/two.id")" ]
ok $? "each has an id of its own" "$(cat "$work"/{one,two}.{id,log})"
like "$(cat "$work/one.log" "$work/two.log")" 's3://bucket.*does not know If-None-Match: looking in 10 s' "the log says why it waits"
for name in one two; do
	said=$(curl -s "http://127.0.0.1:$(cat "$work/port")/bucket/$(cat "$work/$name.id")/run.json")
	like "$said" "$(cat "$work/nodes/$name/etc/machine-id")" "the store's record of $name is that box's"
done
