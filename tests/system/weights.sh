#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# kiln weights convert: refused usage and files; the converted weights start a run and are in its record; base networks in
# kiln model summary and kiln config check. Numbers are compared with those of other programs by tests/interop.
. "$(dirname "$0")/lib.sh"
kiln=$KILN_BIN/kiln tests=$PWD/tests/system
cd "$work" || exit 1

make() { # out, tensor to leave out, tensor more
	python3 "$tests/base_weights.py" "$kiln" base.conf "$@"
}

config() { # more keys of the model
	cat <<-CONF
		run: { name = "net"; batch_rows = 2; epochs = 1; };
		source: { url = "file://$work/data"; };
		sink: { url = "file://$work/runs"; };
		schema = ( { name = "image"; dtype = "float32"; shape = [ 32, 32, 3 ]; missing = "default"; fill = 100.0; },
		           { name = "label"; dtype = "int64"; shape = [ 2 ]; } );
		ring: { small_pages = true; };
		model: { input = "image"; base = "efficientnet_lite0"; base_pooling = "avg"; base_trainable = false; $1
		         layers = ( { op = "dense"; units = 2; }, { op = "softmax"; } ); };
	CONF
}

config "" >base.conf
found=$("$kiln" model summary base.conf 2>&1)
like "$found" "^top_activation \(relu6\) +\(None, 1, 1, 1280\)" "the summary has the layers of the base"
like "$found" "^Trainable params: 2,562 " "of which a frozen one learns nothing"
config 'base_unfreeze_from = "top_convv";' >wrong.conf
like "$("$kiln" config check wrong.conf 2>&1)" \
	'^wrong.conf:7: model.base_unfreeze_from: found "top_convv", allowed: a layer of efficientnet_lite0; did you mean "top_conv"\?' \
	"a layer that the base lacks is a mistake"
sed 's/32, 32, 3/32, 16, 1/' base.conf >wrong.conf
like "$("$kiln" config check wrong.conf 2>&1)" "^wrong.conf:7: model.base: found the input 'image' of shape \[ 32, 16, 1 \], allowed" \
	"so is an input that the base cannot read"

make all.safetensors
found=$("$kiln" weights convert all.safetensors --base efficientnet_lite0 lite.safetensors 2>&1)
is $? 0 "weights with Keras's names are converted"
like "$found" "^lite.safetensors: 245 tensors of efficientnet_lite0, from Keras's names; 0 of the classifier left out$" \
	"it is said how many,"
like "$found" 'base_scaling = "lite"' "and for which scaling"
cp lite.safetensors first.safetensors
"$kiln" weights convert all.safetensors --base efficientnet_lite0 lite.safetensors >/dev/null 2>&1
cmp -s lite.safetensors first.safetensors
ok $? "the same weights give the same bytes"
make lacks.safetensors block3a_dwconv/kernel
like "$("$kiln" weights convert lacks.safetensors --base efficientnet_lite0 x 2>&1)" \
	"lacks.safetensors: found no tensor 'block3a_dwconv/kernel', which 'block3a_dwconv/kernel' of efficientnet_lite0 needs" \
	"one tensor too few is refused by name"
make more.safetensors "" block9a_dwconv/kernel
like "$("$kiln" weights convert more.safetensors --base efficientnet_lite0 x 2>&1)" \
	"more.safetensors: found the tensor 'block9a_dwconv/kernel', which no layer of efficientnet_lite0 has" "and one too many"
like "$("$kiln" weights convert all.safetensors --base mobilenet_v2 x 2>&1)" "found no tensor 'Conv1/kernel'" \
	"weights of another base are refused"
like "$("$kiln" weights convert base.conf --base vgg16 x 2>&1)" "base.conf: " "and files of another kind"
[ ! -e x ]
ok $? "what is refused writes no file"
for arguments in "all.safetensors x" "all.safetensors --base vgg16" "--base vgg16"; do
	# shellcheck disable=SC2086
	"$kiln" weights convert $arguments >/dev/null 2>&1
	is $? 2 "wrong usage: kiln weights convert $arguments"
done

# ---- A run with them ----

mkdir data
"$KILN_BUILD/system/make_shards" "$work/data" train 2 8
"$KILN_BUILD/system/make_shards" "$work/data" test 1 4
node one
config "weights = \"file://$work/lite.safetensors\"; base_scaling = \"torch\";" >wrong.conf
"$KILN_BIN/kiln-oneshot" begin --config wrong.conf >log 2>&1
isnt=$?
[ "$isnt" != 0 ] && grep -q 'its weights expect model.base_scaling = "lite", found "torch"' log
ok $? "weights of another scaling begin no run" "$(cat log)"
config "weights = \"file://$work/lite.safetensors\";" >run.conf
id=$("$KILN_BIN/kiln-oneshot" begin --config run.conf 2>log)
"$KILN_BIN/kiln-fetchd" 2>>log &
"$KILN_BIN/kiln-traind" 2>>log
ok $? "a run starts with them and ends well" "$(tail -n 5 log)"
wait
like "$(cat log)" "starting with file://.*: 245 of 247 tensors; dense as initialized" "the log says which tensors it got"
like "$(cat "$KILN_ROOT/data/kiln/run/current/run.json" "$work/runs/$id/run.json" 2>/dev/null)" "\"weights_sha256\":.*\"$(sha256sum lite.safetensors | cut -d' ' -f1)\"" \
	"their hash is in the record of $id"
