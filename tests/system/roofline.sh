#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# tests/bench/roofline.py reads the figures of its README, and no figure is below what the device can.
. "$(dirname "$0")/lib.sh"
roofline() { # sed command for the README
	sed "$1" tests/bench/README.md >"$work/README.md"
	said=$(tests/bench/roofline.py "$work/README.md" 2>&1)
	code=$?
}
roofline ''
is "$code" 0 "every figure is found, and none is impossible" "$said"
is "$(grep -cE '^\| .* us \| [1-9][0-9]* % \|' <<<"$said")" 9 "a row for each benchmark" "$said"
is "$(grep -c '^| `.*[0-9] % |$' <<<"$said")" 9 "a row for the occupancy of each kernel" "$said"
is "$(grep -vxFf tests/bench/README.md <<<"$said")" "" "README has this table"
roofline 's/140 us: 4.2 TB/100 us: 4.2 TB/'
like "$code $(grep '^| Adam' <<<"$said")" '^1 .*memory \| 100 us' "a figure above the bandwidth fails"
roofline 's/; 4 | 55; 7 of 11; 4 |/; 4 | 55; 7 of 11; 8 |/'
like "$said" '`adam` \| 100 % \|' "the occupancy is that of README's table"
roofline '/^| Adam, 21 M/d'
like "$code $said" '^1 .*README has no figure for Adam, 21 M' "a figure that is missing fails"
