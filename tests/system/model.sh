#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# kiln model summary: layers, shapes, parameters and connections, for people and as JSON; refused models. Also a run of such a
# network: several features, moving averages, a frozen layer.
. "$(dirname "$0")/lib.sh"
kiln=$KILN_BIN/kiln
cd "$work" || exit 1

config() { # layers
	cat <<-CONF
		run: { name = "net"; };
		source: { url = "file:///nowhere"; };
		sink: { url = "file:///nowhere"; };
		schema = ( { name = "sentence"; dtype = "float32"; shape = [ 6, 4 ]; },
		           { name = "age"; dtype = "float32"; shape = [ 3 ]; },
		           { name = "label"; dtype = "int64"; shape = [ 2 ]; } );
		model: { layers = ( $1 ); };
	CONF
}

config '{ op = "flatten"; }, { op = "dense"; units = 1200; }, { op = "relu"; }, { op = "batch_norm"; },
        { op = "dense"; units = 2; trainable = false; }, { op = "softmax"; }' >chain.conf
config '{ op = "flatten"; }, { op = "dense"; name = "a"; units = 3; activation = "relu"; },
        { op = "add"; inputs = [ "a", "age" ]; },
        { op = "dense"; units = 2; }, { op = "softmax"; }' >joined.conf

cat >chain.expected <<'TEXT'
Model: "net"
Layer (type)                             Output Shape                         Param #
flatten (flatten)                        (None, 24)                                 0
dense (dense)                            (None, 1200)                          30,000
relu (relu)                              (None, 1200)                               0
batch_norm (batch_norm)                  (None, 1200)                           4,800
dense_1 (dense)                          (None, 2)                              2,402
softmax (softmax)                        (None, 2)                                  0
Total params: 37,202 (145.32 KB)
Trainable params: 32,400 (126.56 KB)
Non-trainable params: 4,802 (18.76 KB)
TEXT
is "$("$kiln" model summary chain.conf 2>&1)" "$(cat chain.expected)" \
	"a chain: names, types, shapes, parameters; frozen and kept numbers apart"

sed 's/model: {/model: { precision = "mixed_bfloat16";/' chain.conf >stored.conf
is "$("$kiln" model summary stored.conf 2>&1 | sed 2d)" "$(cat chain.expected)" "in 16 bits it is the same network"
is "$("$kiln" model summary stored.conf 2>&1 | sed -n 2p)" "Precision: mixed_bfloat16" "and says so"
is "$("$kiln" model summary stored.conf --json | python3 -c 'import json, sys; print(json.load(sys.stdin)["precision"])')" \
	mixed_bfloat16 "in JSON, too"
sed 's/model: {/model: { precision = "float16";/' chain.conf >wrong.conf
like "$("$kiln" model summary wrong.conf 2>&1)" 'model.precision: found "float16", allowed: one of "float32", "mixed_bfloat16", "mixed_float16"' \
	"what precisions there are is said"

found=$("$kiln" model summary joined.conf 2>&1)
like "$found" '^Layer \(type\) .*Connected to$' "several inputs: a column says what each layer reads,"
like "$found" '^add \(add\) +\(None, 3\) +0  a, age$' "layers and features"

is "$("$kiln" model summary joined.conf --json 2>&1 | python3 -c '
import json, sys
model = json.load(sys.stdin)
print(model["layers"][2], model["total_params"], model["trainable_params"], model["non_trainable_params"])')" \
	"{'name': 'add', 'type': 'add', 'output_shape': [None, 3], 'params': 0, 'trainable_params': 0, 'inputs': ['a', 'age']} 83 83 0" \
	"--json says the same"

config '{ op = "dense"; units = 3; }, { op = "softmax"; }' >wrong.conf
found=$("$kiln" model summary wrong.conf 2>&1)
is $? 1 "a wrong network: exit 1"
like "$found" "wrong.conf:7: model.layers: found 18 outputs, allowed: 2, the classes of label" "and its mistake"
found=$("$kiln" model layers dense 2>&1)
like "$found" '^  units +an integer 1 <= x <= 1048576; must be given$' "every layer's attributes: what is allowed,"
like "$found" '^  activation +"linear", "relu", .*; default "linear"$' "and the default"
like "$found" '^  kernel_l2 +a number 0 <= x <= 1000000; default 0$' "also attributes that many layers have"
for arguments in "layers convv" "layers dense relu" summaries "" "summary chain.conf joined.conf" "summary --all"; do
	# shellcheck disable=SC2086
	"$kiln" model $arguments >/dev/null 2>&1
	is $? 2 "wrong usage: kiln model $arguments"
done

# ---- Trained by the daemons; no record has the feature `age`, and its column in the ring is one like any other ----

mkdir data
"$KILN_BUILD/system/make_shards" "$work/data" train 4 500
"$KILN_BUILD/system/make_shards" "$work/data" test 1 200
mkdir more
"$KILN_BUILD/system/make_shards" "$work/more" train 1 100
"$KILN_BUILD/system/make_shards" "$work/more" exam 1 70
node one
cat >run.conf <<CONF
run: { name = "net"; epochs = 2; batch_rows = 32; };
sources = ( { url = "file://$work/data"; }, { url = "file://$work/more"; test_glob = "exam-*"; } );
sink: { url = "file://$work/runs"; };
ring: { small_pages = true; };
schema = ( { name = "sentence"; dtype = "float32"; shape = [ 8 ]; },
           { name = "age"; dtype = "float32"; shape = [ 3 ]; missing = "default"; fill = 0.5; },
           { name = "label"; dtype = "int64"; shape = [ 2 ]; } );
model: { layers = ( { op = "dense"; name = "a"; units = 16; }, { op = "batch_norm"; },
                    { op = "dense"; name = "b"; units = 4; inputs = [ "age" ]; trainable = false; },
                    { op = "concatenate"; inputs = [ "batch_norm", "b" ]; }, { op = "gelu"; },
                    { op = "dense"; units = 2; name = "out"; }, { op = "softmax"; } ); };
CONF
id=$("$KILN_BIN/kiln-oneshot" begin --config run.conf 2>log)
"$KILN_BIN/kiln-fetchd" 2>>log &
"$KILN_BIN/kiln-traind" 2>>log
ok $? "a run of several features, moving averages and a frozen layer ends well" "$(tail -n 5 log)"
wait
is "$(python3 - "$KILN_ROOT/data/kiln/spool/traind/$id/model/model.safetensors" <<'PY'
import json, struct, sys
data = open(sys.argv[1], "rb").read()
size = struct.unpack("<Q", data[:8])[0]
header = json.loads(data[8:8 + size])
metadata = header.pop("__metadata__")
print(" ".join(f"{name}{header[name]['shape']}" for name in sorted(header)).replace(", ", "x"))
begin, end = header["batch_norm/moving_mean"]["data_offsets"]
mean = struct.unpack("<16f", data[8 + size + begin:8 + size + end])
print(all(x == x and x != 0 for x in mean))
PY
)" "a/bias[16] a/kernel[8x16] b/bias[4] b/kernel[3x4] batch_norm/beta[16] batch_norm/gamma[16] batch_norm/moving_mean[16] batch_norm/moving_variance[16] out/bias[2] out/kernel[20x2]
True" "its model has every parameter, and what layers keep, under Keras's names"

# ---- Evaluation on any shards that a glob matches ----

model=$KILN_ROOT/data/kiln/spool/traind/$id/model
mkdir both
cp data/test-* more/exam-* more/train-* both/
is "$("$kiln" evaluate "$model" --data "file://$work/both" 2>&1 | sed -n 's/^rows *//p')" 270 \
	"evaluate --data: shards of the test split as each of the sources names them"
is "$("$kiln" evaluate "$model" --data "file://$work/both" --split train 2>&1 | sed -n 's/^rows *//p')" 100 \
	"those that all sources name alike once"

# ---- How it confuses the classes ----
mkdir named
cp "$model/model.safetensors" named/
echo '{ "classes": [ "größer", "a name of more than twenty characters" ] }' >named/dataset.json
"$kiln" evaluate named --data "file://$work/both" --json >named.json 2>errors
is "$(python3 - <<'PY' 2>&1
import json
e = json.load(open("named.json"))
matrix, near = e["confusion"], lambda a, b: abs(a - b) < 1e-9
for i, c in enumerate(e["classes"]):
    rows, predicted, hits = sum(matrix[i]), sum(row[i] for row in matrix), matrix[i][i]
    print(c["class"], c["label"], c["rows"] == rows, near(c["precision"], hits / predicted), near(c["recall"], hits / rows),
          near(c["f1"], 2 * hits / (rows + predicted)))
print(e["macro_average"]["rows"] == e["rows"] == 270,
      all(near(e["macro_average"][f], sum(c[f] for c in e["classes"]) / 2) for f in ("precision", "recall", "f1")))
PY
)" "0 größer True True True True
1 a name of more than twenty characters True True True True
True True" "evaluate --json: precision, recall and F1 of each class, with its name, and their means" "$(cat errors)"
is "$("$kiln" evaluate named --data "file://$work/both" | sed -n '/^confusion/,$p')" "$(python3 - <<'PY'
import json
e = json.load(open("named.json"))
names, matrix = ["größer", "a name of more than "], e["confusion"]
print("confusion matrix: one row per label, one column per prediction\n" + " " * 20 + f" {names[0]:>8} {names[1]:>20}")
for name, row in zip(names, matrix):
    print(f"{name:20} {row[0]:8g} {row[1]:20g}")
print(f"\n{'class':20} {'rows':>9} {'precision':>10} {'recall':>10} {'f1':>10}")
for name, c in zip(names + ["macro average"], e["classes"] + [e["macro_average"]]):
    print(f"{name:20} {c['rows']:9g} {c['precision']:10.6f} {c['recall']:10.6f} {c['f1']:10.6f}")
PY
)" "evaluate: the same as tables, in which a long name is cut"

# ---- Keys of a configuration that only training needs ----
retold() { # folder, replacement for a piece of the configuration in the file, that piece
	mkdir "$1" && python3 - "$model/model.safetensors" "$1/model.safetensors" "$2" "$3" <<-'PY'
		import json, struct, sys
		data = open(sys.argv[1], "rb").read()
		start = 8 + struct.unpack("<Q", data[:8])[0]
		header = json.loads(data[8:start])
		config = header["__metadata__"]["config"]
		assert sys.argv[4] in config
		header["__metadata__"]["config"] = config.replace(sys.argv[4], sys.argv[3], 1)
		text = json.dumps(header).encode()
		text += b" " * (-len(text) % 8)
		open(sys.argv[2], "wb").write(struct.pack("<Q", len(text)) + text + data[start:])
	PY
}
figures_of() { # folder
	"$kiln" evaluate "$1" --data "file://$work/both" --json 2>errors | grep -v '"model"'
}
figures=$(figures_of "$model")
retold coarse 'model: { precision = "mixed_bfloat16"; ' 'model: { '
is "$(figures_of coarse)" "$figures" "a model that was trained in 16 bits is float32, as everybody reads it"
retold elsewhere 'device: { type = "gpu"; platform = "none such"; }; model: { ' 'model: { '
is "$(figures_of elsewhere)" "$figures" "one that another box's device trained is evaluated on the one here"
like "$(cat errors)" "kiln: this machine does not have the device that the model was trained on; using " "and it says so"

# ---- The names that a model has ----
mkdir -p runs
cp -r "$KILN_ROOT/data/kiln/spool/traind/$id" runs/
cp "$KILN_ROOT"/data/kiln/run/current/{run.json,plan} "runs/$id/"
checkpoint=$(find "runs/$id/checkpoints" -name 'ckpt-*' | sort | tail -n 1)
evaluated() { # MODEL, options
	"$kiln" evaluate "$@" --json 2>errors | grep -v '"model"'
}
expected=$(evaluated "runs/$id/model")
like "$expected" '"rows":	270,' "a model in its run's folder: the test split of the run's plan" "$(cat errors)"
is "$(evaluated "$id" --config run.conf)" "$expected" "a run id, with the sink of --config" "$(cat errors)"
is "$(KILN_CONFIG=run.conf evaluated "$id")" "$expected" "or of the box's own configuration" "$(cat errors)"
is "$(evaluated "file://$work/runs/$id/")" "$expected" "the run's folder, as a URL" "$(cat errors)"
is "$(evaluated "runs/$id/model/model.safetensors")" "$expected" "the file" "$(cat errors)"
is "$(evaluated "$checkpoint")" "$expected" "a checkpoint: the last one has the model's weights" "$(cat errors)"
is "$(cd "runs/$id/checkpoints" && evaluated "${checkpoint##*/}")" "$expected" "also from within its folder" "$(cat "runs/$id/checkpoints/errors")"
"$kiln" export "$checkpoint" --output exported >/dev/null 2>errors
cmp exported/model.onnx "runs/$id/model/model.onnx"
ok $? "export of a checkpoint: the same model.onnx" "$(cat errors)"
is "$("$kiln" predict "$checkpoint" --split test 2>errors | sha256sum)" "$("$kiln" predict "runs/$id" --split test | sha256sum)" \
	"predict of a checkpoint: the same answers" "$(cat errors)"
is "$("$kiln" model summary "$checkpoint" 2>&1)" "$("$kiln" model summary run.conf)" "model summary of a checkpoint"
is "$("$kiln" model summary "$id" --config run.conf 2>&1)" "$("$kiln" model summary run.conf)" "and of a run"
mv "runs/$id/model" away
is "$("$kiln" export "runs/$id" --output exported 2>&1)" \
	"kiln: runs/$id: found neither model.safetensors nor model/model.safetensors" "a run without a model"
echo "{ \"key\": \"checkpoints/${checkpoint##*/}\" }" >"runs/$id/checkpoints/latest.json"
is "$("$kiln" export "runs/$id" --output exported 2>&1)" \
	"kiln: runs/$id: the run has no finished model; its newest checkpoint is $checkpoint" "and one with a checkpoint"
is "$(evaluated "$checkpoint")" "$expected" "which is evaluated" "$(cat errors)"
mv away "runs/$id/model"
like "$(evaluated net-20200101-000000 --config run.conf; cat errors)" \
	"^kiln: file://$work/runs/net-20200101-000000: found neither model.safetensors nor" "a run that is not there"
is "$(evaluated "runs/$id/run.json"; cat errors)" \
	"kiln: runs/$id/run.json: found a file that is no *.safetensors, expected a run id, the folder of a run or of a model, a model.safetensors or a checkpoint" \
	"another file of a run"
cp "$checkpoint" alone.safetensors
like "$(evaluated alone.safetensors; cat errors)" "^kiln: alone.safetensors: the configuration of its run: .*run.json" \
	"a checkpoint outside of its run's folder"
sed -i 's/units = 16/units = 17/' "runs/$id/run.json"
is "$(evaluated "$checkpoint"; cat errors)" \
	"kiln: $checkpoint: a/kernel: found F32 [8, 16], expected F32 [8, 17]" "a checkpoint with another configuration beside it"

# ---- Tensors that are not those of the configuration's network ----
retensored() { # folder, Python statements that change the dictionary t: name -> [type, shape, bytes]
	mkdir "$1" && python3 - "$model/model.safetensors" "$1/model.safetensors" "$2" <<-'PY'
		import json, struct, sys
		def crc32c(data):
		    crc = 0xffffffff
		    for byte in data:
		        crc ^= byte
		        for _ in range(8):
		            crc = crc >> 1 ^ (0x82f63b78 if crc & 1 else 0)
		    return crc ^ 0xffffffff
		data = open(sys.argv[1], "rb").read()
		start = 8 + struct.unpack("<Q", data[:8])[0]
		header = json.loads(data[8:start])
		notes = {k: v for k, v in header.pop("__metadata__").items() if not k.startswith("crc32c/")}
		t = {n: [h["dtype"], h["shape"], data[start + h["data_offsets"][0]:start + h["data_offsets"][1]]] for n, h in header.items()}
		exec(sys.argv[3])
		header, body = {"__metadata__": notes}, b""
		for name, (dtype, shape, numbers) in t.items():
		    header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [len(body), len(body) + len(numbers)]}
		    notes["crc32c/" + name] = "%08x" % crc32c(numbers)
		    body += numbers
		text = json.dumps(header).encode()
		text += b" " * (-len(text) % 8)
		open(sys.argv[2], "wb").write(struct.pack("<Q", len(text)) + text + body)
	PY
}
refused() { # folder, what all verbs say after the folder's name
	is "$("$kiln" export "$1" --output "$1/out" 2>&1)" "kiln: $1: $2" "export refuses a model with $1"
	ls "$1/out" >/dev/null 2>&1
	is $? 2 "and writes nothing"
	is "$("$kiln" evaluate "$1" --data "file://$work/both" 2>&1)" "kiln: $1: $2" "so does evaluate"
	is "$("$kiln" predict "$1" --data "file://$work/both" 2>&1)" "kiln: $1: $2" "and predict"
}
retensored right ''
is "$(figures_of right)" "$figures" "a model whose tensors are written in another order is the same"
retensored fewer 't["out/kernel"][1:] = [[5, 2], t["out/kernel"][2][:40]]'
refused fewer 'out/kernel: found F32 [5, 2], expected F32 [20, 2]'
retensored turned 't["a/kernel"][1] = [16, 8]'
refused turned 'a/kernel: found F32 [16, 8], expected F32 [8, 16]'
retensored whole 't["a/bias"][0] = "I32"'
refused whole 'a/bias: found I32 [16], expected F32 [16]'
retensored without 'del t["batch_norm/moving_mean"]'
refused without 'batch_norm/moving_mean: found nothing, expected F32 [16]'
retensored surplus 't["c/kernel"] = t["a/kernel"]'
refused surplus 'c/kernel: found a tensor that the network does not have'

# ---- A model that names a server: nothing is sent there, unless the options or a kiln.conf name it, too ----
mkdir -p "$KILN_ROOT/data/kiln/credentials" asked
printf 'access_key_id = id\nsecret_access_key = secret\n' >"$KILN_ROOT/data/kiln/credentials/box"
python3 -u -m http.server --bind 127.0.0.1 --directory asked 0 >asked.log 2>&1 &
server=$!
wait_for 20 grep -q "Serving" asked.log
port=$(sed -n 's/.* port \([0-9]*\) .*/\1/p' asked.log)
store="url = \"s3://bucket/data\"; endpoint = \"http://127.0.0.1:$port\"; credential = \"box\";"
retold "$work/runs/$id/named" "{ $store }" "{ url = \"file://$work/data\"; }"
asks() { # arguments of kiln evaluate
	local before
	before=$(grep -c '"GET' asked.log)
	timeout 60 "$kiln" evaluate "$work/runs/$id/named" --split test "$@" >said 2>&1
	asked=$(($(grep -c '"GET' asked.log) - before))
}
asks
is "$asked" 0 "without options nothing is sent to the server that a model names"
like "$(cat said)" "its shards are at s3://bucket/data, endpoint \"http://127.0.0.1:$port\", credential \"box\", and there is no kiln.conf: give --endpoint, .* or --config .* or other shards with --data" \
	"and it says what to give"
printf 'source: { url = "file:///a"; }; sink: { url = "s3://bucket/runs"; endpoint = "http://127.0.0.1:9"; credential = "box"; };' >other.conf
asks --config "$work/other.conf"
is "$asked $(grep -c 'and kiln.conf has no such store' said)" "0 1" "nor with a kiln.conf that names another"
printf 'source: { url = "file:///a"; }; sink: { url = "s3://bucket/runs"; endpoint = "http://127.0.0.1:%s"; credential = "box"; };' "$port" >same.conf
sed 's,s3://bucket/runs,s3://another/data,' same.conf >another.conf
asks --config "$work/another.conf"
is "$asked $(grep -c 'and kiln.conf has no such store' said)" "0 1" "a kiln.conf with this server and another bucket is not" "$(cat said)"
asks --config "$work/same.conf"
[ "$asked" -gt 0 ]
ok $? "one with this server, bucket and credential is" "$(cat said)"
asks --endpoint "http://127.0.0.1:$port"
[ "$asked" -gt 0 ]
ok $? "so are options" "$(cat said)"
mkdir -p "$KILN_ROOT/etc/kiln"
cp same.conf "$KILN_ROOT/etc/kiln/kiln.conf"
asks
[ "$asked" -gt 0 ]
ok $? "so is the box's own kiln.conf" "$(cat said)"
rm "$KILN_ROOT/etc/kiln/kiln.conf"
kill $server

# ---- Predictions for records, and for values on standard input ----

predict() { # folder of the model, arguments
	"$kiln" predict "$@" >said 2>errors
}
# Settings of the store in the file apply while the file's own store is used.
cat >"$work/store.conf" <<-'CONF'
	run: { name = "t"; };
	source: { url = "s3://kiln/data"; endpoint = "http://127.0.0.1:1"; };
	sink: { url = "s3://kiln/runs"; endpoint = "http://127.0.0.1:1"; credential = "nobody-has-it"; };
	schema = ( { name = "sentence"; dtype = "float32"; shape = [ 8 ]; },
	           { name = "label"; dtype = "int64"; shape = [ 2 ]; } );
	model: { layers = ( { op = "dense"; units = 2; }, { op = "softmax"; } ); };
CONF
predict --config "$work/store.conf" s3://kiln/runs/t/model -- text
like "$? $(cat errors)" "^1 kiln: credential 'nobody-has-it'" "predict --config: with the credential that its sink names"
features='"sentence": [0.5, -1, 0, 0, 0, 0, 0, 1e-3]'
predict "$model" --data "file://$work/both"
is "$? $(wc -l <said)" "0 270" "predict --data: a line a record" "$(cat errors)"
cp said records
is "$(python3 - "$("$kiln" evaluate "$model" --data "file://$work/both" --json | python3 -c 'import json, sys; print(json.load(sys.stdin)["accuracy"])')" \
	"$KILN_BUILD/system/dump_records" <<'PY'
import glob, json, os, struct, subprocess, sys
answers = [json.loads(line) for line in open("records")]
labels, lines, labelled = [], open("lines", "w"), open("labelled", "w")
for shard in sorted(glob.glob("both/test-*") + glob.glob("both/exam-*"), key=os.path.basename):
    for i, line in enumerate(subprocess.run([sys.argv[2], shard], capture_output=True, text=True).stdout.splitlines()[1:]):
        values = json.loads(line)["values"]
        labels.append((os.path.basename(shard), i, values["label"].index(1)))
        floats = [struct.unpack("<f", struct.pack("<I", f))[0] for f in values["sentence"]]
        lines.write(json.dumps({"sentence": [floats[:4], floats[4:]], "label": [7]}) + "\n")
        labelled.write(json.dumps({"sentence": floats, "label": values["label"]}) + "\n")
print([(a["shard"], a["record"]) for a in answers] == [l[:2] for l in labels])
right = sum(a["class"] == l[2] and a["label"] == str(l[2]) for a, l in zip(answers, labels))
print(abs(right / len(labels) - float(sys.argv[1])) < 1e-9)
print(all(abs(sum(a["probabilities"].values()) - 1) < 1e-5 and a["probabilities"][a["label"]] == a["probability"] == max(a["probabilities"].values()) for a in answers))
PY
)" "True
True
True" "in the order of the shards, and the classes are right as often as kiln evaluate says"
predict "$model" <lines
is "$? $(sed 's/"line":[0-9]*,//' said | sha256sum)" "0 $(sed 's/"shard":"[^"]*","record":[0-9]*,//' records | sha256sum)" \
	"the same values by name on standard input: the same answers" "$(cat errors)"
is "$( (printf '\xef\xbb\xbf'; head -n 2 lines) | "$kiln" predict "$model" 2>&1)" "$(head -n 2 said)" "a byte order mark in front is no part of the first line"
is "$("$kiln" evaluate "$model" --data - --json <labelled 2>&1)" "$("$kiln" evaluate "$model" --data "file://$work/both" --json | grep -v '"split"')" \
	"evaluate --data -: and the same figures of them, with labels"
is "$(head -n 3 lines | "$kiln" evaluate "$model" --data - 2>&1)" 'kiln: standard input: line 1: "label": found 1 numbers, expected 2' "a label that is none names input and line"
is "$("$kiln" evaluate "$model" --data - 2>&1 </dev/null)" "kiln: standard input: found no record to evaluate" "nothing on standard input"
is "$(head -n 1 said | cut -d, -f1) $(tail -n 1 said | cut -d, -f1)" '{"line":1 {"line":270' "each with its line"

refused() { # line, expected sentence, name
	printf '{%s}\n%s\n' "$features" "$1" | "$kiln" predict "$model" >said 2>errors
	like "$? $(cat errors)" "^1 kiln: $2" "$3"
}
refused '{"sentence": [1, 2, 3]}' 'line 2: "sentence": found 3 numbers, expected 8$' "too few numbers: line, feature, both counts"
refused '{"age": [1, 2, 3]}' 'line 2: "sentence": found nothing, expected 8 numbers$' "a feature that must be there is not"
refused '{"sentense": [1]}' 'line 2: found "sentense", allowed: "sentence", "age", "label"$' "a name that is none"
refused '{"sentence": [1, 2, 3, "x", 5, 6, 7, 8]}' 'line 2: "sentence": found "x" as value 3, expected a number' "what is no number"
refused '{"sentence": [1, 2, 3, 1e39, 5, 6, 7, 8]}' 'line 2: "sentence": found 1e\+39 as value 3, expected a number in the range of float32' \
	"a number that is too large"
refused '{"sentence": [1, 2' 'line 2: ' "what is no JSON"
refused '[1]' 'line 2: found no object' "no object"
predict "$model" --split train "some text"
is $? 2 "--split beside a text: usage"

# One output means two classes, the second above 0.5. A regression has no classes.
single() { # name, target's type and value, model
	sed "s/name = \"net\"/name = \"$1\"/; s/epochs = 2/epochs = 1/
	     s/{ name = \"label\".*/{ name = \"target\"; $2 missing = \"default\"; shape = [ 1 ]; } );/
	     s/units = 2; name = \"out\"; }, { op = \"softmax\"; } );/units = 1; name = \"out\"; }${4:-} ); label = \"target\"; loss = \"$3\";/" run.conf >"$1.conf"
	id=$("$KILN_BIN/kiln-oneshot" begin --config "$1.conf" 2>log)
	"$KILN_BIN/kiln-fetchd" 2>>log &
	"$KILN_BIN/kiln-traind" 2>>log
	ok $? "a run with one output, $3" "$(tail -n 5 log)"
	wait
	predict "$KILN_ROOT/data/kiln/spool/traind/$id/model" <<<"{$features}"
}
single positive 'dtype = "int64"; fill = 1;' binary_crossentropy ', { op = "sigmoid"; }'
is "$(python3 -c '
import json
a = json.load(open("said"))
print(a["class"], a["label"], a["probability"] > 0.5, a["probabilities"]["1"] == a["probability"], abs(sum(a["probabilities"].values()) - 1) < 1e-6, len(a["probabilities"]))' 2>&1)" \
	"1 1 True True True 2" "one sigmoid: the second class above 0.5, with both probabilities" "$(cat errors)"
single value 'dtype = "float32"; fill = 0.25;' mean_squared_error
is "$(python3 -c '
import json
print(sorted(json.load(open("said"))))' 2>&1)" "['line', 'value']" "a regression: its value, and no class" "$(cat errors)"
regression=$KILN_ROOT/data/kiln/spool/traind/$id/model
is "$(python3 - "$KILN_ROOT/data/kiln/run/current/run.json" "$regression/../logs" <<'PY'
import json, pathlib, sys
run = json.load(open(sys.argv[1]))
figures = [run["epochs"][0], run["metrics"]["train"], run["metrics"]["test"]]
print(["loss" in f for f in figures], [name for f in figures for name in f if "accuracy" in name])
curves = [f.read_bytes() for f in pathlib.Path(sys.argv[2]).rglob("*tfevents*")]
print(any(b"epoch_loss" in c for c in curves), any(b"batch_loss" in c for c in curves), any(b"_accuracy" in c for c in curves))
PY
)" "[True, True, True] []
True True False" "a regression has losses, and no accuracy, in run.json and in the curves"
like "$(grep -F 'epoch 1/1: train' log)" 'train loss [0-9.e-]+, [0-9]+ rows' "no accuracy in the log"
like "$("$kiln" report 2>&1)" '^test loss [0-9.]+, 270 rows' "nor in its report"
sed 's/^model: {/keep_best: { monitor = "val_accuracy"; }; &/' value.conf >watched.conf
like "$("$KILN_BIN/kiln-oneshot" begin --config watched.conf 2>&1)" \
	'watched.conf:[0-9]+: keep_best.monitor: found "val_accuracy", allowed with loss mean_squared_error: "none", "loss", "val_loss"' \
	"and nothing can watch it"
predict "$regression" --data "file://$work/both"
is "$(python3 - "$("$kiln" evaluate "$regression" --data "file://$work/both" --json | python3 -c 'import json, sys; print(json.load(sys.stdin)["loss"])')" <<'PY'
import json, sys
values = [json.loads(line)["value"] for line in open("said")]
print(len(values), abs(sum((v - 0.25) ** 2 for v in values) / len(values) / float(sys.argv[1]) - 1) < 1e-5)
PY
)" "270 True" "the values whose squared error kiln evaluate has"

# Weights of rows: the loss uses them, other figures do not, as in Keras.
"$KILN_BUILD/system/make_shards" "$work/weighed" train 2 200 plain 8 weighted
"$KILN_BUILD/system/make_shards" "$work/weighed" test 1 150 plain 8 weighted
cat >weighed.conf <<CONF
run: { name = "net"; epochs = 1; batch_rows = 32; };
source: { url = "file://$work/weighed"; };
sink: { url = "file://$work/runs"; };
ring: { small_pages = true; };
schema = ( { name = "sentence"; dtype = "float32"; shape = [ 8 ]; }, { name = "label"; dtype = "int64"; shape = [ 2 ]; },
           { name = "weight"; dtype = "float32"; shape = [ 1 ]; } );
model: { sample_weight = "weight"; layers = ( { op = "dense"; units = 2; }, { op = "softmax"; } ); };
CONF
id=$("$KILN_BIN/kiln-oneshot" begin --config weighed.conf 2>log)
"$KILN_BIN/kiln-fetchd" 2>>log &
"$KILN_BIN/kiln-traind" 2>>log
ok $? "a run with sample weights" "$(tail -n 5 log)"
wait
weighed=$KILN_ROOT/data/kiln/spool/traind/$id/model
predict "$weighed" </dev/null
like "$? $(cat errors)" "^1 kiln: .*: found no encoder.bin beside it, .*one JSON object per line" "predict: nothing to read, and no encoder"
predict "$weighed" --data "file://$work/weighed"
"$kiln" evaluate "$weighed" --data "file://$work/weighed" --json >figures
is "$(python3 - "$KILN_ROOT/data/kiln/run/current/run.json" "$KILN_BUILD/system/dump_records" weighed/test-* <<'PY'
import json, math, struct, subprocess, sys
record, figures = json.load(open(sys.argv[1])), json.load(open("figures"))
run = record["metrics"]["test"]
answers = [json.loads(line) for line in open("said")]
records = [json.loads(line)["values"] for line in subprocess.run(sys.argv[2:], capture_output=True, text=True).stdout.splitlines()[1:]]
weights = [struct.unpack("<f", struct.pack("<I", r["weight"][0]))[0] for r in records]
wanted = [r["label"].index(1) for r in records]
right = [a["class"] == w for a, w in zip(answers, wanted)]
losses = [-math.log(a["probabilities"][str(w)]) for a, w in zip(answers, wanted)]
near = lambda a, b: abs(a - b) < 1e-5
print(len(records), sorted(set(weights)), 0 < sum(right) < 150)
print(near(figures["accuracy"], sum(right) / 150), near(run["accuracy"], figures["accuracy"]), sum(map(sum, figures["confusion"])))
counted = [[sum((w, a["class"]) == (i, j) for w, a in zip(wanted, answers)) for j in range(2)] for i in range(2)]
print(record["confusion"] == {"classes": 2, "rows": 150, "matrix": counted, "split": "test"}, figures["confusion"] == counted)
print(near(figures["weighted_accuracy"], sum(w for w, r in zip(weights, right) if r) / sum(weights)))
print(near(figures["loss"], sum(map(lambda w, l: w * l, weights, losses)) / 150), near(run["loss"], figures["loss"]))
PY
)" "150 [0.0, 1.0, 2.0, 3.0] True
True True 150
True True
True
True True" "evaluate: accuracy and confusion by rows, as the run has them and as the predictions say; weighted_accuracy and the loss by their weights" "$(cat figures errors)"
like "$("$kiln" evaluate "$weighed" --data "file://$work/weighed")" "weighted_auc_precision_recall 0\.[0-9]{6}" "and so for people"
