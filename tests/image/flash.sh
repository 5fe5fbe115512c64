#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# make flash onto a loop device: what it refuses, what is on the disk afterwards, and that it notices damage.
. "$(dirname "$0")/lib.sh"
loop=
cleanup() {
	umount "$work/mnt" 2>/dev/null
	[ -z "$loop" ] || losetup -d "$loop"
}
flash() { # arguments of make; puts the output into $said
	said=$(make -s flash IMAGE="$image" B="$KILN_BUILD" "$@" 2>&1 </dev/null)
}
refuses() { # name, extended regular expression, arguments of make
	flash "${@:3}"
	is "$?" 2 "$1 is refused"
	like "$said" "$2" "and it says why"
	is "$(head -c 1M "$work/stick" | tr -d '\0' | wc -c)" 0 "nothing is written"
}

built
truncate -s 8G "$work/stick"
loop=$(losetup -f --show "$work/stick" 2>/dev/null)
[ -n "$loop" ] || { skip "make flash" "no loop devices here"; exit; }
conf=config/examples/embedded.conf

# ---- What it refuses ----
refuses "no disk" 'which disk' DEV=
refuses "a plain file" 'no block device' DEV="$work/stick"
refuses "a disk that nobody confirmed" 'not confirmed: CONFIRM=' DEV="$loop"
refuses "another disk's confirmation" "not confirmed: found '/dev/sdz'" DEV="$loop" CONFIRM=/dev/sdz
echo "run: { epoch = 1; };" >"$work/bad.conf"
refuses "a wrong configuration" 'run.epoch' DEV="$loop" CONFIRM="$loop" CONF="$work/bad.conf"
truncate -s 1G "$work/small"
small=$(losetup -f --show "$work/small")
refuses "a disk that is too small" 'too small: 1.0GB' DEV="$small" CONFIRM="$small"
losetup -d "$small"
truncate -s 8G "$work/large"
large=$(losetup -f --show -b 4096 "$work/large")
refuses "a disk with sectors of 4 KiB" 'logical sectors of 4096 bytes' DEV="$large" CONFIRM="$large"
losetup -d "$large"
truncate -s 64M "$work/other"
other=$(losetup -f --show "$work/other")
mkfs.ext4 -q "$other" && mkdir -p "$work/mnt" && mount "$other" "$work/mnt"
flash DEV="$other" CONFIRM="$other"
is $? 2 "a disk that is mounted is refused"
like "$said" "$other is in use: $other on $work/mnt" "and it says where"
umount "$work/mnt"
losetup -d "$other"

# ---- What it writes ----
mkdir -p "$work/box/credentials"
printf 'access_key_id=ID\nsecret_access_key=S\n' >"$work/box/credentials/store"
echo 'ssh-ed25519 AAAA somebody' >"$work/box/authorized_keys"
flash DEV="$loop" CONFIRM="$loop" CONF=$conf FOLDER="$work/box"
ok $? "an image, its configuration and a credential" "$said"
like "$said" 'read back 100 %' "it is read back, with progress"
is "$(mtype -i "$work/stick@@1M" ::config/kiln.conf | cmp - $conf)" "" "kiln.conf is on the ESP"
is "$(mtype -i "$work/stick@@1M" ::config/credentials/store | head -n 1)" "access_key_id=ID" "so is the credential"
is "$(mtype -i "$work/stick@@1M" ::config/authorized_keys)" "$(cat "$work/box/authorized_keys")" "so is who may log in"
is "$(cmp -n $((256 << 20)) -i $((257 << 20)) "$image" "$work/stick")" "" "the first root is the image's"

# ---- A partition ----
partx --add "$loop" 2>/dev/null
if [ -b "${loop}p4" ]; then
	flash DEV="${loop}p4" CONFIRM="${loop}p4"
	is $? 2 "a partition is refused"
	like "$said" "is a partition, not a whole disk: give $loop" "and it says what to give"
	partx --delete "$loop"
else
	skip "a partition is refused" "no partitions of loop devices here"
fi

# ---- A medium that loses written data ----
mkdir -p "$work/bin" && printf '#!/bin/sh\nbmaptool_real=%s\n"$bmaptool_real" "$@" && echo "other bytes" | dd of=%s bs=1 seek=%d conv=notrunc status=none\n' \
	"$(command -v bmaptool)" "$loop" $((300 << 20)) >"$work/bin/bmaptool" && chmod +x "$work/bin/bmaptool"
PATH=$work/bin:$PATH flash DEV="$loop" CONFIRM="$loop"
is $? 2 "a byte that changed behind its back is noticed"
like "$said" 'bytes [0-9]+ to [0-9]+ are not what was written: the medium is damaged' "and it says where"
