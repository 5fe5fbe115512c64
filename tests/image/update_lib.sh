# SPDX-License-Identifier: Apache-2.0
# A box in QEMU that is updated: bundles on a second disk, $work/usb.img, and in a store on this machine. Source it after
# lib.sh and bundle_lib.sh.
usb=$work/usb
mkdir -p "$usb"

usb_disk() { # makes the disk from the files in $usb
	truncate -s 1200M "$work/usb.img"
	mkfs.ext4 -q -d "$usb" "$work/usb.img"
}

# The box's configuration has a store for the runs, but nothing to train on.
box_with_store() {
	start_radosgw "updates from a store"
	cat >"$work/kiln.conf" <<-CONF
		source: { url = "file:///data/kiln/store/data"; };
		sink: { url = "s3://$KILN_S3_BUCKET/runs"; endpoint = "http://10.0.2.2:${KILN_S3_ENDPOINT##*:}"; url_style = "path"; credential = "store"; };
	CONF
	printf 'access_key_id=%s\nsecret_access_key=%s\n' "$AWS_ACCESS_KEY_ID" "$AWS_SECRET_ACCESS_KEY" >"$work/credential"
	kernel_args=no_timer_check # a busy host delays timer ticks, which the kernel would take for a fault
	new_disk 6G
	esp_put "$work/kiln.conf" config/kiln.conf
	esp_put "$work/credential" config/credentials/store
}

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
refused() { # bundle's URL, final text of status, name
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
changes_slot() { # name: the box goes down and comes up again
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
