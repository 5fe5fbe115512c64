#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The cache between fetchd and a real S3 server (Ceph's radosgw): which requests reach the server, counted by fault_proxy.py,
# and what fetchd does with a small budget, damage, a full disk and a folder that cannot be written.
. "$(dirname "$0")/lib.sh"
reader=$KILN_BUILD/system/fetch_reader
cleanup() {
	for mounted in full denied spilled; do
		umount "$work/nodes/$mounted/data/kiln/cache" 2>/dev/null
	done
}

need_attributes 'cache'
start_radosgw 'cache'

# 10 train shards, of which one is for validation, and 2 test shards: about 130 kB each, the test shards compressed.
shards=12
"$KILN_BUILD/system/make_shards" "$work/data" train 10 1000 plain
"$KILN_BUILD/system/make_shards" "$work/data" test 2 2000
upload "$work/data" s3://kiln/data
shard_bytes=$(stat -c %s "$work/data/train-00000-of-00010.tfrecord")

start_fault_proxy
endpoint=$proxy

config() { # keys of fetch
	cat >"$work/kiln.conf" <<-CONF
		run: { name = "t"; epochs = ${epochs:-3}; batch_rows = 64; };
		source: { url = "s3://kiln/${source:-data}"; endpoint = "$endpoint"; };
		sink: { url = "file://$work/runs/$name"; };
		ring: { small_pages = true; };
		order: { window_shards = ${window_shards:-2}; };
		schema = ( { name = "sentence"; dtype = "float32"; shape = [ 8 ]; },
		           { name = "label"; dtype = "int64"; shape = [ 2 ]; } );
		fetch: { hedge_percent = 0; $1 };
	CONF
}

# Puts the reader's lines into $work/NAME.out, the number of requests for shards into $asked, of different ones into $objects.
run() { # name, keys of fetch
	name=$1
	node "${node:-$1}"
	cache=$KILN_ROOT/data/kiln/cache
	config "$2"
	: >"$KILN_ROOT/fetchd.log"
	"$KILN_BIN/kiln-oneshot" begin --config "$work/kiln.conf" >"$work/$name.begin" 2>&1
	local before
	before=$(wc -l <"$work/proxy/requests")
	{ [ -z "${files:-}" ] || ulimit -n "$files"; exec "$KILN_BIN/kiln-fetchd"; } 2>"$KILN_ROOT/fetchd.log" &
	fetchd=$!
	timeout 100 "$reader" ${pace:-} >"$work/$name.out" 2>"$work/$name.err"
	grep -q ^END_RUN "$work/$name.out" && wait_for 20 test ! -d /proc/$fetchd || kill -KILL $fetchd
	wait $fetchd 2>/dev/null
	tail -n +$((before + 1)) "$work/proxy/requests" | grep -oE '"(GET |path": ")/kiln/(data|large|again|more|many)/[^"?]*tfrecord[^"?]*' >"$work/$name.asked"
	asked=$(wc -l <"$work/$name.asked")
	objects=$(sort -u "$work/$name.asked" | wc -l)
}

same() { # name: the lines equal those of the first run
	cmp -s "$work/${expected:-none}.out" "$work/$name.out"
	ok $? "$1" "$(tail -n 3 "$work/$name.out" "$KILN_ROOT/fetchd.log" 2>&1)"
}

log_says() { # regular expression, what
	like "$(cat "$KILN_ROOT/fetchd.log")" "$1" "$2"
}

held_bytes() {
	find "$cache/objects" -type f -printf '%s\n' | awk '{ n += $1 } END { print n + 0 }'
}

held() {
	find "$cache/objects" -type f | wc -l
}

run none ''
is "$asked $objects" "$((3 * 10 + 2)) $shards" 'without a cache every pass asks the store'

# ---- A cache large enough for everything ----
run all 'cache_bytes = 100000000;'
same 'with one the same slots come'
is "$asked $objects" "$shards $shards" 'each shard is asked for once: the second epoch makes no request'
is "$(held)" "$shards" 'all of them are kept'
is "$(find "$cache/new" -type f | wc -l)" 0 'and nothing else'
cmp -s "$work/data/train-00003-of-00010.tfrecord" "$cache/tree/127.0.0.1:${endpoint##*:}/kiln/data/train-00003-of-00010.tfrecord"
ok $? 'under their names, too' "$(find "$cache/tree")"
node=all run again 'cache_bytes = 100000000;'
same 'the next run has the same slots'
is "$asked" 0 'and makes no request for a shard at all'

# ---- Damage ----
file_of() { # shard[, folder]
	readlink -f "$cache/tree/127.0.0.1:${endpoint##*:}/kiln/${2:-data}/$1"
}
damage() { # file, byte
	printf '\377' | dd of="$1" bs=1 seek="$2" conv=notrunc 2>/dev/null
}
plain=train-00004-of-00010.tfrecord compressed=test-00001-of-00002.tfrecord.gz
damage "$(file_of $plain)" 5000
damage "$(file_of $compressed)" 1000
truncate -s 100 "$(file_of train-00006-of-00010.tfrecord)"
python3 -c 'import os, sys; os.removexattr(sys.argv[1], "user.kiln")' "$(file_of train-00007-of-00010.tfrecord)"
node=all run damaged 'cache_bytes = 100000000;'
same 'damaged files are found out: the same slots'
is "$(sed 's,.*/,,' "$work/damaged.asked" | sort | xargs)" \
	"test-00001-of-00002.tfrecord.gz train-00004-of-00010.tfrecord train-00006-of-00010.tfrecord train-00007-of-00010.tfrecord" \
	'and fetched, those alone, once'
log_says "the cache's copy of $plain: byte [0-9]+: the data's CRC .*; fetching it once more" 'the log says which'
log_says "the cache's copy of $compressed: its checksum differs from the checksum in its label" 'and of a compressed one why'
is "$(held)" "$shards" 'they are kept anew'
node=all run mended 'cache_bytes = 100000000;'
is "$asked" 0 'for good'

# ---- A disk that cannot read ----
unreadable() { # name, shard, its requests: damage is noticed and reported, and the shard is fetched and cached again
	same "$1: the same slots"
	is "$(sed 's,.*/,,' "$work/$name.asked" | sort -u)" "$2" "$1: that one is fetched"
	log_says "the cache's copy of $2, $cache/objects/../$bad: cannot read .*: Input/output error; removing it, fetching the shard once more" "$1: the log names it"
}
bad=$(basename "$(file_of train-00002-of-00010.tfrecord)")
LD_PRELOAD=$KILN_BUILD/system/preload/bad_sector.so KILN_BAD_SECTOR=$bad node=all run unreadable 'cache_bytes = 100000000;'
unreadable 'an I/O error' train-00002-of-00010.tfrecord
is "$asked $(held)" "1 $shards" 'once, and it is kept anew'

# ---- Large objects, 3 MB each: read with O_DIRECT, past the page cache ----
"$KILN_BUILD/system/make_shards" "$work/large" train 5 30000 plain
upload "$work/large" s3://kiln/large
source=large memory='memory_bytes = 24000000; part_bytes = 8000000;'
run expected "$memory"
expected=expected
# fetchd does not cache shards that arrive faster than the disk can write. A later run caches the rest.
for ((i = 0; i < 10; i++)); do
	run large "$memory cache_bytes = 100000000;"
	same 'large ones: the same slots'
	[ "$(held)" = 5 ] && break
done
is "$(held)" 5 'all of them are kept, some by a later run perhaps'
pages() {
	fincore --bytes --noheadings --output PAGES "$cache"/objects/*/* | awk '{ n += $1 } END { print n }'
}
forget() {
	sync "$cache"/objects/*/*
	for file in "$cache"/objects/*/*; do dd if="$file" iflag=nocache count=0 status=none; done
}
forget
if [ "$(pages)" != 0 ]; then
	skip 'reading past the memory' "the file system below $work forgets nothing"
else
	node=large run direct "$memory cache_bytes = 100000000;"
	same 'read past the memory: the same slots'
	is "$asked $(pages)" "0 0" 'no request is made, and nothing of them is in memory'
	damage "$(readlink -f "$cache/tree/127.0.0.1:${endpoint##*:}/kiln/large/train-00002-of-00005.tfrecord")" 2500000
	forget
	node=large run direct_damaged "$memory cache_bytes = 100000000;"
	same 'a damaged one is found out: the same slots'
	is "$(sed 's,.*/,,' "$work/direct_damaged.asked" | sort -u)" 'train-00002-of-00005.tfrecord' 'and fetched, that alone'
	bad=$(basename "$(file_of train-00003-of-00005.tfrecord large)")
	forget
	LD_PRELOAD=$KILN_BUILD/system/preload/bad_sector.so KILN_BAD_SECTOR=$bad node=large run direct_unreadable "$memory cache_bytes = 100000000;"
	unreadable 'an I/O error past the memory' train-00003-of-00005.tfrecord
fi
cat "$cache"/objects/*/* >/dev/null
node=large run resident "$memory cache_bytes = 100000000;"
same 'from memory, where it has them: the same slots'
unset source expected

# ---- More shards than files may be open ----
"$KILN_BUILD/system/make_shards" "$work/many" train 240 20 plain
upload "$work/many" s3://kiln/many
source=many epochs=1 window_shards=200
run many 'cache_bytes = 100000000;'
grep -q ^END_RUN "$work/many.out"
ok $? 'windows of 200 shards' "$(tail -n 3 "$KILN_ROOT/fetchd.log")"
files=120 expected=many node=many run few_files 'cache_bytes = 100000000;'
expected=many same 'from the cache with 120 files open at most: the same slots'
is "$asked" 0 'and no request: no shard of a window holds its file open'
unset source epochs window_shards

# ---- A budget ----
budget=$((5 * shard_bytes + 1000))
pace='--pace-ms 2' run small "cache_bytes = $budget;"
same 'a budget for half of them: the same slots'
[ "$asked" -lt 27 ] && [ "$asked" -ge "$shards" ]
ok $? 'some requests are saved' "asked $asked times for $shards shards"
[ "$(held_bytes)" -le "$budget" ] && [ "$(held)" -ge 4 ]
ok $? 'and the budget is kept, and used' "$(held) files, $(held_bytes) of $budget bytes"
run tiny 'cache_bytes = 1000;'
same 'a budget for none of them: the same slots'
is "$(held)" 0 'and none kept'

# ---- Pinned objects that are uploaded anew every night: the old versions are evicted ----
again() { # what, preload or run
	local records=$((1000 - ++nights)) stale=0 file
	rm -rf "$work/again"
	"$KILN_BUILD/system/make_shards" "$work/again" train 10 $records plain
	upload "$work/again" s3://kiln/again
	if [ "$2" = run ]; then
		node=again source=again epochs=2 run "again$nights" "cache_bytes = $budget;"
		is "$asked $objects" '10 10' "$1: each is asked for once"
	else
		cp "$work/kiln.conf" "$KILN_ROOT/etc/kiln/kiln.conf"
		sleep 1 # times of use have a resolution of one second
		"$KILN_BIN/kiln-oneshot" preload 2>"$work/preload.log"
		is $? 0 "$1: preload" "$(cat "$work/preload.log")"
	fi
	for file in "$work"/again/*; do
		cmp -s "$file" "$cache/tree/127.0.0.1:${endpoint##*:}/kiln/again/${file##*/}" || stale=$((stale + 1))
	done
	is "$stale $(held)" '0 10' "$1: the cache has all of them, and nothing else"
}
budget=$((10 * shard_bytes + 1000)) nights=0
node again
mkdir -p "$KILN_ROOT/data/kiln/cache" "$KILN_ROOT/etc/kiln"
echo '{"version": 1, "pins": [{"endpoint": "'"$endpoint"'", "bucket": "kiln", "prefix": "again/"}]}' \
	>"$KILN_ROOT/data/kiln/cache/pins.json"
again 'pinned' run
again 'uploaded anew' run
again 'uploaded once more' preload

# ---- Preload fills the cache during a run with a smaller budget: the run keeps to its own ----
name=beside budget=$((5 * shard_bytes + 1000))
node beside
cache=$KILN_ROOT/data/kiln/cache
mkdir -p "$KILN_ROOT/etc/kiln"
config "cache_bytes = $budget;"
"$KILN_BIN/kiln-oneshot" begin --config "$work/kiln.conf" >"$work/begin" 2>&1
"$KILN_BIN/kiln-fetchd" 2>"$KILN_ROOT/fetchd.log" &
fetchd=$!
timeout 100 "$reader" --stop-after 1 >/dev/null
sed 's/cache_bytes = [0-9]*/cache_bytes = 100000000/' "$work/kiln.conf" >"$KILN_ROOT/etc/kiln/kiln.conf"
"$KILN_BIN/kiln-oneshot" preload 2>"$work/preload.log"
like "$(cat "$work/preload.log")" '[: ]12 of 12 objects are in the cache' 'preload fills a cache beside a run'
wait_for 30 eval '[ $(held_bytes) -le $budget ]'
ok $? 'which makes it as small as its own budget' "$(held_bytes) bytes; $(tail -n 3 "$KILN_ROOT/fetchd.log")"
kill -KILL $fetchd
wait $fetchd 2>/dev/null

# ---- Killed while filling the cache ----
name=killed
node killed
cache=$KILN_ROOT/data/kiln/cache
epochs=3 config 'cache_bytes = 100000000;'
"$KILN_BIN/kiln-oneshot" begin --config "$work/kiln.conf" >"$work/begin" 2>&1
"$KILN_BIN/kiln-fetchd" 2>"$KILN_ROOT/fetchd.log" &
fetchd=$!
timeout 100 "$reader" --pace-ms 5 >"$work/killed.out" 2>"$work/killed.err" &
follower=$! kills=0
for count in 1 3 6; do
	wait_for 60 eval '[ $(held) -ge $count ] || [ ! -d /proc/$follower ]'
	kill -KILL $fetchd 2>/dev/null && kills=$((kills + 1))
	wait $fetchd 2>/dev/null
	"$KILN_BIN/kiln-fetchd" 2>>"$KILN_ROOT/fetchd.log" &
	fetchd=$!
done
wait $follower
wait_for 20 test ! -d /proc/$fetchd || kill -KILL $fetchd
wait $fetchd 2>/dev/null
same "killed $kills times while it fills: the same slots"
is "$(held) $(find "$cache/new" -type f | wc -l)" "$shards 0" 'the cache is whole, nothing is left behind'

# ---- Full and read-only disks ----
small_disk() { # node, bytes
	name=$1
	node "$1"
	mkdir -p "$KILN_ROOT/data/kiln/cache"
	mount -t tmpfs -o "size=$2" kiln-test "$KILN_ROOT/data/kiln/cache" 2>/dev/null &&
		python3 -c 'import os, sys; os.setxattr(sys.argv[1], "user.kiln", b"x")' "$KILN_ROOT/data/kiln/cache"
}
if small_disk full 600k; then
	run full 'cache_bytes = 100000000; cache_spare_bytes = 0;'
	same 'a disk that is full: the same slots'
	[ "$(held)" -ge 1 ] && ! grep -qE ' [34]<?:.*No space' "$KILN_ROOT/fetchd.log"
	ok $? 'with what fits' "$(held) files; $(tail -n 3 "$KILN_ROOT/fetchd.log")"
	run full 'cache_bytes = 100000000; cache_spare_bytes = 400000;'
	same 'where less of it is to be taken: the same slots'
	free=$(($(stat -f -c '%a * %S' "$cache")))
	[ "$free" -ge 400000 ]
	ok $? 'the cache has shrunk' "$free bytes are free"
else
	skip 'a full disk' 'no tmpfs with extended attributes can be mounted here'
fi
# Windows that spill to the same disk come before the cache.
if small_disk spilled 12m; then
	source=large run spilled 'cache_bytes = 100000000; cache_spare_bytes = 0;'
	[ "$(held)" -ge 3 ]
	ok $? 'a disk that the cache fills' "$(held) files"
	upload "$work/large" s3://kiln/more
	source=more run roomy ''
	source=more expected=roomy node=spilled run tight 'memory_bytes = 8000000; cache_bytes = 100000000; cache_spare_bytes = 0;'
	expected=roomy same 'has space for windows that spill: the same slots'
	log_says 'bytes of them lie in' 'which they did'
else
	skip 'a disk that the cache fills' 'no tmpfs with extended attributes can be mounted here'
fi
if small_disk denied 1m && mount -o remount,ro "$KILN_ROOT/data/kiln/cache"; then
	run denied 'cache_bytes = 100000000;'
	same 'a folder that cannot be written: the same slots'
	log_says 'going on without a cache: .*Read-only file system' 'and a warning'
else
	skip 'a folder that cannot be written' 'nothing can be mounted here'
fi

# ---- The verbs ----
kiln=$KILN_BIN/kiln
code() { # expected exit code, name, command...
	local expected=$1 name=$2
	shift 2
	said=$("$@" 2>&1)
	is $? "$expected" "$name" "$said"
}
member() { # path below the cache's status
	"$kiln" cache --json | python3 -c 'import json, sys
v = json.load(sys.stdin)
for k in sys.argv[1].split("."): v = v[int(k)] if isinstance(v, list) else v[k]
print(v)' "$1"
}
name=verbs
node verbs
cache=$KILN_ROOT/data/kiln/cache
config 'cache_bytes = 100000000;'
mkdir -p "$KILN_ROOT/etc/kiln"
cp "$work/kiln.conf" "$KILN_ROOT/etc/kiln/kiln.conf"
"$KILN_BIN/kiln-controld" 2>"$work/controld.log" &
wait_for 10 "$kiln" node
code 1 'status without a cache' "$kiln" cache
like "$said" 'data/kiln/cache: No such file' 'says so'
code 2 'a wrong word' "$kiln" cache fill
code 1 'preload without kiln-steer' "$kiln" cache preload
like "$said" 'kiln-steer cannot be reached' 'and why'
code 1 'a prefix elsewhere' "$kiln" cache pin s3://other/x
like "$said" 'no source of kiln.conf reads from the bucket "other"' 'and why'
code 1 'a prefix that is none' "$kiln" cache pin /kiln/data
like "$said" 'expected s3://bucket/prefix' 'and why'

"$KILN_BIN/kiln-oneshot" preload 2>"$work/preload.log"
is $? 0 'preload' "$(tail -n 3 "$work/preload.log")"
is "$(held)" "$shards" 'has everything'
is "$(member preload.state) $(member preload.objects_done) $(member preload.objects_fetched) $(member preload.bytes_done)" \
	"finished 12 12 $(held_bytes)" 'and says so'
requests=$(wc -l <"$work/proxy/requests")
"$KILN_BIN/kiln-oneshot" preload 2>"$work/preload.log"
is "$(tail -n +$((requests + 1)) "$work/proxy/requests" | grep -c tfrecord) $(member preload.objects_fetched)" '0 0' 'a second time fetches nothing'
node=verbs run preloaded 'cache_bytes = 100000000;'
same 'a run after it: the same slots'
is "$asked" 0 'without a request for a shard'

code 0 'pin' "$kiln" cache pin s3://kiln/data/train-0000
code 0 'pin once more' "$kiln" cache pin s3://kiln/data/train-0000
like "$said" 'nothing to change' 'changes nothing'
is "$(member pins.0.url) $(member pins.0.objects) $(member pinned_objects)" 's3://kiln/data/train-0000 10 10' 'status counts what it holds'
like "$("$kiln" cache)" 'pinned +s3://kiln/data/train-0000  10 objects' 'for people, too'
# Space for the 10 pinned objects alone: a run caches nothing else, and evicts none of them.
node=verbs run pinned "cache_bytes = $((10 * shard_bytes + 1000));"
same 'a run with what is pinned: the same slots'
is "$(find "$cache/tree" -name 'train-*' | wc -l)" 10 'which stays'
for prefix in data/ data/train-; do
	"$kiln" cache pin s3://kiln/$prefix >/dev/null
done
"$KILN_BIN/kiln-oneshot" preload 2>"$work/preload.log"
is "$(member preload.objects) $(member preload.objects_done)" '12 12' 'preload counts an object once, however often it is pinned'
for prefix in data/ data/train-; do
	"$kiln" cache pin --remove s3://kiln/$prefix >/dev/null
done
cp "$work/kiln.conf" "$KILN_ROOT/etc/kiln/kiln.conf"
code 0 'unpin' "$kiln" cache pin --remove s3://kiln/data/train-0000
is "$(member pinned_objects)" 0 'nothing is pinned'
code 0 'drop' "$kiln" cache drop s3://kiln/data/test-
is "$(find "$cache/tree" -name 'test-*' | wc -l)" 0 'it is gone'
code 1 'drop of nothing said' "$kiln" cache drop
like "$said" 'either a prefix or all' 'is refused'
code 0 'drop all' "$kiln" cache drop --all
is "$(held) $(find "$cache/tree" -type l | wc -l)" '0 0' 'leaves nothing'

# Less space than objects, and an older object in the cache.
sed -i "s/cache_bytes = [0-9]*/cache_bytes = $((6 * shard_bytes + 1000))/" "$KILN_ROOT/etc/kiln/kiln.conf"
"$kiln" cache pin s3://kiln/data/test- >/dev/null
"$KILN_BIN/kiln-oneshot" preload 2>"$work/preload.log"
is $? 0 'preload into a small cache' "$(tail -n 3 "$work/preload.log")"
[ "$(held_bytes)" -le $((6 * shard_bytes + 1000)) ] && [ "$(find "$cache/tree" -name 'test-*' | wc -l)" = 2 ] && [ "$(held)" -ge 5 ]
ok $? 'what is pinned comes first, then what fits' "$(find "$cache/tree" -type l)"
like "$(member preload.text)" 'the others have no space' 'and it says so'
"$kiln" cache drop --all >/dev/null
sed -i "s/cache_bytes = [0-9]*/cache_bytes = 0/" "$KILN_ROOT/etc/kiln/kiln.conf"
"$KILN_BIN/kiln-oneshot" preload 2>"$work/preload.log"
is $? 78 'preload without a cache: exit 78'
sed -i "s/cache_bytes = [0-9]*/cache_bytes = 100000000/; s,$endpoint,http://127.0.0.1:1," "$KILN_ROOT/etc/kiln/kiln.conf"
sed -i 's/fetch: {/fetch: { attempts_max = 1;/' "$KILN_ROOT/etc/kiln/kiln.conf"
"$KILN_BIN/kiln-oneshot" preload 2>"$work/preload.log"
is $? 69 'preload from a store that is away: exit 69'
is "$(member preload.state)" failed 'and status says so'

# kiln-steer starts the unit on a real box; here the test itself does, when kiln-steer gets the word.
sed -i "s,http://127.0.0.1:1,$endpoint," "$KILN_ROOT/etc/kiln/kiln.conf"
echo ok >"$work/answers"
: >"$work/words"
python3 tests/system/steer_stub.py "$KILN_ROOT/run/kiln-steer/socket" "$work/words" "$work/answers" &
{ wait_for 20 grep -q cache.preload "$work/words" && exec "$KILN_BIN/kiln-oneshot" preload 2>"$work/preload.log"; } &
wait_for 10 test -S "$KILN_ROOT/run/kiln-steer/socket"
code 0 'kiln cache preload' "$kiln" cache preload
like "$said" 'finished, .*: 12 of 12 objects' 'waits until it is done' "$(cat "$work/words" "$work/preload.log")"
