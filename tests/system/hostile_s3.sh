#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# An S3 server that changes its answers, by seed (hostile_s3.py): kiln-fetchd never crashes, stays within a bound of memory,
# gives no record that is not in the shards, and ends with a sentence that names the object. KILN_HOSTILE_CASES cases (24) of the
# seed KILN_HOSTILE_SEED (1). Where kiln-fetchd is built with ASan, that one is tested.
# shellcheck source=tests/system/lib.sh
. "$(dirname "$0")/lib.sh"
unset http_proxy https_proxy HTTP_PROXY HTTPS_PROXY all_proxy ALL_PROXY AWS_SESSION_TOKEN
fetchd=build/asan/bin/kiln-fetchd
[ -x $fetchd ] || fetchd=$KILN_BIN/kiln-fetchd

"$KILN_BUILD/system/make_shards" "$work/data" train 4 300 plain
"$KILN_BUILD/system/make_shards" "$work/data" test 2 200
python3 tests/system/hostile_s3.py "$work" --fetchd "$fetchd" --reader "$KILN_BUILD/system/fetch_reader" --bin "$KILN_BIN" \
	--seed "${KILN_HOSTILE_SEED:-1}" --cases "${KILN_HOSTILE_CASES:-24}" >"$work/tap" 2>"$work/err"
ok $? "the driver of the cases ends" "$(tail -n 20 "$work/err")"
while IFS= read -r line; do
	case $line in
	'ok '*) ok 0 "${line#ok }" ;;
	'not ok '*) ok 1 "${line#not ok }" ;;
	*) echo "$line" ;;
	esac
done <"$work/tap"
