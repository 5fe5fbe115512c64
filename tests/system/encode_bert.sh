#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# kiln prep --encoder bert:DIR: the vectors of a small BERT beside float64, the same bytes each time, records that are added, kiln
# predict with the same encoder and with others, and folders that are refused.
. "$(dirname "$0")/lib.sh"
kiln=$KILN_BIN/kiln tests=$PWD/tests/system dump=$KILN_BUILD/system/dump_records
cd "$work" || exit 1
python3 "$tests/bert_folder.py" make bert
good='the film was good , very good !' bad='a bad and dull film , not warm'
for i in {1..40}; do
	printf 'pos\t%s\nneg\t%s\n' "$(cut -d ' ' -f "$((i % 5 + 1))-" <<<"$good")" "$(cut -d ' ' -f "$((i % 4 + 1))-" <<<"$bad")"
done >texts.tsv
long="$good $bad $good $bad"
printf 'pos\t%s\nneg\t%s\npos\t%s\nneg\tbad\nneg\t\n' "$good" "$bad" "$long" >test.tsv

prep() { # output, options
	local out=$1
	shift
	"$kiln" prep "$@" --output "file://$work/$out" >"$out.log" 2>&1
}
prep set texts.tsv --test test.tsv --encoder bert:bert
ok $? "prep encodes with the BERT of a folder" "$(cat set.log)"
like "$(cat set.log)" '^1 of 5 texts have more than 12 tokens, the most that the encoder reads: their further tokens are cut off$' \
	"it is said how many texts are cut"
# Each text is a class of its own here, so that the label of a vector says which text it is of.
cut -f 2 test.tsv | awk '{ print NR - 1 "\t" $0 }' >each.tsv
prep each each.tsv --test each.tsv --encoder bert:bert
ok $? "and each of several texts" "$(cat each.log)"
cut -f 2 each.tsv | python3 "$tests/bert_folder.py" vectors bert >wanted
"$dump" each/test-* >found
python3 - <<'PY' >difference
import json, struct
wanted = [[float(x) for x in line.split()] for line in open("wanted")]
rows = [json.loads(line)["values"] for line in open("found") if "values" in line]
assert sorted(row["label"].index(1) for row in rows) == list(range(len(wanted))), rows
vector = lambda row: struct.unpack("<8f", struct.pack("<8I", *row["sentence"]))
print(max(abs(x - y) for row in rows for x, y in zip(vector(row), wanted[row["label"].index(1)])))
PY
awk '{ exit !($1 <= 2e-6) }' difference
ok $? "the vectors are those of float64, of length 1" "$(cat difference; head -n 3 found)"
cp -r set first
prep set texts.tsv --test test.tsv --encoder bert:bert/ --replace
diff -r set first >log
ok $? "the same texts give the same bytes" "$(cat log)"
member() { # path
	python3 -c 'import json, sys
d = json.load(open("set/dataset.json"))
for key in sys.argv[1].split("."): d = d[key]
print(d)' "$1"
}
is "$(member encoder.bert) $(member encoder.weights_sha256) $(member encoder.tokens_max) $(member encoder.normalizes)" \
	"bert $(sha256sum <bert/model.safetensors | cut -d ' ' -f 1) 12 True" "dataset.json has what tells the encoder"

# ---- Other folders ----

other() { # name, commands in it, what is said, name of the check
	rm -rf other
	cp -r bert other
	(cd other && eval "$2")
	prep none texts.tsv --encoder bert:other "${@:5}"
	like "$(cat none.log)" "^kiln: encoder \"bert:other\": $3" "$4"
}
taken() { # name, commands in the folder, tokens_max of the set, name of the check
	rm -rf other set_of_other
	cp -r bert other
	(cd other && eval "$2")
	prep set_of_other texts.tsv --encoder bert:other
	is "$(sed -n 's/.*"tokens_max":[[:space:]]*\([0-9]*\).*/\1/p' set_of_other/dataset.json)" "$3" "$4" "$(cat set_of_other.log)"
}
other pooling 'sed -i "s/cls_token\": false/cls_token\": true/" 1_Pooling/config.json' \
	'other/1_Pooling/config.json: pooling_mode_cls_token: allowed: the mean' "another pooling is refused"
other module 'sed -i s/models.Normalize/models.Dense/ modules.json' \
	'other/modules.json: module 2: found "sentence_transformers.models.Dense", allowed: sentence_transformers.models.Normalize' "another module"
other long 'echo "{\"max_seq_length\": 33}" >sentence_bert_config.json' \
	'other/sentence_bert_config.json: max_seq_length: found 33, allowed: 3 .. 32' "more tokens than positions"
other words 'echo more >>vocab.txt' 'other/vocab.txt: found 25 ids, allowed: vocab_size of config.json, 24' "more ids than vectors"
of_bert=sentence_bert_config.json of_tokenizer=tokenizer_config.json of_pooling=1_Pooling/config.json
other mode "echo '{\"pooling_mode\": \"cls\"}' >$of_pooling" "other/$of_pooling: pooling_mode: found \"cls\", allowed: \"mean\"" "another pooling_mode"
other mode "echo '{\"pooling_mode\": 1}' >$of_pooling" "other/$of_pooling: pooling_mode: found no text, allowed: \"mean\"" "a pooling_mode that is no text"
other array "echo '[]' >$of_pooling" "other/$of_pooling: found no object" "an array as the pooling"
taken mode "echo '{\"pooling_mode\": \"mean\"}' >$of_pooling" 12 "the mean by its new name is taken"
other padding "sed -i '1s/.*/zero/' vocab.txt" 'other/vocab.txt: id 0: found another token, allowed: \[PAD\] or <pad>' "a token of text with the id 0 is refused"
other padding "sed -i 's/\"pad_token_id\": 0/\"pad_token_id\": \"0\"/' config.json" 'other/config.json: "pad_token_id": found a string' "an id of padding that is no number"
other long "echo '{\"max_seq_length\": \"12\"}' >$of_bert" "other/$of_bert: max_seq_length: found no number" "max_seq_length as a text"
other long "echo '{\"max_seq_length\": true}' >$of_bert" "other/$of_bert: max_seq_length: found no number" "and as a boolean"
other long "echo 7 >$of_bert" "other/$of_bert: found no object" "a number as the whole file"
taken long "rm $of_bert" 32 "without max_seq_length a text has as many tokens as there are positions,"
taken long "rm $of_bert; echo '{\"model_max_length\": 20}' >$of_tokenizer" 20 "at most model_max_length,"
taken long "rm $of_bert; echo '{\"model_max_length\": 1000000000000000019884624838656}' >$of_tokenizer" 32 "whose largest number is no limit,"
taken long "rm $of_bert; echo '{\"model_max_length\": 1e30}' >$of_tokenizer" 32 "in both ways to write it"
other long "rm $of_bert; echo '{\"model_max_length\": 2}' >$of_tokenizer" "other/$of_tokenizer: model_max_length: found 2, allowed: 3 .. 32" \
	"too few tokens are refused by their file"
other long "rm $of_bert; echo '{\"model_max_length\": \"2\"}' >$of_tokenizer" "other/$of_tokenizer: model_max_length: found no number" "no number"
other long "rm $of_bert; sed -i 's/\"max_position_embeddings\": 32/\"max_position_embeddings\": 2/' config.json" \
	'other/config.json: max_position_embeddings: found 2, allowed: 3 .. 2' "and too few positions by theirs"
for key in do_lower_case strip_accents tokenize_chinese_chars; do
	other case "echo '{\"$key\": false}' >$of_tokenizer" "other/$of_tokenizer: $key: found false, allowed: true, as the tokenizer does" \
		"$key that differs from the tokenizer"
done
taken case "echo '{\"do_lower_case\": true, \"strip_accents\": null}' >$of_tokenizer" 12 "settings as those of the tokenizer are taken"
other prompt "echo '{\"default_prompt_name\": \"query\"}' >config_sentence_transformers.json" \
	'other/config_sentence_transformers.json: default_prompt_name: found "query", allowed: null' "a prompt before each text is refused"
taken prompt "echo '{\"default_prompt_name\": null}' >config_sentence_transformers.json" 12 "and none is taken"
other dims true '--dims: found 9, allowed: hidden_size of its network, 8' "another number of dims" --dims 9
prep eight texts.tsv --encoder bert:bert --dims 8
ok $? "the network's own number of dims is taken" "$(cat eight.log)"
spoil='import struct; f = open("model.safetensors", "r+b"); n = struct.unpack("<Q", f.read(8))[0]
f.seek(8 + n + 4 * 8 * 18); f.write(struct.pack("<8f", *[3e38] * 8))' # the vector of "warm", too large for a mean
rm -rf other && cp -r bert other && (cd other && python3 -c "$spoil")
prep none texts.tsv --encoder bert:other
like "$(cat none.log)" '^kiln: encoder bert:other: text [0-9]+, which begins with ".*warm": number [1-8] of its vector: found -?nan, expected a finite number$' \
	"a vector that is not finite"
other weights 'sed -i "s/pooler.dense.bias/encoder.denseBias/" model.safetensors' "other/model.safetensors: found the tensor 'encoder.denseBias'" \
	"a tensor of no layer, by its file"
other case 'echo "{\"do_lower_case\": true}" >sentence_bert_config.json' 'other/sentence_bert_config.json: do_lower_case: found true' "small letters"
other none 'rm model.safetensors' 'other/model.safetensors: ' "no weights"
other none 'rm vocab.txt' 'other/vocab.txt: ' "no tokenizer"

python3 "$tests/bert_folder.py" make wide intermediate_size=65536
POCL_MEMORY_LIMIT=1 prep wide_set texts.tsv --encoder bert:wide
ok $? "a batch is as large as the memory of the device allows" "$(cat wide_set.log)"

# ---- Records that are added ----

printf 'pos\tgreat film\n' >day.tsv
prep set day.tsv --append --test-percent 0
like "$(cat set.log)" ': --append: the set was made with the encoder bert: give its folder, with --encoder bert:DIR$' "records that are added need it again"
cp -r bert plain && rm plain/modules.json
prep set day.tsv --append --test-percent 0 --encoder bert:plain
like "$(cat set.log)" ': --append: found the encoder bert:plain with the id .*, expected .* of bert' "and not another one"
prep set day.tsv --append --test-percent 0 --encoder bert:bert
ok $? "with it they are added" "$(cat set.log)"

# ---- A model ----

cat >run.conf <<CONF
run: { name = "net"; batch_rows = 16; epochs = 30; };
source: { url = "file://$work/set"; };
sink: { url = "file://$work/runs"; };
schema = ( { name = "sentence"; dtype = "float32"; shape = [ 8 ]; }, { name = "label"; dtype = "int64"; shape = [ 2 ]; } );
ring: { small_pages = true; };
optimizer: { learning_rate = 0.02; };
model: { input = "sentence"; layers = ( { op = "dense"; units = 8; activation = "relu"; }, { op = "dense"; units = 2; }, { op = "softmax"; } ); };
CONF
node one
(cd "$tests/../.." && tools/night "$KILN_BIN" "$work/run.conf") >log 2>&1
ok $? "a run trains on the vectors" "$(tail -n 5 log)"
model=$work/runs/$(cat "$KILN_ROOT/run/kiln/night/run-id")/model
found=$("$kiln" predict "$model" "$good" "$bad" --encoder bert:bert 2>&1)
is "$(awk '{ print $1 }' <<<"$found" | xargs)" "positive negative" "kiln predict encodes new texts with it" "$found"
like "$("$kiln" predict "$model" "$good" 2>&1)" 'the texts were encoded by the BERT bert: give its folder, with --encoder bert:DIR$' "it has to be given"
like "$("$kiln" predict "$model" "$good" --encoder bert:plain 2>&1)" 'found the encoder bert:plain with the id .*, expected .* of bert' "another one is refused"
like "$("$kiln" predict "$model" "$good" --encoder exec:cat 2>&1)" 'the texts were encoded by the BERT bert' "and a program, too"
cp "$model/dataset.json" whole.json
python3 -c 'import json; d = json.load(open("whole.json")); del d["encoder"]; print(json.dumps(d))' >"$model/dataset.json"
found=$("$kiln" predict "$model" "$good" --encoder bert:plain 2>&1)
like "$found" 'found no encoder in dataset.json beside it: whether bert:plain made its vectors cannot be checked$' \
	"where dataset.json does not say the encoder, it is said that it cannot be checked,"
like "$found" '^positive' "and it is taken"
rm "$model/dataset.json"
like "$("$kiln" predict "$model" "$good" --encoder bert:bert 2>&1)" 'found no encoder in dataset.json beside it: whether bert:bert' "without the file, too"
