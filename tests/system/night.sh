#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A whole night on a small data set: prep, begin, three daemons, the report, and the files in the store at the end.
. "$(dirname "$0")/lib.sh"

sink=$work/store/runs
cat >"$work/kiln.conf" <<-CONF
	run: { name = "night"; epochs = 6; batch_rows = 16; };
	optimizer: { learning_rate = 0.005; };
	source: { url = "file://$work/store/data"; };
	sink: { url = "file://$sink"; };
	ring: { small_pages = true; };
	checkpoint: { keep = 2; };
	power: { upload_wait_min = 0; };
	schema = ( { name = "sentence"; dtype = "float32"; shape = [ 64 ]; }, { name = "label"; dtype = "int64"; shape = [ 2 ]; } );
	model: { layers = ( { op = "dense"; units = 16; }, { op = "relu"; }, { op = "dropout"; rate = 0.2; },
	                    { op = "dense"; units = 2; }, { op = "softmax"; } ); };
CONF
# In each sentence one of three words decides the mood, so that the model can learn something.
awk 'BEGIN {
	srand(44); split("grand warm fine lovely", good, " "); split("dull cold grim awful", bad, " ")
	split("film story actor scene song ending", thing, " "); split("was felt looked stayed", verb, " ")
	for (i = 0; i < 600; i++) {
		pos = i % 2
		print (pos ? "pos" : "neg") "\tthe " thing[1 + int(rand() * 6)] " " verb[1 + int(rand() * 4)] " " \
			(pos ? good[1 + int(rand() * 4)] : bad[1 + int(rand() * 4)]) " in part " int(rand() * 90)
	}
}' >"$work/reviews.tsv"

"$KILN_BIN/kiln" prep "$work/reviews.tsv" --config "$work/kiln.conf" --dims 64 --records-per-shard 40 >"$work/prep.log" 2>&1
ok $? "prep" "$(cat "$work/prep.log")"
node one
timeout 120 tools/night "$KILN_BIN" "$work/kiln.conf" >"$work/night.log" 2>&1
ok $? "a night ends by itself" "$(cat "$work/night.log" "$KILN_ROOT"/run/kiln/night/*.log)"
run=$(cat "$KILN_ROOT/run/kiln/night/run-id")
report=$("$KILN_BIN/kiln" report "$run" --config "$work/kiln.conf" 2>&1)
like "$report" 'state   finished' "the store says finished"
like "$report" 'test accuracy (9[0-9]|100)' "the model learns"
for name in plan run.json checkpoints/latest.json model/model.safetensors model/model.onnx \
	model/saved_model/1/saved_model.pb; do
	test -s "$sink/$run/$name"
	ok $? "$name is in the store"
done
for split in train validation; do
	ls "$sink/$run/logs/$split/" | grep -q events.out.tfevents
	ok $? "curves of $split are in the store"
done
page() { # daemon, member
	"$KILN_BUILD/system/show_status" "$1" "$2"
}
latest=$(python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["step"])' "$sink/$run/checkpoints/latest.json")
is "$(page uploadd checkpoint_step) $(page traind step)" "$latest $latest" "the status pages of uploadd and traind know the last step"
[ "$(page fetchd bytes)" -gt 10000 ]
ok $? "that of fetchd, what was received" "$(page fetchd bytes)"
"$KILN_BIN/kiln-oneshot" finished 2>/dev/null # the box has no kiln.conf, and no systemd
"$KILN_BIN/kiln-oneshot" report 2>"$work/said"
ok $? "the night is reported" "$(cat "$work/said")"
python3 - "$sink/$run" >"$work/said" <<'PY'
import json, sys
report, run = (json.load(open(f"{sys.argv[1]}/{name}.json")) for name in ("report", "run"))
time, text = report["time"], open(f"{sys.argv[1]}/report.txt").read()
for key in ("loss", "accuracy", "validation_loss", "validation_accuracy"):
    values = [epoch[key] for epoch in run["epochs"]]
    best = (min if "loss" in key else max)(values)
    curve = {"first": values[0], "best": best, "best_epoch": values.index(best) + 1, "last": values[-1]}
    print(report["curves"][key] == curve, f"report.json: the end points of {key}", sep="\t")
print(report["test"] == run["metrics"]["test"], "report.json: the test's figures", sep="\t")
print((report["outcome"], report["run"]["epochs_done"], report["run"]["plan_sha256"]) == ("finished", 6, run["plan_sha256"]),
      "report.json: what ran", sep="\t")
stages = ("starting_s", "waiting_s", "training_s", "evaluating_s", "checkpoints_s", "paused_s")
print(all(time[s] > 0 for s in stages[:-1]) and time["paused_s"] == 0 and time["starts"] == 1 and time["upload_s"] > 0 and
      sum(time[s] for s in stages) <= report["night"]["to_s"] - report["night"]["from_s"] + 1,
      "report.json: time by stage, of the night", sep="\t")
print(all(word in text for word in (run["id"], "validation accuracy", "training", "store/data", run["device"])), "report.txt says it on a page", sep="\t")
PY
while IFS=$'\t' read -r found what; do
	is "$found" True "$what" "$(cat "$sink/$run/report.json")"
done <"$work/said"
like "$("$KILN_BIN/kiln" report)" '^  training +[0-9.]+ s' "kiln report: time by stage"
predicted=$("$KILN_BIN/kiln" predict "file://$sink/$run/model" "the song felt lovely" "the song felt awful" 2>&1)
like "$(sed -n 1p <<<"$predicted")" pos "predict: a good sentence"
like "$(sed -n 2p <<<"$predicted")" neg "predict: a bad sentence"

# ---- Quality of the model ----

for split in test validation train; do
	"$KILN_BIN/kiln" evaluate "file://$sink/$run/model" --split $split --json >"$work/$split.json" 2>"$work/said"
	ok $? "evaluate --split $split" "$(cat "$work/said")"
done
python3 - "$work" "$sink/$run/run.json" >"$work/said" <<'PY'
import json, sys
work, run = sys.argv[1:]
record = json.load(open(run))
metrics = record["metrics"]
for split in ("test", "validation"):
    e, m = json.load(open(f"{work}/{split}.json")), metrics[split]
    same = e["rows"] == m["rows"] and abs(e["loss"] - m["loss"]) <= 1e-5 * m["loss"] and abs(e["accuracy"] - m["accuracy"]) < 1e-9
    right = sum(e["confusion"][i][i] for i in range(2))
    print("same" if same and round(right) == round(e["accuracy"] * e["rows"]) and sum(map(sum, e["confusion"])) == e["rows"] else (e, m),
          f"{split}: as the run itself found it", sep="\t")
e = json.load(open(f"{work}/test.json"))
print("same" if record["confusion"] == {"classes": 2, "rows": e["rows"], "matrix": e["confusion"], "split": "test"} else
      (record["confusion"], e["confusion"]), "test: the confusion matrix of run.json is that of kiln evaluate", sep="\t")
e = json.load(open(f"{work}/train.json"))
print("same" if e["rows"] == metrics["train"]["rows"] and 0 < e["loss"] < 0.7 else e, "train: every row", sep="\t")
PY
while IFS=$'\t' read -r found what; do
	is "$found" same "$what"
done <"$work/said"
like "$("$KILN_BIN/kiln" evaluate "$sink/$run/model")" "confusion matrix: one row per label, one column per prediction" "evaluate: the confusion matrix"
is "$("$KILN_BIN/kiln" evaluate "$sink/$run/model" --data "file://$work/store/data" --json | grep -v '"model"')" "$(grep -v '"model"' "$work/test.json")" \
	"evaluate --data: shards by their place"
mkdir "$work/nothing"
TMPDIR=$work/absent "$KILN_BIN/kiln" evaluate "$sink/$run/model" >"$work/said" 2>&1
like "$? $(cat "$work/said")" "^1 kiln: $work/absent/kiln-plan-.*: cannot make it: No such file or directory" \
	"evaluate: what it downloads lies in TMPDIR"
"$KILN_BIN/kiln" evaluate "$sink/$run/model" --data "file://$work/nothing" >"$work/said" 2>&1
like "$? $(cat "$work/said")" "^1 kiln: file://$work/nothing: found no shards of the test split" "evaluate: a place without shards"

# ---- Files for other tools ----

said=$("$KILN_BIN/kiln" export "file://$sink/$run/model" --output "$work/exported" 2>&1)
is "$said" "$work/exported/model.onnx: $(stat -c %s "$work/exported/model.onnx") bytes
$work/exported/saved_model/1/saved_model.pb: $(stat -c %s "$work/exported/saved_model/1/saved_model.pb") bytes" "export: what it wrote"
for name in model.onnx saved_model/1/saved_model.pb; do
	cmp "$work/exported/$name" "$sink/$run/model/$name"
	ok $? "export: $name as the run left it"
done
is "$("$KILN_BIN/kiln" export "$sink/$run/model" --output "file://$work/alone" --form onnx --json | tr -d '\n\t')" \
	'{"output":"file://'"$work"'/alone","files":[{"form":"onnx","file":"model.onnx","bytes":'"$(stat -c %s "$work/exported/model.onnx")"'}],"left_out":[]}' \
	"export --form onnx --json"
is "$(ls "$work/alone")" model.onnx "writes that alone"
"$KILN_BIN/kiln" export "$sink/$run/model" --output "$work/alone" --form keras >"$work/said" 2>&1
is "$? $(head -n 1 "$work/said")" '2 kiln export: --form: found "keras", expected one of onnx, saved_model' "export: a form that there is not"
"$KILN_BIN/kiln" export "$sink/$run/checkpoints/$(ls "$sink/$run/checkpoints" | grep -m 1 safetensors)" --output "$work/checkpoint" >"$work/said" 2>&1
is "$? $(cd "$work/checkpoint" && find . -type f | sort | xargs)" "0 $(cd "$work/exported" && find . -type f | sort | xargs)" "export: a checkpoint is a model, too"
"$KILN_BIN/kiln" export "$sink/$run/model" --output /proc/none >"$work/said" 2>&1
like "$? $(cat "$work/said")" '^1 kiln: /proc/none: cannot make it: ' "export: a folder that cannot be made"
printf '{"name":"night","case":"test accuracy, small set","value":%s,"unit":"%%"}\n' \
	"$(sed -n 's/^test accuracy \([0-9.]*\).*/\1/p' <<<"$report")"

# ---- Nights that fail ----
fails() { # name, expected exit code
	node "$1"
	timeout 120 tools/night "$KILN_BIN" "$work/kiln.conf" >"$work/night.log" 2>&1
	is $? "$2" "$1: the night ends with $2"
}
shard=$(ls "$work"/store/data/train-00003-*)
cp "$shard" "$work/good"
printf 'damage' | dd of="$shard" bs=1 seek=500 conv=notrunc 2>/dev/null
sed -i 's/name = "night"/name = "damaged"/' "$work/kiln.conf"
fails damaged 65
like "$(cat "$work/night.log")" 'train-00003.*[0-9]' "damaged: the shard is named"
run=$(cat "$KILN_ROOT/run/kiln/night/run-id")
like "$("$KILN_BIN/kiln" report "$run" --config "$work/kiln.conf" 2>&1)" 'state   failed' "damaged: the store says so"
mv "$work/good" "$shard"
sed -i 's/name = "damaged"/name = "nowhere"/; s|store/data"|store/nowhere"|' "$work/kiln.conf"
fails nowhere 65
