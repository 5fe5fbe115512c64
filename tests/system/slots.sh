#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The slot that the boot loader chooses, whatever a power cut made of its variables and of an update: GRUB as a program of
# this machine on a small ESP. tests/image/slots.sh compares this program with the GRUB that boots.
. "$(dirname "$0")/lib.sh"
. tests/image/slots_lib.sh

for program in grub-emu grub-editenv mkfs.vfat mcopy mdel; do
	command -v $program >/dev/null || { skip "which slot boots" "no $program here: tools/deps/install image"; exit; }
done
esp=$work/esp
export MTOOLS_SKIP_CHECK=1

esp_put() { # file, where
	mcopy -o -i "$esp" "$1" "::$2"
}

text() { # where, text
	printf '%s\n' "$2" >"$work/text"
	esp_put "$work/text" "$1"
}

gone() { # files
	local file
	for file in "$@"; do mdel -i "$esp" "::$file"; done
}

takes() { # name, extended regular expression for the output of several boots in a row, number of boots (1)
	like "$(python3 tests/image/boot_choice.py "$esp" "${3:-1}" | grep -oE 'slot [AB], attempt [0-9]|no slot can be booted|nothing.*' | xargs)" "^$2\$" "$1"
}

new_esp() {
	local slot
	rm -f "$esp"
	truncate -s 8M "$esp"
	mkfs.vfat "$esp" >/dev/null
	mmd -i "$esp" ::kiln ::kiln/A ::kiln/B ::config
	esp_put rootfs/esp/kiln/grub.cfg kiln/grub.cfg
	for slot in A B; do
		text kiln/$slot/vmlinuz "kernel of $slot"
		text kiln/$slot/initrd "initramfs of $slot"
		text kiln/$slot/slot.cfg "set slot_args=\"kiln.roothash=$slot\""
	done
	env_of
}
new_esp

# ---- Attempts ----
a3="slot A, attempt 1 slot A, attempt 2 slot A, attempt 3" b3="slot B, attempt 1 slot B, attempt 2 slot B, attempt 3"
takes "three attempts each, and from the beginning" "$a3 $b3 slot A, attempt 1" 7
env_of ORDER="B A" A_OK=1 A_TRY=0 B_OK=1 B_TRY=0
takes "after an update the other comes first, and gives way after three" "$b3 slot A, attempt 1" 4
takes_by_marks

# ---- A damaged grubenv ----
env_of ORDER="B A" A_OK=1 A_TRY=0 B_OK=1 B_TRY=0
cp "$work/grubenv" "$work/whole"
for bytes in 0 1 64 100 128 512 1023; do
	head -c $bytes "$work/whole" >"$work/torn"
	esp_put "$work/torn" kiln/grubenv
	takes "$bytes bytes of it" "slot [AB], attempt 1"
done
for half in 0 1; do
	head -c 1024 /dev/urandom >"$work/torn"
	dd if="$work/whole" of="$work/torn" bs=512 skip=$half seek=$half count=1 conv=notrunc status=none
	esp_put "$work/torn" kiln/grubenv
	takes "a sector of it, and one of other bytes" "slot [AB], attempt 1"
done
gone kiln/grubenv
takes "none" "slot A, attempt 1"

# ---- An update, interrupted after each of its steps; also with a torn grubenv ----
cut_after() { # last step that the update did
	env_of "ORDER=A B" A_OK=1 A_TRY=0 B_OK=1 B_TRY=0
	takes "$1: the slot before, and again and again" "$a3 slot A, attempt 1" 4
	: >"$work/torn"
	esp_put "$work/torn" kiln/grubenv
	takes "and without variables" "$2"
}
gone kiln/B/slot.cfg
cut_after "the slot is taken away" "slot A, attempt 1"
text kiln/B/vmlinuz "another kernel"
cut_after "a kernel is there" "slot A, attempt 1"
text kiln/B/initrd "another initramfs"
text kiln/B/trial ""
cut_after "an initramfs is there" "slot A, attempt 1"
text kiln/B/slot.cfg "set slot_args=\"kiln.roothash=another\""
takes "all of it is there, and the variables torn: the slot that is known to be good" "slot A, attempt 1"
env_of ORDER="B A" A_OK=1 A_TRY=0 B_OK=1 B_TRY=0
like "$(python3 tests/image/boot_choice.py "$esp")" 'slot B, attempt 1 .* rauc.slot=B kiln.roothash=another kiln.trial=900 ' \
	"it is installed: that slot, on trial, by its own hash"
takes "which fails: the one before" "slot B, attempt 2 slot B, attempt 3 slot A, attempt 1" 3

# ---- Slots that are not whole ----
env_of ORDER="B A"
gone kiln/B/vmlinuz
takes "no kernel: the other" "slot A, attempt 1"
gone kiln/A/initrd
takes "none is whole: it says so" "no slot can be booted"

# ---- Pages of 1 GiB ----
new_esp
gib() { # text of the variable, expected number of hugepages= on the command line
	rm -f "$work/pages.env"
	grub-editenv "$work/pages.env" create
	grub-editenv "$work/pages.env" set "kiln_gib=$1"
	esp_put "$work/pages.env" kiln/pages.env
	is "$(python3 tests/image/boot_choice.py "$esp" | grep -oE 'hugepages=.*' | cut -d' ' -f1)" "$2" "$3"
}
gib 64 hugepages=64 "64 pages of 1 GiB"
gib 64 "" "a second attempt goes without them"
env_of
gib 65 "" "no more than 64"
gib "1 init=/bin/sh" "" "and nothing but a number"
