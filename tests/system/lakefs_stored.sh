#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What other boxes find in a lakeFS sink: the record of every series that has ended, with its runs, whatever came of the night; and a
# run by its id, on the branch of its trial or the one merged into; and what a box whose disk is lost says of its last series. The
# server is a contract server.
. "$(dirname "$0")/lib.sh"
. tests/system/train_lib.sh
. tests/lakefs/lib.sh
. tests/lakefs/series_lib.sh
start_production "a lakeFS sink seen from other boxes"
kiln=$KILN_BIN/kiln

from_another_box() { # command...: on a box that has nothing, with the configuration of the night; sets said, rc
	local root=$KILN_ROOT
	export KILN_ROOT=$work/elsewhere
	said=$("$kiln" "$@" --config "$KILN_CONFIG" 2>&1)
	rc=$?
	export KILN_ROOT=$root
}

listed() { # prints state, trial of each run of the series that another box lists
	from_another_box runs --store --json
	python3 -c 'import json, sys
print(sorted((r["state"], r["series"]["trial"]) for r in json.load(sys.stdin)["runs"] if r.get("series", {}).get("id") == sys.argv[1]))' \
		"$series" <<<"$said" 2>&1
}

run_of() { # trial
	series_json "[x['run'] for x in t if x['name'] == '$1'][0]"
}

by_id() { # run, what it is: report, evaluate, predict and export find the run by its id
	from_another_box report "$1"
	is "$rc $(grep -c "^state *finished" <<<"$said")" "0 1" "$2: kiln report finds it by its id" "$said"
	from_another_box report "$1" --html "$work/page.html"
	like "$rc $(grep -o "$series" "$work/page.html" | head -n 1)" "^0 $series" "$2: and makes the page, with its series" "$said"
	from_another_box evaluate "$1" --data "file://$data" --json
	is "$rc $(python3 -c 'import json, sys; print(json.load(sys.stdin)["rows"])' <<<"$said" 2>&1)" "0 800" "$2: kiln evaluate"
	from_another_box predict "$1" --data "file://$data" --json
	is "$rc" 0 "$2: kiln predict" "$said"
	rm -rf "$work/exported"
	from_another_box export "$1" --output "$work/exported"
	is "$rc" 0 "$2: kiln export" "$said"
}

# ---- Nothing is asked to be promoted ----
node whole
a_night 'epochs = 1; seed = 1;' '' "$trials"
is "$code $(seen "sorted(b), b['main']['uncommitted'], b['main']['commits'][0]['metadata'], len(b['main']['commits'])")" \
	"0 (['exp-$series-adam', 'exp-$series-sgd', 'main', 'production'], [], {'kiln.record': '$series'}, 2)" \
	"the record of a series is one merge on the branch of sink.url, and leaves no branch" "$(tail -n 5 "$KILN_ROOT/log")"
is "$(listed)" "[('finished', 'adam'), ('finished', 'sgd')]" "another box lists its runs"
from_another_box experiments list --store
is "$rc $(grep -cE "^$series +finished" <<<"$said")" "0 1" "and the series" "$said"
from_another_box experiments compare adam sgd --store
is "$rc $(grep -cE "^optimizer.name +adam +sgd" <<<"$said")" "0 1" "and compares its trials" "$said"
by_id "$(run_of sgd)" "a trial on its branch"
"$KILN_BIN/kiln-uploadd" --drain 2>>"$KILN_ROOT/log"
is "$? $(seen "len(b['main']['commits'])")" "0 2" "the record is put once"

# ---- A promoted one, merged into another branch ----
against='promote: { against = "champion"; };'
a_night 'epochs = 3; seed = 1;' 'merge_into = "production"; keep_branches = "none";' "$trials $against"
winner=$(series_json 's["winner"]')
is "$code $(series_json 's["promotion"]["outcome"]') $(seen "[x for x in b if '$series' in x], len(b['main']['commits'])")" "0 promoted ([], 2)" \
	"a promoted series is on the branch merged into alone" "$(tail -n 5 "$KILN_ROOT/log")"
is "$(listed)" "[('finished', 'adam'), ('finished', 'sgd')]" "another box lists its winner and, without its branch, its loser"
by_id "$(run_of "$winner")" "a promoted run"

# ---- The champion stays, and no branch is to be kept ----
a_night 'epochs = 1; seed = 3;' 'merge_into = "production"; keep_branches = "none";' "$trials $against"
winner=$(series_json 's["winner"]')
is "$code $(series_json 's["promotion"]["outcome"]') $(seen "[x for x in b if '$series' in x]")" "0 kept ['exp-$series-$winner']" \
	"where nothing is merged the branch of the winner stays, which alone has its model" "$(tail -n 5 "$KILN_ROOT/log")"
is "$(listed)" "[('finished', 'adam'), ('finished', 'sgd')]" "another box lists its runs"
from_another_box experiments show "$series" --store --json
is "$rc $(python3 -c 'import json, sys; s = json.load(sys.stdin); s = s.get("series", s); print(s["promotion"]["outcome"], "branches_left" in s)' <<<"$said" 2>&1)" "0 kept False" \
	"and why nothing was promoted" "$said"
by_id "$(run_of "$winner")" "the model that was not promoted"

# ---- A run of its own, beside sink.merge_into ----
conf kiln 'epochs = 1; seed = 1;' 'merge_into = "production";'
whole_night kiln
run=$(cat "$KILN_ROOT/out")
from_another_box runs --store
is "$code $(grep -cE "^$run +finished" <<<"$said") $(wc -l <<<"$said")" "0 1 8" "a run of its own is on the branch of sink.url, and listed beside the others" "$said"
from_another_box report "$run"
is "$rc $(grep -c "^state *finished" <<<"$said")" "0 1" "and found" "$said"

# ---- A hook, and a server that is busy ----
hook pre-merge "no records here" main
conf kiln 'epochs = 1; seed = 1;' '' "$trials"
before=$(seen "b['main']['commits'][0]['id']")
timeout 200 "$kiln" run --config "$KILN_CONFIG" >"$KILN_ROOT/out" 2>"$KILN_ROOT/log"
hook
series=$(series_json 's["id"]')
is "$(seen "b['main']['commits'][0]['id']") $(seen "[x for x in b if x.startswith('series-')]")" "$before []" "a hook that refuses the record leaves no branch"
is "$(grep -c "no records here; the record of $series stays on this box" "$KILN_ROOT/log")" 1 "and is told once" "$(tail -n 5 "$KILN_ROOT/log")"
node busy
fault POST "refs/series-.*/merge/main" 503 100
a_night 'epochs = 1; seed = 1;' '' "$trials"
lakefs_test faults '[]' >/dev/null
is "$code $(grep -o "the record of $series is put later, or with the next start" "$KILN_ROOT/log" | sort -u | wc -l)" "0 1" \
	"the night ends without a branch that takes the record" "$(tail -n 5 "$KILN_ROOT/log")"
"$KILN_BIN/kiln-uploadd" --drain 2>>"$KILN_ROOT/log"
is "$? $(listed)" "0 [('finished', 'adam'), ('finished', 'sgd')]" "the next start puts it" "$(tail -n 5 "$KILN_ROOT/log")"
# ---- A new disk ----
is "$(change branches "exp-$series-" | head -n 2 | tr '\n' ' ')" "exp-$series-adam exp-$series-sgd " "the branches of a series are listed"
begins() { # a night begins on a new disk; sets said
	rm -rf "$KILN_ROOT/data"
	mkdir -p "$KILN_ROOT/data"
	said=$("$KILN_BIN/kiln-oneshot" begin --config "$KILN_CONFIG" 2>&1)
}
begins
is "$(grep -c "branches stay" <<<"$said")" 0 "a new disk, after a series that has ended, tells of no branches" "$said"
series=$(series_json 's["id"]')
begins
like "$said" "$series has not ended, and is not on this disk: .*Its branches stay: exp-$series-adam\. .*kiln.run_id" "after one that had not, it names its branches"
[ "$(series_json 's["id"]')" != "$series" ]
ok $? "and another series begins"
no_violations
