#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# kiln prep --features: the outputs of a frozen base as shards, by splits; the head that is trained on them has the bits of a head
# that is trained behind the base; the finished model reads pictures. Stopped at any moment it goes on; what has changed is refused.
. "$(dirname "$0")/lib.sh"
kiln=$KILN_BIN/kiln
export PYTHONPATH=$PWD/config/examples
night=$PWD/tools/night
cd "$work" || exit 1
node features

"$KILN_BUILD/system/make_pictures" pictures 24 40 48 1 daisy rose tulip
conf() { # source, more of the picture's schema, keys of the base, head
	cat <<-CONF
		run: { name = "pictures"; epochs = 3; batch_rows = 16; };
		source: { $1 };
		sink: { url = "file://$work/runs"; };
		ring: { small_pages = true; };
		optimizer: { learning_rate = 0.01; };
		schema = ( { name = "image"; dtype = "picture"; shape = [ 32, 32, 3 ]; antialias = true; fit = "crop"; $2 },
		           { name = "label"; dtype = "int64"; shape = [ 1 ]; } );
		model: { input = "image"; loss = "sparse_categorical_crossentropy"; $3
		         layers = ( $4 { op = "dense"; units = 16; activation = "relu"; }, { op = "dense"; units = 3; }, { op = "softmax"; } ); };
	CONF
}
base='base = "mobilenet_v2"; base_trainable = false; base_pooling = "avg";'
"$kiln" prep pictures --output "file://$work/data" --test-percent 20 --records-per-shard 6 >prep.log 2>&1
ok $? "shards of pictures" "$(cat prep.log)"
conf "url = \"file://$work/data\";" "" "$base" '{ op = "dropout"; rate = 0.25; },' |
	sed 's/"image"/"image\/encoded"/g; s/"label"/"image\/class\/label"/; s/loss =/label = "image\/class\/label"; loss =/; s/^ring/split: { by = "hash"; };\n&/' >shards.conf

features() { # folder, arguments
	local out=$1
	shift
	"$kiln" prep --features "$@" --output "$out" >"$out.log" 2>&1
}
sums() { # folder: the SHA-256 of each file, of the manifest without the times
	(cd "$1" && find . -type f ! -name manifest.jsonl | LC_ALL=C sort | xargs sha256sum &&
		sed 's/"etag":"[^"]*",//' manifest.jsonl | sha256sum)
}

# ---- The shards ----

features shards shards.conf
ok $? "features of shards" "$(cat shards.log)"
like "$(tail -n 2 shards.log)" "^file://$work/shards: $(ls data/*.tfrecord | wc -l) shards \(0 already there\), [0-9]+ bytes, [0-9]+ train, [0-9]+ validation and [0-9]+ test records of 1280 numbers" "a summary"
cat >compare.py <<'PY'
# Compares the records of features with those of pictures: SPLIT of each shard of pictures by the plan of the run, names, labels.
import glob, json, os, sys
import tfrecord
def records(file):
    for record in tfrecord.read_records(file):
        for _, data in tfrecord.fields(record):
            values = {}
            for _, entry in tfrecord.fields(data):
                parts = dict(tfrecord.fields(entry))
                (which, content), = tfrecord.fields(parts[2])
                values[parts[1].decode()] = list(tfrecord.integers(content)) if which == 3 else [v for _, v in tfrecord.fields(content)]
        yield values
pictures, features = sys.argv[1:]
of_picture = {}
for file in sorted(glob.glob(f"{pictures}/*.tfrecord")):
    names = [(v["image/filename"][0], v["image/class/label"][0]) for v in records(file)]
    of_picture[os.path.basename(file).startswith("test-"), tuple(names)] = file
seen = {}
for file in sorted(glob.glob(f"{features}/*/*.tfrecord")):
    rows = list(records(file))
    split = os.path.basename(os.path.dirname(file))
    assert all(sorted(v) == ["features", "image/class/label", "image/filename"] and len(v["features"][0]) == 4 * 1280 for v in rows), "values"
    key = split == "test", tuple((v["image/filename"][0], v["image/class/label"][0]) for v in rows)
    assert key in of_picture, "a shard has no counterpart"
    seen.setdefault(split, []).append(of_picture[key])
assert sorted(sum(seen.values(), [])) == sorted(of_picture.values()), "each shard once"
assert all(files == sorted(files) for files in seen.values()), "in the order of the keys"
print(*sorted(seen))
PY
is "$(python3 compare.py data shards)" "test train validation" "each shard of pictures is a shard of features, in order, with names and labels"
is "$(python3 -c 'import json; d = json.load(open("shards/dataset.json")); print(d["classes"], [f["name"] for f in d["schema"]], sum(d["records"].values()))')" \
	"['daisy', 'rose', 'tulip'] ['features', 'image/class/label', 'image/filename'] 72" "dataset.json: classes, schema, records"
"$kiln" config check shards/features.conf >check.log 2>&1
ok $? "features.conf is right" "$(cat check.log)"
is "$(grep -c default shards/features.conf)" 0 "and has what differs from the defaults alone"
features threads shards.conf --threads 5
[ "$(sums shards | grep -v features.conf)" = "$(sums threads | grep -v features.conf)" ]
ok $? "the same bytes on other threads"
features shards shards.conf
like "$(cat shards.log)" " $(ls data/*.tfrecord | wc -l) shards \($(ls data/*.tfrecord | wc -l) already there\)" "a second time: all shards are there"
is "$(ls shards | grep -c prep.incomplete)" 0 "and no mark stays"

# ---- The head ----

train() { # configuration
	"$night" "$KILN_BIN" "$1" >night.log 2>&1
	ok $? "a run of $1" "$(tail -n 5 night.log)"
	model=$work/runs/$(cat "$KILN_ROOT/run/kiln/night/run-id")/model
}
train shards.conf
with_base=$model
train shards/features.conf
cat >same.py <<'PY'
# Compares two models: tensors bit by bit, the hash of the graph, the configurations' pictures and base.
import json, struct, sys
def load(folder):
    data = open(f"{folder}/model.safetensors", "rb").read()
    n = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8:8 + n])
    notes = header.pop("__metadata__")
    return notes, {name: data[8 + n + t["data_offsets"][0]:8 + n + t["data_offsets"][1]] for name, t in header.items()}
(a, tensors_a), (b, tensors_b) = map(load, sys.argv[1:])
print(tensors_a == tensors_b, a["graph_hash"] == b["graph_hash"], a.get("features_of"), b.get("features_of"), len(tensors_a) > 200)
PY
is "$(python3 same.py "$with_base" "$model")" "True True None mobilenet_v2 True" "base and head have the bits of a run with the base, dropout included"
cp -r "$model" of_features
find pictures -type f | LC_ALL=C sort >files
"$kiln" predict "$with_base" --json $(cat files) >whole.json 2>&1
is "$?" 0 "predict with the model that was trained with its base" "$(cat whole.json)"
"$kiln" predict of_features --json $(cat files) >joined.json 2>&1
cmp -s whole.json joined.json && [ "$(wc -l <joined.json)" = 72 ]
ok $? "the model of base and head reads pictures, and says the same"
"$kiln" evaluate "$with_base" --data "file://$work/data" --json 2>&1 | grep -v '"model"' >whole.json
"$kiln" evaluate of_features --data "file://$work/data" --json 2>&1 | grep -v '"model"' >joined.json
cmp -s whole.json joined.json && grep -qE '"rows":\s[1-9]' joined.json
ok $? "as does kiln evaluate on records of pictures" "$(cat joined.json)"
like "$("$kiln" evaluate "$model" 2>&1)" ': its run read features of mobilenet_v2, and the model reads pictures: give the pictures with --data$' \
	"its own splits are features, which it does not read"
is "$(cmp "$with_base/model.onnx" "$model/model.onnx" && cmp "$with_base/saved_model/1/saved_model.pb" "$model/saved_model/1/saved_model.pb" && echo same)" \
	same "ONNX and SavedModel have the bytes of those with the base"
is "$(python3 -c 'import json; print(json.load(open("of_features/dataset.json"))["classes"])')" "['daisy', 'rose', 'tulip']" "the names of the classes come along"
record=$(dirname "$model")
"$kiln" evaluate "$(find "$record/checkpoints" -name 'ckpt-*' | sort | tail -n 1)" --split test --json >checkpoint.json 2>&1
is "$? $(python3 -c 'import json; print(json.load(open("checkpoint.json"))["rows"])' 2>&1)" "0 $(python3 -c 'import json; print(json.load(open("shards/dataset.json"))["records"]["test"])')" \
	"a checkpoint of the run is of the head, and reads features" "$(cat checkpoint.json)"

# ---- Single objects ----

conf "url = \"file://$work/pictures\"; format = \"objects\";" "" "$base" "" |
	sed 's/^ring/split: { by = "hash"; train_glob = "*\/*"; test_glob = ""; validation_percent = 20; };\n&/' >objects.conf
features objects objects.conf --records-per-shard 10
ok $? "features of single objects" "$(cat objects.log)"
is "$(python3 - <<'PY'
import glob, sys
sys.argv = ["", "none", "none"]
exec(open("compare.py").read().split("pictures, features =")[0])
names, classes, mixed = [], ["daisy", "rose", "tulip"], 0
for file in sorted(glob.glob("objects/*/*.tfrecord")):
    rows = list(records(file))
    names += [v["image/filename"][0].decode() for v in rows]
    mixed += len({v["label"][0] for v in rows}) > 1
    assert all(classes[v["label"][0]] == v["image/filename"][0].decode().split("/")[0] for v in rows), "label"
expected = sorted(line.strip().split("/", 1)[1] for line in open("files"))
print(sorted(names) == expected, mixed > 4)
PY
)" "True True" "each object once, with its class; a shard mixes the classes"
train objects/features.conf
"$kiln" predict "$model" pictures/rose/0001.jpg >one 2>&1
like "$? $(cat one)" '^0 pictures/rose/0001\.jpg: (daisy|rose|tulip) [01]\.[0-9]{4}, ' "its model predicts a file"
"$kiln" evaluate "$model" --split train --data "file://$work/pictures" --json >objects.json 2>&1
is "$? $(python3 -c 'import json; print(json.load(open("objects.json"))["rows"])' 2>&1)" "0 72" "and evaluates objects, by their folders" "$(cat objects.json)"

# ---- Killed ----

features whole objects.conf --records-per-shard 1
killed() { # after this shard: 0: killed in the middle, when shards exist and no manifest does
	rm -rf killed
	"$kiln" prep --features objects.conf --records-per-shard 1 --output killed >/dev/null 2>&1 &
	wait_for 60 test -e "$(printf 'killed/train/%05d-of-%05d.tfrecord' "$1" "$(ls whole/train | wc -l)")"
	kill -KILL $! 2>/dev/null
	wait $! 2>/dev/null
	[ ! -e killed/manifest.jsonl ]
}
for shard in 0 12 30; do
	hit=1
	for _ in 1 2 3 4 5 6 7 8 9 10; do
		killed $shard && hit=0 && break
	done
	ok $hit "kill -9 after shard $shard: no manifest"
	is "$(cat killed/prep.incomplete)" "kiln prep --features" "but prep.incomplete"
	there=$(find killed -name '*.tfrecord' | wc -l)
	features killed objects.conf --records-per-shard 1 --json
	is "$(tail -n 1 killed.log | python3 -c 'import json, sys; r = json.loads(sys.stdin.read()); print(r["kept"], r["shards"])')" "$there 72" "it goes on after the last whole shard" "$(cat killed.log)"
	[ "$(sums killed | sed 's/killed/whole/' | grep -v features.conf)" = "$(sums whole | grep -v features.conf)" ]
	ok $? "with the same bytes"
done
printf 'x' | dd of="killed/train/$(ls killed/train | head -n 1)" bs=1 seek=40 conv=notrunc 2>/dev/null
features killed objects.conf --records-per-shard 1
like "$(cat killed.log)" ' 72 shards \(71 already there\)' "a damaged shard is made again"
[ "$(sums killed | grep -v features.conf)" = "$(sums whole | grep -v features.conf)" ]
ok $? "with the same bytes"

# ---- Refused ----

refused() { # expected sentence, name, configuration, arguments
	local sentence=$1 name=$2 said
	shift 2
	said=$(timeout 60 "$kiln" prep --output "${out:-refused}" --features "$@" 2>&1)
	like "$? $(tail -n 1 <<<"$said")" "^1 kiln: $sentence" "$name"
}
out=objects refused "file://$work/objects: the features there have another --seed or --records-per-shard; " "another seed" objects.conf --records-per-shard 10 --seed 5
sed 's/base_pooling = "avg"/base_pooling = "max"/' objects.conf >max.conf
out=objects refused "file://$work/objects: the features there are of another base: of mobilenet_v2, or of other weights, input, scaling or pooling than those of max.conf; " \
	"another pooling" max.conf --records-per-shard 10
sed 's/run: {/run: { seed = 7;/' objects.conf >seed.conf
out=objects refused "file://$work/objects: the features there are of another base: of mobilenet_v2, or of other weights, " "other weights" seed.conf --records-per-shard 10
sed 's/fit = "crop"/fit = "pad"/' objects.conf >pad.conf
out=objects refused "file://$work/objects: the features there are of other pictures: the schema or the filter is another; " "another schema" pad.conf --records-per-shard 10
cp pictures/rose/0000.jpg kept.jpg
cat pictures/rose/0001.jpg >pictures/rose/0000.jpg
out=objects refused "file://$work/objects: the features there are of other pictures: rose/0000.jpg was replaced; --replace computes them again, or choose another folder$" \
	"a picture that was replaced is named" objects.conf --records-per-shard 10
rm pictures/rose/0000.jpg
out=objects refused "file://$work/objects: the features there are of other pictures: rose/0000.jpg is gone or in another split; " "so is one that is gone" \
	objects.conf --records-per-shard 10
before=$(find objects -name '*.tfrecord' | wc -l)
features objects objects.conf --records-per-shard 1 --replace
is "$? $before $(find objects -name '*.tfrecord' | wc -l)" "0 8 71" "--replace computes them again, and no old shard stays" "$(cat objects.log)"
out=data refused "--output file://$work/data: found a folder in the source file://$work/data of shards.conf, expected one outside of it: " \
	"the folder of the pictures" shards.conf
ln -s pictures link
for output in "$work/pictures/features" "file://$work/pictures/features/" "file://$work/link/a/b"; do
	out=$output refused "--output file://.*: found a folder in the source file://$work/pictures of objects.conf, expected one outside of it: " \
		"an output in the source: $output" objects.conf
done
is "$(find pictures -name '*.tfrecord' -o -name 'features*.json')" "" "nothing was written there"
rmdir pictures/features
out=file://$work/ refused "--output file://$work: found the source file://$work/pictures of objects.conf in this folder, expected a folder without pictures$" \
	"the source in the output" objects.conf
sed 's|file://[^"]*/pictures|s3://bucket/flowers/|' objects.conf >s3.conf
out=s3://bucket/flowers/features refused "--output s3://bucket/flowers/features: found a folder in the source s3://bucket/flowers/ of s3\.conf, " "as in a bucket" s3.conf
out=s3://bucket/ refused "--output s3://bucket: found the source s3://bucket/flowers/ of s3\.conf in this folder, " "and the other way round" s3.conf
features pictures-features objects.conf --records-per-shard 36
is "$?" 0 "a folder beside the source whose name begins like it" "$(cat pictures-features.log)"
sed 's/^ring/order: { lanes = 32; };\n&/; s/batch_rows = 16/batch_rows = 32/' objects.conf >lanes.conf
out=few refused "--records-per-shard: found 10, which gives [0-9] train shards of [0-9]+ pictures, expected at most [0-9]: order\.lanes in lanes\.conf is 32, " \
	"fewer train shards than lanes" lanes.conf --records-per-shard 10
is "$(find few -type f -name '*.tfrecord')" "" "before a shard is computed"
features lanes lanes.conf
ok $? "without --records-per-shard each lane has a shard" "$(cat lanes.log)"
"$kiln" config check lanes/features.conf >check.log 2>&1
is "$? $([ "$(ls lanes/train | wc -l)" -ge 32 ] && grep -c 'lanes = 32' lanes/features.conf)" "0 1" "and a run takes features.conf" "$(cat check.log)"
cp lanes/features.json good.json
sed 's/"device":\s*"[^"]*"/"device": "Other: GPU, driver 1"/' good.json >lanes/features.json
out=lanes refused "file://$work/lanes: the features there are of the device Other: GPU, driver 1, and this machine has .*, driver .*, whose numbers differ; " \
	"the features of another device" lanes.conf
head -c 20 good.json >lanes/features.json
out=lanes refused "file://$work/lanes: --replace computes the features again, or choose another folder: features\.json: " "a damaged features.json" lanes.conf
features lanes lanes.conf --replace
ok $? "is replaced" "$(cat lanes.log)"
cmp good.json lanes/features.json
ok $? "by a whole one"
rm lanes/features.json lanes/prep.incomplete 2>/dev/null
ln -s prep.incomplete lanes/prep.incomplete # a link to itself
out=lanes refused "file://$work/lanes: .*prep\.incomplete: Too many levels of symbolic links$" "a mark that cannot be read is not one that is missing" lanes.conf
cp data/dataset.json dataset.json
head -c 20 dataset.json >data/dataset.json
out=classes refused "file://$work/data: dataset\.json: " "names of classes that cannot be read" shards.conf
rm data/dataset.json
ln -s dataset.json data/dataset.json
out=classes refused "file://$work/data: .*dataset\.json: Too many levels of symbolic links$" "for any reason" shards.conf
is "$(find classes -type f -name '*.tfrecord')" "" "before a shard is computed"
rm data/dataset.json
features classes shards.conf
is "$? $(grep -c '"classes"' classes/dataset.json)" "0 0" "none is no error" "$(cat classes.log)"
mv dataset.json data/dataset.json
out=other
mkdir other && cp data/test-* other
refused "file://$work/other: found test-[0-9]+-of-[0-9]+\.tfrecord, but no features\.json: kiln prep --features did not write it; choose an empty folder$" \
	"shards of others" shards.conf
out=refused
refused "--records-per-shard: found 4, expected nothing: each shard of pictures in file://$work/data becomes a shard of features$" "a size of shards that are given" \
	shards.conf --records-per-shard 4
refused 'shards/features\.conf:[0-9]+: model\.base: found nothing, expected the image network that computes the features$' "no base" shards/features.conf
sed 's/base_trainable = false/base_trainable = true/' objects.conf >wrong.conf
refused 'wrong\.conf:[0-9]+: model\.base_trainable: found true, expected false: ' "a base that learns" wrong.conf
sed 's/base_trainable = false;/& base_unfreeze_from = "Conv_1";/' objects.conf >wrong.conf
refused 'wrong\.conf:[0-9]+: model\.base_unfreeze_from: found Conv_1, expected "": ' "a part of the base that learns" wrong.conf
sed 's/fit = "crop";/& random_crop = true;/' objects.conf >wrong.conf
refused "wrong\.conf:[0-9]+: schema: found random_crop = true of 'image', expected false: " "pictures that change with the epoch" wrong.conf
sed 's/base_pooling/base_after = "random_flip"; &/; s/layers = (/& { op = "random_flip"; },/' objects.conf >wrong.conf
refused 'wrong\.conf:[0-9]+: model\.base_after: found random_flip, expected "": ' "layers that change pictures before the base" wrong.conf
sed 's/layers = (/& { op = "global_max_pooling2d"; inputs = [ "Conv_1" ]; }, { op = "concatenate"; inputs = [ "avg_pool", "global_max_pooling2d" ]; },/' objects.conf >wrong.conf
refused "wrong\.conf:[0-9]+: model\.layers\.inputs: layer 'global_max_pooling2d': found 'Conv_1', expected a later layer than 'avg_pool', whose output alone " \
	"a head that reads a layer inside the base" wrong.conf
sed 's/run: {/run: { start_from = "latest";/' objects.conf >wrong.conf
refused 'wrong\.conf:[0-9]+: run\.start_from: found "latest", expected "scratch"' "the weights of the last run" wrong.conf
cp kept.jpg pictures/rose/0000.jpg
head -c 300 kept.jpg >pictures/rose/0002.jpg
refused 'rose/0002\.jpg: feature "image": JPEG of 300 bytes' "a damaged picture" objects.conf --records-per-shard 10
sed 's/^ring/fetch: { bad_record = "skip"; };\n&/' objects.conf >skip.conf
features skipped skip.conf --json
like "$? $(cat skipped.log)" '"left_out":1' "it is left out with bad_record = \"skip\""
features skipped skip.conf --replace
like "$? $(cat skipped.log)" 'bad pictures left out of the shards that were computed: 1, each with a line above' "as the summary says"
like "$(cat skipped.log)" 'left out: rose/0002\.jpg: feature "image": JPEG of 300 bytes' "and named"
is "$("$kiln" prep --features objects.conf 2>&1 | head -n 1)" "kiln prep: expected --output" "without --output"
is "$("$kiln" prep pictures --features objects.conf --output x 2>&1 | head -n 1)" "kiln prep: found pictures together with --features, whose pictures are those of CONF" "with INPUT"
is "$("$kiln" prep --features objects.conf --raw --output x 2>&1 | head -n 1)" "kiln prep: found --raw together with --features, expected only one of them" "with an option of another form"

# ---- A run that goes on with another disk ----

has_checkpoint() {
	ls "$work/runs/$(cat "$KILN_ROOT/run/kiln/night/run-id")"/checkpoints/ckpt-*
}
node disk
sed 's/epochs = 3;/epochs = 150;/; s/name = "pictures"/name = "long"/' shards/features.conf >long.conf
"$night" "$KILN_BIN" long.conf >night.log 2>&1 &
wait_for 120 has_checkpoint
kill -TERM $!
wait $! 2>/dev/null
id=$(cat "$KILN_ROOT/run/kiln/night/run-id")
[ ! -e "runs/$id/model/model.safetensors" ]
ok $? "a run on features is stopped" "$(tail -n 5 night.log)"
rm -rf "${KILN_ROOT:?}/data/kiln/run" "$KILN_ROOT/data/kiln/spool"
"$night" "$KILN_BIN" long.conf >night.log 2>&1
ok $? "another disk goes on" "$(tail -n 5 night.log)"
like "$(cat night.log)" "$id: no good checkpoint on this disk; going on from checkpoints/ckpt-" "from a checkpoint of the store"
"$kiln" predict "runs/$id/model" pictures/rose/0001.jpg >one 2>&1
like "$? $(cat one)" '^0 pictures/rose/0001\.jpg: (daisy|rose|tulip) [01]\.[0-9]{4}, ' "and its model has the base"

# ---- A run whose file of the base is another ----

sed "s/features_of = \"mobilenet_v2\"/features_of = \"resnet18\"/" shards/features.conf >wrong.conf
like "$("$KILN_BIN/kiln-oneshot" begin --config wrong.conf 2>&1 | tail -n 1)" 'model\.features_of: file://.*/base\.safetensors: base: found mobilenet_v2, expected resnet18' \
	"a run with the file of another base does not begin"
sed 's/features_of = "mobilenet_v2"/features_of = "mobilenet"/' shards/features.conf >wrong.conf
like "$("$kiln" config check wrong.conf 2>&1)" 'model\.features_of: found "mobilenet", allowed: vgg16, ' "a base that does not exist"
