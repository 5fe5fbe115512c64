#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Uploads of event files: closed files once, the growing file again and again. The uploaded bytes grow with the number of
# points and not with its square. Lines "# FLUSHES SEGMENT_BYTES POINTS_BYTES UPLOADED_BYTES" have the figures.
. "$(dirname "$0")/lib.sh"
a_shard "$work/data"
flushes=${KILN_EVENT_FLUSHES:-40} points=${KILN_EVENT_POINTS:-20} segment=${KILN_EVENT_SEGMENT:-16384}

sizes() { # folder
	find "$1/logs/steps" -name 'events.*' -printf '%s\n' 2>/dev/null | awk '{ s += $1 } END { print s + 0 }'
}

is_stored() {
	[ "$(sizes "$stored")" = "$(sizes "$spool")" ]
}

uploaded() {
	"$KILN_BUILD/system/show_status" uploadd bytes
}

# Each flush is written completely before uploadd looks, and uploaded completely before the next.
upload_events() { # flushes, segment_bytes; sets bytes, written
	local id spool stored before uploadd writer i
	node "n$1-$2"
	cat >"$work/kiln.conf" <<-CONF
		run: { name = "t"; };
		source: { url = "file://$work/data"; };
		sink: { url = "file://$work/runs/$1-$2"; };
		tensorboard: { segment_bytes = $2; upload_s = 0; };
	CONF
	id=$("$KILN_BIN/kiln-oneshot" begin --config "$work/kiln.conf" 2>>"$KILN_ROOT/log")
	spool=$KILN_ROOT/data/kiln/spool/traind/$id stored=$work/runs/$1-$2/$id
	mkdir -p "$spool/logs/steps"
	"$KILN_BIN/kiln-uploadd" 2>>"$KILN_ROOT/log" &
	uploadd=$!
	wait_for 20 test -e "$stored/run.json"
	sleep 0.2
	before=$(uploaded)
	coproc WRITER { "$KILN_BUILD/system/write_events" "$spool/logs/steps" "$2" "$points"; }
	writer=$WRITER_PID
	for ((i = 0; i < $1; i++)); do
		kill -STOP $uploadd
		echo >&"${WRITER[1]}"
		read -r -u "${WRITER[0]}" _
		kill -CONT $uploadd
		wait_for 20 is_stored || break
	done
	is "$i" "$1" "$1 flushes with files of $2 bytes are all in the store"
	written=$(sizes "$spool")
	sleep 0.5 # the page
	bytes=$(($(uploaded) - before))
	echo "# $1 $2 $written $bytes"
	for file in "$spool"/logs/steps/*; do
		cmp -s "$file" "$stored/logs/steps/${file##*/}" || echo "${file##*/}"
	done >"$work/differ"
	is "$(cat "$work/differ")" "" "and are there as they are here"
	kill -KILL $uploadd $writer
	wait $uploadd $writer 2>/dev/null
}

within() { # value, least, most, name
	[ "$1" -ge "$2" ] && [ "$1" -le "$3" ]
	ok $? "$4" "found $1, expected $2 .. $3"
}

upload_events "$flushes" "$segment"
half=$bytes
upload_events $((2 * flushes)) "$segment"
within "$bytes" $((half * 17 / 10)) $((half * 23 / 10)) "twice the flushes, twice the bytes"
within "$bytes" "$written" $((written + 2 * flushes * segment)) "each flush at most a file's bound beside what is new"
upload_events "$flushes" 1073741824
half=$bytes
upload_events $((2 * flushes)) 1073741824
within "$bytes" $((half * 34 / 10)) $((half * 46 / 10)) "without a bound: four times the bytes"
