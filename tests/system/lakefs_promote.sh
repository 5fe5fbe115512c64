#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Promotion in a lakeFS sink: merged into another branch, a champion that stays, a merge conflict, a hook that refuses, somebody's
# uncommitted changes, which branches stay, rollback. The server is a contract server.
. "$(dirname "$0")/lib.sh"
. tests/system/train_lib.sh
. tests/lakefs/lib.sh
. tests/lakefs/series_lib.sh
start_production "promotion in lakeFS"
node whole
runs=$KILN_ROOT/data/kiln/run

champion() { # branch, python expression of r
	get_object "lakefs://rep/$1/runs/models/t" champion.json | python3 -c 'import json, sys; r = json.load(sys.stdin); print(eval(sys.argv[1]))' "$2"
}

short='experiments = ( { name = "short"; overrides = { run = { epochs = 1; }; }; }, { name = "long"; overrides = { run = { epochs = 6; }; }; } );'
against='promote: { against = "champion"; };'
day=$(date -u +%Y%m%d)

# ---- Merged into another branch ----
a_night 'epochs = 1; seed = 1;' 'merge_into = "production"; keep_branches = "winner";' "$trials $against"
winner=$(series_json 's["winner"]') first=$series
is "$code $(champion production 'r["number"]')" "0 1" "the winner is merged into sink.merge_into" "$(tail -n 5 "$KILN_ROOT/log")"
is "$(seen "sorted(b), len(b['main']['commits'])")" "(['exp-$series-$winner', 'main', 'production'], 1)" "the branch of the loser goes, main stays as it is"
is "$(series_json 's["promotion"]["merged"]["into"], s["promotion"]["merged"]["tag"]')" "('production', 'nightly-$day')" "series.json says what was merged"
like "$(cat "$KILN_ROOT/log")" "exp-$series-$winner merged into production, commit [0-9a-f]{64}, tag nightly-$day" "an event says so"
like "$("$KILN_BIN/kiln" experiments list --store --config "$KILN_CONFIG" 2>&1)" "$series" "kiln experiments --store reads that branch"

# ---- A second one of the day; the champion is judged on its branch ----
a_night 'epochs = 1; seed = 1;' 'merge_into = "production"; keep_branches = "none";' "$short $against"
is "$code $(champion production '[r["number"], r["trial"], r["before"]]')" "0 [2, 'long', 1]" "a better model takes its place" "$(tail -n 5 "$KILN_ROOT/log")"
is "$(seen "[x for x in b if '$series' in x], sorted(r['tags'])")" "([], ['nightly-$day', 'nightly-$day-2'])" "no branch of the series stays, and the tag has a suffix"
tags=$(seen 'r["tags"]') second=$series
promote --series "$series"
is "$rc $(seen 'r["tags"]')" "0 $tags" "the same promotion again makes no other tag"
is "$(series_json 's["promotion"]["merged"]["tag"]')" "nightly-$day-2" "and the record keeps its tag" "$said"
like "$said" "it is the champion already" "and says that it is the champion"
is "$(grep -c "merged into production" <<<"$said")" 0 "without the event of a merge"

"$KILN_BIN/kiln-uploadd" --drain 2>>"$KILN_ROOT/log"
is "$? $(seen "[x for x in b if '$series' in x]")" "0 []" "kiln-uploadd, started again, makes no branch of a run that is committed" "$(tail -n 3 "$KILN_ROOT/log")"

# ---- Branches go after the outcome is noted ----
change branch "exp-$series-short" main >/dev/null
put_object "lakefs://rep/exp-$series-short/runs" left "text"
change commit "exp-$series-short" "as the trial's" "{\"kiln.run_id\": \"$(series_json 't[0]["run"]')\"}" >/dev/null
fault DELETE "branches/exp-$series-short" 403 1
promote --series "$series"
like "$rc $said" "branches/exp-$series-short: .*the branch stays" "a branch that may not be deleted is a warning, and the outcome stands"
is "$(series_json 's["promotion"]["outcome"], s.get("branches_left")') $(seen "'exp-$series-short' in b")" "('promoted', None) True" "series.json says so"
mkdir -p "$KILN_ROOT/data/kiln/spool/traind/$(series_json 't[0]["run"]')"
promote --series "$series"
is "$rc $(series_json 's["branches_left"] == ""') $(ls "$runs/unjudged")" "0 True $runs/unjudged" "a trial keeps its branch while its files wait" "$said"
rmdir "$KILN_ROOT/data/kiln/spool/traind/$(series_json 't[0]["run"]')"
promote
is "$rc $(series_json 's.get("branches_left")') $(seen "'exp-$series-short' in b")" "0 None False" "they go with the next start" "$said"

# ---- The API is away when the branches go ----
for trial in short long; do
	change branch "exp-$series-$trial" main >/dev/null
	put_object "lakefs://rep/exp-$series-$trial/runs" left "text"
	change commit "exp-$series-$trial" "as the trial's" "{\"kiln.run_id\": \"$(series_json "[x['run'] for x in t if x['name'] == '$trial'][0]")\"}" >/dev/null
done
python3 -c 'import json, sys
p = sys.argv[1]; s = json.load(open(p)); s["branches_left"] = ""; json.dump(s, open(p, "w"))' "$runs/series/$series/series.json"
lakefs_test clear '{}' >/dev/null
fault GET "refs/exp-$series-(short|long)/commits" 503 100
promote
is "$rc $(lakefs_test log | grep -o 'refs/exp-[a-z0-9-]*/commits' | sort -u)" "0 refs/exp-$series-short/commits" "the first branch that gets no answer ends the work" "$said"
is "$(series_json 's["branches_left"] == ""') $(ls "$runs/unjudged")" "True $runs/unjudged" "the rest follows later"
lakefs_test faults '[]' >/dev/null
promote
is "$rc $(seen "[x for x in b if '$series' in x]")" "0 []" "and does" "$said"

change branch "exp-$series-short" "$(series_json 's["sink_commit"]')" >/dev/null
python3 -c 'import json, sys
p = sys.argv[1]; s = json.load(open(p)); s["branches_left"] = ""; json.dump(s, open(p, "w"))' "$runs/series/$series/series.json"
promote
is "$rc $(seen "[x for x in b if '$series' in x]")" "0 []" "the branch of a trial without a commit goes, too" "$said"

# ---- The champion stays ----
a_night 'epochs = 1; seed = 3;' 'merge_into = "production"; keep_branches = "winner";' "$trials $against"
winner=$(series_json 's["winner"]')
is "$code $(series_json 's["promotion"]["outcome"]') $(champion production 'r["number"]')" "0 kept 2" "a worse model is not merged" "$(tail -n 5 "$KILN_ROOT/log")"
is "$(seen "[x for x in b if '$series' in x], b['exp-$series-$winner']['uncommitted']")" "(['exp-$series-$winner'], [])" "its branch stays, with the record of the series"
like "$(get_object "lakefs://rep/exp-$series-$winner/runs" "series/$series/series.json")" '"outcome":.*"kept"' "which says so"

# ---- Somebody changed the same object ----
conf kiln 'epochs = 1; seed = 1;' 'merge_into = "production";' "$short"
whole_night kiln
series=$(series_json 's["id"]') run=$(series_json 't[1]["run"]')
conf kiln 'epochs = 1; seed = 1;' 'merge_into = "production";' "$short promote: { against = \"nothing\"; };"
put_object lakefs://rep/production/runs "$run/run.json" "theirs"
promote --series "$series" --force
like "$rc $said" "^69 .*production has changes that are not committed" "uncommitted changes on the branch are not touched"
is "$(seen "b['production']['uncommitted']") $(series_json 's["promotion"]')" "['runs/$run/run.json'] None" "they stay, and the promotion waits for their owner"
change commit production "theirs" >/dev/null
before=$(seen "b['production']['commits'][0]['id']")
promote --series "$series" --force
like "$rc $said" "^65 .*not promoted, because it cannot be merged: .*merging production into exp-$series-long: 1 paths changed on both sides: runs/$run/run.json" \
	"a conflict is told with its path"
is "$(seen "b['production']['commits'][0]['id']") $(champion production 'r["number"]')" "$before 2" "nothing was merged"
is "$(seen "[(x, b[x]['uncommitted']) for x in sorted(b) if '$series' in x]")" "[('exp-$series-long', []), ('exp-$series-short', [])]" "nothing is lost"
is "$(series_json 's["promotion"]["outcome"]')" refused "series.json says so"

# ---- A hook ----
hook pre-merge "no licence"
promote --series "$series" --trial short --force
like "$rc $said" "^65 .*not promoted, because it cannot be merged: .*pre-merge hook: no licence" "a hook's message is told"
hook

# ---- A promotion that was not merged, and another one before it is tried again ----
put_object lakefs://rep/production/runs other "theirs"
promote --series "$series" --trial short --force
is "$rc $(seen "n(b['exp-$series-short']['commits'], 'kiln.champion')")" "69 1" "a promotion waits, with its champion on its branch" "$said"
change commit production "theirs" >/dev/null
promote --series "$first" --force
is "$rc $(champion production '[r["number"], r["series"], r["before"]]')" "0 [3, '$first', 2]" "another one is promoted" "$said"
put_object "lakefs://rep/exp-$series-short/runs" models/t/next.json "of a start that was killed"
promote --series "$series" --trial short --force
is "$rc $(champion production '[r["number"], r["trial"], r["before"]]')" "0 [4, 'short', 3]" "what the first has left is no conflict" "$said"
promote --series "$series" --trial short --force
is "$rc $(grep -c "already" <<<"$said") $(grep -c "merged into production" <<<"$said")" "0 1 0" "the same again, while its branch is there, sends no event of a merge" "$said"
is "$(seen "[b[x]['uncommitted'] for x in ('production', 'exp-$series-short')]")" "[[], []]" "and nothing is uncommitted"

# ---- Back ----
hook pre-commit "not today"
promote --rollback
like "$rc $said" "not today" "a hook refuses the commit of a rollback"
hook
promote --rollback
like "$rc $said" "^0 .*champion 5 of t again" "the former champion comes back"
is "$(champion production '[r["number"], r["before"], r["rolled_back"]]') $(seen "b['production']['uncommitted'], b['production']['commits'][0]['metadata']")" \
	"[5, 2, 4] ([], {'kiln.champion': '5'})" "by a commit on the branch"

# ---- A champion once more, after its branch is gone ----
promote --series "$second" --force
is "$rc $(champion production '[r["number"], r["series"], r["before"]]') $(seen "b['production']['uncommitted'], b['production']['commits'][0]['metadata']['kiln.champion']")" \
	"0 [6, '$second', 5] ([], '6')" "it is committed and merged again" "$said"
is "$(seen "len(r['tags']), [x for x in b if '$second' in x]")" "(5, [])" "with a tag of its own, and its new branch goes, too"

# ---- A run of its own ----
a_night 'epochs = 1; seed = 1;' '' "$against"
is "$code $(champion main '[r["number"], r["series"]]') $(seen "b['main']['uncommitted'], len(b['main']['commits']), len(r['tags'])")" "0 [1, ''] ([], 5, 6)" \
	"a run of its own is committed, promoted by a second commit and tagged" "$(tail -n 5 "$KILN_ROOT/log")"

# ---- The report of a night ----
id=$(cat "$KILN_ROOT/out") now=$(date +%s)
printf '{"from_s": %s, "over_s": %s, "by": "timer", "run": "%s", "reason": "finished"}\n' "$now" "$now" "$id" >"$runs/tonight.json"
"$KILN_BIN/kiln-oneshot" report 2>>"$KILN_ROOT/log"
is "$? $(seen "b['main']['uncommitted'], list(b['main']['commits'][0]['metadata'])")" "0 ([], ['kiln.report'])" \
	"the report of a night is committed, so that the next winner can be merged" "$(tail -n 3 "$KILN_ROOT/log")"
get_object "lakefs://rep/main/runs" "$id/report.json" >/dev/null
ok $? "it is beside the files of its run"
no_violations
