#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Updates of a booted image: whatever the bundle is and whatever interrupts the update, the box ends on a slot that works, by
# itself. tests/image/update_key.sh changes the key; tests/image/power.sh updates during a run.
. "$(dirname "$0")/lib.sh"
. tests/image/bundle_lib.sh
. tests/image/update_lib.sh

built
# ---- Bundles ----
keys=build/keys
unpacked
bundle "$usb/good.raucb" $keys
cp "$content/slot.cfg" "$work/slot.cfg"
sed 's/"$/ systemd.mask=kiln-controld.service"/' "$work/slot.cfg" >"$content/slot.cfg"
bundle "$usb/unhealthy.raucb" $keys
# A bundle that is refused, or boots no root, needs no root of its own.
head -c 4M /dev/urandom >"$content/root.img"
sed 's/roothash=../roothash=00/' "$work/slot.cfg" >"$content/slot.cfg"
bundle "$usb/panics.raucb" $keys
bundle "$usb/other.raucb" $keys kiln-other-amd64
sed -i.own 's/^version=.*/version=0.0.1/' "$content/manifest.raucm"
bundle "$usb/older.raucb" $keys
mv "$content/manifest.raucm.own" "$content/manifest.raucm"
cp "$usb/panics.raucb" "$usb/damaged.raucb"
printf damage | dd of="$usb/damaged.raucb" bs=1 seek=2000000 conv=notrunc status=none
tools/bundle-key "$work/stranger" "a stranger"
bundle "$usb/stranger.raucb" "$work/stranger"
usb_disk
box_with_store
"$KILN_BUILD/system/store" upload "s3://$KILN_S3_BUCKET/updates" kiln.raucb "$usb/good.raucb" >/dev/null
ok $? "a bundle is in the store"

on
booted "it boots"
is_good A "slot A is good"

# ---- Who may call RAUC ----
call="busctl call de.pengutronix.rauc / de.pengutronix.rauc.Installer Install s /mnt/good.raucb"
expect "fetchd's user may not call RAUC's Install" 'Access denied' "setpriv --reuid=kiln-fetch --clear-groups $call"
expect "kiln-control neither" 'Access denied' "setpriv --reuid=kiln-control --clear-groups $call"
expect "it may read Progress" '^\(isi\) ' \
	'setpriv --reuid=kiln-control --clear-groups busctl get-property de.pengutronix.rauc / de.pengutronix.rauc.Installer Progress'

# ---- Refused ----
refused file:///mnt/stranger.raucb '^failed, .*signature verification failed' "a key that the box does not know"
refused file:///mnt/other.raucb '^failed, .*ompatible.*kiln-other-amd64' "another hardware's"
like "$(env_says)" 'B_OK=1 .*ORDER=A B' "nothing was begun"
refused file:///mnt/older.raucb '^failed, .*version 0.0.1 is older than [0-9.]*, which was found good' "an older version"
expect "and by the handler of RAUC, for root, too" 'Pre-install handler error' 'rauc install /mnt/older.raucb'
like "$(env_says)" 'B_OK=1 .*ORDER=A B' "nothing was begun"
refused file:///mnt/damaged.raucb '^failed, .*RAUC: .*rror' "a damaged payload"
inside 'fallocate -l $(($(stat -f -c "%a*%S" /data) - 20000000)) /data/full' >/dev/null
refused file:///mnt/good.raucb '^failed, .*no space: the bundle needs [0-9]+ bytes' "a full disk"
inside 'rm /data/full' >/dev/null

# ---- Cut in the middle ----
is_begun() { ! esp_get kiln/B/slot.cfg >/dev/null 2>&1; } # whether the update has removed slot B's slot.cfg, without which GRUB does not boot the slot
ask file:///mnt/good.raucb
wait_for "$BOOT_S" is_begun
sleep 3
cut_power
is_begun
ok $? "the power is cut in the middle of an installation"
on
booted "it boots"
is_slot A "the slot that is whole"
is_good A "which is good"

# ---- Boots, and is not healthy ----
trial_lasts 150
ask file:///mnt/unhealthy.raucb
changes_slot "it is installed"
attempt B 1 "the boot loader takes slot B"
changes_slot "it is not well, and in its time"
booted "it boots"
is_slot A "the old slot"
is_good A "which is good"
like "$(env_says)" 'A_OK=1 A_TRY=0 B_OK=0 B_TRY=3 ORDER=A B' "the other is left alone"
like "$(event slot.bad)" 'slot B was not found good in time' "an event says so"
like "$(event slot.back)" 'slot B failed to start three times, or was not found good after its update' "and that the box is back"

# ---- Good, from the store ----
trial_lasts 900
inside 'echo kept >/data/kiln/run/kept; sync' >/dev/null
ask "s3://$KILN_S3_BUCKET/updates/kiln.raucb"
changes_slot "it is installed"
booted "it boots"
is_slot B "the updated slot"
is_good B "it is found good: kiln-controld and the store answer, and the device computes"
says_good() { event slot.good | grep -q 'slot B is good'; } # sent after the variables are written
wait_for 60 says_good
ok $? "an event says so" "$(why)"
like "$(inside 'journalctl -b -q --no-pager -u kiln-check-gpu')" 'the self-test passed' "the journal has the result of the self-test"
is "$(inside 'cat /data/kiln/run/kept')" kept "what is on /data is as it was"

# ---- Panics ----
ask file:///mnt/panics.raucb
changes_slot "it is installed"
attempt A 3 "three attempts"
booted "it boots"
is_slot B "the old slot"
is_good B "which is good"
like "$(env_says)" 'A_OK=0 A_TRY=3 B_OK=1 B_TRY=0 ORDER=B A' "the other is left alone"
