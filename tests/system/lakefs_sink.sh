#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# lakeFS as the sink of a series: a branch for each trial from one commit, one commit for each trial; a branch that is another's; the
# API away during the night; a run of its own. The server is a contract server.
. "$(dirname "$0")/lib.sh"
. tests/system/train_lib.sh
. tests/lakefs/lib.sh
. tests/lakefs/series_lib.sh
start_lakefs "lakeFS as the sink"
data=$work/data kiln=$KILN_BIN/kiln
"$make_shards" "$data" train 4 200
"$make_shards" "$data" test 1 200
change create s3://kiln/lakefs/rep >/dev/null

# ---- A run of its own ----
conf plain 'epochs = 2;'
node whole
whole_night plain
id=$(cat "$KILN_ROOT/out")
is "$code $(seen 'sorted(b), b["main"]["uncommitted"], b["main"]["commits"][0]["metadata"]["kiln.run_id"], len(b["main"]["commits"])')" \
	"0 (['main'], [], '$id', 2)" "a run of its own is committed once, to the branch of sink.url" "$(tail -n 5 "$KILN_ROOT/log")"
start=$(seen 'b["main"]["commits"][0]["id"]')

# ---- A series ----
conf series 'epochs = 2;' '' "$trials"
whole_night series
series=$(series_json 's["id"]')
is "$code $(series_json 's["state"], s["sink_commit"]')" "0 ('finished', '$start')" "series.json has the commit where the branches begin" \
	"$(tail -n 5 "$KILN_ROOT/log")"
is "$(seen 'sorted(b)')" "['exp-$series-adam', 'exp-$series-sgd', 'main']" "each trial has a branch"
is "$(seen '[len(b[n]["commits"]) for n in sorted(b)], [b[n]["commits"][1]["id"] for n in sorted(b)[:2]], [b[n]["uncommitted"] for n in b]')" \
	"([3, 3, 3], ['$start', '$start'], [[], [], []])" "each has one commit, from that commit, and nothing is uncommitted; main has the record of the series"
run=$(series_json 't[0]["run"]')
is "$(seen "sorted((k, v) for k, v in b['exp-$series-adam']['commits'][0]['metadata'].items() if not k.startswith(('kiln.t', 'kiln.v', 'kiln.p')))")" \
	"[('kiln.run_id', '$run'), ('kiln.seed', '$(series_json 's["seed"]')'), ('kiln.series', '$series'), ('kiln.state', 'finished')]" "the metadata of the commit are texts"
is "$(seen "[k in b['exp-$series-adam']['commits'][0]['metadata'] for k in ('kiln.trial', 'kiln.plan_sha256', 'kiln.test.accuracy', 'kiln.validation.loss')]")" \
	"[True, True, True, True]" "with trial, plan and figures"
record=$KILN_ROOT/data/kiln/run/archive/$run
is "$(record_json 'r["sink_branch"]')" "{'name': 'exp-$series-adam', 'from': '$start'}" "run.json has the branch"
change diff main "exp-$series-adam" >"$work/diff"
like "$(cat "$work/diff")" "added runs/$run/model/model.safetensors" "the files are on the branch"
like "$(cat "$work/diff")" "added runs/$run/plan" "with the plan"

change branch "promote-$run" main >/dev/null
"$KILN_BIN/kiln-oneshot" promote 2>>"$KILN_ROOT/log"
is "$? $(seen 'sorted(b)') $(lakefs_test log | grep -cE '"DELETE", "[^"]*branches/(exp|promote)-')" "0 ['exp-$series-adam', 'exp-$series-sgd', 'main', 'promote-$run'] 0" \
	"without promote.against no branch is made, and none is deleted, also where its name is like ours" "$(tail -n 3 "$KILN_ROOT/log")"
change delete "promote-$run" >/dev/null

mkdir -p "$KILN_ROOT/data/kiln/spool/traind/$run"
"$KILN_BIN/kiln-uploadd" --drain 2>>"$KILN_ROOT/log"
is "$? $(seen "len(b['exp-$series-adam']['commits']), b['exp-$series-adam']['uncommitted']") $(ls "$KILN_ROOT/data/kiln/spool/traind")" "0 (3, []) " \
	"a kill between the commit and the end of the spool leaves one commit"

# ---- The branch of a record cannot be deleted ----
uploads() { # also after a kill: the note is removed, so that the record is put again
	rm -f "$KILN_ROOT/data/kiln/run/series/$series/uploaded"
	said=$(timeout 100 "$KILN_BIN/kiln-uploadd" --drain 2>&1)
	rc=$?
}
noted() { [ -e "$KILN_ROOT/data/kiln/run/series/$series/uploaded" ] && echo noted; }
fault DELETE "branches/series-" 423 100
uploads
like "$rc $said" "^0 .*the branch series-$series is still there; the record of $series is put later" "a branch that cannot be deleted is told of" "$said"
is "$(seen "[x for x in b if x.startswith('series-')]") $(noted)" "['series-$series'] " "the record is not noted as put"
lakefs_test faults '[]' >/dev/null
uploads
is "$rc $(seen "[x for x in b if x.startswith('series-')], len(b['main']['commits'])") $(noted)" "0 ([], 3) noted" "the next start deletes the branch, without another commit" "$said"

# ---- A record that no program can read ----
cp "$KILN_ROOT/data/kiln/run/series/$series/series.json" "$work/series.json"
printf '{' >"$KILN_ROOT/data/kiln/run/series/$series/series.json"
uploads
like "$rc $said $(noted)" "^0 .*the record of $series stays on this box.* noted$" "kiln-uploadd does not wait for it" "$said"
cp "$work/series.json" "$KILN_ROOT/data/kiln/run/series/$series/series.json"

# ---- A branch that is somebody else's ----
node taken
change branch production main >/dev/null
conf taken 'epochs = 2;' 'merge_into = "production"; keep_branches = "none";' "$trials promote: { against = \"champion\"; };"
"$kiln" run --config "$work/taken.conf" >/dev/null 2>>"$KILN_ROOT/log" &
night=$!
begun() { compgen -G "$KILN_ROOT/data/kiln/run/series/*/series.json" >/dev/null; }
wait_for 60 begun
series=$(series_json 's["id"]')
change branch "exp-$series-sgd" main >/dev/null
put_object "lakefs://rep/exp-$series-sgd" theirs "text"
change commit "exp-$series-sgd" "theirs" >/dev/null
wait $night
is "$(series_json '[(x["name"], x["state"]) for x in t]')" "[('adam', 'finished'), ('sgd', 'failed')]" "a trial whose branch is another's fails, the others go on"
like "$(series_json 't[1]["reason"]')" "branch 'exp-$series-sgd' exists and is not ours" "it says why"
is "$(series_json 's["promotion"]["outcome"]') $(seen "[x for x in sorted(b) if '$series' in x]")" "promoted ['exp-$series-sgd']" \
	"the winner is merged, and its branch deleted as sink.keep_branches says"
is "$(seen "len(b['exp-$series-sgd']['commits']), b['exp-$series-sgd']['uncommitted']")" "(4, [])" "the branch of the other stays as it is"

# ---- The uploads of a winner are refused ----
node refused
whole_night series
series=$(series_json 's["id"]') run=$(series_json 't[0]["run"]') record=$KILN_ROOT/data/kiln/run/archive/$run
change delete "exp-$series-adam" >/dev/null
change branch "exp-$series-adam" "$start" >/dev/null
put_object "lakefs://rep/exp-$series-adam" theirs "text"
change commit "exp-$series-adam" "theirs" >/dev/null
mkdir -p "$KILN_ROOT/data/kiln/spool/traind/$run"
echo late >"$KILN_ROOT/data/kiln/spool/traind/$run/late.txt"
said=$("$KILN_BIN/kiln-oneshot" promote --series "$series" --trial adam --force 2>&1)
like "$? $said" "^69 .*files are not all in the store yet" "a promotion waits for the files of its winner"
"$KILN_BIN/kiln-uploadd" --drain 2>>"$KILN_ROOT/log"
like "$(record_json 'r["uploads_refused"]')" "branch 'exp-$series-adam' exists and is not ours" "where the store refuses them, run.json says why"
said=$("$KILN_BIN/kiln-oneshot" promote --series "$series" --trial adam --force 2>&1)
like "$? $said" "^65 .*not promoted, because it cannot be judged: .*not in the store: .*is not ours" "and the promotion does not wait for ever"
is "$(series_json 's["promotion"]["outcome"]') $(seen "len(b['exp-$series-adam']['commits'])")" "refused 3" "its outcome is noted, and the other's branch stays"
change delete "exp-$series-adam" >/dev/null
"$KILN_BIN/kiln-uploadd" --drain 2>>"$KILN_ROOT/log"
is "$(record_json 'r.get("uploads_refused")') $(ls "$KILN_ROOT/data/kiln/spool/traind")" "None " "the files go up when the branch is free" "$(tail -n 3 "$KILN_ROOT/log")"

# ---- The same of the run that is current, while an archived one has files, too ----
record=$KILN_ROOT/data/kiln/run/current
run=$(record_json 'r["id"]') branch=$(record_json 'r["sink_branch"]["name"]')
change delete "$branch" >/dev/null
change branch "$branch" "$start" >/dev/null
put_object "lakefs://rep/$branch" theirs "text"
change commit "$branch" "theirs" >/dev/null
for trial in 0 1; do
	mkdir -p "$KILN_ROOT/data/kiln/spool/traind/$(series_json "t[$trial]['run']")"
	echo later >"$KILN_ROOT/data/kiln/spool/traind/$(series_json "t[$trial]['run']")/later.txt"
done
touch "$KILN_ROOT/data/kiln/run/unjudged"
"$KILN_BIN/kiln-uploadd" --drain 2>>"$KILN_ROOT/log"
is "$? $(ls "$KILN_ROOT/data/kiln/spool/traind")" "69 $run" "the files of the archived run go up, also where the current one's are refused" "$(tail -n 5 "$KILN_ROOT/log")"
like "$(record_json 'r["uploads_refused"]') $(ls "$KILN_ROOT/data/kiln/run" | tr '\n' ' ')" "is not ours.* judge" "the judgement is asked for"
noted=$(stat -L -c %i "$record/run.json")
timeout 6 "$KILN_BIN/kiln-uploadd" 2>>"$KILN_ROOT/log"
is "$? $(stat -L -c %i "$record/run.json")" "124 $noted" "the daemon goes on, and does not write run.json anew"
rm -rf "$KILN_ROOT/data/kiln/spool/traind/$run"

# ---- The same of an archived run, and the daemon goes on ----
read -r trial run < <(series_json '[x["name"] + " " + x["run"] for x in t if x["name"] != s["winner"]][0]')
change delete "exp-$series-$trial" >/dev/null
change branch "exp-$series-$trial" "$start" >/dev/null
put_object "lakefs://rep/exp-$series-$trial" theirs "text"
change commit "exp-$series-$trial" "theirs" >/dev/null
mkdir -p "$KILN_ROOT/data/kiln/spool/traind/$run"
echo later >"$KILN_ROOT/data/kiln/spool/traind/$run/later.txt"
lakefs_test clear '{}' >/dev/null
timeout 7 "$KILN_BIN/kiln-uploadd" 2>>"$KILN_ROOT/log"
is "$? $(lakefs_test log | grep -o '"POST", "/api/v1/repositories/rep/branches"' | wc -l)" "124 1" "an archived run that is refused is tried once, and again after a pause"
rm -rf "$KILN_ROOT/data/kiln/spool/traind/$run"

# ---- The API is away during the night ----
node away
"$kiln" run --config "$work/series.conf" >/dev/null 2>>"$KILN_ROOT/log" &
night=$!
first() { compgen -G "$KILN_ROOT/data/kiln/spool/traind/*/checkpoints" >/dev/null; }
wait_for 60 first
lakefs_test away true >/dev/null
both() { [ "$(series_json '[x["state"] for x in t]' 2>/dev/null)" = "['finished', 'finished']" ]; }
wait_for 120 both
ok $? "both trials train while the API is away" "$(tail -n 5 "$KILN_ROOT/log")"
series=$(series_json 's["id"]')
is "$(seen "[n for n in b if n == 'exp-$series-sgd']")" "[]" "the second one without a branch"
[ -d "$KILN_ROOT/data/kiln/spool/traind/$(series_json 't[1]["run"]')" ]
ok $? "its files wait in the spool"
lakefs_test away false >/dev/null
wait $night
is "$?" 0 "the night ends when the API is back" "$(tail -n 5 "$KILN_ROOT/log")"
is "$(seen "[(len(b[n]['commits']), b[n]['uncommitted'], b[n]['commits'][0]['metadata']['kiln.trial']) for n in sorted(b) if '$series' in n]")" \
	"[(6, [], 'adam'), (6, [], 'sgd')]" "each trial has its one commit then"
change diff main "exp-$series-sgd" >"$work/diff"
like "$(cat "$work/diff")" "added runs/$(series_json 't[1]["run"]')/plan" "with the plan"
no_violations
