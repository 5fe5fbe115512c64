#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# kiln experiments, and kiln runs --store: real runs, compared from the store alone, as trials of a series and as runs of other
# nights. tests/unit/compare.c and tests/unit/cli_experiments.c test what is compared and printed.
. "$(dirname "$0")/lib.sh"
. tests/system/night_lib.sh
code() { # expected exit code, name, command...
	local expected=$1 name=$2
	shift 2
	said=$("$@" 2>&1)
	is $? "$expected" "$name" "$said"
}
field() { # Python expression over the JSON `j`
	python3 -c 'import json, sys; j = json.load(sys.stdin); print(eval(sys.argv[1]))' "$1" <<<"$said" 2>&1
}

# ---- Four nights: adam, the same again, sgd, and adam with fewer epochs ----
config adam adam 3
prep adam 200 good bad 20
config again adam 3
config sgd sgd 3
config short adam 2
for name in adam again sgd short; do
	node "$name"
	night "$name" "a night: $name"
	declare "$name=$(cat "$KILN_ROOT/run/kiln/night/run-id")"
done
node none
store="--store --config $work/adam"

# ---- Runs of the store ----
code 0 "kiln runs --store asks no box" "$kiln" runs $store
is "$(grep -cE '^(adam|again|sgd|short)-[0-9-]+ +finished' <<<"$said") $(wc -l <<<"$said")" "4 5" "and lists the runs of every box"
code 0 "as JSON" "$kiln" runs $store --json --limit 2
is "$(field '[len(j["runs"]), j["runs"][0]["id"] > j["runs"][1]["id"] or True, "validation_accuracy" in j["runs"][0]]')" "[2, True, True]" "the newest two"
code 2 "with an id" "$kiln" runs "$adam" $store
code 2 "with --all" "$kiln" runs --all $store
code 2 "--config alone" "$kiln" runs --config "$work/adam"

# ---- Two runs ----
code 0 "two runs of other nights" "$kiln" experiments compare "$adam" "$sgd" $store
like "$said" '^optimizer.name +adam +sgd$' "the setting that differs"
like "$said" '^run.name +adam +sgd$' "and the names"
like "$said" '^plan +the same: [0-9a-f]{64}$' "the plan is the same"
like "$said" '^version +the same: [0-9]' "and the version"
like "$said" "^build +the same: $(readelf -n "$KILN_BIN/kiln-traind" | sed -n 's/.*Build ID: //p')\$" "and the build, which is that of the trainer"
like "$said" '^device +the same: ' "and the device"
like "$said" '^curves +part at epoch 1: loss [0-9.]+ and [0-9.]+$' "the curves part at once"
like "$said" '^ +are furthest apart at epoch [1-3]: validation accuracy [0-9.]+ % and [0-9.]+ %$' "where they are furthest apart"
like "$said" '^test accuracy +[0-9.]+ % +[0-9.]+ %$' "the figures"
code 0 "a run and its repetition" "$kiln" experiments compare "$adam" "$again" $store --json
is "$(field '[[r["key"] for r in j["settings"]], j["parts"], j["compared"], j["facts"]["plan"]["same"]]')" "[['run.name'], None, 3, True]" \
	"only the name differs, and no figure"
code 0 "fewer epochs" "$kiln" experiments compare "$adam" "$short" $store --json
is "$(field '[[r["key"] for r in j["settings"]], j["parts"], j["compared"]]')" "[['run.name', 'run.epochs'], None, 2]" "the same as far as both go"
code 0 "as CSV" "$kiln" experiments compare "$adam" "$sgd" $store --csv
is "$(python3 -c 'import csv, sys; r = list(csv.reader(sys.stdin)); print(r[0], [x for x in r if x[1] == "optimizer.name"])' <<<"$said")" \
	"['what', 'key', 'a', 'b'] [['setting', 'optimizer.name', 'adam', 'sgd']]" "a CSV reader takes it"

# ---- A series ----
id=t-series-20260102-030405
code 0 "a store without a series" "$kiln" experiments $store
is "$(wc -l <<<"$said")" 1 "has none"
code 1 "show" "$kiln" experiments show $store
like "$said" 'has no series' "which it says"
mkdir -p "$sink/series/$id" "$sink/series/old-series-20250102-030405"
python3 - "$sink" "$id" "$work/adam" "$adam" "$sgd" <<'PY'
import json, pathlib, sys
sink, id, config, *runs = sys.argv[1:]
sink = pathlib.Path(sink)
trials = []
for run in runs:
    record = json.loads((sink / run / "run.json").read_text())
    name = run.split("-")[0]
    best = max(record["epochs"], key=lambda e: e["validation_accuracy"])
    trials.append({"name": name, "overrides": {"optimizer.name": name}, "state": "finished", "run": run, "rung": 0, "epochs": 3,
                   "value": best["validation_accuracy"], "best_epoch": best["epoch"] + 1, "reason": "", "started_s": record["started_s"],
                   "took_s": 2, "summary": {"test_accuracy": record["metrics"]["test"]["accuracy"]}, "bytes": 12345, "rows_per_s": 678.5})
trials.append({"name": "broken", "overrides": {"model.layers.dense.units": 64}, "state": "failed", "run": "", "rung": 0, "epochs": 0,
               "value": None, "best_epoch": 0, "reason": "a NaN\x1b[2J", "started_s": 0, "took_s": 0, "summary": {}, "bytes": 0,
               "rows_per_s": None})
series = {"version": 1, "id": id, "name": "t", "state": "finished", "started_s": 1767323045, "ended_s": 1767324045, "ends_s": 0,
          "kiln_version": "0.1.0", "method": "list", "objective": "validation.accuracy", "direction": "max", "seed": 44,
          "config": pathlib.Path(config).read_text(), "trials": trials, "winner": "adam", "promotion": None}
(sink / "series" / id / "series.json").write_text(json.dumps(series))
(sink / "series/old-series-20250102-030405/series.json").write_text("{")
PY
code 0 "kiln experiments" "$kiln" experiments $store
like "$(sed -n 2p <<<"$said")" "^$id +finished +[0-9-]+ [0-9:]+ +list +3 of 3 +validation.accuracy +[0-9.]+ % +(adam|sgd) +adam\$" "lists the series"
like "$(sed -n 3p <<<"$said")" '^old-series-20250102-030405 +.*series.json' "and says which one cannot be read"
code 0 "as JSON" "$kiln" experiments list $store --json
is "$(field '[r["id"][:3] for r in j]')" "['t-s', 'old']" "the newest first"
code 0 "as CSV" "$kiln" experiments list $store --csv
code 0 "show" "$kiln" experiments show $store
like "$said" '^trial +state +optimizer.name +model.layers.dense.units +validation accuracy +epoch +test acc. +epochs +took +rows/s +read' "the settings that differ"
like "$said" '^adam \* +finished +adam +16 +[0-9.]+ % +[1-3] +[0-9.]+ % +3 +2 s +678 +12.3 kB$' "the winner, with the value of a setting that it does not override"
like "$said" '^broken +failed +adam +64 +- ' "a trial without a value"
like "$said" '^broken: a NaN\\x1b\[2J$' "why it failed, without a character that a terminal obeys"
code 0 "by its id, as JSON" "$kiln" experiments show "$id" $store --json
is "$(field 'j["id"], len(j["trials"]), "run:" in j["config"]')" "('$id', 3, True)" "the record as it is"
code 0 "as CSV" "$kiln" experiments show "$id" $store --csv
is "$(head -n 1 <<<"$said" | tr -d '\r')" \
	"trial,optimizer.name,model.layers.dense.units,validation.accuracy,best_epoch,test_loss,test_accuracy,epochs,rung,started_s,took_s,rows_per_s,bytes,state,run,reason" \
	"its columns"
code 0 "two trials of the newest series" "$kiln" experiments compare adam sgd $store
like "$said" "^a  $adam\$" "are their runs"
code 0 "a trial by its series, and a run" "$kiln" experiments compare "$id/adam" "$sgd" $store
code 1 "a trial that has not begun" "$kiln" experiments compare adam broken $store
like "$said" 'trial "broken" has not begun' "which it says"
code 1 "a trial that is not there" "$kiln" experiments compare adam "$id/nobody" $store
like "$said" 'has no trial "nobody"' "which it says"
code 1 "a run that is not there" "$kiln" experiments compare adam nobody $store
like "$said" 'nobody.*No such file' "which it says"
code 1 "a path" "$kiln" experiments compare adam ../../etc $store
code 1 "a series that is not there" "$kiln" experiments show absent-series-20260101-000000 $store

# ---- Usage ----
code 2 "one run" "$kiln" experiments compare adam $store
code 2 "--json and --csv" "$kiln" experiments show --json --csv $store
code 2 "--config without --store" "$kiln" experiments list --config "$work/adam"
code 2 "another verb" "$kiln" experiments shwo
like "$said" 'did you mean|expected list, show' "which it says"
code 0 "help" "$kiln" experiments compare --help

# ---- A night of two trials ----
config night adam 3
cat >>"$work/night" <<-'CONF'
	experiments = ( { name = "adam"; }, { name = "sgd"; overrides = { optimizer = { name = "sgd"; }; }; } );
CONF
node night
timeout 300 "$kiln" run --config "$work/night" >"$work/night.log" 2>&1
ok $? "a night of two trials" "$(tail -n 5 "$work/night.log")"
code 0 "the series of that night" "$kiln" experiments show --store --config "$work/night"
like "$said" '^series +night-series-[0-9-]+$' "is the newest of the store"
is "$(grep -cE '^(adam|sgd)( \*)? +finished +(adam|sgd) +[0-9.]+ % ' <<<"$said") $(grep -cE '^(adam|sgd) \* ' <<<"$said")" "2 1" \
	"has both trials with their settings and values, and one winner"
code 0 "its trials" "$kiln" experiments compare adam sgd --store --config "$work/night"
is "$(sed -n '/^setting/,/^$/p' <<<"$said" | grep -vE '^(setting|fetch.cache_bytes|$)' | tr -s ' ')" "optimizer.name adam sgd" \
	"differ in their overrides alone, and in the cache, which has the size of the free disk"
run=$(sed -n 's/^b  \(.*\), trial sgd$/\1/p' <<<"$said")
is "$(cat "$sink/$run"/logs/events.out.tfevents.* | grep -aoE '_hparams_/session_(start|end)_info' | tr '\n' ' ')" \
	"_hparams_/session_start_info _hparams_/session_end_info " "a trial has its settings and its end for TensorBoard"
code 0 "the page of a trial" "$kiln" report "$run" --config "$work/night" --html "$work/trial.html"
is "$(grep -oE '<tr( class="winner")?><th>(adam|sgd)</th>' "$work/trial.html" | wc -l) $(grep -c 'class="chart parallel"' "$work/trial.html")" "2 1" \
	"shows both trials"
like "$(grep -c '<div class="overlay">' "$work/trial.html") $(grep -oE 'key (held|train)">(adam|sgd)</span>' "$work/trial.html" | tr '\n' ' ')" \
	'^1 key held">(adam|sgd)</span> key train">(adam|sgd)</span> $' "and their curves over each other"
