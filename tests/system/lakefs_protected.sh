#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Promotion into a branch that lakeFS protects: it takes merges, and neither objects nor commits. Reports and a rollback go by branches of
# their own. Runs of their own: promoted by a branch; a hook that refuses leaves nothing behind; a commit of their own. An access key
# that may not delete branches. The server is a contract server.
. "$(dirname "$0")/lib.sh"
. tests/system/train_lib.sh
. tests/lakefs/lib.sh
. tests/lakefs/series_lib.sh
start_production "a protected branch in lakeFS"
protect '["prod*"]'
node whole
runs=$KILN_ROOT/data/kiln/run

report() { # run: the report of a night that is over
	printf '{"from_s": %s, "over_s": %s, "by": "timer", "run": "%s", "reason": "finished"}\n' "$(date +%s)" "$(date +%s)" "$1" >"$runs/tonight.json"
	said=$("$KILN_BIN/kiln-oneshot" report 2>&1)
	rc=$?
}

champion() { # branch, python expression of r
	get_object "lakefs://rep/$1/runs/models/t" champion.json | python3 -c 'import json, sys; r = json.load(sys.stdin); print(eval(sys.argv[1]))' "$2"
}

head_of() { # branch: the metadata of its newest commit, and what is uncommitted
	seen "b['$1']['commits'][0]['metadata'], b['$1']['uncommitted']"
}

short='experiments = ( { name = "short"; overrides = { run = { epochs = 1; }; }; }, { name = "long"; overrides = { run = { epochs = 6; }; }; } );'
against='promote: { against = "champion"; };'
sink='merge_into = "production"; keep_branches = "none";'

# ---- Series ----
like "$(change commit production m)" "^-13 .*cannot commit to protected branch" "the branch is protected"
lakefs_test deny '["fs:DeleteBranch"]' >/dev/null
a_night 'epochs = 1; seed = 1;' "$sink" "$trials $against"
is "$code $(champion production 'r["number"]')" "0 1" "the winner is merged into it" "$(tail -n 5 "$KILN_ROOT/log")"
is "$(series_json 's["promotion"]["outcome"], s.get("branches_left")') $(seen "len([x for x in b if '$series' in x])")" "('promoted', None) 2" \
	"a key that may not delete branches keeps them, and the outcome stands"
like "$(cat "$KILN_ROOT/log")" "insufficient permissions; the branch stays" "with a warning"
winner=$(series_json '[x["run"] for x in t if x["name"] == s["winner"]][0]')
report "$winner"
like "$(head_of production)" "'kiln.report': '[0-9-]+'\}, \[\]" "the report of a promoted night is merged into it" "$said"
get_object "lakefs://rep/production/runs" "$winner/report.json" >/dev/null
ok $? "it is beside the files of its run"
like "$(seen 'sorted(b)')" "'report-$winner-" "the branch of the report stays, too"
like "$said" "insufficient permissions; the branch report-$winner-[0-9-]+ stays" "with a warning"
like "$(ls "$runs/left" | tr '\n' ' ')" "^exp-$series-adam exp-$series-sgd report-$winner-[0-9-]+ $" "and are noted as left"
lakefs_test deny '[]' >/dev/null
rm -rf "$runs/reports"

a_night 'epochs = 1; seed = 1;' "$sink" "$short $against"
is "$code $(champion production '[r["number"], r["before"]]') $(seen "[x for x in b if '$series' in x]")" "0 [2, 1] []" "a better one follows" "$(tail -n 5 "$KILN_ROOT/log")"
like "$(seen 'sorted(b)') $(ls "$runs/left" | tr '\n' ' ')" "^\['main', 'production', 'report-$winner-[0-9-]+'\] report-[^ ]* $" "and the branches that are left go with it"
fault POST "merge/production" 502 1 '' '' true
promote --rollback
like "$rc $said" "^0 .*champion 3 of t again" "the former champion comes back, also where the answer to the merge is lost"
is "$(champion production '[r["number"], r["before"], r["rolled_back"]]') $(head_of production)" "[3, 0, 2] ({'kiln.champion': '3'}, [])" "by a merge"
is "$(seen "[x for x in b if x.startswith('rollback')]")" "[]" "whose branch goes"

# ---- A rollback whose answer is lost in every attempt ----
promote --series "$series" --force
lakefs_test faults '[{"method": "POST", "path": "merge/production", "status": 502, "times": 1, "body": {"message": "lost"}, "after": true},
	{"method": "POST", "path": "merge/production", "status": 502, "times": 100, "body": {"message": "a fault"}}]' >/dev/null
promote --rollback
like "$rc $said" "^69 .*champion 5 may have come back; the same request again goes back no further" "an answer that is lost in every attempt is an error" "$said"
lakefs_test faults '[]' >/dev/null
promote --rollback
like "$rc $said" "^0 .*champion 5 of t is back already" "the same request again finds what it has done"
is "$(champion production '[r["number"], r["before"], r["rolled_back"]]') $(ls "$runs" | grep lost)" "[5, 0, 4] " "and goes back no further"

# ---- A run of its own ----
unset series
a_night 'epochs = 1; seed = 1;' "$sink" 'promote: { against = "nothing"; };'
run=$(cat "$KILN_ROOT/out")
is "$code $(champion production '[r["number"], r["run_id"]]')" "0 [6, '$run']" "a run of its own is merged into it" "$(tail -n 5 "$KILN_ROOT/log")"
is "$(seen "b['main']['commits'][0]['metadata']['kiln.run_id'], b['main']['uncommitted'], [x for x in b if x.startswith('promote')]")" "('$run', [], [])" \
	"main has its commit, and the branch of the promotion goes"
report "$run"
like "$rc $(head_of production)" "^0 .*'kiln.report': .*\[\]" "and so is its report" "$said"
is "$(seen 'sorted(b)') $(ls "$runs/left")" "['main', 'production'] " "with a report goes the branch that is left of an earlier one"

a_night 'epochs = 1; seed = 1;' "" "$against"
like "$code $(champion main '[r["number"], r["before"]]') $(head_of main)" "^0 \[1, 0\] .*'kiln.champion': '1'.*, \[\]\)$" \
	"without sink.merge_into it becomes the champion of main"
first=$(cat "$KILN_ROOT/out") before=$(seen "b['main']['commits'][0]['id']")
a_night 'epochs = 1; seed = 2;' "" "$against"
run=$(cat "$KILN_ROOT/out") record=$runs/current
is "$code $(record_json 'r["promotion"]["outcome"]') $(champion main '[r["number"], r["run_id"]]')" "0 kept [1, '$first']" "one that is no better does not" "$(tail -n 5 "$KILN_ROOT/log")"
is "$(seen "[(c['metadata'].get('kiln.judged'), c['metadata'].get('kiln.run_id')) for c in b['main']['commits'][:2]], b['main']['commits'][2]['id'], b['main']['uncommitted']")" \
	"([('$run', None), (None, '$run')], '$before', [])" "its record is merged, after its own commit"
like "$(get_object "lakefs://rep/main/runs" "$run/run.json")" '"outcome":.*"kept"' "and says so"

python3 -c 'import json, sys
p = sys.argv[1]; r = json.load(open(p)); r.pop("promotion"); json.dump(r, open(p, "w"))' "$record/run.json"
promote
is "$rc $(record_json 'r["promotion"]["outcome"]') $(seen "n(b['main']['commits'], 'kiln.judged')")" "0 kept 1" "a kill before the note makes no second commit" "$said"

lakefs_test deny '["fs:DeleteBranch"]' >/dev/null
for again in 1 2; do
	sleep 1 # at_s of the outcome is another one
	promote --series "$run"
	is "$rc $(record_json 'r["promotion"]["outcome"]') $(seen "n(b['main']['commits'], 'kiln.judged')")" "0 kept $((1 + again))" "a branch that cannot be deleted blocks no record ($again)" "$said"
done
lakefs_test deny '[]' >/dev/null
is "$(seen "[x for x in sorted(b) if x.startswith('promote')]")" "['promote-$run', 'promote-$run-2']" "the second record has a branch of its own"
for branch in promote-$run promote-$run-2; do change delete "$branch" >/dev/null; done

hook pre-commit "no licence"
before=$(seen "b['main']['commits'][0]['id']")
promote --series "$run" --force
like "$rc $said" "^65 .*not promoted, because it cannot be merged: .*no licence" "a hook refuses a run of its own"
is "$(champion main 'r["run_id"]') $(seen "b['main']['commits'][0]['id'], b['main']['uncommitted'], sorted(b)")" "$first $(seen "'$before', [], [x for x in sorted(b) if not x.startswith('promote')]")" \
	"the champion stays, and nothing is left on the branch"
hook
promote --series "$run" --force
is "$rc $(champion main '[r["number"], r["run_id"], r["before"]]')" "0 [2, '$run', 1]" "without the hook it is promoted" "$said"

# ---- Somebody else's commit takes the files of a run ----
conf kiln 'epochs = 1; seed = 5;' "" ""
hold POST "branches/main/commits"
whole_night kiln &
night=$!
wait_for 60 is_held
# what a second writer of the branch does while the first one is about to commit
change commit main "theirs" '{"who": "they"}' >/dev/null
lakefs_test release '{}' >/dev/null
wait $night
run=$(cat "$KILN_ROOT/out")
is "$(seen "[(c['metadata'].get('who'), c['metadata'].get('kiln.run_id')) for c in b['main']['commits'][:2]]")" "[(None, '$run'), ('they', None)]" \
	"the run has a commit of its own, also where another one has taken its files" "$(tail -n 5 "$KILN_ROOT/log")"

# ---- An access key that may not make tags ----
lakefs_test deny '["fs:CreateTag"]' >/dev/null
tags=$(seen 'len(r["tags"])') run=$(cat "$KILN_ROOT/out")
promote --series "$run" --force
like "$rc $said" "^0 .*insufficient permissions; the commit has no tag" "a champion without a tag is a champion"
is "$(champion main 'r["run_id"]') $(seen 'len(r["tags"])') $(record_json 'r["promotion"]["merged"]["tag"]')" "$run $tags " "the record says so"
lakefs_test deny '[]' >/dev/null

# ---- A kill between the outcome and the deletion ----
change branch "promote-$run" main >/dev/null
promote
is "$rc $(seen "[x for x in b if x.startswith('promote')]")" "0 ['promote-$run']" "a branch that no promotion has left stays" "$said"
printf lakefs://rep/main/runs >"$runs/left/promote-$run"
promote
is "$rc $(seen "[x for x in b if x.startswith('promote')]") $(ls "$runs/left")" "0 [] " "the next start deletes one that is noted as left" "$said"
printf lakefs://other/main/runs >"$runs/left/promote-$run"
change branch "promote-$run" main >/dev/null
promote
is "$rc $(seen "[x for x in b if x.startswith('promote')]") $(ls "$runs/left")" "0 ['promote-$run'] promote-$run" "but none of another sink" "$said"
change delete "promote-$run" >/dev/null
rm "$runs/left/promote-$run"

# ---- A hook that refuses tags ----
promote --series "$first" --force
tags=$(seen 'len(r["tags"])')
hook pre-create-tag "no"
promote --series "$run" --force
like "$rc $said" "^0 .*pre-create-tag hook: no; the commit has no tag" "a hook that refuses a tag refuses no promotion" "$said"
is "$(champion main 'r["run_id"]') $(seen 'len(r["tags"])') $(record_json 'r["promotion"]["outcome"], r["promotion"]["merged"]["tag"]')" "$run $tags ('promoted', '')" "its outcome says what is merged"
hook

# ---- A loser whose branch could not be deleted is promoted ----
hook pre-delete-branch "people want to keep it" 'exp-*'
a_night 'epochs = 1; seed = 1;' 'merge_into = "production"; keep_branches = "winner";' "$short $against"
loser=$(series_json '[x["name"] for x in t if x["name"] != s["winner"]][0]')
is "$(ls "$runs/left")" "exp-$series-$loser" "the loser's branch is noted as left" "$(tail -n 5 "$KILN_ROOT/log")"
hook
promote --series "$series" --trial "$loser"
is "$(seen "[x for x in b if x == 'exp-$series-$loser']") $(ls "$runs/left")" "['exp-$series-$loser'] " "its promotion does not delete it as a left one, because it has the only model" "$said"

# ---- kiln check ----
check() { # what kiln check says of the sink
	"$KILN_BIN/kiln" check "$work/kiln.conf" 2>&1 | grep -E "^(ok|warning|failed|not seen) +sink "
}
conf kiln 'epochs = 1;' "$sink" ""
before=$(seen 'b') tags=$(seen 'r["tags"]')
like "$(check)" "^ok +sink +sink.merge_into: the branch production is at commit [0-9a-f]{64}" "kiln check finds the branch"
like "$(check)" "^ok +sink +lakefs://rep/main/runs: the access key may do all that a night and a promotion need" "and what the access key may do"
is "$(seen 'b')" "$before" "it leaves nothing"
fault POST 'rep/branches$' 502 1 '' '' true
like "$(check)" "^not seen|^failed" "the answer to the creation of its branch is lost: it cannot say what the key may do"
is "$(seen 'b')" "$before" "and the branch goes, too"
change tag v1 main >/dev/null
conf kiln 'epochs = 1;' 'merge_into = "v1";' ""
lakefs_test deny '["fs:CreateCommit", "fs:CreateTag", "fs:WriteObject"]' >/dev/null
said=$(check)
like "$said" "^failed +sink +sink.merge_into: .*branch v1: not found" "a tag is no branch to merge into"
like "$said" "^failed +sink +.*the access key may not do fs:CreateCommit, fs:CreateTag, fs:WriteObject: .*insufficient permissions" "one call names all actions that are missing"
lakefs_test deny '["fs:DeleteBranch", "fs:CreateTag"]' >/dev/null
like "$(check)" "^warning +sink +.*may not do fs:CreateTag, fs:DeleteBranch:" "some are missed less"
lakefs_test deny '["fs:ReadCommit", "fs:CreateBranch", "fs:DeleteObject", "fs:ListObjects"]' >/dev/null
like "$(check)" "^failed +sink +.*may not do fs:ReadCommit, fs:CreateBranch:" "without a branch of its own no object is put"
lakefs_test deny '[]' >/dev/null
sed -i 's#/main/runs#/production/runs#' "$work/kiln.conf"
like "$(check)" "^failed +sink +production: .*cannot write to protected branch" "a protected branch takes no runs without a series"
conf kiln 'epochs = 1;' "$sink" "$trials"
sed -i 's#/main/runs#/production/runs#' "$work/kiln.conf"
is "$(check | grep -c "^failed")" 0 "but the trials of a series have branches of their own" "$(check)"
is "$(seen 'b')" "$before" "and it leaves nothing"
no_violations
