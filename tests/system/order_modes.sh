#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# order.filter, skip_rows, take_rows and mode: the records of an epoch that are trained on, and their order.
. "$(dirname "$0")/fetch_lib.sh"
data=$work/data

config() { # name, order's keys, fetch's keys
	cat >"$work/kiln.conf" <<-CONF
		run: { name = "t"; epochs = 2; batch_rows = 32; };
		source: { url = "file://$data"; };
		sink: { url = "file://$work/runs/$1"; };
		split: { test_glob = ""; };
		ring: { small_pages = true; };
		order: { window_shards = 3; $2 };
		schema = ( { name = "sentence"; dtype = "float32"; shape = [ 8 ]; },
		           { name = "label"; dtype = "int64"; shape = [ 2 ]; } );
		fetch: { ${3:-} };
	CONF
}

"$make_shards" "$data" train 14 70
whole_run all '' >"$work/all"
is "$(rows 0 0 "$work/all" | wc -l) $(rows 1 0 "$work/all" | wc -l)" "910 70" "13 shards for training, one for validation"

# ---- Compressed or not ----
data=$work/mixed
mkdir "$data"
/usr/bin/python3 - "$work/data" "$data" <<-'PY'
	import gzip, os, sys, zlib
	for i, name in enumerate(sorted(os.listdir(sys.argv[1]))):
	    plain = gzip.open(f"{sys.argv[1]}/{name}").read()
	    with open(f"{sys.argv[2]}/{name}", "wb") as file:
	        file.write([lambda b: b, gzip.compress, zlib.compress][i % 3](plain))
PY
is "$(for shard in "$data"/*; do od -An -tx1 -N1 "$shard"; done | sort | uniq -c | xargs)" "5 1f 5 45 4 78" \
	"plain, gzip and zlib shards in one folder"
whole_run mixed '' >"$work/other"
cmp -s "$work/all" "$work/other"
ok $? "give the slots of gzip ones"
data=$work/data

# ---- Filter ----
whole_run ones 'filter = "label[1] == 1";' >"$work/ones"
whole_run zeros 'filter = "label[1] == 0";' >"$work/zeros"
for part in "0 0" "0 1" "1 0"; do
	cmp -s <(sorted $part "$work/all") <({ rows $part "$work/ones"; rows $part "$work/zeros"; } | sort) &&
		[ "$(rows $part "$work/ones" | wc -l)" -gt 0 ] && [ "$(rows $part "$work/zeros" | wc -l)" -gt 0 ]
	ok $? "segment $part: those with the label and those without it are all" \
		"$(rows $part "$work/ones" | wc -l) and $(rows $part "$work/zeros" | wc -l)"
done
whole_run ones-lanes 'filter = "label[1] == 1"; lanes = 4;' >"$work/other"
cmp -s <(sorted 0 1 "$work/ones") <(sorted 0 1 "$work/other")
ok $? "the same records with 4 lanes"
begin revisit 'filter = "sentence[0] < 0.2"; lanes = 2;'
revisited 20 "any place of a filtered run can be gone back to"
whole_run none 'filter = "label[0] == 5";' >"$work/other"
like "$(tail -n 1 "$work/other")" '^ERROR -74 .*hold 0 rows.*order.filter "label\[0\] == 5"' "a filter that leaves nothing is named"
begin several 'filter = "label == 1";'
like "$? $(tr '\n' ' ' <"$KILN_ROOT/begin.log")" '^65 .*train-.*: record 0: .*feature "label": found several values, order.filter names none' \
	"so is one that cannot be told, before the run begins"
begin wrong 'filter = "label = 1";'
like "$(cat "$KILN_ROOT/begin.log")" 'order.filter: found "label = 1", allowed: FEATURE OP VALUE' "a wrong one begins no run"

# ---- Skip and take ----
whole_run skipped 'skip_rows = 333;' >"$work/skipped"
for epoch in 0 1; do
	cmp -s <(rows 0 $epoch "$work/all" | tail -n +334) <(rows 0 $epoch "$work/skipped")
	ok $? "epoch $epoch without its first 333 rows"
done
cmp -s <(rows 1 0 "$work/all") <(rows 1 0 "$work/skipped")
ok $? "validation is whole"
whole_run taken 'skip_rows = 333; take_rows = 200;' >"$work/taken"
for epoch in 0 1; do
	cmp -s <(rows 0 $epoch "$work/all" | tail -n +334 | head -n 200) <(rows 0 $epoch "$work/taken")
	ok $? "and of those the next 200"
done
is "$(awk '$1 == "END_SEGMENT" && $2 == 0 { print $4 ":" $5 }' "$work/taken" | xargs)" "7:200 7:200" "in 7 batches"
whole_run dropped 'skip_rows = 333; take_rows = 200; remainder = "drop";' >"$work/other"
cmp -s <(rows 0 1 "$work/taken" | head -n 192) <(rows 0 1 "$work/other")
ok $? "in 6 with remainder drop"
begin revisit-taken 'skip_rows = 333; take_rows = 200; lanes = 4;'
revisited 20 "any place of such a run can be gone back to"
whole_run beyond 'skip_rows = 2000;' >"$work/other"
like "$(tail -n 1 "$work/other")" '^ERROR -74 .*too few for a batch.*order.skip_rows 2000' "more than there is leaves nothing"

# ---- Fast ----
for lanes in 1 4; do
	whole_run "fast-$lanes" "mode = \"fast\"; lanes = $lanes;" >"$work/fast"
	same=0
	for part in "0 0" "0 1"; do
		cmp -s <(sorted $part "$work/all") <(sorted $part "$work/fast") || same=1
	done
	cmp -s <(sorted 1 0 "$work/all") <(sorted 1 0 "$work/fast") || same=1
	ok $same "fast, $lanes lanes: every record once an epoch"
	[ "$(rows 0 0 "$work/fast" | sha256sum)" != "$(rows 0 0 "$work/all" | sha256sum)" ] &&
		[ "$(rows 0 0 "$work/fast" | sha256sum)" != "$(rows 0 1 "$work/fast" | sha256sum)" ]
	ok $? "fast, $lanes lanes: in another order"
done

whole_run fast-drop 'mode = "fast"; remainder = "drop";' >"$work/fast"
is "$(rows 0 1 "$work/fast" | sort -u | wc -l) $(rows 0 1 "$work/fast" | wc -l)" "896 896" "fast, remainder drop: 28 batches of 32, no record twice"
[ -z "$(comm -13 <(sorted 0 1 "$work/all") <(sorted 0 1 "$work/fast"))" ]
ok $? "and none of another pass"

begin stopped 'mode = "fast";'
start_fetchd
timeout 60 "$reader" --rows --stop-after 9 --save "$work/cursor" >"$work/head"
kill -KILL $fetchd
wait $fetchd 2>/dev/null
start_fetchd
timeout 60 "$reader" --rows --cursor "$work/cursor" >"$work/tail"
wait $fetchd
is "$(tail -n 1 "$work/tail")" END_RUN "a fast run goes on after fetchd was killed"
missing=$(comm -23 <(sorted 0 0 "$work/all") <(cat "$work/head" "$work/tail" | grep '^ROW 0 0' | cut -d' ' -f4 | sort -u) | wc -l)
[ "$missing" -le 210 ]
ok $? "and misses records of one window at most" "$missing of 910"

begin status 'mode = "fast";'
start_fetchd
"$KILN_BIN/kiln-controld" 2>"$KILN_ROOT/controld.log" &
controld=$!
like "$(timeout 60 "$reader" --stop-after 3 | head -n 1)" '^DATA 0 0 0' "a fast run"
fast() { "$KILN_BIN/kiln" status | grep -q '^order  *fast: records as they arrive; a resumed run may repeat or miss some'; }
wait_for 20 fast
ok $? "kiln status says that the order is fast" "$("$KILN_BIN/kiln" status 2>&1; cat "$KILN_ROOT/controld.log")"
kill $controld $fetchd
wait $controld $fetchd
