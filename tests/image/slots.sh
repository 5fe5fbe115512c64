#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The slot that the boot loader chooses, whatever a power cut made of its variables: the real GRUB on the image's own ESP.
# Also compares it with GRUB as a program of this machine, on which tests/system/slots.sh and power.sh rely.
. "$(dirname "$0")/lib.sh"
. tests/image/slots_lib.sh
command -v grub-emu >/dev/null || { skip "which slot boots" "no grub-emu here: tools/deps/install image"; exit; }

built
new_disk 3G

hide() { mren -i "$disk@@1M" "::kiln/$1" "::kiln/$1.away"; }   # a file of the ESP
unhide() { mren -i "$disk@@1M" "::kiln/$1.away" "::kiln/$1"; }

says_slot() { console_says 'Kiln: (slot [AB], attempt|no slot)'; }

takes() { # name, extended regular expression
	local foreseen said
	dd if="$disk" of="$work/esp" bs=1M skip=1 count=256 conv=sparse status=none
	foreseen=$(python3 tests/image/boot_choice.py "$work/esp" | sed 's/ | .*//')
	power_on
	wait_for "$BOOT_S" says_slot
	cut_power
	said=$(tr -d '\r' <"$work/console" | grep -ao 'Kiln: .*' | head -n 1)
	like "$said" "$2" "$1"
	is "${foreseen##*Kiln: }" "${said##*Kiln: }" "grub-emu predicted the boot loader's choice"
}

kept() { # name, extended regular expression: compares the variables that are on the ESP afterwards
	esp_get kiln/grubenv >"$work/kept"
	like "$(grub-editenv "$work/kept" list 2>&1 | sort | xargs)" "$2" "$1"
}

env_of
takes "nothing is set: the first slot" 'slot A, attempt 1 '
kept "its attempt is counted" 'A_OK=1 A_TRY=1 B_OK=1 B_TRY=0 ORDER=A B'
env_of ORDER="A B" A_OK=1 A_TRY=2 B_OK=1 B_TRY=0
takes "its last attempt" 'slot A, attempt 3 '
takes "three attempts without being marked good: the other" 'slot B, attempt 1 '
env_of ORDER="A B" A_OK=1 A_TRY=3 B_OK=1 B_TRY=3
takes "both have had theirs: from the beginning" 'slot A, attempt 1 '
kept "with no attempts of the other" 'A_TRY=1 B_OK=1 B_TRY=0'
env_of ORDER="B A" A_OK=1 A_TRY=0 B_OK=1 B_TRY=0
takes "after an update the other comes first" 'slot B, attempt 1 '
takes_by_marks

# ---- A damaged grubenv ----
head -c 512 "$work/grubenv" >"$work/torn"
esp_put "$work/torn" kiln/grubenv
takes "half of a grubenv" 'slot A, attempt 1 '
truncate -s 0 "$work/torn"
esp_put "$work/torn" kiln/grubenv
takes "an empty one" 'slot A, attempt 1 '
head -c 1024 /dev/urandom >"$work/torn"
esp_put "$work/torn" kiln/grubenv
takes "one of other bytes" 'slot A, attempt 1 '
mdel -i "$disk@@1M" ::kiln/grubenv
takes "none" 'slot A, attempt 1 '

# ---- Slots that are not whole ----
env_of
hide A/slot.cfg
takes "a slot without its root's hash" 'slot B, attempt 1 '
hide B/vmlinuz
takes "none is whole: it says so, and tries again" 'no slot can be booted'
unhide A/slot.cfg
env_of ORDER="B A"
takes "the first in order is not whole" 'slot A, attempt 1 '

# ---- Pages of 1 GiB ----
printf 'set kiln_args="console=ttyS0,115200 loglevel=7 no_timer_check"\n' >"$work/kernel.cfg"
esp_put "$work/kernel.cfg" kiln/kernel.cfg
unhide B/vmlinuz
gib() { # text of the variable, extended regular expression of the kernel's log
	rm -f "$work/pages.env"
	grub-editenv "$work/pages.env" create
	grub-editenv "$work/pages.env" set "kiln_gib=$1"
	esp_put "$work/pages.env" kiln/pages.env
	power_on -m 4096 # with less memory the kernel has no free page of 1 GiB
	wait_for "$BOOT_S" console_says 'HugeTLB: registered 1.00 GiB page size'
	cut_power
	like "$(tr -d '\r' <"$work/console" | grep -aE 'Command line|HugeTLB: registered 1.00' | tr '\n' ' ')" "$2" "kiln_gib=$1"
}
gib 1 'hugepagesz=1G hugepages=1 .*registered 1.00 GiB page size, pre-allocated 1 pages'
gib "1 init=/bin/sh" 'pre-allocated 0 pages'
! console_says 'init=/bin/sh|hugepages='
ok $? "and nothing of it is on the command line"
