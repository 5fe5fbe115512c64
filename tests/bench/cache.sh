# SPDX-License-Identifier: Apache-2.0
# Shared by the benchmarks of the cache: shards of 128 MiB in the cache, on a real disk. They came from nginx, which does not
# have them any more, so every byte has to come from the cache. KILN_BENCH_DISK is a folder on the disk (/var/tmp). Source it.
. "$(dirname "${BASH_SOURCE[0]}")/ingest.sh"
disk=$(mktemp -d "${KILN_BENCH_DISK:-/var/tmp}/kiln-cache-XXXXXX")
trap 'rm -rf "$disk"; clean_up' EXIT
records=$((16 * 63732))
cache='fetch: { cache_bytes = 100000000000L; cache_spare_bytes = 0; };'

node_made() {
	mkdir -p "$KILN_ROOT/data/kiln" "$disk/cache"
	ln -s "$disk/cache" "$KILN_ROOT/data/kiln/cache"
}

# One pass of cat or dd over the files, as a peer's round.
peer_round() { # peer, program and arguments before the file
	local start end user system peer=$1
	shift
	start=$(date +%s%N)
	{ time find "$disk/cache/objects" -type f -exec "$@" {} + >/dev/null 2>"$work/peer.log"; } 2>"$work/time"
	end=$(date +%s%N)
	read -r user system <"$work/time"
	awk "BEGIN { print $records, $(cached), ($end - $start) / 1e9, $user + $system }" >>"$work/$peer"
}

dd_each() {
	for file in "$@"; do dd if="$file" of=/dev/null bs=8M iflag=direct; done
}

cached() {
	find "$disk/cache/objects" -type f -printf '%s\n' | awk '{ n += $1 } END { printf "%.0f", n }'
}

forget() {
	find "$disk/cache/objects" -type f -exec dd if={} iflag=nocache count=0 status=none \;
}

shards plain 16 63732 plain
start_nginx plain
config plain 1 "$cache"
# fetchd does not cache shards that arrive faster than the disk can write. A later run caches the rest.
for ((tries = 0; tries < 9; tries++)); do
	kiln_round
	[ "$(cached)" != "$kiln_bytes" ] || break
done
[ "$(cached)" = "$kiln_bytes" ] || { echo "the cache holds $(cached) bytes of $kiln_bytes" >&2; exit 1; }
sync "$disk"
pass_bytes=$kiln_bytes
stored() { echo "$pass_bytes"; }
rm -r "$work"/bucket/plain
rm "$work/kiln" "$work/first"
export -f dd_each
