#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# fetchd and a reader: order, resume, death, damage.
. "$(dirname "$0")/lib.sh"
make_shards=$KILN_BUILD/system/make_shards reader=$KILN_BUILD/system/fetch_reader

config() { # extra keys
	cat >"$work/kiln.conf" <<-CONF
		run: { name = "t"; epochs = 2; batch_rows = 32; };
		source: { url = "file://$data"; };
		sink: { url = "file://$work/runs/$name"; };
		ring: { small_pages = true; };
		order: { window_shards = 3; };
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

whole_run() { # name, extra keys: prints the reader's lines
	begin "$1" "$2"
	start_fetchd
	timeout 60 "$reader" && grep -q . "$KILN_ROOT/fetchd.log"
	# An ERROR does not end fetchd: it waits for the trainer's next wish.
	wait_for 5 test ! -d /proc/$fetchd || kill -KILL $fetchd
	wait $fetchd 2>/dev/null
}

data=$work/data
"$make_shards" "$data" train 10 103
"$make_shards" "$data" test 2 50

whole_run one 'decode_workers = 1;' >"$work/one"
like "$(tail -n 1 "$work/one")" END_RUN "a run ends with END_RUN"
is "$(awk '$1 == "DATA" && $2 == 0 && $3 == 0 { n += $5 } END { print n }' "$work/one")" 927 "each train record once an epoch"
is "$(grep -c END_SEGMENT "$work/one")" 5 "train, validation, train, validation, test"
[ "$(grep '^DATA 0 0' "$work/one" | cut -d' ' -f4-)" != "$(grep '^DATA 0 1' "$work/one" | cut -d' ' -f4-)" ]
ok $? "epochs differ in order"
for workers in 2 5; do
	whole_run "workers$workers" "decode_workers = $workers;" >"$work/other"
	cmp -s "$work/one" "$work/other"
	ok $? "$workers decode workers give the same slots"
done
is "$(cat "$KILN_ROOT/data/kiln/run/current/plan" | sha256sum | cut -d' ' -f1)" \
	"$(cat "$work"/runs/workers5/*/plan | sha256sum | cut -d' ' -f1)" "the plan is in the store"

begin resume ''
start_fetchd
timeout 60 "$reader" --stop-after 17 --save "$work/cursor" >"$work/head"
timeout 60 "$reader" --cursor "$work/cursor" >"$work/tail"
wait $fetchd
cat "$work/head" "$work/tail" | cmp -s - "$work/one"
ok $? "a reader that stops and comes back gets the same slots"

# Enough to read that the kills land in the middle.
data=$work/more
"$make_shards" "$data" train 40 12000
whole_run undisturbed '' >"$work/undisturbed"
begin killed ''
start_fetchd
timeout 100 "$reader" >"$work/killed" &
follower=$!
kills=0
while kill -0 $follower 2>/dev/null && [ $kills -lt 12 ]; do
	sleep 0.$((RANDOM % 3))$((RANDOM % 9))
	kill -KILL $fetchd 2>/dev/null && kills=$((kills + 1))
	wait $fetchd 2>/dev/null
	start_fetchd
done
wait $follower
cmp -s "$work/undisturbed" "$work/killed" && [ $kills -ge 3 ]
ok $? "fetchd killed $kills times gives the same slots"
kill -KILL $fetchd 2>/dev/null

# Damage: one byte of one plain shard's data, then of a length.
data=$work/plain
"$make_shards" "$data" train 4 100 plain
shard=$data/train-00001-of-00004.tfrecord
printf '\xff' | dd of="$shard" bs=1 seek=40 conv=notrunc 2>/dev/null
whole_run stop '' >"$work/stop" 2>&1
like "$(tail -n 1 "$work/stop")" 'ERROR -74 train-00001.*byte 0: the data.s CRC' "policy stop names shard, byte, found and expected"
kill -KILL $fetchd 2>/dev/null

whole_run skip 'bad_record = "skip";' >"$work/skip"
is "$(awk '$1 == "DATA" && $2 == 0 && $3 == 0 { rows += $5; valid += $6 } END { print rows - valid }' "$work/skip")" 1 \
	"policy skip leaves one empty row an epoch"
