#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Ranks started by Open MPI's mpirun: every result against a reference of the same order, bit for bit; a rank that fails ends all;
# and no program of Kiln is linked with MPI.
. "$(dirname "$0")/lib.sh"
library=$KILN_BIN/kiln-ranks.so

needed() { # files: the libraries that they are linked with
	for file in "$@"; do
		readelf -d "$file" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p'
	done | sort -u
}
is "$(needed "$KILN_BIN"/kiln "$KILN_BIN"/kiln-{traind,fetchd,uploadd,controld,oneshot} | grep -E 'mpi|open-(pal|rte)|ranks')" "" "no program is linked with MPI"
like "$(needed "$library")" '^libmpi\.so' "kiln-ranks.so is linked with MPI"

if ! command -v mpirun >/dev/null; then
	skip "several ranks" "no mpirun here: tools/deps/install test"
	exit
fi
export OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_btl=self,vader
# Open MPI leaks, and unloads what leaked, so that no list can name it; tests/unit/ranks looks for leaks of the module.
export ASAN_OPTIONS=detect_leaks=0
started() { # ranks that are started, arguments of ranks_peer after the library: what all of them print
	timeout 60 mpirun --allow-run-as-root --oversubscribe -n "$1" "$KILN_BUILD/system/ranks_peer" "$library" "${@:2}" 2>&1
}

boxes=boxes
[ "$(id -u)" = 0 ] || boxes= # only root gives itself another host name
for n in 1 2 3 4 6; do # boxes of two: a single one, an odd rank, two and three boxes
	out=$(started $n $n exchange $boxes)
	ok $? "world of $n: sums of both types, chunks, broadcasts, records and places are right" "$out"
done

fails() { # words of the message, name, arguments of started
	local out
	out=$(started "${@:3}")
	[ $? != 0 ] && grep -qE "$1" <<<"$out"
	ok $? "$2" "expected to match: $1
$out"
}
fails 'rank 1 on .* ends all ranks, with exit code 69' "a rank that gives up ends all, and is named" 3 3 abort 1
fails 'rank 1 .*signal 9' "a rank that is killed ends all, and is named" 3 3 kill 1
fails 'rank 1 on .* sends nothing for 2 s' "a rank that hangs is named by those that wait" 3 3 silent 1
fails 'sent (more than the expected|[0-9]+ bytes, expected)' "a rank with fewer values is found" 3 3 short 1
fails 'rank 1 on .* sent (more than the expected|[0-9]+ bytes, expected)' "a rank with more values is found" 3 3 long 1
fails 'sent (more than the expected|[0-9]+ bytes, expected)' "a rank whose values travel as another type is found" 3 3 bfloat16 1
fails 'rank 1 on .* has build 2, but rank 0 on .* has build 1' "a rank of another build is refused" 3 3 other 1
fails 'a world of 2, expected one of 3' "another world than expected is refused" 2 3 exchange
out=$("$KILN_BUILD/system/ranks_peer" "$library" 2 exchange 2>&1)
[ $? != 0 ] && grep -q 'a world of 1, expected one of 2' <<<"$out"
ok $? "a rank that nobody launched is refused" "$out"
