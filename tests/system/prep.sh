#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# kiln prep: inputs, shards and the files beside them, the same bytes whatever happens, users' encoders, bad input.
. "$(dirname "$0")/lib.sh"
kiln=$KILN_BIN/kiln dump=$KILN_BUILD/system/dump_records plain_s3=$PWD/tests/system/plain_s3.py
cd "$work" || exit 1
mkdir out

# Reviews in which one word decides the mood; some have quotes, backslashes, other scripts, or no text.
reviews() { # rows, seed
	awk -v rows="$1" -v seed="$2" 'BEGIN {
		srand(seed); split("grand warm fine lovely", good, " "); split("dull cold grim awful", bad, " ")
		split("film story actor scene caf\303\251 \346\230\240\347\224\273 \"plot\" c:\\dir", thing, " ")
		for (i = 0; i < rows; i++) {
			pos = i % 2
			print (pos ? "pos" : "neg") "\t" (i == 7 ? "" : "the " thing[1 + int(rand() * 8)] " was " \
				(pos ? good[1 + int(rand() * 4)] : bad[1 + int(rand() * 4)]) " in part " int(rand() * 90))
		}
	}'
}

prep() { # folder below out/, arguments
	local out=$1
	shift
	"$kiln" prep "$@" --output "file://$work/out/$out" >"$work/$out.log" 2>&1
}

# Checksums of all files except manifest.jsonl, whose ETags come from the store.
sums() { # folder below out/
	(cd "out/$1" && sha256sum $(ls -A | grep -v manifest.jsonl))
}

names() { # folder below out/
	ls -A "out/$1" | xargs
}

same() { # folder, folder, name
	[ -n "$(sums "$1")" ] && [ "$(sums "$1")" = "$(sums "$2")" ]
	ok $? "$3" "$(diff <(sums "$1") <(sums "$2"))"
}

reviews 1250 1 >train.tsv
reviews 130 2 >test.tsv
gzip -k train.tsv test.tsv

# ---- Output ----

prep first train.tsv --test test.tsv
ok $? "label<TAB>text" "$(cat first.log)"
is "$(names first)" "dataset.json encoder.bin manifest.jsonl test-00000-of-00001.tfrecord.gz train-00000-of-00003.tfrecord.gz \
train-00001-of-00003.tfrecord.gz train-00002-of-00003.tfrecord.gz" "500 a shard, and three files beside them"
python3 - out/first "$dump" train.tsv test.tsv >first.said <<'PY'
import collections, hashlib, json, os, subprocess, sys
out, dump, *inputs = sys.argv[1:]
n = 0
def say(found, expected, what):
    print("same" if found == expected else f"{found} is not {expected}", what, sep="\t")
def file(name):
    with open(os.path.join(out, name), "rb") as f:
        return f.read()
rows = {s: [line.split("\t", 1) for line in open(i, encoding="utf-8").read().splitlines()] for s, i in zip(("train", "test"), inputs)}
manifest = [json.loads(line) for line in file("manifest.jsonl").splitlines()]
shards = [m["key"] for m in manifest]
say(sorted(shards), sorted(f for f in os.listdir(out) if "tfrecord" in f), "manifest.jsonl: every shard, no other")
say([(m["size"], m["sha256"]) for m in manifest], [(len(file(k)), hashlib.sha256(file(k)).hexdigest()) for k in shards],
    "manifest.jsonl: sizes and SHA-256")
say([m["records"] for m in manifest], [500, 500, 250, 130], "manifest.jsonl: records")
say([set(m) for m in manifest], [{"key", "size", "etag", "sha256", "records"}] * 4, "manifest.jsonl: its fields")
dataset = json.loads(file("dataset.json"))
say(dataset["schema"], [{"name": "sentence", "dtype": "float32", "shape": [512]}, {"name": "label", "dtype": "int64", "shape": [2]}],
    "dataset.json: the schema")
say((dataset["records"], dataset["classes"], dataset["seed"], dataset["version"]), ({"train": 1250, "test": 130}, ["neg", "pos"], 44, 1),
    "dataset.json: counts, classes, seed")
say(dataset["encoder"], {"key": "encoder.bin", "id": hashlib.sha256(file("encoder.bin")).hexdigest()}, "dataset.json: the encoder's id")
labels, lengths, compression = collections.defaultdict(list), set(), set()
for shard in manifest:
    lines = subprocess.run([dump, os.path.join(out, shard["key"])], capture_output=True, text=True).stdout.splitlines()
    head, *records = map(json.loads, lines)
    compression.add(head["compression"])
    say(len(records), shard["records"], shard["key"] + ": as many records as the manifest says")
    for record in records:
        say_names = list(record["values"])
        lengths.add((tuple(say_names), len(record["values"]["sentence"])))
        labels[shard["key"].split("-")[0]].append(tuple(record["values"]["label"]))
say((compression, lengths), ({"gzip"}, {(("sentence", "label"), 512)}), "each record: sentence of 512 floats, label; in gzip")
for split in rows:
    say(collections.Counter(labels[split]), collections.Counter({(1, 0): len(rows[split]) // 2, (0, 1): len(rows[split]) // 2}),
        split + ": one-hot labels, as many of each as in the input")
say(len(set(tuple(labels["train"][i:i + 8]) for i in range(0, 1200, 8))) > 50, True, "labels are mixed")
PY
while IFS=$'\t' read -r found what; do
	is "$found" same "$what"
done <first.said
[ "$(wc -l <first.said)" = 15 ]
ok $? "Python has checked all of this" "$(cat first.said)"
like "$(cat first.log)" '^shards 4/4$' "not on a terminal: plain lines"
if command -v script >/dev/null; then
	like "$(script -qec "'$kiln' prep train.tsv --output file://$work/out/terminal" /dev/null)" '\[#+\] 4/4' "on a terminal: a bar"
else
	skip "on a terminal: a bar" "no script(1)"
fi
"$kiln" prep train.tsv --test test.tsv --output "file://$work/out/a \"quoted\" place" --json >summary.json 2>/dev/null
is "$(python3 -c 'import json, os
s = json.load(open("summary.json"))
place = s["url"][7:]
print(os.path.basename(place), s["shards"], s["kept"], s["train"], s["test"], s["seconds"] >= 0,
      s["bytes"] == sum(os.path.getsize(os.path.join(place, f)) for f in os.listdir(place) if "tfrecord" in f))')" \
	'a "quoted" place 4 0 1250 130 True True' "--json: the summary, whatever the place is called"

# ---- The same bytes ----

prep gz train.tsv.gz --test test.tsv.gz
same first gz "gzip or not"
sort -r train.tsv >shuffled.tsv
prep sorted shuffled.tsv --test test.tsv
same first sorted "whatever order the lines had"
for threads in 1 2 5; do
	prep "threads$threads" train.tsv --test test.tsv --threads $threads
	same first "threads$threads" "on $threads threads"
done
core=$(taskset -pc $$ | sed 's/.*: //;s/[,-].*//')
taskset -c "$core" "$kiln" prep train.tsv --test test.tsv --output "file://$work/out/one_core" >/dev/null 2>&1
same first one_core "on one core"
prep again train.tsv --test test.tsv --seed 44
same first again "the same seed again"
prep seeded train.tsv --test test.tsv --seed 45
[ "$(sums first | grep train-00000)" != "$(sums seeded | grep train-00000)" ]
ok $? "another seed, another order"
prep gz train.tsv.gz --test test.tsv.gz
like "$(cat gz.log)" '4 shards \(4 already there\)' "again into the same place: nothing is sent twice"

awk -F'\t' -v OFS='\t' '{ print ($1 == "pos" ? "neg" : "pos"), $2 }' test.tsv >flipped.tsv
prep flipped train.tsv --test flipped.tsv
is "$(sums flipped | grep -vE ' test-| dataset')" "$(sums first | grep -vE ' test-| dataset')" "test labels turned round: encoder and train shards are the same"
[ "$(sums flipped | grep ' test-')" != "$(sums first | grep ' test-')" ]
ok $? "and the test shard is another"

# ---- A byte order mark ----

{ printf '\357\273\277'; cat train.tsv; } >mark.tsv
prep mark mark.tsv --test test.tsv
same first mark "the mark of a file from Windows is no part of the first label"

# ---- Sizes ----

prep small train.tsv --test test.tsv --records-per-shard 100
is "$(ls out/small | grep -c '^train-.*-of-00013.tfrecord.gz$') $(ls out/small | grep -c '^test-.*-of-00002')" "13 2" "--records-per-shard 100"
prep sized train.tsv --test test.tsv --shard-bytes 200000
is "$(zcat out/sized/train-00000-of-*.gz | wc -c | awk '{ print ($1 <= 200000 && $1 > 180000) }')" 1 "--shard-bytes: just below the size asked for" \
	"$(names sized)"
is "$(for f in out/sized/train-*; do "$dump" "$f" | grep sentence; done | wc -l)" 1250 "and no record is lost"
prep held train.tsv --test-percent 20 --records-per-shard 1000
is "$(grep -o '"records":[0-9]*' out/held/manifest.jsonl | xargs)" "records:1000 records:250" "--test-percent 20 holds out a fifth"

# ---- The layout of the Large Movie Review Dataset ----

for split in train test; do
	mkdir -p aclImdb/$split/{pos,neg}
	while IFS=$'\t' read -r label text; do
		i=$((${i:-0} + 1))
		printf '%s' "$text" >"aclImdb/$split/$label/${i}_5.txt"
	done < <(head -n 160 $split.tsv)
	head -n 160 $split.tsv >imdb_$split.tsv
done
mkdir aclImdb/train/unsup
echo "nobody said what this is" | tee aclImdb/train/unsup/0_0.txt aclImdb/README aclImdb/train/urls_unsup.txt >/dev/null
tar -czf imdb.tar.gz aclImdb
tar -cf imdb.tar aclImdb
prep lines imdb_train.tsv --test imdb_test.tsv
prep tar imdb.tar.gz
ok $? "aclImdb as a tar.gz" "$(cat tar.log)"
same lines tar "the same bytes as from lines; unsup and README are left out"
prep bare imdb.tar
same lines bare "a tar without gzip"
prep object "file://$work/imdb.tar.gz"
same lines object "an object in a store"
mkdir folder && cp imdb.tar.gz folder/aclImdb_v1.tar.gz
prep folder folder
same lines folder "a folder with aclImdb_v1.tar.gz"
mkdir lines && cp imdb_train.tsv lines/train.tsv && gzip -c imdb_test.tsv >lines/test.tsv.gz
prep folder2 lines
same lines folder2 "a folder with train.tsv and test.tsv.gz"
mkdir my.target.tgz && cp imdb_train.tsv my.target.tgz/a.tar.tsv
prep tarlike my.target.tgz/a.tar.tsv --test imdb_test.tsv
same lines tarlike "lines, whatever their folder is called"
# libarchive knows an lrzip file by its first bytes, and starts lrzip to read it.
mkdir programs && printf '#!/bin/sh\ntouch %s/started\n' "$work" >programs/lrzip && chmod +x programs/lrzip
printf 'LRZI\0\06%058d' 0 >evil.tar
PATH=$PWD/programs:$PATH prep evil evil.tar
like "$? $(tail -n 1 evil.log)" '^1 kiln: evil.tar: expected a tar, compressed or not' "a file of lrzip is no tar"
[ ! -e started ]
ok $? "no file chooses a program to start"
cp imdb.tar.gz imdb.tgz && xz -k imdb.tar
for form in tgz tar.xz; do
	prep "form$form" imdb.$form
	same lines "form$form" "aclImdb as a $form"
done

# ---- Killed ----

killed() { # mode 0: killed in the middle, when shards exist and no manifest does
	rm -rf out/killed
	"$kiln" prep train.tsv --test test.tsv --records-per-shard 5 --output "file://$work/out/killed" >/dev/null 2>&1 &
	wait_for 20 test -e "out/killed/train-$(printf %05d "$1")-of-00250.tfrecord.gz"
	kill -KILL $! 2>/dev/null
	wait $! 2>/dev/null
	[ ! -e out/killed/manifest.jsonl ]
}

prep whole train.tsv --test test.tsv --records-per-shard 5
for shard in 10 60 150; do
	hit=1
	for _ in 1 2 3 4 5 6 7 8 9 10; do
		killed $shard && hit=0 && break
	done
	ok $hit "kill -9 after shard $shard: no manifest"
	is "$(ls out/killed | grep -c '^prep\.incomplete$')" 1 "but prep.incomplete"
	prep killed train.tsv --test test.tsv --records-per-shard 5
	same whole killed "run again: the same bytes, nothing more"
	like "$(cat killed.log)" "276 shards \([1-9][0-9]* already there\)" "and uses the shards that were there"
done
prep killed train.tsv --test test.tsv
same first killed "another set in the same place leaves nothing of the first"
is "$(names killed)" "$(names first)" "the names of shards are the same"
killed_over() { # kiln prep killed while it overwrites another set
	"$kiln" prep train.tsv --test test.tsv --records-per-shard 5 --output "file://$work/out/killed" >/dev/null 2>&1 &
	wait_for 20 test -e out/killed/train-00010-of-00250.tfrecord.gz
	kill -KILL $! 2>/dev/null
	wait $! 2>/dev/null
	[ -e out/killed/prep.incomplete ]
}
hit=1
for _ in 1 2 3 4 5; do
	killed_over && hit=0 && break
	prep killed train.tsv --test test.tsv
done
ok $hit "kill -9 over a set that was whole"
node mixed
echo "source: { url = \"file://$work/out/killed\"; }; sink: { url = \"file://$work/runs\"; };" >mixed.conf
said=$("$KILN_BIN/kiln-oneshot" begin --config mixed.conf 2>&1)
like "$? $said" "^65 .*file://$work/out/killed/prep\.incomplete: kiln prep did not finish here; run it again" "no run begins with the mixture"
prep killed train.tsv --test test.tsv
is "$(names killed)" "$(names first)" "run again: the set is whole"
"$KILN_BIN/kiln-oneshot" begin --config mixed.conf >begun 2>&1
ok $? "and a run begins" "$(cat begun)"

# ---- An existing set ----

for file in train-00000-of-00002.tfrecord.gz.old train-1-of-2.tfrecord.gz train-x-of-y.tfrecord.gz test-00000-of-+0001.tfrecord.gz \
	train-a-of-b/part-1-of-2.tfrecord.gz train-000000-of-00003.tfrecord.gz train-0123456g-00000-of-00003.tfrecord.gz part-1.tfrecord; do
	rm -rf out/mine
	mkdir -p out/mine/train-a-of-b
	echo mine >"out/mine/$file"
	prep mine train.tsv --test test.tsv --replace
	like "$? $(cat mine.log)" "^1 kiln: file://$work/out/mine: found ${file//[+]/[+]}, which kiln prep did not write" "beside $file: refused"
	is "$(cd out/mine && find . -type f)" "./$file" "and nothing is written"
done
rm -rf out/mine && mkdir out/mine && echo mine >out/mine/notes.txt
prep mine train.tsv --test test.tsv
ok $? "beside a file that no run reads" "$(cat mine.log)"
prep mine train.tsv --test test.tsv --records-per-shard 100
is "$? $(cat out/mine/notes.txt)" "0 mine" "it stays when kiln prep removes its own shards"
is "$(ls out/mine | grep -c 'of-00003\.\|of-00001')" 0 "which go"
mkdir out/foreign
echo mine >out/foreign/train-00000-of-00001.tfrecord.gz
prep foreign train.tsv --test test.tsv
like "$? $(cat foreign.log)" "^1 kiln: file://$work/out/foreign: found train-00000-of-00001\.tfrecord\.gz, but no dataset\.json or manifest\.jsonl" \
	"a shard that it did not write: refused before any work"
is "$(names foreign) $(cat out/foreign/*)" "train-00000-of-00001.tfrecord.gz mine" "and nothing is touched"
for mark in dataset.json manifest.jsonl prep.incomplete; do
	: >out/foreign/$mark
	prep foreign train.tsv --test test.tsv --records-per-shard 400
	is "$?" "$([ $mark = prep.incomplete ] && echo 0 || echo 1)" "a set with $mark is kiln prep's, and another one unless it is unfinished"
	prep foreign train.tsv --test test.tsv --records-per-shard 400 --replace
	ok $? "and is replaced" "$(cat foreign.log)"
	rm out/foreign/*.json* out/foreign/encoder.bin
done

# ---- The patterns of --config ----

globs() { # train_glob, test_glob
	cat >globs.conf <<-CONF
		source: { url = "file://$work/out/globs"; };
		sink: { url = "file://$work/out/runs"; };
		split: { train_glob = "$1"; test_glob = "$2"; };
		schema = ( { name = "sentence"; dtype = "float32"; shape = [ 512 ]; }, { name = "label"; dtype = "int64"; shape = [ 2 ]; } );
		model: { layers = ( { op = "dense"; units = 2; }, { op = "softmax"; } ); };
	CONF
	"$kiln" prep train.tsv --test test.tsv --config globs.conf >globs.log 2>&1
}
mkdir out/globs && echo mine >out/globs/data-1
globs 't*' '*-1'
like "$? $(cat globs.log)" 'split.test_glob: found "\*-1", which does not match .* such as test-00000-of-00001.tfrecord.gz' "one that no new shard matches"
globs '*' 'test-*'
like "$? $(cat globs.log)" "^1 kiln: file://$work/out/globs: found data-1, which kiln prep did not write" "one that matches a foreign object, too: refused"
is "$(ls out/globs)" data-1 "and nothing is written"
rm out/globs/data-1
globs '*' 'test-*'
globs '*' 'test-*'
like "$? $(cat globs.log)" '4 already there' "the files of kiln prep itself are not foreign"
globs 'part-*' 'test-*'
like "$? $(cat globs.log)" '^1 kiln: globs.conf: split.train_glob: found "part-\*", which does not match' "no run would read the shards"

# ---- Two at a time ----

printf '#!/bin/sh\nuntil [ -e go ]; do sleep 0.05; done\nexec awk "{ print 1, NR %% 7 }"\n' >slow
chmod +x slow
prep busy train.tsv --test test.tsv --dims 2 --encoder "exec:$work/slow" &
slow=$!
wait_for 20 test -d out/busy
"$kiln" prep test.tsv --output "file://$work/out/busy" --append >other.log 2>&1
like "$? $(cat other.log)" "^1 kiln: $work/out/busy: another kiln prep writes here: run this one when it has ended" "a second kiln prep in the same folder is refused"
touch go
wait $slow
is "$? $(ls out/busy | grep -c tfrecord)" "0 4" "the first one goes on"
"$kiln" prep train.tsv --test test.tsv --records-per-shard 1 --output "file://$work/out/shared" >shared.log 2>&1 &
slow=$!
wait_for 20 test -e out/shared/prep.incomplete
kill -STOP $slow
echo another >out/shared/prep.incomplete
kill -CONT $slow
wait $slow
like "$? $(tail -n 1 shared.log)" "^1 kiln: file://$work/out/shared: another kiln prep began to write here at the same time" \
	"one on another machine is noticed before the set is called complete"
is "$(cat out/shared/prep.incomplete) $(ls out/shared | grep -c json)" "another 0" "its mark stays"

# ---- Another set ----

reviews 1250 3 >later.tsv
another() { # exit status, regular expression, name, arguments
	local code=$1 said=$2 name=$3
	shift 3
	prep sets "$@"
	like "$? $(tail -n 1 sets.log)" "^$code kiln: file://$work/out/sets: $said" "$name"
	is "$(sums sets)" "$before" "and nothing is touched"
}
prep sets train.tsv --test test.tsv
before=$(sums sets)
another 1 'found another set \(1250 training records, feature "sentence"; now 1250, "sentence"\): --replace removes it, --append adds' \
	"other records: refused without an option" later.tsv --test test.tsv
another 1 'found another set .* now 1250, "tokens"\): --replace removes it, and --append takes only records with the schema of the set' "records of another kind: refused" train.tsv --test test.tsv --tokens
prep sets train.tsv --test test.tsv
like "$? $(cat sets.log)" '4 shards \(4 already there\)' "the same records: no option is needed"
like "$("$kiln" prep train.tsv --output "file://$work/out/sets" --append --replace 2>&1; echo "exit $?")" "one of --append and --replace" "not both options"
prep sets later.tsv --test test.tsv --replace
ok $? "--replace" "$(cat sets.log)"
prep later later.tsv --test test.tsv
same later sets "leaves nothing of the set before"

# ---- A further set ----

added() { # prints the sets of dataset.json
	python3 -c 'import json, sys; d = json.load(open(sys.argv[1])); print(d["records"], *d.get("sets", {}).values())' "out/$1/dataset.json"
}
keys() { # manifest: the keys that it has
	python3 -c 'import json, sys; print(*sorted(json.loads(line)["key"] for line in open(sys.argv[1])), sep="\n")' "$1"
}
prep added train.tsv --test test.tsv --append
ok $? "--append where there is nothing" "$(cat added.log)"
same first added "makes the first set"
sums added | grep -v dataset.json >added.before
head -n 600 later.tsv | sed 's/grand/gold/' >day.tsv
prep added day.tsv --append
ok $? "--append" "$(cat added.log)"
is "$(sums added | grep -c .) $(sums added | comm -12 <(sort added.before) <(sums added | sort) | wc -l)" \
	"$(($(wc -l <added.before) + 5)) $(wc -l <added.before)" "adds shards and a manifest, and leaves the files that are there"
is "$(added added)" "{'train': 1790, 'test': 190} {'train': 540, 'test': 60}" "dataset.json counts the records of both"
is "$(keys out/added/manifest.jsonl)" "$(cd out/added && ls ./*.tfrecord.gz | sed 's,^./,,' | sort)" "manifest.jsonl has the shards of both"
is "$(keys out/added/manifest-*.jsonl)" "$(ls out/added | grep -E -- '-[0-9a-f]{8}-[0-9]{5}-of-' | sort)" "the added set has a manifest of its own"
after=$(sums added)
prep added day.tsv --append
like "$? $(cat added.log)" '3 shards \(3 already there\)' "once more: the same set"
is "$(sums added) $(added added)" "$after {'train': 1790, 'test': 190} {'train': 540, 'test': 60}" "and no further one"
prep added train.tsv --test test.tsv --append
like "$? $(cat added.log)" "^0 .*exactly these records: nothing to add" "the records of the first set: nothing to add"
is "$(sums added)" "$after" "and nothing is touched"
before=$after
refuses() { # regular expression, name, arguments
	local said=$1 name=$2
	shift 2
	prep added "$@" --append
	like "$? $(tail -n 1 added.log)" "^1 kiln: $said" "$name"
	is "$(sums added)" "$before" "and nothing is touched"
}
printf 'odd\ta text\n' >odd.tsv
refuses 'odd.tsv: the label "odd" is not one of the 2 classes of the set' "a label that the set does not have" odd.tsv
refuses 'day.tsv: --append: found tokens of texts .*, whose feature is "tokens", but the set has the feature "sentence"' "records of another kind" day.tsv --tokens
refuses "file://$work/out/added: --append: found --encoder, but the set has its own" "an encoder of its own" day.tsv --encoder out/first/encoder.bin
mv out/added/manifest.jsonl manifest.kept
truncate -s $(((256 << 20) + 1)) out/added/manifest.jsonl
before=$(sums added)
head -n 700 later.tsv >later_day.tsv
refuses "file://$work/out/added: --append: manifest.jsonl has 268435457 bytes, of which a run reads at most 268435456" "a manifest that no run reads" later_day.tsv
mv manifest.kept out/added/manifest.jsonl
prep added train.tsv --test test.tsv
like "$? $(tail -n 1 added.log)" "^1 .*found another set, with added sets" "without an option the added sets are not removed"
for attempt in 1 2 3 4 5 6 7 8 9 10; do
	prep torn train.tsv --test test.tsv
	"$kiln" prep day.tsv --append --records-per-shard 5 --output "file://$work/out/torn" >/dev/null 2>&1 &
	wait_for 20 eval 'ls out/torn | grep -q -- "-00040-of-00108"'
	kill -KILL $! 2>/dev/null
	wait $! 2>/dev/null
	[ -e out/torn/prep.incomplete ] && break
	rm -rf out/torn
done
cp out/torn/prep.incomplete mark
is "$(ls out/torn | grep -c '^prep\.incomplete$') $(keys out/torn/manifest.jsonl | wc -l)" "1 4" "kill -9 while a set is added: marked, and the manifest of the first set is there"
sed 's/gold/fine/' day.tsv >other.tsv
prep torn other.tsv --append
is "$? $(keys out/torn/manifest.jsonl)" "0 $(cd out/torn && ls ./*.tfrecord.gz | sed 's,^./,,' | sort)" "another set is added: nothing of the killed one stays"
prep torn day.tsv --append
is "$? $(added torn)" "0 {'train': 2330, 'test': 250} {'train': 540, 'test': 60} {'train': 540, 'test': 60}" "then that one, too"
prep torn train.tsv --test test.tsv --replace
same first torn "--replace removes the added sets, too"
# A kiln prep --append that is killed while it writes its last files leaves some of them as they were before.
prep whole train.tsv --test test.tsv
cp -r out/whole before
prep whole day.tsv --append
for older in 'manifest.jsonl dataset.json' dataset.json ''; do
	rm -rf out/between
	cp -r out/whole out/between
	[ -z "$older" ] || (cd before && cp $older ../out/between)
	cp mark out/between/prep.incomplete
	prep between other.tsv --append
	is "$? $(keys out/between/manifest.jsonl)" "0 $(cd out/between && ls ./*.tfrecord.gz | sed 's,^./,,' | sort)" \
		"killed when ${older:-nothing} was left to write: another set is added, and manifest.jsonl has the shards that are there"
	is "$(python3 -c 'import json, sys; print(sum(json.loads(line)["records"] for line in open(sys.argv[1])))' out/between/manifest.jsonl)" \
		"$(python3 -c 'import json, sys; print(sum(json.load(open(sys.argv[1]))["records"].values()))' out/between/dataset.json)" \
		"and dataset.json counts their records"
done
prep words train.tsv --test test.tsv --tokens --vocabulary 50
prep words day.tsv --append --tokens
ok $? "tokens are added with the vocabulary of the set" "$(cat words.log)"
is "$(grep -c 'are cut off' words.log)" 0 "none is longer than the set's longest"
sed 's/$/ and this is a longer end of the text than all others have/' day.tsv >long.tsv
prep words long.tsv --append --tokens
like "$? $(tr '\n' ' ' <words.log)" '^0 .*600 of 600 texts have more than [0-9]+ tokens, the values_max of the set: their further tokens are cut off' "longer ones are cut off, and that is said"
is "$(for shard in out/words/train-*; do "$dump" "$shard"; done | grep -o '"tokens":\[[^]]*\]' | tr -dc '0-9,\n' | tr , '\n' | sort -n | tail -n 1)" 49 \
	"no token is beyond it"

# ---- Groups ----

# 40 authors, of whom the first wrote 200 of 1000 texts; each text names its author.
awk 'BEGIN { for (i = 0; i < 1000; i++) {
	author = i % 5 ? 1 + i % 39 : 0
	print (i % 2 ? "pos" : "neg") "\tauthor" author "\ttext " i " of by" author (i % 3 ? " more" : "")
} }' >authors.tsv
prep authors authors.tsv --group 2 --tokens --records-per-shard 30 --test-percent 0
ok $? "--group" "$(cat authors.log)"
authors_of() { # folder, shard: prints the shard, its number of records and the authors of which the vocabulary knows
	"$dump" "$2" | python3 -c '
import json, sys
words = open(sys.argv[1]).read().split("\n")
records = [json.loads(line)["values"]["tokens"] for line in sys.stdin.read().splitlines()[1:]]
print(sys.argv[2], len(records), *sorted({words[t] for r in records for t in r if words[t].startswith("by")}))
' "out/$1/vocabulary.txt" "$(basename "$2")"
}
for shard in out/authors/t*; do
	authors_of authors "$shard"
done >authors.shards
is "$(cut -d' ' -f3- authors.shards | tr ' ' '\n' | sort | uniq -d)" "" "no author is in two shards" "$(cat authors.shards)"
is "$(cut -d' ' -f3- authors.shards | tr ' ' '\n' | sort -u | wc -l)" 40 "every author is there"
is "$(awk '{ n += $2 } END { print n }' authors.shards)" 1000 "and every text"
is "$(awk '/^train/ && $2 < 30 { n++ } END { print n + 0 }' authors.shards)" "$(awk '/^train/ { n = $2 < 30 } END { print n }' authors.shards)" \
	"a shard has as many texts as asked for, or more; the last may have fewer"
prep held_out authors.tsv --group 2 --tokens --records-per-shard 30
for shard in out/held_out/test-*; do
	authors_of held_out "$shard"
done >held_out.shards
like "$(awk '{ n += $2 } END { print n, NF }' held_out.shards)" '^([1-9][0-9]{2}) 2$' \
	"whole groups are held out for the test: at least a tenth, and no author whom the training texts name" "$(cat held_out.shards)"
is "$(grep -c author out/authors/vocabulary.txt)" 0 "the column of the group is no part of the text"
shuf authors.tsv --random-source=<(yes) >shuffled_authors.tsv
prep authors2 shuffled_authors.tsv --group 2 --tokens --records-per-shard 30 --test-percent 0
same authors authors2 "the order of the lines has no influence"
awk -F'\t' -v OFS='\t' '{ print $1, $3, $2 }' authors.tsv >last.tsv
prep authors3 last.tsv --group 3 --tokens --records-per-shard 30 --test-percent 0
is "$(sums authors3 | grep tfrecord)" "$(sums authors | grep tfrecord)" "the group in the last column: the same shards"
sed 's/author[0-9]*//' authors.tsv >lonely.tsv
prep lonely lonely.tsv --group 2 --tokens --records-per-shard 30
cut -f1,3 authors.tsv >ungrouped.tsv
prep ungrouped ungrouped.tsv --tokens --records-per-shard 30
is "$(sums lonely | grep tfrecord)" "$(sums ungrouped | grep tfrecord)" "texts without a group: as without --group"
prep apart authors.tsv --test authors.tsv --group 2 --tokens
like "$? $(tail -n 1 apart.log)" '^1 kiln: --group: the group "author0" is among the training texts and the test texts' "a group in both inputs is refused"
prep narrow ungrouped.tsv --group 2 --tokens
like "$? $(tail -n 1 narrow.log)" '^1 kiln: ungrouped.tsv:1: found 2 columns, expected the label, the group in column 2, and the text' "a line without text"
prep narrow ungrouped.tsv --group 4 --tokens
like "$? $(tail -n 1 narrow.log)" '^1 kiln: ungrouped.tsv:1: found 2 columns, expected the label, the group in column 4' "a column that is not there"
head -n 100 last.tsv >added_authors.tsv
for group in "" "--group 3"; do
	prep held_out added_authors.tsv --append --tokens $group
	like "$? $(tail -n 1 held_out.log)" "^1 kiln: .*--append: found ${group:-no --group}, but the set was made with --group 2" \
		"texts are added with the set's column of groups (found: ${group:-none})"
done
prep ungrouped added_authors.tsv --append --tokens --group 3
like "$? $(tail -n 1 ungrouped.log)" "^1 kiln: .*--append: found --group 3, but the set was made with no --group" "and not to a set without groups"
prep narrow imdb.tar.gz --group 2
like "$? $(tail -n 1 narrow.log)" '^1 kiln: imdb.tar.gz: found --group, which is an option for lines of texts' "an archive has no columns"

# ---- Groups of the Large Movie Review Dataset: its lists of URLs name the film of each review ----

# Each of 23 films has reviews of both classes; the test split has films of its own. Line N, from 0, is the film of review N.
rm -r aclImdb
for split in train test; do
	for label in pos neg; do
		mkdir -p aclImdb/$split/$label
		for ((i = 0; i < 100; i++)); do
			film=$((i * 7 % 23))
			[ $split = train ] || film=$((film + 100))
			printf 'review %d of byfilm%d %s' $i $film "$([ $label = pos ] && echo grand || echo dull)" >"aclImdb/$split/$label/${i}_7.txt"
			echo "http://www.imdb.com/title/tt00$film/usercomments" >>"aclImdb/$split/urls_$label.txt"
		done
	done
done
find aclImdb -type f | sort >members
tar -cf films.tar -T members --no-recursion
prep films films.tar --tokens --records-per-shard 15
ok $? "an archive with lists of URLs" "$(cat films.log)"
for shard in out/films/t*; do
	authors_of films "$shard"
done >films.shards
is "$(cut -d' ' -f3- films.shards | tr ' ' '\n' | sort | uniq -d)" "" "no film is in two shards, so none validates what it trains" "$(cat films.shards)"
is "$(cut -d' ' -f3- films.shards | tr ' ' '\n' | grep -v '^$' | sort -u | wc -l) $(awk '{ n += $2 } END { print n }' films.shards)" "23 400" \
	"every film of the training split, and every review is there"
like "$(cat films.log)" '^400 of 400 texts have a film: the texts of a film come into one shard$' "kiln prep says so"
grep -q 'split' films.log
is $? 1 "and of no film that it is in both splits"
is "$(python3 -c 'import json; print(json.load(open("out/films/dataset.json"))["group"])')" film "dataset.json: the group"
tac members >backwards
tar -czf films2.tar.gz -T backwards --no-recursion
prep films2 films2.tar.gz --tokens --records-per-shard 15
same films films2 "the order of the members has no influence"
sed -i 's/$/\r/' aclImdb/t*/urls_*.txt
tar -cf films3.tar aclImdb
prep films3 films3.tar --tokens --records-per-shard 15
same films films3 "lists with lines of DOS"
rm aclImdb/train/urls_neg.txt
head -n 40 aclImdb/train/urls_pos.txt >urls && mv urls aclImdb/train/urls_pos.txt
tar -cf films4.tar aclImdb
prep films4 films4.tar --tokens --records-per-shard 15
like "$(cat films4.log)" '^240 of 400 texts have a film' "a list that is missing, one that is short: the other texts have no film"
cp aclImdb/train/urls_pos.txt aclImdb/test/
tar -cf films5.tar aclImdb
prep films5 films5.tar --tokens --records-per-shard 15
like "$? $(cat films5.log)" 'http://www.imdb.com/title/tt000/usercomments: texts of this film are in the training split and in the test split' \
	"a film in both splits of the archive is said"
like "$(tail -n 1 films5.log)" '200 train and 200 test records' "and the split stays that of its authors"

# ---- S3 ----

unset http_proxy HTTP_PROXY all_proxy ALL_PROXY AWS_ACCESS_KEY_ID AWS_SECRET_ACCESS_KEY
/usr/bin/python3 "$plain_s3" >s3.port 2>s3.errors &
wait_for 20 test -s s3.port
endpoint=http://127.0.0.1:$(cat s3.port)
to_s3() { # name of the log, bucket, arguments
	local log=$1 bucket=$2
	shift 2
	timeout 60 "$kiln" prep train.tsv --test test.tsv --output "s3://$bucket/set" --endpoint "$endpoint" "$@" >"$log.log" 2>&1
}
to_s3 s3 kiln
ok $? "a bucket" "$(cat s3.log s3.errors)"
to_s3 s3 kiln
like "$(cat s3.log)" '4 shards \(4 already there\)' "again: nothing is sent twice"
is "$(grep -c uploads s3.requests)" 0 "multipart uploads, which are others', are left alone"
is "$(grep -E '^(PUT|DELETE)' s3.requests | sed -n '1p;$p' | xargs)" "PUT /kiln/set/prep.incomplete DELETE /kiln/set/prep.incomplete" \
	"prep.incomplete is put first and deleted last"
to_s3 absent none
like "$? $(cat absent.log)" '^1 kiln: .*NoSuchBucket' "no such bucket: told before any work"
node secrets
to_s3 keyless kiln --credential nobody
like "$? $(cat keyless.log)" '^1 kiln: .*nobody' "no such credential: the same"

# ---- Encoders ----

cat >encode <<'PY'
#!/usr/bin/python3
# Sixteen numbers that identify the text.
import hashlib, json, sys
open("encode.starts", "a").write("x")
for line in sys.stdin:
    print([byte for byte in hashlib.sha256(json.loads(line).encode()).digest()[:16]])
PY
chmod +x encode
{ cat test.tsv && printf 'pos\tcaf\xe9 \xff\n'; } >latin_text.tsv
prep latin_text train.tsv --test latin_text.tsv --encoder "exec:tee latin.lines | PYTHONUTF8=1 ./encode" --dims 16
ok $? "texts that are not UTF-8 reach the program as JSON" "$(cat latin_text.log)"
is "$(grep -cF "$(printf '"caf\xef\xbf\xbd \xef\xbf\xbd"')" latin.lines)" 1 "with U+FFFD in place of what is not UTF-8"
prep program train.tsv --test test.tsv
rm -f encode.starts
prep program train.tsv --test test.tsv --encoder exec:./encode --dims 16 --replace
ok $? "--encoder exec:PROGRAM" "$(cat program.log)"
is "$(names program | tr ' ' '\n' | grep -v tfrecord | xargs)" "dataset.json manifest.jsonl" "and no encoder.bin, not even of the set before"
like "$(tr -d '\n\t' <out/program/dataset.json)" '"encoder":\{"program":"exec:./encode"' "dataset.json says which program"
python3 - "$dump" out/program train.tsv <<'PY'
import glob, hashlib, json, struct, subprocess, sys
dump, out, tsv = sys.argv[1:]
expected = []
for line in open(tsv, encoding="utf-8").read().splitlines():
    label, text = line.split("\t", 1)
    expected.append((list(hashlib.sha256(text.encode()).digest()[:16]), [int(label == "neg"), int(label == "pos")]))
found = []
for shard in glob.glob(out + "/train-*"):
    for line in subprocess.run([dump, shard], capture_output=True, text=True).stdout.splitlines()[1:]:
        values = json.loads(line)["values"]
        floats = struct.unpack("<16f", struct.pack("<16I", *values["sentence"]))
        found.append(([int(f) for f in floats], values["label"]))
sys.exit(sorted(found) != sorted(expected))
PY
ok $? "every text has its own numbers and its own label"
prep given train.tsv --test test.tsv --encoder out/first/encoder.bin
is "$(sums given | grep -E ' (test-|encoder)')" "$(sums first | grep -E ' (test-|encoder)')" "--encoder FILE gives the same test shard"

# ---- exec: is allowed on the command line only ----

cat >kiln.conf <<-CONF
	run: { name = "t"; epochs = 1; batch_rows = 32; };
	source: { url = "file://$work/out/program"; };
	sink: { url = "file://$work/runs"; };
	ring: { small_pages = true; };
	schema = ( { name = "sentence"; dtype = "float32"; shape = [ 16 ]; }, { name = "label"; dtype = "int64"; shape = [ 2 ]; } );
	model: { layers = ( { op = "dense"; units = 2; }, { op = "softmax"; } ); };
CONF
node exec
is "$(wc -c <encode.starts)" 2 "the program ran once a split"
(cd "$OLDPWD" && timeout 120 tools/night "$KILN_BIN" "$work/kiln.conf") >night.log 2>&1
ok $? "a night on such a set" "$(cat night.log "$KILN_ROOT"/run/kiln/night/*.log)"
model=$(echo runs/*/model)
is "$(wc -c <encode.starts)" 2 "none of the daemons ran it"
said=$("$kiln" predict "$model" "a film" 2>&1)
like "$? $said" "^1 kiln: .*encoded by a program; if you trust it, add --encoder 'exec:./encode'" "predict does not run what a file names"
is "$(wc -c <encode.starts)" 2 "nor did it"
like "$("$kiln" predict "$model" --encoder exec:./encode "a film" 2>&1)" '^(positive|negative) +[01]\.[0-9]{4}  a film$' \
	"it runs what its command line names"
is "$(wc -c <encode.starts)" 3 "once"
zeros="exec:awk '{ for (i = 0; i < 16; i++) printf \"0 \"; print \"\" }'"
printf 'a\xff\n' | "$kiln" predict "$model" --encoder "$zeros" --json >predict.json
is "$(python3 -c 'import json; print(ascii(json.load(open("predict.json", encoding="utf-8"))["text"]))')" "'a\ufffd'" \
	"predict --json gives UTF-8, whatever the text was"
for program in oneshot:'begin --config kiln.conf' fetchd: traind: uploadd:; do
	node "refuse${program%%:*}"
	sed 's/^run:/encoder = "exec:.\/encode";\n&/' kiln.conf >with.conf
	mkdir -p "$KILN_ROOT/run/kiln" "$KILN_ROOT/data/kiln"
	cp -r nodes/exec/data/kiln/run "$KILN_ROOT/data/kiln/"
	cp with.conf "$KILN_ROOT/data/kiln/run/current/config"
	said=$(timeout 20 "$KILN_BIN/kiln-${program%%:*}" $(sed 's/kiln.conf/with.conf/' <<<"${program#*:}") 2>&1)
	like "$? $said" '^78 .*encoder' "kiln-${program%%:*} refuses a configuration with encoder = \"exec:..\""
done
is "$(wc -c <encode.starts)" 3 "and runs nothing"

# ---- Bad input ----

refused() { # expected sentence, name, arguments
	local sentence=$1 name=$2 said
	shift 2
	said=$(timeout 30 "$kiln" prep "$@" --output "file://$work/out/refused" 2>&1)
	like "$? $(tail -n 1 <<<"$said")" "^1 kiln: $sentence" "$name"
}

sed '6s/.*/no tab here/' train.tsv >notab.tsv
sed '6s/.*/\tno label/' train.tsv >nolabel.tsv
sed "6s/.*/$(printf 'x%.0s' {1..128})\ttext/" train.tsv >longlabel.tsv
{ head -n 5 train.tsv && printf 'n\xe9g\ttext\n'; } >latin.tsv
printf 'pos\tab\0cd' >nul.tsv
: >empty.tsv
grep '^pos' train.tsv >one.tsv
head -n 21 train.tsv | grep -v '^neg' | cat - <(grep -m 3 '^neg' train.tsv) >few.tsv
size=$(stat -c %s train.tsv.gz)
head -c $((size - 200)) train.tsv.gz >cut.tsv.gz
damage() { # file, offset, name: inverts one bit
	python3 -c 'import sys; d = bytearray(open(sys.argv[1], "rb").read()); d[int(sys.argv[2])] ^= 1; open(sys.argv[3], "wb").write(d)' "$@"
}
damage train.tsv.gz $((size / 2)) flip.tsv.gz
damage train.tsv.gz $((size - 6)) crc.tsv.gz
size=$(stat -c %s imdb.tar.gz)
head -c $((size / 2)) imdb.tar.gz >cut.tar.gz
damage imdb.tar.gz $((size / 2)) flip.tar.gz
damage imdb.tar.gz $((size - 6)) crc.tar.gz
echo "no tar" >text.tar.gz
mkdir only_test && cp test.tsv only_test/
mkdir nothing && tar -czf other.tar.gz nothing
printf 'ab\0cd' >aclImdb/train/pos/nul.txt && tar -czf nul.tar.gz aclImdb

refused 'notab\.tsv:6: found no tab, expected label<TAB>text$' "a line without a tab" notab.tsv
refused 'nolabel\.tsv:6: a label of 0 bytes, expected 1 \.\. 127$' "a line without a label" nolabel.tsv
refused 'longlabel\.tsv:6: a label of 128 bytes, expected 1 \.\. 127$' "a label that is too long" longlabel.tsv
refused 'latin\.tsv:6: byte 1 of the label is not UTF-8$' "a label that is not UTF-8" latin.tsv
refused 'nul\.tsv:1: a NUL byte after byte 6, expected text$' "a NUL byte" nul.tsv
refused 'empty\.tsv: empty, expected lines of label<TAB>text$' "an empty file" empty.tsv
refused 'one\.tsv: found only the label "pos", at least 2 labels are needed$' "one label" one.tsv
refused 'class "neg" has [1-3] training texts, at least 10 are needed$' "too few texts of a label" few.tsv
refused 'missing\.tsv: cannot read it: No such file' "no such file" missing.tsv
refused 'nothing: found neither aclImdb_v1\.tar\.gz nor train\.tsv\[\.gz\] nor train-images' "a folder without data" nothing
refused 'only_test: found no training split, expected aclImdb_v1\.tar\.gz, train\.tsv' "a folder with the test split alone" only_test
refused '.*missing\.tar\.gz: No such file' "no such object" "file://$work/missing.tar.gz"
refused 'file:///here/: found no key' "a folder as an object" file:///here/
refused '/missing\.tar\.gz: No such file' "an object at the very top" file:///missing.tar.gz
for form in tsv tar; do
	refused "cut\.$form\.gz: damaged or cut at byte [0-9]+ of the compressed file or before: unexpected end of file$" "a cut $form.gz" cut.$form.gz
	refused "flip\.$form\.gz: damaged or cut at byte [0-9]+ of the compressed file or before: (invalid|incorrect)" "a turned bit in a $form.gz" \
		flip.$form.gz
	refused "crc\.$form\.gz: damaged or cut at byte [0-9]+ of the compressed file or before: incorrect data check$" "a wrong check value in a $form.gz" \
		crc.$form.gz
done
refused 'text\.tar\.gz: expected a tar, compressed or not: ' "not a tar" text.tar.gz
refused 'other\.tar\.gz: found neither aclImdb/train/\{pos,neg\}/\*\.txt nor pictures in it$' "a tar of something else" other.tar.gz
refused 'nul\.tar\.gz: aclImdb/train/pos/nul\.txt: a NUL byte after byte 2, expected text$' "a member with a NUL byte" nul.tar.gz
damage out/first/encoder.bin 3000 damaged.bin
refused "encoder \"damaged\.bin\": the encoder's CRC is 0x[0-9a-f]{8}, expected 0x[0-9a-f]{8}$" "a damaged encoder" train.tsv --encoder damaged.bin
refused 'encoder "test\.tsv": not a Kiln text encoder of version 1$' "an encoder that is none" train.tsv --encoder test.tsv
[ ! -e out/refused ] || [ -z "$(ls out/refused)" ]
ok $? "no refused input has written anything" "$(ls out/refused 2>&1)"

wrong() { # expected sentence, name, arguments
	local sentence=$1 name=$2
	shift 2
	like "$("$kiln" prep train.tsv --output "file://$work/out/refused" "$@" 2>&1; echo "exit $?")" "$sentence" "$name"
}
wrong '^kiln prep: --dims: found "1", expected a whole number of 2 \.\. 65536$' "a number out of bounds" --dims 1
wrong '^kiln prep: --seed: found "-1", expected a whole number of 0 \.\. 18446744073709551615$' "a number that is none" --seed -1
wrong '^exit 2$' "that is wrong usage" --threads 0

by_program() { # expected sentence, name, command
	refused "encoder \".*\": $1" "$2" train.tsv --encoder "exec:$3" --dims 16
}
by_program 'exit status 127: the program answered 0 lines, expected 1125$' "a program that is not there" './nothing-here'
by_program 'the program answered 10 lines, expected 1125$' "one that ends early" 'head -n 10 | ./encode'
by_program 'exit status 3: the program answered all lines, expected exit status 0$' "one that fails at the end" './encode; exit 3'
by_program 'signal 9: the program answered 0 lines' "one that is killed" 'kill -9 $$'
by_program 'line 1: found ".*", expected a number$' "one that answers words" 'cat'
by_program 'line 7: found 15 numbers, expected 16$' "one that answers a number too few" './encode | sed "7s/, .*,/,/;7s/^.*$/[0,1,2,3,4,5,6,7,8,9,10,11,12,13,14]/"'
by_program 'line 7: found 17 numbers, expected 16$' "one too many" './encode | sed "7s/^./[1,/"'
by_program 'line 7: found "nan", expected a number$' "one that is not a number" './encode | sed "7s/^.[0-9]*/[nan/"'
by_program 'the program answered more than the expected 1125 lines$' "a line too many" './encode; echo 1'
by_program 'line 1: found "x", expected a number$' "one that goes on after a bad answer is ended" 'echo x; sleep 1000; true'

cat >store.conf <<-CONF
	source: { url = "s3://bucket/prefix"; endpoint = "http://127.0.0.1:1"; credential = "of-the-file"; };
	sink: { url = "file:///tmp"; };
CONF
found=$("$kiln" prep train.tsv --config store.conf --credential of-the-option 2>&1)
like "$found" of-the-option "an option wins over the configuration"
