#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Two boxes with one run.name and one lakeFS sink: they begin a series in the same second; one promotes while the other one judges, and
# while the other one copies its champion. The server is a contract server.
. "$(dirname "$0")/lib.sh"
. tests/system/train_lib.sh
. tests/lakefs/lib.sh
. tests/lakefs/series_lib.sh
start_production "two boxes in lakeFS"

a_box() { # name, a digit: the box that the next commands are of
	node "$1"
	mkdir -p "$KILN_ROOT/etc"
	printf "$2%.0s" {1..32} >"$KILN_ROOT/etc/machine-id"
}

at() { # name
	export KILN_ROOT=$work/nodes/$1
}

promote() { # arguments
	said=$("$KILN_BIN/kiln-oneshot" promote "$@" 2>&1)
	rc=$?
}

champion() { # python expression of r
	get_object "lakefs://rep/production/runs/models/t" champion.json | python3 -c 'import json, sys; r = json.load(sys.stdin); print(eval(sys.argv[1]))' "$1"
}

short='experiments = ( { name = "short"; overrides = { run = { epochs = 1; }; }; }, { name = "long"; overrides = { run = { epochs = 6; }; }; } );'
against='promote: { against = "champion"; };'
sink='merge_into = "production"; keep_branches = "all";'
a_box one a
a_box two b

# ---- The same second ----
conf same 'epochs = 1;' "$sink" "$trials"
begin_both() { # configuration of box one, that of box two: both begin in the same second
	local begun=() box
	sleep "0.$(printf %09d $((999999999 - 10#$(date +%N))))" # to the begin of a second
	for box in one two; do
		KILN_ROOT=$work/nodes/$box timeout 60 "$KILN_BIN/kiln-oneshot" begin --config "$1" >"$work/$box.id" 2>"$work/$box.log" &
		begun[${#begun[@]}]=$!
		shift
	done
	wait "${begun[@]}"
}
begin_both "$work/same.conf" "$work/same.conf"
for box in one two; do
	at $box
	series=$(series_json 's["id"]')
	like "$(get_object "lakefs://rep/exp-$series-adam/runs" "series/$series/series.json")" "\"machine\":[[:space:]]*\"$(cat "$KILN_ROOT/etc/machine-id")\"" \
		"the branch of the first trial of $box has the claim of its series" "$(cat "$work/$box.log")"
	is "$(series_json 't[0]["state"]') $(seen "len(b['exp-$series-adam']['commits'])")" "running 1" "its trial begins"
	echo "$series" >"$work/$box.series"
done
isnt=$(cat "$work/one.series")
[ "$isnt" != "$(cat "$work/two.series")" ]
ok $? "each box has a series of its own"
like "$(cat "$work/one.log" "$work/two.log")" "the store has a series with this id already, so this one gets a later id" "one of them gave way"
for box in one two; do
	at $box
	"$KILN_BIN/kiln-oneshot" abandon >/dev/null 2>&1
	rm -rf "$KILN_ROOT/data/kiln/run" "$KILN_ROOT/data/kiln/spool"
done

# ---- The same second, with a prefix for each box ----
for box in one two; do
	sed "s#/main/runs\"#/main/$box\"#" "$work/same.conf" >"$work/$box.conf"
done
begin_both "$work/one.conf" "$work/two.conf"
for box in one two; do
	at $box
	series=$(series_json 's["id"]')
	is "$(seen "[p.split('/')[0] for p in b['exp-$series-adam']['uncommitted'] if 'series.json' in p]")" "['$box']" \
		"the branch of the first trial of $box has no other claim" "$(cat "$work/$box.log")"
	echo "$series" >"$work/$box.series"
	"$KILN_BIN/kiln-oneshot" abandon >/dev/null 2>&1
	rm -rf "$KILN_ROOT/data/kiln/run" "$KILN_ROOT/data/kiln/spool"
done
[ "$(cat "$work/one.series")" != "$(cat "$work/two.series")" ]
ok $? "each box has a series of its own, also with a prefix of its own"

# ---- The same of runs without a series ----
conf alone 'epochs = 1;'
for box in one two; do
	sed "s#/main/runs\"#/main/$box\"#" "$work/alone.conf" >"$work/$box.conf"
done
begin_both "$work/one.conf" "$work/two.conf"
for box in one two; do
	at $box
	mark=$(head -c 8 "$KILN_ROOT/etc/machine-id")
	like "$(cat "$work/$box.id")" "^t-$mark-[0-9]{8}-[0-9]{6}$" "the id of a run of $box has its mark" "$(cat "$work/$box.log")"
	is "$(seen "[p for p in b['main']['uncommitted'] if p.startswith('$box/')]")" "['$box/$(cat "$work/$box.id")/run.json']" "and is claimed"
	"$KILN_BIN/kiln-oneshot" abandon >/dev/null 2>&1
	rm -rf "$KILN_ROOT/data/kiln/run" "$KILN_ROOT/data/kiln/spool"
done
change commit main "both" >/dev/null

# ---- Another champion during the judgement ----
at two
conf kiln 'epochs = 1; seed = 7;' "$sink" "$trials"
whole_night kiln
theirs=$(series_json 's["id"]')
at one
conf kiln 'epochs = 1; seed = 1;' "$sink" "$trials $against"
whole_night kiln
is "$code $(champion 'r["number"]')" "0 1" "box one has the first champion" "$(tail -n 5 "$KILN_ROOT/log")"
hold POST "refs/production/merge/exp-"
conf kiln 'epochs = 1; seed = 1;' "$sink" "$short $against"
whole_night kiln &
night=$!
wait_for 60 is_held
at two
promote --series "$theirs" --trial adam --force
is "$rc $(champion '[r["number"], r["series"]]')" "0 [2, '$theirs']" "box two promotes while box one is about to" "$said"
lakefs_test release '{}' >/dev/null
wait $night
at one
series=$(series_json 's["id"]')
like "$(cat "$KILN_ROOT/log")" "another champion was promoted meanwhile, judging again" "box one judges again"
is "$(champion '[r["number"], r["before"], r["series"]]')" "[3, 2, '$series']" "and its model takes the place of that champion" "$(tail -n 5 "$KILN_ROOT/log")"
is "$(series_json 's["promotion"]["champion"]')" "$(KILN_ROOT=$work/nodes/two series_json 't[0]["run"]')" "which it was compared with"

# ---- Another champion during the copies ----
hold PUT "/exp-[^/]*/runs/models/t/champion.json"
promote --series "$series" --trial short --force >"$work/said" &
night=$!
wait_for 60 is_held
at two
promote --series "$theirs" --trial sgd --force
is "$rc $(champion '[r["number"], r["before"], r["trial"]]')" "0 [4, 3, 'sgd']" "box two promotes while box one copies" "$said"
lakefs_test release '{}' >/dev/null
wait $night
at one
is "$(series_json 's["promotion"]["number"]') $(champion 'r["number"]') $(seen "b['production']['uncommitted']")" "3 4 []" "nothing of box one is merged over it" "$(tail -n 5 "$work/said")"
promote --series "$series" --trial short --force
is "$rc $(champion '[r["number"], r["before"], r["trial"]]')" "0 [5, 4, 'short']" "the next start promotes in its turn" "$said"
is "$(seen "len(r['tags']), n(b['production']['commits'], 'kiln.champion')")" "(5, 5)" "each champion has a merge and a tag"

# ---- Both go back ----
hold PUT "/rollback-[^/]*/runs/models/t/champions/"
promote --rollback >/dev/null &
night=$!
wait_for 60 is_held
at two
promote --rollback
is "$rc $(champion '[r["number"], r["before"], r["rolled_back"]]')" "0 [6, 3, 5]" "box two goes back while box one is about to" "$said"
lakefs_test release '{}' >/dev/null
wait $night
at one
get_object "lakefs://rep/production/runs/models/t" kiln/6/model.safetensors >/dev/null
ok $? "the champion has its files"
is "$(champion 'r["number"]') $(seen "b['production']['uncommitted'], [x for x in b if x.startswith('rollback')]")" "6 ([], [])" "it goes back once, and no branch is left"
no_violations
