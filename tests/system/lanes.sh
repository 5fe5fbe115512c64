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

# Two lanes have the 122 rows of the validation, 10 of each in a batch; three lanes have those of the test.
is "$(awk '$1 == "DATA" && $2 > 0 { rows[$2 $3] = rows[$2 $3] " " $6 } END { for (i in rows) print i ":" rows[i] }' "$work/lanes" | sort | xargs)" \
	"10: 20 20 20 20 20 20 2 11: 20 20 20 20 20 20 2 20: 30 30 30 30" "each lane gives its rows of an evaluation"
is "$(awk '$1 == "DATA" && $5 != 60 { n++ } END { print n + 0 }' "$work/lanes")" 0 "each slot has the rows of all lanes, empty ones at their ends"
whole_run drop "lanes = 6; window_shards = 7; remainder = \"drop\";" >"$work/drop"
# 19 shards of 61 rows: lane 0 has 4 of them, 244 rows, each other lane 3, 183 rows.
is "$(awk '$1 == "DATA" && $2 == 0 { if ($6 % 10) n++; rows[$3] += $6 } END { print n + 0, rows[0], rows[1] }' "$work/drop")" "0 1140 1140" \
	"with remainder drop each lane leaves out its last rows"
[ -z "$(comm -13 <(sorted 0 0 "$work/plain") <(sorted 0 0 "$work/drop"))" ]
ok $? "and no others"
begin dropped 'lanes = 6; window_shards = 7; remainder = "drop";' 'decode_workers = 3;'
revisited 20 "any place of such a run can be gone back to"
whole_run few 'lanes = 6; remainder = "drop"; take_rows = 59;' >"$work/few"
is "$(awk '$1 == "DATA" && $2 == 0 { print $5, $6 }' "$work/few" | sort -u)" "60 50" "a lane that take_rows ends leaves its rows out"
whole_run none 'lanes = 6; remainder = "drop"; take_rows = 6;' >"$work/none"
like "$(tail -n 1 "$work/none")" '^ERROR -74 .*the 19 train shards hold 6 rows, too few for a batch' "too few rows for any lane's part of a batch are named"

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
