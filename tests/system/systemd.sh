#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Kiln under a real systemd, in a container, the short test: a night from the timer to its end. Then an endless run, so that
# no machine is too fast for the test: killed, stopped, paused, switched off in mid-run, stopped by the user. Its last
# checkpoint is compared with that of an undisturbed run. tests/soak has the long tests.
. "$(dirname "$0")/systemd_lib.sh"

installed 200
# A short watchdog only for traind, whose restarts this test is about: on a busy machine the watchdog may fire by itself.
drop_in kiln-traind.service Service WatchdogSec=4
booted "it boots"
units="kiln-run.target kiln-nightly.timer kiln-steer.socket kiln-finished.path kiln-promote.path kiln-report.path kiln-slots.path run-kiln-huge.mount
	kiln-run@1.target kiln-finished@1.path run-kiln-huge\\x2d1.mount
	$(cd "$root/usr/lib/systemd/system" && echo kiln-*.service)"
verify() { # also for the generator's units, which verify would not find by itself
	inside env SYSTEMD_UNIT_PATH=/run/systemd/generator: systemd-analyze verify --man=no ${units//@.service/@x.service} 2>&1 |
		grep -i kiln
}
is "$(verify)" "" "systemd-analyze verify has nothing to say"
status_is 7
ok $? "kiln status: idle" "$(cat "$work/status")"

# ---- A night ----
checkpoints='checkpoint: { every_steps = 20; keep = 2; };'
hook=$work/hook
mkdir "$hook"
tests/system/webhook.py "$hook" 2>"$hook/log" &
wait_for 20 test -s "$hook/port"
notify="notify: { url = \"http://127.0.0.1:$(cat "$hook/port")/\"; credential = \"hook\"; };"
install -D -m 600 /dev/stdin "$root/data/kiln/credentials/hook" <<<t0k3n
config 2 "" "$checkpoints $notify promote: { against = \"champion\"; };" >"$root/etc/kiln/kiln.conf"
is "$(steer config.reload)" ok "config.reload, as kiln-control"
for word in "update s3://bucket/key" factory-reset; do
	is "$(inside kiln $word --yes 2>&1)" "kiln: kiln-steer: this system is not a Kiln image: it has no kiln-${word%% *}.service" \
		"kiln $word: not on a system that is no image"
done
inside sh -c 'mkdir -p /run/systemd/system/run-kiln-huge.mount.d /run/kiln/update
	printf "[Mount]\nOptions=pagesize=1G\n" >/run/systemd/system/run-kiln-huge.mount.d/60-pages.conf; systemctl daemon-reload'
# ---- An update whose request never reached kiln-steer ----
asked='{"state": "asked", "url": "file:///x", "text": "", "restart": false, "started_s": 1, "bytes": 0, "bytes_done": 0}'
echo "$asked" | inside sh -c 'cat >/run/kiln/update/note.json'
like "$(inside kiln update s3://bucket/key --yes 2>&1)" 'not a Kiln image' "an update that nobody took up keeps no other away"
drop_in kiln-update-fetch.service Service ExecStart= 'ExecStart=/bin/sleep infinity'
inside systemctl daemon-reload
inside systemctl --no-block start kiln-update-fetch.service
echo "$asked" | inside sh -c 'cat >/run/kiln/update/note.json'
like "$(inside kiln update s3://bucket/key --yes 2>&1)" 'an update is asked already: file:///x' "an update in progress keeps another one away"
inside systemctl stop kiln-update-fetch.service
inside rm /run/kiln/update/note.json

timer_soon
becomes 120 finished "the timer starts a run, and it finishes"
is "$(inside systemctl show -P Options run-kiln-huge.mount | grep -o 'pagesize=.*')" "pagesize=2M,size=100%" \
	"pages of 1 GiB that a run before was given are not this one's, which wants others" "$(journal -u kiln-hugepages)"
rests "the run's units are stopped"
says 30 "the journal says what became of it" 't-[0-9-]+: finished' -u kiln-finished
stored() {
	ls "$root"/data/kiln/store/runs/*/model/model.safetensors
}
wait_for 60 stored
ok $? "the model is in the store"
run=$(event run.begun KILN_RUN_ID)
steps=$(event run.finished KILN_STEP)
is "$(event run.finished _SYSTEMD_UNIT KILN_RUN_ID)" "kiln-traind.service $run" "journalctl -o json: run.finished"
like "$(event checkpoint.written _SYSTEMD_UNIT KILN_STEP)" "^kiln-traind.service $steps\$" "checkpoint.written, with its step"
like "$(event checkpoint.uploaded _SYSTEMD_UNIT KILN_STEP)" "^kiln-uploadd.service $steps\$" "checkpoint.uploaded, too"
data_folder=$root/data/kiln/store/data runs_folder=$work/plain/runs
config 2 "" "$checkpoints" >"$work/short.conf"
plain_run short
is "$(tensors "$(stored)")" "$(tensors "$work"/plain/runs/*/model/model.safetensors)" "it has the same weights, bit for bit"
unset data_folder runs_folder
inside systemctl start kiln-check-gpu kiln-check-store >"$work/said" 2>&1
ok $? "the checks of an updated slot, in their sandboxes: the device computes, and the store answers" \
	"$(cat "$work/said"; inside journalctl -q --no-pager -n 10 -u kiln-check-gpu -u kiln-check-store)"

# ---- The champion ----
champion=$root/data/kiln/store/runs/models/t/champion.json
wait_for 60 test -s "$champion"
is "$(event model.promoted _SYSTEMD_UNIT KILN_RUN_ID)" "kiln-promote.service $run" "the model of the first night is the champion" \
	"$(journal -n 20 -u kiln-promote -u kiln-finished)"
sed -i "s/\"run_id\":.*/\"run_id\": \"t-20000101-000000\",/" "$champion" # another run's, so that both are judged
is "$(inside kiln experiments promote 2>&1)" "the box judges the model; kiln log --unit promote says what comes of it" "kiln experiments promote"
says 120 "in its sandbox the unit reads the store and uses the device" "$run: not promoted, the champion stays: accuracy .* gain 0 " -u kiln-promote

# ---- The report of the night, and of nights without a run ----
posted() { # members of the newest posted report
	python3 -c 'import json, sys
report = json.loads(json.loads(open(sys.argv[1]).readlines()[-1])["body"])
print(*(eval(member, {}, report) for member in sys.argv[2:]))' "$hook/requests" "$@" 2>&1
}
is_posted() { # members, expected values
	[ "$(posted "${@:1:$#-1}")" = "${!#}" ]
}
wait_for 60 is_posted outcome 'night["by"]' 'run["id"]' 'type(faults).__name__' 'time["training_s"] > 0' \
	"finished timer $run list True"
ok $? "the night's report is posted: what became of it, and what the journal has of faults" "$(posted outcome night run faults time)
$(journal -n 30 -u kiln-report -u kiln-finished)"
wait_for 30 test -s "$root/data/kiln/store/runs/$run/report.txt"
ok $? "and in the store"
is "$(python3 -c 'import json, sys; print(json.loads(open(sys.argv[1]).readline())["headers"]["Authorization"])' "$hook/requests")" \
	"Bearer t0k3n" "with a credential that only root can read on the disk"
is "$(event report.made _SYSTEMD_UNIT KILN_RUN_ID)" "kiln-report.service $run" "by a unit of its own"
like "$(inside kiln report --night)" "$run: finished, 2 of 2 epochs" "kiln report --night"
good=$(cat "$root/etc/kiln/kiln.conf")
echo 'run: { at = "25:00"; };' >"$root/etc/kiln/kiln.conf"
inside systemctl start kiln-nightly.service 2>/dev/null
wait_for 60 is_posted outcome 'night["by"]' run '"25:00" in reason' "never_started timer None True"
ok $? "kiln.conf is wrong when the timer comes: that is reported" "$(posted outcome night reason)"
sleep 1 # two nights in one second would share a name
is "$(steer run.start)" ok "a start with it, past kiln start"
wait_for 60 is_posted outcome 'night["by"]' run '"kiln-config.service ended with 78" in reason and "25:00" in reason' \
	"never_started hand None True"
ok $? "kiln-begin does not start: that is, too" "$(posted outcome night reason)
$(journal -n 20 -u kiln-run-failed)"
sed "s/ at = \"[0-9:]*\"/ at = \"$(date -u -d '-2 hours' +%H:%M)\"/" <<<"$good" >"$root/etc/kiln/kiln.conf"
touch -d '3 days ago' "$root/etc/kiln/kiln.conf"
mv "$root"/data/kiln/credentials/{hook,away}
inside systemctl start kiln-nightly.service
late() {
	grep -qE "^report .*catch_up is off; not posted: credential 'hook': this box has no credential of that name" <<<"$(inside kiln status 2>&1)"
}
wait_for 60 late
ok $? "without its credential a report is made all the same, and kiln status says that it is not posted" "$(inside kiln status 2>&1)"
wait_for 60 is_down kiln-report.service # a start of a service that still works is no second report
mv "$root"/data/kiln/credentials/{away,hook}
inside systemctl start kiln-report.service
wait_for 60 is_posted outcome 'night["by"]' run '"12" in reason and "run.catch_up is off" in reason' "never_started timer None True"
ok $? "a start that was missed" "$(posted outcome night reason)"
is "$(inside find /data/kiln/store/runs -path '*nights/t-*/report.json' | wc -l)" 3 "each has its place in the store"

# ---- Output of the generator ----
config 2 'days = "mon..fri"; catch_up = true; ends_at = "06:00";' "$checkpoints" |
	sed 's/source: {/& credential = "data";/; s/sink: {/& credential = "store";/; s/device: {/device: { cores = "0";/' >"$root/data/all.conf"
inside kiln config apply /data/all.conf >"$work/said" 2>&1
ok $? "kiln config apply, with all that makes lines of units" "$(cat "$work/said")"
is "$(inside sh -c 'cd /run/systemd/generator && echo kiln-*.d/*')" \
	"$(printf 'kiln-%s.d/50-kiln.conf ' begin.service begin@.service check-store.service fetchd.service fetchd@.service nightly.timer preload.service promote.service rank-begin@.service rank-fetchd@.service report.service traind.service traind@.service update-fetch.service uploadd.service | sed 's/ $//')" \
	"the generator wrote a drop-in for each unit that it has lines for"
is "$(verify)" "" "systemd-analyze verify has nothing to say of them"
inside sh -c 'echo OnCalendar=never >>/run/systemd/generator/kiln-nightly.timer.d/50-kiln.conf'
like "$(verify)" 'kiln-nightly.timer.d/50-kiln.conf:.*never' "it reports a wrong time of the timer"

# ---- A run that does not end by itself ----
# Its time is far away: after the reboot the timer would make up for a missed start, and resume the run, too.
run_at=$(date -u -d '+6 hours' +%H:%M) config 1000000 "" "$checkpoints" >"$root/data/long.conf"
inside kiln config apply /data/long.conf >"$work/said" 2>&1
ok $? "kiln config apply" "$(cat "$work/said")"
mv "$root"/data/kiln/store/{runs,away}
touch "$root/data/kiln/store/runs"
inside kiln start >"$work/said" 2>&1
ok $? "kiln start, while the store cannot be used" "$(cat "$work/said")"
begin_says() { # extended regular expression
	grep -qE "$1" <<<"$(property begin StatusText)"
}
wait_for 60 begin_says '^waiting: failed 3 times, trying again in 4 s: .*runs'
ok $? "kiln-begin waits, and why" "$(property begin StatusText)"
is "$(event service.restarted _SYSTEMD_UNIT KILN_FAILURES KILN_SECONDS | grep begin | tr '\n' ' ')" \
	"kiln-begin.service 1 1 kiln-begin.service 2 2 kiln-begin.service 3 4 " "1, 2, 4 s"
is "$(inside systemctl is-active kiln-fetchd kiln-traind | sort -u)" inactive "nobody works meanwhile"
inside kill -KILL "$(pid_of begin)"
wait_for 60 begin_says '^waiting: failed 1 times, trying again in 1 s: killed, or crashed'
ok $? "a crash counts like that" "$(property begin StatusText)"
rm "$root/data/kiln/store/runs"
mv "$root"/data/kiln/store/{away,runs}
becomes 60 running "then another run begins"
wait_for 60 is_active kiln-fetchd kiln-traind
ok $? "and they work"
goes_on "it trains"
# ---- Services with network access control nothing ----
refused() { # name, method of systemd's manager, arguments
	like "$(inside setpriv --reuid=kiln-fetch --regid=kiln --init-groups busctl call org.freedesktop.systemd1 \
		/org/freedesktop/systemd1 org.freedesktop.systemd1.Manager "${@:2}" 2>&1)" 'authentication required|Access denied' "$1"
}
like "$(inside setpriv --reuid=kiln-fetch --regid=kiln --init-groups busctl get-property org.freedesktop.systemd1 \
	/org/freedesktop/systemd1 org.freedesktop.systemd1.Manager Version 2>&1)" '^s "' "kiln-fetchd's user reaches systemd over D-Bus"
refused "it may not start a unit" StartUnit ss kiln-nightly.service replace
refused "nor stop one" StopUnit ss kiln-run.target replace
refused "nor make one" StartTransientUnit 'ssa(sv)a(sa(sv))' kiln-x.service replace 0 0
refused "nor reload them" Reload
like "$(steer run.start kiln-fetch)" 'Permission denied' "nor call kiln-steer"
is "$(inside stat -c '%U:%G %a' /run/kiln-steer/socket)" "root:kiln-steer 660" "the socket of kiln-steer is for the group kiln-steer"
is "$(inside getent group kiln-steer | cut -d: -f4)" kiln-control "in which is kiln-controld's user alone"

fetchd=$(pid_of fetchd)
kill_it traind KILL
is "$(pid_of fetchd)" "$fetchd" "a trainer that crashes leaves the fetcher alone"
goes_on "and the run goes on"
inside kiln pause >"$work/said" 2>&1
becomes 60 paused "kiln pause"
held=$(newest)
kill_it traind STOP
says 30 "the watchdog ends what stands still" 'Watchdog timeout' -u kiln-traind
is "$(state) $(newest)" "paused $held" "what was paused comes back paused"
inside kiln resume >"$work/said" 2>&1
goes_on "kiln resume"
crash_up_to 6 traind
wait_for 30 status_is 5
ok $? "kiln status: degraded" "$(cat "$work/status")"
like "$(cat "$work/status")" 'why +traind: failed 6 times, trying again in 32 s: killed, or crashed' "with the reason"
echo 'run: { epochs = "none"; };' >"$root/etc/kiln/kiln.conf"
power_off
is "$(state)" running "the box goes down in mid-run"

booted "it boots again"
says 30 "the run goes on after it, whatever kiln.conf says by now" 'going on after a reboot' -b -u kiln-resume
says 60 "from its newest checkpoint" 'going on from' -b -u kiln-traind
goes_on "and it trains"
inside kiln stop >"$work/said" 2>&1
becomes 60 stopped "kiln stop"
rests "the run's units are stopped"
for name in run.begun run.adopted run.paused run.resumed run.rebooted run.stopped run.finished epoch.finished \
	uploads.complete service.restarted service.degraded config.applied steer.asked; do
	like "$(inside kiln log --event "$name" --lines 1 2>&1)" " kiln-[a-z0-9@-]+: $name: " "kiln log: $name"
done

# ---- An update during a run that ended because a program failed ----
record=$root/data/kiln/run/current
update_now() { # without RAUC the update ends at this point
	echo "$asked" | inside sh -c 'cat >/run/kiln/update/note.json'
	inside timeout 60 /usr/libexec/kiln/kiln-oneshot update >"$work/said" 2>&1
}
echo running >"$record/state"
update_now
like "$? $(tail -n 1 "$work/said")" '^(69|70|75) .*(RAUC|rauc)' "an update waits for no checkpoint of a run that halted, and is installed"

# ---- An update that is installed, at the end of the night ----
night_ends() { # state of the update in progress
	sed 's/"asked"/"'"$1"'"/' <<<"$asked" | inside sh -c 'cat >/run/kiln/update/note.json'
	sed "s/TIME/$(date +%s)/" >"$root/data/kiln/run/tonight.json" \
		<<<'{"from_s": TIME, "by": "timer", "run": "", "reason": ""}'
	: >"$record/finished"
}
config 2 "" "power: { when_finished = \"off\"; wake_by = \"other\"; upload_wait_min = 0; };" |
	sed "s/ at = \"[^\"]*\"/ at = \"$(date -u -d '+6 hours' +%H:%M)\"/" >"$root/etc/kiln/kiln.conf"
echo expired >"$record/state"
rm -f "$record/want" # of the kiln stop above; the timer forgets it, too
inside systemctl start --no-block kiln-update-fetch.service
night_ends installing
says 30 "a night ends while an update is installed: the box stays on" 'stays on: an update is on its way' -b -u kiln-finished
night_ends installed
wait_for 60 gone
ok $? "one that waits for its restart has it when the box is switched on again: it goes off" "$(tail -n 5 $root.console)"

# ---- The same weights ----
step=$(newest)
checkpoint=$(find "$root/data/kiln/spool" -name "ckpt-*$step.safetensors" | tail -n 1)
steps=$((9 * 200 / 32 + 1)) # steps of an epoch: one of the ten shards is for validation
data_folder=$root/data/kiln/store/data runs_folder=$work/long/runs
config $((step / steps + 1)) "" "checkpoint: { every_steps = $step; keep = 10; };" >"$work/long.conf"
plain_run long
is "$(trained "$checkpoint")" "$(trained "$work"/long/runs/*/checkpoints/"${checkpoint##*/}")" \
	"the same weights, step $step, bit for bit"
