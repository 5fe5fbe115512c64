#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# When runs start and end, under a real systemd in a container: the wait for the clock, the end of a night, missed nights.
. "$(dirname "$0")/../system/systemd_lib.sh"

every='checkpoint: { every_steps = 20; keep = 2; };'
conf=$root/etc/kiln/kiln.conf

later() { # minutes: the time of day in so many minutes
	date -u -d "$1 min" +%H:%M
}
# Kiln waits for the clock only while it is unset. Where the kernel says that the clock is set, the test skips the wait.
unset_clock() { # whether the clock is unset: the kernel's maximum error, adjtimex(2), is 16 s
	python3 -c 'import ctypes, struct, sys
state = ctypes.create_string_buffer(512)
ctypes.CDLL(None).adjtimex(state)
sys.exit(struct.unpack_from("l", state, 24)[0] < 16000000)'
}
waited() { # unit
	if unset_clock; then
		says 60 "$1 waits for the clock" 'waiting at most 3 s for the clock to be set' -b -u "$1"
		says 60 "then goes on with what it says" 'the clock is not set after 3 s, going on by what it says' -b -u "$1"
	else
		skip "$1 waits for the clock" "this machine's clock is kept right"
	fi
}

# ---- The clock, and the end of a night ----
# nspawn's own filter hides the state of the clock.
nspawn_options=(--system-call-filter="adjtimex clock_adjtime")
installed 200
clock_wait 3
ends=1
[ "$(date +%-S)" -lt 30 ] || ends=2
config 1000000 "ends_at = \"$(later $ends)\";" "$every" >"$conf"
booted "it boots"
timer_soon
waited kiln-nightly
becomes 60 running "the timer starts a run"
goes_on "it trains"
becomes 180 expired "at run.ends_at it rests"
says 30 "the journal says so" 'the night is over' -b -u kiln-traind
rests "its units are stopped"
status_is 7
like "$(cat "$work/status")" 'state +expired' "kiln status: expired"
config 1000000 "ends_at = \"$(later 120)\";" "$every" >"$conf"
is "$(steer config.reload)" ok "another night"
timer_soon
becomes 60 running "the next night goes on with it"
says 60 "from its newest checkpoint" 'going on from .*ckpt-' -b -u kiln-traind
goes_on "it trains"
is "$(find "$root"/data/kiln/store/runs -mindepth 1 -maxdepth 1 | wc -l)" 1 "it is the same run"

# ---- The night ends while the box is off ----
power_off
is "$(state)" running "the box goes down in mid-run"
sed -i "s/\"ends_s\":[[:space:]]*[0-9]*/\"ends_s\": $(date -d '-1 min' +%s)/" "$root/data/kiln/run/current/run.json"
booted "it boots again, when the night is over"
waited kiln-resume
becomes 60 expired "the run does not go on"
says 30 "and the journal says why" 'the night is over' -b -u kiln-resume
is_down kiln-run.target
ok $? "nothing of it runs"
inside kiln start >"$work/said" 2>&1
becomes 60 running "kiln start goes on with it"
goes_on "it trains"
inside kiln stop >"$work/said" 2>&1
becomes 60 stopped "it stops"
rests "its units are stopped"

# ---- Nights that were missed ----
clock_wait 0
missed() { # further keys of run: as if the box was off at run.at, 20 minutes ago
	power_off
	run_at=$(later -20) config 1000000 "$1" "$every" >"$conf"
	touch -d '2 days ago' "$conf" # a start before kiln.conf was written does not count as missed
	touch -d '2 days ago' "$root/var/lib/systemd/timers/stamp-kiln-nightly.timer"
	booted "the box was off at run.at; $1"
}
missed 'catch_up = false;'
says 60 "without run.catch_up it is said that there is no run" 'no run: run.at = "[0-9:]+" was [0-9]+ minutes ago, and run.catch_up is off' -b -u kiln-nightly
is "$(state)" stopped "and there is none"
missed "catch_up = true; ends_at = \"$(later -10)\";"
says 60 "after the end of the night it is said that there is no run" 'no run: this is after run.ends_at' -b -u kiln-nightly
is "$(state)" stopped "and there is none"
missed "catch_up = true; ends_at = \"$(later 120)\";"
becomes 60 running "with run.catch_up, in the night, it is made up for"
goes_on "it trains"
