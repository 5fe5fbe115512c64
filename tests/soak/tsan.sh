#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The daemons under ThreadSanitizer, through the tests that move most data between their threads.
. "$(dirname "$0")/../system/lib.sh"
make -s -j"$(nproc)" FLAVOUR=tsan programs >"$work/make.log" 2>&1 || { ok 1 'it builds' "$(tail -n 5 "$work/make.log")"; exit; }
export TSAN_OPTIONS="log_path=$work/report exitcode=0" KILN_BIN=$PWD/build/tsan/bin
for name in lanes sources order_modes spill cache stalls; do
	bash tests/system/$name.sh >"$work/$name.log" 2>&1
	ok $? "$name passes under ThreadSanitizer" "$(grep -A 4 '^not ok' "$work/$name.log")"
	reports=$(cat "$work"/report.* 2>/dev/null)
	is "$(grep -c WARNING <<<"$reports")" 0 'which has nothing to report' || head -n 40 <<<"$reports"
	rm -f "$work"/report.*
done
