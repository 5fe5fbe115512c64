#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# TensorBoard's image summary: the first pictures of a run, as the network sees them, once in the event files, also where daemons
# are killed before and after the first checkpoint. They are the pictures of kiln preview.
. "$(dirname "$0")/lib.sh"
. tests/system/train_lib.sh

"$KILN_BUILD/system/make_pictures" "$work/pictures" 30 40 48 1 daisy rose tulip
config() { # name, keys of tensorboard, of checkpoint
	cat >"$work/$1.conf" <<-CONF
		run: { name = "t"; epochs = 40; batch_rows = 16; };
		source: { url = "file://$work/pictures"; format = "objects"; };
		sink: { url = "file://$work/runs/$1"; };
		split: { train_glob = "*/*"; test_glob = ""; };
		ring: { small_pages = true; };
		checkpoint: { $3 };
		tensorboard: { $2 };
		schema = ( { name = "image"; dtype = "picture"; shape = [ 24, 20, 3 ]; fit = "crop"; random_crop = true; },
		           { name = "label"; dtype = "int64"; shape = [ 1 ]; } );
		model: { input = "image"; label = "label"; loss = "sparse_categorical_crossentropy";
		         layers = ( { op = "random_flip"; }, { op = "random_rotation"; factor = 0.1; }, { op = "rescaling"; scale = 0.00392; },
		                    { op = "flatten"; }, { op = "dense"; units = 3; }, { op = "softmax"; } ); };
	CONF
}

# Prints step, plugin, tag, width, height of each event with pictures, and whether they are those of a folder of kiln preview.
pictures_of() { # folder of event files, folder of kiln preview
	python3 - "$1" "$2" config/examples <<-'PY'
		import glob, sys
		sys.path.insert(0, sys.argv[3])
		sys.dont_write_bytecode = True
		import tfrecord
		seen = [open(f, "rb").read() for f in sorted(glob.glob(sys.argv[2] + "/*.png"))]
		def message(data):
		    parts = {}
		    for number, value in tfrecord.fields(data):
		        parts.setdefault(number, []).append(value)
		    return parts
		for path in sorted(glob.glob(sys.argv[1] + "/events.out.tfevents.*")):
		    for record in tfrecord.read_records(path):
		        event = message(record)
		        for summary in event.get(5, []):
		            for value in map(message, message(summary).get(1, [])):
		                if 9 not in value:
		                    continue
		                plugin = message(message(value[9][0])[1][0])[1][0].decode()
		                width, height, *files = message(value[8][0])[8]
		                print(event.get(2, [0])[0], plugin, value[1][0].decode(), width.decode(), height.decode(), len(files), files == seen)
	PY
}
is_there() { # path, pattern: whether the event files have pictures
	grep -q pictures "$spool"/logs/steps/events.* 2>/dev/null
}

to_end() { # the next node needs a fetchd of its own
	run_to_end
	wait "$fetchd"
}

config whole 'images = 5; every_steps = 1;' 'every_steps = 10;'
"$KILN_BIN/kiln" preview "$work/whole.conf" --output "$work/seen" --rows 5 >"$work/log" 2>&1
ok $? "kiln preview writes five pictures" "$(cat "$work/log")"
node whole
begin whole
to_end
is $code 0 "a run" "$(tail -n 5 "$KILN_ROOT/log")"
is "$(pictures_of "$spool/logs/steps" "$work/seen")" "1 images pictures 20 24 5 True" "its event files have the five pictures of kiln preview, once"
bits=$(model_bits)

# Killed as soon as the pictures are on the disk, before any checkpoint, and after some.
config killed 'images = 5; every_steps = 1;' 'every_steps = 10;'
node killed
begin killed
start fetchd
start traind
wait_for 120 is_there
kill -KILL $traind
wait $traind 2>/dev/null
run_until 20 KILL
to_end
is "$(pictures_of "$spool/logs/steps" "$work/seen")" "1 images pictures 20 24 5 True" "traind killed twice: the same pictures, once" "$(tail -n 5 "$KILN_ROOT/log")"
is "$(model_bits)" "$bits" "and the same weights"

config without 'images = 0;' ''
sed -i 's/epochs = 40/epochs = 1/' "$work/without.conf"
node without
begin without
to_end
is "$code $(pictures_of "$spool/logs/steps" "$work/seen")" "0 " "tensorboard.images = 0: none"
is "$(find "$spool/logs/train" -type f | wc -l)" 1 "but curves"

# More pictures than a batch has: those of one batch.
config many 'images = 200;' ''
sed -i 's/epochs = 40/epochs = 1/' "$work/many.conf"
node many
begin many
to_end
like "$code $(pictures_of "$spool/logs/steps" "$work/seen")" "^0 1 images pictures 20 24 16 False" "no more pictures than a batch has"
