#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A series of halving in three slots under a real systemd, in a container with three devices (PoCL's): run.ends_at comes while
# slot 0 has parked its trial and waits, so slot 0 has no run. The box switches itself off, and the next night goes on.
. "$(dirname "$0")/../system/systemd_lib.sh"

installed 200
for unit in kiln-traind{,@} kiln-devices; do
	drop_in $unit.service Service 'Environment="POCL_DEVICES=basic basic basic"'
done
booted "it boots"
shown() { # of the units of the slots, and the record
	inside systemctl list-units --plain --no-legend --all 'kiln-*@*' 'kiln-begin*' 'kiln-run*'
	of_series 's["state"], t'
	journal -n 60
}
reports() { find "$root/data/kiln/run/reports" -name '*.json' | wc -l; }
in_time() { [ "$(date +%-S)" -lt 15 ]; }
wait_for 60 in_time # so that run.ends_at, which is a minute, is most of a minute away
# The first trial is fast, and the others are not at the end of their first rung by then.
config 24 "seed = 1; ends_at = \"$(date -u -d '1 min' +%H:%M)\";" 'vary = { model = { layers = { dense = { units = [ 8, 24576, 24577 ]; }; }; }; };
	series = { method = "halving"; parallel = 0; reduction = 3; first_rung_epochs = 20; };
	split: { validation_percent = 20; }; checkpoint: { every_steps = 1000; };
	power: { when_finished = "off"; wake_by = "other"; };' | sed 's/batch_rows = 32/batch_rows = 4/' >"$root/etc/kiln/kiln.conf"
is "$(steer config.reload)" ok "a configuration with trials"
timer_soon
slot_0_waits() { # and has no run
	[ "$(of_series '[(x["state"], x["slot"]) for x in t]')" = "[('parked', 0), ('running', 1), ('running', 2)]" ] &&
		[ "$(property begin ActiveState)" = activating ] && [ ! -e "$root/data/kiln/run/current" ]
}
wait_for 45 slot_0_waits
rc=$?
ok $rc "slot 0 parks its trial, and waits without a run" "$(shown)"
[ $rc = 0 ] || exit
wait_for 120 gone
ok $? "the night ends, and the box switches itself off" "$(shown)"
is "$(of_series 's["state"], [x["state"] for x in t]') $(reports)" "('expired', ['parked', 'running', 'running']) 1" \
	"the series waits for the next night, and this one has its report"
is "$(python3 -c 'import json, sys; r = json.load(open(sys.argv[1])); print(r["outcome"], r["run"], r["series"]["id"])' \
	"$root"/data/kiln/run/reports/*.json)" "expired None $(of_series 's["id"]')" "which tells of the series"
booted "it boots"
inside kiln start >"$work/said" 2>&1
ok $? "kiln start" "$(cat "$work/said")"
goes_on() { is_active kiln-traind@1 kiln-traind@2 && [ "$(property begin ActiveState)" = activating ]; }
wait_for 60 goes_on
ok $? "goes on with the trials of the other slots, and slot 0 waits" "$(shown)"
