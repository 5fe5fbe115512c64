#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A series under a real systemd, in a container: kiln start begins it, each trial follows the one before without a hand, the
# box is switched off in its middle and goes on after the boot, and at the end the report of the night is made.
. "$(dirname "$0")/systemd_lib.sh"

installed 200
booted "it boots"
config 4 'seed = 3;' 'vary = { optimizer = { learning_rate = [ 0.001, 0.01, 0.1, 0.0001, 0.0003, 0.003 ]; }; };
	split: { validation_percent = 20; }; series = { method = "halving"; trials = 6; reduction = 2; };' >"$root/etc/kiln/kiln.conf"
is "$(steer config.reload)" ok "a configuration with trials"
series() { # python expression of the record s and its trials t
	python3 -c 'import glob, json, sys
s = json.load(open(glob.glob(sys.argv[1] + "/data/kiln/run/series/*/series.json")[0])); t = s["trials"]
print(eval(sys.argv[2]))' "$root" "$1" 2>&1
}
inside kiln start >"$work/said" 2>&1
ok $? "kiln start" "$(cat "$work/said")"
two_ended() { [ "$(series 'sum(len(x["rungs"]) for x in t) >= 2')" = True ]; }
wait_for 120 two_ended
ok $? "trial after trial ends its rung" "$(series 't'; journal -n 40)"
status_is 0
like "$(cat "$work/status")" '^series +(next )?halving-0[1-6], trial [1-6] of 6 of t-series-[0-9-]+, running; best so far: halving-0' "kiln status shows the series, also between two trials"
is "$(inside kiln experiments list --json 2>&1 | python3 -c 'import json, sys; r = json.load(sys.stdin); print(len(r if isinstance(r, list) else r["series"]))')" 1 "so does kiln experiments list"
inside systemctl reboot --force --force >/dev/null 2>&1 || true
wait_for 60 gone || kill -KILL "$nspawn" ${leader:+$leader}
booted "it boots after a power cut in the middle of the series"
over() { [ "$(series 's["state"]')" = finished ]; }
wait_for 240 over
ok $? "the series goes on by itself, and finishes" "$(series '[(x["name"], x["state"]) for x in t]'; journal -n 60)"
is "$(series 'sorted({x["state"] for x in t}), len({x["run"] for x in t}), s["winner"] in [x["name"] for x in t if x["state"] == "finished"]')" \
	"(['finished', 'pruned'], 6, True)" "every trial ran once: one finished, the others stopped early"
says 60 "the report of the night follows" 'finished' -u kiln-report
stored() { cmp -s "$root"/data/kiln/run/series/*/series.json "$root"/data/kiln/store/runs/series/*/series.json; }
wait_for 30 stored
ok $? "the record of the series is in the store"
touch "$root/data/kiln/run/judge"
judged() { [ ! -e "$root/data/kiln/run/judge" ]; }
wait_for 60 judged
ok $? "uploads that were late and are complete: kiln-promote starts" "$(journal -n 20 -u kiln-promote)"
is "$(inside systemctl --failed --no-legend --plain | grep kiln | grep -v kiln-hugepages)" "" "no unit has failed"
