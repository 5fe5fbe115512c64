#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A whole night of a box: the image in QEMU, configured from its ESP, with a real S3 server as its store. Its timer starts a
# run on PoCL, which finishes; checkpoint, model and record are in the bucket, and `kiln --host` controls it over TLS.
# Usage: night.sh [--short]   --short, in make test, ends before the night: the box boots, takes its configuration, answers over
# TLS and powers off
. "$(dirname "$0")/lib.sh"
. tests/image/box_lib.sh
. tests/image/figures_lib.sh
short=${1:-}
monitor=(-qmp "unix:$work/qmp,server=on,wait=off")
WAKE_EARLY_MIN=7

next_minute() { # seconds from now: the next full minute after that, as HH:MM
	date -u -d "@$(($(date +%s) + $1 + 59))" +%H:%M
}

# In case the box took longer to boot than the night was away: set the next night over the network.
has_begun() {
	is_in_state 'running|paused|finished' && return
	[ "$(date +%s)" -le $((night_s + 120)) ] || night_soon
	false
}

night_soon() { # further groups of its configuration
	night_s=$(($(date +%s) + 90))
	night_at=$(next_minute 90)
	write_config "$night_at" "$epochs" "" "${1:-}"
	as me config apply "$work/kiln.conf" >"$work/applied" 2>&1
}

# ---- Off by itself ----

qmp() { # command of QEMU's protocol, with its arguments, in JSON: prints the reply
	python3 - "$work/qmp" "$1" <<-'PY'
		import json, socket, sys
		wire = socket.socket(socket.AF_UNIX)
		wire.connect(sys.argv[1])
		lines = wire.makefile()
		lines.readline()
		for command in '{"execute": "qmp_capabilities"}', sys.argv[2]:
		    wire.sendall(command.encode())
		    while "return" not in (answer := json.loads(lines.readline())) and "error" not in answer:
		        pass
		print(json.dumps(answer))
	PY
}

has_shut_down() {
	qmp '{"execute": "query-status"}' | grep -q '"shutdown"'
}

cmos() { # register of the hardware clock: two digits
	qmp "{\"execute\": \"human-monitor-command\", \"arguments\": {\"command-line\": \"o /b 0x70 $1\"}}" >/dev/null
	qmp '{"execute": "human-monitor-command", "arguments": {"command-line": "i /b 0x71"}}' | sed -n 's/.*= 0x\([0-9a-f]*\).*/\1/p'
}

switches_itself_off() {
	qmp '{"execute": "set-action", "arguments": {"shutdown": "pause"}}' >"$work/said"
	epochs=2
	night_soon "power: { when_finished = \"off\"; wake_early_min = $WAKE_EARLY_MIN; };"
	is_another() { next=$(newest_run) && [ -n "$next" ] && [ "$next" != "$run" ]; }
	wait_seldom "$BOOT_S" is_another
	ok $? "the next night begins" "$(cat "$work/applied"; as me status)"
	wait_seldom $((2 * BOOT_S)) has_shut_down
	ok $? "after it the box switches itself off" "$(as me status; as me log | tail -n 20; cat "$work/said")"
	is "$(cmos 5):$(cmos 3)" "$(date -u -d "$night_at UTC - $WAKE_EARLY_MIN minutes" +%H:%M)" \
		"its hardware clock's alarm is set for the night after, $WAKE_EARLY_MIN minutes earlier"
	is $((0x$(cmos 0xb) & 0x20)) 32 "and on"
	is_in_the_bucket "$next"
	cut_power
}

built
start_store
start_ntp
epochs=40
night_s=$(($(date +%s) + 90))
write_config "$(next_minute 90)" $epochs
prepared 240
box_folder
new_disk 6G
provision
box_on "${monitor[@]}"
booted "a box boots that was given its configuration on the ESP"
is "$(inside 'ls /efi/config /efi/config/credentials' | xargs)" "/efi/config: README.txt credentials /efi/config/credentials:" \
	"it took all of it, and erased it there"
like "$(as guest status)" 'state' "kiln --host: status, over TLS"
as guest stop >"$work/said"
like "$(cat "$work/said")" 'needs the role operate' "who may only look does not steer"
if [ "$short" = --short ]; then
	is "$(inside 'systemctl --failed --no-legend --plain')" "" "no unit has failed"
	power_off
	ok $? "it powers off"
	exit
fi

# ---- The night ----
wait_seldom "$BOOT_S" has_begun
ok $? "its timer begins the night" "$(inside 'systemctl list-timers --no-pager kiln-nightly.timer; journalctl -b --no-pager -u kiln-nightly -u kiln-begin | tail -n 20'; as me status)"
like "$(inside 'journalctl -b --no-pager -o cat -u kiln-nightly')" '.' "by kiln-nightly"
as me pause >"$work/said"
becomes "$BOOT_S" paused "kiln --host pause"
as me resume >"$work/said"
becomes "$BOOT_S" running "kiln --host resume"
as me stop >"$work/said"
becomes "$BOOT_S" stopped "kiln --host stop"
as me start >"$work/said"
becomes "$BOOT_S" 'running|finished' "kiln --host start goes on with it"
becomes $((2 * BOOT_S)) finished "the run finishes"
run=$(newest_run)
wait_seldom "$BOOT_S" is_stored "$run"
is_in_the_bucket "$run"
has_its_report "$run"
is "$(inside 'systemctl --failed --no-legend --plain')" "" "no unit has failed"
switches_itself_off
figures
power_off
ok $? "it powers off"
