#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Windows that do not fit into fetch.memory_bytes: windows read ahead are stored on disk, and the order stays the same.
. "$(dirname "$0")/lib.sh"
make_shards=$KILN_BUILD/system/make_shards reader=$KILN_BUILD/system/fetch_reader

begin() { # name, data, order's keys, fetch's keys
	node "$1"
	cat >"$work/kiln.conf" <<-CONF
		run: { name = "t"; epochs = 2; batch_rows = 32; };
		source: { url = "file://$work/$2"; };
		sink: { url = "file://$work/runs/$1"; };
		ring: { small_pages = true; };
		order: { $3 };
		schema = ( { name = "sentence"; dtype = "float32"; shape = [ 8 ]; },
		           { name = "label"; dtype = "int64"; shape = [ 2 ]; } );
		fetch: { $4 };
	CONF
	"$KILN_BIN/kiln-oneshot" begin --config "$work/kiln.conf" >/dev/null 2>"$KILN_ROOT/begin.log"
}

start_fetchd() {
	"$KILN_BIN/kiln-fetchd" 2>>"$KILN_ROOT/fetchd.log" &
	fetchd=$!
}

whole_run() { # name, data, order's keys, fetch's keys
	begin "$@"
	start_fetchd
	timeout 60 "$reader"
	wait_for 10 test ! -d /proc/$fetchd || kill -KILL $fetchd
	wait $fetchd 2>/dev/null
}
spilled='windows ahead do not fit fetch.memory_bytes, 1[05][0-9]+: [0-9]+ bytes of them lie in .*/data/kiln/cache'

"$make_shards" "$work/plain" train 12 4000 plain
"$make_shards" "$work/plain" test 2 100 plain
"$make_shards" "$work/gzip" train 12 4000
for kind in plain gzip; do
	memory=$([ $kind = plain ] && echo 1048576 || echo 1572864)
	for lanes in 1 4; do
		keys="lanes = $lanes; window_shards = 2;"
		whole_run "$kind-$lanes" $kind "$keys" '' >"$work/roomy"
		! grep -q 'lie in' "$KILN_ROOT/fetchd.log"
		ok $? "$kind, $lanes lanes: nothing is on disk while memory suffices"
		whole_run "$kind-$lanes-tight" $kind "$keys" "memory_bytes = $memory;" >"$work/tight"
		like "$(cat "$KILN_ROOT/fetchd.log")" "$spilled" "$kind, $lanes lanes: what does not fit lies on disk"
		cmp -s "$work/roomy" "$work/tight" && grep -q END_RUN "$work/tight"
		ok $? "$kind, $lanes lanes: the slots are the same"
		is "$(ls "$KILN_ROOT/data/kiln/cache" 2>/dev/null | grep -c spill)" 0 "$kind, $lanes lanes: and no file is left"
	done
done

# A disk without free space: the next window waits for the memory of the current one. Where even one window does not fit, an
# error says so, and the run goes on once there is space.
small_disk() {
	cache=$KILN_ROOT/data/kiln/cache
	mkdir -p "$cache"
	mount -t tmpfs -o size=256k none "$cache" 2>/dev/null
}
cleanup() {
	for name in full full-4 fast-plain fast-gzip; do
		umount "$work/nodes/$name/data/kiln/cache" 2>/dev/null
	done
}
begin full plain 'window_shards = 2;' 'memory_bytes = 1048576;'
if small_disk; then
	start_fetchd
	timeout 60 "$reader" >"$work/tight"
	wait $fetchd 2>/dev/null
	whole_run room plain 'window_shards = 2;' '' >"$work/roomy"
	cmp -s "$work/roomy" "$work/tight"
	ok $? "a full disk stops no run that fits the memory one window at a time" "$(tail -n 1 "$work/tight")"
	for kind in plain gzip; do
		keys='mode = "fast"; window_shards = 2;'
		begin "fast-$kind" $kind "$keys" "memory_bytes = $([ $kind = plain ] && echo 1048576 || echo 1572864);"
		small_disk
		start_fetchd
		timeout 60 "$reader" --rows | grep -v ^DATA >"$work/tight"
		wait_for 10 test ! -d /proc/$fetchd || kill -KILL $fetchd
		wait $fetchd 2>/dev/null
		begin "fast-$kind-room" $kind "$keys" ''
		start_fetchd
		timeout 60 "$reader" --rows | grep -v ^DATA >"$work/roomy"
		wait $fetchd
		grep -q END_RUN "$work/tight" && cmp -s <(sort "$work/roomy") <(sort "$work/tight")
		ok $? "a full disk stops no run in fast order either: every record comes once a pass, $kind" "$(tail -n 1 "$work/tight")"
	done
	begin full-4 plain 'lanes = 4; window_shards = 2;' 'memory_bytes = 1048576;'
	small_disk
	start_fetchd
	like "$(timeout 60 "$reader" | tail -n 1)" \
		'^ERROR -28 +train-.*: .*/data/kiln/cache: cannot spill [0-9]+ bytes .*fetch.memory_bytes.*No space left on device' \
		"else it is named, and what was wanted of it"
	mount -o remount,size=64m "$cache"
	timeout 60 "$reader" >"$work/tight"
	whole_run room-4 plain 'lanes = 4; window_shards = 2;' '' >"$work/roomy"
	cmp -s "$work/roomy" "$work/tight"
	ok $? "once there is space the next reader gets the whole run"
else
	skip "a full disk stops no run" "tmpfs cannot be mounted here"
fi
