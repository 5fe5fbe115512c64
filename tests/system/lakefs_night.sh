#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A run on a lakefs:// source: it reads the commit that its branch has when it begins, through the S3 gateway or by pre-signed URLs.
# The branch is overwritten, and kiln run --from and kiln evaluate still read that commit. The server is a contract server.
. "$(dirname "$0")/lib.sh"
. tests/system/train_lib.sh
. tests/system/stored_lib.sh
. tests/lakefs/lib.sh
with=(--config "$work/night.conf")
start_lakefs "a night on lakeFS"
below upload "$work/data" s3://kiln/data
init() { # arguments of kiln lakefs init
	"$kiln" lakefs init lakefs://rep/main/data "$@" --endpoint "$KILN_LAKEFS" 2>&1
}
is "$(init --storage s3://kiln/lakefs/rep)" "lakefs://rep/main/data: the repository is there" "kiln lakefs init creates a repository"
made=$(init --storage s3://kiln/lakefs/rep --import s3://kiln/data)
like "$made" "^lakefs://rep/main/data: 5 objects of s3://kiln/data/, where they stay; commit [0-9a-f]{64}$" "and imports a prefix, as often as it is asked"
commit=${made##* }
is "$(init --import s3://kiln/data --json | python3 -c 'import json, sys; r = json.load(sys.stdin); print(r["objects"], len(r["commit"]))')" "5 64" \
	"--json has what it did"
commit=$(change resolve main) commit=${commit#0 }
like "$(init)" "found neither --storage nor --import" "it has to do something"
like "$(init --import s3://kiln/nothing)" "import of s3://kiln/nothing/ into 'main' failed" "an import of nothing says so"
source="url = \"lakefs://rep/main/data\"; endpoint = \"$KILN_LAKEFS\";"

# ---- The commit is fixed when the run begins ----
begin_run night "$source"
is "$(record_json 'r["commits"]')" "['$commit']" "the record names the commit of the branch"
upload "$work/other" lakefs://rep/main/data
moved=$(change commit main "other data")
like "$moved" "^0 [0-9a-f]{64}$" "the branch moves on before the plan is made"
end_run night
like "$(cat "$KILN_ROOT/log")" "plan: 3 train, 1 validation, 1 test shards in lakefs://rep/main/data" "it read the shards of the repository"
expected=$(weights_of "$stored/model/model.safetensors")
begin_run plain "url = \"file://$work/data\";"
run_to_end
is "$(weights_of "$spool/model/model.safetensors")" "$expected" "with the bits of the same data in a folder"
stop_fetchd

# ---- The branch has moved on: the run still reads its commit ----
figures=$(evaluate)
like "$figures" '^0 100 [0-9.]+ 0$' "kiln evaluate reads the commit of the run" "$(cat "$work/errors")"
repeat again
is "$code $(state) $(record_json 'r["commits"]')" "0 finished ['$commit']" "kiln run --from reads the same commit" "$(tail -n 5 "$KILN_ROOT/log")"
is "$(weights_of "$work/runs/night/$(cat "$KILN_ROOT/out")/model/model.safetensors")" "$expected" "and ends with the same bits"

# ---- Pre-signed URLs ----
is "$(lakefs_test redirects)" 0 "without presign the gateway sends the objects"
train presigned "url = \"lakefs://rep/$commit/data\"; endpoint = \"$KILN_LAKEFS\"; presign = true;"
[ "$(lakefs_test redirects)" -ge 5 ]
ok $? "with presign each object comes straight from the store" "redirects: $(lakefs_test redirects)"
is "$(weights_of "$stored/model/model.safetensors")" "$expected" "with the same bits"

# ---- Every trial of a series reads the same commit ----
node series
sed -e "s|source: .*|source: { $source };|; s|runs/night|runs/series|; s,epochs = 12,epochs = 3," "$work/night.conf" >"$work/series.conf"
echo 'experiments = ( { name = "adam"; overrides = { optimizer = { name = "adam"; }; }; },
                { name = "sgd"; overrides = { optimizer = { name = "sgd"; }; }; } );' >>"$work/series.conf"
began=${moved#0 }
fixed() {
	grep -q "\"commits\"" "$KILN_ROOT"/data/kiln/run/series/*/series.json
}
timeout 200 "$kiln" run --config "$work/series.conf" >"$KILN_ROOT/out" 2>"$KILN_ROOT/log" &
night=$!
wait_for 60 fixed
upload "$work/data" lakefs://rep/main/data
moved=$(change commit main "first data again")
like "$moved" "^0 [0-9a-f]{64}$" "the branch moves on in the middle of a series"
wait $night
is $? 0 "the series ends" "$(tail -n 5 "$KILN_ROOT/log")"
is "$(python3 - "$work"/runs/series/t-*/run.json <<-'PY'
	import json, sys
	print(*[(r["series"]["trial"], *r["commits"]) for r in map(json.load, map(open, sys.argv[1:]))])
PY
)" "('adam', '$began') ('sgd', '$began')" "both trials read the commit with which the series began"

# ---- A server that is busy when a series begins: the request is tried again ----
for answer in 423 429 500; do
	node busy-$answer
	fault GET commits/main $answer 2 '{"message": "busy"}' '{"Retry-After": "1"}'
	NOTIFY_SOCKET=$work/nobody INVOCATION_ID=1 timeout 100 "$KILN_BIN/kiln-oneshot" begin --config "$work/series.conf" >"$KILN_ROOT/out" 2>"$KILN_ROOT/log"
	code=$?
	series=$(ls "$KILN_ROOT"/data/kiln/run/series/*/series.json)
	is "$code $(python3 -c 'import json, sys; print([x["state"] for x in json.load(open(sys.argv[1]))["trials"]])' "$series")" "0 ['running', 'waiting']" \
		"$answer: the series begins when the server answers" "$(tail -n 5 "$KILN_ROOT/log")"
	lakefs_test faults '[]' >/dev/null
done

# ---- What goes wrong ----
out=$(begin_run nowhere "url = \"lakefs://rep/nowhere/data\"; endpoint = \"$KILN_LAKEFS\";" 2>&1; cat "$KILN_ROOT/log")
like "$out" "commits/nowhere: the server answers 404: nowhere: not found" "a branch that does not exist is told before the run begins"
like "$("$kiln" check "$work/nowhere.conf" 2>&1)" "commits/nowhere: the server answers 404: nowhere: not found" "kiln check tells it, too"
like "$("$kiln" check "$work/night.conf" 2>&1)" "lakefs://rep/main/data: commit ${moved#0 }" "kiln check names the commit"
no_violations
