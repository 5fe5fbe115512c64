#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Hooks of a lakeFS repository that refuse one event on some branches: the merge alone, a commit without changes, a new branch, a
# deletion, a tag. The server is a contract server.
. "$(dirname "$0")/lib.sh"
. tests/system/train_lib.sh
. tests/lakefs/lib.sh
. tests/lakefs/series_lib.sh
start_production "hooks of lakeFS"
node whole
runs=$KILN_ROOT/data/kiln/run record=$KILN_ROOT/data/kiln/run/current

champion() { # branch, python expression of r
	get_object "lakefs://rep/$1/runs/models/t" champion.json | python3 -c 'import json, sys; r = json.load(sys.stdin); print(eval(sys.argv[1]))' "$2"
}

outcome_on() { # branch, key of a record
	get_object "lakefs://rep/$1/runs" "$2" | python3 -c 'import json, sys; print(json.load(sys.stdin)["promotion"]["outcome"])'
}

head_of() { # branch
	seen "b['$1']['commits'][0]['id']"
}

report() { # run: the report of a night that is over
	printf '{"from_s": %s, "over_s": %s, "by": "timer", "run": "%s", "reason": "finished"}\n' "$(date +%s)" "$(date +%s)" "$1" >"$runs/tonight.json"
	said=$("$KILN_BIN/kiln-oneshot" report 2>&1)
	rc=$?
}

own() { # regular expression: branches whose names match
	seen "[x for x in sorted(b) if __import__('re').match('$1', x)]"
}

against='promote: { against = "champion"; };'

# ---- A series: the merge alone is refused ----
hook pre-merge "no licence" "prod*"
before=$(head_of production)
a_night 'epochs = 1; seed = 1;' 'merge_into = "production"; keep_branches = "winner";' "$trials $against"
winner=$(series_json 's["winner"]') run=$(series_json '[x["run"] for x in t if x["name"] == s["winner"]][0]')
is "$code $(series_json 's["promotion"]["outcome"]') $(head_of production)" "1 refused $before" "nothing is merged" "$(tail -n 5 "$KILN_ROOT/log")"
like "$(series_json 's["promotion"]["why"]')" "pre-merge hook: no licence" "the outcome has the hook's message"
is "$(outcome_on "exp-$series-$winner" "$run/run.json") $(outcome_on "exp-$series-$winner" "series/$series/series.json")" "refused refused" \
	"the records on the winner's branch do not say that it was promoted"
is "$(seen "[b[x]['uncommitted'] for x in sorted(b)]")" "[[], [], [], []]" "nothing is uncommitted"
hook
promote --series "$series"
is "$rc $(champion production '[r["number"], r["run_id"]]') $(outcome_on production "$run/run.json")" "0 [1, '$run'] promoted" "without the hook it is promoted" "$said"
is "$(own "exp-.*") $(seen "[b[x]['uncommitted'] for x in sorted(b)]")" "['exp-$series-$winner'] [[], [], []]" "and the branch of the other goes"

# ---- A commit without changes is refused ----
hook pre-commit "every commit needs a ticket" "exp-*"
tags=$(seen 'r["tags"]')
promote --series "$series"
is "$rc $(series_json 's["promotion"]["outcome"]') $(seen 'r["tags"]')" "0 promoted $tags" "a promotion that is done stays done, also where a hook refuses an empty commit" "$said"
hook

# ---- A run of its own ----
unset series
a_night 'epochs = 1; seed = 1;' '' "$against"
first=$(cat "$KILN_ROOT/out")
is "$code $(champion main 'r["run_id"]')" "0 $first" "a run of its own is the champion of main" "$(tail -n 5 "$KILN_ROOT/log")"
hook pre-merge "not on main" "main"
a_night 'epochs = 6; seed = 1;' '' 'promote: { against = "nothing"; };'
run=$(cat "$KILN_ROOT/out")
is "$code $(record_json 'r["promotion"]["outcome"]') $(champion main 'r["run_id"]')" "1 refused $first" "the merge of a run of its own is refused" "$(tail -n 5 "$KILN_ROOT/log")"
is "$(own 'promote-.*') $(seen "b['main']['uncommitted'], n(b['main']['commits'][:1], 'kiln.run_id')")" "[] ([], 1)" "its branch goes, and its commit stays"
report "$run"
like "$said" "is not uploaded: .*not on main" "a report that is refused is late"
is "$(own 'report-.*') $(seen "b['main']['uncommitted']")" "[] []" "and leaves nothing"
hook
promote --series "$run" --force
is "$rc $(champion main '[r["number"], r["run_id"]]')" "0 [2, '$run']" "without the hook it is promoted" "$said"
hook pre-merge "not on main" "main"
promote --rollback
like "$rc $said" "^77 .*not on main" "the merge of a rollback is refused"
is "$(champion main 'r["number"]') $(own 'rollback-.*')" "2 []" "the champion stays, and no branch"
a_night 'epochs = 1; seed = 2;' '' "$against"
is "$code $(record_json 'r["promotion"]["outcome"]') $(own 'promote-.*')" "0 kept []" "a champion stays, and the record of the run that is no better is refused" "$(tail -n 5 "$KILN_ROOT/log")"
is "$(seen "b['main']['uncommitted'], n(b['main']['commits'], 'kiln.judged')")" "([], 0)" "main has no record then"

# ---- Branches that may not be made ----
hook pre-create-branch "no such branches" "promote-*"
a_night 'epochs = 1; seed = 3;' '' "$against"
is "$code $(record_json 'r["promotion"]["outcome"]')" "0 kept" "the outcome is noted also where a hook refuses the branch for its record" "$(tail -n 5 "$KILN_ROOT/log")"
promote --series "$(cat "$KILN_ROOT/out")" --force
like "$rc $said" "^65 .*not promoted, because it cannot be merged: .*pre-create-branch hook: no such branches" "a promotion is refused"
hook pre-create-branch "no such branches" "exp-*"
conf kiln 'epochs = 1;' '' "$trials"
whole_night kiln
like "$code $(tail -n 1 "$KILN_ROOT/log")" "^1 .*pre-create-branch hook: no such branches" "a series whose branches a hook refuses does not begin"
is "$(own 'exp-.*') $(seen "b['main']['uncommitted']")" "['exp-$(basename "$(echo "$runs"/series/*-series-* | cut -d' ' -f1)")-$winner'] []" "and leaves nothing"

# ---- Branches that may not be deleted ----
node other
runs=$KILN_ROOT/data/kiln/run record=$KILN_ROOT/data/kiln/run/current
hook pre-delete-branch "keep all" "*"
a_night 'epochs = 1; seed = 1;' '' 'promote: { against = "nothing"; };'
run=$(cat "$KILN_ROOT/out")
is "$code $(record_json 'r["promotion"]["outcome"]') $(own 'promote-.*')" "0 promoted ['promote-$run']" "a branch that a hook keeps stays" "$(tail -n 5 "$KILN_ROOT/log")"
like "$(cat "$KILN_ROOT/log")" "keep all; the branch .*stays" "with a warning"
for again in 1 2; do
	printf x >>"$runs/again"
	report "$run"
	rm -rf "$runs/reports"
	sleep 1
done
is "$rc $(seen "b['main']['uncommitted'], n(b['main']['commits'], 'kiln.report')")" "0 ([], 2)" "and blocks no report" "$said"
hook

# ---- The commit of a run ----
hook pre-commit "no licence" "main"
a_night 'epochs = 1; seed = 4;' '' "$against"
run=$(cat "$KILN_ROOT/out")
promote
like "$rc $(record_json 'r["uploads_refused"]') $(record_json 'r["promotion"]["outcome"]')" "^65 .*pre-commit hook: no licence.* refused" "a run whose commit is refused is not promoted" "$said"
timeout 4 "$KILN_BIN/kiln-uploadd" 2>>"$KILN_ROOT/log"
is "$?" 124 "kiln-uploadd goes on" "$(tail -n 3 "$KILN_ROOT/log")"
hook
"$KILN_BIN/kiln-uploadd" --drain 2>>"$KILN_ROOT/log"
is "$? $(record_json 'r.get("uploads_refused")') $(seen "b['main']['commits'][0]['metadata']['kiln.run_id'], b['main']['uncommitted']")" "0 None ('$run', [])" \
	"without the hook it is committed" "$(tail -n 3 "$KILN_ROOT/log")"
no_violations
