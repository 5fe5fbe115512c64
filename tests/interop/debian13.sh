#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Builds Kiln in a container of Debian 13, with its newer gcc, mbedTLS 3.6, expat, libcurl and libconfig, and runs there the
# unit tests that need no OpenCL device, and the system tests of TLS. Prints TAP. The root of the container is kept in
# build/debian13. Needs root and a Debian mirror (tests/mirror).
set -euo pipefail
cd "$(dirname "$0")/../.."
top=$PWD/build/debian13
root=$top/root
log=$top/log
system=(control_remote programs http_faults)
count=0 failed=0

ok() { # exit status, what is shown
	count=$((count + 1))
	if [ "$1" = 0 ]; then
		echo "ok $count - $2"
		return
	fi
	failed=1
	echo "not ok $count - $2"
	tail -n 30 "$log" | sed 's/^/# /'
}

packages() {
	{ sed 's/#.*//' tools/deps/build.list; echo libcmocka-dev python3 procps openssl curl git; } | xargs -n1 | sed 's/|.*//' | sort -u | paste -sd,
}

within() { # command, in the container
	systemd-nspawn --quiet --register=no --keep-unit --console=pipe --directory="$root" --bind="$top/tree:/kiln" --chdir=/kiln \
		bash -c "$1" >"$log" 2>&1 </dev/null
}

mkdir -p "$top"
if [ ! -e "$root/etc/debian_version" ]; then
	rm -rf "$root"
	{ mirror=$(tests/mirror) && mmdebstrap --variant=apt --include="$(packages)" trixie "$root" "$mirror"; } >"$log" 2>&1 ||
		{ ok 1 "a root of Debian 13 with what a build needs"; exit 1; }
fi
rm -rf "$top/tree"
git clone -q . "$top/tree"

try() { # what is shown, command
	local rc=0
	within "$2" || rc=$?
	ok $rc "$1"
	return $rc
}

within 'dpkg-query -W -f "\${Version}" libmbedtls-dev'
try "all programs and tests build with Debian 13's compiler and mbedTLS $(cat "$log")" "make -s -j$(nproc) programs tests" || exit 1
# The container may not reserve hugepages.
for test in $(grep -LE '"tests/(reference|unit/(ops|device|state_of))\.h"' tests/unit/*.c | grep -v hugepage); do
	test=$(basename "$test" .c)
	try "unit/$test" "CMOCKA_MESSAGE_OUTPUT=TAP build/release/unit/$test" || true
done
for test in "${system[@]}"; do
	try "system/$test" "KILN_BIN=/kiln/build/release/bin KILN_BUILD=/kiln/build/release tests/system/$test.sh" || true
done
echo "1..$count"
exit $failed
