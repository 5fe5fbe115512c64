#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Elastic runs: 6 lanes shared by 1, then 3, then 2 ranks, which change in the middle of an epoch, give exactly the records
# that one rank gives, each as often. With one source, with several by weight, through a filter, and with skipped records.
. "$(dirname "$0")/fetch_lib.sh"

config() { # name, sources, further keys of order, of fetch
	cat >"$work/kiln.conf" <<-CONF
		run: { name = "t"; epochs = 2; batch_rows = 30; };
		$2
		sink: { url = "file://$work/runs/$1"; };
		ring: { small_pages = true; };
		order: { lanes = 6; window_shards = 2; ${3:-} };
		schema = ( { name = "sentence"; dtype = "float32"; shape = [ 8 ]; },
		           { name = "label"; dtype = "int64"; shape = [ 2 ]; } );
		fetch: { ${4:-} };
	CONF
}

plan() { # rank
	echo "$work/nodes/$name-$1/data/kiln/run/current/plan"
}

# A node per rank; each rank's output is counted until its run ends.
stage() { # world, cursor or "-", batches, merged cursor: each rank gives that many batches; their rows go to $work/elastic
	local pids=() cursors=() asked rank
	for ((rank = 0; rank < $1; rank++)); do
		export KILN_ROOT=$work/nodes/$name-$rank
		start_fetchd --rank $rank --world "$1"
		pids+=("$fetchd")
		cursors+=("$work/cursor$rank")
		asked=()
		[ "$2" = - ] || asked+=(--cursor "$2")
		[ "$1" = 1 ] || asked+=(--rank $rank --world "$1")
		timeout 60 "$reader" --rows "${asked[@]}" --stop-after "$3" --save "$work/cursor$rank" >"$work/stage$rank"
		cat "$work/stage$rank" >>"$work/elastic"
	done
	kill -KILL "${pids[@]}" 2>/dev/null
	wait "${pids[@]}" 2>/dev/null
	"$KILN_BUILD/system/merge_cursors" "$(plan 0)" "$2" "$4" "${cursors[@]}" 2>"$work/merge.log"
}

elastic() { # name, batches of 1, of 3 and of 2 ranks, then arguments of config from its sources on; $work/NAME has the output of one rank
	local epoch rank batches=("${@:2:3}")
	name=$1
	set -- "${@:5}"
	whole_run "$name" "$@" >"$work/$name"
	like "$(tail -n 1 "$work/$name")" '^END_RUN' "$name: a run of one rank" "$(tail -n 3 "$KILN_ROOT/fetchd.log")"
	for rank in 0 1 2; do
		begin "$name-$rank" "$@"
	done
	: >"$work/elastic"
	stage 1 - "${batches[0]}" "$work/merged1" && stage 3 "$work/merged1" "${batches[1]}" "$work/merged2" &&
		stage 2 "$work/merged2" "${batches[2]}" "$work/merged3"
	ok $? "$name: cursors of 1, 3 and 2 ranks can be merged" "$(cat "$work/merge.log")"
	cp "$work/elastic" "$work/$name.before"
	stage 2 "$work/merged3" $((1 << 30)) "$work/merged4"
	for epoch in 0 1; do
		cmp -s <(sorted 0 $epoch "$work/$name") <(sorted 0 $epoch "$work/elastic")
		ok $? "$name: epoch $epoch has every record as often" "$(rows 0 $epoch "$work/elastic" | wc -l) of $(rows 0 $epoch "$work/$name" | wc -l), differing: $(
			comm -3 <(sorted 0 $epoch "$work/$name") <(sorted 0 $epoch "$work/elastic") | wc -l)"
	done
	[ "$(rows 0 0 "$work/$name.before" | wc -l)" -lt "$(rows 0 0 "$work/$name" | wc -l)" ]
	ok $? "$name: the last change is in mid epoch" "$(rows 0 0 "$work/$name.before" | wc -l)"
}

"$make_shards" "$work/a" train 21 61 plain
"$make_shards" "$work/a" test 3 40
one="source: { url = \"file://$work/a\"; };"
elastic plain 7 4 4 "$one"
is "$(rows 0 0 "$work/plain" | wc -l) $(sorted 0 0 "$work/plain" | uniq -d | wc -l)" "1159 0" "each of the records of 19 shards once"
cmp -s "$(plan 0)" "$(plan 2)"
ok $? "each rank made the same plan"

# A change while some ranks evaluate; afterwards all go on with the next epoch.
name=plain
: >"$work/elastic"
for rank in 0 1 2; do
	begin "plain-$rank" "$one"
done
stage 1 - 7 "$work/merged1" && stage 3 "$work/merged1" 11 "$work/merged2" && stage 2 "$work/merged2" 6 "$work/merged3"
stage 2 "$work/merged3" $((1 << 30)) "$work/merged4"
cmp -s <(sorted 0 0 "$work/plain") <(sorted 0 0 "$work/elastic") && cmp -s <(sorted 0 1 "$work/plain") <(sorted 0 1 "$work/elastic")
ok $? "a change after the last batch of an epoch" "$(cat "$work/merge.log")"

elastic filter 3 2 2 "$one" 'filter = "label[1] == 1";'
[ "$(rows 0 0 "$work/filter" | wc -l)" -lt 800 ] && [ -z "$(comm -13 <(sorted 0 0 "$work/plain") <(sorted 0 0 "$work/filter"))" ]
ok $? "some of them by the filter" "$(rows 0 0 "$work/filter" | wc -l)"

"$make_shards" "$work/b" urain 14 30 plain
for shard in "$work/b"/urain-*; do
	mv "$shard" "${shard/urain/train}"
done
elastic sources 7 4 4 "sources = ( { url = \"file://$work/a\"; weight = 3.0; }, { url = \"file://$work/b\"; test_glob = \"\"; } );"
[ "$(rows 0 0 "$work/sources" | wc -l)" -gt 1400 ] && [ "$(comm -12 <(sorted 0 0 "$work/plain" | sort -u) <(sorted 0 0 "$work/sources" | sort -u) | wc -l)" = 1159 ]
ok $? "all of the first source and a third as many of the second" "$(rows 0 0 "$work/sources" | wc -l)"

# Records with a wrong byte, and the rest of a shard after a wrong length.
damage() { # shard, byte
	printf '\377' | dd of="$1" bs=1 seek="$2" conv=notrunc 2>/dev/null
}
cp -r "$work/a" "$work/damaged"
for shard in "$work/damaged"/train-000{03,07,12}*; do
	damage "$shard" 40
	damage "$shard" 3000
done
damage "$(compgen -G "$work/damaged/train-00015*")" $(($(stat -c %s "$(compgen -G "$work/damaged/train-00015*")") / 61 * 20 + 1))
elastic skipped 7 4 4 "source: { url = \"file://$work/damaged\"; };" '' 'bad_record = "skip"; skip_records_max = 1000;'
found=$(rows 0 0 "$work/skipped" | wc -l)
[ "$found" -le $((1159 - 6)) ] && [ "$found" -gt 1000 ] && [ -z "$(comm -13 <(sorted 0 0 "$work/plain") <(sorted 0 0 "$work/skipped"))" ]
ok $? "all but the damaged ones" "$found"
