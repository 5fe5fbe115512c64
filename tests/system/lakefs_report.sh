#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Reports in a lakeFS sink: that of a trial that trains over two nights, that of a run without its files in the store, one that
# comes between the merge of a champion and its note, and one for a branch that somebody keeps dirty. The server is a contract server.
. "$(dirname "$0")/lib.sh"
. tests/system/train_lib.sh
. tests/lakefs/lib.sh
. tests/lakefs/series_lib.sh
start_production "reports in lakeFS"

report() { # run: the report of a night that is over
	printf '{"from_s": %s, "over_s": %s, "by": "timer", "run": "%s", "reason": ""}\n' "$(date +%s)" "$(date +%s)" "$1" \
		>"$KILN_ROOT/data/kiln/run/tonight.json"
	said=$("$KILN_BIN/kiln-oneshot" report 2>&1)
}

forget() { # run: its record, and that of the series, as they are before the outcome is noted
	python3 -c 'import glob, json, sys
for p in glob.glob(sys.argv[1] + "/series/*/series.json") + glob.glob(sys.argv[1] + "/*/" + sys.argv[2] + "/run.json") + glob.glob(sys.argv[1] + "/current/run.json"):
    r = json.load(open(p)); r.pop("promotion", None); json.dump(r, open(p, "w"))' "$KILN_ROOT/data/kiln/run" "$1"
}

# ---- A trial over two nights ----
node two
conf kiln 'epochs = 12; seed = 1;' 'merge_into = "production";' "$trials checkpoint: { every_steps = 20; }; promote: { against = \"champion\"; };"
"$KILN_BIN/kiln" run --config "$work/kiln.conf" >/dev/null 2>>"$KILN_ROOT/log" &
night=$!
trained() { compgen -G "$KILN_ROOT/data/kiln/spool/traind/*/checkpoints/*.safetensors" >/dev/null; }
wait_for 60 trained
kill -TERM $night
wait $night
series=$(series_json 's["id"]') run=$(basename "$(echo "$KILN_ROOT"/data/kiln/spool/traind/*)")
branch=$(seen "[x for x in b if '$series' in x][0]")
report "$run"
is "$(seen "len(b['$branch']['commits']), 'runs/$run/report.json' in b['$branch']['uncommitted']")" "(1, True)" \
	"the report of a trial that goes on is on its branch, without a commit" "$said"
whole_night kiln
is "$code $(series_json '[x["state"] for x in t]')" "0 ['finished', 'finished']" "the trial goes on in the next night" "$(tail -n 5 "$KILN_ROOT/log")"
is "$(seen "n(b['$branch']['commits'], 'kiln.run_id'), n(b['$branch']['commits'], 'kiln.report'), b['$branch']['uncommitted']")" "(1, 0, [])" \
	"its one commit has the report, too"
like "$(get_object "lakefs://rep/$branch/runs" "$run/report.json")" '"outcome"' "which can be read there"

# ---- A report between the merge and its note ----
winner=$(series_json 's["winner"]') run=$(series_json '[x["run"] for x in t if x["name"] == s["winner"]][0]')
merged=$(seen "[c['id'] for c in b['production']['commits']], r['tags']")
forget "$run"
report "$run"
is "$(seen "b['exp-$series-$winner']['commits'][0]['metadata'].keys()")" "dict_keys(['kiln.report'])" "a report is committed on the winner's branch" "$said"
said=$("$KILN_BIN/kiln-oneshot" promote 2>&1)
is "$? $(series_json 's["promotion"]["outcome"]') $(seen "[c['id'] for c in b['production']['commits']], r['tags']")" "0 promoted $merged" \
	"the promotion goes on: no second merge, and no other tag" "$said"
# ---- Somebody keeps the branch dirty ----
node plain
conf plain 'epochs = 1;'
whole_night plain
run=$(cat "$KILN_ROOT/out") marks=$KILN_ROOT/data/kiln/run
put_object lakefs://rep/main theirs "text"
report "$run"
like "$said" "is not uploaded: .*main has changes that are not committed" "a report waits while another box has uncommitted changes on the branch"
is "$(ls "$marks" | grep -xE 'unsent|send') $(seen "[x for x in b if x.startswith('report')]")" "unsent []" "that is noted, and no branch is left"
timeout 5 "$KILN_BIN/kiln-uploadd" 2>>"$KILN_ROOT/log"
is "$(ls "$marks" | grep -xE 'unsent|send')" send "kiln-uploadd asks for it again"
said=$("$KILN_BIN/kiln-oneshot" report 2>&1)
is "$(ls "$marks" | grep -xE 'unsent|send')" unsent "it waits again while the branch is dirty"
change commit main "theirs" >/dev/null
said=$("$KILN_BIN/kiln-oneshot" report 2>&1)
is "$? $(ls "$marks" | grep -xE 'unsent|send') $(ls "$marks/reports" | grep -c pending)" "0  0" "and is sent once it is clean" "$said"
get_object "lakefs://rep/main/runs" "$run/report.json" >/dev/null
ok $? "it is beside the files of its run"
no_violations
