#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Under a real systemd, in a container: what resumes after a power cut, and requests meanwhile.
. "$(dirname "$0")/systemd_lib.sh"
every='checkpoint: { every_steps = 20; keep = 2; };'
conf=$root/etc/kiln/kiln.conf
run_at=$(date -u -d '+6 hours' +%H:%M) # the timer does not interfere
record=$root/data/kiln/run/current

# A machine whose clock is never set: the boot waits for it.
unset_clock() {
	cp "$KILN_BUILD/system/preload/clock.so" "$root/usr/lib/test-clock.so"
	drop_in kiln-resume.service Service Environment=LD_PRELOAD=/usr/lib/test-clock.so Environment=KILN_TEST_CLOCK=unset
}
nspawn_options=("--system-call-filter=adjtimex clock_adjtime")
installed 200
unset_clock
config 1000000 "" "$every" >"$conf"
booted "it boots"
inside kiln start >"$work/said" 2>&1
becomes 60 running "a run"
goes_on "it trains"

# ---- Started while the boot waits for the clock ----
power_off
is "$(state)" running "the box goes down in mid-run"
sed -i "1s/{/{\"ends_s\": $(date -d '-1 min' +%s),/" "$record/run.json"
clock_wait 10
booted "it boots again, when the night is over"
resumes() { [ "$(property resume ActiveState)" = active ]; }
resumed() { [ "$(property resume ActiveState)" = inactive ]; }
wait_for 10 resumes
ok $? "kiln-resume waits for the clock" "$(journal -b -u kiln-resume)"
inside kiln start >"$work/said" 2>&1
ok $? "kiln start meanwhile" "$(cat "$work/said")"
wait_for 60 is_active kiln-traind
wait_for 60 resumed
says 30 "kiln-resume has waited" 'the clock is not set after 10 s' -b -u kiln-resume
is "$(state) $(inside systemctl is-active kiln-run.target)" "running active" "and leaves the run that was started alone"
goes_on "which trains"

# ---- Stopped before the run began ----
runs=$root/data/kiln/store/runs
touch "$root/data/kiln/store/runs.away"
# Takes the store away, or brings it back: no attempt of kiln-begin succeeds meanwhile. An atomic exchange, because uploadd
# would make a new folder between two renames.
swap_store() {
	python3 -c 'import ctypes, sys
exchange, at = 2, -100 # renameat2(2): RENAME_EXCHANGE, AT_FDCWD
sys.exit(-ctypes.CDLL(None).renameat2(at, sys.argv[1].encode(), at, sys.argv[2].encode(), exchange))' "$runs" "$runs.away"
}
waits() { [ -e "$record/../asked" ] && grep -q '^waiting: failed' <<<"$(property begin StatusText)"; }
stopped() { # name, options of kiln stop
	inside kiln start >"$work/said" 2>&1
	wait_for 60 waits
	ok $? "$1: kiln-begin waits for the store" "$(journal -b -n 12; cat "$work/said"; ls -la "$record/.." "$runs")"
	inside kiln stop "${@:2}" >"$work/said" 2>&1
	ok $? "kiln stop ${*:2}" "$(cat "$work/said")"
	wait_for 30 is_down kiln-begin kiln-run.target
	ok $? "it waits no longer" "$(inside systemctl status --no-pager kiln-begin 2>&1)"
	wait_for 10 test ! -e "$record/../asked"
	ok $? "no run is requested any more" "$(ls "$record/..")"
}
inside kiln stop >"$work/said" 2>&1
becomes 60 stopped "kiln stop, while it trains"
rests "its units are stopped"
swap_store
stopped "an unfinished run"
wait_for 10 is_state stopped
ok $? "the run is stopped" "$(state)"
echo failed >"$record/state"
stopped "a new run" --now
like "$(state)" '^(failed|stopped)$' "it rests, however far begin came"

# ---- A power cut before the run began ----
inside kiln start >"$work/said" 2>&1
wait_for 60 waits
power_off
ok $? "a start that waits, and the box goes down" "$(ls "$record/..")"
swap_store
clock_wait 0
booted "it boots again"
becomes 60 running "the run that was asked for begins"
says 30 "and the journal says so" 'going on after a reboot' -b -u kiln-resume
goes_on "it trains"
inside kiln stop >"$work/said" 2>&1
becomes 60 stopped "kiln stop"
rests "its units are stopped"

# ---- The night ends before the run began ----
echo failed >"$record/state"
swap_store
config 1000000 "ends_at = \"$(date -u -d '+2 hours' +%H:%M)\";" "$every" >"$conf"
inside kiln start >"$work/said" 2>&1
wait_for 60 waits
date -d '-1 day' +%s >"$record/../asked"
says 60 "it is given up" 'no run: run.ends_at came before the run that was asked for could begin' -b -u kiln-begin
wait_for 30 is_down kiln-begin kiln-run.target
ok $? "its units are stopped" "$(inside systemctl status --no-pager kiln-begin kiln-run.target 2>&1)"
like "$(state) $(ls "$record/.." | grep -xE 'asked|unbegun')" '^(failed|expired) $' "nothing is left of it"
inside kiln start >"$work/said" 2>&1
wait_for 60 waits
power_off
date -d '-1 day' +%s >"$record/../asked"
booted "it boots again, when the night is over"
says 30 "then it is given up, too" 'no run: run.ends_at came before' -b -u kiln-resume
wait_for 10 test ! -e "$record/../asked"
like "$(state) $(ls "$record/.." | grep -xE 'asked|unbegun')" '^(failed|expired) $' "nothing is left of it"
swap_store

# ---- A power cut before a finished run is archived ----
rm -f "$record/finished"
echo finished >"$record/state"
test ! -L "$record"
ok $? "a record that is not archived"
power_off
booted "it boots again"
wait_for 60 test -L "$record"
ok $? "kiln-finished archives it" "$(journal -b -u kiln-resume -u kiln-finished)"
