#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Once 100 batches are in the ring, fetchd's own code allocates no more memory; libcurl's allocations are counted apart. Records
# of numbers, pictures in shards, and pictures that are single objects.
. "$(dirname "$0")/lib.sh"

counted() { # column: 1 fetchd, 2 libcurl, 3 other libraries
	od -A n -t d8 -w24 -N 24 "$work/counters" | awk -v column="$1" '{ print $column }'
}

numbers='{ name = "sentence"; dtype = "float32"; shape = [ 8 ]; }, { name = "label"; dtype = "int64"; shape = [ 2 ]; }'
fetch() { # name, source, keys of fetch; $features, $model, $epochs, $batch_rows, $batches in place of the usual ones
	local rows wanted=${batches:-1500} batch_rows=${batch_rows:-128}
	node "$1"
	cat >"$work/kiln.conf" <<-CONF
		run: { name = "t"; epochs = ${epochs:-13}; batch_rows = $batch_rows; };
		source: { $2 };
		sink: { url = "file://$work/runs/$1"; };
		split: { validation_percent = 0; test_glob = ""; ${train:-} };
		ring: { small_pages = true; };
		order: { window_shards = ${window_shards:-8}; };
		fetch: { ${3:-} };
		schema = ( ${features:-$numbers} );
		${model:-}
	CONF
	"$KILN_BIN/kiln-oneshot" begin --config "$work/kiln.conf" >/dev/null 2>"$work/begin.log"
	head -c 4096 /dev/zero >"$work/counters"
	LD_PRELOAD=$KILN_BUILD/system/preload/allocations.so KILN_ALLOCATIONS=$work/counters "$KILN_BIN/kiln-fetchd" 2>"$KILN_ROOT/log" &
	fetchd=$!
	timeout 60 "$reader" --rate --stop-after 100 --save "$work/cursor" >/dev/null
	before=$(counted 1) libcurl_before=$(counted 2) ahead_before=$("$show_status" fetchd ahead)
	${after_100:-:}
	rows=$(timeout 60 "$reader" --rate --cursor "$work/cursor" --stop-after "$wanted" | cut -d' ' -f1)
	after=$(counted 1) libcurl_after=$(counted 2)
	wait_for 10 ${shown:-true} # fetchd shows its counters once a second
	ahead=$("$show_status" fetchd ahead) hits=$("$show_status" fetchd cache_hits) written=$("$show_status" fetchd cache_written)
	memory=$("$show_status" fetchd memory_bytes)
	kill -KILL $fetchd
	wait $fetchd 2>/dev/null
	[ "${rows:-0}" -ge $(((wanted - 10) * batch_rows)) ] && [ "$before" -gt 0 ] && [ "$before" = "$after" ]
	ok $? "$1: fetchd asks for no memory in $wanted batches" \
		"asked $before times before, $after after $rows rows: $(tail -n 3 "$KILN_ROOT/log")"
}

reader=$KILN_BUILD/system/fetch_reader show_status=$KILN_BUILD/system/show_status
"$KILN_BUILD/system/make_shards" "$work/data" train 16 1000 plain
fetch "from files" "url = \"file://$work/data\";"
"$KILN_BUILD/system/make_shards" "$work/gzip" train 16 1000
fetch "from gzip files" "url = \"file://$work/gzip\";"

# Pictures of many sizes: in shards of about the same size, then as they are.
features_of() { # the feature of the picture, that of the class
	echo "{ name = \"$1\"; dtype = \"picture\"; shape = [ 16, 16, 3 ]; fit = \"crop\"; random_crop = true; },
		{ name = \"$2\"; dtype = \"int64\"; shape = [ 1 ]; }"
}
model_of() { # the same
	echo "model: { input = \"$1\"; label = \"$2\"; loss = \"sparse_categorical_crossentropy\";
		layers = ( { op = \"flatten\"; }, { op = \"dense\"; units = 3; }, { op = \"softmax\"; } ); };"
}
for side in 16 24 41 60; do
	"$KILN_BUILD/system/make_pictures" "$work/made" 25 $side $((side + 9)) $side daisy rose tulip
	for class in daisy rose tulip; do
		mkdir -p "$work/pictures/$class"
		for file in "$work/made/$class"/*; do mv "$file" "$work/pictures/$class/$side-${file##*/}"; done
	done
done
features=$(features_of image/encoded image/class/label) model=$(model_of image/encoded image/class/label) epochs=30 batch_rows=16 batches=300
cat >"$work/prep.conf" <<-CONF
	source: { url = "file://$work/picture-shards"; };
	sink: { url = "file://$work/runs"; };
	schema = ( $features );
	$model
CONF
KILN_ROOT=$work/prep "$KILN_BIN/kiln" prep "$work/pictures" --config "$work/prep.conf" --records-per-shard 150 --test-percent 0 >"$work/prep.log" 2>&1
ok $? "shards of pictures are made" "$(cat "$work/prep.log")"
fetch "pictures from files" "url = \"file://$work/picture-shards\";"
features=$(features_of image label) model=$(model_of image label) train='train_glob = "*/*";'
fetch "objects from files" "url = \"file://$work/pictures\"; format = \"objects\";"

start_radosgw "from a server"
while read -r file; do
	"$KILN_BUILD/system/store" upload "s3://$KILN_S3_BUCKET/pictures" "$file" "$work/pictures/$file" >/dev/null || ok 1 "upload of $file"
done < <(cd "$work/pictures" && find . -type f -printf '%P\n')
fetch "objects from a server" "url = \"s3://$KILN_S3_BUCKET/pictures\"; endpoint = \"$KILN_S3_ENDPOINT\"; format = \"objects\";"
# Objects share the buffer of their window: no window takes more than its 64 largest objects, rounded up to lines of the cache.
largest=$(find "$work/pictures" -type f -printf '%s\n' | sort -rn | head -n 64 | awk '{ n += int(($1 + 63) / 64) * 64 } END { print n }')
[ "$memory" -gt 0 ] && [ "$memory" -le $(((1 + ahead) * largest)) ]
ok $? "and has windows of the size of their objects in memory" "$memory bytes in $((1 + ahead)) windows, the largest is $largest bytes"
unset features model epochs batch_rows batches train
upload "$work/data" "s3://$KILN_S3_BUCKET/data"
fetch "from a server" "url = \"s3://$KILN_S3_BUCKET/data\"; endpoint = \"$KILN_S3_ENDPOINT\";"
[ "$libcurl_after" -gt "$libcurl_before" ]
ok $? "while libcurl does" "$libcurl_before before, $libcurl_after after"
# Half of the data fits into the cache: shards come from both, and are cached and evicted all the time.
shard_bytes=$(stat -c %s "$work/data/train-00000-of-00016.tfrecord")
uses_cache() { [ "$("$show_status" fetchd cache_hits)" -gt 0 ] && [ "$("$show_status" fetchd cache_written)" -gt 8 ]; }
shown=uses_cache fetch "churning" "url = \"s3://$KILN_S3_BUCKET/data\"; endpoint = \"$KILN_S3_ENDPOINT\";" "cache_bytes = $((8 * shard_bytes));"
[ "$hits" -gt 0 ] && [ "$written" -gt 8 ]
ok $? "while shards come from the cache, and others are cached" "$hits of them came from it, $written were written"

# After batch 100 each answer is late: fetchd reads more windows ahead than ever before.
start_fault_proxy
echo '[]' >"$work/proxy/faults"
make_late() { echo '[{"fault": "late", "ms": 200}]' >"$work/proxy/faults"; }
window_shards=1 after_100=make_late fetch "late from batch 100 on" \
	"url = \"s3://$KILN_S3_BUCKET/data\"; endpoint = \"$proxy\";" 'hedge_percent = 0;'
[ "$ahead" -gt "$ahead_before" ]
ok $? "while more windows are read ahead than before" "$ahead_before before, $ahead after: $(tail -n 3 "$KILN_ROOT/log")"
