# SPDX-License-Identifier: Apache-2.0
# Shared by the system test scripts: TAP, a scratch node, daemons by PID. Source it from tests/system/*.sh.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
KILN_BUILD=${KILN_BUILD:-$PWD/build/release}
KILN_BIN=${KILN_BIN:-$KILN_BUILD/bin}
export PYTHONDONTWRITEBYTECODE=1 # tests leave nothing in the source tree
# Kernels that one test has compiled serve all tests, those of tests/unit too: compiling takes most of the time of a short run.
export POCL_CACHE_DIR=${POCL_CACHE_DIR:-$PWD/build/kernels}
mkdir -p "$POCL_CACHE_DIR"
work=$(mktemp -d /tmp/kiln-test-XXXXXX)
tap_n=0 tap_failed=0

ok() { # condition's exit status, name, detail
	tap_n=$((tap_n + 1))
	if [ "$1" = 0 ]; then
		echo "ok $tap_n - $2"
	else
		echo "not ok $tap_n - $2"
		[ -z "${3:-}" ] || sed 's/^/# /' <<<"$3"
		tap_failed=1
	fi
}

skip() { # name, why
	tap_n=$((tap_n + 1))
	echo "ok $tap_n - $1 # SKIP $2"
}

is() { # found, expected, name, and what else is printed where they differ
	[ "$1" = "$2" ]
	ok $? "$3" "found: $1
expected: $2${4:+
$4}"
}

like() { # text, extended regular expression, name
	grep -qE "$2" <<<"$1"
	ok $? "$3" "found: $1
expected to match: $2"
}

# Makes a node below $work; finish() gives its hugepages back.
node() { # name
	export KILN_ROOT=$work/nodes/$1
	mkdir -p "$KILN_ROOT"
}

# Makes a shard that fits a configuration without a schema of its own: without one no run begins.
a_shard() { # folder
	"$KILN_BUILD/system/make_shards" "$1" train 1 1 plain 512
}

# Waits until the command succeeds. "seconds" is what a quiet machine needs at most: a busy one has three times as long. The
# pauses grow, because a command that is tried again and again takes time from the other tests.
wait_for() { # seconds, command...
	local until=$((SECONDS + 3 * $1)) tries=0
	shift
	until "$@" >/dev/null 2>&1; do
		[ $SECONDS -lt $until ] || return 1
		tries=$((tries + 1))
		if [ $tries -lt 10 ]; then sleep 0.05; else sleep 0.2; fi
	done
}

# Starts a real S3 server (Ceph's radosgw), which runs until the test ends. If none is installed, the test is skipped.
need_attributes() { # name of the test to skip: the disk cache needs extended attributes
	python3 -c 'import os, sys; os.setxattr(sys.argv[1], "user.kiln", b"x")' "$work" 2>/dev/null && return
	skip "$1" "$work has no extended attributes"
	exit
}

# Starts tests/system/fault_proxy.py before the S3 server; its files are in $work/proxy. Sets proxy, its endpoint.
start_fault_proxy() {
	mkdir "$work/proxy"
	/usr/bin/python3 tests/system/fault_proxy.py "$work/proxy" "${KILN_S3_ENDPOINT##*:}" >"$work/proxy/port" 2>"$work/proxy/err" &
	wait_for 20 test -s "$work/proxy/port"
	proxy=http://127.0.0.1:$(cat "$work/proxy/port")
}

start_radosgw() { # name of the test to skip; KILN_S3_NAME is tools/store/radosgw's
	if ! tools/store/radosgw check >/dev/null 2>&1; then
		skip "$1" "radosgw is not installed (packages ceph-mon ceph-osd radosgw ceph-common)"
		exit
	fi
	unset http_proxy https_proxy HTTP_PROXY HTTPS_PROXY all_proxy ALL_PROXY AWS_SESSION_TOKEN CURL_CA_BUNDLE SSL_CERT_FILE
	tools/store/radosgw start "$work/rgw" >"$work/rgw.log" 2>&1 || { ok 1 "radosgw starts" "$(tail -n 5 "$work/rgw.log")"; exit; }
	# shellcheck disable=SC1091
	. "$work/rgw/env"
}

upload() { # folder, URL: uploads the folder's files
	local file
	for file in "$1"/*; do
		"$KILN_BUILD/system/store" upload "$2" "${file##*/}" "$file" >/dev/null || ok 1 "upload of ${file##*/}"
	done
}

ended() { # pids
	! kill -0 "$@"
}

# KILN_COUNTS: programs write which of their lines ran (make coverage), but not when SIGKILL ends them.
end() { # pids
	[ -z "${KILN_COUNTS:-}" ] || { kill -TERM "$@" && wait_for 10 ended "$@"; }
	kill -KILL "$@"
}

finish() {
	local pids node
	# A child that a signal ends before it has begun its command has the traps of this shell.
	[ "$BASHPID" = $$ ] || exit 1
	pids=$(jobs -p)
	[ -z "$pids" ] || end $pids 2>/dev/null
	wait 2>/dev/null
	for node in "$work"/nodes/*/; do
		KILN_ROOT=${node%/} "$KILN_BIN/kiln-oneshot" release
	done
	type cleanup >/dev/null 2>&1 && cleanup
	[ ! -e "$work/rgw" ] || tools/store/radosgw stop "$work/rgw"
	rm -rf "$work"
	echo "1..$tap_n"
	exit $tap_failed
}
trap finish EXIT
