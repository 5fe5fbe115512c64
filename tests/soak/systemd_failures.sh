#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Errors that end a run for good, and errors that must not, under a real systemd in a container: a kiln.conf that has become
# wrong, a missing credential, unusable data. After each error is mended, kiln start continues.
. "$(dirname "$0")/../system/systemd_lib.sh"

every='checkpoint: { every_steps = 20; keep = 2; };'
conf=$root/etc/kiln/kiln.conf

start() { # name
	inside kiln start >"$work/said" 2>&1
	ok $? "$1" "$(cat "$work/said")"
}
halted() { # name, extended regular expression for the message of kiln-run-failed
	says 60 "$1: it is said which service ended, and why" "$2" -b -u kiln-run-failed
	wait_for 60 is_down kiln-run.target kiln-traind kiln-fetchd kiln-begin
	ok $? "$1: the target is down" "$(inside systemctl list-units --no-pager 'kiln-*')"
	wait_for 60 is_active kiln-controld kiln-uploadd # a start restarts both
	ok $? "$1: kiln-controld and kiln-uploadd are up" "$(inside systemctl list-units --no-pager 'kiln-*')"
}

# The generator's output, as a container has no kernel log.
: >"$work/kmsg"
nspawn_options=(--bind="$work/kmsg:/dev/kmsg")
installed 200
config 1000000 "" "$every" >"$conf"
cp "$conf" "$work/good.conf"
booted "it boots"

# ---- A kiln.conf that becomes wrong ----
start "a run"
becomes 60 running "it begins"
goes_on "it trains"
sed 's/epochs = 1000000/epochs = "none"/' "$work/good.conf" >"$conf"
is "$(steer config.reload)" ok "a wrong kiln.conf, and a reload"
like "$(cat "$work/kmsg")" 'kiln-generator: .*kiln.conf:1: run.epochs: ' "the generator says what is wrong"
like "$(cat "$work/kmsg")" 'the units follow the last good one' "and what it goes by"
like "$(inside systemctl show -P NextElapseUSecRealtime kiln-nightly.timer)" "$(date -u +%Y)" "the timer still has a time"
kill_it fetchd KILL
kill_it traind KILL
goes_on "a member that is killed goes on with its frozen configuration"
kill_it controld KILL
status_is 5
like "$(cat "$work/status")" 'why .*run.epochs: found "none"' "kiln-controld starts, and says what is wrong with kiln.conf"
inside kiln config check >"$work/said" 2>&1
is "$? $(grep -c 'kiln.conf:1: run.epochs: found "none"' "$work/said")" "78 1" "kiln config check shows the mistake" "$(cat "$work/said")"
inside kiln stop >"$work/said" 2>&1
becomes 60 stopped "it stops"
rests "its units are stopped"
start "it goes on all the same, with its frozen configuration"
becomes 60 running "it runs"
goes_on "and trains"
inside kiln stop >"$work/said" 2>&1
becomes 60 stopped "it stops"
rests "its units are stopped"
echo failed >"$root/data/kiln/run/current/state" # mark the run as ended, so that the next one is new
inside kiln start >"$work/said" 2>&1
is "$? $(grep -c 'kiln.conf:1: run.epochs: found "none"' "$work/said")" "1 1" "kiln start of a new run is refused by kiln-controld" "$(cat "$work/said")"
is "$(steer run.start)" ok "past it"
halted "a wrong kiln.conf" 'kiln-config.service ended with 78 \(exit-code\): a wrong configuration'
like "$(journal -b -u kiln-config)" 'kiln.conf:1: run.epochs: found "none"' "kiln-config says where"
is "$(state)" failed "no run has begun"
inside kiln status >"$work/status" 2>&1
like "$(cat "$work/status")" 'run.epochs: found "none"' "kiln status shows the mistake"
cp "$work/good.conf" "$conf"
start "put right: kiln start"
becomes 60 running "a run begins"
goes_on "and trains"
inside kiln stop >"$work/said" 2>&1
becomes 60 stopped "it stops"
rests "its units are stopped"

# ---- A credential that is missing ----
sed 's/sink: {/sink: { credential = "store";/' "$work/good.conf" >"$work/credential.conf"
cp "$work/credential.conf" "$conf"
is "$(steer config.reload)" ok "a credential that is not there"
start "a run with it"
says 60 "it is said which service ended, and why" 'kiln-begin.service ended with 243 \(exit-code\): a credential is missing' -b -u kiln-run-failed
sleep 2
is "$(inside systemctl show -P NRestarts kiln-begin.service)" 0 "it is not tried again"
wait_for 60 is_down kiln-run.target kiln-traind kiln-fetchd kiln-begin
ok $? "the target is down" "$(inside systemctl list-units --no-pager 'kiln-*')"
status_is 5
like "$(cat "$work/status")" 'why +kiln-begin.service ended with 243 .*: a credential is missing' "kiln status: degraded, and why"
is "$(property uploadd ExecMainStatus)" 243 "kiln-uploadd, started anew for it, cannot be either"
printf '[default]\naws_access_key_id = a\naws_secret_access_key = b\n' >"$root/data/kiln/credentials/store"
start "put right: kiln start"
becomes 60 running "the run goes on"
goes_on "and trains"
status_is 0
ok $? "kiln status: well" "$(cat "$work/status")"
wait_for 30 is_active kiln-uploadd
ok $? "kiln-uploadd is up again" "$(inside systemctl status --no-pager kiln-uploadd)"
inside kiln stop >"$work/said" 2>&1
becomes 60 stopped "it stops"
rests "its units are stopped"

# ---- Data that cannot be used ----
echo failed >"$root/data/kiln/run/current/state"
shard=$(ls "$root"/data/kiln/store/data/train-* | head -n 1)
cp "$shard" "$work/shard"
printf 'x' | dd of="$shard" bs=1 seek=100 conv=notrunc 2>/dev/null
cp "$work/good.conf" "$conf"
is "$(steer config.reload)" ok "a damaged shard"
start "a run with it"
halted "damaged data" 'kiln-traind.service ended with 65 \(exit-code\): data that cannot be used'
is "$(inside systemctl show -P NRestarts kiln-traind.service)" 0 "traind is not tried again"
like "$(journal -b -u kiln-traind)" "${shard##*/}.*byte [0-9]+" "its words name the object and the place"
is_state failed
ok $? "the run has failed" "$(state)"
status_is 6
ok $? "kiln status: failed" "$(cat "$work/status")"
like "$(cat "$work/status")" "why .*${shard##*/}" "and why"
cp "$work/shard" "$shard"
start "put right: kiln start"
becomes 60 running "a new run begins"
goes_on "and trains"
status_is 0
ok $? "kiln status: well" "$(cat "$work/status")"

inside kiln stop >"$work/said" 2>&1
becomes 60 stopped "it stops"
rests "its units are stopped"

# ---- Missing things ----
echo failed >"$root/data/kiln/run/current/state"
config 1000000 "" "$every split: { by = \"prefix\"; };" >"$conf"
is "$(steer config.reload)" ok "a split that no object is of"
start "a run with it"
halted "nothing there" 'kiln-fetchd.service ended with 77 \(exit-code\): refused, or not found'
status_is 5
ok $? "kiln status: degraded" "$(cat "$work/status")"
like "$(cat "$work/status")" 'why +kiln-fetchd.service ended with 77 .*: no object matches split.validation_glob.*; kiln start' \
	"and why, in the daemon's own words"
cp "$work/good.conf" "$conf"
start "put right: kiln start"
becomes 60 running "a new run begins"
goes_on "and trains"
status_is 0
ok $? "kiln status: well" "$(cat "$work/status")"

# ---- A store that refuses uploads in mid-run ----
runs=$root/data/kiln/store/runs
owner=$(stat -c %u:%g "$runs")
chown -R 0:0 "$runs" && chmod -R go-w "$runs"
wait_for 60 status_is 5
ok $? "uploads that are refused: degraded" "$(cat "$work/status")"
like "$(cat "$work/status")" "why +uploadd: .*/store/runs/.*: Permission denied" "and why, in uploadd's own words"
is_active kiln-uploadd
ok $? "uploadd stays"
goes_on "the run goes on"
chown -R "$owner" "$runs" && chmod -R ug+w "$runs"
wait_for 120 status_is 0
ok $? "kiln status: well" "$(cat "$work/status")"
goes_on "and trains"

# ---- A socket of systemd in the place of kiln-controld's own ----
inside systemctl stop kiln-controld
inside sh -c 'printf "[Socket]\nListenStream=/run/kiln/control.sock\nSocketMode=0666\n" >/run/systemd/system/kiln-controld.socket'
is "$(steer config.reload root)" ok "a socket of systemd's in place of kiln-controld's own"
inside systemctl start kiln-controld.socket
is "$(inside systemctl is-active kiln-controld.socket kiln-controld | tr '\n' ' ')" "active inactive " "kiln-controld is not started yet"
status_is 0
ok $? "a request starts it, and is answered" "$(cat "$work/status")"
