#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Memory, disk and kernel refuse one call after the other, of each verb of kiln-oneshot, of kiln-uploadd, kiln-controld and kiln pki:
# the program ends with a sentence and a status that systemd tries again, nothing that it holds is lost, and its next start ends as
# if nothing had failed (failing_calls.py).
# KILN_FAILING_EVERY: 1 = each call fails (tests/soak/failing_calls.sh); N, a prime number = each N-th call.
# shellcheck source=tests/system/lib.sh
. "$(dirname "$0")/lib.sh"
grep -q __asan_init "$KILN_BIN/kiln-oneshot" && { skip "failing calls" "a sanitizer has the allocator"; exit; }

python3 tests/system/failing_calls.py "$work" --bin "$KILN_BIN" --build "$KILN_BUILD" --every "${KILN_FAILING_EVERY:-53}" \
	>"$work/tap" 2>"$work/err"
ok $? "the driver of the cases ends" "$(tail -n 20 "$work/err")"
while IFS= read -r line; do
	case $line in
	'ok '*) ok 0 "${line#ok }" ;;
	'not ok '*) ok 1 "${line#not ok }" ;;
	*) echo "$line" ;;
	esac
done <"$work/tap"
