#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A small run as an operator sees it while it trains: status, checkpoints, pause, stop.
. "$(dirname "$0")/lib.sh"
node one
kiln=$KILN_BIN/kiln
cat >"$work/kiln.conf" <<-CONF
	run: { name = "small"; epochs = 100000; batch_rows = 16; };
	source: { url = "file://$work/store/data"; };
	sink: { url = "file://$work/store/runs"; };
	ring: { small_pages = true; };
	device: { type = "cpu"; };
	schema = ( { name = "sentence"; dtype = "float32"; shape = [ 64 ]; }, { name = "label"; dtype = "int64"; shape = [ 2 ]; } );
	model: { layers = ( { op = "dense"; units = 256; }, { op = "relu"; }, { op = "dense"; units = 2; }, { op = "softmax"; } ); };
CONF
awk 'BEGIN { for (i = 0; i < 400; i++) print (i % 2 ? "pos" : "neg") "\tthe film was " (i % 2 ? "grand" : "dull") " in part " i }' \
	>"$work/reviews.tsv"
"$kiln" prep "$work/reviews.tsv" --config "$work/kiln.conf" --dims 64 --records-per-shard 40 >"$work/prep.log" 2>&1
ok $? "prep" "$(cat "$work/prep.log")"
"$KILN_BIN/kiln-controld" 2>"$work/controld.log" &
wait_for 20 "$kiln" node
said=$("$kiln" stalls --json)
is "$? $(python3 -c 'import json, sys; print(json.load(sys.stdin)["run"])' <<<"$said")" "7 None" "before the first run, stalls --json has the exit status of stalls"
"$kiln" config apply "$work/kiln.conf" >"$work/apply.log" 2>&1
cmp -s "$work/kiln.conf" "$KILN_ROOT/etc/kiln/kiln.conf"
ok $? "config apply makes the folder of kiln.conf" "$(cat "$work/apply.log")"
# PoCL shows this machine as two devices.
POCL_DEVICES="pthread basic" tools/night "$KILN_BIN" "$work/kiln.conf" >"$work/night.log" 2>&1 &
night=$!

figure() { # path in status: prints the value, "null" where it is not known
	"$kiln" status --json | python3 -c 'import json,sys
v = json.load(sys.stdin)
for k in sys.argv[1].split("."): v = v[k]
print(json.dumps(v))' "$1"
}
known() { [[ "$(figure "$1")" =~ ^[0-9.e-]+$ ]]; }
for path in rates.records_per_s rates.bytes_per_s progress.eta_s loss accuracy progress.epoch; do
	wait_for 60 known $path
	ok $? "status knows $path" "$("$kiln" status 2>&1; cat "$work/night.log")"
done
done_by() { # name, command that has to become true
	wait_for 60 "${@:2}"
	ok $? "$1" "$("$kiln" status 2>&1)"
}
said=$("$kiln" status)
is $? 0 "a run that goes on: exit code 0"
like "$said" '^run +small-[0-9]{8}-[0-9]{6}$' "which run"
like "$said" '^state +running$' "its state"
like "$said" '^why +[^ -]' "why"
like "$said" '^progress +epoch [0-9]+ of 100000, step [0-9]+, [0-9.]+ %, [0-9.]+ (s|min|h) left$' "how far, and how long yet"
like "$said" '^rates +[1-9][0-9]* records/s, [0-9.]+ [kMG]?B/s, GPU busy [0-9.]+ %, waiting for data [0-9.]+ %$' "the rates of the run"
like "$said" '^quality +loss [0-9.]+, accuracy [0-9.]+ %' "the quality of the run"
like "$said" '^(fetchd|traind|uploadd) +[a-z]+: ' "what each daemon says"
said_node=$("$kiln" node)
like "$said_node" '^device +0 Portable Computing Language: .*, driver [^ ]+, [0-9.]+ GB: taken$' "node: the device that trains"
like "$said_node" '^device +1 Portable Computing Language: .*: passed over: device.id is "auto", which takes the first$' \
	"and the other one, with the reason"
like "$said" '^disk +[0-9.]+ [kMGT]?B of' "the disk"
python3 -c 'import json,sys
r = json.load(sys.stdin)["rates"]
sys.exit(not (0 <= r["gpu_busy_percent"] <= 101 and 0 <= r["waiting_percent"] <= 101))' <<<"$("$kiln" status --json)"
ok $? "the percentages are in range" "$("$kiln" status --json)"
is_state() { [ "$(figure state)" = "\"$1\"" ]; }

# ---- An update during a run; this machine has no RAUC ----
mkdir -p "$KILN_ROOT/run/kiln/update"
echo '{"state":"asked","url":"file:///x","text":"","restart":false,"started_s":1,"bytes":0,"bytes_done":0}' >"$KILN_ROOT/run/kiln/update/note.json"
newest() { "$kiln" checkpoint | awk 'NR > 1 && $1 > most { most = $1 } END { print most + 0 }'; }
before=$(newest)
PATH=$KILN_BIN:$PATH DBUS_SYSTEM_BUS_ADDRESS=unix:path=$work/none "$KILN_BIN/kiln-oneshot" update >"$work/update.log" 2>&1
is $? 77 "an update beside a run ends where RAUC is to begin" "$(cat "$work/update.log")"
[ "$(newest)" -gt "$before" ]
ok $? "behind a checkpoint that it asked for" "before: $before, now: $(newest)"
like "$("$kiln" status)" '^update +failed, file:///x: cannot reach RAUC' "which status says"
is_state running
ok $? "the run goes on"
said=$("$kiln" abandon --yes 2>&1)
is $? 1 "a run that trains is not given up"
like "$said" 'small-[0-9-]+ is running, and its trainer works: kiln stop first' "and why"
"$kiln" pause >/dev/null
done_by "paused" is_state paused
said=$("$kiln" status)
like "$said" '^progress +epoch [0-9]+ of 100000, step [0-9]+, [0-9.]+ %$' "a paused run has no end"
like "$said" '^rates +- records/s' "and no speed"
step=$(figure progress.step)
"$kiln" checkpoint now >/dev/null
safe() { [ "$(figure checkpoint.step) $(figure checkpoint.safe)" = "$step true" ]; }
done_by "a checkpoint on demand is safely uploaded" safe
like "$("$kiln" checkpoint)" "^$step +[0-9]+ +[0-9-]+ [0-9:]+ +yes +yes\$" "and listed"
like "$("$kiln" status)" "^checkpoint +step $step, .* ago, safely uploaded; in the store: step $step\$" "status says so"
"$kiln" resume >/dev/null
moved() { [ "$(figure progress.step)" -gt "$step" ]; }
done_by "resumed, it goes on" moved
"$kiln" watch >"$work/watched" &
watch=$!
wait_for 30 grep -q '^running small-' "$work/watched"
"$kiln" stop >/dev/null
done_by "stopped" is_state stopped
is "$("$kiln" status --json | python3 -c 'import json, sys
s = json.load(sys.stdin)
print(s["progress"]["step"] == s["checkpoint"]["step"])')" True "status shows the step of the last checkpoint" "$("$kiln" status)"
wait "$watch"
is $? 7 "watch ends with the run, by status' exit code"
like "$(tail -n 1 "$work/watched")" '^stopped small-[0-9-]+ step [0-9]+' "its last line"
"$kiln" status >/dev/null
is $? 7 "stopped: nothing goes on"
night_is_over() { ! kill -0 "$night"; }
wait_for 60 night_is_over
ok $? "tools/night ends, too" "$(cat "$work/night.log")"
kill "$night" 2>/dev/null
wait "$night"
is $? 0 "with exit code 0"
like "$(cat "$work/night.log")" '^small-[0-9-]+ is stopped, and all its files are in the store' "and says so"
is "$(python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["step"])' "$work"/store/runs/small-*/checkpoints/latest.json)" \
	"$(newest)" "its last checkpoint is in the store"

# ---- A run that is given up ----
"$kiln" abandon >/dev/null 2>&1
is $? 2 "given up only with --yes where nobody can be asked"
"$kiln" abandon --yes >/dev/null
is "$? $(figure state)" '0 "failed"' "given up, the run has failed"
is "$(figure why)" '"a person gave it up"' "and why"
said=$("$kiln" abandon --yes 2>&1)
like "$? $said" '^1 .*the run is failed' "once"
run=$(figure run.id)
"$KILN_BIN/kiln-oneshot" begin --config "$work/kiln.conf" >"$work/next" 2>>"$work/night.log"
[[ "$(tail -n 1 "$work/next")" =~ ^small- ]] && [ "\"$(tail -n 1 "$work/next")\"" != "$run" ]
ok $? "the next begin begins a new run" "$(cat "$work/next"; tail -n 3 "$work/night.log")"
cp "$KILN_ROOT/data/kiln/run/current/run.json" "$work/whole.json"
head -c 5000000 /dev/zero | tr '\0' ' ' >"$KILN_ROOT/data/kiln/run/current/run.json"
said=$("$kiln" abandon --yes 2>&1)
is $? 0 "a run whose record is too large is given up" "$said"
[ ! -e "$KILN_ROOT/data/kiln/run/current" ]
ok $? "its record is no more the current one"
mv "$KILN_ROOT"/data/kiln/run/damaged-record-* "$KILN_ROOT/data/kiln/run/current"
cp "$work/whole.json" "$KILN_ROOT/data/kiln/run/current/run.json"
