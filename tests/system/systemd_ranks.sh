#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A night on several devices of one box under a real systemd, in a container: two ranks share its processor. A rank and a kiln-fetchd
# are killed, and the units are stopped and started. The weights are those of one device without systemd.
. "$(dirname "$0")/systemd_lib.sh"
if ! command -v mpirun >/dev/null; then
	skip "several devices under systemd" "no mpirun here: tools/deps/install test"
	exit
fi

nspawn_options=(--private-network) # else systemd may not switch on the loopback of PrivateNetwork=, which mpirun needs
installed 200
drop_in kiln-traind.service Service Environment=POCL_MAX_PTHREAD_COUNT=1 # ranks share two cores
booted "it boots"
night() { # devices
	config 300 'seed = 3;' 'checkpoint: { every_steps = 20; keep = 2; };' |
		sed "s/order: {/& lanes = 2;/; s/device: {/& count = $1;/"
}
night 2 >"$root/etc/kiln/kiln.conf"
is "$(steer config.reload)" ok "a configuration with device.count = 2"
timer_soon
becomes 60 running "the timer starts the night"
wait_for 60 passed 0
ok $? "two ranks train" "$(journal -n 40)"
[ "$(newest)" != "" ] || exit
is "$(property traind ActiveState) $(property fetchd ActiveState)" "active active" "both units are ready" "$(journal -n 40)"
is "$(inside pgrep -cx kiln-traind) $(inside pgrep -cf '^[^ ]*kiln-fetchd')" "2 2" "two kiln-traind and two kiln-fetchd" \
	"$(inside ps -ef)"
says 10 "a rank logs to the journal by itself" 'rank 1 of 2, on box 1 of 1: 1 of 2 lanes' -u kiln-traind _COMM=kiln-traind
status_is 0
like "$(cat "$work/status")" '^state +running' "kiln status: the box works"

kill_part() { # unit, pattern, name: kills the process with the highest number
	local before
	before=$(pid_of "$1")
	inside kill -KILL "$(inside pgrep -f -- "$2" | tail -n 1)"
	wait_for 60 restarted "$1" "$before"
	ok $? "$3" "$(inside systemctl status --no-pager -n 20 "kiln-$1.service" 2>&1)"
	goes_on "and they train"
}
kill_part traind '^/usr/libexec/kiln/kiln-traind --rank-from-env' "a rank is killed: systemd starts all again"
kill_part fetchd 'kiln-fetchd --rank 1' "the kiln-fetchd of a rank is killed: systemd starts all again"

inside systemctl stop kiln-run.target
wait_for 60 is_down kiln-traind kiln-fetchd
ok $? "the units stop" "$(inside systemctl status --no-pager kiln-traind kiln-fetchd 2>&1)"
says 10 "with a checkpoint" 'stopped at step' -u kiln-traind
is "$(property traind Result) $(property fetchd Result)" "success success" "and without a failure" "$(journal -n 40)"
is "$(inside pgrep -f 'mpirun|kiln-traind|kiln-fetchd')" "" "no process is left"
inside systemctl --no-block start kiln-run.target
becomes 500 finished "they go on to the end of the night"
rests "and the units stop"
is "$(inside systemctl --failed --no-legend --plain | grep kiln | grep -v kiln-hugepages)" "" "no unit has failed"

mkdir -p "$work/store"
night 1 | sed "s,/data/kiln/store/data,$root&,; s,/data/kiln/store/runs,$work/store," >"$work/one.conf"
plain_run one
stored() { ls "$root"/data/kiln/store/runs/*/model/model.safetensors; }
wait_for 60 stored
is "$(tensors "$(stored)")" "$(tensors "$work"/store/*/model/model.safetensors)" "the weights are those of one device, to the bit"
