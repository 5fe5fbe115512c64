#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Trials side by side under a real systemd, in a container with two devices (PoCL's), the long test: a trial of slot 1 fails,
# and slot 1 goes on; the runs of both slots pause, go on, and stop at once; kiln-begin of both slots is killed; the device of
# slot 1 is gone; with one device the series goes on in turn.
. "$(dirname "$0")/../system/systemd_lib.sh"

installed 600
for unit in kiln-traind{,@} kiln-devices; do
	drop_in $unit.service Service 'Environment="POCL_DEVICES=basic basic"'
done
booted "it boots"
trial() { echo "{ name = \"$1\"; overrides = { run = { epochs = $2; }; optimizer = { name = \"sgd\"; learning_rate = $3; }; }; }"; }
config 1 'seed = 3;' "experiments = ( $(trial long 100000 0.001), $(trial wild 3 1e6), $(trial other 100000 0.002), $(trial last 2 0.003) );
	series = { parallel = 0; }; checkpoint: { every_steps = 100; };" >"$root/etc/kiln/kiln.conf"
shown() { # of the units of the slots, and the record
	inside systemctl list-units --plain --no-legend --all 'kiln-*@*' 'kiln-begin*' 'kiln-run*'
	of_series 's["state"], t'
	inside cat /run/kiln/usable/count
	journal -n 12 -u kiln-devices -u kiln-steer@*
	journal -n 60
}
both_train() { is_active kiln-traind kiln-traind@1 && [ "$(of_series '[x["state"] for x in t]')" = "['running', 'failed', 'running', 'waiting']" ]; }
states_are() { [ "$(cat "$root"/data/kiln/run/{,slot-1/}current/state | sort -u)" = "$1" ]; }
all_down() { is_down kiln-traind kiln-fetchd kiln-begin kiln-run.target kiln-{traind,fetchd,begin}@1 kiln-run@1.target; }
passed_both() { # both runs have a checkpoint newer than a file
	[ "$(find "$root"/data/kiln/spool/traind/*/checkpoints -name 'ckpt-*' -newer "$1" -printf '%h\n' 2>/dev/null | sort -u | wc -l)" = 2 ]
}

inside kiln start >"$work/said" 2>&1
ok $? "kiln start" "$(cat "$work/said")"
wait_for 60 both_train
rc=$?
ok $rc "a trial of slot 1 fails, and slot 1 goes on with the next one" "$(shown)"
[ $rc = 0 ] || exit
for change in pause:paused resume:running; do
	inside kiln "${change%:*}" >"$work/said" 2>&1
	wait_for 30 states_are "${change#*:}"
	ok $? "kiln ${change%:*}: both runs are ${change#*:}" "$(cat "$work/said"; shown)"
done
inside kiln stop --now >"$work/said" 2>&1
wait_for 60 all_down
ok $? "kiln stop --now ends the units of both slots" "$(cat "$work/said"; shown)"
inside kiln start >"$work/said" 2>&1
wait_for 60 both_train
ok $? "kiln start goes on in both slots" "$(cat "$work/said"; shown)"
touch "$work/now"
wait_for 60 passed_both "$work/now"
ok $? "both train on"

# ---- kiln-begin is killed ----
inside kiln stop >"$work/said" 2>&1
wait_for 60 all_down
ok $? "kiln stop ends the units of both slots" "$(cat "$work/said"; shown)"
drop_in kiln-begin.service Service 'ExecStartPre=/bin/sleep 1'
drop_in kiln-begin@.service Service 'ExecStartPre=/bin/sleep 1'
inside systemctl daemon-reload
inside kiln start >"$work/said" 2>&1
for unit in begin begin@1; do
	begins() { [ "$(property $unit SubState)" = start-pre ]; }
	wait_for 30 begins
	inside systemctl kill -s KILL kiln-$unit.service
done
wait_for 60 both_train
ok $? "begin of both slots is killed: both train" "$(shown)"

# ---- A device is gone ----
drop_in kiln-traind@.service Service 'Environment="POCL_DEVICES=basic"'
inside systemctl daemon-reload
inside systemctl kill -s KILL kiln-traind@1.service
moved() {
	[ "$(of_series '[(x["state"], x["slot"], x.get("moved")) for x in t if x["name"] == "other"]')" = "[('running', 0, True)]" ] &&
		is_down kiln-run@1.target kiln-traind@1
}
wait_for 120 moved
ok $? "the device of slot 1 is gone: its trial waits for slot 0, and slot 1 rests" "$(shown)"
is_active kiln-traind
ok $? "slot 0 trains on"
is "$(of_series 's["state"]')" running "and so does the series"

# ---- Fewer devices ----
inside kiln stop >"$work/said" 2>&1
wait_for 60 all_down
rm "$root"/etc/systemd/system/kiln-{traind,traind@,devices}.service.d/*
drop_in kiln-devices.service Service MemoryMax=infinity
drop_in kiln-traind.service Service MemoryMax=infinity
inside systemctl daemon-reload
inside kiln start >"$work/said" 2>&1
alone() { is_active kiln-traind && [ "$(of_series 's["slots"]')" = 1 ]; }
wait_for 60 alone
ok $? "with one device the series goes on in turn" "$(shown)"
is_active kiln-run@1.target
is $? 1 "and no unit of slot 1 works"
