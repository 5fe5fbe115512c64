#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Several sources mixed by weight: proportions, passes, the same order every time, from any position, with any lanes.
. "$(dirname "$0")/fetch_lib.sh"

config() { # name, order's keys, fetch's keys
	cat >"$work/kiln.conf" <<-CONF
		run: { name = "t"; epochs = 2; batch_rows = 30; };
		sources = ( { url = "file://$work/a"; weight = 3.0; },
		            { url = "file://$work/b"; test_glob = "exam-*"; } ${more_sources:-} );
		sink: { url = "file://$work/runs/$1"; };
		ring: { small_pages = true; };
		order: { $2 };
		schema = ( { name = "sentence"; dtype = "float32"; shape = [ 8 ]; },
		           { name = "label"; dtype = "int64"; shape = [ 2 ]; } );
		fetch: { ${3:-} };
	CONF
}

# Both sources have the same keys, but different contents.
"$make_shards" "$work/a" train 24 50
"$make_shards" "$work/a" test 2 30
"$make_shards" "$work/b" urain 8 10
"$make_shards" "$work/b" exam 2 20
for shard in "$work/b"/urain-*; do
	mv "$shard" "${shard/urain/train}"
done
# The records of each source, from a run with this source alone.
for one in a b; do
	node "only-$one"
	cat >"$work/kiln.conf" <<-CONF
		run: { name = "t"; epochs = 1; batch_rows = 32; };
		source: { url = "file://$work/$one"; };
		sink: { url = "file://$work/runs/only-$one"; };
		split: { test_glob = "$([ $one = a ] && echo 'test-*' || echo 'exam-*')"; };
		ring: { small_pages = true; };
		schema = ( { name = "sentence"; dtype = "float32"; shape = [ 8 ]; },
		           { name = "label"; dtype = "int64"; shape = [ 2 ]; } );
	CONF
	"$KILN_BIN/kiln-oneshot" begin --config "$work/kiln.conf" >/dev/null 2>"$KILN_ROOT/begin.log"
	start_fetchd
	timeout 60 "$reader" --rows >"$work/only-$one"
	wait $fetchd
	for split in 0 1 2; do
		sorted $split "$work/only-$one" >"$work/$one$split"
	done
done
is "$(cat "$work/a0" "$work/b0" | sort | uniq -d | wc -l) $(wc -l <"$work/a0") $(wc -l <"$work/b0")" "0 1100 70" \
	"two sources without a record in common"

for lanes in 1 3; do
	whole_run "lanes$lanes" "lanes = $lanes; window_shards = 2;" 'decode_workers = 1;' >"$work/lanes$lanes"
	like "$(tail -n 1 "$work/lanes$lanes")" END_RUN "$lanes lanes: a run ends" "$(tail -n 2 "$KILN_ROOT/fetchd.log")"
	for epoch in 0 1; do
		cmp -s "$work/a0" <(sorted 0 $epoch "$work/lanes$lanes" | grep -Ff "$work/a0")
		ok $? "$lanes lanes: epoch $epoch is one pass over the first source"
		count=$(rows 0 $epoch "$work/lanes$lanes" | grep -cFf "$work/b0")
		[ "$count" -gt 300 ] && [ "$count" -lt 434 ]
		ok $? "$lanes lanes: about one row of four from the second" "$count beside 1100"
	done
	counts=$(sorted 0 "$work/lanes$lanes" | grep -Ff "$work/b0" | uniq -c | awk '{ print $1 }' | sort -n)
	lowest=$(head -n 1 <<<"$counts") highest=$(tail -n 1 <<<"$counts")
	[ "$(wc -l <<<"$counts")" = 70 ] && [ "$lowest" -ge 5 ] && [ $((highest - lowest)) -le $((lanes == 1 ? 1 : 5)) ]
	ok $? "$lanes lanes: its passes are whole and go on from epoch to epoch" "each record $lowest to $highest times"
	for split in 1 2; do
		cmp -s <(sort "$work/a$split" "$work/b$split") <(sorted $split $((split == 1)) "$work/lanes$lanes")
		ok $? "$lanes lanes: split $split holds each record of both once"
	done
	whole_run "workers$lanes" "lanes = $lanes; window_shards = 2;" 'decode_workers = 3;' >"$work/other"
	cmp -s "$work/lanes$lanes" "$work/other"
	ok $? "$lanes lanes: the same with three workers"
done

begin revisit 'lanes = 2; window_shards = 2;'
revisited 40 "any place of such a run can be gone back to"

begin killed 'lanes = 3; window_shards = 2;'
killed_at '^DATA 0 0 20 ' '^DATA 1 0 1 ' '^DATA 0 1 5 ' '^DATA 2 0 1 '
cmp -s <(grep -v ^ROW "$work/lanes3") "$work/killed"
ok $? "killed in train, validation and test segments: the same slots" \
	"$(wc -l <"$work/killed") of $(grep -vc ^ROW "$work/lanes3") lines"
wait $fetchd 2>/dev/null

# An empty source would make its rows wait for ever.
mkdir "$work/c"
: >"$work/c/train-00000-of-00001.tfrecord"
more_sources=", { url = \"file://$work/c\"; }"
begin nothing ''
start_fetchd
like "$(timeout 60 "$reader" | tail -n 1)" '^ERROR -74 .*file://.*/c: a whole pass over lane 0 of 1 gave no record' \
	"a source without records is an error that names it"
kill -KILL $fetchd
wait $fetchd 2>/dev/null
: >"$work/c/prep.incomplete"
begin incomplete ''
like "$(cat "$KILN_ROOT/begin.log")" '/c/prep.incomplete: kiln prep did not finish' "begin looks at every source"
rm "$work/c"/*
begin missing ''
like "$(cat "$KILN_ROOT/begin.log")" 'the data do not fit .*/c: no object matches split.train_glob "train-\*"' "and finds one without shards"
: >"$work/c/train-0"
begin vanished ''
rm "$work/c"/*
like "$(start_fetchd; wait $fetchd; tail -n 1 "$KILN_ROOT/fetchd.log")" \
	'/c: no object matches split.train_glob "train-\*"' "and fetchd says which source has no shards"

# ---- A slow source: the second server limits the rate, and status names it ----
start_radosgw "which source is held up"
upload "$work/a" "s3://$KILN_S3_BUCKET/a"
upload "$work/b" "s3://$KILN_S3_BUCKET/b"
start_fault_proxy
echo '[{"fault": "status", "status": 503}]' >"$work/proxy/faults"
config() { # name
	cat >"$work/kiln.conf" <<-CONF
		run: { name = "t"; epochs = 2; batch_rows = 32; };
		sources = ( { url = "s3://$KILN_S3_BUCKET/a"; endpoint = "$KILN_S3_ENDPOINT"; },
		            { url = "s3://$KILN_S3_BUCKET/b"; endpoint = "$proxy"; test_glob = "exam-*"; } );
		sink: { url = "file://$work/runs/$1"; };
		ring: { small_pages = true; };
		schema = ( { name = "sentence"; dtype = "float32"; shape = [ 8 ]; },
		           { name = "label"; dtype = "int64"; shape = [ 2 ]; } );
	CONF
}
pace_says() { # regular expression
	"$KILN_BUILD/system/show_status" fetchd pace_reason | grep -qE "$1"
}
begin held ''
start_fetchd
"$reader" >/dev/null &
wait_for 60 pace_says '^source 2: the endpoint (asked for fewer requests; rising again|does not answer: one request at a time tests whether it is back)$'
ok $? "a source that is held up is named, with what its server did" \
	"$("$KILN_BUILD/system/show_status" fetchd pace_reason); $(tail -n 2 "$KILN_ROOT/fetchd.log")"
