#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# kiln preview: its pictures are, pixel by pixel, those that kiln-fetchd puts into the first slots of a run with the same
# configuration, behind the layers that change pictures. Shards and objects, lanes, several sources, a filter, rows that are
# passed over.
. "$(dirname "$0")/fetch_lib.sh"
kiln=$KILN_BIN/kiln make=$KILN_BUILD/system/make_pictures export=$KILN_BUILD/system/layer_output
decode=$KILN_BUILD/system/decode_picture

picture='shape = [ 24, 20, 3 ]; antialias = true; fit = "crop"; random_crop = true;'
source="source: { url = \"file://$work/data\"; };"
config() { # name, keys of order, of split, layers before the last ones
	cat >"$work/kiln.conf" <<-CONF
		run: { name = "t"; epochs = 1; batch_rows = 16; seed = 9; };
		$source
		sink: { url = "file://$work/runs/$1"; };
		split: { test_glob = ""; ${3:-} };
		order: { ${2:-} };
		ring: { small_pages = true; };
		schema = ( { name = "image/encoded"; dtype = "picture"; $picture },
		           { name = "image/class/label"; dtype = "int64"; shape = [ 1 ]; } );
		model: { input = "image/encoded"; label = "image/class/label"; loss = "sparse_categorical_crossentropy";
		         layers = ( ${4:-} { op = "flatten"; }, { op = "dense"; units = 3; }, { op = "softmax"; } ); };
	CONF
}

# Begins a run, and writes the slots of its first batches, without those of other splits.
slots() { # name, keys of order, of split, layers
	begin "$@"
	start_fetchd
	timeout 60 "$reader" --columns --stop-after 3 >"$work/$1.slots"
	kill -KILL $fetchd && wait $fetchd 2>/dev/null
}

# Prints how many pictures of a preview are as the rows of the slots say, and how many there are.
compare() { # name, rows
	"$kiln" preview "$work/kiln.conf" --output "$work/$1.seen" --rows "$2" --json >"$work/$1.json" 2>"$work/$1.said"
	echo "$? $(python3 - "$work/$1" "$decode" "$work/kiln.conf" "$export" "${3:-}" <<-'PY'
		import json, os, re, struct, subprocess, sys
		name, decode, conf, export, layer = sys.argv[1:]
		batches = []
		for line in open(name + ".slots"):
		    word = line.split()
		    if word[0] == "DATA":
		        batches.append({"split": word[1], "rows": int(word[4])})
		    elif word[0] == "COLUMN":
		        batches[-1][word[1]] = bytes.fromhex(word[3] if len(word) > 3 else "")
		batches = [b for b in batches if b["split"] == "0"]
		lanes = int((re.search(r"lanes = (\d+)", open(conf).read()) or [0, 1])[1])
		side_by_side = 16 // lanes # rows of a lane
		rows, first = {}, 0
		for step, batch in enumerate(batches):
		    pixels, count = batch["image/encoded"], batch["rows"]
		    bytes_of_row = len(pixels) // count
		    if layer:
		        with open(name + ".batch", "wb") as out:
		            out.write(pixels)
		        numbers = subprocess.run([export, conf, layer, name + ".batch", str(step), str(first), "training"], capture_output=True, check=True).stdout
		        numbers = struct.unpack(f"<{len(numbers) // 4}f", numbers)
		        # rescaling by 1/127.5 and -1 is undone
		        numbers = [min(max(int((v + 1) * 127.5 + 0.5), 0), 255) for v in numbers]
		        bytes_of_row = len(numbers) // count
		        pixels = bytes(numbers)
		    for row in range(count):
		        if not batch["empty"][row]:
		            label = struct.unpack_from("<q", batch["image/class/label"], 8 * row)[0]
		            rows[first + row % side_by_side * lanes + row // side_by_side] = (pixels[row * bytes_of_row:(row + 1) * bytes_of_row], label)
		    first += count
		answers = [json.loads(line) for line in open(name + ".json")]
		labels, same = {}, 0
		for at, answer in enumerate(answers):
		    pixels, label = rows[answer["row"]]
		    labels.setdefault(label, answer["label"])
		    found = subprocess.run([decode, answer["file"]], capture_output=True).stdout
		    found = found[len(found) - len(pixels):]
		    far = max(abs(a - b) for a, b in zip(found, pixels))
		    same += far <= (1 if layer else 0) and labels[label] == answer["label"] and \
		        os.path.basename(answer["file"]) == f"{at:04}-{answer['label']}.png"
		print(same, len(answers), len(set(labels.values())))
	PY
	)"
}

# ---- Shards ----

"$make" "$work/pictures" 40 40 48 1 daisy rose tulip
config whole
node prep
"$kiln" prep "$work/pictures" --config "$work/kiln.conf" --records-per-shard 9 >"$work/prep.log" 2>&1
ok $? "prep makes shards" "$(cat "$work/prep.log")"
slots plain
is "$(compare plain 40)" "0 40 40 3" "shards: 40 pictures of three batches are those of the slots" "$(cat "$work/plain.said")"
is "$(ls "$work/plain.seen" | grep -c '\.png$') $(grep -c '<img src="00[0-9][0-9]-[a-z]*\.png"' "$work/plain.seen/index.html")" "40 40" "index.html shows all of them"
is "$(sed 's/.*"shard":"\([^"]*\)".*/\1/' "$work/plain.json" | sort -u | wc -l | awk '{ print ($1 > 3) }')" 1 "they come from several shards"
python3 - "$work" config/examples <<'PY'
import json, sys
sys.path.insert(0, sys.argv[2])
sys.dont_write_bytecode = True
import tfrecord
def label(record):
    for _, data in tfrecord.fields(record):
        for _, entry in tfrecord.fields(data):
            parts = dict(tfrecord.fields(entry))
            if parts[1] == b"image/class/text":
                return next(v for _, v in tfrecord.fields(next(v for _, v in tfrecord.fields(parts[2])))).decode()
answers = [json.loads(line) for line in open(sys.argv[1] + "/plain.json")]
sys.exit(any(label(list(tfrecord.read_records(f"{sys.argv[1]}/data/{a['shard']}"))[a["record"]]) != a["label"] for a in answers))
PY
ok $? "shard and record say which record a picture is"
slots lanes 'lanes = 4; window_shards = 2; skip_rows = 21;' 'by = "hash";'
is "$(compare lanes 40)" "0 40 40 3" "lanes, windows, rows that are passed over" "$(cat "$work/lanes.said")"
slots filter 'lanes = 2; filter = "image/class/label != 1";'
is "$(compare filter 40)" "0 40 40 2" "a filter" "$(cat "$work/filter.said")"
mkdir -p "$work/other" && cp "$work"/data/train-0000[0-2]-* "$work/other/"
source="sources = ( { url = \"file://$work/data\"; weight = 1; }, { url = \"file://$work/other\"; weight = 3; } );"
slots sources 'lanes = 2; window_shards = 3;'
is "$(compare sources 40)" "0 40 40 3" "two sources: the second one begins again and again" "$(cat "$work/sources.said")"
source="source: { url = \"file://$work/data\"; };"

# ---- Layers ----

augment='{ op = "random_flip"; }, { op = "rescaling"; scale = 0.00784313725490196; offset = -1; },
	{ op = "random_rotation"; factor = 0.1; }, { op = "random_zoom"; height_factor = 0.2; fill_mode = "nearest"; },
	{ op = "random_contrast"; factor = 0.3; value_range = [ -1, 1 ]; }, { name = "last"; op = "random_crop"; height = 20; width = 18; },'
slots layers 'lanes = 2;' '' "$augment"
is "$(compare layers 40 last)" "0 40 40 3" "layers: each row has its draws, also in the second and third batch" "$(cat "$work/layers.said")"
is "$(python3 -c 'import struct, sys; print(*struct.unpack(">II", open(sys.argv[1], "rb").read()[16:24]))' "$work/layers.seen/0000-"*.png)" "18 20" "the pictures have the size behind the last layer"
slots mixed 'lanes = 2;' '' '{ op = "random_flip"; }, { name = "last"; op = "random_zoom"; height_factor = 0.4; },
	{ op = "conv2d"; filters = 2; kernel_size = [ 3, 3 ]; }, { op = "relu"; },'
"$kiln" preview "$work/kiln.conf" --output "$work/mixed.seen" >/dev/null 2>&1
"$kiln" preview "$work/kiln.conf" --output "$work/mixed.again" >/dev/null 2>&1
diff -r "$work/mixed.seen" "$work/mixed.again" >/dev/null && [ "$(cat "$work"/mixed.seen/*.png | sha256sum)" != "$(cat "$work"/plain.seen/*.png | sha256sum)" ]
ok $? "layers before a convolution; the same pictures each time"

# ---- Objects ----

source="source: { url = \"file://$work/pictures\"; format = \"objects\"; };" glob='train_glob = "*/*";'
slots objects 'lanes = 4;' "$glob by = \"hash\";"
is "$(compare objects 40)" "0 40 40 3" "objects: 40 pictures are those of the slots, with the names of their folders" "$(cat "$work/objects.said")"
slots objects_passed 'lanes = 2; skip_rows = 37; take_rows = 20;' "$glob"
is "$(compare objects_passed 40)" "0 20 20 3" "objects: rows that are passed over, and no more than are taken" "$(cat "$work/objects_passed.said")"

# ---- What is refused ----

"$kiln" preview config/examples/classes.conf --output "$work/none" >"$work/none.log" 2>&1
like "$? $(cat "$work/none.log")" '^1 kiln: .*classes\.conf: schema: found no pictures' "a configuration without pictures"
"$kiln" preview "$work/kiln.conf" >"$work/none.log" 2>&1
is "$? $(head -n 1 "$work/none.log")" "2 kiln preview: expected --output FOLDER" "without --output"
printf 'GIF89a' >"$work/pictures/daisy/0000.jpg"
config bad '' "$glob validation_percent = 0;"
"$kiln" preview "$work/kiln.conf" --output "$work/none" --rows 200 2>"$work/none.log" >/dev/null
like "$? $(cat "$work/none.log")" '^1 kiln: daisy/0000\.jpg: .*found a GIF file, expected a JPEG or PNG file$' "a file that is no picture is named"
sed -i 's/ring: {/fetch: { bad_record = "skip"; }; ring: {/' "$work/kiln.conf"
"$kiln" preview "$work/kiln.conf" --output "$work/skipped" --rows 200 >"$work/none.log" 2>&1
is "$? $(find "$work/skipped" -name '*.png' | wc -l)" "0 119" "or left out, as the run does; an epoch has no more rows" "$(tail -n 3 "$work/none.log")"
rm -rf "$work/pictures"
"$kiln" preview "$work/kiln.conf" --output "$work/none" >"$work/none.log" 2>&1
like "$? $(cat "$work/none.log")" '^1 kiln: .*(no object matches|No such file)' "a source that is not there"
is "$(find "${TMPDIR:-/tmp}" -maxdepth 1 -name 'kiln-preview-*' -newer "$work/prep.log" | wc -l)" 0 "no plan stays behind"
