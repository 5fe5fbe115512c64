#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Names and texts from outside reach no terminal and no log as they are: classes of a data set, records in the store, keys, and all
# that a box answers, with commands for terminals, line ends, and text that turns the text after it.
. "$(dirname "$0")/lib.sh"
kiln=$KILN_BIN/kiln
here=$PWD/tests/system
cd "$work" || exit 1
escape=$'\033]0;x\a' control=$'\u009b2J' turn=$'\u202e'

# Tells whether a file has no byte that a terminal obeys, and no line that begins like one of Kiln's own.
is_visible() { # file
	python3 - "$1" <<'PY'
import re, sys
text = open(sys.argv[1], "rb").read()
try:
    found = re.findall("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]|^forged", text.decode(), re.M)
except UnicodeDecodeError as e:
    found = [str(e)]
if found or not text:
    sys.exit(f"found {found[:3]} in {text[:300]}")
PY
}
shows() { # name, how the text has to be written, command...
	local name=$1 form=$2 said
	shift 2
	"$@" >said 2>&1
	said=$(is_visible said 2>&1)
	ok $? "$name: no byte that a terminal obeys" "$said"
	grep -qF -- "$form" said
	ok $? "$name: but what it is" "$(head -c 2000 said | cat -v)"
}

# ---- Classes ----

awk -v e="$escape" -v c="$control" 'BEGIN { for (i = 0; i < 400; i++)
	print (i % 2 ? "good" e : "bad" c) "\tthe film was " (i % 2 ? "grand" : "dull") " in part " i }' >reviews.tsv
cat >kiln.conf <<-CONF
	run: { name = "names"; epochs = 2; batch_rows = 16; };
	source: { url = "file://$work/store/data"; };
	sink: { url = "file://$work/store/runs"; };
	ring: { small_pages = true; };
	device: { type = "cpu"; };
	split: { by = "shard"; };
	schema = ( { name = "sentence"; dtype = "float32"; shape = [ 16 ]; }, { name = "label"; dtype = "int64"; shape = [ 2 ]; } );
	model: { layers = ( { op = "dense"; units = 2; }, { op = "softmax"; } ); };
CONF
"$kiln" prep reviews.tsv --config kiln.conf --dims 16 --records-per-shard 40 >prep.log 2>&1
ok $? "prep" "$(cat prep.log)"
node one
mkdir -p "$KILN_ROOT/etc/kiln" && cp kiln.conf "$KILN_ROOT/etc/kiln/"
"$KILN_BIN/kiln-controld" 2>controld.log &
"$here/../../tools/night" "$KILN_BIN" kiln.conf >night.log 2>&1
ok $? "a run" "$(cat night.log)"
id=$(cat "$KILN_ROOT/run/kiln/night/run-id") run=$work/store/runs/$id
like "$(cat -v "$run/model/dataset.json")" 'good' "its model has the names of the classes"
shows evaluate '\xc2\x9b2J' "$kiln" evaluate "$run" --data "file://$work/store/data"
shows "evaluate --json" '\u009b2J' "$kiln" evaluate "$run" --data "file://$work/store/data" --json
shows predict 'good\x1b]0;x\x07' "$kiln" predict "$run" "the film was grand in part 7$turn"
shows "predict: the text" 'part 7\xe2\x80\xae\x0d\xff' "$kiln" predict "$run" $'the film was grand in part 7\u202e\r\xff'
shows "predict --json" 'good\u001b]0;x\u0007' "$kiln" predict "$run" $'the film was grand in part 7\r\xff' --json
python3 - "$run/model/dataset.json" <<'PY'
import json, sys
dataset = json.load(open(sys.argv[1]))
dataset["classes"] = ["a\nforged: b", "\u202etxt.exe\u2028"]
json.dump(dataset, open(sys.argv[1], "w"), ensure_ascii=False)
PY
shows "evaluate, line ends" 'a\x0aforged: b' "$kiln" evaluate "$run" --data "file://$work/store/data"
printf 'worse%s\ta text\nbad%s\tb text\n' "$escape" "$control" >worse.tsv
shows "prep --append of another class" 'the label "worse\x1b]0;x\x07" is not one' "$kiln" prep worse.tsv --config kiln.conf --append

# ---- Keys ----

cp "$(find store/data -name 'train-00000-*')" "store/data/train-$turn-00000.tfrecord.gz"
head -c 500 /dev/urandom >"store/data/train-$control.tfrecord.gz"
shows "a key that kiln prep did not write" "train-\\x" "$kiln" prep reviews.tsv --config kiln.conf
shows "a shard that is none, in kiln evaluate" 'train-\xc2\x9b2J.tfrecord.gz' "$kiln" evaluate "$run" --split train --data "file://$work/store/data"
node two
"$here/../../tools/night" "$KILN_BIN" kiln.conf >night2.log 2>&1
shows "in the log of a night" 'train-\xc2\x9b2J.tfrecord.gz' cat night2.log "$KILN_ROOT/run/kiln/night/fetchd.log"
rm "store/data/train-$turn-00000.tfrecord.gz"
rm -f "store/data/train-$control.tfrecord.gz"
export KILN_ROOT=$work/nodes/one

python3 - store/data/dataset.json <<'PY'
import json, sys
dataset = json.load(open(sys.argv[1]))
dataset["schema"][0]["dtype"] += "\x1b]0;x\x07\nforged"
json.dump(dataset, open(sys.argv[1], "w"))
PY
shows "a schema, in kiln check" 'float32\x1b]0;x\x07\x0aforged' "$kiln" check kiln.conf

# ---- Records in the store ----

other=names$turn-20260101-000000
mkdir "store/runs/$other"
python3 - "$run/run.json" "store/runs/$other/run.json" <<'PY'
import json, sys
record = json.load(open(sys.argv[1]))
record["reason"] = "broken\x1b]0;x\x07\nforged: fine\u009b"
record["state"] = "failed\x1b[2J"
json.dump(record, open(sys.argv[2], "w"), ensure_ascii=False)
PY
shows "kiln runs --all" 'names\xe2\x80\xae-20260101-000000' "$kiln" runs --all --config kiln.conf
shows "kiln runs --all --json" 'names\u202e-20260101-000000' "$kiln" runs --all --config kiln.conf --json
shows "kiln report" 'broken\x1b]0;x\x07\x0aforged: fine\xc2\x9b' "$kiln" report "$other" --config kiln.conf
shows "kiln report --json" 'fine\u009b' "$kiln" report "$other" --config kiln.conf --json
printf '{ "id": 1, "%s": \033[2J' "$control" >"store/runs/$other/run.json"
shows "kiln report of a record that is none" 'run.json' "$kiln" report "$other" --config kiln.conf --json

# ---- A configuration ----

sed "s/name = \"sentence\"/name = \"sen$control\"/" kiln.conf >odd.conf
shows "kiln config check" 'found "sen\xc2\x9b2J", allowed' "$kiln" config check odd.conf
sed "s/op = \"softmax\"/op = \"soft$escape\"/" kiln.conf >odd.conf
shows "an op that there is not" 'soft\x1b]0;x\x07' "$kiln" config check odd.conf

# ---- All that a box answers ----

printf '%s\nforged: %s%s' "$escape" "$control" "$turn" >hostile
hidden='\x1b]0;x\x07\x0aforged: \xc2\x9b2J\xe2\x80\xae'
node three
python3 "$here/hostile_box.py" "$KILN_ROOT/run/kiln/control.sock" "$work/nodes/one/run/kiln/control.sock" hostile 2>proxy.log &
wait_for 10 test -S "$KILN_ROOT/run/kiln/control.sock"
for verb in status watch node runs "runs $id" stalls log "log --events"; do
	# shellcheck disable=SC2086
	shows "kiln $verb" "$hidden" "$kiln" $verb
done
for verb in status "runs $id"; do
	# shellcheck disable=SC2086
	shows "kiln $verb --json" '\u001b]0;x\u0007\nforged: \u009b2J\u202e' "$kiln" $verb --json
done
metrics() { "$kiln" metrics | sed 's/^forged/one line of several/'; }
shows "kiln metrics" '\x1b]0;x\x07' metrics
for verb in checkpoint cache "checkpoint now" pause resume stop start "cache drop --all" "abandon --yes"; do
	# shellcheck disable=SC2086
	"$kiln" $verb >said 2>&1
	said=$(is_visible said 2>&1)
	ok $? "kiln $verb: no byte that a terminal obeys" "$said"
done
timeout 2 "$kiln" log --follow >followed 2>&1
[ ! -s followed ] || is_visible followed
ok $? "kiln log --follow"
