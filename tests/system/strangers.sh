#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Shards whose records have nothing of the schema, all features of which are optional: refused by kiln check and by a night.
. "$(dirname "$0")/lib.sh"
kiln=$KILN_BIN/kiln
export PYTHONPATH=$PWD/config/examples
cd "$work" || exit 1

python3 - <<'PY'
import os
import tfrecord
def write(folder, record, shard=0):
    os.makedirs(folder, exist_ok=True)
    with open(f"{folder}/train-{shard:05}.tfrecord", "wb") as file:
        for i in range(30):
            file.write(tfrecord.framed(record(i)))
def known(i):
    return {"x": ("float32", [i / 30]), "y": ("int64", [i % 2])}
def other(i):
    return {"z": ("float32", [i / 30])}
write("known", lambda i: tfrecord.example(known(i) if i == 29 else other(i)))
write("mixed", lambda i: tfrecord.example(known(i)))
write("mixed", lambda i: tfrecord.example(other(i)), 1)
write("other", lambda i: tfrecord.example(other(i)))
# A list of two examples, with a context.
write("elwc", lambda i: tfrecord.field(1, tfrecord.example(known(i))) * 2 + tfrecord.field(2, tfrecord.example(other(i))))
# A sequence without context: the feature list x of two steps.
step = tfrecord.field(1, tfrecord.field(2, tfrecord.field(1, b"\0\0\0\0")))
write("sequence", lambda i: tfrecord.field(2, tfrecord.field(1, tfrecord.field(1, b"x") + tfrecord.field(2, step * 2))))
PY
for name in known mixed other elwc sequence; do
	cat >$name.conf <<-EOF
		run: { name = "$name"; epochs = 1; batch_rows = 4; };
		source: { url = "file://$work/$name"; };
		sink: { url = "file://$work/runs"; };
		split: { validation_percent = 0; test_glob = ""; };
		schema = (
		  { name = "x"; dtype = "float32"; shape = [ 1 ]; missing = "default"; },
		  { name = "y"; dtype = "int64"; shape = [ 1 ]; missing = "default"; }
		);
		model: { input = "x"; label = "y"; loss = "sparse_categorical_crossentropy";
		  layers = ( { op = "dense"; units = 2; }, { op = "softmax"; } );
		};
	EOF
	node $name
	"$kiln" check $name.conf >$name.check 2>&1
	timeout 120 "$kiln" run --config $name.conf >$name.log 2>&1
	echo $? >$name.code
done
is "$(cat known.code)" 0 "one record with a feature of the schema is enough" "$(tail -n 3 known.log)"
like "$(cat other.check)" 'train-00000.tfrecord: none of the first 30 records has a feature of the schema' "kiln check refuses other records"
like "$(cat mixed.log)" 'train-00001.tfrecord: none of its 30 records has a feature of the schema' "a night refuses a later shard of them"
is "$(cat mixed.code)" 1 "and ends with status 1" "$(tail -n 3 mixed.log)"
like "$(cat elwc.check)" 'no tf.train.Example, but ExampleListWithContext' "lists with a context are named"
like "$(cat sequence.check)" 'no tf.train.Example, but SequenceExample' "so are sequences"
