#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The image boots on a disk larger than itself, reads its configuration from the ESP, and has the expected units, root and
# /data.
. "$(dirname "$0")/lib.sh"

built
new_disk 6G
esp_put config/examples/embedded.conf config/kiln.conf
printf 'access_key_id=ID\nsecret_access_key=SECRETTEXT\n' >"$work/store"
esp_put "$work/store" config/credentials/store
echo '[Network]' >"$work/bad.network"
esp_put "$work/bad.network" config/bad.network
power_on
booted "it boots"
echo "{\"name\":\"boot-seconds\",\"case\":\"qemu-tcg, first boot\",\"value\":$boot_s,\"unit\":\"s\"}"
is "$(inside 'systemctl --failed --no-legend --plain')" "" "no unit has failed"

# ---- Units ----
expect "the daemons are up" '^active active active active' 'systemctl is-active kiln-controld kiln-uploadd kiln-nightly.timer kiln-steer.socket | xargs'
expect "and what starts and ends trials side by side" '^active active active' 'systemctl is-active kiln-slots.path kiln-finished.path kiln-promote.path | xargs'
expect "each slot has its units" '^static static static$' 'systemctl is-enabled kiln-run@1.target kiln-traind@15.service run-kiln-huge\\x2d15.mount | xargs'
expect "kiln status answers" '.' 'kiln status'
expect "kiln node answers" '"version"|kiln' 'kiln node --json'
wait_for 120 console_says 'Kiln [0-9.]+ on kiln, slot A'
ok $? "the status screen is on the serial line" "$(inside 'systemctl status --no-pager kiln-console@ttyS0'; tail -n 5 "$work/console")"
console_says '10\.0\.2\.15'
ok $? "with the box's address"
expect "there is nothing to log in by" '^0$' 'systemctl list-units --all --plain --no-legend "*getty*" | grep -c " active "'

# ---- The root ----
expect "the root is a squashfs, read-only" '^squashfs ro(,|$)' 'findmnt -no FSTYPE,OPTIONS / | tr -s " "'
expect "behind dm-verity, whose hash the kernel was given" '^verified$' \
	'veritysetup status kiln-root | sed -n "s/ *status: *//p"'
expect "nothing can be written into it" 'Read-only file system' 'touch /usr/x /etc/x'
expect "no program of it is setuid or setgid" '^0$' 'find / -xdev -type f -perm /6000 | wc -l'
expect "what has no place on /data is gone with the next boot" '^tmpfs tmpfs$' "for m in /var /tmp; do findmnt -no FSTYPE \$m; done | xargs"
hosts=$(apt-get indextargets --format '$(REPO_URI)' | sed -E 's,^[a-z+]+://([^/]+)/.*,\1,' | sort -u)
expect "no package source of the machine that built it is in it" '^0$' \
	"grep -rlF '$hosts' /etc/apt /usr/share/kiln /var/lib 2>/dev/null | wc -l; find /etc/apt -name 'sources.list*' | grep ."

# ---- /data ----
like "$(inside 'findmnt -bno FSTYPE,SIZE /data' | tr -s ' ')" '^ext4 3[89][0-9]{8}$' "/data has the rest of the disk"
expect "the journal is on it" '^1$' 'ls -d /data/kiln/journal/$(cat /etc/machine-id) | wc -l'
id=$(inside 'cat /etc/machine-id')
like "$id" '^[0-9a-f]{32}$' "the box has an identity"
is "$(inside 'cat /data/etc/machine-id')" "$id" "which lies on /data"

# ---- Files from the ESP ----
expect "kiln.conf is the box's" 'packages' 'kiln config show | grep name'
expect "the credential is root's alone" '^600 root$' 'stat -c "%a %U" /data/kiln/credentials/store'
is "$(inside 'ls /efi/config /efi/config/credentials' | xargs)" \
	"/efi/config: README.txt bad.network bad.network.error.txt credentials /efi/config/credentials:" \
	"what was taken is gone from the ESP, what was bad has its reason"
console_says 'kiln: bad.network on the ESP is refused: no section \[Match\]'
ok $? "which the console shows" "$(tail -n 20 "$work/console")"

# ---- The slot ----
marked() { inside 'grub-editenv /efi/kiln/grubenv list' | grep -q '^A_TRY=0'; }
wait_for 120 marked
ok $? "the slot is marked good" "$(inside 'cat /efi/kiln/grubenv; systemctl status --no-pager kiln-mark-good')"
power_off
ok $? "it powers off"

# ---- A second boot, after a power cut during a write of grubenv ----
truncate -s 0 "$work/empty"
esp_put "$work/empty" kiln/grubenv
power_on
booted "it boots with an empty grubenv"
echo "{\"name\":\"boot-seconds\",\"case\":\"qemu-tcg\",\"value\":$boot_s,\"unit\":\"s\"}"
console_says 'Kiln: slot A, attempt 1'
ok $? "the boot loader uses its defaults"
is "$(inside 'cat /etc/machine-id')" "$id" "it has the same identity"
wait_for 120 marked
ok $? "grubenv is whole again" "$(inside 'cat /efi/kiln/grubenv; systemctl status --no-pager kiln-mark-good')"

# ---- Factory reset ----
inside 'kiln factory-reset --yes' >"$work/said"
wait_for "$BOOT_S" console_says 'reboot: Restarting system'
ok $? "kiln factory-reset: it goes down" "$(cat "$work/said"; tail -n 20 "$work/console")"
: >"$work/console"
booted "it boots again"
like "$(inside 'cat /etc/machine-id; ls /data/kiln/credentials /data/etc/kiln /efi/config' | xargs)" \
	'^[0-9a-f]{32} /data/etc/kiln: /data/kiln/credentials: /efi/config: README.txt bad.network bad.network.error.txt credentials$' "all that was stored is gone"
[ "$(inside 'cat /etc/machine-id')" != "$id" ]
ok $? "it is another box now"
