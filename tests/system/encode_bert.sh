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
cut -f 2 test.tsv | python3 "$tests/bert_folder.py" vectors bert >wanted
"$dump" set/test-* >found
python3 - <<'PY' >difference
import json, struct
wanted = [[float(x) for x in line.split()] for line in open("wanted")]
found = [json.loads(line) for line in open("found") if "values" in line]
found = [struct.unpack("<8f", struct.pack("<8I", *row["values"]["sentence"])) for row in found]
apart = lambda a, b: max(abs(x - y) for x, y in zip(a, b))
assert len(found) == len(wanted), (len(found), len(wanted))
print(max(max(min(apart(a, b) for b in found) for a in wanted), max(min(apart(a, b) for b in wanted) for a in found)))
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
	prep none texts.tsv --encoder bert:other
	like "$(cat none.log)" "^kiln: encoder \"bert:other\": $3" "$4"
}
other pooling 'sed -i "s/cls_token\": false/cls_token\": true/" 1_Pooling/config.json' \
	'other/1_Pooling/config.json: pooling_mode_cls_token: allowed: the mean' "another pooling is refused"
other module 'sed -i s/models.Normalize/models.Dense/ modules.json' \
	'other/modules.json: module 2: found "sentence_transformers.models.Dense", allowed: sentence_transformers.models.Normalize' "another module"
other long 'echo "{\"max_seq_length\": 33}" >sentence_bert_config.json' \
	'other/sentence_bert_config.json: max_seq_length: found 33, allowed: 3 .. 32' "more tokens than positions"
other words 'echo more >>vocab.txt' 'other/vocab.txt: found 25 ids, allowed: vocab_size of config.json, 24' "more ids than vectors"
other case 'echo "{\"do_lower_case\": true}" >sentence_bert_config.json' 'other/sentence_bert_config.json: do_lower_case: found true' "small letters"
other none 'rm model.safetensors' 'other/model.safetensors: ' "no weights"
other none 'rm vocab.txt' 'other/vocab.txt: ' "no tokenizer"

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
