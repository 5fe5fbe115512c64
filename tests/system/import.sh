#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# kiln import: a .keras file of Keras 3.15 becomes a configuration and weights with the same predictions; files that Kiln lacks
# parts of, and files that are damaged, are refused by name, and nothing is written.
. "$(dirname "$0")/lib.sh"
kiln=$KILN_BIN/kiln keras=$PWD/config/examples/classes.keras
node import
cd "$work" || exit 1

"$kiln" import "$keras" --output deep/out >said.log 2>&1
ok $? "an import" "$(cat said.log)"
like "$(cat said.log)" '^deep/out/weights.safetensors: 4 tensors, 549 numbers' "it says what it wrote"
like "$(cat said.log)" '^input: features, float32 \[ 11 \]' "and what the network reads"
is "$(ls -A deep/out)" "$(printf 'kiln.conf\nweights.safetensors')" "nothing else is there"
like "$(cat deep/out/kiln.conf)" 'op = "dense"; name = "hidden"; units = 32; activation = "relu"; }' "a layer, without attributes at their defaults"
like "$(cat deep/out/kiln.conf)" '^optimizer: . name = "adam"; learning_rate = 0.003;' "the optimizer of compile()"
like "$(cat deep/out/kiln.conf)" "weights = \"file://$work/deep/out/weights.safetensors\"" "the weights"
"$kiln" config check deep/out/kiln.conf >check.log 2>&1
ok $? "the configuration is good" "$(cat check.log)"

# What Keras computes of these rows.
printf '%s\n' '{"features": [2.1, 1.3, 0.8, 0.3, 0, 0, 1.5, 0, 0.3, 2.2, 0]}' '{"features": [0, -1, 0.5, 3, 0, 2, 0, 0, 1, -2, 0.25]}' |
	"$kiln" predict deep/out/weights.safetensors >predicted 2>predict.log
is "$(python3 - <<'PY'
import json
wanted = [[0.1458565890789032, 0.19809633493423462, 0.16612157225608826, 0.13591578602790833, 0.3540096879005432],
          [0.08804779499769211, 0.12352544814348221, 0.4058457016944885, 0.1739114671945572, 0.20866964757442474]]
found = [list(json.loads(line)["probabilities"].values()) for line in open("predicted")]
print(len(found), max(abs(a - b) for f, w in zip(found, wanted) for a, b in zip(f, w)) < 1e-6)
PY
)" "2 True" "predictions are those of Keras" "$(cat predict.log)"

cp deep/out/kiln.conf before
"$kiln" import "$keras" --output deep/out >twice.log 2>&1
is $? 1 "a second import is refused"
like "$(cat twice.log)" 'deep/out/kiln.conf: the file is there, and is not changed' "and says why"
cmp -s before deep/out/kiln.conf
ok $? "the file is as it was"

mkdir weights && echo mine >weights/weights.safetensors
"$kiln" import "$keras" --output weights >weights.log 2>&1
is $? 1 "weights that are there: the import is refused"
like "$(cat weights.log)" 'weights/weights.safetensors: the file is there, and is not changed' "and says why"
is "$(ls -A weights) $(cat weights/weights.safetensors)" "weights.safetensors mine" "the weights are as they were, and nothing is beside them"

edit() { # Python that changes config and members; writes bad.keras
	python3 - "$keras" "$1" <<'PY'
import json, sys, zipfile
archive = zipfile.ZipFile(sys.argv[1])
members = {name: archive.read(name) for name in archive.namelist()}
config = json.loads(members["config.json"])
layers = config["config"]["layers"]
exec(sys.argv[2])
if "config.json" in members:
    members["config.json"] = json.dumps(config)
with zipfile.ZipFile("bad.keras", "w") as out:
    for name, data in members.items():
        out.writestr(name, data)
PY
}
edit 'config["compile_config"]["metrics"] = [{"module": "keras.metrics", "class_name": "SparseTopKCategoricalAccuracy", "config": {"k": k}} for k in (9, 3)]'
"$kiln" import bad.keras --output top_k >top_k.log 2>&1
ok $? "a top_k above the classes is left out" "$(cat top_k.log)"
like "$(cat top_k.log)" '^not taken over: the metric top_k of 9, the network has 5 classes' "it says so"
like "$(cat top_k.log)" '^not taken over: the metric sparse_top_k_categorical_accuracy' "and that a second one is left out"

# ---- Files that are refused: what is changed in the good file, the exit code, what is said ----

refused() { # name, change, exit code, words...
	local name=$1 code=$3
	edit "$2"
	shift 3
	rm -rf bad
	"$kiln" import bad.keras --output bad >bad.log 2>&1
	is $? "$code" "$name: exit status $code" "$(cat bad.log)"
	for words in "$@"; do
		like "$(cat bad.log)" "$words" "$name: $words"
	done
	is "$(ls -A bad)" "" "$name: nothing is written"
}
refused "many things" 'layers[1]["class_name"] = "Mine"; layers[2]["config"]["noise_shape"] = [None, 1]; layers[3]["config"]["activation"] = "glu"' 78 \
	'^hidden \(Mine\), layer 2 of 4: Kiln has no such layer' '^dropout \(Dropout\), layer 3 of 4: noise_shape = \[null,1\]' \
	'^classes \(Dense\), layer 4 of 4: activation = "glu"' 'Kiln lacks 3 things'
refused "an attribute of later versions" 'layers[1]["config"]["new"] = 7' 78 'hidden .*: new = 7: Kiln.s layer does not have this attribute'
refused "a value that Kiln refuses" 'layers[1]["config"]["units"] = 0' 78 '^hidden \(Dense\), layer 2 of 4: .*units: found 0'
refused "another class of model" 'config["class_name"] = "Mine"' 78 'the model is Mine, expected Sequential or Functional'
refused "weights of another shape" 'layers[1]["config"]["units"] = 31' 1 'hidden .*layers/dense/vars/0 in model.weights.h5 has another shape than \[11, 31\]'
refused "weights of another layer" 'layers[1]["config"]["name"] = "other"' 1 'layers/dense in model.weights.h5 is that of the layer hidden'
refused "no weights" 'del members["model.weights.h5"]' 1 'it has no model.weights.h5'
refused "weights that are cut" 'members["model.weights.h5"] = members["model.weights.h5"][:3000]' 1 'model.weights.h5 is no HDF5 file, or it is damaged'
refused "weights that are text" 'members["model.weights.h5"] = b"x" * 5000' 1 'model.weights.h5 is no HDF5 file'
refused "no config.json" 'del members["config.json"]' 1 'it has no config.json'
refused "a config.json that is a list" 'config = []' 78 'the model is no class of Keras'
refused "a config.json without an end" 'config["x"] = " " * (17 << 20)' 1 'config.json: more than 16777216 bytes'
refused "a member outside of the archive" 'members["../../evil"] = b"x"; layers[1]["class_name"] = "Mine"' 78 'Kiln has no such layer'
[ ! -e ../evil ] && [ ! -e ../../evil ]
ok $? "and no such file is made"
rm -rf bad
head -c 2000 "$keras" >bad.keras
! "$kiln" import bad.keras --output bad >bad.log 2>&1
ok $? "an archive that is cut is refused" "$(cat bad.log)"
is "$(ls -A bad)" "" "and nothing is written"
! "$kiln" import nothing.keras --output bad >bad.log 2>&1
like "$(cat bad.log)" 'nothing.keras: cannot open it: No such file' "a file that is not there"
"$kiln" import "$keras" >usage.log 2>&1
is $? 2 "without --output: exit status 2"
finish
