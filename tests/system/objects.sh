#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A bucket as it is (source.format = "objects"), on a real S3 server: each JPEG object is a record, its folder the class. An
# epoch is one permutation of all objects, the same for any number of lanes and ranks; daemons that are killed change no bit;
# what cannot be trained on is refused by name.
. "$(dirname "$0")/fetch_lib.sh"
start_radosgw "objects in a bucket"
store=$KILN_BUILD/system/store
glob='train_glob = "*/*";' url=s3://$KILN_S3_BUCKET pictures=$work/pictures

config() { # name, keys of order, of fetch, of split, prefix in the bucket, label's shape; $units, $loss of the network
	cat >"$work/kiln.conf" <<-CONF
		run: { name = "t"; epochs = 2; batch_rows = 16; };
		source: { url = "$url/${5:-flowers}"; endpoint = "$KILN_S3_ENDPOINT"; format = "objects"; };
		sink: { url = "file://$work/runs/$1"; };
		ring: { small_pages = true; };
		split: { test_glob = ""; ${4:-$glob} };
		order: { ${2:-} };
		fetch: { ${3:-} };
		checkpoint: { every_steps = 4; keep = 2; };
		schema = ( { name = "image"; dtype = "picture"; shape = [ 8, 8, 3 ]; fit = "crop"; random_crop = true; },
		           { name = "label"; dtype = "int64"; shape = [ ${6:-4} ]; } );
		model: { input = "image"; loss = "${loss:-categorical_crossentropy}";
		         layers = ( { op = "rescaling"; scale = 0.00392; }, { op = "flatten"; },
		                    { op = "dense"; units = ${units:-4}; }, { op = "softmax"; } ); };
	CONF
}

put() { # folder, prefix: uploads its class folders
	local file
	while read -r file; do
		"$store" upload "$url/$2" "$file" "$1/$file" >/dev/null || ok 1 "upload of $file"
	done < <(cd "$1" && find . -type f -printf '%P\n')
}
# Bytewise, "a-b" is after "a" as a name and before it as a folder: "a-b/" < "a/".
make=$KILN_BUILD/system/make_pictures
"$make" "$pictures" 30 20 28 44 rose a-b a Tulip
put "$pictures" flowers

in_record() { # name of a run, a part of run.json
	python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))[sys.argv[2]])' \
		"$work/nodes/$1/data/kiln/run/current/run.json" "$2"
}

# ---- The plan and the order ----
whole_run one >"$work/one"
like "$(tail -n 1 "$work/one")" '^END_RUN' "a run over objects" "$(tail -n 3 "$KILN_ROOT/begin.log" "$KILN_ROOT/fetchd.log")"
[ $tap_failed = 0 ] || exit
like "$(cat "$KILN_ROOT/fetchd.log")" 'plan: (9[0-9]|1[01][0-9]) train, [1-9][0-9]* validation, 0 test' "objects are held out by the hash"
is "$(in_record one classes)" "['Tulip', 'a', 'a-b', 'rose']" "run.json has the classes in bytewise order of their names"
train=$(sorted 0 0 "$work/one" | wc -l)
is "$((train + $(rows 1 0 "$work/one" | wc -l)))" 120 "each object is in one split"
is "$(rows 1 0 "$work/one" | sort | uniq | wc -l)" "$(rows 1 0 "$work/one" | wc -l)" "each row once in the validation"
[ "$(rows 0 0 "$work/one" | md5sum)" != "$(rows 0 1 "$work/one" | md5sum)" ]
ok $? "the second epoch has another order"

# A row is the object at its position, for each number of lanes that divides a batch.
training_rows() { # lanes, further keys of fetch: prints where the rows of training are
	begin "lanes$1" "lanes = $1;" "${2:-}"
	start_fetchd
	timeout 60 "$reader" --columns >"$work/columns"
	wait $fetchd
	python3 tests/system/global_rows.py "$1" 16 "$work/columns:0:$1" 2>&1 | grep -v '^1 '
}
training_rows 1 >"$work/places"
is "$(wc -l <"$work/places")" $((2 * train)) "one lane: all rows of training"
for lanes in 2 8; do
	training_rows $lanes 'decode_workers = 3; connections = 5;' >"$work/lanes"
	cmp -s "$work/places" "$work/lanes"
	ok $? "$lanes lanes: the same rows in the same batches" "$(diff "$work/places" "$work/lanes" | head -n 4)"
done
# kiln preview of the bucket; preview.sh compares its pictures with the slots.
export AWS_ACCESS_KEY_ID AWS_SECRET_ACCESS_KEY
config preview 'lanes = 2;'
"$KILN_BIN/kiln" preview "$work/kiln.conf" --output "$work/preview" --rows 40 >/dev/null 2>"$work/preview.log"
is "$? $(find "$work/preview" -name '*.png' | wc -l)" "0 40" "kiln preview reads the bucket" "$(cat "$work/preview.log")"
sed -i "s,url = \"$url/flowers\"; endpoint = \"$KILN_S3_ENDPOINT\",url = \"file://$pictures\"," "$work/kiln.conf"
"$KILN_BIN/kiln" preview "$work/kiln.conf" --output "$work/preview-files" --rows 40 >/dev/null 2>"$work/preview.log"
diff -r "$work/preview" "$work/preview-files"
ok $? "the same pictures as from files" "$(cat "$work/preview.log")"

begin revisit 'lanes = 2;'
revisited 30 "any place of the run can be gone back to"

begin killed 'lanes = 2;'
whole_run lines 'lanes = 2;' | grep -v ^ROW >"$work/lines"
export KILN_ROOT=$work/nodes/killed
killed_at '^DATA 0 0 3 ' '^DATA 0 0 9 ' '^DATA 1 0 0 ' '^DATA 0 1 5 '
cmp -s "$work/lines" "$work/killed"
ok $? "fetchd killed in training and validation: the same slots" "$(diff "$work/lines" "$work/killed" | head -n 4)"
wait $fetchd 2>/dev/null

# ---- Ranks: 1, then 3, then 2 ----
begin ranks-one 'lanes = 8;'
start_fetchd
timeout 60 "$reader" --rows --columns >"$work/ranks-one"
wait $fetchd
for rank in 0 1 2; do begin "ranks-$rank" 'lanes = 8;'; done
said=() # FILE:FIRST:OWN of each rank's lines
owned() { # world, rank: the first and the number of the rank's lanes, of 8
	case $1 in
	1) echo 0:8 ;;
	2) echo $((4 * $2)):4 ;;
	3) echo $((2 * $2)):$(($2 == 2 ? 4 : 2)) ;;
	esac
}
stage() { # world, cursor, batches, merged cursor
	local rank asked pids=() cursors=()
	for ((rank = 0; rank < $1; rank++)); do
		export KILN_ROOT=$work/nodes/ranks-$rank
		start_fetchd --rank $rank --world "$1"
		pids+=("$fetchd") cursors+=("$work/cursor$rank") asked=()
		[ "$2" = - ] || asked+=(--cursor "$2")
		[ "$1" = 1 ] || asked+=(--rank $rank --world "$1")
		timeout 60 "$reader" --rows --columns "${asked[@]}" --stop-after "$3" --save "$work/cursor$rank" >"$work/ranks-$1-$rank"
		said+=("$work/ranks-$1-$rank:$(owned "$1" $rank)")
	done
	kill -KILL "${pids[@]}" 2>/dev/null
	wait "${pids[@]}" 2>/dev/null
	"$KILN_BUILD/system/merge_cursors" "$work/nodes/ranks-0/data/kiln/run/current/plan" "$2" "$4" "${cursors[@]}"
}
{ stage 1 - 2 "$work/m1" && stage 3 "$work/m1" 2 "$work/m2" && stage 2 "$work/m2" $((1 << 30)) "$work/m3"; } 2>"$work/ranks.log"
cat "$work"/ranks-[123]-? >"$work/ranks"
for epoch in 0 1; do
	cmp -s <(sorted 0 $epoch "$work/one") <(sorted 0 $epoch "$work/ranks")
	ok $? "ranks 1, 3, 2: epoch $epoch has every object once, with the same pixels" "$(cat "$work/ranks.log")"
done
# Each row has the same place in the same batch, so a layer that changes pictures at random by row and step changes them alike.
mkdir "$work/batches-one" "$work/batches-ranks"
PICTURES=$work/batches-one python3 tests/system/global_rows.py 8 16 "$work/ranks-one:0:8" | grep '^0' >"$work/places-one"
PICTURES=$work/batches-ranks python3 tests/system/global_rows.py 8 16 "${said[@]}" | grep '^0' >"$work/places-ranks"
[ "$(wc -l <"$work/places-one")" = $((2 * train)) ] && cmp -s "$work/places-one" "$work/places-ranks"
ok $? "each of them in the same row of the same batch" "$(diff "$work/places-one" "$work/places-ranks" | head -n 4)"
sed '/^model:/,$d' "$work/kiln.conf" >"$work/flips.conf"
cat >>"$work/flips.conf" <<-'CONF'
	model: { input = "image"; loss = "categorical_crossentropy";
	         layers = ( { op = "random_flip"; name = "flipped"; }, { op = "flatten"; }, { op = "dense"; units = 4; }, { op = "softmax"; } ); };
CONF
flipped() { # one or ranks, batch: writes what random_flip makes of the batch in training
	"$KILN_BUILD/system/layer_output" "$work/flips.conf" flipped "$work/batches-$1/0-$2" "$2" $((16 * $2)) training \
		>"$work/flipped-$1" 2>"$work/flip.log" && [ "$(stat -c %s "$work/flipped-$1")" = $((16 * 8 * 8 * 3 * 4)) ]
}
for batch in 1 3 5; do # given by 1, 3 and 2 ranks
	flipped one $batch && flipped ranks $batch && cmp -s "$work/flipped-one" "$work/flipped-ranks"
	ok $? "batch $batch after random_flip: the same pixels" "$(cat "$work/flip.log")"
	python3 -c 'import array, sys; sys.exit(array.array("f", list(open(sys.argv[1], "rb").read())) == array.array("f", open(sys.argv[2], "rb").read()))' \
		"$work/batches-one/0-$batch" "$work/flipped-one"
	ok $? "of which some are flipped"
done

# ---- The cache ----
begin cached '' 'cache_bytes = 100000000;'
start_fetchd
timeout 60 "$reader" --rows >"$work/cached"
wait $fetchd
cmp -s <(rows 0 1 "$work/one") <(rows 0 1 "$work/cached")
ok $? "with a disk cache: the same rows"
is "$(find "$KILN_ROOT/data/kiln/cache" -type f -size +0 | wc -l | awk '{ print ($1 >= 100) }')" 1 "which has the objects"

# ---- Training: killed, and with several lanes ----
train() { # name: runs fetchd and traind to the end; with a second argument, kills one of them again and again
	local traind victim kills=0
	"$KILN_BIN/kiln-traind" 2>>"$KILN_ROOT/traind.log" & traind=$!
	start_fetchd
	while [ -n "${2:-}" ] && [ $kills -lt 8 ] && kill -0 $traind 2>/dev/null; do
		sleep 0.$((RANDOM % 3 + 1))
		kills=$((kills + 1))
		if [ $((kills % 2)) = 0 ]; then
			kill -KILL $fetchd && wait $fetchd
			start_fetchd
		else
			kill -KILL $traind && wait $traind
			"$KILN_BIN/kiln-traind" 2>>"$KILN_ROOT/traind.log" & traind=$!
		fi
	done 2>/dev/null
	wait $traind $fetchd
	"$KILN_BIN/kiln-uploadd" --drain 2>>"$KILN_ROOT/traind.log"
	echo "$kills kills" >"$KILN_ROOT/kills"
}
weights() { # name: digest of the weights alone
	python3 - "$work/runs/$1"/*/model/model.safetensors <<-'PY'
		import hashlib, struct, sys
		data = open(sys.argv[1], "rb").read()
		print(hashlib.sha256(data[8 + struct.unpack("<Q", data[:8])[0]:]).hexdigest())
	PY
}
begin trained
train trained
like "$(weights trained 2>&1)" '^[0-9a-f]{64}$' "a model is trained on objects" "$(tail -n 3 "$KILN_ROOT/traind.log")"
begin lanes 'lanes = 4;'
train lanes
begin shaken 'lanes = 4;'
RANDOM=44
train shaken kill
is "$(weights shaken 2>&1)" "$(weights lanes)" "4 lanes, $(cat "$KILN_ROOT/kills"): the same weights, bit for bit"
loss=sparse_categorical_crossentropy begin number '' '' '' flowers 1
train number
like "$(weights number 2>&1)" '^[0-9a-f]{64}$' "with the number of the class as label, too" "$(tail -n 3 "$KILN_ROOT/traind.log")"
export AWS_ACCESS_KEY_ID AWS_SECRET_ACCESS_KEY
evaluated=$("$KILN_BIN/kiln" evaluate "$(echo "$work"/runs/trained/*)" --config "$work/kiln.conf" --split validation 2>&1)
like "$evaluated" '^rows +[1-9]' "kiln evaluate reads the objects of the plan" "$evaluated"
like "$evaluated" '^ +Tulip +a +a-b +rose' "and prints the names of the classes"
worst=$("$KILN_BIN/kiln" evaluate "$(echo "$work"/runs/trained/*)" --config "$work/kiln.conf" --split validation --worst 4 2>&1)
is "$(tail -n 4 <<<"$worst" | grep -cE '^[01]\.[0-9]{6}  (Tulip|a|a-b|rose) +(Tulip|a|a-b|rose) +[01]\.[0-9]{6}  .*\.(jpg|png): record 0$')" 4 \
	"kiln evaluate --worst names the objects" "$(tail -n 4 <<<"$worst")"
missing=
for key in $(tail -n 4 <<<"$worst" | sed -E 's/.* ([^ ]+): record 0$/\1/'); do
	[ -e "$pictures/$key" ] || missing+=" $key"
done
is "$missing" "" "by their keys"
predicted=$("$KILN_BIN/kiln" predict "$(echo "$work"/runs/trained/*)" --data "file://$pictures" --split train 2>&1)
like "$predicted" '"label": *"(Tulip|a|a-b|rose)"' "kiln predict names the class" "$(head -n 3 <<<"$predicted")"
is "$(grep -c '"label"' <<<"$predicted")" 120 "of each object below a folder"

# ---- Bad input ----
checked() { # runs kiln check's look at the data
	"$KILN_BIN/kiln" config check --data "$work/kiln.conf" 2>&1
}
fails() { # name of the test, words, then arguments of config: the check and the plan name it
	local said name=$1 words=$2
	shift 2
	node "bad$tap_n"
	config "bad$tap_n" "$@"
	"$KILN_BIN/kiln-oneshot" begin --config "$work/kiln.conf" >/dev/null 2>"$work/said" && {
		start_fetchd
		wait_for 20 ended $fetchd || kill -KILL $fetchd
		wait $fetchd
		cat "$KILN_ROOT/fetchd.log" >>"$work/said"
	}
	like "$(cat "$work/said")" "$words" "$name" "$(checked)"
}
fails "a pattern without objects" 'no object matches split.train_glob "\*/\*.gif"' '' '' 'train_glob = "*/*.gif";'
fails "a folder without objects" "$url/nothing: no object matches split.train_glob \"\*/\*\"" '' '' '' nothing
put "$pictures/rose" alone/rose
fails "one class" 'all objects of .* lie in folders named "rose", which is one class' '' '' '' alone
config x '' '' '' alone
like "$(checked)" 'failed +classes .*one folder, which is one class' "kiln config check --data finds it"
put "$pictures/rose" loose
fails "an object in no folder" 'object "[0-9]*.(jpg|png)": found no folder in its key' '' '' 'train_glob = "*g";' loose
units=3
fails "more classes than values" '"label" has 3 values, .* has 4 classes' '' '' '' flowers 3
config x '' '' '' flowers 3
like "$(checked)" 'failed +classes .*found 4 classes, expected 3' "kiln config check --data finds it"
units=
"$make" "$work/split/train" 6 16 16 1 cat dog
"$make" "$work/split/val" 3 16 16 2 cat dog emu
put "$work/split" split
by='by = "prefix"; train_glob = "train/*/*.jpg"; validation_glob = "val/*/*.jpg";'
loss=sparse_categorical_crossentropy
fails "a class that only validates" 'class "emu": found no object to train on, but "val/emu/0000.jpg" to validate' '' '' "$by" split 1
config x '' '' "$by" split 1
like "$(checked)" 'failed +classes .*validation object "val/emu/0000.jpg": found no object of its folder' "kiln config check --data finds it"
rm -r "$work/split/train/dog" "$work/split/val"
mkdir "$work/split/train/emu"
cp "$work/split/train/cat/0000.jpg" "$work/split/train/emu"
put "$work/split" few
fails "a class of which all objects are held out" 'class "emu": found no object to train on, but "train/emu/0000.jpg" to validate; all of its few objects are held out' \
	'' '' 'train_glob = "train/*/*.jpg"; validation_percent = 70;' few 1
loss=

cp -r "$pictures" "$work/mixed"
printf 'GIF89a123456789' >"$work/mixed/rose/0010.jpg"
: >"$work/mixed/rose/0011.png"
head -c 300 "$pictures/a/0012.jpg" >"$work/mixed/a/0012.jpg"
put "$work/mixed" mixed
begin mixed '' '' '' mixed
start_fetchd
timeout 60 "$reader" >"$work/read"
like "$(tail -n 1 "$work/read")" '^ERROR .* (rose/0010.jpg .*GIF|rose/0011.png .*found 0 bytes|a/0012.jpg .*JPEG)' "an object that is no picture" \
	"$(tail -n 1 "$KILN_ROOT/fetchd.log")"
kill -KILL $fetchd 2>/dev/null
wait $fetchd 2>/dev/null
begin skipped '' 'bad_record = "skip";' '' mixed
start_fetchd
timeout 60 "$reader" --rows >"$work/skipped"
wait $fetchd
is "$(($(rows 0 0 "$work/skipped" | wc -l) + $(rows 1 0 "$work/skipped" | wc -l)))" 117 "bad_record = skip leaves three out"

# Objects that are replaced in mid-run.
begin replaced 'lanes = 1;'
start_fetchd
timeout 60 "$reader" --stop-after 1 --save "$work/place" >/dev/null
kill -KILL $fetchd
wait $fetchd 2>/dev/null
cp -r "$pictures/a" "$work/other"
for name in "$pictures"/rose/*; do
	"$store" upload "$url/flowers" "rose/${name##*/}" "$(printf '%s\n' "$work"/other/* | shuf -n 1 --random-source="$name")" >/dev/null
done
start_fetchd
timeout 60 "$reader" --cursor "$work/place" >"$work/replaced"
like "$(tail -n 1 "$work/replaced")" '^ERROR .*rose/[0-9]*.(jpg|png)' "an object that is replaced ends the run, named" "$(tail -n 2 "$KILN_ROOT/fetchd.log")"
kill -KILL $fetchd 2>/dev/null
wait $fetchd 2>/dev/null
