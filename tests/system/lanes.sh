#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Lanes: every record once per epoch, whatever the number of lanes or the size of windows. elastic.sh has ranks that share
# lanes.
. "$(dirname "$0")/fetch_lib.sh"
shards=19 records=61

config() { # name, order's keys, further keys of fetch
	cat >"$work/kiln.conf" <<-CONF
		run: { name = "t"; epochs = 2; batch_rows = 60; };
		source: { url = "file://$work/data"; };
		sink: { url = "file://$work/runs/$1"; };
		ring: { small_pages = true; };
		order: { $2 };
		schema = ( { name = "sentence"; dtype = "float32"; shape = [ 8 ]; },
		           { name = "label"; dtype = "int64"; shape = [ 2 ]; } );
		fetch: { ${3:-} };
	CONF
}

"$make_shards" "$work/data" train $((shards + 2)) $records
"$make_shards" "$work/data" test 3 40
whole_run plain 'window_shards = 3;' >"$work/plain"
is "$(sorted 0 0 "$work/plain" | uniq | wc -l)" $((shards * records)) "no two records are alike"

for lanes in 1 2 3 4 5 6; do
	for window in 1 2 7; do
		whole_run "l$lanes-$window" "lanes = $lanes; window_shards = $window;" 'decode_workers = 1;' >"$work/lanes"
		same=0
		for part in "0 0" "0 1" "1 0" "1 1" "2 0"; do
			cmp -s <(sorted $part "$work/plain") <(sorted $part "$work/lanes") || same=1
		done
		[ "$(grep '^ROW 0 0' "$work/lanes" | cut -d' ' -f4 | sha256sum)" != "$(grep '^ROW 0 1' "$work/lanes" | cut -d' ' -f4 | sha256sum)" ] || same=1
		tail -n 1 "$work/lanes" | grep -q END_RUN || same=1
		ok $same "$lanes lanes, windows of $window shards: every record once a segment" "$(tail -n 3 "$KILN_ROOT/fetchd.log")"
	done
	whole_run "w$lanes" "lanes = $lanes; window_shards = 7;" 'decode_workers = 3;' >"$work/workers"
	cmp -s "$work/lanes" "$work/workers"
	ok $? "$lanes lanes: three workers give the slots that one gives"
done

is "$(awk '$1 == "END_SEGMENT" && $2 > 0 { print $2 $3 ":" $5 }' "$work/lanes" | xargs)" "10:122 11:122 20:120" \
	"an evaluation has no empty rows"
is "$(awk '$1 == "DATA" && $2 == 0 && $5 != 60 { n++ } END { print n + 0 }' "$work/lanes")" 2 \
	"only the last batch of an epoch is smaller"
whole_run drop "lanes = 6; window_shards = 7; remainder = \"drop\";" >"$work/drop"
is "$(awk '$1 == "DATA" && $2 == 0 && $5 != 60 { n++ } END { print n + 0 }' "$work/drop")" 0 "and left out with remainder drop"

# The rest of the run is the same from every position: go back to each cursor of the run.
begin revisit 'lanes = 5; window_shards = 2;'
revisited 40 "any place of a run of 5 lanes can be gone back to"

# fetchd killed in training, validation and test.
lines=$(grep -vc ^ROW "$work/lanes")
begin killed 'lanes = 6; window_shards = 7;'
killed_at '^DATA 0 0 9 ' '^DATA 1 0 1 ' '^DATA 0 1 20 ' '^END_SEGMENT 0 1 ' '^DATA 2 0 1 '
cmp -s <(grep -v ^ROW "$work/lanes") "$work/killed"
ok $? "killed in train, validation and test segments: the same slots" "$(wc -l <"$work/killed") of $lines lines"
wait $fetchd 2>/dev/null

refused() { # name, arguments of fetchd, order's keys, exit status, words
	begin "refused$tap_n" "$3"
	start_fetchd $2
	wait_for 10 test ! -d /proc/$fetchd || kill -KILL $fetchd
	wait $fetchd
	is $? "$4" "$1: exit $4"
	like "$(tail -n 1 "$KILN_ROOT/fetchd.log")" "$5" "naming it"
}
begin many-lanes 'lanes = 20;'
is $? 65 "more lanes than train shards: no run begins, exit 65"
like "$(cat "$KILN_ROOT/begin.log")" 'found 19 training shards .*order.lanes is 20' "naming it"
refused "more ranks than lanes" '--rank 2 --world 3' 'lanes = 2;' 78 'world: found 3, order.lanes is 2'
refused "a rank that is none" '--rank 3 --world 3' 'lanes = 6;' 64 'Usage'
