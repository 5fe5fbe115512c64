#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Under a real systemd: the services that ask whether the clock is set get an answer in their sandboxes.
. "$(dirname "$0")/systemd_lib.sh"

make_root
ok $? "Kiln is installed into a root of its own"
cp "$KILN_BUILD/system/ask_clock" "$root/usr/bin/ask_clock"
for unit in nightly resume clock; do
	drop_in "kiln-$unit.service" Service Type=oneshot Restart=no ExecStart= ExecStart=/usr/bin/ask_clock
	drop_in "kiln-$unit.service" Unit ConditionPathExists=
done
# Without this the container forbids the call, too.
nspawn_options=("--system-call-filter=adjtimex clock_adjtime")
boot
ok $? "it is up" "$(tail -n 20 $root.console)"
for unit in nightly resume clock; do
	inside systemctl restart "kiln-$unit.service" >/dev/null 2>&1
	like "$(inside journalctl -q -o cat -u "kiln-$unit.service" 2>&1)" '^adjtimex: answered$' "kiln-$unit"
done
# The sandbox of kiln-controld forbids the call. systemd-timedated answers in its place.
cp "$KILN_BUILD/system/preload/clock.so" "$root/usr/lib/test-clock.so"
kept() { # set or unset: the state that the kernel reports to systemd-timedated
	inside mkdir -p /run/systemd/system/systemd-timedated.service.d
	printf '[Service]\nEnvironment=LD_PRELOAD=/usr/lib/test-clock.so KILN_TEST_CLOCK=%s\n' "$1" |
		inside tee /run/systemd/system/systemd-timedated.service.d/test.conf >/dev/null
	inside systemctl daemon-reload
	inside systemctl stop systemd-timedated
	inside systemctl restart kiln-controld # kiln-controld asks only once a minute
}
says() { # true or false
	grep -qE "\"clock_set\":[[:space:]]*$1" <<<"$(inside kiln status --json)"
}
kept unset
wait_for 30 says false
ok $? "kiln-controld: not set" "$(inside kiln status --json 2>&1)"
kept set
wait_for 30 says true
ok $? "set, as by chrony" "$(inside kiln status --json 2>&1)"
kept unset
wait_for 30 says false
ok $? "not set again" "$(inside kiln status --json 2>&1)"
kept set
inside mkdir -p /run/systemd/timesync
wait_for 30 says false
ok $? "not set, where systemd-timesyncd has not said so: nobody else is asked" "$(inside kiln status --json 2>&1)"
inside touch /run/systemd/timesync/synchronized
wait_for 30 says true
ok $? "set, as soon as systemd-timesyncd says so" "$(inside kiln status --json 2>&1)"
power_off
ok $? "it goes off"
