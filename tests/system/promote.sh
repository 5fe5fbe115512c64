#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# kiln-oneshot promote: a night's model is judged against the champion; a better one takes its place, a worse one does not;
# the former champion comes back; a promotion that is killed at any moment and repeated ends as one that was not killed.
. "$(dirname "$0")/lib.sh"
. tests/system/train_lib.sh
# There is no systemd here, and this machine is not switched off.
export DBUS_SYSTEM_BUS_ADDRESS=unix:path=$work/no-bus

data=$work/data
"$make_shards" "$data" train 4 600
"$make_shards" "$data" test 2 400
node whole
runs=$KILN_ROOT/data/kiln/run
export KILN_CONFIG=$work/kiln.conf
models=$work/sink/models/t

conf() { # run keys, promote keys
	cat >"$KILN_CONFIG" <<-CONF
		run: { name = "t"; batch_rows = 32; $1 };
		source: { url = "${from:-file://$data}"; endpoint = "${endpoint:-}"; };
		sink: { url = "${to:-file://$work/sink}"; endpoint = "${endpoint:-}"; };
		ring: { small_pages = true; };
		order: { window_shards = 2; };
		promote: { $2 };
		schema = ( { name = "sentence"; dtype = "float32"; shape = [ ${floats:-8} ]; },
		           { name = "label"; dtype = "int64"; shape = [ 2 ]; } );
		model: { layers = ( { op = "dense"; units = 16; }, { op = "relu"; }, { op = "dense"; units = 2; }, { op = "softmax"; } ); };
	CONF
}

night() { # run keys, promote keys: a whole night, without the promotion
	conf "$1" "$2"
	id=$("$KILN_BIN/kiln-oneshot" begin 2>>"$KILN_ROOT/log") || { ok 1 "a night begins" "$(tail -n 5 "$KILN_ROOT/log")"; exit; }
	record=$runs/current spool=$KILN_ROOT/data/kiln/spool/traind/$id
	run_to_end
	wait "$fetchd"
	"$KILN_BIN/kiln-uploadd" --drain 2>>"$KILN_ROOT/log"
	[ "$(state)" = finished ] || { ok 1 "a night finishes" "$(tail -n 5 "$KILN_ROOT/log")"; exit; }
}

promote() { # arguments
	said=$("$KILN_BIN/kiln-oneshot" promote "$@" 2>&1)
	rc=$?
}

json() { # file, python expression of r
	python3 -c 'import json, sys; r = json.load(open(sys.argv[1])); print(eval(sys.argv[2]))' "$1" "$2"
}

champion() { # python expression of r
	json "$models/champion.json" "$1"
}

files_are_right() { # whether every file of the champion is there, with its size and digest
	python3 - "$models" <<-'PY'
		import hashlib, json, os, sys
		folder = sys.argv[1]
		r = json.load(open(f"{folder}/champion.json"))
		assert json.load(open(f"{folder}/champions/{r['number']}.json")) == r
		keys = set()
		for f in r["files"]:
		    data = open(f"{folder}/{f['key']}", "rb").read()
		    assert len(data) == f["bytes"] and hashlib.sha256(data).hexdigest() == f["sha256"], f
		    keys.add(f["key"])
		n = r["number"]
		assert {f"saved_model/{n}/saved_model.pb", f"onnx/{n}/model.onnx", f"kiln/{n}/model.safetensors"} <= keys
		there = {os.path.relpath(os.path.join(at, name), folder) for kind in ("saved_model", "onnx", "kiln")
		         for at, _, names in os.walk(f"{folder}/{kind}/{n}") for name in names}
		assert there == keys, there ^ keys
	PY
}

# ---- The first night ----
night 'epochs = 1; seed = 1;' ''
promote
is "$rc $(ls "$models" 2>&1)" "0 ls: cannot access '$models': No such file or directory" \
	"where promote.against is off, a night promotes nothing"
first=$id
conf 'epochs = 1; seed = 1;' 'against = "champion";'
promote --series "$first"
like "$rc $said" "^0 .*$first: promoted: it is champion 1 of t: there was no champion" "without a champion the first model is promoted"
is "$(champion '[r["version"], r["number"], r["run_id"], r["before"], r["saved_model"], r["onnx"], r["kiln"], r["lost"], r["test"]]')" \
	"[1, 1, '$first', 0, 1, 1, 1, [], None]" "champion.json says which it is"
files_are_right
ok $? "its files are there, with the digests of champion.json"
cmp -s "$work/sink/$first/model/saved_model/1/saved_model.pb" "$models/saved_model/1/saved_model.pb"
ok $? "saved_model/1 is the run's SavedModel"
is "$(json "$runs/current/run.json" 'r["promotion"]["outcome"]') $(json "$work/sink/$first/run.json" 'r["promotion"]["outcome"]')" \
	"promoted promoted" "the outcome is in run.json, here and in the store"

# ---- A better one ----
night 'epochs = 6; seed = 2;' 'against = "champion"; min_gain = 0.01;'
better=$id
state=$(cat "$runs/current/state")
echo paused >"$runs/current/state"
promote
is "$rc $said" "0 " "a run that goes on is not judged"
promote --force
like "$rc $said" "^65 .*$better: not promoted, .*the run is paused: it has not ended" "also where a person asks for it"
is "$(json "$runs/current/run.json" 'r.get("promotion")') $(ls "$runs/promote.json" 2>&1 | grep -c cannot)" "None 1" \
	"neither an outcome nor the request stays"
echo failed >"$runs/current/state"
promote --series "$first"
like "$rc $said" "^0 .*$first: promoted: it is champion 1 of t: it is the champion already" "a request for another model"
is "$(json "$runs/current/run.json" 'r.get("promotion")') $(wc -l <<<"$said")" "None 1" "says nothing of a night that failed"
echo "$state" >"$runs/current/state"
promote
like "$rc $said" "^0 .*$better: promoted: it is champion 2 of t: accuracy 0.* on 800 records of the test, the champion's \($first\)" \
	"a better model takes its place, and says why"
is "$(champion '[r["number"], r["run_id"], r["before"], r["lost"], r["test"]["method"], r["test"]["rows"], r["test"]["p"] < 0.05]')" \
	"[2, '$better', 1, ['$first'], 'mcnemar', 800, True]" "champion.json has the test, and who lost"
files_are_right
ok $? "its files are there"
evaluated=$("$KILN_BIN/kiln" evaluate "$better" --json 2>"$work/errors" | python3 -c 'import json, sys; r = json.load(sys.stdin); print("%.6f %.4f" % (r["accuracy"], r["loss"]))')
is "$(champion '"%.6f %.4f" % (r["test"]["model"]["accuracy"], r["test"]["model"]["loss"])')" "$evaluated" \
	"accuracy and loss are those of kiln evaluate"
evaluated=$("$KILN_BIN/kiln" evaluate "$models/kiln/1/model.safetensors" --data "file://$data" --json 2>"$work/errors" |
	python3 -c 'import json, sys; r = json.load(sys.stdin); print("%.6f %.4f" % (r["accuracy"], r["loss"]))')
is "$(champion '"%.6f %.4f" % (r["test"]["champion"]["accuracy"], r["test"]["champion"]["loss"])')" "$evaluated" \
	"those of the champion, too"
promote
is "$rc $said $(champion 'r["number"]')" "0  2" "a second start does nothing: the night has its outcome"

# ---- A worse one ----
night 'epochs = 1; seed = 3;' 'against = "champion";'
worse=$id before=$(cat "$models/champion.json")
mv "$models/champions/1.json" "$work/1.json"
promote --rollback
like "$rc $(head -n 1 <<<"$said")" "^65 .*champions/1.json.*so none comes back" "a champion of which nothing is left does not come back"
mv "$work/1.json" "$models/champions/1.json"
like "$said" "$worse: not promoted, the champion stays: accuracy .*: no gain that holds" \
	"the same start judges the night's model: a worse model is not promoted, and it says so"
promote
is "$rc $said" "0 " "a second start does neither again"
KILN_CONFIG=$work/none promote --rollback
is "$((rc > 0)) $(ls "$runs/promote.json" 2>&1 | grep -c cannot)" "1 1" "a request that fails does not stay, either"
is "$(cat "$models/champion.json")" "$before" "champion.json is as before"
is "$(json "$runs/current/run.json" '[r["promotion"]["outcome"], r["promotion"]["champion"], r["promotion"]["test"]["gain"] < 0]')" \
	"['kept', '$better', True]" "run.json says so"

like "$("$KILN_BIN/kiln" report "$worse" 2>&1)" "^promotion    kept: accuracy .*: no gain that holds" "and so does kiln report"

# ---- Files of another content than champion.json says ----
night 'epochs = 6; seed = 4;' 'against = "champion";'
cp "$models/kiln/2/model.safetensors" "$work/kept" && cp "$models/kiln/1/model.safetensors" "$models/kiln/2/model.safetensors"
promote
like "$rc $said" "^65 .*$id: not promoted, .*kiln/2/model.safetensors: found SHA-256 [0-9a-f]+, expected $(champion \
	'[f["sha256"] for f in r["files"] if f["key"] == "kiln/2/model.safetensors"][0]')" "nothing is judged against another file"
cp "$work/kept" "$models/kiln/2/model.safetensors"

# ---- By its loss, and with a bound ----
night 'epochs = 8; seed = 2;' 'against = "champion"; objective = "validation.loss"; min_gain = 5.0;'
bound=$id
promote
like "$rc $said" "^0 .*$bound: not promoted, .*: loss .*: less than promote.min_gain 5" "a gain below promote.min_gain promotes nothing"
is "$(json "$runs/current/run.json" '[r["promotion"]["test"]["method"], r["promotion"]["test"]["metric"], r["promotion"]["test"]["low"] > 0]')" \
	"['bootstrap', 'loss', True]" "a loss is judged by the bootstrap"

# ---- Killed at any moment ----
conf '' 'against = "champion";'
kills=0 torn=0 delay=10
while :; do
	timeout --foreground -s KILL "0.$(printf '%03d' $delay)" "$KILN_BIN/kiln-oneshot" promote --series "$bound" --force >"$work/said" 2>&1
	rc=$?
	[ $rc = 137 ] || break
	kills=$((kills + 1)) delay=$((delay + 3))
	files_are_right || torn=$((torn + 1))
	[ $delay -lt 990 ] || break
done
promote --series "$bound" --force
is "$rc $torn $(champion '[r["number"], r["run_id"], r["before"]]')" "0 0 [3, '$bound', 2]" \
	"killed $kills times and repeated: one number, and champion.json always names whole files"
files_are_right
ok $? "all files are there, and no others"
mkdir -p "$models/saved_model/4/variables" && echo left >"$models/saved_model/4/variables/of-another" # a killed promotion's
is "$(find "$runs" -name 'promote.part*' -o -name promote.json)" "" "nothing is left on the disk"

# ---- Back ----
cp "$models/saved_model/2/saved_model.pb" "$work/kept"
echo >>"$models/saved_model/2/saved_model.pb"
promote --rollback
like "$rc $said $(champion 'r["number"]')" "saved_model/2/saved_model.pb: found SHA-256 .* 3$" \
	"a former champion with another file does not come back"
cp "$work/kept" "$models/saved_model/2/saved_model.pb"
promote --rollback
like "$rc $said" "^0 .*$better: champion 5 of t again, in place of $bound" "the former champion comes back"
is "$(champion '[r["number"], r["run_id"], r["before"], r["rolled_back"]]')" "[5, '$better', 1, 3]" \
	"with the next number of which no file is there"
files_are_right
ok $? "its files are there, and no others"
cmp -s "$models/saved_model/2/saved_model.pb" "$models/saved_model/5/saved_model.pb"
ok $? "they are its own"
echo '{"rollback": true, "force": false, "series": "", "trial": "", "from": 3}' >"$runs/promote.json"
promote
is "$rc $(champion 'r["number"]') $(ls "$runs/promote.json" 2>&1 | grep -c cannot)" "0 5 1" \
	"a request that was done before its file was removed goes back no further"
promote --rollback
is "$rc $(champion 'r["run_id"]')" "0 $first" "a second request goes back one more"
promote --rollback
like "$rc $said" "^65 .*the champion has no champion before it" "before the first champion there is none"

# ---- A series ----
conf '' 'against = "champion";'
series=t-series-20260101-000000
mkdir -p "$runs/series/$series"
python3 - "$runs/series/$series/series.json" "$KILN_CONFIG" "$first" "$better" <<-'PY'
	import json, sys
	trial = lambda name, run, **more: {"name": name, "overrides": {}, "state": "finished", "run": run, **more}
	json.dump({"version": 1, "id": "t-series-20260101-000000", "name": "t", "state": "finished", "started_s": 1, "ended_s": 2,
	           "ends_s": 0, "kiln_version": "0", "method": "list", "objective": "validation.accuracy", "direction": "max",
	           "seed": 1, "config": open(sys.argv[2]).read(), "before": "", "winner": "long", "promotion": None,
	           "trials": [trial("short", sys.argv[3], value=0.5), trial("long", sys.argv[4], value=0.75), trial("none", "")]}, open(sys.argv[1], "w"))
PY
promote --series "$series"
like "$rc $said" "^0 .*$better: promoted: it is champion 7 of t: accuracy" "the winner of a series is judged, and promoted"
is "$(champion '[r["series"], r["trial"], r["lost"]]')" "['$series', 'long', ['short', '$first']]" \
	"champion.json says who lost: the other trials that have a value, and the champion"
is "$(json "$runs/series/$series/series.json" 'r["promotion"]["outcome"]') $(json "$work/sink/series/$series/series.json" 'r["promotion"]["outcome"]')" \
	"promoted promoted" "the record of the series says so, here and in the store"
promote --series "$series" --trial short
like "$rc $said" "^0 .*$first: not promoted, the champion stays" "another trial by its name"
promote --series "$series" --trial none
like "$rc $said" "^65 .*the trial none has not run" "a trial that has not run is refused"

# ---- What cannot be judged ----
promote --series t-20200101-000000
like "$rc $said" "^65 .*t-20200101-000000: not promoted, because it cannot be judged" "a run that there is not is refused"
promote --series "$better" --trial wide
like "$rc $said" "^65 .*cannot be judged" "so is a trial of a run that is no series"
"$make_shards" "$data" test 2 300
promote --series "$bound"
like "$rc $said" "^65 .*$bound: not promoted, .*test.*has changed since the run" "a test split that has changed is refused"
[[ $said != *--data* ]]
ok $? "without an option that the verb does not have" "$said"
is "$(json "$runs/current/run.json" 'r["promotion"]["outcome"]')" refused "run.json says so"
rm -r "$data"
floats=6
"$make_shards" "$data" train 4 600 plain 6
"$make_shards" "$data" test 2 400 plain 6
night 'epochs = 1; seed = 5;' 'against = "champion";'
promote
like "$rc $said" "^65 .*$id: not promoted, .*/kiln/[0-9]+/model.safetensors cannot read it: .*record 0: .*sentence" "so is a model of records that the champion cannot read"
night 'epochs = 1; seed = 6;' 'against = "nothing";'
promote
like "$rc $said" "^0 .*$id: promoted: it is champion 8 of t: promote.against asks for no test" "without a test it is promoted"
mv "$work/sink/$id/model" "$work/sink/$id/away"
rm -r "$models"
promote --series "$id"
like "$rc $said" "^65 .*cannot be judged.*no finished model" "a run whose model is gone is refused"

# ---- Nights in the foreground ----
node foreground
mkdir -p "$KILN_ROOT/data/kiln" && cp -a "$work/nodes/whole/data/kiln/cache" "$KILN_ROOT/data/kiln/"
rm -rf "$data" "$work/sink"
runs=$KILN_ROOT/data/kiln/run floats=8
"$make_shards" "$data" train 4 600
"$make_shards" "$data" test 2 400
foreground() {
	said=$("$KILN_BIN/kiln" run --config "$KILN_CONFIG" 2>&1)
	rc=$?
}
promote
is "$rc $said" "0 " "a box without a run has nothing to promote"
conf 'epochs = 1; seed = 1;' 'against = "champion";'
foreground
is "$rc $(champion 'r["number"]')" "0 1" "kiln run promotes the model of its night" "$(tail -n 5 <<<"$said")"
cat >>"$KILN_CONFIG" <<'CONF'
experiments = ( { name = "short"; overrides = { run = { epochs = 1; seed = 2; }; }; },
                { name = "long"; overrides = { run = { epochs = 6; seed = 2; }; }; } );
CONF
foreground
is "$rc $(champion '[r["number"], r["trial"], r["lost"][0], r["test"]["p"] < 0.05]')" "0 [2, 'long', 'short', True]" \
	"and the winner of a series"
is "$(json "$runs/series/$(champion 'r["series"]')/series.json" '[r["winner"], r["promotion"]["outcome"]]')" "['long', 'promoted']" \
	"whose record says so"
lose() { # python statement on r, the record of the current series
	python3 - "$runs/series/$(champion 'r["series"]')/series.json" "$1" <<-'PY'
		import json, sys
		r = json.load(open(sys.argv[1]))
		exec(sys.argv[2])
		json.dump(r, open(sys.argv[1], "w"))
	PY
}
lose 'r["promotion"] = None'
promote
is "$rc $(json "$runs/series/$(champion 'r["series"]')/series.json" 'r["promotion"]["outcome"]') $(champion 'r["number"]')" "0 promoted 2" \
	"killed before the series had its outcome, and repeated: it has it"
lose 'r["promotion"] = r["winner"] = None'
promote --trial none
is "$rc $(json "$runs/series/$(champion 'r["series"]')/series.json" 'r["promotion"]["outcome"]')" "65 refused" \
	"a series without a winner is refused, and its record says so"
like "$said" "the series has no winner" "by the night, and not by a request for no trial of it"
promote
is "$rc $said" "0 " "once"

# ---- In a real S3 store ----
start_radosgw "a champion in S3"
node s3
mkdir -p "$KILN_ROOT/data/kiln" && cp -a "$work/nodes/whole/data/kiln/cache" "$KILN_ROOT/data/kiln/"
endpoint=$KILN_S3_ENDPOINT from=s3://$KILN_S3_BUCKET/data to=s3://$KILN_S3_BUCKET/runs runs=$KILN_ROOT/data/kiln/run
upload "$data" "$from"
models=$work/copied
fetch_models() { # what a reader of the store finds now
	local key
	rm -rf "$models" && mkdir "$models" &&
		"$KILN_BUILD/system/store" download "$to/models/t" champion.json "$models/champion.json" >/dev/null || return
	for key in $(champion '" ".join([f["key"] for f in r["files"]] + ["champions/%d.json" % r["number"]])'); do
		mkdir -p "$(dirname "$models/$key")"
		"$KILN_BUILD/system/store" download "$to/models/t" "$key" "$models/$key" >/dev/null || return
	done
}
conf 'epochs = 1; seed = 1;' 'against = "champion";'
foreground
first=$(json "$runs/current/run.json" 'r["id"]')
conf 'epochs = 6; seed = 2;' ''
foreground
better=$(json "$runs/current/run.json" 'r["id"]')
conf '' 'against = "champion";'
kills=0 torn=0 delay=50
while [ $delay -lt 990 ]; do
	timeout --foreground -s KILL "0.$(printf '%03d' $delay)" "$KILN_BIN/kiln-oneshot" promote --series "$better" --force >"$work/said" 2>&1
	[ $? = 137 ] || break
	kills=$((kills + 1)) delay=$((delay + 30))
	{ fetch_models && files_are_right; } || torn=$((torn + 1))
done
promote --series "$better" --force
fetch_models && files_are_right
is "$? $rc $torn $(champion '[r["number"], r["run_id"], r["before"], r["lost"]]')" "0 0 0 [2, '$better', 1, ['$first']]" \
	"killed $kills times in S3: one number, and champion.json always names whole files"
promote --rollback
fetch_models && files_are_right
is "$? $rc $(champion '[r["number"], r["run_id"]]')" "0 0 [3, '$first']" "the former champion comes back"
