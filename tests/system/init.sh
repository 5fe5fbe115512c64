#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# kiln peek and kiln init: what they see in each kind of shards; a table from CSV to predictions, by the files that they write.
. "$(dirname "$0")/lib.sh"
kiln=$KILN_BIN/kiln
export PYTHONPATH=$PWD/config/examples
examples=$PWD/config/examples make_pictures=$KILN_BUILD/system/make_pictures
cd "$work" || exit 1

# ---- A table, from CSV to predictions ----

# Whether somebody buys depends on age, income and city; some values are missing.
python3 - <<'PY'
import csv, random
random.seed(7)
def row(i):
    age, income, city = random.randint(18, 80), round(random.gauss(3000, 800), 2), random.choice(["Zürich", "São Paulo", "東京", 'The "Hague"'])
    score = (age - 49) / 18 + (income - 3000) / 800 + (1.5 if city == "東京" else -0.5)
    return {"age": age if random.random() > 0.03 else "", "income": income, "city": city if random.random() > 0.03 else "",
            "note": f'he said "{i}",\nand left' if i % 5 == 0 else f"note {i}", "bought": "yes" if score > 0 else "no"}
with open("people.csv", "w", newline="", encoding="utf-8") as f:
    w = csv.DictWriter(f, row(0)); w.writeheader(); w.writerows(row(i) for i in range(4000))
PY
like "$("$kiln" init people.csv)" "kiln prep 'people.csv' --label 'bought' --output" "init of a CSV file: which kiln prep to call"
[ ! -e kiln.conf ]
ok $? "and writes nothing"
"$kiln" prep people.csv --label bought --missing income=stop --output "file://$work/shards" >prep.log 2>&1
ok $? "prep" "$(cat prep.log)"
"$kiln" init shards >init.log 2>&1
ok $? "init" "$(cat init.log)"
like "$(cat init.log)" '^  kiln run --config kiln.conf' "it says what to run next"
like "$(cat kiln.conf)" '# Not read: "note" \(no layer reads bytes\)' "and what the network does not read"
! "$kiln" init shards >twice.log 2>&1
ok $? "a second init is refused" 
like "$(cat twice.log)" 'kiln.conf: cannot write it: File exists' "and changes no file"
node story
"$kiln" check kiln.conf >check.log 2>&1
ok $? "kiln check accepts the file" "$(cat check.log)"
timeout 300 "$kiln" run --config kiln.conf >run.log 2>&1
ok $? "a night on it" "$(tail -n 5 run.log)"
accuracy=$("$kiln" report | sed -n 's/^test accuracy \([0-9]*\)[.0-9]* %.*/\1/p')
[ "${accuracy:-0}" -ge 85 ]
ok $? "it has learned" "$("$kiln" report 2>&1 | tail -n 20)"
run=$(ls runs | grep '^first-')
is "$("$kiln" predict "runs/$run" --split test 2>&1 | head -n 400 | python3 -c 'import json, sys
rows = [json.loads(line) for line in sys.stdin]
print(len(rows) > 300, sorted({r["label"] for r in rows}))')" "True ['no', 'yes']" "predictions have the names of the classes"
is "$(echo '{"age": [70], "income": [5000], "city": [4]}' | "$kiln" predict "runs/$run" --data - 2>&1 | python3 -c 'import json, sys; print(json.load(sys.stdin)["label"])')" \
	yes "and of a new row"
is "$(printf '%s\n' '{"age": 78, "income": 5000, "city": "東京", "note": "new"}' '{"age": "20", "income": 1000, "city": "Zürich"}' '{"age": null, "income": 9000}' \
	'{"age": 20, "income": 1000, "city": "Oslo", "bought": "yes"}' | "$kiln" predict "runs/$run" --data - 2>&1 |
	python3 -c 'import json, sys; print([json.loads(line)["label"] for line in sys.stdin])')" "['yes', 'no', 'yes', 'no']" \
	"new rows as the table had them: texts, missing values, columns that are not read"
printf '%s\n' '{"age": 78, "income": 5000, "city": "東京"}' '{"income": 900, "city": "The \"Hague\"", "note": true}' >new.jsonl
printf '\357\273\277more,city,income,age,note\r\n1,東京,5000,78,\r\n"a,b","The ""Hague""",900,,"two\nlines"\r\n' >new.csv
"$kiln" predict "runs/$run" new.csv >new.out 2>new.err
is "$(python3 -c 'import json; print([(r["line"], r["label"]) for r in map(json.loads, open("new.out"))])')" "[(2, 'yes'), (3, 'no')]" \
	"new rows of a CSV file: columns in another order, one that the table did not have" "$(cat new.err)"
gzip -k new.csv
without_line() { sed 's/"file":"[^"]*",//;s/"line":[0-9]*,//'; }
for input in new.csv.gz new.jsonl -; do
	is "$("$kiln" predict "runs/$run" --data "$input" <new.csv 2>&1 | without_line)" "$(without_line <new.out)" "the same rows from $input"
done
printf '\n{"age": 20, "income": 900, "city": "Zürich"}\r\n\r\n' >gaps.jsonl
is "$("$kiln" predict "runs/$run" new.csv gaps.jsonl 2>&1 | python3 -c 'import json, sys; print([(r["file"], r["line"], r["label"]) for r in map(json.loads, sys.stdin)])')" \
	"[('new.csv', 2, 'yes'), ('new.csv', 3, 'no'), ('gaps.jsonl', 2, 'no')]" "rows of two files, each with its name; empty lines are no rows"
printf '%s\n' '{"age": 20, "income": 900}' '{"age": "x", "income": 900}' >word.jsonl
like "$("$kiln" predict "runs/$run" new.csv word.jsonl 2>&1)" 'word.jsonl: line 2: "age": found "x", expected a number' "an error names the file"
like "$(echo '{"age": 20}' | "$kiln" predict "runs/$run" 2>&1)" 'standard input: line 1: "income": found nothing' "a row without a number that --missing stop demands is refused"
python3 -c 'print("{\"city\": \"" + "x" * 5000000 + "\"}")' >long.jsonl
like "$("$kiln" predict "runs/$run" long.jsonl 2>&1)" 'long.jsonl: line 1: found a row of more than 4194304 bytes' "a row without an end is refused"
printf 'age,city,age\n20,Ulm,900\n' >double.csv
like "$("$kiln" predict "runs/$run" double.csv 2>&1)" 'double.csv: line 1: column 3: found "age", which is there already' "a column that is there twice is named"
like "$(cut -d, -f1,4 new.csv | head -n 2 | "$kiln" predict "runs/$run" 2>&1)" 'standard input: found no column "income", "city", which the model reads' \
	"missing columns are named"
printf 'age,income,city\n20,900\n' >short.csv
like "$("$kiln" predict "runs/$run" short.csv 2>&1)" 'short.csv: line 2: found 2 values, expected 3' "a row with too few values is refused"
printf 'age,income,city\n20,900,Ulm\nx,900,Ulm\n' >word.csv
like "$("$kiln" predict "runs/$run" word.csv 2>&1)" 'line 3: "age": found "x", expected a number' "a word for a number is refused"
is "$("$kiln" evaluate "runs/$run" --data people.csv 2>&1 | sed -n 's/^rows *//p')" 4000 "kiln evaluate reads the rows of a table with labels"
like "$(echo '{"agee": 78}' | "$kiln" predict "runs/$run" --data - 2>&1)" 'found "agee", allowed: "age"' "an unknown column is refused"

# ---- Each kind of set has a configuration that is good ----

good() { # folder, name of the test, words that the file has, options of init
	local folder=$1 name=$2 words=$3
	shift 3
	rm -f some.conf
	"$kiln" init "$folder" --output some.conf "$@" >some.log 2>&1 && "$kiln" config check some.conf >>some.log 2>&1
	ok $? "$name: a good configuration" "$(cat some.log)"
	like "$(tr '\n' ' ' <some.conf)" "$words" "$name: the network"
	"$kiln" config check --data some.conf >some.log 2>&1
	ok $? "$name: it fits the records" "$(cat some.log)"
}
python3 -c 'import random
random.seed(1)
for i in range(600): print(("pos" if i % 2 else "neg") + "\tthe film was " + random.choice(["good", "fine"] if i % 2 else ["bad", "dull"]) + " indeed" * (i % 4))' >texts.tsv
"$kiln" prep texts.tsv --output "file://$work/vectors" --dims 32 >/dev/null 2>&1
good vectors "texts as vectors" 'input = "sentence".*loss = "categorical_crossentropy".*units = 2'
"$kiln" prep texts.tsv --output "file://$work/tokens" --tokens >/dev/null 2>&1
good tokens "texts as tokens" 'op = "embedding_bag"; input_dim = [0-9]+'
"$kiln" prep people.csv --label income --together --validation-percent 20 --output "file://$work/number" >/dev/null 2>&1
good number "a table with a number" 'by = "prefix".*loss = "mean_squared_error".*units = 1'
"$kiln" prep people.csv --label bought --drop age,income,note --output "file://$work/category" >/dev/null 2>&1
good category "a single category" 'input = "city".*op = "embedding"; input_dim = 5'
"$make_pictures" flowers 30 40 30 1 rose tulip
"$kiln" prep flowers --output "file://$work/pictures" >/dev/null 2>&1
good pictures "pictures" 'dtype = "picture"; shape = \[ 64, 64, 3 \].*op = "conv2d"'
# Shards of others have no dataset.json.
"$examples/packages.py" section >section.csv
"$examples/tfrecord.py" from-csv section.csv others --label section --per-shard 50 >/dev/null
rm -f others/dataset.json
good others "shards of others" 'name = "features"; dtype = "float32"; shape = \[ 11 \].*sparse_categorical_crossentropy'
good others "--label" 'label = "label"' --label label
! "$kiln" init others --output other.conf --label nothing >other.log 2>&1
ok $? "a label that is not there is refused"
like "$(cat other.log)" 'found no label nothing; --label names one of the features: features, label' "by name"
mkdir empty
like "$("$kiln" init empty)" "kiln prep 'empty' --output" "a folder without shards"

# ---- Peek ----

like "$("$kiln" peek others)" '^  features: float32, 11 values, [-0-9.e+]+ \.\. [-0-9.e+]+$' "peek: numbers"
like "$("$kiln" peek shards)" '^  bought: int64, 1 value, 0 \.\. 1; 0: [0-9.]+ %, 1: [0-9.]+ %$' "peek: class balance"
like "$("$kiln" peek tokens)" '^  tokens: int64, [0-9]+ \.\. [0-9]+ values, ' "peek: a ragged feature"
"$kiln" peek shards --all --json >peek.json
is "$(python3 - <<'PY'
import csv, json
peek = {f["name"]: f for f in json.load(open("peek.json"))["features"]}
rows = list(csv.DictReader(open("people.csv", newline="", encoding="utf-8")))
ages = [float(r["age"]) for r in rows if r["age"]]
buyers = sum(r["bought"] == "yes" for r in rows)
print(peek["age"]["min"] == min(ages), peek["age"]["max"] == max(ages), [c["records"] for c in peek["bought"]["classes"]] == [4000 - buyers, buyers])
PY
)" "True True True" "peek --all --json: ranges and classes of all records"
is "$("$kiln" peek shards/train-00000-of-*.gz --records 3 | python3 -c 'import json, sys; print([sorted(json.loads(l)) for l in sys.stdin])')" \
	"[['age', 'bought', 'city', 'income', 'note'], ['age', 'bought', 'city', 'income', 'note'], ['age', 'bought', 'city', 'income', 'note']]" "peek --records of one shard"
! "$kiln" peek empty >peek.log 2>&1
ok $? "peek: no shards"
like "$(cat peek.log)" 'empty: found no object whose name matches \*tfrecord\*' "which it says"
