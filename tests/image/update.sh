#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Updates of a booted image: whatever the bundle is and whatever cuts it short, the box ends on a slot that works, by itself; and
# the key that signs is changed on the way. The order saves boots: old key, both, the new one alone. tests/image/power.sh has
# updates beside a run.
. "$(dirname "$0")/lib.sh"
. tests/image/bundle_lib.sh

built
# ---- Bundles ----
old=build/keys new=$work/new usb=$work/usb
mkdir -p "$usb"
tools/bundle-key "$new" "the new key"
unpacked
cp "$content/slot.cfg" "$work/slot.cfg"
sed 's/"$/ systemd.mask=kiln-controld.service"/' "$work/slot.cfg" >"$content/slot.cfg"
bundle "$usb/unhealthy.raucb" $old
with_keyring "$old/cert.pem" "$new/cert.pem"
bundle "$usb/both.raucb" $old
with_keyring "$new/cert.pem"
bundle "$usb/new.raucb" "$new"
# What is refused, or boots no root, needs none.
head -c 4M /dev/urandom >"$content/root.img"
sed 's/roothash=../roothash=00/' "$work/slot.cfg" >"$content/slot.cfg"
bundle "$usb/panics.raucb" "$new"
bundle "$usb/other.raucb" $old kiln-other-amd64
bundle "$usb/damaged.raucb" $old
printf damage | dd of="$usb/damaged.raucb" bs=1 seek=2000000 conv=notrunc status=none
truncate -s 1400M "$work/usb.img"
mkfs.ext4 -q -d "$usb" "$work/usb.img"

# ---- The box, and a store ----
start_radosgw "updates from a store"
"$KILN_BUILD/system/store" upload "s3://$KILN_S3_BUCKET/updates" kiln.raucb "$usb/both.raucb" >/dev/null
ok $? "a bundle is in the store"
cat >"$work/kiln.conf" <<-CONF
	source: { url = "file:///data/kiln/store/data"; };
	sink: { url = "s3://$KILN_S3_BUCKET/runs"; endpoint = "http://10.0.2.2:${KILN_S3_ENDPOINT##*:}"; url_style = "path"; credential = "store"; };
CONF
printf 'access_key_id=%s\nsecret_access_key=%s\n' "$AWS_ACCESS_KEY_ID" "$AWS_SECRET_ACCESS_KEY" >"$work/credential"
kernel_args=no_timer_check # as a busy host lets time pass between two ticks
new_disk 6G
esp_put "$work/kiln.conf" config/kiln.conf
esp_put "$work/credential" config/credentials/store

on() {
	power_on -drive "if=virtio,format=raw,readonly=on,file=$work/usb.img"
}
is_slot() { # slot, name
	is "$(inside "sed -n 's/.*rauc.slot=\([AB]\).*/\1/p' /proc/cmdline")" "$1" "$2"
}
update_says() { # extended regular expression
	grep -qE "$1" <<<"$(inside 'kiln status' | sed -n 's/^update *//p')"
}
ask() { # bundle's URL
	inside "mountpoint -q /mnt || mount -o ro /dev/vdb /mnt; kiln update $1 --yes" >"$work/said" 2>&1
	ok $? "kiln update $1" "$(cat "$work/said")"
}
refused() { # bundle's URL, what status says in the end, name
	ask "$1"
	wait_for "$BOOT_S" update_says "$2"
	ok $? "$3: refused, and why" "$(why)"
}
why() { inside 'kiln status | grep ^update; journalctl -q --no-pager -n 30 -u rauc -u kiln-update -u kiln-update-fetch -u kiln-mark-good -u kiln-trial -u kiln-check-store -u kiln-check-gpu'; }
env_says() { inside 'grub-editenv /efi/kiln/grubenv list | sort | xargs'; }
is_marked() { [[ $(env_says) == *"$1_TRY=0"* ]]; }
is_good() { # slot, name
	wait_for 900 is_marked "$1"
	ok $? "$2" "$(why)"
}
event() { inside "kiln log --events --event $1 | tail -n 1"; }
changes_slot() { # what: it goes down and comes up again
	wait_for "$BOOT_S" console_says 'reboot: Restarting system'
	ok $? "$1: the box restarts" "$(tail -n 20 "$work/console")"
	: >"$work/console"
}
attempt() { # slot, attempt, name
	wait_for "$BOOT_S" console_says "Kiln: slot $1, attempt $2"
	ok $? "$3" "$(tail -n 20 "$work/console")"
}
trial_lasts() { # seconds
	inside "sed -i /trial_s/d /efi/kiln/kernel.cfg; echo set trial_s=$1 >>/efi/kiln/kernel.cfg; sync -f /efi" >/dev/null
}

on
booted "it boots"
is_good A "slot A is good"

# ---- Who may call RAUC ----
call="busctl call de.pengutronix.rauc / de.pengutronix.rauc.Installer Install s /mnt/both.raucb"
expect "fetchd's user may not call RAUC's Install" 'Access denied' "setpriv --reuid=kiln-fetch --clear-groups $call"
expect "kiln-control neither" 'Access denied' "setpriv --reuid=kiln-control --clear-groups $call"
expect "it may read Progress" '^\(isi\) ' \
	'setpriv --reuid=kiln-control --clear-groups busctl get-property de.pengutronix.rauc / de.pengutronix.rauc.Installer Progress'

# ---- Refused ----
refused file:///mnt/new.raucb '^failed, .*signature verification failed' "a key that the box does not know"
refused file:///mnt/other.raucb '^failed, .*ompatible.*kiln-other-amd64' "another hardware's"
like "$(env_says)" 'B_OK=1 .*ORDER=A B' "nothing was begun"
refused file:///mnt/damaged.raucb '^failed, .*RAUC: .*rror' "a damaged payload"
inside 'fallocate -l $(($(stat -f -c "%a*%S" /data) - 20000000)) /data/full' >/dev/null
refused file:///mnt/both.raucb '^failed, .*no space: the bundle needs [0-9]+ bytes' "a full disk"
inside 'rm /data/full' >/dev/null

# ---- Cut in the middle ----
is_begun() { ! esp_get kiln/B/slot.cfg >/dev/null 2>&1; } # what takes the slot away from the boot loader
ask file:///mnt/both.raucb
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
like "$(event slot.bad)" 'slot B was not good in time' "an event says so"
like "$(event slot.back)" 'slot B failed after its update' "and that the box is back"

# ---- Good, from the store: the old key's, and its keyring holds both ----
trial_lasts 900
inside 'echo kept >/data/kiln/run/kept; sync' >/dev/null
ask "s3://$KILN_S3_BUCKET/updates/kiln.raucb"
changes_slot "it is installed"
booted "it boots"
is_slot B "the updated slot"
is_good B "it is found good: kiln-controld and the store answer, and the device computes"
like "$(event slot.good)" 'slot B is good' "an event says so"
like "$(inside 'journalctl -b -q --no-pager -u kiln-check-gpu')" 'the self-test is right' "of the self-test, too"
is "$(inside 'cat /data/kiln/run/kept')" kept "what is on /data is as it was"

# ---- Panics; the new key's, which is taken now ----
ask file:///mnt/panics.raucb
changes_slot "the new key's bundle is installed"
attempt A 3 "three attempts"
booted "it boots"
is_slot B "the old slot"
is_good B "which is good"
like "$(env_says)" 'A_OK=0 A_TRY=3 B_OK=1 B_TRY=0 ORDER=B A' "the other is left alone"

# ---- The store is away ----
tools/store/radosgw stop "$work/rgw"
trial_lasts 240
ask file:///mnt/new.raucb
changes_slot "it is installed"
attempt A 1 "the boot loader takes slot A"
changes_slot "the store is away, and the time over"
booted "it boots"
is_slot B "the old slot"
is_good B "which is good, though the store is away: it was before"
like "$(inside 'journalctl -b -1 -q --no-pager -u kiln-check-store')" 'Failed to start kiln-check-store' "it was the store"
inside '(cat /data/etc/kiln/kiln.conf; echo "update: { offline = true; };") >/tmp/kiln.conf; kiln config apply /tmp/kiln.conf' >"$work/said"
ok $? "update.offline" "$(cat "$work/said")"
trial_lasts 900
ask file:///mnt/new.raucb
changes_slot "it is installed"
booted "it boots"
is_slot A "the updated slot"
is_good A "it is found good, without the store"

# ---- The old key counts no longer ----
refused file:///mnt/both.raucb '^failed, .*signature verification failed' "the old key's bundle"
is "$(inside 'cat /data/kiln/run/kept')" kept "what is on /data is as it was"
