#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Kiln under a real systemd, in a container: started by its timer, every daemon killed and stopped in mid-run, six crashes in
# a row, controlled, switched off. The run ends with the same weights as an undisturbed one.
. "$(dirname "$0")/../system/systemd_lib.sh"

epochs=${KILN_EPOCHS:-600}
checkpoints='checkpoint: { every_steps = 500; keep = 2; };'

# ---- Installed ----
installed 1500
for unit in fetchd traind uploadd controld; do
	drop_in "kiln-$unit.service" Service WatchdogSec=4
done
booted "it boots"
is "$(pid_of uploadd | grep -c '^0$'):$(property uploadd StatusText)" "0:waiting for a run" "uploadd waits for the first run"
like "$(inside systemctl show -P NextElapseUSecRealtime kiln-nightly.timer)" 2199 "without a configuration no run is due"

# ---- A configuration that comes late, the timer, a run ----
config "$epochs" "" "$checkpoints" >"$root/etc/kiln/kiln.conf"
is "$(steer config.reload)" ok "config.reload, as kiln-control"
is "$(steer config.reload kiln-fetch | grep -c Permission)" 1 "the fetcher's user may not call kiln-steer"
like "$(steer 'run.start kiln-traind')" '^error found the word "run.start kiln-traind", expected one of run.start, ' "a word that is none is refused"
timer_soon
becomes 30 running "the timer starts a run"
goes_on "it trains"
like "$(property traind StatusText)" 'training' "traind's status says so"
like "$(inside kiln status 2>&1)" 'running' "so does kiln status"

# ---- Killed and stopped ----
fetchd=$(pid_of fetchd)
kill_it traind KILL
is "$(pid_of fetchd)" "$fetchd" "a trainer that crashes leaves the fetcher alone"
goes_on "and the run goes on"
kill_it fetchd KILL
kill_it uploadd KILL
kill_it controld KILL
goes_on "killed fetchd and uploadd: the run goes on"
kill_it traind STOP
kill_it fetchd STOP
kill_it uploadd STOP
kill_it controld STOP
for unit in traind fetchd uploadd controld; do
	says 30 "the watchdog ended $unit, which stood still" 'Watchdog timeout' -u kiln-$unit
done
goes_on "and the run goes on"
says 30 "the journal tells why it waits" 'failed [0-9]+ times, trying again in [0-9]+ s: killed, or crashed' -u kiln-traind

# ---- Controlled ----
inside kiln pause >"$work/said" 2>&1
becomes 60 paused "kiln pause"
inside kiln resume >"$work/said" 2>&1
becomes 60 running "kiln resume"
inside kiln stop >"$work/said" 2>&1
becomes 60 stopped "kiln stop"
rests "its units are stopped"
inside kiln start >"$work/said" 2>&1
becomes 60 running "kiln start goes on with it"
goes_on "and it trains"

# ---- Six crashes in a row ----
is "$(property traind NRestarts)" 0 "kiln start: earlier failures count no longer"
crash_up_to 6 traind
like "$(property traind StatusText)" '^degraded: failed 6 times, trying again in 32 s: killed, or crashed' "systemd is told that it is degraded"
wait_for 20 status_is 5
ok $? "kiln status: exit code 5" "$(cat "$work/status")"
like "$(cat "$work/status")" 'why +traind: failed 6 times, trying again in 32 s: killed, or crashed' "and the reason"
is "$(property traind SubState)" start "it has not begun yet"
goes_on "it goes on without hands"
wait_for 30 status_is 5
like "$(cat "$work/status")" 'why +traind: failed 6 times, the last time: killed, or crashed' "status says so until it has run well for a while"

# ---- Power ----
echo 'run: { epochs = "none"; };' >"$root/etc/kiln/kiln.conf"
power_off
is "$(state)" running "the box goes down in mid-run"
booted "it boots again"
says 30 "the run goes on after it, whatever kiln.conf says by now" 'going on after a reboot' -b -u kiln-resume
says 60 "from its newest checkpoint" 'going on from' -b -u kiln-traind
becomes 900 finished "it finishes"
rests "the run's units are stopped"
archived() {
	[ -L "$root/data/kiln/run/current" ] && [ "$(cat "$root"/data/kiln/run/archive/*/state)" = finished ]
}
wait_for 60 archived
ok $? "its record goes to the archive" "$(inside systemctl status --no-pager -n 20 kiln-finished 2>&1)"
status_is 5
like "$(cat "$work/status")" 'why +kiln.conf:1: run.epochs: found "none"' "kiln status: what is wrong with kiln.conf"
config "$epochs" "" "$checkpoints" >"$root/etc/kiln/kiln.conf"
status_is 7
like "$(cat "$work/status")" 'state +finished' "put right: of the run"

# ---- The same bits ----
stored() {
	ls "$root"/data/kiln/store/runs/*/model/model.safetensors
}
wait_for 120 stored
ok $? "the model is in the store" "$(journal -b -u kiln-uploadd)"
data_folder=$root/data/kiln/store/data runs_folder=$work/plain/runs
config "$epochs" "" "$checkpoints" >"$work/plain.conf"
plain_run plain
is "$(tensors "$(stored)")" "$(tensors "$work"/plain/runs/*/model/model.safetensors)" "the same weights, bit for bit"
