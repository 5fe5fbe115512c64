#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# An object that differs from the plan's: the run stops and names both versions, unless the bytes have the SHA-256 that
# manifest.jsonl had for the object, or fetch.changed_object allows the new version.
# shellcheck source=tests/system/lib.sh
. "$(dirname "$0")/lib.sh"
make_shards=$KILN_BUILD/system/make_shards reader=$KILN_BUILD/system/fetch_reader

manifest() { # folder
	python3 - "$1" <<-'PY'
		import hashlib, json, os, sys
		with open(os.path.join(sys.argv[1], "manifest.jsonl"), "w") as out:
		    for name in sorted(os.listdir(sys.argv[1])):
		        if name.endswith("tfrecord"):
		            data = open(os.path.join(sys.argv[1], name), "rb").read()
		            print(json.dumps({"key": name, "size": len(data), "sha256": hashlib.sha256(data).hexdigest()}), file=out)
	PY
}

fetch() { # options of the reader; prints the rows it got
	"$KILN_BIN/kiln-fetchd" 2>>"$KILN_ROOT/log" &
	fetchd=$!
	timeout 60 "$reader" "$@"
	kill -KILL $fetchd 2>/dev/null
	wait $fetchd 2>/dev/null
}

# Makes the plan and fetches a batch before anything changes.
begin() { # name, source, keys of fetch
	node "$1"
	cat >"$work/$1.conf" <<-CONF
		run: { name = "t"; epochs = 2; batch_rows = 32; };
		source: { $2 };
		sink: { url = "file://$work/runs/$1"; };
		ring: { small_pages = true; };
		split: { validation_percent = 0; test_glob = ""; };
		order: { window_shards = 2; };
		fetch: { $3 };
		schema = ( { name = "sentence"; dtype = "float32"; shape = [ 8 ]; },
		           { name = "label"; dtype = "int64"; shape = [ 2 ]; } );
	CONF
	"$KILN_BIN/kiln-oneshot" begin --config "$work/$1.conf" >/dev/null 2>"$KILN_ROOT/begin.log"
	fetch --stop-after 1 >/dev/null
}

data() { # name: four shards
	"$make_shards" "$work/$1" train 4 500 plain
}
changed() {
	python3 -c 'import json, sys; print(*json.load(open(sys.argv[1])).get("changed", []))' "$KILN_ROOT/data/kiln/run/current/run.json"
}
shard=train-00002-of-00004.tfrecord
pins="^ERROR -116 $shard .*changed: pinned [0-9]+ bytes, [0-9-]+; found [0-9]+ bytes, [0-9-]+"

data plain
begin plain "url = \"file://$work/plain\";" ''
fetch >"$work/expected"
is "$(tail -n 1 "$work/expected")" END_RUN 'unchanged, it goes through'

# ---- The same bytes again ----
data same
manifest "$work/same"
begin same "url = \"file://$work/same\";" ''
touch "$work/same/$shard"
fetch >"$work/same.out"
cmp -s "$work/expected" "$work/same.out"
ok $? 'the bytes of manifest.jsonl: the run goes on, with the same slots' "$(tail -n 1 "$work/same.out")"
like "$(cat "$KILN_ROOT/log")" "$shard: the object changed since the plan was made, but its bytes have the SHA-256 of manifest.jsonl; going on" 'and says so'
is "$(changed)" '' 'nothing is left to say in the record'

data silent
begin silent "url = \"file://$work/silent\";" ''
manifest "$work/silent"
touch "$work/silent/$shard"
like "$(fetch)" "$pins" 'a manifest that came later vouches for nothing: both pins are named'

# ---- Other bytes of the same length, and their manifest ----
data other
manifest "$work/other"
begin other "url = \"file://$work/other\";" ''
printf '\377' | dd of="$work/other/$shard" bs=1 seek=100 conv=notrunc status=none
like "$(fetch)" "^ERROR -116 $shard .*$shard changed: found SHA-256 [0-9a-f]{64}, manifest.jsonl says [0-9a-f]{64}" 'other bytes: the run stops'
manifest "$work/other"
like "$(fetch)" "$pins" 'nor does a manifest that was made for them vouch for them'

# ---- Allowed by fetch.changed_object ----
data replan
begin replan "url = \"file://$work/replan\";" 'changed_object = "replan"; part_bytes = 65536;'
"$make_shards" "$work/longer" train 4 7000 plain
cp "$work/longer/$shard" "$work/replan/$shard"
# Wait for the second of two windows: at least 1 000 rows come before it.
fetch --stop-after 40 --save "$work/cursor" >"$work/replan.out"
like "$(cat "$KILN_ROOT/log")" "$shard: the object changed since the plan was made, which fetch.changed_object allows: the run cannot be repeated; going on" \
	'replan: it says so'
fetch --cursor "$work/cursor" >>"$work/replan.out"
is "$(tail -n 1 "$work/replan.out")" END_RUN 'replan: the run goes on with the new one, also after a restart'
is "$(awk '$1 == "END_SEGMENT" { print $5 }' "$work/replan.out" | tail -n 1)" 8500 'which has more records'
is "$(changed)" "$shard" 'and its record names the object'
rm "$work/replan/$shard"
like "$(fetch)" "^ERROR -2 $shard" 'an object that is gone is not replaced'

# ---- A manifest that is too large to read ----
data large
truncate -s 1300M "$work/large/manifest.jsonl"
begin large "url = \"file://$work/large\";" ''
like "$(cat "$KILN_ROOT/log")" 'manifest.jsonl: found 1363148800 bytes, at most 268435456 are allowed; going on without it' \
	'a manifest of 1.3 GB: the run goes on without it'

# ---- From a real server ----
start_radosgw 'from a server'
upload "$work/plain" "s3://$KILN_S3_BUCKET/data"
begin server "url = \"s3://$KILN_S3_BUCKET/data\"; endpoint = \"$KILN_S3_ENDPOINT\";" 'changed_object = "replan"; cache_bytes = 100000000;'
"$KILN_BUILD/system/store" upload "s3://$KILN_S3_BUCKET/data" "$shard" "$work/longer/$shard" >/dev/null
rm -rf "$KILN_ROOT/data/kiln/cache"
fetch >"$work/server.out"
is "$(tail -n 1 "$work/server.out") $(changed)" "END_RUN $shard" 'a server, and a cache in between: it goes on'
