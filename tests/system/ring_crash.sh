#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Kills the writer and the reader of a ring at random, 300 times for each seed, on normal pages and on hugepages.
. "$(dirname "$0")/lib.sh"

crash() { # ring, seed, kills
	found=$("$KILN_BUILD/system/ring_crash" "$1" "$3" "$2" 2>&1)
	ok $? "seed $2 on $4: $found" "$found"
}

for seed in 1 44 4711; do
	crash "$work/ring-$seed" $seed 300 "normal pages"
done

mkdir "$work/huge"
pool=/proc/sys/vm/nr_hugepages
if [ -w $pool ] && echo $(($(cat $pool) + 4)) >$pool && mount -t hugetlbfs none "$work/huge" 2>/dev/null; then
	crash "$work/huge/ring" 7 300 hugepages
	umount "$work/huge"
	echo $(($(cat $pool) - 4)) >$pool
else
	skip "300 kills on hugepages" "they cannot be reserved here"
fi
