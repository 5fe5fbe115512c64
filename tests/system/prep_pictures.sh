#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# kiln prep of pictures in class folders: a folder, an archive, objects; the records against the files read by Python; splits;
# smaller pictures and pixels; files that are no pictures.
. "$(dirname "$0")/lib.sh"
kiln=$KILN_BIN/kiln make=$KILN_BUILD/system/make_pictures plain_s3=$PWD/tests/system/plain_s3.py
export PYTHONPATH=$PWD/config/examples
cd "$work" || exit 1
mkdir out

prep() { # folder below out/, arguments
	local out=$1
	shift
	"$kiln" prep "$@" --output "file://$work/out/$out" >"$work/$out.log" 2>&1
}

sums() { # folder below out/
	(cd "out/$1" && sha256sum $(ls -A | grep -v manifest.jsonl))
}

same() { # folder, folder, name
	[ -n "$(sums "$1")" ] && [ "$(sums "$1")" = "$(sums "$2")" ]
	ok $? "$3" "$(diff <(sums "$1") <(sums "$2"))"
}

refused() { # expected sentence, name, arguments
	local sentence=$1 name=$2 said
	shift 2
	said=$(timeout 30 "$kiln" prep "$@" --output "file://$work/out/refused" 2>&1)
	like "$? $(tail -n 1 <<<"$said")" "^1 kiln: $sentence" "$name"
}

cat >records.py <<'PY'
# The records of a set: "SPLIT CLASS LABEL FILENAME HEIGHT WIDTH SHA-256" of each, in the order of the shards.
import glob, hashlib, os, sys
import tfrecord
def records(folder):
    for shard in sorted(glob.glob(os.path.join(folder, "*.tfrecord"))):
        for record in tfrecord.read_records(shard):
            values = {}
            for kind, data in tfrecord.fields(record):
                for _, entry in tfrecord.fields(data):
                    parts = dict(tfrecord.fields(entry))
                    (which, content), = tfrecord.fields(parts[2])
                    name = parts[1].decode()
                    values[name] = [v for _, v in tfrecord.fields(content)] if which == 1 else list(tfrecord.integers(content))
            yield os.path.basename(shard).split("-")[0], os.path.basename(shard), values
def line(split, shard, v):
    picture = v.get("image/encoded") or v.get("image/raw")
    return " ".join(map(str, (split, v["image/class/text"][0].decode(), v["image/class/label"][0], v["image/filename"][0].decode(),
                              v["image/height"][0], v["image/width"][0], hashlib.sha256(picture[0]).hexdigest())))
if __name__ == "__main__":
    for record in records(sys.argv[1]):
        print(line(*record))
PY
list() { # folder below out/
	python3 records.py "out/$1" | sort
}

"$make" pictures 24 20 30 1 rose daisy tulip
cp pictures/rose/0000.jpg pictures/rose/copy.jpg
mkdir pictures/.hidden && echo x >pictures/.hidden/file && echo x >pictures/README && echo x >pictures/rose/.DS_Store

# ---- A folder ----

prep folder pictures
ok $? "class folders" "$(cat folder.log)"
is "$(list folder | wc -l)" 73 "a record for each picture"
like "$(cat folder.log)" '^1 files are in no class folder and do not count$' "a file beside the class folders"
like "$(cat folder.log)" '^1 pictures are equal to another one: equal files come into one shard$' "equal files"
python3 - out/folder pictures >said <<'PY'
import collections, glob, hashlib, json, os, sys
from records import records
out, pictures = sys.argv[1:]
def say(found, expected, what):
    print("same" if found == expected else f"{found} is not {expected}", what, sep="\t")
there = {os.path.relpath(f, pictures): open(f, "rb").read() for f in glob.glob(pictures + "/*/*")}
got, shards = collections.defaultdict(list), collections.defaultdict(set)
splits, sets, contents = collections.defaultdict(collections.Counter), set(), True
for split, shard, v in records(out):
    name = v["image/filename"][0].decode()
    got[name].append(v)
    sets.add(tuple(sorted(v)))
    shards[hashlib.sha256(v["image/encoded"][0]).hexdigest()].add(shard)
    splits[v["image/class/text"][0].decode()][split] += 1
    contents &= v["image/encoded"] == [there.get(name)] and (v["image/height"], v["image/width"]) == ([20], [30]) \
        and name.split("/")[0] == v["image/class/text"][0].decode() == ["daisy", "rose", "tulip"][v["image/class/label"][0]]
say(sorted(got), sorted(there), "each picture")
say(max(map(len, got.values())), 1, "each one once")
say(contents, True, "bytes as they are, class, label, height, width")
say(sets, {("image/class/label", "image/class/text", "image/encoded", "image/filename", "image/height", "image/width")}, "TensorFlow's names")
say(max(map(len, shards.values())), 1, "equal files are in one shard")
say(all(c["test"] and c["train"] for c in splits.values()), True, "each class is in both splits")
dataset = json.load(open(out + "/dataset.json"))
say(dataset["classes"], ["daisy", "rose", "tulip"], "dataset.json: classes")
say(sum(dataset["records"].values()), 73, "dataset.json: records")
say([(f["name"], f["dtype"]) for f in dataset["schema"]][:2], [("image/encoded", "picture"), ("image/class/label", "int64")], "dataset.json: schema")
say(dataset["pictures"], {"height": [20, 20], "width": [30, 30], "size": 0, "raw": False}, "dataset.json: sizes")
manifest = [json.loads(l) for l in open(out + "/manifest.jsonl")]
say(sorted(m["key"] for m in manifest), sorted(f for f in os.listdir(out) if f.endswith(".tfrecord")), "manifest.jsonl: every shard, not compressed")
PY
while IFS=$'\t' read -r found what; do
	is "$found" same "$what"
done <said
is "$(wc -l <said)" 11 "Python has checked all of this"

# ---- The same bytes ----

prep again pictures --threads 1
same folder again "on one thread"
prep again pictures
like "$(cat again.log)" '[0-9]+ shards \(([0-9]+) already there\)' "again into the same place"
is "$(grep -oE '[0-9]+ shards \([0-9]+' again.log | tr -d '(' | awk '{ print $1 == $3 }')" 1 "nothing is written twice"
prep other pictures --seed 7
[ "$(list folder)" != "$(list other)" ]
ok $? "another seed holds out other pictures"
is "$(list other | cut -d' ' -f2- | sort)" "$(list folder | cut -d' ' -f2- | sort)" "and loses none"

tar -C pictures -czf pictures.tar.gz .
prep archive pictures.tar.gz
same folder archive "from a tar.gz"
mkdir names && cp -r pictures/rose names/Löwenmaul && cp -r pictures/tulip names/郁金香
LC_ALL=C.UTF-8 tar --format=pax -C names -cf names.tar .
prep names names
LC_ALL=C prep pax names.tar
same names pax "from a tar of the form pax, with names that are not ASCII" "$(tail -n 1 pax.log)"
tar -cf wrapped.tar pictures
prep wrapped wrapped.tar
is "$(list wrapped | sed 's/ pictures\// /')" "$(list folder)" "from a tar with a folder around, and a file beside the class folders"
mkdir -p splits/set/train splits/set/test && cp -r pictures/rose pictures/tulip splits/set/train && cp -r pictures/rose splits/set/test
echo x >splits/set/LICENSE.txt && tar -C splits -cf splits.tar set/LICENSE.txt set/train set/test
prep splits splits.tar
ok $? "a file beside the folders train and test of an archive" "$(cat splits.log)"
head -c $(($(stat -c %s pictures.tar.gz) / 2)) pictures.tar.gz >cut.tar.gz
refused 'cut\.tar\.gz: damaged or cut at byte [0-9]+' "a cut archive" cut.tar.gz

# A killed kiln prep: what it has written stays, the next one writes the rest.
"$make" many 60 64 64 2 a b
prep whole many --records-per-shard 2
some_shard() { # number
	compgen -G "out/killed/train-0000$1-of-*" >/dev/null
}
for i in 1 2 3; do
	"$kiln" prep many --records-per-shard 2 --output "file://$work/out/killed" >/dev/null 2>&1 &
	pid=$!
	wait_for 20 some_shard $i
	kill -9 $pid 2>/dev/null
	wait $pid 2>/dev/null
done
prep killed many --records-per-shard 2
same whole killed "after three kills"
[ ! -e out/killed/prep.incomplete ]
ok $? "and the set is complete"

# ---- Splits ----

mkdir -p split
"$make" split/train 8 16 16 3 cat dog
"$make" split/val 3 16 16 4 cat dog
"$make" split/test 2 16 16 5 cat dog
prep split split
is "$(list split | cut -d' ' -f1 | uniq -c | xargs)" "4 test 16 train 6 validation" "folders train, val and test"
is "$(python3 -c 'import json; print(json.load(open("out/split/dataset.json"))["records"])')" "{'train': 16, 'test': 4, 'validation': 6}" \
	"dataset.json counts the validation pictures"
is "$(list split >/dev/null; ls out/split | grep -cv '^\(train\|test\|validation\)-.*\.tfrecord$')" 2 "and nothing else beside dataset.json and manifest.jsonl"
prep given split/train --test split/test
is "$(list given | cut -d' ' -f1 | uniq -c | xargs)" "4 test 16 train" "--test"
cp split/train/cat/0000.jpg split/test/dog/leak.jpg
prep leak split
like "$(cat leak.log)" 'split/(train/cat/0000|test/dog/leak)\.jpg and split/(train/cat/0000|test/dog/leak)\.jpg: equal files in two classes' "equal files in two classes are named"
like "$(cat leak.log)" 'equal files in two splits' "and in two splits"
mkdir mixed && cp -r split/train mixed/ && cp -r split/train/cat mixed/cat
refused 'mixed/cat/0000\.jpg: found in no folder train, val or test, but mixed/train/cat/0000\.jpg is in one' "a class beside the split folders" mixed

# A set that grows keeps the side of each picture.
mkdir day1 day2
for class in rose daisy tulip; do
	mkdir day1/$class day2/$class
	cp pictures/$class/00[01]*.jpg day1/$class/
	cp pictures/$class/*.jpg day2/$class/
done
prep days day1 --append
prep days day2 --append
ok $? "--append" "$(cat days.log)"
is "$(list days | cut -d' ' -f1,7 | sort -u | cut -d' ' -f2 | sort | uniq -d)" "" "no picture is on both sides"
prep days day1 --append --raw --size 8
like "$(cat days.log)" ': --append: found pictures, whose feature is "image/raw", but the set has the feature "image/encoded"$' "pixels for a set of files"
prep days split/train --append
like "$(cat days.log)" 'the label "cat" is not one of the 3 classes of the set' "a class that the set does not have"
prep days pictures --replace
same folder days "--replace"

# ---- Smaller, and pixels ----

prep small pictures --size 10
is "$(list small | cut -d' ' -f5,6 | sort -u)" "10 15" "--size: the shorter side"
python3 - out/small <<'PY' >small.files
import sys
from records import records
for split, shard, v in records(sys.argv[1]):
    print(v["image/encoded"][0][:2].hex(), len(v["image/encoded"][0]))
PY
is "$(cut -d' ' -f1 small.files | sort -u)" ffd8 "each is a JPEG"
prep large pictures --size 20
is "$(list large)" "$(list folder)" "pictures that are not larger stay as they are"
prep raw pictures --size 8 --raw --fit crop
python3 - out/raw <<'PY' >raw.said
import json, sys
from records import records
sizes = {(len(v["image/raw"]), len(v["image/raw"][0]), v["image/height"][0], v["image/width"][0]) for _, _, v in records(sys.argv[1])}
d = json.load(open(sys.argv[1] + "/dataset.json"))
print(sizes, d["schema"][0], d["pictures"]["fit"])
PY
is "$(cat raw.said)" "{(1, 192, 8, 8)} {'name': 'image/raw', 'dtype': 'uint8', 'shape': [8, 8, 3]} crop" "--raw"
"$kiln" prep pictures --raw --output "file://$work/out/refused" >usage 2>&1
is "$? $(head -n 1 usage)" "2 kiln prep: found --raw, expected also --size" "--raw without --size"
refused '.*: found --dims, which is an option for vectors of texts' "an option of texts" pictures --dims 4

# A portrait that its EXIF data turns: height and width are those of the upright picture.
if command -v djpeg >/dev/null && command -v cjpeg >/dev/null; then
	python3 - <<'PY'
import os, subprocess
os.makedirs("turned/a"); os.makedirs("turned/b")
exif = bytes.fromhex("ffe1002245786966000049492a00080000000100120103000100000006000000") + bytes(4)
for i in range(6):
    jpeg = subprocess.run(["cjpeg", "-quality", "90"], input=b"P6 40 20 255\n" + bytes((40 * i + x) % 256 for y in range(20) for x in range(120)), capture_output=True).stdout
    open(f"turned/{'ab'[i % 2]}/{i}.jpg", "wb").write(jpeg[:2] + exif + jpeg[2:])
PY
	prep turned turned --size 10
	is "$(list turned | cut -d' ' -f5,6 | sort -u)" "20 10" "a turned picture"
	python3 -c '
from records import records
v = next(records("out/turned"))[2]
open("turned.jpg", "wb").write(v["image/encoded"][0])'
	is "$(djpeg turned.jpg | head -c 8 | tr '\n' ' ')" "P6 10 20" "is upright in the new file"
else
	skip "a turned picture" "no djpeg and cjpeg"
fi

# ---- Files that are no pictures ----

cp -r day1 bad
printf 'GIF89a' >bad/rose/a.gif
printf 'RIFF....WEBPVP8 ' >bad/rose/b.jpg
printf '\0\0\0\x18ftypheic' >bad/daisy/c.heic
printf 'BM......' >bad/daisy/d.bmp
head -c 300 bad/tulip/0000.jpg >bad/tulip/cut.jpg
: >bad/tulip/empty.png
prep bad bad
is "$? $(ls out/bad | wc -l)" "1 0" "stops, and writes nothing"
for what in 'bad/rose/a\.gif: found a GIF file, expected a JPEG or PNG file' 'bad/rose/b\.jpg: found a WebP file' 'bad/daisy/c\.heic: found a HEIC file' \
	'bad/daisy/d\.bmp: found a BMP file' 'bad/tulip/cut\.jpg: JPEG of 300 bytes, at byte [0-9]+: ' 'bad/tulip/empty\.png: found 0 bytes' \
	'kiln: bad/daisy/c\.heic: .*; 6 of [0-9]+ files are no pictures that Kiln reads; --bad-files skip leaves them out'; do
	like "$(cat bad.log)" "^$what" "named: $what"
done
"$kiln" prep bad --bad-files skip --json --output "file://$work/out/skipped" >skipped.json 2>skipped.log
is "$? $(python3 -c 'import json; d = json.load(open("skipped.json")); print(d["left_out"], d["train"] + d["test"])')" "0 6 $(find day1 -name '*.jpg' | wc -l)" \
	"--bad-files skip"
is "$(list skipped | awk '{ print $4, $7 }' | sort)" "$(prep day1 day1; list day1 | awk '{ print $4, $7 }' | sort)" "leaves out these alone"

mkdir -p one/a && cp pictures/rose/0000.jpg one/a/
refused 'one: found only the label "a", at least 2 labels are needed' "one class" one
mkdir -p empty/a empty/b && cp pictures/rose/0000.jpg empty/a/
refused 'empty/b: found an empty folder, expected pictures' "an empty class" empty
mkdir -p lost/a lost/b && cp pictures/rose/0000.jpg lost/a/ && echo x >lost/b/x.txt
refused 'lost: class "b" has 0 training pictures, at least 1 is needed' "a class without a picture" lost --bad-files skip
mkdir flat && cp pictures/rose/0000.jpg flat/
refused 'flat: found neither .* nor class folders with pictures in this folder' "pictures without class folders" flat
ln -s nowhere lost/a/link
refused 'lost/a/link: a link to nothing' "a link to nothing" lost
printf 'a\tx\nb\ty\n' >texts.tsv
refused 'pictures: found pictures and texts or IDX images, expected one of them' "texts and pictures" pictures texts.tsv

# ---- Objects ----

unset http_proxy HTTP_PROXY all_proxy ALL_PROXY AWS_ACCESS_KEY_ID AWS_SECRET_ACCESS_KEY
/usr/bin/python3 "$plain_s3" >s3.port 2>s3.errors &
server=$!
wait_for 20 test -s s3.port
endpoint=http://127.0.0.1:$(cat s3.port)
(cd pictures && find . -type f ! -path '*/.hidden/*' | sed 's,^\./,,') | while read -r file; do
	curl -sf -T "pictures/$file" "$endpoint/kiln/raw/$file" || ok 1 "upload of $file"
done
from_s3() { # prefix, folder below out/, arguments
	local prefix=$1 out=$2
	shift 2
	timeout 60 "$kiln" prep "s3://kiln/$prefix" --endpoint "$endpoint" --output "file://$work/out/$out" "$@" >"$out.log" 2>&1
}
from_s3 raw objects
ok $? "objects below a prefix" "$(cat objects.log s3.errors)"
same folder objects "give the same shards as the folder"
is "$(grep -c '^GET /kiln/raw/rose/0000.jpg' s3.requests)" 1 "each object is fetched once"
from_s3 raw/ slash
same folder slash "the prefix with a slash"
from_s3 nothing nothing
like "$? $(tail -n 1 nothing.log)" '^1 kiln: s3://kiln/nothing: found neither an object of this name nor class folders' "a prefix without objects"
kill $server
