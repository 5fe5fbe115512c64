#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A root whose bytes are not those that were built: it is noticed, and the other slot boots, by itself.
. "$(dirname "$0")/lib.sh"

built
new_disk 3G
# The superblock's block, which is read first.
printf damage | dd of="$disk" bs=1 seek=$(($(partition_start kiln-root-a) + 8)) conv=notrunc status=none
grub-editenv "$work/grubenv" create
grub-editenv "$work/grubenv" set A_TRY=2 # its last attempt: one failure is enough to see
esp_put "$work/grubenv" kiln/grubenv
power_on
booted "a damaged slot: the box boots"
console_says 'Kiln: slot A, attempt 3'
ok $? "it tried that slot"
expect "and runs on the other" '^B$' "sed -n 's/.*rauc.slot=\([AB]\).*/\1/p' /proc/cmdline"
marked() { inside 'grub-editenv /efi/kiln/grubenv list' | xargs | grep -q 'A_TRY=3.*B_TRY=0'; }
wait_for 120 marked
ok $? "which is marked good, and the damaged one is not" "$(inside 'grub-editenv /efi/kiln/grubenv list')"
