#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Under a real systemd, in a container: a box after a factory reset, and the other files on its ESP.
. "$(dirname "$0")/systemd_lib.sh"

make_root
rc=$?
ok $rc "Kiln is installed into a root of its own"
[ $rc = 0 ] || exit
esp=$work/esp/config kept=$root/data/etc/kiln/kiln.conf
units="kiln-reset-done.service kiln-trial.service kiln-mark-good.service kiln-factory-reset.service"
for unit in $units; do cp "rootfs/overlay/usr/lib/systemd/system/$unit" "$root/usr/lib/systemd/system/"; done
cp rootfs/overlay/usr/libexec/kiln/{mark-good,trial} "$root/usr/libexec/kiln/"
systemctl --root="$root" enable kiln-reset-done.service >/dev/null 2>&1
mkdir -p "$esp" "$work/marks" "$root/efi" "$root/data/etc/kiln"

asked() { # state of the ESP: somebody requested a factory reset, and the initramfs has made /data anew
	nspawn_options=("--bind$1=$work/esp:/efi" "--bind=$work/marks:/run/kiln")
	cp config/examples/embedded.conf "$esp/kiln.conf"
	touch "$esp/factory-reset" "$work/marks/reset"
}
at() { inside systemctl show -P "$2TimestampMonotonic" "$1"; }

asked ""
booted "it boots"
# shellcheck disable=SC2086
is "$(inside systemd-analyze verify --man=no $units kiln-provision.service 2>&1 | grep -i kiln)" "" "systemd-analyze verify has nothing to say"
test ! -e "$esp/factory-reset" && test ! -e "$work/marks/reset"
ok $? "the file that asked for it is gone" "$(inside systemctl status --no-pager kiln-reset-done 2>&1)"
done_us=$(at kiln-reset-done InactiveEnter) begins_us=$(at kiln-provision InactiveExit)
[ "${done_us:-0}" -gt 0 ] && [ "$done_us" -le "$begins_us" ]
ok $? "before anything is taken from the ESP" "gone at $done_us us, kiln-provision began at $begins_us us"
test ! -e "$esp/kiln.conf" && cmp config/examples/embedded.conf "$kept"
ok $? "then the box stores the configuration beside it" "$(inside journalctl --no-pager -o cat -u kiln-provision)"
power_off
ok $? "it goes down"

rm -f "$kept"
asked -ro
booted "it boots with an ESP that cannot be written"
is "$(inside systemctl is-failed kiln-reset-done)" failed "the file stays"
said=$(inside journalctl --no-pager -o cat -b -u kiln-provision)
like "$said" '^kiln: factory-reset cannot be removed from the ESP' "the console says that factory-reset cannot be removed"
like "$said" '^kiln: kiln.conf on the ESP is refused: factory-reset .*; kiln.conf stays here' "and why nothing is taken"
test -e "$esp/kiln.conf" && test ! -e "$kept"
ok $? "which the next boot would forget"
