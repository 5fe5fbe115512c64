#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The demo as a user runs it: on pictures in class folders, and on the package descriptions of this machine's apt.
. "$(dirname "$0")/lib.sh"

"$KILN_BUILD/system/make_pictures" "$work/flowers" 60 72 80 1 daisy rose tulip
tools/demo --bin "$KILN_BIN" --root "$work/pictures" --pictures "$work/flowers" --epochs 6 >"$work/log" 2>&1
ok $? "the demo with pictures ends well" "$(tail -n 40 "$work/log")"
log=$(cat "$work/log")
like "$log" '^180 files in 3 class folders$' "it counts the files and the classes"
like "$log" '^test accuracy +[0-9.]+ %' "it shows the accuracy"
is "$(grep -cE '/flowers/(daisy|rose|tulip)/0000\.jpg: (daisy|rose|tulip) [01]\.[0-9]{4}, ' "$work/log")" 3 "it predicts a picture of each class, by name"
is "$(find "$work/pictures/preview" -name '*.png' | wc -l)" 16 "it shows pictures as the network sees them"
tools/demo --bin "$KILN_BIN" --root "$work/pictures" --pictures "$work/flowers/rose" >"$work/log" 2>&1
is "$? $(cat "$work/log" | tail -n 1)" "2 tools/demo: $work/flowers/rose: found 0 class folders, expected two or more" "a folder without class folders is refused"
tools/demo --bin "$KILN_BIN" --root "$work/pictures" --pictures "$work/none" >"$work/log" 2>&1
like "$? $(tail -n 1 "$work/log")" '^2 tools/demo: .*/none: no such folder' "and one that there is not"

if [ -z "$(apt-cache dumpavail 2>/dev/null | head -n 1)" ] && ! apt-get update >/dev/null 2>&1; then
	skip "the demo reaches 85 % on the test split" "apt knows no packages here, and apt-get update fails"
	exit
fi
tools/demo --bin "$KILN_BIN" --root "$work/demo" >"$work/log" 2>&1
ok $? "the demo ends well" "$(tail -n 40 "$work/log")"
log=$(cat "$work/log")
like "$log" 'epoch +loss +accuracy' "it shows the accuracy of each epoch"
like "$log" 'prepare +[0-9.]+ s' "it shows the time of each stage"
like "$log" '[0-9]+ records/s' "it shows records a second"
like "$log" 'tensorboard --logdir' "it says how to open TensorBoard"
like "$log" 'ring: [0-9]+ slots .* (hugepages|normal pages)' "it says which pages the ring uses"

accuracy_of() { # folder of a demo
	python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["metrics"]["test"]["accuracy"])' "$1/run.json"
}
at_least() { # folder of a demo, accuracy, name
	local accuracy
	accuracy=$(accuracy_of "$1")
	awk -v a="${accuracy:-0}" -v b="$2" 'BEGIN { exit !(a >= b) }'
	ok $? "$3" "found ${accuracy:-none}"
	echo '{"name":"demo","case":"'"$3"'","value":'"${accuracy:-0}"',"unit":"fraction"}'
}
at_least "$work/demo" 0.85 "package descriptions: test accuracy is at least 85 %"
awk '{ printf "{\"name\":\"demo\",\"case\":\"stage %s\",\"value\":%s,\"unit\":\"s\"}\n", $1, $2 }' "$work/demo/stages"

"$KILN_BIN/kiln" report "$(sed -n 's/^Run .*\///p' "$work/log")" --config "$work/demo/kiln.conf" >/dev/full 2>"$work/lost"
is $? 1 "output that is lost is no success"
tools/demo --bin "$KILN_BIN" --root "$work/demo" --store S3 >"$work/lost" 2>&1
is $? 2 "a store that there is not is refused" "$(cat "$work/lost")"

imdb=${KILN_SHARED:-../shared}/data/imdb
if [ -e "$imdb" ]; then
	mkdir -p "$work/imdb"
	tools/demo --bin "$KILN_BIN" --root "$work/imdb" --imdb "$imdb" >"$work/log" 2>&1
	ok $? "the demo with the Large Movie Review Dataset ends well" "$(tail -n 40 "$work/log")"
	at_least "$work/imdb" 0.91 "movie reviews: test accuracy is at least 91 %"
else
	skip "movie reviews: test accuracy is at least 91 %" "no data at $imdb; KILN_SHARED names another folder"
fi
