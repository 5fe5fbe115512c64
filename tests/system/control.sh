#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# kiln-controld and the verbs of `kiln` that talk to it: every method, roles, control of a run, hostile clients, the journal.
. "$(dirname "$0")/lib.sh"
chmod 755 "$work"
node one
kiln=$KILN_BIN/kiln
raw() { python3 tests/system/control_raw.py "$KILN_ROOT/run/kiln/control.sock" "$@" 2>&1; }
code() { # expected exit code, name, command...
	local expected=$1 name=$2
	shift 2
	said=$("$@" 2>&1)
	is $? "$expected" "$name" "$said"
}
field() { python3 -c 'import json,sys
v = json.load(sys.stdin)
for k in sys.argv[1].split("."): v = v[int(k)] if isinstance(v, list) else v[k]
print(json.dumps(v))' "$1"; }

code 1 "without a daemon: an error that says so" "$kiln" status
like "$said" 'kiln-controld does not answer: it does not run; start it with systemctl start kiln-controld, or .* kiln-controld &' \
	"which daemon it is, and how to start it"
code 2 "an argument that is not expected" "$kiln" status --jsn
like "$said" 'kiln status: --jsn: no such option; did you mean "--json"[?]' "by its name, and what was meant"
code 2 "a number that is none" "$kiln" start --epochs many
code 2 "an option in the place of a value" "$kiln" start --start-from --epochs 3
like "$said" 'start: --start-from: found the option --epochs instead of a value, expected one of scratch, latest' \
	"names the option and what it expects"
code 2 "a verb that is none" "$kiln" statsu
like "$said" 'there is no verb "statsu"; did you mean "status"[?]' "which one is meant"
code 2 "the verb of a verb that is none" "$kiln" config chek
like "$said" 'config: found "chek", expected check, show, .*; did you mean "check"[?]' "which one is meant"

mkdir -p "$KILN_ROOT/etc/kiln" "$KILN_ROOT/run/kiln/update"
cat >"$work/kiln.conf" <<-CONF
	run: { name = "night"; epochs = 2; };
	source: { url = "file://$work/store/data"; };
	sink: { url = "file://$work/store/runs"; };
	control: { metrics_dir = "$work/textfile"; };
CONF
mkdir "$work/textfile"
a_shard "$work/store/data"
"$KILN_BIN/kiln-controld" 2>"$work/controld.log" &
controld=$!
wait_for 10 "$kiln" node
ok $? "controld listens" "$(cat "$work/controld.log")"
"$KILN_BIN/kiln-controld" 2>"$work/second.log"
is $? 69 "a second controld does not take the socket"

# ---- No run yet ----
code 7 "no run and no configuration: idle" "$kiln" status
like "$said" 'there is no configuration: kiln config apply FILE' "and what to do"
code 1 "no configuration: no start" "$kiln" start
like "$said" "there is no configuration yet: kiln config apply FILE: $KILN_ROOT/etc/kiln/kiln.conf: cannot read it: No such file" \
	"and why, with the path of the file"
code 1 "the first configuration, without a kiln-steer" "$kiln" config apply "$work/kiln.conf"
is "$(grep -v ^kiln: <<<"$said" | sort | cut -d: -f1 | tr '\n' ' ')" "control.metrics_dir layers run.epochs run.name schema sink.url source.url " \
	"what it changes: what is not the default"
like "$said" 'the new file is in place, but systemd did not reload the units: kiln-steer cannot be reached' "and what could not be done"
kill "$controld"
wait "$controld"
rmdir "$work/textfile" && touch "$work/textfile"
"$KILN_BIN/kiln-controld" 2>"$work/controld.log" &
controld=$!
says_why() { "$kiln" status | grep -q '^why *control.metrics_dir: .*kiln.prom.*: '; }
wait_for 10 says_why
code 5 "metrics that cannot be written: degraded, and why" "$kiln" status
rm "$work/textfile" && mkdir "$work/textfile"
kill "$controld"
wait "$controld"
"$KILN_BIN/kiln-controld" 2>"$work/controld.log" &
controld=$!
wait_for 10 "$kiln" node
like "$("$kiln" status)" '^why +there was no run yet$' "no run: why"
LD_PRELOAD=$KILN_BUILD/system/preload/clock.so KILN_TEST_CLOCK=unset "$KILN_BIN/kiln-oneshot" nightly --clock-wait-s 300 2>"$work/nightly.log" &
nightly=$!
waits() { "$kiln" status | grep -q '^state *beginning$'; }
wait_for 10 waits
like "$("$kiln" status)" '^why +the timer waits for the clock to be set, at most [0-9]+ s more' "the timer waits for the clock: not idle" "$(cat "$work/nightly.log")"
kill "$nightly"
wait "$nightly"
like "$("$kiln" status)" '^why +there was no run yet$' "nobody waits any more"
touch "$KILN_ROOT/run/kiln/no-data"
code 5 "a box without /data: degraded" "$kiln" status
like "$said" '^why +no /data: its partition cannot be mounted' "and why"
rm "$KILN_ROOT/run/kiln/no-data"
code 1 "nothing to pause" "$kiln" pause
like "$said" 'there is no run on this box yet' "and why"
code 1 "no kiln-steer" "$kiln" start
like "$said" 'kiln-steer cannot be reached at .*: nothing listens there; start it with systemctl start kiln-steer.socket; without systemd, tools/night starts a run' \
	"and what to start"
test ! -e "$KILN_ROOT/data/kiln/run/next.json"
ok $? "a start that failed leaves no overrides"

# ---- Control of a run ----
answers=$work/answers words=$work/words
echo ok >"$answers"
python3 tests/system/steer_stub.py "$KILN_ROOT/run/kiln-steer/socket" "$words" "$answers" &
wait_for 10 test -S "$KILN_ROOT/run/kiln-steer/socket"
code 2 "start with a word that is none" "$kiln" start --start_from latst
like "$said" 'kiln start: --start-from: found "latst", expected one of scratch, latest; did you mean "latest"[?]' \
	"the option, what was found, what is allowed, and what was meant"
code 2 "start with a number that is too small" "$kiln" start --epochs 0
like "$said" 'kiln start: --epochs: found "0", expected a whole number of 1 [.][.] 1000000' "the option, and its bounds"
code 2 "a program that is none" "$kiln" log --unit fetcd
like "$said" 'kiln log: --unit: found "fetcd", expected one of begin, .*, uploadd; did you mean "fetchd"[?]' "and which one was meant"
code 0 "start with overrides" "$kiln" start --epochs 3 --start-from latest
is "$(cat "$words")" run.start "one word to kiln-steer"
code 0 "until it begins: the first run" "$kiln" status
like "$said" '^state +beginning$' "is beginning"
is "$(python3 -c 'import json,sys; print(json.load(open(sys.argv[1])))' "$KILN_ROOT/data/kiln/run/next.json")" \
	"{'overrides': {'run.epochs': 3, 'run.start_from': 'latest'}, 'version': 1}" "overrides for begin"
code 0 "start with another machine's run" "$kiln" start --adopt t-20200101-000000
is "$(python3 -c 'import json,sys; print(json.load(open(sys.argv[1])))' "$KILN_ROOT/data/kiln/run/next.json")" \
	"{'overrides': {}, 'version': 1, 'adopt': 't-20200101-000000'}" "which begin brings"
echo "error kiln-begin.service failed" >"$answers"
code 1 "a start that kiln-steer refuses" "$kiln" start
like "$said" 'kiln-steer: kiln-begin.service failed' "and why"
: >"$answers"
code 1 "kiln-steer that dies" "$kiln" start
like "$said" 'kiln-steer ended after [0-9]+ s without an answer; it may have acted' "and why"
echo ok >"$answers"
requested() {
	python3 -c 'import json,sys; print(json.load(open(sys.argv[1])))' "$KILN_ROOT/data/kiln/run/promote.json" 2>&1
}
: >"$words"
code 0 "promote the winner" "$kiln" experiments promote
is "$(cat "$words"): $(requested)" \
	"experiments.promote: {'rollback': False, 'force': False, 'series': '', 'trial': '', 'from': 0, 'mark': 0}" "one word to kiln-steer, and a request"
code 0 "promote a trial" "$kiln" experiments promote t-series-20260101-000000 wide --force
is "$(requested)" "{'rollback': False, 'force': True, 'series': 't-series-20260101-000000', 'trial': 'wide', 'from': 0, 'mark': 0}" "by name"
code 1 "a name that can be none" "$kiln" experiments promote ../t
code 0 "the former champion" "$kiln" experiments rollback
is "$(requested)" "{'rollback': True, 'force': False, 'series': '', 'trial': '', 'from': 0, 'mark': 0}" "comes back"
echo "error kiln-promote.service failed" >"$answers"
code 1 "a promotion that kiln-steer refuses" "$kiln" experiments promote
test ! -e "$KILN_ROOT/data/kiln/run/promote.json"
ok $? "leaves no request"
echo ok >"$answers"
"$KILN_BIN/kiln-oneshot" begin >"$work/begin.log" 2>&1
ok $? "begin" "$(cat "$work/begin.log")"
run=$("$kiln" status --json | field run.id | tr -d '"')
want() { python3 -c 'import json,sys; w = json.load(open(sys.argv[1])); print(w["state"], w["seq"], w["checkpoint_seq"])' \
	"$KILN_ROOT/data/kiln/run/current/want"; }
code 0 "pause" "$kiln" pause
is "$(want)" "paused 1 0" "the request is written"
code 0 "pause again" "$kiln" pause
is "$(want)" "paused 1 0" "the same request is no new one"
code 0 "resume" "$kiln" resume
is "$(want)" "running 2 0" "resume is a request"
code 0 "checkpoint now" "$kiln" checkpoint now
is "$(want)" "running 3 1" "a checkpoint is a request"
is "$(raw keys)" "2 2 3 params" "an idempotency key acts once, and only for its own request"
code 0 "stop" "$kiln" stop
is "$(want)" "stopped 6 3" "stop is a request"
code 1 "start with overrides while a run is unfinished" "$kiln" start --epochs 9
like "$said" 'the run is running: it goes on as it began' "and why"
code 1 "start with another machine's run while one is unfinished" "$kiln" start --adopt t-20200101-000000
like "$said" "$run is running, so no other run is adopted" "and why"
code 0 "start goes on with it" "$kiln" start
is "$(want)" "running 7 3" "an old request to stop is over"
code 0 "stop now" "$kiln" stop --now
is "$(tail -n 1 "$words")" run.stop "and the word is said"
"$kiln" resume >/dev/null
is "$(raw keys-many)" "199 200" "of many idempotency keys the newest are remembered, the oldest are forgotten"
is "$(raw turns "$controld")" "300 answers, and the other waited for few" "a client that asks 300 times at once lets the others have their turn"
is "$(raw notifications)" "1 done, answer 1 is the next" "requests without an id get no answer"
echo wait >"$answers"
is "$(raw keys-at-work "$answers" "$words")" "state result result, said 1 times" \
	"a key whose request is at work: who asks again takes its answer over, and nothing is done twice"

# ---- The whole box ----
for verb in "factory-reset:factory.reset" "power off:power.off"; do
	read -ra name <<<"${verb%%:*}"
	: >"$words"
	code 2 "${verb%%:*}: not without --yes where nobody can be asked" "$kiln" "${name[@]}"
	like "$said" 'yes is needed' "and why"
	printf 'no\n' | script -qec "$kiln ${verb%%:*}" /dev/null >"$work/asked"
	is $? 1 "${verb%%:*}: asks on a terminal, and no is no"
	like "$(cat "$work/asked")" 'this box: .*type yes to go on' "the question"
	is "$(cat "$words")" "" "nothing was said to kiln-steer"
	printf 'yes\n' | script -qec "$kiln ${verb%%:*}" /dev/null >"$work/asked"
	is "$? $(cat "$words")" "0 ${verb#*:}" "yes is yes" "$(cat "$work/asked")"
	code 0 "${verb%%:*} --yes" "$kiln" "${name[@]}" --yes
	is "$(tail -n +2 "$words")" "${verb#*:}" "its word"
done
echo "error this system is not a Kiln image: it has no kiln-factory-reset.service" >"$answers"
code 1 "a factory reset where there is no image" "$kiln" factory-reset --yes
like "$said" 'this system is not a Kiln image: it has no kiln-factory-reset.service' "and why"
code 2 "update: not without --yes where nobody can be asked" "$kiln" update s3://bucket/key
code 1 "update: of what?" "$kiln" update --yes
like "$said" 'url' "a bundle has to be named"
echo ok >"$answers"

# ---- Status ----
record=$KILN_ROOT/data/kiln/run/current/run.json
cp "$record" "$work/record"
started() { sed -i -E "s/(\"started_s\":\s*)[0-9]+/\1$1/" "$record"; }
started "$(date +%s)"
code 0 "without pages: running" "$kiln" status --json
is "$(field progress.step <<<"$said")" null "what no page says is null"
started 1
code 5 "a trainer that never began: degraded" "$kiln" status
like "$said" 'kiln-traind has not begun' "and why"
cp "$work/record" "$record"
"$KILN_BUILD/system/status_pages" "$run" training &
pages=$!
rates() { [ "$("$kiln" status --json | field rates.records_per_s)" != null ]; }
wait_for 10 rates
ok $? "rates are known after two samples"
code 0 "status" "$kiln" status --json
status=$said
for want in schema=1 state='"running"' why='"traind says so\u001b[31m"' progress.epochs=2 accuracy=0.5 validation_loss=null \
	checkpoint.step=100 checkpoint.safe=true fetch_retries=7 skipped_records=3 \
	daemons.traind.alive=true daemons.fetchd.phase='"working"'; do
	is "$(field "${want%%=*}" <<<"$status")" "${want#*=}" "status: ${want%%=*}"
done
for want in progress.epoch progress.step progress.percent progress.eta_s rates.bytes_per_s rates.gpu_busy_percent rates.waiting_percent loss disk.free_bytes; do
	like "$(field $want <<<"$status")" '^[0-9.]+$' "status: $want is a number"
done
is "$(python3 -c 'import json,sys
print(*sorted({"protocol"} ^ set(json.loads(sys.argv[1])) ^ {w.split()[0] for w in sys.argv[2].split(";")[0].split(", ")}))' \
	"$status" "$(sed -n '/^### `status`/,/^###/p' config/control.md | sed -n '/^Result: /,/^$/p' | tr '\n' ' ' | sed 's/^Result: //')")" "" "the reference names every member of status"
code 0 "status for people" "$kiln" status
like "$said" "^run +$run$" "the run"
like "$said" '^why +traind says so' "why"
like "$said" '^progress +epoch [12] of 2, step [0-9]+, [0-9.]+ %, [0-9.]+ (s|min) left$' "progress, with what is left"
like "$said" '^rates +[0-9]+ records/s, [0-9.]+ [kM]?B/s, GPU busy [0-9.]+ %, waiting for data [0-9.]+ %$' "rates"
like "$said" '^quality +loss 0\.[0-9]{4}, accuracy 50\.00 %, ' "loss and accuracy"
like "$said" '^checkpoint +step 100, 6[0-9] s ago, safely uploaded; in the store: step 100$' "the checkpoint"
like "$("$kiln" checkpoint)" '^100 +- .* no +yes$' "kiln checkpoint has it, too, though the disk has it no more"
like "$said" '^retries +7 fetching, 0 uploading; 3 records skipped$' "retries and skipped records"
like "$said" '^disk +[0-9.]+ [kMGT]B of [0-9.]+ [kMGT]B free \([0-9.]+ %\)$' "the disk"
like "$said" '^heat ' "temperatures, where there are sensors"
! grep -q $'\033' <<<"$said"
ok $? "what a daemon says cannot steer the terminal"
lines=$(timeout 3 "$kiln" watch)
like "$lines" "^running $run step [0-9]+ [0-9.]+ % loss 0\.[0-9]+" "watch without a terminal: plain lines"
screen=$(timeout 4 script -qec "timeout 3 $kiln watch" /dev/null </dev/null)
like "$screen" $'\033\\[[0-9]+F\033\\[J' "watch on a terminal redraws in its place"
like "$screen" '\[██████████+░*\] [0-9.]+ %' "a progress bar"
like "$screen" 'loss .*[▁▂▃▄▅▆▇█]' "a sparkline of the loss"
screen=$(timeout 4 script -qec "stty cols 40 rows 12; timeout 3 $kiln watch" /dev/null </dev/null)
like "$screen" $'\033\\[11F\033\\[J\033\\[\\?7l' "and on a small one, whose lines are cut"
step_now() { "$kiln" status --json | field progress.step; }
before=$(step_now) metrics=$("$kiln" metrics) after=$(step_now)
step=$(sed -n 's/^kiln_step //p' <<<"$metrics")
[ "$before" -le "$step" ] && [ "$step" -le "$after" ]
ok $? "metrics: a gauge equals the figure of status" "$before, ${step:-none}, $after"
like "$metrics" '^kiln_fetch_retries_total 7$' "metrics: a counter"
is "$(tail -n 1 <<<"$metrics")" "# EOF" "metrics end as OpenMetrics asks"
wait_for 30 grep -q '^kiln_step [0-9]' "$work/textfile/kiln.prom"
ok $? "metrics lie in the textfile collector's folder" "$(ls "$work/textfile")"
like "$("$kiln" node)" 'gpu +test device' "node: the trainer's device"
kill "$pages"
wait "$pages" 2>/dev/null
"$KILN_BUILD/system/status_pages" "$run" degraded 5 &
pages=$!
is_degraded() { "$kiln" status >/dev/null; [ $? = 5 ]; }
wait_for 10 is_degraded
ok $? "a degraded daemon: exit code 5"
like "$("$kiln" status)" 'why +traind: traind says so' "and why"
kill "$pages"
wait "$pages" 2>/dev/null
"$KILN_BUILD/system/status_pages" "$run" training 5 "failed 6 times, the last time: the device is lost" &
pages=$!
runs_again() { "$kiln" status | grep -q '^traind .*training: '; }
wait_for 10 runs_again
code 5 "it runs again after six failures: still degraded" "$kiln" status
like "$said" 'why +fetchd: failed 6 times, the last time: the device is lost' "with the reason"
kill "$pages"
wait "$pages" 2>/dev/null
rm -r "$KILN_ROOT/run/kiln/status"

# ---- A run that ended: the pages of its daemons are gone ----
cp "$record" "$work/record"
python3 - "$record" <<-'PY'
	import json, sys
	r = json.load(open(sys.argv[1]))
	r["epochs"] = [{"epoch": 0, "step": 50, "loss": 0.7, "accuracy": 0.5},
	               {"epoch": 1, "step": 100, "loss": 0.25, "accuracy": 0.75, "validation_loss": 0.5, "validation_accuracy": 0.625}]
	r["metrics"] = {"test": {"loss": 0.375, "accuracy": 0.875, "rows": 8}}
	json.dump(r, open(sys.argv[1], "w"))
PY
echo finished >"${record%/*}/state"
code 7 "a finished run without pages" "$kiln" status
like "$said" '^progress +epoch 2 of 2, step 100, 100.0 %' "its record tells how far it came"
like "$said" '^quality +loss 0.2500, accuracy 75.00 %, validation loss 0.5000, accuracy 62.50 %$' "the quality of the run"
like "$said" '^test +loss 0.3750, accuracy 87.50 %$' "and its test"
is "$("$kiln" status --json | field run.metrics.test.accuracy)" 0.875 "also for programs"
code 0 "start another" "$kiln" start
code 0 "until it begins status is not the last run's" "$kiln" status
like "$said" '^state +beginning$' "its state is beginning"
! grep -q "$run" <<<"$said"
ok $? "there is no run yet" "$said"
timeout 3 "$kiln" watch >"$work/watched"
is "$? $(cat "$work/watched")" "124 beginning - step - - % loss -" "and watch waits for it"
echo "the store is away" >"$KILN_ROOT/data/kiln/run/unbegun" # as begin does
code 5 "it cannot: degraded" "$kiln" status
like "$said" '^why +the run does not begin: the store is away' "and why"
code 0 "start it once more" "$kiln" start
code 0 "why the last attempt failed is over" "$kiln" status
rm "$KILN_ROOT/data/kiln/run/unbegun"
echo "error kiln-begin.service failed" >"$answers"
code 1 "a start that kiln-steer refuses" "$kiln" start
echo ok >"$answers"
code 7 "leaves the last run's" "$kiln" status
echo stopped >"${record%/*}/state"
code 0 "start one that stopped" "$kiln" start
code 0 "until it goes on" "$kiln" status
like "$said" "^run +$run$" "status shows how far it came"
like "$said" '^state +beginning$' "and that it begins"
code 0 "stop it before" "$kiln" stop
code 7 "it stays as it was" "$kiln" status
sed -i '0,/epochs = 2/s//epochs = 8/' "${record%/*}/config"
like "$("$kiln" status)" '^progress +epoch 2 of 8, step 100, 25.0 %' "a stopped one: its share"
sed -i '0,/epochs = 8/s//epochs = 2/' "${record%/*}/config"
cp "$work/record" "$record"
started "$(date +%s)"
echo running >"${record%/*}/state"
DBUS_SYSTEM_BUS_ADDRESS=unix:path=$work/no-bus "$KILN_BIN/kiln-oneshot" run-failed 2>"$work/errors"
code 5 "a run that halted: degraded" "$kiln" status
like "$said" '^why +which service ended is not known: ' "and why, as far as there is a systemd to ask"
"$KILN_BIN/kiln-oneshot" begin >"$work/begin.log" 2>&1
code 0 "begun again: running" "$kiln" status
frozen=${record%/*}/config
cp "$frozen" "$work/frozen"
sed -i 's,^sink: .*,sink: { url = "file:///proc/none"; };,' "$frozen"
"$KILN_BIN/kiln-uploadd" 2>"$work/uploadd.log" &
uploadd=$!
is_degraded() {
	"$kiln" status >/dev/null
	[ $? = 5 ]
}
wait_for 20 is_degraded
code 5 "the run goes on without uploads, which the store refuses: degraded" "$kiln" status
like "$said" '^why +.*uploadd.*/proc/none.*: ' "and why, in uploadd's own words"
kill "$uploadd"
wait "$uploadd" 2>/dev/null
rm -r "$KILN_ROOT/run/kiln/status/uploadd" # as systemd does
code 0 "nobody uploads, and the run is new" "$kiln" status
started 1
"$KILN_BUILD/system/status_pages" "$run" training &
pages=$!
is_running() { "$kiln" status >/dev/null; }
wait_for 10 is_running
ok $? "all daemons are there: running" "$("$kiln" status)"
rm -r "$KILN_ROOT/run/kiln/status/uploadd"
code 5 "nobody uploads, for long: degraded" "$kiln" status
like "$said" '^why +kiln-uploadd does not run; kiln log tells why' "and why"
kill "$pages"
wait "$pages" 2>/dev/null
rm -r "$KILN_ROOT/run/kiln/status"
cp "$work/frozen" "$frozen"
cp "$work/record" "$record"
started "$(date +%s)"
mv "$work/store" "$work/away" && touch "$work/store"
"$KILN_BIN/kiln-oneshot" begin >"$work/begin.log" 2>&1
code 5 "a run that does not begin: degraded" "$kiln" status
like "$said" '^why +the run does not begin: ' "and why"
rm "$work/store" && mv "$work/away" "$work/store"
"$KILN_BIN/kiln-oneshot" begin >"$work/begin.log" 2>&1
started "$(date +%s)"
code 0 "it begins: running" "$kiln" status
cp "$KILN_ROOT/etc/kiln/kiln.conf" "$work/good.conf"
sed -i 's/epochs = 2/epochs = 0/' "$KILN_ROOT/etc/kiln/kiln.conf"
code 5 "a wrong kiln.conf: degraded" "$kiln" status
like "$said" '^why +.*/etc/kiln/kiln.conf:1: run.epochs: found 0' "and its first mistake"
cp "$work/good.conf" "$KILN_ROOT/etc/kiln/kiln.conf"
started "$(date +%s)"
code 0 "a good one: running" "$kiln" status

# ---- Colours ----
colours() { # words before the command...: how many colours kiln status has on a terminal
	TERM=xterm script -qec "env $* $kiln status" /dev/null | grep -c $'^state *\033\\[3[123]m'
}
is "$(colours)" 1 "on a terminal the state has a colour"
is "$(colours NO_COLOR=1) $(colours TERM=dumb)" "0 0" "not where NO_COLOR is set, and not on a dumb terminal"
is "$("$kiln" status | grep -c $'\033')" 0 "not in a pipe"

# ---- Runs, checkpoints, configuration ----
code 0 "runs" "$kiln" runs
like "$said" "^$run +running" "the run is listed"
code 0 "one run" "$kiln" runs "$run"
is "$(head -n 2 <<<"$said")" "run     $run
state   running" "its record as text"
code 0 "one run as JSON" "$kiln" runs "$run" --json
is "$(field run.id <<<"$said")" "\"$run\"" "its record"
code 1 "no series yet" "$kiln" experiments show
like "$said" 'no series on this box' "which it says"
code 0 "two runs without a series" "$kiln" experiments compare "$run" "$run"
like "$said" '^settings: the same$' "are compared"
series=t-series-20260101-000000
mkdir -p "$KILN_ROOT/data/kiln/run/series/$series"
printf '{"version":1,"id":"%s","name":"t","state":"finished","started_s":5,"ended_s":6,"ends_s":0,"kiln_version":"0","method":"list","objective":"validation.loss","direction":"min","seed":44,"config":"","trials":[{"name":"first","overrides":{"run.seed":1},"state":"finished","run":"%s","rung":0,"epochs":1,"value":0.5,"best_epoch":1,"reason":"","started_s":5,"took_s":1,"summary":{},"bytes":0,"rows_per_s":0},{"name":"second","overrides":{"run.seed":2},"state":"waiting","run":"","rung":0,"epochs":0,"value":null,"best_epoch":0,"reason":"","started_s":0,"took_s":0,"summary":{},"bytes":0,"rows_per_s":0}],"winner":"first","promotion":null}' \
	"$series" "$run" >"$KILN_ROOT/data/kiln/run/series/$series/series.json"
code 0 "the series of the box" "$kiln" experiments
like "$said" "^$series +finished .* 1 of 2 +validation.loss +0.5000 +first +first\$" "with its best trial"
code 0 "the newest series" "$kiln" experiments show
like "$said" '^first [*] +finished +1 +0.5000 +1 ' "its trials"
is "$("$kiln" experiments show --id "$series" --json | field trials.1.name)" '"second"' "by its id, as JSON"
code 1 "a series that is not there" "$kiln" experiments show u-series-20260101-000000
code 0 "a trial and its run" "$kiln" experiments compare first "$run"
like "$said" '^settings: the same$' "are the same run"
code 1 "a trial that has not begun" "$kiln" experiments compare first second
mkdir -p "$work/store/runs/night-20200102-030405" "$work/store/runs/night-20200103-030405/sub-20200103-030405"
for day in 02 03; do
	printf '{"id":"night-202001%s-030405","state":"finished","started_s":%s,"time":{"starts":1,"training_s":90,"waiting_s":10},"epochs":[{"epoch":0,"loss":0.5,"validation_loss":0.25,"validation_accuracy":0.75}],"metrics":{"test":{"loss":0.125,"accuracy":0.875,"rows":9}}}' \
		"$day" "$(date -ud "2020-01-$day 03:04:05" +%s)" >"$work/store/runs/night-202001$day-030405/run.json"
done
cp "$work/store/runs/night-20200102-030405/run.json" "$work/store/runs/night-20200103-030405/sub-20200103-030405/"
is "$("$kiln" runs | grep -c 'night-2020')" 0 "runs that only the store has are not this box's"
code 0 "with --all" "$kiln" runs --all
is "$(tail -n +2 <<<"$said" | awk '{ print $1 }' | tr '\n' ' ')" "$run night-20200103-030405 night-20200102-030405 " \
	"those of the store, too, the newest first"
like "$(TZ=UTC "$kiln" runs --all | tail -n 1)" \
	'^night-20200102-030405 +finished +2020-01-02 03:04:05 +100 s +1 +0.5000 +0.2500 +75.00 % +0.1250 +87.50 %$' "their date, time and figures"
is "$("$kiln" runs --all --limit 2 --json | field runs.1.id)" '"night-20200103-030405"' "as JSON, the newest two"
KILN_ROOT=$work/nowhere code 0 "without a box" "$kiln" runs --all --config "$KILN_ROOT/etc/kiln/kiln.conf"
like "$said" 'only the runs in the store are listed' "which it says"
code 1 "a run that is not there" "$kiln" runs night-20000101-000000
code 2 "an id that is a path" "$kiln" runs --id ../../etc extra
mkdir -p "$KILN_ROOT/data/kiln/spool/traind/$run/checkpoints"
echo 123 >"$KILN_ROOT/data/kiln/spool/traind/$run/checkpoints/ckpt-000000000042.safetensors"
like "$("$kiln" checkpoint)" '^42 +4 ' "checkpoints on the disk"
is "$("$kiln" status --json | field checkpoint.step)" 42 "status tells of the same one"
sed 's/epochs = 2/epochs = 0/' "$work/kiln.conf" >"$work/bad.conf"
code 1 "a bad configuration is not applied" "$kiln" config apply "$work/bad.conf"
like "$said" 'kiln.conf:1: run.epochs: found 0' "its mistakes are named"
cmp -s "$work/kiln.conf" "$KILN_ROOT/etc/kiln/kiln.conf"
ok $? "the old configuration is unchanged"
sed 's/epochs = 2/epochs = 4/' "$work/kiln.conf" >"$work/good.conf"
code 0 "a good one is" "$kiln" config apply "$work/good.conf"
is "$said" "run.epochs: next run" "what changed, and when it counts"
is "$(tail -n 1 "$words")" config.reload "the units are made anew"
cmp -s "$work/good.conf" "$KILN_ROOT/etc/kiln/kiln.conf" && cmp -s "$work/kiln.conf" "$KILN_ROOT/etc/kiln/kiln.conf.previous"
ok $? "the old one is kept beside it"
cmp -s "$work/good.conf" "$KILN_ROOT/etc/kiln/kiln.conf.good"
ok $? "the new one is the last good one"

# ---- Support ----
sed -i 's|^source.*|source: { url = "s3://bucket/data"; endpoint = "https://store.example:9000"; };|' "$KILN_ROOT/etc/kiln/kiln.conf"
code 0 "support" "$kiln" support "$work/support.tar.gz"
is "$(stat -c %a "$work/support.tar.gz")" 600 "only its owner can read the archive"
chmod 644 "$work/support.tar.gz"
code 0 "support over an older archive" "$kiln" support "$work/support.tar.gz"
is "$(stat -c %a "$work/support.tar.gz")" 600 "only its owner can read this one, too"
mkdir "$work/guessed"
for ((i = 0; i < 60; i++)); do
	ln -s "$work/victim" "$work/guessed/kiln-support-$(uname -n)-$(date -ud "+$i sec" +%Y%m%d-%H%M%S).tar.gz"
done
(cd "$work/guessed" && "$kiln" support) >"$work/said" 2>&1
is "$? $(ls "$work/victim" 2>/dev/null)" "1 " "a link that somebody put in the place of an archive without a name is not followed"
is "$(tar tzf "$work/support.tar.gz" | sort | tr '\n' ' ')" \
	"checkpoints.json config.json log.json metrics.json node.json run.json runs.json status.json " "what it holds"

# ---- Hostile clients ----
raw slow >"$work/slow" & # reads its answer slowly
slow=$!
is "$(raw pipelined | tr ' ' '\n' | sort | uniq -c | tr -s ' ')" " 500 result" "many requests at once, all answered"
is "$(raw idle 500)" "501 results" "500 idle clients, one that is not"
is "$(raw hold 200)" "result, dropped some" "more unfinished lines than there is memory for"
is "$(raw split)" "result" "a request in pieces"
is "$(raw half-closed)" "2 answers, then the end" "a client that only listens gets its answers"
is "$(raw half-closed-cut)" "0 answers, then the end" "half a request is none"
is "$(raw 1mib)" "limit, then the end" "a line of 1 MiB"
is "$(raw utf8)" "parse result" "bad UTF-8"
is "$(raw deep)" "parse result" "100000 brackets"
is "$(raw loris)" "timeout after 10-20 s" "a byte at a time"
wait "$slow"
is "$(cat "$work/slow")" "dropped after 20-60 s" "who takes no answer is dropped"
like "$(cat "$work/controld.log")" 'user [0-9]+: dropped: it read nothing of its answer within 20 s' "and the log says so"
peak=$(awk '/VmHWM/ { print $2 }' "/proc/$controld/status")
[ "$peak" -lt 65536 ]
ok $? "the daemon never used 64 MiB" "$peak kB"

# ---- The journal, with a journald for this test ----
namespace=kilntest$$
journal=/var/log/journal/$(cat /etc/machine-id 2>/dev/null).$namespace
message_id() { # event's name
	sed -n "s/^| \`$1\` .*\`\([0-9a-f]*\)\` |\$/\1/p" config/events.md
}
entry() { # message, message id, step, number of fields of 1 KiB
	python3 - "/run/systemd/journal.$namespace/socket" "$@" <<-'PY'
		import socket, sys
		s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
		s.connect(sys.argv[1])
		text = f"PRIORITY=3\nSYSLOG_IDENTIFIER=kiln-traind\nKILN_STEP={sys.argv[4]}\nKILN_RUN_ID=r\nKILN_LOSS=0.5\nOTHER=x\n"
		text += f"MESSAGE_ID={sys.argv[3]}\n" if sys.argv[3] else ""
		many = int(sys.argv[5]) if len(sys.argv) > 5 else 0
		for i in range(max(1, many)):
		    s.send((text + f"MESSAGE={sys.argv[2]}{'.' * 1024 if many else ''}\n").encode())
	PY
}
cleanup() { rm -rf "/run/systemd/journal.$namespace" "$journal"; }
journald=
if [ "$(id -u)" = 0 ] && [ -d /var/log/journal ]; then
	/lib/systemd/systemd-journald "$namespace" >/dev/null 2>&1 &
	journald=$!
	wait_for 5 test -S "/run/systemd/journal.$namespace/socket" && entry "the first" "" 1 && wait_for 5 ls "$journal"/system.journal
fi
if [ -n "$journald" ] && [ -e "$journal/system.journal" ]; then
	mkdir -p "$KILN_ROOT/var/log"
	ln -s "$journal" "$KILN_ROOT/var/log/journal"
	shows() { "$kiln" log | grep -q "kiln-traind: $1"; }
	wait_for 10 shows "the first"
	ok $? "kiln log shows the journal" "$("$kiln" log 2>&1)"
	code 0 "log of another unit" "$kiln" log --unit fetchd
	is "$said" "" "shows none of it"
	errors() { [ "$("$kiln" status --json | field errors.0.message)" = '"the first"' ]; }
	wait_for 10 errors
	ok $? "status shows the last errors"
	raw subscribe 2 >"$work/events" &
	subscriber=$!
	wait_for 10 grep -q '"subscribed": true' "$work/events"
	entry "no event" "" 5
	entry "somebody else's event" fc2e22bc6ee647b6b90729ab34a250b1 5
	entry "saved" "$(message_id checkpoint.written)" 6
	entry "uploaded" "$(message_id checkpoint.uploaded)" 7
	wait "$subscriber"
	is "$(cut -d' ' -f1,2 "$work/events" | sed 1d | tr '\n' ' ')" "saved 6 uploaded 7 done " \
		"events come as they happen, and only ours" "$(cat "$work/events")"
	like "$("$kiln" log)" '^[-0-9]+ [:0-9]+ kiln-traind: checkpoint\.written: saved$' "log names events"
	like "$("$kiln" log)" '^[-0-9]+ [:0-9]+ kiln-traind: no event$' "and shows lines as they are"
	is "$("$kiln" log --events | cut -d' ' -f4-)" "checkpoint.written: saved KILN_RUN_ID=r KILN_STEP=6
checkpoint.uploaded: uploaded KILN_RUN_ID=r KILN_STEP=7" "log --events: with the fields of the table, and no others"
	is "$("$kiln" log --event checkpoint.uploaded --json | python3 -c 'import json, sys
print(*[(e["event"], e["message_id"], e["fields"]) for e in json.load(sys.stdin)["entries"]])')" \
		"('checkpoint.uploaded', '$(message_id checkpoint.uploaded)', {'KILN_RUN_ID': 'r', 'KILN_STEP': 7})" "one event, for machines"
	code 1 "an event that there is not" "$kiln" log --event checkpoint.eaten
	like "$said" 'there is no event "checkpoint.eaten"' "is refused by its name"
	cursor=$(awk '/^saved/ { print $3 }' "$work/events")
	is "$(raw subscribe 1 "$cursor" | sed -n '2s/ s=.*//p')" "uploaded 7" "a cursor resumes behind it"
	line=$("$kiln" log --json | python3 -c 'import json, sys
print(*[e["cursor"] for e in json.load(sys.stdin)["entries"] if e["message"] == "no event"])')
	is "$(raw subscribe 2 "$line" | sed -n '2,$s/ s=.*//p' | tr '\n' ' ')" "saved 6 uploaded 7 " "a line's cursor does, too"
	gone=$(sed 's/i=[^;]*;b=\([^;]*\).*;x=.*/i=1;b=\1;m=1;t=1;x=0/' <<<"$cursor")
	is "$(raw subscribe 2 "$gone" | sed -n '2,$s/ s=.*//p' | tr '\n' ' ')" "lost saved 6 uploaded 7 " \
		"a cursor that is gone: events.lost, then what there is"
	is "$(raw subscribe 0 nonsense | grep -o '"name": "[a-z]*"')" '"name": "params"' "a cursor that is none is refused"
	entry "AWS_SECRET_ACCESS_KEY=hunter2 from https://me:hunter2@store/x?X-Amz-Signature=hunter2&a=b Authorization: AWS4 hunter2" "" 8
	shows_it() { "$kiln" log | grep -q hunter2; }
	wait_for 10 shows_it
	"$kiln" support "$work/second.tar.gz" >/dev/null && tar xzOf "$work/second.tar.gz" log.json >"$work/log.json"
	grep -q 'https://\*\*\*@store' "$work/log.json" && ! grep -q hunter2 "$work/log.json"
	ok $? "support blacks secrets out" "$(grep -o 'AWS_SECRET.*' "$work/log.json")"
	# Entries of our programs, as a service writes them.
	: >"$work/stderr"
	# shellcheck disable=SC2016
	unshare -m sh -c 'exec 8<"$1" && mount -t tmpfs tmpfs /run/systemd && mkdir /run/systemd/journal &&
		mount -c --bind /proc/$$/fd/8 /run/systemd/journal && shift && exec "$@"' sh "/run/systemd/journal.$namespace" \
		env JOURNAL_STREAM="$(stat -c %d:%i "$work/stderr")" "$KILN_BIN/kiln-oneshot" begin >/dev/null 2>"$work/stderr"
	adopted() { "$kiln" log --unit begin --events | grep -q "kiln-begin: run.adopted: $run: going on KILN_RUN_ID=$run\$"; }
	wait_for 10 adopted
	ok $? "an event goes to the journal" "$("$kiln" log --unit begin --events; cat "$work/stderr")"
	! grep -q 'going on' "$work/stderr"
	ok $? "and is no line besides"

	# What the driver of a GPU writes into the kernel's log.
	kernel_says() {
		python3 - "/run/systemd/journal.$namespace/socket" "$1" <<-'PY'
			import socket, sys
			s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
			s.connect(sys.argv[1])
			s.send(f"PRIORITY=3\nSYSLOG_IDENTIFIER=kernel\nMESSAGE={sys.argv[2]}\n".encode())
		PY
	}
	follows() {
		kernel_says "NVRM: Xid (PCI:0000:ff:00): 31, MMU Fault"
		grep -q 'GPU 0000:ff:00: ' "$work/controld.log"
	}
	wait_for 60 follows
	entry "NVRM: Xid (PCI:0000:3b:00): 62, a program that is not the kernel" "" 9
	kernel_says "NVRM: Xid (PCI:0000:3b:00): 45, pid=1234, name=kiln-traind, Ch 00000008"
	for _ in 1 2 3; do
		kernel_says "NVRM: Xid (PCI:0000:3b:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus."
	done
	kernel_says "amdgpu 0000:03:00.0: amdgpu: GPU reset begin!"
	says_fault() { grep -q 'GPU 0000:03:00.0: its driver says: GPU reset begin!; the trainer starts again by itself' "$work/controld.log"; }
	wait_for 30 says_fault
	ok $? "a fault of a GPU is an event, with what to do" "$(cat "$work/controld.log")"
	is "$(grep -c 'its driver says: Xid 79, pid=.*GPU has fallen off the bus.; restart the machine' "$work/controld.log") $(grep -c 'its driver says' "$work/controld.log")" \
		"1 3" "once, and not what others write, nor the end of a process" "$(cat "$work/controld.log")"

	# Slowly, while journald deletes old files.
	mkfifo "$work/fifo"
	raw stalled 2000 <"$work/fifo" >"$work/stalled" &
	subscriber=$!
	exec 9>"$work/fifo"
	wait_for 10 grep -q subscribed "$work/stalled"
	entry "flood" "$(message_id checkpoint.written)" 8 2000
	wait_for 10 grep -q full "$work/stalled"
	kill -USR2 "$journald"
	wait_for 10 compgen -G "$journal/system@*.journal"
	rm "$journal"/system@*.journal
	let_go() { ! ls -l "/proc/$controld/fd" | grep -q 'system@.*deleted'; }
	wait_for 10 let_go
	entry "the last" "$(message_id checkpoint.written)" 9
	exec 9>&-
	wait "$subscriber"
	is "$(tail -n 1 "$work/stalled")" "1 lost, some came" "a slow subscriber is told what the journal lost, and goes on"
	kill "$journald"
else
	skip "the journal" "no second systemd-journald can run here"
fi

# ---- Roles ----
kill "$controld"
wait "$controld"
is $? 0 "SIGTERM: a clean end" "$(cat "$work/controld.log")"
if [ "$(id -u)" = 0 ] && unshare -m true 2>/dev/null; then
	cp /etc/group "$work/group"
	printf 'kiln-view:x:64901:\nkiln-operate:x:64902:\nkiln-admin:x:64903:\n' >>"$work/group"
	# shellcheck disable=SC2016
	unshare -m sh -c 'mount --bind "$1" /etc/group && exec "$2"' sh "$work/group" "$KILN_BIN/kiln-controld" \
		2>"$work/controld.log" &
	controld=$!
	chmod -R o+rX "$KILN_ROOT/run"
	answers() { raw as 64910,64910,64901 | grep -q result; }
	wait_for 10 answers
	is "$(raw as 64910,64910)" "refused" "in no group: nothing"
	is "$(raw as 64910,64910,64901)" "result refused refused refused refused refused" "kiln-view looks"
	is "$(raw as 64910,64902)" "result result refused refused refused refused" "kiln-operate steers"
	is "$(raw as 64910,64910,64901,64903)" "result result config result result result" "kiln-admin does everything"
	like "$(cat "$work/controld.log")" 'user 64910: refused: .*none of the groups' "the log names who was refused"
	is "$(raw many 64911,64911,64901 100)" "64 results, then limit" "who may only look has a limit of connections"
	is "$(raw many 64911,64911,64902 100)" "64 results, then limit" "who steers, too"
	is "$(raw many 64911,64911,64903 700)" "700 results" "an admin has none"
	[ -d "$KILN_ROOT/var/log/journal" ] || mkdir -p "$KILN_ROOT/var/log/journal"
	is "$(raw subscribers 64911,64911,64901 10)" "8 results, then limit" "and of subscriptions"
	is "$(raw crowd 64901 64903)" "result for the admin, and a guest is dropped" "all connections taken by guests: an admin gets in"
	like "$(cat "$work/controld.log")" 'user 64910: refused: power.off needs the role admin, yours is operate' "what, and why"
	kill "$controld"
else
	skip "roles by group" "not root, or no mount namespaces"
fi

# ---- Who waits for whom: the answer of the inner one always arrives ----
number() { # file, expression: the number in a line
	sed -nE "s/^$2 *([0-9]+).*/\1/p" "$1"
}
systemd=$(number firmware/steer/main.c '#define SYSTEMD_S')
steer=$(number rootfs/systemd/kiln-steer@.service RuntimeMaxSec=)
act=$(number firmware/core/control/control.h '#define CONTROL_ACT_S')
[ 60 -lt "${systemd:-0}" ] && [ "$systemd" -lt "$steer" ] && [ "$steer" -lt "$act" ]
ok $? "kiln-steer waits for systemd, its unit for kiln-steer, and kiln-controld for its unit" "$systemd, $steer, $act"

# ---- The reference ----
"$kiln" control reference | cmp -s - config/control.md
ok $? "config/control.md is what kiln control reference says"
"$kiln" log reference | cmp -s - config/events.md
ok $? "config/events.md is what kiln log reference says"
