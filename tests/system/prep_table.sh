#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# kiln prep of tables: CSV, TSV and JSON lines; types, missing values, splits, bad rows; the same shards whatever the memory.
. "$(dirname "$0")/lib.sh"
kiln=$KILN_BIN/kiln dump=$KILN_BUILD/system/dump_records
cd "$work" || exit 1
mkdir out

prep() { # folder below out/, arguments
	local out=$1
	shift
	"$kiln" prep "$@" --output "file://$work/out/$out" >"$work/$out.log" 2>&1
}

sums() { # folder below out/
	(cd "out/$1" && sha256sum train-* test-* validation-* 2>/dev/null)
}

same() { # folder, folder, name
	[ -n "$(sums "$1")" ] && [ "$(sums "$1")" = "$(sums "$2")" ]
	ok $? "$3" "$(cat "$2.log")"
}

refuses() { # name of the test, expected words, arguments
	local name=$1 words=$2
	shift 2
	! prep wrong "$@"
	ok $? "$name: refused"
	like "$(tail -n 1 wrong.log)" "$words" "$name: says so"
}

# ---- A table with all that RFC 4180 allows ----

cat >make.py <<'PY'
import csv, json, random, sys
random.seed(5)
cities = ["Zürich", "São Paulo", "東京", 'The "Hague"', "Köln, Nippes"]
def row(i):
    note = f'line one,\nline "two" of {i}' if i % 9 == 0 else f"note {i}"
    return {"id": i, "age": None if i % 11 == 3 else random.randint(18, 90), "income": round(random.gauss(3e3, 9e2), 2),
            "city": None if i % 13 == 5 else random.choice(cities), "note": note, "day": f"2026-{1 + i % 12:02}-{1 + i % 28:02}",
            "customer": f"c{random.randint(0, 400)}", "grade": random.choice(["good", "fair", "bad", "bad", "bad"])}
rows = [row(i) for i in range(3000)]
with open("a.csv", "w", newline="", encoding="utf-8") as f:
    w = csv.DictWriter(f, rows[0]); w.writeheader(); w.writerows(rows)
with open("a.tsv", "w", newline="\n", encoding="utf-8") as f:
    w = csv.DictWriter(f, rows[0], delimiter="\t", lineterminator="\n"); w.writeheader(); w.writerows(rows)
with open("a.jsonl", "w", encoding="utf-8") as f:
    for r in rows:
        print(json.dumps({k: v for k, v in r.items() if v is not None or random.random() < 0.5}, ensure_ascii=random.random() < 0.5), file=f)
PY
python3 make.py
prep csv a.csv --label grade --type id=int
ok $? "CSV" "$(cat csv.log)"
like "$(cat csv.log)" '^  age: float, 18 \.\. 90, 273 missing \(written as [0-9.]+\)$' "a column of numbers: its range and its missing values"
like "$(cat csv.log)" '^  city: category, 5 values, 231 missing$' "a column of texts"
like "$(cat csv.log)" '^  grade: label, category, 3 values$' "the label"
like "$(cat csv.log)" '^  \{ name = "income"; dtype = "float32"; shape = \[ 1 \]; \},$' "the lines for kiln.conf"

cat >check.py <<'PY'
# Compares the records of a folder with the rows of a.csv, as Python's csv module reads them. Prints what differs.
import csv, glob, json, struct, subprocess, sys
out, dump = sys.argv[1:]
rows = {int(r["id"]): r for r in csv.DictReader(open("a.csv", newline="", encoding="utf-8"))}
dataset = json.load(open(out + "/dataset.json"))
columns = {c["name"]: c for c in dataset["columns"]}
seen, trained = set(), []
for split in ("train", "test", "validation"):
    for shard in sorted(glob.glob(f"{out}/{split}-*")):
        for line in subprocess.run([dump, shard], capture_output=True, text=True, check=True).stdout.splitlines()[1:]:
            v = json.loads(line)["values"]
            i = v["id"][0]
            row = rows[i]
            seen.add(i)
            trained += [row] if split == "train" else []
            def f32(x): return struct.unpack("f", struct.pack("f", float(x)))[0]
            for name in ("age", "income"):
                expected, found = f32(row[name] or columns[name]["fill"]), struct.unpack("f", struct.pack("I", v[name][0]))[0]
                if found != expected: print(i, name, found, expected)
            city = ([""] + columns["city"]["values"])[v["city"][0]]
            if city != row["city"]: print(i, "city", city, row["city"])
            if dataset["classes"][v["grade"][0]] != row["grade"]: print(i, "grade", v["grade"])
if len(seen) != len(rows): print("rows", len(seen), len(rows))
mean = sum(float(r["age"]) for r in trained if r["age"]) / sum(1 for r in trained if r["age"])
if abs(columns["age"]["fill"] - mean) > 1e-9: print("fill is not the mean of the training rows", columns["age"]["fill"], mean)
if columns["city"]["values"] != sorted(columns["city"]["values"], key=str.encode): print("ids are not in order")
print("compared", len(seen), sum(dataset["records"].values()))
PY
is "$(python3 check.py out/csv "$dump" | tail -n 5)" "compared 3000 3000" "each record has the values of its row"
is "$(python3 -c 'import json; d = json.load(open("out/csv/dataset.json")); c = {x["name"]: x for x in d["columns"]}
print(d["classes"], c["age"]["min"], c["age"]["missing"], c["note"]["type"], c["customer"]["type"], c["id"]["type"])')" \
	"['bad', 'fair', 'good'] 18 273 bytes category int" "dataset.json: classes, ranges, types"

# ---- Other formats, the same rows ----

prep tsv a.tsv --label grade --type id=int
same csv tsv "TSV, with LF: the same shards"
gzip -k a.csv
prep gz a.csv.gz --label grade --type id=int
same csv gz "gzip"
if command -v zstd >/dev/null; then
	zstd -q a.csv
	prep zst a.csv.zst --label grade --type id=int
	same csv zst "zstd"
else
	skip "zstd" "no zstd(1)"
fi
{ printf '\357\273\277'; cat a.csv; } >mark.csv
prep mark mark.csv --label grade --type id=int
same csv mark "a byte order mark is no part of the first name"
prep input - --format csv --label grade --type id=int <a.csv
same csv input "standard input"
prep lines a.jsonl --label grade --type id=int
is "$(python3 check.py out/lines "$dump" | tail -n 5)" "compared 3000 3000" "JSON lines, some without all keys"
prep exec "exec:cat a.jsonl" --label grade --type id=int
same lines exec "what a program prints"
prep url "file://$work/a.csv" --label grade --type id=int
same csv url "a URL"
tail -n +2 a.csv >bare.csv
prep bare bare.csv --columns id,age,income,city,note,day,customer,grade --label grade --type id=int
same csv bare "--columns, without a header"

# ---- The same shards ----

prep one a.csv --label grade --type id=int --threads 1
same csv one "one thread"
for i in $(seq 1 60); do [ "$i" = 1 ] && cat a.csv || cat bare.csv; done >long.csv
prep long a.csv --label grade --type id=int --seed 45
[ "$(sums csv)" != "$(sums long)" ]
ok $? "another seed, another order"
prep wide long.csv --label grade --memory 4096
prep narrow long.csv --label grade --memory 64 --threads 3
same wide narrow "any memory, any number of threads"
"$kiln" prep long.csv --label grade --output "file://$work/out/narrow" --json >again.json 2>/dev/null
is "$(python3 -c 'import json; s = json.load(open("again.json")); print(s["kept"] == s["shards"], s["train"] + s["test"], s["bad_rows"])')" \
	"True 180000 0" "a second time: nothing is written twice"

# ---- Splits ----

split_of() { # folder, column: the values in both splits
	python3 - "out/$1" "$dump" "$2" <<'PY'
import csv, glob, json, subprocess, sys
out, dump, column = sys.argv[1:]
rows = {int(r["id"]): r for r in csv.DictReader(open("a.csv", newline="", encoding="utf-8"))}
values = {}
for split in ("train", "test", "validation"):
    for shard in glob.glob(f"{out}/{split}-*"):
        for line in subprocess.run([dump, shard], capture_output=True, text=True).stdout.splitlines()[1:]:
            values.setdefault(split, []).append(rows[json.loads(line)["values"]["id"][0]][column])
if column == "grade":
    print({s: {g: v.count(g) for g in sorted(set(v))} for s, v in sorted(values.items())})
elif column == "day":
    print(max(values["train"]) <= "2026-10-15" < min(values["test"]))
else:
    print(len(set(values["train"]) & set(values["test"])), sum(map(len, values.values())), 200 < len(values["test"]) < 450)
PY
}
prep by a.csv --label grade --type id=int --split-by customer
is "$(split_of by customer)" "0 3000 True" "--split-by: no customer in both splits"
prep after a.csv --label grade --type id=int --date day --test-after 2026-10-15
is "$(split_of after day)" "True" "--test-after"
prep strata a.csv --label grade --type id=int --stratify --test-percent 10 --validation-percent 20
is "$(split_of strata grade | python3 -c 'd = eval(input()); t = {g: sum(s[g] for s in d.values()) for g in d["train"]}
print(max(abs(d["test"][g] - t[g] * .1) for g in t) < 2, max(abs(d["validation"][g] - t[g] * .2) for g in t) < 2)')" "True True" "--stratify: equal shares of each label"
head -n 1 a.csv >test.csv
tail -n 40 bare.csv >>test.csv
prep given a.csv --label grade --test test.csv
like "$(cat given.log)" ' 3000 train and [0-9]+ test records' "--test INPUT"
prep less a.csv --label grade --drop id,note,day --hash customer
is "$(python3 -c 'import json; d = json.load(open("out/less/dataset.json")); c = {x["name"]: x for x in d["columns"]}
print([f["name"] for f in d["schema"]], c["note"]["type"], len(c["customer"]["values"][0]), "c17" in c["customer"]["values"])')" \
	"['age', 'income', 'city', 'customer', 'grade'] dropped 16 False" "--drop and --hash"
prep packed a.csv --label income --drop id,note,day --together --type grade=category
is "$(python3 -c 'import json; d = json.load(open("out/packed/dataset.json")); print([(f["name"], f["shape"]) for f in d["schema"]], d["classes"])')" \
	"[('numbers', [1]), ('income', [1]), ('city', [1]), ('customer', [1]), ('grade', [1])] []" "--together"
prep filled a.csv --label grade --missing 0,age=-1 --drop note
like "$(cat filled.log)" 'age: float, 18 .. 90, 273 missing \(written as -1\)' "--missing COLUMN=NUMBER"
sed 's/,,/,?,/' a.csv >query.csv
prep null query.csv --label grade --type id=int --null '?,none'
same csv null "--null"
is "$(python3 -c 'import json; print(json.load(open("out/null/dataset.json"))["null"])')" "['?', 'none']" "dataset.json: the texts of --null"

# ---- More rows each day, with the features of the first set ----

# The second day has a city and a note that the first one does not have, and its columns are in another order.
(head -n 1 a.csv; printf '%s\n' 1,20,100,Bonn,n1,2026-01-01,c1,bad 2,,200,Ulm,n2,2026-01-02,c2,good 3,40,300,Ulm,n3,2026-01-03,c1,bad 4,30,400,Bonn,n4,2026-01-04,c2,good) >day1.csv
printf '%s\n' grade,city,age,income,id,note,day,customer good,Ulm,,9,5,n,2026-01-01,c2 bad,Oslo,77,8,6,m,2026-01-09,c9 >day2.csv
daily() { prep days "$@" --label grade --type id=int,city=category,customer=category,note=bytes --drop day --missing age=mean,income=stop --test-percent 0 --append; }
daily day1.csv
ok $? "--append into an empty folder" "$(cat days.log)"
cp out/days/dataset.json days.json
daily day2.csv
ok $? "--append of a second day" "$(cat days.log)"
is "$(for shard in out/days/train-*; do "$dump" "$shard" | tail -n +2; done | python3 -c 'import json, struct, sys
for v in sorted((json.loads(line)["values"] for line in sys.stdin), key=lambda v: v["id"]):
    print(v["id"], struct.unpack("f", struct.pack("I", v["age"][0]))[0], v["city"], v["customer"], v["grade"])' | tail -n 2)" \
	"[5] 30.0 [2] [2] [1]
[6] 77.0 [0] [0] [0]" "ids, mean and classes are those of the first set; a new text is 0"
is "$(python3 -c 'import json; a, b = json.load(open("days.json")), json.load(open("out/days/dataset.json"))
print(a["columns"] == b["columns"], a["classes"] == b["classes"], b["records"]["train"], len(b["sets"]))')" "True True 6 1" "dataset.json keeps what was fitted"
daily day2.csv
like "$(tail -n 30 days.log)" '[1-9] already there' "the same day a second time adds nothing"
daily day1.csv
like "$(cat days.log)" 'has exactly these records: nothing to add' "nor does the first set"
no_append() { # words, rows of a day with a header
	printf '%s\n' "${@:2}" >day3.csv
	! daily day3.csv
	ok $? "--append: refused: $1"
	like "$(tail -n 1 days.log)" "$1" "which it says"
}
no_append 'found no column "city", which the first set has' age,income,id,note,customer,grade 1,2,3,n,c1,bad
no_append 'found the column "size", which the first set does not have' age,income,id,note,customer,grade,city,size 1,2,3,n,c1,bad,Ulm,9
no_append 'found "best", which is no class of the first set' age,income,id,note,customer,grade,city 1,2,3,n,c1,best,Ulm
no_append 'found a text of 3 bytes, the feature of the first set holds 2' age,income,id,note,customer,grade,city 1,2,3,n10,c1,bad,Ulm
no_append 'line 2, column "age": found "old", expected a number' age,income,id,note,customer,grade,city old,2,3,n,c1,bad,Ulm
no_append 'line 2, column "income": found no value, expected a value, as --missing stop says' age,income,id,note,customer,grade,city 1,,3,n,c1,bad,Ulm
prep packed day1.csv --label grade --together --append >/dev/null
like "$(cat packed.log)" 'found --label grade, but the first set has the label "income"' "--append with another label"

# ---- Bad input ----

printf 'a,b\n1,2\n3\n4,5\n"6,7"x,8\n9,10\n' >bad.csv
refuses "too few values" 'bad.csv: line 3: found 1 values, expected 2' bad.csv
prep skip bad.csv --bad-rows skip --test-percent 0
like "$(cat skip.log)" '^left out: bad.csv: line 5: found a quote' "--bad-rows skip names each"
like "$(cat skip.log)" '^2 bad rows left out' "--bad-rows skip counts them" 
like "$(cat skip.log)" ' 3 train and 0 test records' "--bad-rows skip keeps the others"
printf 'a,b\n1,2\nx,3\n' >word.csv
refuses "a word for a number" 'word.csv: line 3, column "a": found "x", expected a number' word.csv --type a=float
printf 'a,b\n1,"two\nlines"\n2,\377\n' >latin.csv
refuses "bytes that are not UTF-8" 'latin.csv: line 4, column "b": found .*, expected UTF-8' latin.csv
printf '{"a":1}\n{"a":2}\n{"a":}\n' >bad.jsonl
refuses "invalid JSON" 'bad.jsonl: line 3: not JSON at byte' bad.jsonl
printf '{"a":1}\n{"a":[1]}\n' >list.jsonl
refuses "a list" 'list.jsonl: line 2, key "a": found a list' list.jsonl
printf 'a,b\n1,"open\n2,3\n' >open.csv
refuses "a quote that is not closed" 'open.csv: line 2: found no quote that closes a value' open.csv
printf 'a,y\n1,b\n2,\n' >gap.csv
refuses "a row without label" 'gap.csv: line 3, column "y": found no value, expected a label' gap.csv --label y
refuses "an unknown column" '"z", which is no column of a.csv; its columns are id, age' a.csv --label z
refuses "a program that fails" 'the program ended with exit status 3' 'exec:echo "{\"a\":1}"; exit 3'
head -c 20000 a.csv.gz >cut.csv.gz
refuses "gzip that is cut" 'cut.csv.gz: cannot read it' cut.csv.gz
refuses "an option for tables" 'found --split-by, which is an option for tables' a.tsv --split-by customer
