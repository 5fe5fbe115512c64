#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# One wrong answer of a store does not end kiln-oneshot begin on a new disk: a HEAD that names another object, and bytes of a
# plan and of a checkpoint that are not those in the store. What stays wrong is named.
# shellcheck source=tests/system/lib.sh
. "$(dirname "$0")/lib.sh"
unset http_proxy https_proxy HTTP_PROXY HTTPS_PROXY all_proxy ALL_PROXY AWS_SESSION_TOKEN
export AWS_ACCESS_KEY_ID=id AWS_SECRET_ACCESS_KEY=secret
a_shard "$work/data"
mkdir "$work/lying"
/usr/bin/python3 tests/system/lying_s3.py "$work/lying" >"$work/lying/port" 2>"$work/lying/err" &
wait_for 20 test -s "$work/lying/port"
endpoint=http://127.0.0.1:$(cat "$work/lying/port")
node box
record=$KILN_ROOT/data/kiln/run/current
cat >"$work/kiln.conf" <<-CONF
	run: { name = "t"; };
	source: { url = "file://$work/data"; };
	sink: { url = "s3://kiln/runs"; endpoint = "$endpoint"; };
	ring: { small_pages = true; };
CONF

lies() { # JSON
	echo "$1" >"$work/lying/lies.new"
	mv "$work/lying/lies.new" "$work/lying/lies"
}

begin() {
	said=$("$KILN_BIN/kiln-oneshot" begin --config "$work/kiln.conf" 2>"$work/errors")
	rc=$?
	errors=$(cat "$work/errors")
}

stored() { # key below the run
	curl -sf "$endpoint/kiln/runs/$id/$1"
}

has_plan() { # run.json
	grep -qE '"plan_sha256":[^,]*"[0-9a-f]{64}"' "$1"
}

in_store() {
	has_plan <(stored run.json) && stored checkpoints/latest.json | grep -q ckpt-000000000010
}

# ---- A run with a plan and a checkpoint in the store ----
begin
id=$said
"$KILN_BIN/kiln-fetchd" 2>"$work/fetchd" &
fetchd=$!
wait_for 30 has_plan "$record/run.json"
ok $? "the run has a plan" "$(tail -n 3 "$work/fetchd")"
kill $fetchd
wait $fetchd 2>/dev/null
"$KILN_BUILD/system/make_checkpoint" "$id" 10 1000 "$work/kiln.conf"
"$KILN_BIN/kiln-uploadd" 2>"$work/uploadd" &
uploadd=$!
wait_for 30 in_store
ok $? "plan, checkpoint and record are in the store" "$(tail -n 3 "$work/uploadd")"
kill $uploadd
wait $uploadd 2>/dev/null

# ---- A new disk, and one wrong answer ----
comes_back() { # name, lies
	"$KILN_BIN/kiln-oneshot" release
	rm -rf "$KILN_ROOT/data"
	lies "$2"
	begin
	is "$rc $said $(sha256sum <"$record/plan") $(sha256sum <"$KILN_ROOT/data/kiln/spool/traind/$id/checkpoints/ckpt-000000000010.safetensors")" \
		"0 $id $(stored plan | sha256sum) $(stored checkpoints/ckpt-000000000010.safetensors | sha256sum)" "$1"
	grep -qE '(other|flip)$' "$work/lying/log"
	ok $? "$1: the answer was wrong" "$errors"
	: >"$work/lying/log"
}
comes_back 'a HEAD of the checkpoint that names another object' '[{"match": "^HEAD .*ckpt-", "lie": "other", "count": 1}]'
comes_back 'a HEAD of the plan that names another object' '[{"match": "^HEAD .*/plan", "lie": "other", "count": 1}]'
comes_back 'a checkpoint of which a byte is wrong' '[{"match": "^GET .*ckpt-0", "lie": "flip", "count": 1}]'
comes_back 'a plan of which a byte is wrong' '[{"match": "^GET .*/plan", "lie": "flip", "count": 1}]'

# ---- What stays wrong ----
stays() { # name, lies, words
	"$KILN_BIN/kiln-oneshot" release
	rm -rf "$KILN_ROOT/data"
	lies "$2"
	begin
	like "$rc ${errors//$'\n'/ }" "^65 .*$3" "$1"
	[ ! -e "$record" ]
	ok $? "$1: no record of the run is made"
}
stays 'a plan that is another one' '[{"match": "^GET .*/plan", "lie": "flip"}]' "$id/plan: SHA-256 .*, expected .* run.json"
stays 'a checkpoint that is damaged' '[{"match": "^GET .*ckpt-0", "lie": "flip"}]' 'no checkpoint in s3://kiln/runs is good: .*ckpt-000000000010'
lies '[]'
