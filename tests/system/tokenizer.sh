#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# kiln prep --tokens --tokenizer: the ids of a pretrained model's WordPiece in the records, its file beside the shards, records
# that are added, and what is refused.
. "$(dirname "$0")/lib.sh"
kiln=$KILN_BIN/kiln
dump=$KILN_BUILD/system/dump_records
cd "$work" || exit 1
printf '%s\n' '[PAD]' '[UNK]' '[CLS]' '[SEP]' '[MASK]' a film '##s' good bad not . >vocab.txt
for i in {1..40}; do
	printf 'pos\tA good film. %d\nneg\tBad films, not good\n' "$i"
done >texts.tsv
printf 'pos\tfilms [MASK] a\nneg\tbad\n' >test.tsv

prep() { # output, options
	local out=$1
	shift
	"$kiln" prep "$@" --tokens --output "file://$work/$out" >"$out.log" 2>&1
}
tokens() { # split: the tokens of its records, each once
	for shard in set/"$1"-*; do "$dump" "$shard"; done | grep -o '"tokens":\[[0-9,]*\]' | sort -u | xargs
}
member() { # path
	python3 -c 'import json, sys
d = json.load(open("set/dataset.json"))
for key in sys.argv[1].split("."): d = d[key]
print(d)' "$1"
}

prep set texts.tsv --test test.tsv --tokenizer vocab.txt
ok $? "prep takes the pieces of a pretrained model" "$(cat set.log)"
is "$(tokens train)" "tokens:[2,5,8,6,11,1,3] tokens:[2,9,6,7,1,10,8,3]" "the records have its ids between its special tokens"
is "$(tokens test)" "tokens:[2,6,7,4,5,3] tokens:[2,9,3]" "those of the test split, too"
cmp -s vocab.txt set/tokenizer.json
ok $? "its file lies beside the shards"
is "$(member tokenizer.id) $(member tokenizer.size)" "$(sha256sum <vocab.txt | cut -d ' ' -f 1) 12" "dataset.json has its digest and its size"
is "$(cd set && ls | grep -v -- -of- | xargs)" "dataset.json manifest.jsonl tokenizer.json" "and there is no vocabulary of the texts"
like "$("$kiln" init "file://$work/set" --output - 2>&1)" 'input_dim = 12' "kiln init takes the size for the embedding"

printf 'pos\tnot a film\n' >day.tsv
prep set day.tsv --append --test-percent 0
ok $? "records that are added" "$(cat set.log)"
like "$(tokens train)" '\[2,10,5,6,3\]' "have the ids of the set's tokenizer"
cp set/tokenizer.json kept
echo more >>set/tokenizer.json
prep set day.tsv --append --test-percent 0
like "$(cat set.log)" 'tokenizer.json: found SHA-256 [0-9a-f]{12}..., expected [0-9a-f]{12}... of dataset.json' "another tokenizer in the set's place is refused"
mv kept set/tokenizer.json
prep set day.tsv --append --tokenizer vocab.txt
like "$(cat set.log)" ': --append: found --tokenizer, but the set has its own, tokenizer.json$' "a tokenizer for a set that has one is refused"
prep set texts.tsv --test test.tsv --tokenizer vocab.txt --tokens-max 4 --replace
is "$(tokens train)" "tokens:[2,5,8,3] tokens:[2,9,6,3]" "--tokens-max cuts the text and keeps the special tokens"
prep none texts.tsv --tokenizer vocab.txt --tokens-max 2
like "$(cat none.log)" '^kiln: --tokens-max 2: the tokenizer gives each text 2 special tokens, expected more$' "a limit without room for a text"
prep none texts.tsv --tokenizer vocab.txt --ngrams 2
like "$(cat none.log)" 'found --tokenizer, which has its own vocabulary' "--ngrams is for a vocabulary that is made"
echo '{"model": {"type": "Unigram"}}' >other.json
prep none texts.tsv --tokenizer other.json
like "$(cat none.log)" '^kiln: --tokenizer "other.json": tokenizer.json: pre_tokenizer: found nothing, expected an object$' "a tokenizer that is not known"
