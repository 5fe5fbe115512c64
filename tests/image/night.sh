#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A box's night, all of it: the image in QEMU, configured from its ESP, with a real S3 server as its store. Its timer starts a
# run on PoCL, which finishes; checkpoint, model and record are in the bucket, and `kiln --host` steers it over TLS.
# Usage: night.sh [--short]   --short leaves out the steering in the middle and the figures: it is part of make test
. "$(dirname "$0")/lib.sh"
. tests/image/box_lib.sh
. tests/image/figures_lib.sh
short=${1:-}

next_minute() { # seconds from now: the full minute at or after that, as HH:MM
	date -u -d "@$(($(date +%s) + $1 + 59))" +%H:%M
}

# A box that took longer to boot than the night was away: the next one is set from afar.
has_begun() {
	is_in_state 'running|paused|finished' && return
	if [ "$(date +%s)" -gt $((night_s + 120)) ]; then
		night_s=$(($(date +%s) + 90))
		write_config "$(next_minute 90)" "$epochs"
		as me config apply "$work/kiln.conf" >"$work/applied" 2>&1
	fi
	false
}

built
start_store
start_ntp
epochs=3
[ "$short" = --short ] || epochs=40
night_s=$(($(date +%s) + 90))
write_config "$(next_minute 90)" $epochs
prepared 240
box_folder
new_disk 6G
provision
box_on
booted "a box boots that was given its configuration on the ESP"
is "$(inside 'ls /efi/config /efi/config/credentials' | xargs)" "/efi/config: README.txt credentials /efi/config/credentials:" \
	"it took all of it, and erased it there"
like "$(as guest status)" 'state' "kiln --host: status, over TLS"
as guest stop >"$work/said"
like "$(cat "$work/said")" 'needs the role operate' "who may only look does not steer"

# ---- The night ----
wait_seldom "$BOOT_S" has_begun
ok $? "its timer begins the night" "$(inside 'systemctl list-timers --no-pager kiln-nightly.timer; journalctl -b --no-pager -u kiln-nightly -u kiln-begin | tail -n 20'; as me status)"
like "$(inside 'journalctl -b --no-pager -o cat -u kiln-nightly')" '.' "by kiln-nightly"
if [ "$short" != --short ]; then
	as me pause >"$work/said"
	becomes "$BOOT_S" paused "kiln --host pause"
	as me resume >"$work/said"
	becomes "$BOOT_S" running "kiln --host resume"
	as me stop >"$work/said"
	becomes "$BOOT_S" stopped "kiln --host stop"
	as me start >"$work/said"
	becomes "$BOOT_S" 'running|finished' "kiln --host start goes on with it"
fi
becomes $((2 * BOOT_S)) finished "the run finishes"
run=$(newest_run)
wait_seldom "$BOOT_S" is_stored "$run"
is_in_the_bucket "$run"
[ "$short" = --short ] || has_its_report "$run"
is "$(inside 'systemctl --failed --no-legend --plain')" "" "no unit has failed"
[ "$short" = --short ] || figures
power_off
ok $? "it powers off"
