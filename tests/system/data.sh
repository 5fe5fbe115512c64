#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The initramfs and a box's last partition: the functions of kiln-data, on files in the place of partitions.
. "$(dirname "$0")/lib.sh"

for program in /sbin/mkfs.ext4 /sbin/e2fsck dumpe2fs; do
	command -v $program >/dev/null || { skip "a box's /data" "no $program here (package e2fsprogs)"; exit; }
done
# Source the script up to the search for the disk. The functions below replace programs of an initramfs; the kernel's log is a
# file.
sed -e '/^\. \/scripts/d' -e '/^modprobe/,$d' -e "s,/dev/kmsg,$work/kmsg,; s,/run/kiln,$work/run/kiln," \
	rootfs/overlay/etc/initramfs-tools/scripts/local-bottom/kiln-data >"$work/functions"
log_begin_msg() { :; }
log_end_msg() { :; }
log_warning_msg() { :; }
set -- boot
# shellcheck disable=SC1091
. "$work/functions"
argument() { [ "$1" != kiln.reset ] || echo "$reset"; }
mount() { /sbin/e2fsck -n "$data" >"$work/fsck" 2>&1; } # whether it could be mounted
data=$work/disk rootmnt=$work/root reset=

new_disk() { # how
	rm -f "$data"
	truncate -s 32M "$data"
	[ "$1" = empty ] || /sbin/mkfs.ext4 -q -F "$data"
	cp "$data" "$work/before"
}
is_as_before() { [ "$(dumpe2fs -h "$data" 2>/dev/null | grep UUID)" = "$(dumpe2fs -h "$work/before" 2>/dev/null | grep UUID)" ]; }
is_new() { ! is_as_before && [ "$(dumpe2fs -h "$data" 2>/dev/null | sed -n 's/.*volume name: *//p')" = kiln-data ]; }

new_disk empty
mount_it && is_new
ok $? "nothing was ever written to it: it is made" "$(cat "$work/fsck")"
new_disk made
mount_it && is_as_before
ok $? "one that was made is left alone" "$(cat "$work/fsck")"
# mke2fs flushes all else before it writes the superblock.
new_disk made
dd if=/dev/zero of="$data" bs=1024 seek=1 count=1 conv=notrunc status=none
mount_it && is_new
ok $? "the power was cut while it was made: it is made again" "$(cat "$work/fsck")"
new_disk made
reset=1
mount_it && is_new
ok $? "a factory reset makes it anew" "$(cat "$work/fsck")"
reset=
new_disk made
head -c 16M /dev/urandom | dd of="$data" conv=notrunc status=none
cp "$data" "$work/before"
! mount_it && cmp -s "$data" "$work/before"
ok $? "one that is damaged beyond repair is left as it is"
like "$(cat "$work/kmsg")" 'is damaged, and not repaired by itself' "and it says so"
new_disk made
(
	dd() { return 1; }
	mount_it && is_as_before
)
ok $? "what cannot be read is not made anew" "$(cat "$work/fsck")"

# ---- Marks for the box ----
mkdir "$work/run"
provided() { # how, kiln.reset, marks, name
	new_disk "$1"
	reset=$2
	rm -rf "$work/run/kiln" "$work/mounts"
	provide
	is "$(ls "$work/run/kiln" 2>/dev/null)" "$3" "$4"
}
provided empty "" "" "a new one: nothing"
provided empty 1 reset "a factory reset: the file that asked for it is still there"
mount() { [ "$2" != ext4 ] && echo "$*" >>"$work/mounts"; }
provided made "" no-data "it cannot be mounted"
like "$(cat "$work/mounts")" "^-t tmpfs .* $rootmnt/data$" "memory is in its place"
provided made 1 no-data "nor by a factory reset: what asked for it stays"
