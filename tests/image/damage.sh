#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Damages bytes of the root, once where every boot reads them, and once where only a run reads them: the box notices, and
# boots the other slot by itself.
. "$(dirname "$0")/lib.sh"

damage() { # byte of slot A
	printf damage | dd of="$disk" bs=1 seek=$(($(partition_start kiln-root-a) + $1)) conv=notrunc status=none
}

last_attempt() { # counts slot A's attempts as nearly used up: one failure is enough
	grub-editenv "$work/grubenv" create
	grub-editenv "$work/grubenv" set A_TRY=2
	esp_put "$work/grubenv" kiln/grubenv
}

goes_to_the_other() { # what is damaged
	power_on
	wait_for "$BOOT_S" console_says 'Kiln: slot B, attempt 1'
	booted "$1 is damaged: the box boots"
	console_says 'Kiln: slot A, attempt 3'
	ok $? "it tried that slot"
	expect "and runs on the other" '^B$' "sed -n 's/.*rauc.slot=\([AB]\).*/\1/p' /proc/cmdline"
	marked() { inside 'grub-editenv /efi/kiln/grubenv list' | xargs | grep -q 'A_TRY=3.*B_TRY=0'; }
	wait_for 120 marked
	ok $? "which is marked good, and the damaged one is not" "$(inside 'grub-editenv /efi/kiln/grubenv list')"
	cut_power
}

# Prints a byte of slot A that a file is stored in.
byte_of() { # file
	local at sum start size=$((256 << 20))
	start=$(partition_start kiln-root-a)
	sum_of() { unsquashfs -o "$start" -cat "$disk" "$1" 2>/dev/null | cksum; }
	sum=$(sum_of "$1")
	for ((at = 1 << 20; at < size; at += 4 << 20)); do
		dd if="$disk" bs=1 skip=$((start + at)) count=6 status=none >"$work/six"
		damage $at
		if [ "$(sum_of "$1")" != "$sum" ]; then echo $at; return; fi
		dd if="$work/six" of="$disk" bs=1 seek=$((start + at)) conv=notrunc status=none
	done
	return 1
}

built
new_disk 3G
damage 8
last_attempt
goes_to_the_other "the superblock of a root"

new_disk 3G
unsquashfs -o "$(partition_start kiln-root-a)" -l "$disk" 2>/dev/null | sed -n 's,^squashfs-root/\(.*/libLLVM-[0-9.]*so.*\),\1,p' >"$work/library"
byte_of "$(tail -n 1 "$work/library")" >"$work/byte"
ok $? "a byte of the compiler of kernels, which no boot reads" "$(cat "$work/library")"
last_attempt
goes_to_the_other "it"
