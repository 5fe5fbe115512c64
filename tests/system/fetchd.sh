#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# fetchd and a reader: order, resume, kill, damage, memory, manifest.
. "$(dirname "$0")/lib.sh"
make_shards=$KILN_BUILD/system/make_shards reader=$KILN_BUILD/system/fetch_reader

config() { # extra keys
	cat >"$work/kiln.conf" <<-CONF
		run: { name = "t"; epochs = 2; batch_rows = ${batch_rows:-32}; };
		source: { url = "file://$data"; };
		sink: { url = "file://$work/runs/$name"; };
		ring: { small_pages = true; };
		order: { ${order_keys:-window_shards = 3;} };
		split: { ${split_keys:-} };
		schema = ( { name = "sentence"; dtype = "float32"; shape = [ 8 ]; },
		           { name = "label"; dtype = "int64"; shape = [ 2 ]; } );
		fetch: { part_bytes = 65536; $1 };
	CONF
}

begin() { # name, extra keys
	name=$1
	node "$1"
	config "$2"
	"$KILN_BIN/kiln-oneshot" begin --config "$work/kiln.conf" >/dev/null 2>"$work/begin.log"
}

start_fetchd() {
	"$KILN_BIN/kiln-fetchd" 2>>"$KILN_ROOT/fetchd.log" &
	fetchd=$!
}

# An ERROR does not end fetchd: it waits until the trainer asks for another position.
end_fetchd() {
	wait_for 5 test ! -d /proc/$fetchd || kill -KILL $fetchd
	wait $fetchd 2>/dev/null
}

whole_run() { # name, extra keys: prints the reader's lines
	begin "$1" "$2"
	start_fetchd
	timeout 60 "$reader"
	grep -q '^[0-9:]* fetchd: ring:' "$KILN_ROOT/fetchd.log" || cat "$KILN_ROOT/fetchd.log"
	[ "${3:-}" = error ] && kill -KILL $fetchd
	end_fetchd
}

damage() { # file, byte, value
	printf "$3" | dd of="$1" bs=1 seek="$2" conv=notrunc 2>/dev/null
}

data=$work/data
"$make_shards" "$data" train 10 103
"$make_shards" "$data" test 2 50

whole_run one 'decode_workers = 1;' >"$work/one"
like "$(tail -n 1 "$work/one")" END_RUN "a run ends with END_RUN"
is "$(awk '$1 == "DATA" && $2 == 0 && $3 == 0 { n += $5 } END { print n }' "$work/one")" 927 "each train record once an epoch"
is "$(awk '$1 == "END_SEGMENT" { print $2 $3 ":" $5 }' "$work/one" | xargs)" "00:927 10:103 01:927 11:103 20:100" \
	"train, validation, train, validation, test, with their rows"
[ "$(grep '^DATA 0 0' "$work/one" | cut -d' ' -f4-)" != "$(grep '^DATA 0 1' "$work/one" | cut -d' ' -f4-)" ]
ok $? "epochs differ in order"
is "$(grep '^DATA 1 0' "$work/one" | cut -d' ' -f4-)" "$(grep '^DATA 1 1' "$work/one" | cut -d' ' -f4-)" \
	"validation is the same each time"
for workers in 2 4; do
	whole_run "workers$workers" "decode_workers = $workers;" >"$work/other"
	cmp -s "$work/one" "$work/other"
	ok $? "$workers decode workers give the same slots"
done
is "$(sha256sum <"$KILN_ROOT/data/kiln/run/current/plan")" "$(cat "$work"/runs/workers4/*/plan | sha256sum)" \
	"the plan is in the store"
is "$(grep -o '"plan_sha256":[^,]*' "$KILN_ROOT/data/kiln/run/current/run.json" | tr -dc '0-9a-f' | tail -c 64)" \
	"$(sha256sum <"$KILN_ROOT/data/kiln/run/current/plan" | cut -d' ' -f1)" "and its SHA-256 in the record"

order_keys='remainder = "drop";'
whole_run dropped '' >"$work/dropped"
is "$(awk '$1 == "END_SEGMENT" { print $2 $3 ":" $5 }' "$work/dropped" | xargs)" "00:896 10:103 01:896 11:103 20:100" \
	"remainder drop leaves training's last batch out, no other"
batch_rows=1024
whole_run too_few '' error >"$work/too_few"
like "$(tail -n 1 "$work/too_few")" '^ERROR -74 .*9 train shards hold 927 rows, too few for a batch: run.batch_rows is 1024, .*drop' \
	"but a run without a batch is refused"
order_keys= batch_rows=

begin resume ''
start_fetchd
timeout 60 "$reader" --stop-after 17 --save "$work/cursor" >"$work/head"
timeout 60 "$reader" --cursor "$work/cursor" >"$work/tail"
end_fetchd
cat "$work/head" "$work/tail" | cmp -s - "$work/one"
ok $? "a reader that stops and comes back gets the same slots"

begin nowhere ''
start_fetchd
head -c 1024 /dev/zero | tr '\0' '\1' >"$work/cursor"
like "$(timeout 60 "$reader" --cursor "$work/cursor")" '^ERROR -74 .*not a place in this plan' "a wild cursor is refused"
like "$(timeout 60 "$reader" --stop-after 1)" '^DATA 0 0 0 32 32' "and the next reader is served"
kill -KILL $fetchd
end_fetchd

damage "$KILN_ROOT/data/kiln/run/current/plan" 100 '\1'
start_fetchd
wait $fetchd
is $? 65 "a plan that is not the record's: exit 65"
like "$(tail -n 1 "$KILN_ROOT/fetchd.log")" 'SHA-256 .*the run record says' "and both SHA-256 are named"

# A plan from the bucket, with the SHA-256 that the record names, and with settings that are not the configuration's.
forged() { # byte of the plan's settings, value as 8 bytes, what is said, name
	begin "forged$tap_n" ''
	start_fetchd
	timeout 60 "$reader" --stop-after 1 >/dev/null
	kill -KILL $fetchd
	end_fetchd
	record=$KILN_ROOT/data/kiln/run/current
	damage "$record/plan" $((24 + $1)) "$2"
	sed -i "s/\(\"plan_sha256\":[ \t]*\"\)[0-9a-f]*/\1$(sha256sum <"$record/plan" | cut -d' ' -f1)/" "$record/run.json"
	start_fetchd
	"$reader" >/dev/null &
	reader_pid=$!
	wait_for 20 test ! -d /proc/$fetchd || kill -KILL $fetchd
	wait $fetchd
	is $? 65 "$4: exit 65"
	kill -KILL $reader_pid
	wait $reader_pid 2>/dev/null
	like "$(tail -n 1 "$KILN_ROOT/fetchd.log")" "plan: $3: this plan was not made with the run's configuration" 'and the key is named'
}
forged 40 '\0\0\1\0\0\0\0\0' 'run.batch_rows: found 65536, expected 32' 'a forged plan with larger batches'
forged 32 '\0\0\0\0\0\0\0\200' 'order.window_shards: found 9223372036854775808, expected 3' 'with windows of 2^63 shards'

# A third shard changes after the plan was made.
begin changed ''
start_fetchd
timeout 60 "$reader" --stop-after 1 >/dev/null
kill -KILL $fetchd
end_fetchd
touch "$data"/train-0000*
start_fetchd
like "$(timeout 60 "$reader")" '^ERROR -116 train-.*changed: pinned [0-9]+ bytes, [0-9-]+; found [0-9]+ bytes, [0-9-]+' \
	"a changed object: both pins are named"
kill -KILL $fetchd
end_fetchd

# Validation by prefix.
"$make_shards" "$work/prefix" train 4 100
"$make_shards" "$work/prefix" validation 2 50
data=$work/prefix
split_keys='by = "prefix";'
whole_run prefix '' >"$work/prefixed"
is "$(awk '$1 == "END_SEGMENT" { print $2 $3 ":" $5 }' "$work/prefixed" | xargs)" "00:400 10:100 01:400 11:100" \
	"split by prefix: every train shard is trained, validation_glob's are validated"
refused() { # split's keys, exit status, regular expression, name, object that is there when the run begins
	split_keys=$1
	[ -z "${5:-}" ] || : >"$data/$5"
	begin "refused$tap_n" ''
	[ -z "${5:-}" ] || rm "$data/$5"
	start_fetchd
	wait_for 10 test ! -d /proc/$fetchd || kill -KILL $fetchd
	wait $fetchd
	is $? "$2" "$4: exit $2"
	like "$(tail -n 1 "$KILN_ROOT/fetchd.log")" "$3" "naming it"
}
refused 'by = "prefix"; validation_glob = "val-*";' 77 'no object matches split.validation_glob "val-\*"' \
	"a validation_glob that matches nothing" val-0
refused 'test_glob = "tset-*";' 77 'no object matches split.test_glob "tset-\*"' "so for a test_glob of one's own" tset-0
refused 'by = "prefix"; train_glob = "*";' 78 \
	'"validation-00000.* is matched by split.train_glob "\*" and split.validation_glob "validation-\*"' \
	"an object for training and validation"
refused 'test_glob = "*-00003-*";' 78 'train-00003.* is matched by split.train_glob .* and split.test_glob' \
	"held out from training and for the test"
split_keys=

# Large enough to be given up, and to be killed, while it is being fetched.
data=$work/large
"$make_shards" "$data" train 6 150000 plain
order_keys='window_shards = 2;'
whole_run undisturbed '' >"$work/undisturbed"
begin revisit ''
start_fetchd
timeout 120 "$reader" --revisit 25 >"$work/revisited"
like "$(tail -n 1 "$work/revisited")" '^REVISITED 25' "any place of the run can be gone back to" \
	"$(tail -n 2 "$KILN_ROOT/fetchd.log")"
end_fetchd

begin killed ''
start_fetchd
timeout 120 stdbuf -oL "$reader" >"$work/killed" &
follower=$!
kills=0
for lines in 1 900 4000 4001 9000 15000 21000 30000; do
	wait_for 60 eval '[ $(wc -l <"$work/killed") -ge $lines ] || [ ! -d /proc/$follower ]'
	kill -KILL $fetchd 2>/dev/null && kills=$((kills + 1))
	wait $fetchd 2>/dev/null
	start_fetchd
done
wait $follower
cmp -s "$work/undisturbed" "$work/killed" && [ $kills = 8 ]
ok $? "fetchd killed 8 times gives the same slots" "kills: $kills, lines: $(wc -l <"$work/killed") of $(wc -l <"$work/undisturbed")"
end_fetchd
rm -rf "$data"

# Damage: first of a byte of one plain shard's data, then of a length.
data=$work/plain
"$make_shards" "$data" train 4 100 plain
order_keys=
shard=$data/train-00001-of-00004.tfrecord
cp "$shard" "$work/good"
damage "$shard" 40 '\377'
whole_run stop '' error >"$work/stop"
like "$(tail -n 1 "$work/stop")" '^ERROR -74 train-00001-of-00004.tfrecord .*byte 0: the data.s CRC' \
	"policy stop names shard, byte, found and expected"
like "$(cat "$KILN_ROOT/fetchd.log")" 'fetching it once more' "bad bytes are fetched once more first"

whole_run skip 'bad_record = "skip";' >"$work/skip"
like "$(cat "$KILN_ROOT/fetchd.log")" 'train-00001.*the data.s CRC.*; skipping 1 of 100 records' "policy skip says how many"
is "$(awk '$1 == "DATA" && $2 == 0 && $3 == 0 { rows += $5; valid += $6 } END { print rows, rows - valid }' "$work/skip")" \
	"300 1" "policy skip leaves one empty row an epoch, later records do not shift"
whole_run budget 'bad_record = "skip"; skip_records_max = 1;' error >"$work/budget"
like "$(tail -n 1 "$work/budget")" '^ERROR -74 train-00001.* 2 records skipped in this run.*skip_records_max is 1' \
	"until the budget is spent"

cp "$work/good" "$shard"
record=$(($(stat -c %s "$shard") / 100))
damage "$shard" $((record * 60)) '\377'
whole_run length '' error >"$work/length"
like "$(tail -n 1 "$work/length")" "^ERROR -74 train-00001.*byte $((record * 60)): the length.s CRC" "a bad length is named"
whole_run lost 'bad_record = "skip";' >"$work/lost"
is "$(awk '$1 == "END_SEGMENT" && $2 == 0 && $3 == 0 { print $5 }' "$work/lost")" 260 "or loses the rest of its shard"

data=$work/gzip
"$make_shards" "$data" train 4 100
shard=$data/train-00001-of-00004.tfrecord.gz
truncate -s $(($(stat -c %s "$shard") / 2)) "$shard"
whole_run gzip '' error >"$work/gzipped"
like "$(tail -n 1 "$work/gzipped")" '^ERROR -74 train-00001.*ends at byte [0-9]+, in the middle of its stream' "truncated gzip is named"
whole_run gzip_skip 'bad_record = "skip";' >"$work/gzip_skip"
rows=$(awk '$1 == "END_SEGMENT" && $2 == 0 && $3 == 0 { print $5 }' "$work/gzip_skip")
[ "$rows" -gt 200 ] && [ "$rows" -lt 300 ]
ok $? "or loses the rest of its shard" "rows: $rows"

# A shard without records is a plain file of 0 bytes; a gzip file has a header even then.
: >"$shard"
whole_run empty_gzip '' error >"$work/empty"
like "$(tail -n 1 "$work/empty")" '^ERROR -74 train-00001.*ends at byte 0, in the middle of its stream' "a gzip file of 0 bytes is a truncated one"
mv "$shard" "${shard%.gz}"
whole_run empty '' >"$work/empty"
is "$(awk '$1 == "END_SEGMENT" && $2 == 0 && $3 == 0 { print $5 }' "$work/empty")" 200 "a plain one has no records"
data=$work/nothing
mkdir "$data"
: >"$data/train-00000-of-00001.tfrecord"
whole_run nothing '' error >"$work/empty"
like "$(tail -n 1 "$work/empty")" '^ERROR -74 .*1 train shards hold 0 rows, too few' "and no records at all are no run"

# Memory is a budget: 1 MiB, which every window must fit by itself.
data=$work/budget_data
"$make_shards" "$data" train 4 5000 plain
begin small 'memory_bytes = 1048576;'
start_fetchd
wait $fetchd
is $? 78 "windows that cannot fit as stored: exit 78"
like "$(tail -n 1 "$KILN_ROOT/fetchd.log")" 'fetch.memory_bytes: found 1048576, a window of 3 shards takes up to [0-9]+' \
	"with what was found and what is needed"
rm "$data"/*
"$make_shards" "$data" train 4 5000 flat
whole_run inflated 'memory_bytes = 1048576;' error >"$work/inflated"
like "$(tail -n 1 "$work/inflated")" '^ERROR -22 train-.*takes more than 1048576 bytes inflated' "nor inflated"

# The manifest only gives hints.
data=$work/data
for shard in "$data"/*.gz; do
	printf '{"key":"%s","size":%d,"sha256":"%s","records":103}\n' "${shard##*/}" "$(stat -c %s "$shard")" \
		"$(sha256sum <"$shard" | cut -d' ' -f1)"
done >"$data/manifest.jsonl"
whole_run manifest '' >"$work/other"
cmp -s "$work/one" "$work/other" && ! grep -q manifest "$KILN_ROOT/fetchd.log"
ok $? "a manifest that agrees is not mentioned"
sed -i '3s/"size":/"size":1/; 5d' "$data/manifest.jsonl"
whole_run manifest2 '' >"$work/other"
like "$(cat "$KILN_ROOT/fetchd.log")" 'test-00000|train-0000[0-9].*says 1[0-9]+ bytes.*lists [0-9]+ bytes' \
	"one that disagrees: shard and both sizes are named"
like "$(cat "$KILN_ROOT/fetchd.log")" 'names 11 of the run.s 12 shards, 1 of them' "and how many"

# A pool with pages for one ring: the ring of the next run, of another shape, replaces the last one.
node pool
mkdir -p "$KILN_ROOT/run/kiln/huge"
if mount -t hugetlbfs -o pagesize=2M,size=2M none "$KILN_ROOT/run/kiln/huge" 2>/dev/null; then
	whole_run pool '' >"$work/other"
	batch_rows=4096
	begin pool ''
	start_fetchd
	wait_for 10 eval '[ $(grep -c "fetchd: ring: " "$KILN_ROOT/fetchd.log") = 2 ] || [ ! -d /proc/$fetchd ]'
	timeout 60 "$reader" >"$work/large_batch"
	end_fetchd
	batch_rows=
	pages=$(grep -c 'ring: .* on hugepages' "$KILN_ROOT/fetchd.log")
	if [ "$pages" = 0 ]; then
		skip "a ring of another shape fits where the last one was" "no hugepages can be had here"
	else
		cmp -s "$work/one" "$work/other" && [ "$pages" = 2 ] && grep -q '^END_RUN' "$work/large_batch"
		ok $? "a ring of another shape fits where the last one was" "$(tail -n 3 "$KILN_ROOT/fetchd.log")"
	fi
else
	skip "a ring of another shape fits where the last one was" "hugetlbfs cannot be mounted here"
fi

# A pool that has free pages when fetchd looks, and none when it reserves them.
node taken
mkdir -p "$KILN_ROOT/run/kiln/huge"
if mount -t hugetlbfs -o pagesize=2M,size=0 none "$KILN_ROOT/run/kiln/huge" 2>/dev/null; then
	whole_run taken '' >"$work/other"
	cmp -s "$work/one" "$work/other" && grep -q 'ring: .* on normal pages' "$KILN_ROOT/fetchd.log"
	ok $? "hugepages that another process takes: the ring gets normal pages" "$(tail -n 5 "$KILN_ROOT/fetchd.log")"
else
	skip "hugepages that another process takes" "hugetlbfs cannot be mounted here"
fi
