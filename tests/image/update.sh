#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Updates of a booted image: whatever the bundle is and whatever cuts it short, the box ends on a slot that works, by itself.
. "$(dirname "$0")/lib.sh"

built
for program in rauc mksquashfs unsquashfs mkfs.ext4; do
	command -v $program >/dev/null || { skip "updates" "no $program here: tools/deps/install image"; exit; }
done
# ---- Bundles ----
key=build/keys/key.pem cert=build/keys/cert.pem usb=$work/usb
mkdir -p "$usb"
tools/mkbundle "$image" "$usb/good.raucb" >"$work/said" 2>&1
ok $? "make bundle" "$(cat "$work/said")"
unsquashfs -no-progress -d "$work/content" "$usb/good.raucb" >/dev/null
compatible=$(rauc --keyring="$cert" info --output-format=shell "$usb/good.raucb" 2>/dev/null | sed -n "s/^RAUC_MF_COMPATIBLE='\(.*\)'/\1/p")

variant() { # out, compatible, a folder of keys; of $work/content as it is
	cat >"$work/content/manifest.raucm" <<-MANIFEST
		[update]
		compatible=$2
		version=0
		[bundle]
		format=verity
		[hooks]
		filename=hook
		[image.root]
		filename=root.img
		hooks=pre-install;post-install
	MANIFEST
	rm -f "$usb/$1"
	rauc --cert="${3:-build/keys}/cert.pem" --key="${3:-build/keys}/key.pem" --keyring="${3:-build/keys}/cert.pem" \
		bundle "$work/content" "$usb/$1" >"$work/said" 2>&1 || ok 1 "$1" "$(cat "$work/said")"
}
cp "$work/content/slot.cfg" "$work/slot.cfg"
sed 's/"$/ systemd.mask=kiln-controld.service"/' "$work/slot.cfg" >"$work/content/slot.cfg"
variant unhealthy.raucb "$compatible"
# What is refused, or boots no root, needs none.
head -c 4M /dev/urandom >"$work/content/root.img"
sed 's/roothash=../roothash=00/' "$work/slot.cfg" >"$work/content/slot.cfg"
variant panics.raucb "$compatible"
variant other.raucb kiln-other-amd64
tools/bundle-key "$work/stranger" "a stranger"
variant stranger.raucb "$compatible" "$work/stranger"
cp "$usb/panics.raucb" "$usb/damaged.raucb"
printf damage | dd of="$usb/damaged.raucb" bs=1 seek=2000000 conv=notrunc status=none
truncate -s 1200M "$work/usb.img"
mkfs.ext4 -q -d "$usb" "$work/usb.img"

# ---- The box, and a store for the good one ----
start_radosgw "updates from a store"
"$KILN_BUILD/system/store" upload "s3://$KILN_S3_BUCKET/updates" kiln.raucb "$usb/good.raucb" >/dev/null
ok $? "the bundle is in the store"
cat >"$work/kiln.conf" <<-CONF
	source: { url = "file:///data/kiln/store/data"; };
	sink: { url = "s3://$KILN_S3_BUCKET/runs"; endpoint = "http://10.0.2.2:${KILN_S3_ENDPOINT##*:}"; url_style = "path"; credential = "store"; };
CONF
printf 'access_key_id=%s\nsecret_access_key=%s\n' "$AWS_ACCESS_KEY_ID" "$AWS_SECRET_ACCESS_KEY" >"$work/credential"
kernel_args=no_timer_check # as a busy host lets time pass between two ticks
new_disk 6G
esp_put "$work/kiln.conf" config/kiln.conf
esp_put "$work/credential" config/credentials/store

on() { # further arguments of QEMU
	power_on -drive "if=virtio,format=raw,readonly=on,file=$work/usb.img" "$@"
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
update() { # bundle's URL, what status is to say in the end
	ask "$1"
	wait_for "$BOOT_S" update_says "$2"
}
why() { inside 'kiln status | grep ^update; journalctl -q --no-pager -n 30 -u rauc -u kiln-update -u kiln-update-fetch -u kiln-mark-good -u kiln-trial -u kiln-check-store -u kiln-check-gpu'; }
env_says() { inside 'grub-editenv /efi/kiln/grubenv list | sort | xargs'; }
is_marked() { [[ $(env_says) == *"$1_TRY=0"* ]]; }
event() { inside "kiln log --events --event $1 | tail -n 1"; }
changes_slot() { # what: it goes down and comes up again
	wait_for "$BOOT_S" console_says 'reboot: Restarting system'
	ok $? "$1: the box restarts" "$(tail -n 20 "$work/console")"
	: >"$work/console"
}

on
booted "it boots"
wait_for "$BOOT_S" is_marked A
ok $? "slot A is good" "$(why)"

# ---- Who may call RAUC ----
call="busctl call de.pengutronix.rauc / de.pengutronix.rauc.Installer Install s /mnt/good.raucb"
expect "fetchd's user may not call RAUC's Install" 'Access denied' "setpriv --reuid=kiln-fetch --clear-groups $call"
expect "kiln-control neither" 'Access denied' "setpriv --reuid=kiln-control --clear-groups $call"
expect "it may read Progress" '^\(isi\) ' \
	'setpriv --reuid=kiln-control --clear-groups busctl get-property de.pengutronix.rauc / de.pengutronix.rauc.Installer Progress'

# ---- Refused ----
update file:///mnt/stranger.raucb '^failed, .*signature verification failed'
ok $? "a key that the box does not know: refused, and why" "$(why)"
update file:///mnt/other.raucb '^failed, .*ompatible.*kiln-other-amd64'
ok $? "another hardware's: refused, and why" "$(why)"
like "$(env_says)" 'B_OK=1 .*ORDER=A B' "nothing was begun"
update file:///mnt/damaged.raucb '^failed, .*RAUC: '
ok $? "a damaged payload: refused, and why" "$(why)"
like "$(inside 'kiln status | grep ^update')" 'rror' "as an error"
inside 'fallocate -l $(($(stat -f -c "%a*%S" /data) - 20000000)) /data/full' >/dev/null
update file:///mnt/good.raucb '^failed, .*no space: the bundle needs [0-9]+ bytes'
ok $? "a full disk: refused, and how much is needed" "$(why)"
inside 'rm /data/full' >/dev/null

# ---- Cut in the middle ----
update file:///mnt/good.raucb '^installing [1-9]'
ok $? "an installation under way" "$(why)"
cut_power
on
booted "the power was cut in the middle of it: it boots"
is_slot A "the slot that is whole"
wait_for "$BOOT_S" is_marked A
ok $? "which is good"

# ---- Boots, and is not healthy ----
inside 'echo "set trial_s=240" >>/efi/kiln/kernel.cfg; sync' >/dev/null
ask file:///mnt/unhealthy.raucb
changes_slot "it is installed"
wait_for "$BOOT_S" console_says 'Kiln: slot B, attempt 1'
ok $? "the boot loader takes slot B" "$(tail -n 20 "$work/console")"
changes_slot "it is not well, and in its time"
booted "it boots"
is_slot A "the old slot"
wait_for "$BOOT_S" is_marked A
like "$(env_says)" 'A_OK=1 A_TRY=0 B_OK=0 B_TRY=3 ORDER=A B' "the other is left alone"
like "$(event slot.bad)" 'slot B was not good in time' "an event says so"
like "$(event slot.back)" 'slot B failed after its update' "and that the box is back"

# ---- Panics ----
ask file:///mnt/panics.raucb
changes_slot "it is installed"
wait_for "$BOOT_S" console_says 'Kiln: slot B, attempt 3'
ok $? "three attempts" "$(tail -n 20 "$work/console")"
booted "it boots"
is_slot A "the old slot"
wait_for "$BOOT_S" is_marked A
ok $? "which is good" "$(why)"

# ---- Good ----
inside 'sed -i /trial_s/d /efi/kiln/kernel.cfg; sync' >/dev/null
inside 'echo kept >/data/kiln/run/kept; sync' >/dev/null
ask "s3://$KILN_S3_BUCKET/updates/kiln.raucb"
changes_slot "it is installed"
booted "it boots"
is_slot B "the updated slot"
wait_for 900 is_marked B
ok $? "it is found good: kiln-controld and the store answer, and the device computes" "$(why)"
like "$(event slot.good)" 'slot B is good' "an event says so"
like "$(inside 'journalctl -q --no-pager -u kiln-check-gpu -u kiln-check-store')" 'the self-test is right' "of the self-test, too"
is "$(inside 'cat /data/kiln/run/kept')" kept "what is on /data is as it was"
power_off
ok $? "it powers off"
on
booted "it boots once more"
is_slot B "and stays there"
