#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Trials side by side under a real systemd, in a container with two devices (PoCL's). The timer starts a series in two slots.
# Slot 0 trains two short trials and waits, slot 1 trains a long one. The trainer of slot 1 is killed, a person stops the first
# night, and the second one at once, and the power fails in the middle of the third one. The trials have the bits that they have
# in turn. There is one report for each night, and slot 0 switches the box off when the series has ended.
. "$(dirname "$0")/systemd_lib.sh"

installed 600
for unit in kiln-traind{,@} kiln-devices; do
	drop_in $unit.service Service 'Environment="POCL_DEVICES=basic basic"'
done
booted "it boots"
trial() { echo "{ name = \"$1\"; overrides = { run = { epochs = $2; }; optimizer = { learning_rate = $3; }; }; }"; }
trials="experiments = ( $(trial first 5 0.01), $(trial long "${KILN_EPOCHS:-200}" 0.001), $(trial second 5 0.002) );"
others='split: { validation_percent = 20; }; checkpoint: { every_steps = 100; };'
config 1 'seed = 3;' "$trials series = { parallel = 2; }; $others power: { when_finished = \"off\"; wake_by = \"other\"; };" \
	>"$root/etc/kiln/kiln.conf"
is "$(steer config.reload)" ok "a configuration with trials"
shown() { # of the units of the slots, and the record
	inside systemctl list-units --plain --no-legend --all 'kiln-*@*' 'kiln-begin*' 'kiln-run*'
	of_series 's["state"], t'
	journal -n 60
}
reports() { find "$root/data/kiln/run/reports" -name '*.json' | wc -l; }
slot_0_waits() { # slot 0 has trained all that it can
	[ "$(of_series '[x["state"] for x in t]')" = "['finished', 'running', 'finished']" ] &&
		[ "$(property begin ActiveState) $(property traind@1 ActiveState)" = "activating active" ]
}
no_unit_failed() {
	is "$(inside systemctl --failed --no-legend --plain | grep kiln | grep -v kiln-hugepages)" "" "no unit has failed" "$(shown)"
}

# ---- The first night ----
timer_soon
wait_for 60 is_active kiln-traind kiln-traind@1
ok $? "the timer starts two trainers" "$(shown)"
is "$(of_series 's["slots"], [(x["name"], x.get("slot")) for x in t if x["state"] == "running"]')" "(2, [('first', 0), ('long', 1)])" \
	"for two trials"
kill_it traind@1 KILL
is "$(inside cat /run/kiln/status/slot-1/traind/ended)" signal "the next trainer can read how it ended, and that was no lack of memory"
wait_for 60 slot_0_waits
ok $? "slot 0 trains one trial after the other, then waits" "$(shown)"
status_is 0
like "$(cat "$work/status")" '^slot 1 +long: epoch [0-9]+ of ' "kiln status shows the trial of slot 1"
like "$(cat "$work/status")" '^state +running' "and that the box works"
inside kiln stop >"$work/said" 2>&1
ok $? "kiln stop" "$(cat "$work/said")"
stopped() { [ "$(of_series 's["state"]')" = stopped ] && is_down kiln-traind@1 kiln-run.target kiln-run@1.target; }
wait_for 60 stopped
ok $? "the trial of slot 1 stops, and the series waits" "$(shown)"
has_reports() { [ "$(reports)" = "$1" ]; }
wait_for 60 has_reports 1
ok $? "the night has one report" "$(ls -l "$root/data/kiln/run/reports"; shown)"
gone
is $? 1 "and the box stays on"
no_unit_failed

# ---- The next night ----
timer_soon
wait_for 60 slot_0_waits
ok $? "the next night goes on in slot 1" "$(shown)"
inside kiln stop --now >"$work/said" 2>&1
ok $? "kiln stop --now" "$(cat "$work/said")"
wait_for 60 stopped
ok $? "ends the trial of slot 1" "$(shown)"
wait_for 60 has_reports 2
ok $? "and slot 0 ends the night" "$(ls -l "$root/data/kiln/run/reports"; shown)"
no_unit_failed

# ---- The third night ----
touch "$root/data/kiln/run/slot-1/current/finished" # as where the power failed before kiln-finished@1 saw it
timer_soon
wait_for 60 slot_0_waits
ok $? "the third night goes on in slot 1" "$(shown)"
inside systemctl reboot --force --force >/dev/null 2>&1 || true
wait_for 60 gone || kill -KILL "$nspawn" ${leader:+$leader}
is_up() { # kiln-begin waits, so systemd says "starting" until the night ends
	leader=$(pgrep -P "$nspawn" | head -n 1)
	[ -n "$leader" ] && inside systemctl is-active multi-user.target
}
booted "it boots after a power cut in its middle"
wait_for 60 slot_0_waits
ok $? "the night goes on in slot 1" "$(shown)"
no_unit_failed
wait_for 240 gone
ok $? "the box switches itself off" "$(shown)"
is "$(of_series 's["state"], {x["state"] for x in t}, len({x["run"] for x in t})')" "('finished', {'finished'}, 3)" \
	"after the last trial, and each trial has run once" "$(of_series t)"
is "$(reports)" 3 "the night has one report"
is "$(find "$root/data/kiln/store/runs" -name model.safetensors | wc -l)" 3 "every model is in the store"

# ---- In turn ----
data_folder=$root/data/kiln/store/data runs_folder=$work/runs config 1 'seed = 3;' "$trials $others" >"$work/turn.conf"
node turn
timeout 300 "$KILN_BIN/kiln" run --config "$work/turn.conf" >"$work/turn.log" 2>&1
ok $? "the same series in turn, undisturbed" "$(tail "$work/turn.log")"
bits() { # folder of the records of series, folder of the runs
	python3 - "$1" "$2" <<-'PY'
		import glob, json, sys
		sys.path.insert(0, "tests/system")
		from tensors import digest
		[path] = glob.glob(sys.argv[1] + "/*/series.json")
		for trial in json.load(open(path))["trials"]:
		    print(trial["name"], trial["value"], digest(f"{sys.argv[2]}/{trial['run']}/model/model.safetensors"))
	PY
}
is "$(bits "$root/data/kiln/run/series" "$root/data/kiln/store/runs")" "$(bits "$KILN_ROOT/data/kiln/run/series" "$work/runs")" \
	"with the same bits and figures of every trial"
unset KILN_ROOT
