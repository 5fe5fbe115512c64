#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Under a real systemd: the services that ask whether the clock is set get an answer in their sandbox.
. "$(dirname "$0")/systemd_lib.sh"

make_root
ok $? "Kiln is installed into a root of its own"
cp "$KILN_BUILD/system/ask_clock" "$root/usr/bin/ask_clock"
for unit in controld nightly resume; do
	drop_in "kiln-$unit.service" Service Type=oneshot Restart=no ExecStart= ExecStart=/usr/bin/ask_clock
	drop_in "kiln-$unit.service" Unit ConditionPathExists=
done
boot
ok $? "it is up" "$(tail -n 20 "$work/console")"
for unit in controld nightly resume; do
	inside systemctl restart "kiln-$unit.service" >/dev/null 2>&1
	like "$(inside journalctl -q -o cat -u "kiln-$unit.service" 2>&1)" '^adjtimex: answered$' "kiln-$unit"
done
power_off
ok $? "it goes off"
