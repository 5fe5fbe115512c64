#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A box and its clock: no network and a clock that was never set; a clock set over the network; a night when clocks go forward
# across the night's start, and a night when they go back; a missed night.
. "$(dirname "$0")/lib.sh"
NO_RTC='base=2020-01-01T00:00:00'
ntp=

# Starts a time server on this machine that says this time, and counts on from there.
it_is() { # date and time, UTC
	[ -z "$ntp" ] || { kill "$ntp"; wait "$ntp" 2>/dev/null; }
	: >"$work/ntp"
	python3 tests/image/ntp.py --at "$(date -u -d "$1" +%s)" >"$work/ntp" 2>&1 &
	ntp=$!
	wait_for 20 grep -qx ready "$work/ntp"
	ok $? "a server says $1" "$(cat "$work/ntp")"
}

# Brings this time to the box: timesyncd asks at once when the network service restarts.
box_takes_it() { # YYYY-MM-DD that the box then has
	inside 'systemctl restart systemd-timesyncd' >/dev/null
	wait_for "$BOOT_S" box_says "date -u +%F" "$1"
	ok $? "the box takes the time over" "$(inside 'date -u; journalctl -b -u systemd-timesyncd --no-pager | tail -n 5')"
}

box_says() { # command inside, extended regular expression
	inside "$1" | grep -qE "$2"
}

nights() { # how often the nightly unit has run in this boot
	inside 'journalctl -b -o cat --no-pager _SYSTEMD_UNIT=init.scope + UNIT=kiln-nightly.service | grep -c "Finished kiln-nightly"'
}

night_is_over() { # count: whether that many nights are over
	[ "$(nights)" -ge "$1" ]
}

conf() { # catch_up
	cat >"$work/kiln.conf" <<-CONF
		run: { name = "clock"; at = "02:30"; zone = "Europe/Berlin"; catch_up = $1; };
		source: { url = "file:///data/kiln/store/data"; };
		sink: { url = "file:///data/kiln/store/runs"; };
		ring: { small_pages = true; };
		schema = ( { name = "sentence"; dtype = "float32"; shape = [ 64 ]; }, { name = "label"; dtype = "int64"; shape = [ 2 ]; } );
		model: { layers = ( { op = "dense"; units = 2; }, { op = "softmax"; } ); };
	CONF
}

# While the nightly unit runs, its timer has no next time: this waits for its end.
next_night() {
	wait_for "$BOOT_S" box_says 'systemctl show -P NextElapseUSecRealtime kiln-nightly.timer' .
	inside 'systemctl show -P NextElapseUSecRealtime kiln-nightly.timer | TZ=UTC xargs -I{} date -u -d "{}" "+%F %H:%M"'
}

# ---- No network, and a clock that was never set ----
built
new_disk 4G
conf false
esp_put "$work/kiln.conf" config/kiln.conf
nic=none power_on -rtc $NO_RTC
booted "without a network and without a clock it boots"
is "$(inside 'systemctl --failed --no-legend --plain')" "" "no unit has failed"
like "$(inside 'kiln status --json' | tr -d ' \t\n')" '"clock_set":false' "kiln status says that its clock is not set"
expect "it is not older than its software" '^20(2[6-9]|[3-9])' 'date +%Y'
power_off
ok $? "it powers off"

# ---- The network brings the time: the evening before the clocks go forward, 02:00 to 03:00 ----
printf '[Match]\nType=ether\n\n[Network]\nDHCP=yes\nNTP=10.0.2.2\n' >"$work/box.network"
esp_put "$work/box.network" config/box.network
it_is '2027-03-27 12:00'
rm -f "$work/vars.fd" # without the network card the disk has another address on the bus
power_on -rtc $NO_RTC
booted "with a network it boots"
wait_for "$BOOT_S" box_says 'date -u +%F' '2027-03-27'
ok $? "its clock comes from there" "$(inside 'date -u; journalctl -b -u systemd-timesyncd --no-pager | tail -n 5')"
wait_for 60 box_says "kiln status --json | tr -d ' \t\n'" '"clock_set":true'
ok $? "kiln status says that it is set"
is "$(next_night)" "2027-03-28 01:00" "02:30 does not exist that night: it begins at 03:00, when 02:00 would have been"
before=$(nights) # the clock was wrong at boot, so one night may have counted as missed already
it_is '2027-03-28 00:59:30'
box_takes_it 2027-03-28
wait_for "$BOOT_S" night_is_over $((before + 1))
ok $? "the night begins" "$(inside 'date -u; systemctl list-timers --no-pager kiln-nightly.timer; journalctl -b -u kiln-nightly --no-pager')"
is "$(next_night)" "2027-03-29 00:30" "and the next one at 02:30"
it_is '2027-10-30 12:00'
box_takes_it 2027-10-30
is "$(next_night)" "2027-10-31 00:30" "where 02:30 comes twice it begins once: the first time"

# ---- A night that was missed ----
before=$(nights)
it_is '2027-11-03 09:00'
box_takes_it 2027-11-03
wait_for "$BOOT_S" night_is_over $((before + 1))
like "$(inside 'journalctl -b -o cat -u kiln-nightly --no-pager | tail -n 5')" 'was [0-9]+ minutes ago, and run.catch_up is off' "a night that was missed is left out"
conf true
tr '\n' ' ' <"$work/kiln.conf" >"$work/line"
inside "echo '$(cat "$work/line")' >/tmp/kiln.conf; kiln config apply /tmp/kiln.conf" >"$work/said"
power_off
it_is '2027-11-05 09:00'
power_on -rtc base=2027-11-05T09:00:00
booted "two days later it boots"
wait_for "$BOOT_S" box_says 'journalctl -b -o cat --no-pager UNIT=kiln-begin.service' 'Starting kiln-begin'
ok $? "with run.catch_up the night is made up for at boot" "$(cat "$work/said"; inside 'date -u; journalctl -b -u kiln-nightly --no-pager; systemctl list-timers --no-pager')"
