#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Trials side by side under a real systemd, in a container with three devices (PoCL's): how trials, services and a series end. The
# program that starts the slots is killed. kiln-fetchd of one slot ends for good for the sake of its trial, that of another one for
# the sake of the store. A person gives a series up. The winner of a series is promoted.
. "$(dirname "$0")/systemd_lib.sh"

installed 200
for unit in kiln-traind{,@} kiln-devices; do
	drop_in $unit.service Service 'Environment="POCL_DEVICES=basic basic basic"'
done
# kiln-fetchd of a slot cannot read the data of the trial "spoilt", and the store refuses it those of the trial "denied".
drop_in kiln-fetchd@.service Service ExecStart= "ExecStart=/bin/sh -c 'run=/data/kiln/run/slot-%%i/current/run.json; \
	grep -q spoilt \$\$run && exit 65; grep -q denied \$\$run && exit 77; exec /usr/libexec/kiln/kiln-fetchd'"
sed -i 's/%%i/%i/' "$root"/etc/systemd/system/kiln-fetchd@.service.d/*
drop_in kiln-slots.service Service 'ExecStartPre=/bin/sleep 1'
booted "it boots"
trial() { echo "{ name = \"$1\"; overrides = { run = { epochs = $2; }; optimizer = { learning_rate = $3; }; }; }"; }
others='split: { validation_percent = 20; }; checkpoint: { every_steps = 100; }; promote: { against = "champion"; };'
shown() { # of the units of the slots, and the record
	inside systemctl list-units --plain --no-legend --all 'kiln-*@*' 'kiln-begin*' 'kiln-run*' 'kiln-slots*'
	of_series 's["state"], t'
	journal -n 60
}
in_state() { [ "$(of_series 's["state"]')" = "$1" ]; }
reports() { find "$root/data/kiln/run/reports" -name '*.json' | wc -l; }
has_reports() { [ "$(reports)" = "$1" ]; }

# ---- A person gives a series up ----
config 1 'seed = 3;' "experiments = ( $(trial a 100000 0.01), $(trial b 100000 0.02), $(trial c 100000 0.03) ); series = { parallel = 0; }; $others" \
	>"$root/etc/kiln/kiln.conf"
inside kiln start >"$work/said" 2>&1
ok $? "kiln start" "$(cat "$work/said")"
starts() { [ "$(property slots SubState)" = start-pre ]; }
wait_for 60 starts
inside systemctl kill -s KILL kiln-slots.service
wait_for 60 is_active kiln-traind kiln-traind@1 kiln-traind@2
rc=$?
ok $rc "kiln-slots is killed: three trials train" "$(shown)"
[ $rc = 0 ] || exit
is "$(of_series 'sorted((x["slot"], x["state"]) for x in t)')" "[(0, 'running'), (1, 'running'), (2, 'running')]" "in three slots"
inside kiln abandon --yes >"$work/said" 2>&1
is $? 1 "kiln abandon is refused while trainers work"
like "$(cat "$work/said")" 'kiln stop first' "and says what to do"
inside kiln stop >"$work/said" 2>&1
all_down() { is_down kiln-run.target kiln-run@1.target kiln-run@2.target && has_reports "$1"; }
wait_for 60 all_down 1
ok $? "kiln stop: all slots rest, and the night has its report" "$(shown)"
inside kiln abandon --yes >"$work/said" 2>&1
ok $? "kiln abandon" "$(cat "$work/said")"

# ---- Services that end for good ----
config 1 'seed = 3;' "experiments = ( $(trial long 20 0.001), $(trial spoilt 2 0.01), $(trial denied 2 0.03), $(trial other 2 0.02),
	$(trial last 2 0.04) ); series = { parallel = 3; }; $others" >"$root/etc/kiln/kiln.conf"
given_up=$(echo "$root"/data/kiln/run/series/*)
inside kiln start >"$work/said" 2>&1
ok $? "kiln start after it" "$(cat "$work/said")"
of_series() { # python expression of the newest record s and its trials t
	python3 -c 'import glob, json, sys
s = json.load(open(sorted(glob.glob(sys.argv[1] + "/data/kiln/run/series/*/series.json"))[-1])); t = s["trials"]
print(eval(sys.argv[2]))' "$root" "$1" 2>&1
}
begun_0() { grep -q '"trial":[^,]*"long"' "$root/data/kiln/run/current/run.json"; }
wait_for 60 begun_0
echo '{"seq": 1, "checkpoint_seq": 0, "state": "paused"}' >"$root/data/kiln/run/current/want" # until kiln start
halted() { [ "$(of_series 's["state"], len(t)')" = "('stopped', 5)" ] && is_down kiln-run@1.target kiln-run@2.target; }
wait_for 60 halted
rc=$?
ok $rc "kiln-fetchd of a slot ends with 77: the series waits, and the other slots come to the end of their trials" "$(shown)"
[ $rc = 0 ] || exit
is "$(python3 -c 'import json, sys; s = json.load(open(sys.argv[1] + "/series.json")); print(s["state"], s["reason"])' "$given_up")" \
	"failed a person gave it up" "the series that was given up has failed"
like "$(of_series '[x["reason"] for x in t if x["name"] == "spoilt"]')" "kiln-fetchd@[12].service ended with 65 .*: data that cannot be used" \
	"kiln-fetchd of a slot ends with 65: the trial fails" "$(shown)"
like "$(event run.halted KILN_EXIT_STATUS KILN_UNIT)" '^77 kiln-fetchd@[12].service' "an event tells of the refusal"
is_active kiln-traind
ok $? "slot 0 works on" "$(shown)"
rm "$root"/etc/systemd/system/kiln-fetchd@.service.d/*
drop_in kiln-fetchd@.service Service MemoryMax=infinity TimeoutAbortSec=1
inside systemctl daemon-reload
inside kiln start >"$work/said" 2>&1
ok $? "the store is in order again: kiln start" "$(cat "$work/said")"
wait_for 60 in_state finished
rc=$?
ok $rc "the series goes on and finishes" "$(shown)"
[ $rc = 0 ] || exit
is "$(of_series '[(x["name"], x["state"]) for x in t]')" \
	"[('long', 'finished'), ('spoilt', 'failed'), ('denied', 'finished'), ('other', 'finished'), ('last', 'finished')]" "with every trial but one"

# ---- After the series ----
champion=$root/data/kiln/store/runs/models/t/champion.json
wait_for 60 test -e "$champion"
ok $? "the winner is promoted" "$(shown)"
is "$(python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["run_id"])' "$champion")" \
	"$(of_series '[x["run"] for x in t if x["name"] == s["winner"]][0]')" "it is the winner of all slots"
wait_for 60 has_reports 2
ok $? "the night has one report" "$(ls -l "$root/data/kiln/run/reports"; shown)"
is "$(inside systemctl --failed --no-legend --plain | grep kiln | grep -v kiln-hugepages)" "" "no unit has failed" "$(shown)"
