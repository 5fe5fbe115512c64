#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Compares `systemd-analyze security` of every service of Kiln with its bound. Prints a JSON line for each.
. "$(dirname "$0")/lib.sh"

if ! command -v systemd-analyze >/dev/null; then
	skip "exposure of the services" "no systemd-analyze here"
	exit
fi
make -s install DESTDIR="$work/root" B="$KILN_BUILD" >"$work/install" 2>&1
ok $? "they are installed" "$(cat "$work/install")"
cp -R rootfs/overlay/usr "$work/root/" # the units of an image, too

# An image has what this has installed (rootfs/customize).
units=$work/root/usr/lib/systemd/system
for unit in kiln-{devices,slots}.service kiln-slots.path kiln-{begin,fetchd,traind,hugepages,finished,run-failed}@.service kiln-finished@.path \
	kiln-run@.target 'run-kiln-huge\x2d'{1..15}.mount; do
	[ -e "$units/$unit" ] || echo "$unit"
done >"$work/missing"
is "$(cat "$work/missing")" "" "the units of trials side by side are installed"
# %i and the number of a slot belong to no name of a file.
grep -d skip -hoE '\b(kiln-[a-z-]+(@(%i|[0-9]+))?\.(service|target|path|socket|timer)|run-kiln-huge(\\x2d(%i|[0-9]+))?\.mount)' "$units"/{kiln-*,run-kiln-*} |
	sed -E 's/@(%i|[0-9]+)/@/; s/x2d%i/x2d1/' | sort -u | while read -r unit; do
	[ -e "$units/$unit" ] || echo "$unit"
done >"$work/missing"
is "$(cat "$work/missing")" "" "every unit that another one names is there"
systemctl --root="$work/root" preset $(sed -n 's/^enable //p' rootfs/systemd/kiln.preset) >/dev/null 2>&1
for unit in $(sed -n 's/^enable //p' rootfs/systemd/kiln.preset); do
	[ -n "$(find "$work/root/etc/systemd/system" -type l -name "$unit")" ] || echo "$unit"
done >"$work/missing"
is "$(cat "$work/missing")" "" "a first boot enables those that nobody else starts, kiln-slots.path among them"
for manual in README.md rootfs/doc/start.md; do
	is "$(eval "printf '%s\n' $(sed -n 's/^systemctl enable --now //p' "$manual")" | sort)" \
		"$(sed -n 's/^enable //p' rootfs/systemd/kiln.preset | sort)" "$manual: a machine under systemd enables the same units"
done

bound() { # unit
	case $1 in
	kiln-fetchd | kiln-uploadd | kiln-controld | kiln-begin | kiln-preload | kiln-update-fetch | kiln-check-store | kiln-report | kiln-heartbeat) echo 1.5 ;; # use the network, some of them without being daemons
	kiln-promote) echo 1.6 ;; # uses the network and the device
	kiln-traind | kiln-traind@) echo 1.2 ;; # use loopback alone, in a network of their own
	kiln-devices | kiln-config | kiln-steer@) echo 1.0 ;;
	kiln-provision | kiln-hugepages | kiln-hugepages@ | kiln-interrupts | kiln-nvidia) echo 5.0 ;; # root: mount, reload, write /sys, load a driver
	kiln-ssh) echo 9.8 ;; # a root shell, where authorized_keys names a key
	*) echo 1.5 ;; # root, to ask systemd
	esac
}

for file in "$work"/root/usr/lib/systemd/system/kiln-*.service; do
	unit=$(basename "$file" .service)
	found=$(systemd-analyze security --offline=yes --root="$work/root" --no-pager "${unit/%@/@x}.service" 2>&1 |
		sed -n 's/.*Overall exposure level for .*: \([0-9.]*\) .*/\1/p')
	most=$(bound "$unit")
	awk -v f="${found:-99}" -v m="$most" 'BEGIN { exit !(f <= m) }'
	ok $? "$unit: exposure ${found:-unknown}, at most $most"
	echo "{\"name\":\"unit-security\",\"case\":\"$unit.service\",\"value\":${found:-99},\"unit\":\"exposure\",\"peer\":\"bound\",\"peer_value\":$most,\"ratio\":$(awk -v f="${found:-99}" -v m="$most" 'BEGIN { printf "%.2f", f / m }')}"
done

# A unit that runs kiln-oneshot as root reads folders that the group kiln may write. kiln-provision stores the secrets.
for file in $(grep -l '^ExecStart=.*kiln-oneshot' "$work"/root/usr/lib/systemd/system/kiln-*.service); do
	unit=$(basename "$file")
	if [ "$unit" = kiln-provision.service ] || grep -qs '^User=' "$file" "$file".d/*.conf; then
		continue
	fi
	grep -qs '^InaccessiblePaths=.*/data/kiln/credentials' "$file" "$file".d/*.conf
	ok $? "$unit: a link to a secret leads nowhere"
done

# Trials of a series may end, fail or wait every second: no limit of starts keeps the night from going on.
for unit in begin finished run-failed slots devices; do
	grep -qx 'StartLimitIntervalSec=0' "$work/root/usr/lib/systemd/system/kiln-$unit.service"
	ok $? "kiln-$unit: no limit of starts"
done
grep -qx 'Restart=on-failure' "$work/root/usr/lib/systemd/system/kiln-slots.service"
ok $? "kiln-slots: a request to start the other slots is not lost with the process"
