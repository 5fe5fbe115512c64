#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The same commit and packages make the same bytes.
. "$(dirname "$0")/lib.sh"

built
again=${image%/*}/again.img
cleanup() { rm -f "${again%.img}".{img,bmap,packages}; }
GPU=cpu KERNEL=amd64 SOURCE_DATE_EPOCH=$(sed -n '1s/.*SOURCE_DATE_EPOCH=//p' "${image%.img}.packages") tools/mkimage "$again" >"$work/log" 2>&1
ok $? "the image is built once more" "$(cat "$work/log")"
is "$(diff <(tail -n +2 "${image%.img}.packages") <(tail -n +2 "${again%.img}.packages"))" "" "of the same packages"
is "$(cmp "$image" "$again")" "" "it has the same bytes"
like "$(tail -n 1 "$work/log")" 'written; root [0-9]+MB, [0-9]+ packages' "and says how large it is"
