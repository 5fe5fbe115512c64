#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Worlds of 1, 2, 3 and 4 ranks deal, for each lane and batch, the same rows in the same places: in training and evaluations, in
# last batches, with skipped records and with two sources.
. "$(dirname "$0")/fetch_lib.sh"

config() { # name, sources, further keys of order
	cat >"$work/kiln.conf" <<-CONF
		run: { name = "t"; epochs = 2; batch_rows = 20; };
		$2
		sink: { url = "file://$work/runs/$1"; };
		ring: { small_pages = true; };
		order: { lanes = 4; window_shards = 2; ${3:-} };
		schema = ( { name = "sentence"; dtype = "float32"; shape = [ 8 ]; },
		           { name = "label"; dtype = "int64"; shape = [ 2 ]; } );
		fetch: { bad_record = "skip"; skip_records_max = 1000; };
	CONF
}

lanes_of=("" "0:4" "0:2 2:2" "0:1 1:1 2:2" "0:1 1:1 2:1 3:1") # of the ranks of each world: the first and the number

world() { # name, ranks, further arguments of config: prints where each row is
	local rank=0 lanes asked said=()
	for lanes in ${lanes_of[$2]}; do
		begin "$1-$2-$rank" "${@:3}"
		start_fetchd --rank $rank --world "$2"
		asked=()
		[ "$2" = 1 ] || asked+=(--rank $rank --world "$2")
		timeout 60 "$reader" --columns "${asked[@]}" >"$work/$1-$2-$rank"
		like "$(tail -n 1 "$work/$1-$2-$rank")" '^END_RUN' "$1: rank $rank of $2 comes to the end" "$(tail -n 3 "$KILN_ROOT/fetchd.log")" >&3
		wait $fetchd
		said+=("$work/$1-$2-$rank:$lanes")
		rank=$((rank + 1))
	done
	python3 tests/system/global_rows.py 4 20 "${said[@]}" 2>&1
}

worlds() { # name, further arguments of config
	local ranks
	world "$1" 1 "${@:2}" >"$work/$1"
	for ranks in 2 3 4; do
		world "$1" $ranks "${@:2}" >"$work/other"
		cmp -s "$work/$1" "$work/other"
		ok $? "$1: $ranks ranks deal the rows that one deals" "$(diff "$work/$1" "$work/other" | head -n 6)"
	done
}

parts() { # name: prints how many rows each segment has, as SPLIT SEGMENT:ROWS
	cut -d' ' -f1-2 "$work/$1" | uniq -c | awk '{ print $2 $3 ":" $1 }' | xargs
}

"$make_shards" "$work/a" train 13 61 plain
"$make_shards" "$work/a" test 3 40
one="source: { url = \"file://$work/a\"; };"
exec 3>&1
worlds plain "$one"
is "$(parts plain)" "00:732 01:732 10:61 11:61 20:120" "each record once"
worlds dropped "$one" 'remainder = "drop";'
is "$(parts dropped)" "00:720 01:720 10:61 11:61 20:120" "each lane without its last rows"
worlds taken "$one" 'skip_rows = 33; take_rows = 150;'
is "$(parts taken)" "00:150 01:150 10:61 11:61 20:120" "a part of each epoch"

# All ranks of a world at once, on one node and in one run: each has a ring of its own, and one of them makes the plan.
begin beside "$one"
fetchds=() readers=() said=()
for rank in 0 1 2; do
	start_fetchd --rank $rank --world 3
	fetchds+=("$fetchd")
	timeout 120 "$reader" --columns --rank $rank --world 3 --unfinished >"$work/beside-$rank" &
	readers+=($!)
	said+=("$work/beside-$rank:$(cut -d' ' -f$((rank + 1)) <<<"${lanes_of[3]}")")
done
wait "${readers[@]}"
kill "${fetchds[@]}"
wait "${fetchds[@]}" 2>/dev/null
cmp -s "$work/plain" <(python3 tests/system/global_rows.py 4 20 "${said[@]}" 2>&1)
ok $? "three fetchds side by side deal the rows that one deals" "$(tail -n 5 "$KILN_ROOT/fetchd.log")"
is "$(cd "$KILN_ROOT/run/kiln" && ls huge/ring* status/fetchd/page status/fetchd/rank-*/page | xargs)" \
	"huge/ring huge/ring-1 huge/ring-2 status/fetchd/page status/fetchd/rank-1/page status/fetchd/rank-2/page" \
	"each with a ring and a status page of its own"
is "$(grep -c 'plan: 12 train, 1 validation, 3 test shards' "$KILN_ROOT/fetchd.log")" 3 "and all with one plan"

"$make_shards" "$work/b" urain 9 30 plain
"$make_shards" "$work/b" exam 2 20
for shard in "$work/b"/urain-*; do
	mv "$shard" "${shard/urain/train}"
done
cp -r "$work/a" "$work/damaged"
for shard in "$work/damaged"/train-000{03,07,11}*; do
	for byte in 40 3000; do
		printf '\377' | dd of="$shard" bs=1 seek=$byte conv=notrunc 2>/dev/null
	done
done
worlds sources "sources = ( { url = \"file://$work/damaged\"; weight = 3.0; }, { url = \"file://$work/b\"; test_glob = \"exam-*\"; } );"
rows=$(grep -c '^0 0' "$work/sources")
[ "$rows" -gt 750 ] && [ "$rows" -lt 1000 ]
ok $? "two sources, some records damaged" "$(parts sources)"
