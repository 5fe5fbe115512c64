#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# config/examples: each file is a valid configuration. The example of each task is trained on the tables that packages.py
# makes of this machine's packages, and has to learn.
. "$(dirname "$0")/lib.sh"
examples=config/examples kiln=$KILN_BIN/kiln
mkdir -p "$work/store"

for conf in "$examples"/*.conf; do
	"$kiln" config check "$conf" >"$work/said" 2>&1
	ok $? "${conf##*/} is good" "$(cat "$work/said")"
done

# A container with few packages has too little data to learn from.
if [ "$(grep -c '^Status: install ok installed' /var/lib/dpkg/status)" -lt 300 ]; then
	skip "a night with each" "fewer than 300 packages are installed here"
	exit
fi
table() { # label, records per shard
	$examples/packages.py "$1" >"$work/$1.csv" &&
		$examples/tfrecord.py from-csv "$work/$1.csv" "$work/store/$1" --label "$1" --per-shard "$2" >"$work/$1.said"
	ok $? "the table of $1" "$(cat "$work/$1.said")"
}
table size 100
table library 100
table section 50
schema_of() { # file: its schema, a feature per line
	sed -n '/^schema/,/^);/p' "$1"
}
for task in size:regression library:binary section:classes; do
	is "$(schema_of "$work/${task%:*}.said")" "$(schema_of "$examples/${task#*:}.conf")" "${task#*:}.conf has the schema that tfrecord.py prints"
done
shard=$(echo "$work"/store/section/train-00000-*)
is "$($examples/tfrecord.py show "$shard" 3 | grep -cE '^  features +float32 +11 values|^  label +int64 +1 values')" 6 "tfrecord.py show: what it wrote"
python3 - "$shard" "$KILN_BUILD/system/dump_records" "$work/section.csv" <<'PY'
import csv, json, struct, subprocess, sys
shard, dump, table = sys.argv[1:]
lines = subprocess.run([dump, shard], capture_output=True, text=True).stdout.splitlines()[1:]
rows = list(csv.DictReader(open(table)))
names = sorted({row["section"] for row in rows})
bits = lambda x: struct.unpack("<I", struct.pack("<f", float(x)))[0]
known = {(tuple(bits(v) for k, v in row.items() if k != "section"), names.index(row["section"])) for row in rows}
found = [(tuple(r["values"]["features"]), r["values"]["label"][0]) for r in map(json.loads, lines)]
sys.exit(len(found) != 50 or not all(f in known for f in found))
PY
ok $? "Kiln reads what it wrote: numbers and classes of the table"

# A night with an example whose store is $work/store; more sed commands may follow.
night() { # example, sed commands
	node "$1"
	sed "s,/data/kiln,$work,; ${2:-}" "$examples/$1.conf" >"$work/$1.conf"
	tools/night "$KILN_BIN" "$work/$1.conf" >"$work/$1.log" 2>&1
	ok $? "$1.conf: a night" "$(tail -n 20 "$work/$1.log")"
	run=$(cat "$KILN_ROOT/run/kiln/night/run-id")
}
figure() { # name: a figure of the test split
	python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["metrics"]["test"][sys.argv[2]])' "$work/store/runs/$run/run.json" "$1"
}
holds() { # awk condition on v, the figure's value, name
	awk -v v="${2:-nan}" "BEGIN { exit !($1) }"
	ok $? "$3" "found ${2:-nothing}"
}

same_tensors() { # two safetensors files, number of tensors, beginnings of their names: whether both files have these, with the same bytes
	python3 - "$@" <<-'PY'
		import json, struct, sys
		def tensors(path):
		    data = open(path, "rb").read()
		    n = struct.unpack("<Q", data[:8])[0]
		    return {k: data[8 + n + v["data_offsets"][0]:8 + n + v["data_offsets"][1]] for k, v in json.loads(data[8:8 + n]).items() if k != "__metadata__"}
		old, new = map(tensors, sys.argv[1:3])
		taken = [k for k in old if k in new and k.startswith(tuple(sys.argv[4:]) or "")]
		sys.exit(len(taken) != int(sys.argv[3]) or any(old[k] != new[k] for k in taken))
	PY
}

# The loss of a constant guess: the variance of the label, or the share of the largest class.
variance=$(awk -F, 'NR > 1 { n++; s += $NF; q += $NF * $NF } END { print q / n - (s / n) ^ 2 }' "$work/size.csv")
night regression
holds "v < 0.6 * $variance" "$(figure loss)" "its error is well below the variance of the label, $variance"
night binary
most=$(awk -F, 'NR > 1 { n++; one += $NF } END { print (one > n / 2 ? one : n - one) / n }' "$work/library.csv")
holds "v > $most + 0.05" "$(figure accuracy)" "it is right more often than one who says the same each time, $most"
night classes
classes=$run
most=$(awk -F, 'NR > 1 { n++; c[$NF]++ } END { for (k in c) if (c[k] > m) m = c[k]; print m / n }' "$work/section.csv")
holds "v > $most + 0.05" "$(figure accuracy)" "it is right more often than one who says the largest class, $most"
answer=$(echo '{"features": [2.1, 1.3, 0.8, 0.3, 0, 0, 1.5, 0, 0.3, 2.2, 0]}' | "$kiln" predict "$work/store/runs/$run/model" 2>"$work/said")
like "$answer" '"class":[0-4],.*"probabilities":\{"0":' "kiln predict takes a line of the table" "$(cat "$work/said")"

night transfer-tables "s,RUN/,$classes/,"
like "$(cat "$KILN_ROOT/run/kiln/night/traind.log")" 'starting with .*: 4 of 6 tensors; library as initialized' "it starts with two layers of the other run"
same_tensors "$work/store/runs/$classes/model/model.safetensors" "$work/store/runs/$run/model/model.safetensors" 4 normalization/ hidden/
ok $? "and they are the same at its end"
holds "v > 0.8" "$(figure accuracy)" "the new task is learnt"

# pictures-s3.conf with a folder in the place of its store: 5 classes of small pictures
"$KILN_BUILD/system/make_pictures" "$work/store/flowers/train" 20 40 48 1 daisy dandelion rose sunflower tulip
"$KILN_BUILD/system/make_pictures" "$work/store/flowers/test" 5 40 48 2 daisy dandelion rose sunflower tulip
night pictures-s3 "s,s3://pictures,file://$work/store/flowers,; s,s3://kiln/runs,file://$work/store/runs,
	s/endpoint = .*;.*//; s/epochs = 10/epochs = 2/; s/batch_rows = 32/batch_rows = 16/; \$ a ring: { small_pages = true; };"
like "$("$kiln" evaluate "$work/store/runs/$run/model" --config "$work/pictures-s3.conf" 2>&1)" 'sunflower' "kiln evaluate says the names of its classes"

# transfer.conf with the same pictures and smaller ones, and with weights of the same layout
sed 's,224\, 224,64\, 64,' "$examples/transfer.conf" >"$work/base.conf"
python3 tests/system/base_weights.py "$kiln" "$work/base.conf" "$work/keras.safetensors" &&
	"$kiln" weights convert "$work/keras.safetensors" --base efficientnet_lite0 "$work/lite0.safetensors" >"$work/said" 2>&1
ok $? "weights for transfer.conf" "$(cat "$work/said")"
night transfer "s,s3://pictures,file://$work/store/flowers,; s,s3://kiln/runs,file://$work/store/runs,; s,s3://kiln/weights/.*safetensors,file://$work/lite0.safetensors,
	s/endpoint = .*;.*//; s/epochs = 10/epochs = 1/; s/batch_rows = 32/batch_rows = 16/; s/224, 224/64, 64/; \$ a ring: { small_pages = true; };"
like "$(cat "$KILN_ROOT/run/kiln/night/traind.log")" 'starting with .*: 245 of 247 tensors; classes as initialized' "it starts with them"
same_tensors "$work/lite0.safetensors" "$work/store/runs/$run/model/model.safetensors" 245
ok $? "and the base is the same at its end"
picture=$(find "$work/store/flowers/test" -name '*.jpg' -print -quit)
like "$("$kiln" predict "$work/store/runs/$run/model" "$picture" 2>&1)" 'tulip' "kiln predict says the names of its classes"

# pictures-shards.conf: the same pictures, as its comment makes shards of them
"$kiln" prep "$work/store/flowers" --output "file://$work/store/pictures" >"$work/said" 2>&1
ok $? "kiln prep makes shards of the class folders" "$(cat "$work/said")"
night pictures-shards "s/epochs = 10/epochs = 2/; s/batch_rows = 32/batch_rows = 16/"
like "$("$kiln" predict "$work/store/runs/$run/model" "$work/store/flowers/test/rose" 2>&1 | head -n 1)" \
	'/rose/[0-9]*\.(jpg|png): (daisy|dandelion|rose|sunflower|tulip) 0\.[0-9]{4}, ' "kiln predict says the names of its classes"

# mixed.conf with two folders in the place of its stores, both of one table, and a network for it
mkdir -p "$work/store/a" "$work/store/b"
cp "$work"/store/section/*-0000[0-6]-* "$work/store/a/"
for shard in "$work"/store/section/train-000{07,08,09,1?}-*; do
	[ ! -e "$shard" ] || cp "$shard" "$work/store/b/part-$(basename "$shard")"
done
node mixed
{
	sed "s,s3://reviews/shards,file://$work/store/a,; s,s3://archive/comments,file://$work/store/b,; s,s3://models/nightly,file://$work/store/runs,
		s/endpoint = \"[^\"]*\"; //; s/credential = \"[^\"]*\"; //g; s/region = \"[^\"]*\"; //; s/endpoint = [^;]*; credential = [^;]*;//" "$examples/mixed.conf"
	sed -n '/^schema/,$p' "$examples/classes.conf"
	echo 'run: { name = "mixed"; epochs = 20; batch_rows = 32; }; ring: { small_pages = true; };'
} >"$work/mixed.conf"
tools/night "$KILN_BIN" "$work/mixed.conf" >"$work/mixed.log" 2>&1
ok $? "mixed.conf: a night of two sources" "$(tail -n 20 "$work/mixed.log")"
run=$(cat "$KILN_ROOT/run/kiln/night/run-id")
holds "v > $most + 0.05" "$(figure accuracy)" "it learns from both"
shards=$(sed -n 's/.*plan: \([0-9]*\) train, \([0-9]*\) validation.*/\1 + \2/p' "$KILN_ROOT/run/kiln/night/fetchd.log" | head -n 1)
is "$((shards))" "$(find "$work/store/a" "$work/store/b" -type f -printf '%f\n' | grep -vc '^test')" "its plan has the shards of both"
