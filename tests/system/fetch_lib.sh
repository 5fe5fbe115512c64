# SPDX-License-Identifier: Apache-2.0
# Shared by the tests of fetchd and a reader on one node, beside lib.sh. The test defines config(), which writes
# $work/kiln.conf.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
make_shards=$KILN_BUILD/system/make_shards reader=$KILN_BUILD/system/fetch_reader

begin() { # name, further arguments of config
	node "$1"
	config "$@"
	"$KILN_BIN/kiln-oneshot" begin --config "$work/kiln.conf" >/dev/null 2>"$KILN_ROOT/begin.log"
}

start_fetchd() { # arguments
	"$KILN_BIN/kiln-fetchd" "$@" 2>>"$KILN_ROOT/fetchd.log" &
	fetchd=$!
}

whole_run() { # arguments of begin: prints the reader's lines
	begin "$@"
	start_fetchd
	timeout 60 "$reader" --rows
	kill $fetchd 2>/dev/null
	wait $fetchd
}

revisited() { # count, name: a reader of the same run returns to so many positions
	start_fetchd
	like "$(timeout 120 "$reader" --revisit "$1" | tail -n 1)" "^REVISITED $1" "$2"
	wait $fetchd
}

# Puts a slow reader's lines into $work/killed, and kills fetchd whenever the next expression matches a line.
killed_at() { # regular expressions of lines
	local at follower
	start_fetchd
	timeout 120 stdbuf -oL "$reader" --pace-ms 5 >"$work/killed" &
	follower=$!
	for at in "$@"; do
		wait_for 60 grep -q "$at" "$work/killed"
		kill -KILL $fetchd && wait $fetchd
		start_fetchd
	done 2>/dev/null
	wait $follower
}

rows() { # split[, segment], file: prints the split's records, in order
	grep "^ROW ${*:1:$#-1} " "${!#}" | cut -d' ' -f4
}

sorted() { # the same arguments: prints the records, sorted
	rows "$@" | sort
}
