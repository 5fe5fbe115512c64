#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The base bert by the files of Hugging Face: kiln weights convert, the network in kiln check and kiln model, a run with the
# daemons from these weights on ids of texts, kiln predict.
. "$(dirname "$0")/lib.sh"
kiln=$KILN_BIN/kiln tests=$PWD/tests/system
cd "$work" || exit 1
python3 "$tests/bert_folder.py" make bert
for i in {1..60}; do
	printf 'pos\tthe film was good , %d\nneg\ta bad and dull film , not very warm %d\n' "$i" "$i"
done >texts.tsv
printf 'pos\tgood film\nneg\tbad dull film\n' >test.tsv

# ---- The weights ----

found=$("$kiln" weights convert bert --base bert bert.safetensors 2>&1)
is $? 0 "the folder of a model is converted"
like "$found" "^bert.safetensors: 36 tensors of bert, from PyTorch's names; 2 of the classifier left out: pooler.dense.weight, pooler.dense.bias$" \
	"it is said what is left out,"
keys=$(sed -n 's/^model: { \(base = .*\)weights = .*/\1/p' <<<"$found")
like "$keys" '^base = "bert"; bert_hidden_size = 8; bert_num_hidden_layers = 2; .*bert_layer_norm_eps = 1e-12; ' "and which keys have the size"
cp bert.safetensors first.safetensors
"$kiln" weights convert bert --base bert bert.safetensors >/dev/null 2>&1
cmp -s bert.safetensors first.safetensors
ok $? "the same weights give the same bytes"
refused() { # member of config.json, what is said, name of the check
	python3 "$tests/bert_folder.py" make other "$1"
	like "$("$kiln" weights convert other --base bert x 2>&1)" "$2" "$3"
}
refused 'hidden_act="relu"' '^kiln: other/config.json: hidden_act: found "relu", allowed: "gelu"$' "another activation is refused by name"
refused 'position_embedding_type="relative_key"' 'position_embedding_type: found "relative_key", allowed: "absolute"' "another kind of positions"
refused 'model_type="roberta"' 'model_type: found "roberta", allowed: "bert"' "another kind of model"
refused 'pad_token_id=1' 'pad_token_id: found 1, allowed: 0' "another id of padding"
refused num_hidden_layers=1 "found the tensor 'encoder.layer.1.*', which no layer of bert has" "a layer more than config.json says"
refused num_hidden_layers=3 "found no tensor 'encoder.layer.2.attention.self.query.weight', which 'encoder.layer.2.attention/query_kernel' of bert needs" \
	"and a layer less"
like "$("$kiln" weights convert bert.safetensors --base bert x 2>&1)" '^kiln: .*bert.safetensors/config.json: ' "a file in place of the folder"
[ ! -e x ]
ok $? "what is refused writes no file"

# ---- A run ----

"$kiln" prep texts.tsv --test test.tsv --tokens --tokenizer bert/vocab.txt --output "file://$work/data" >log 2>&1
ok $? "prep makes ids with the model's own tokenizer" "$(cat log)"
cat >run.conf <<CONF
run: { name = "net"; batch_rows = 16; epochs = 4; };
source: { url = "file://$work/data"; };
sink: { url = "file://$work/runs"; };
schema = ( { name = "tokens"; dtype = "int64"; shape = [ 16 ]; padding = "post"; overflow = "truncate"; },
           { name = "label"; dtype = "int64"; shape = [ 2 ]; } );
ring: { small_pages = true; };
optimizer: { name = "adamw"; learning_rate = 0.003; };
model: { input = "tokens"; $keys weights = "file://$work/bert.safetensors"; base_pooling = "avg";
         layers = ( { op = "dense"; name = "head"; units = 2; }, { op = "softmax"; } ); };
CONF
"$kiln" config check run.conf >log 2>&1
ok $? "a configuration with these keys is good" "$(cat log)"
found=$("$kiln" model summary run.conf 2>&1)
like "$found" "^encoder.layer.1.attention \(multi_head_attention\) +\(None, 16, 8\) +288 " "the summary has the layers of the base"
like "$found" "^avg_pool \(global_average_pooling1d\) +\(None, 8\) " "and the mean of the tokens' vectors"
sed 's/base_pooling/base_trainable = false; base_unfreeze_from = "encoder.layer.1"; base_pooling/' run.conf >half.conf
like "$("$kiln" model summary half.conf 2>&1)" "^Trainable params: 550 " "only the layers from base_unfreeze_from on and the head are trained"
sed 's/base_pooling/bert_vocab_size = 12; base_pooling/; s/bert_vocab_size = 24; //' run.conf >wrong.conf
node one
"$KILN_BIN/kiln-oneshot" begin --config wrong.conf >log 2>&1
isnt=$?
[ "$isnt" != 0 ] && grep -q 'embeddings.word_embeddings/embeddings: found \[24, 8\], allowed: \[12, 8\]' log
ok $? "weights of another size begin no run" "$(cat log)"
(cd "$tests/../.." && tools/night "$KILN_BIN" "$work/run.conf") >log 2>&1
ok $? "a run starts with the weights and ends well" "$(tail -n 5 log)"
log=$KILN_ROOT/run/kiln/night/traind.log
like "$(cat "$log")" "starting with file://.*: 36 of 38 tensors; head as initialized" "the log says which tensors it got"
like "$(cat "$log")" "epoch 4/4: train loss 0\.[01]" "it has learnt the texts"
id=$(cat "$KILN_ROOT/run/kiln/night/run-id")
found=$(printf 'the film was good\na bad and dull film\n' | "$kiln" predict "$work/runs/$id/model" 2>&1)
is "$(awk '{ print $1 }' <<<"$found" | xargs)" "positive negative" "kiln predict takes texts" "$found"
