#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A champion that sees pictures in another way than the new model, by size and fit, is judged with its own schema: its figures are
# those of its own night.
. "$(dirname "$0")/lib.sh"
kiln=$KILN_BIN/kiln
cd "$work" || exit 1
"$KILN_BUILD/system/make_pictures" pictures 40 40 48 1 daisy rose tulip

config() { # name, side, fit, seed
	cat >"$1.conf" <<-CONF
		run: { name = "pictures"; epochs = 6; batch_rows = 16; seed = $4; };
		source: { url = "file://$work/data"; };
		sink: { url = "file://$work/runs"; };
		split: { by = "hash"; };
		ring: { small_pages = true; };
		optimizer: { learning_rate = 0.01; };
		promote: { against = "champion"; objective = "validation.loss"; };
		schema = ( { name = "image/encoded"; dtype = "picture"; shape = [ $2, $2, 3 ]; antialias = true; fit = "$3"; },
		           { name = "image/class/label"; dtype = "int64"; shape = [ 1 ]; } );
		model: { input = "image/encoded"; label = "image/class/label"; loss = "sparse_categorical_crossentropy";
		         layers = ( { op = "rescaling"; scale = 0.00392156862745098; },
		                    { op = "conv2d"; filters = 8; kernel_size = [ 3, 3 ]; strides = [ 2, 2 ]; activation = "relu"; },
		                    { op = "global_average_pooling2d"; }, { op = "dense"; units = 3; }, { op = "softmax"; } ); };
	CONF
}

judged() { # name: does a night with this configuration; sets outcome, and what the test says of the champion
	"$kiln" run --config "$1.conf" >"$1.log" 2>&1
	ok $? "$1: a night" "$(tail -n 5 "$1.log")"
	record=$KILN_ROOT/data/kiln/run/current/run.json
	outcome=$(of_record 'r["promotion"]["outcome"]')
}

of_record() { # python expression of r
	python3 -c 'import json, sys; r = json.load(open(sys.argv[1])); print(eval(sys.argv[2]))' "$record" "$1" 2>&1
}

node pictures
config first 24 crop 1
"$kiln" prep pictures --config first.conf --test-percent 30 >prep.log 2>&1
ok $? "prep makes shards" "$(cat prep.log)"
judged first
is "$outcome" promoted "the first model is the champion"
loss=$(of_record 'r["metrics"]["test"]["loss"]')
config fit 24 pad 2
config side 16 crop 3
for name in fit side; do
	judged $name
	like "$outcome" '^(kept|promoted)$' "$name: the model is judged" "$(of_record 'r["promotion"]')"
	is "$(of_record "abs(r['promotion']['test']['champion']['loss'] - $loss) < 1e-5 * $loss")" True \
		"$name: the champion is measured as in its own night" "$(of_record "r['promotion']['test'], $loss")"
	is "$(of_record 'abs(r["promotion"]["test"]["model"]["loss"] - r["metrics"]["test"]["loss"]) < 1e-5')" True "$name: so is the model"
	loss=$(of_record "r['metrics']['test']['loss'] if r['promotion']['outcome'] == 'promoted' else $loss")
done
