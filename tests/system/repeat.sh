#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# `kiln run --from run.json`: the same run once more, from the store alone, with the same bits.
. "$(dirname "$0")/lib.sh"
. tests/system/train_lib.sh
data=$work/data
"$make_shards" "$data" train 4 600
"$make_shards" "$data" test 1 100
config whole "$data" 'seed = 45;' 'learning_rate = 0.002;'
sed -i 's/epochs = 12/epochs = 3/' "$work/whole.conf"
node whole
begin whole
run_to_end
"$KILN_BIN/kiln-uploadd" --drain 2>>"$KILN_ROOT/log"
stop_fetchd
first=$id stored=$work/runs/whole
expected=$(weights_of "$stored/$first/model/model.safetensors") figures=$(record_json '[r["epochs"], r["metrics"]]')
cp "$stored/$first/run.json" "$work/run.json"

repeat() { # node
	node "$1"
	mkdir -p "$KILN_ROOT/data/kiln"
	cp -a "$work/nodes/whole/data/kiln/cache" "$KILN_ROOT/data/kiln/" 2>/dev/null
	timeout 120 "$KILN_BIN/kiln" run --from "$work/run.json" >"$KILN_ROOT/out" 2>"$KILN_ROOT/log"
	code=$?
	record=$KILN_ROOT/data/kiln/run/current
}
repeat other
is "$code $(state)" "0 finished" "on another disk, from the store alone, the run is repeated"
[ "$(cat "$KILN_ROOT/out")" != "$first" ] && [ "$(record_json 'r["repeats"]')" = "$first" ]
ok $? "as a run of its own, which says what it repeats" "$(cat "$KILN_ROOT/out")"
is "$(weights_of "$stored/$(cat "$KILN_ROOT/out")/model/model.safetensors")" "$expected" "with the same bits"
is "$(record_json '[r["epochs"], r["metrics"]]')" "$figures" "and the same figures"
repeat whole
is "$code $(state) $(record_json '[r["epochs"], r["metrics"]]')" "0 finished $figures" "on the same disk, too"

echo running >"$record/state"
repeat whole
like "$code $(cat "$KILN_ROOT/log")" '^1 .*is running, so nothing else begins' "not while a run is unfinished"
python3 - "$work/run.json" <<-'PY'
	import json, sys
	record = json.load(open(sys.argv[1]))
	digest = record["plan_sha256"]
	record["plan_sha256"] = ("1" if digest[0] == "0" else "0") + digest[1:]
	json.dump(record, open(sys.argv[1], "w"))
PY
repeat foreign
like "$code $(cat "$KILN_ROOT/log")" '^1 .*plan: SHA-256 [0-9a-f]+, expected [0-9a-f]+ by ' "nor with another plan"
