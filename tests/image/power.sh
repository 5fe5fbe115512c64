#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The power switch. Part one records every write and every flush of a run with its checkpoints (QEMU's blklogwrites) and looks
# at the disk as it is after each flush, and as it may be a moment later: partitions, boot variables, file systems, every
# checkpoint, the run's record; some of them are booted. Part two kills the machine KILN_POWER_CUTS times (200) while it idles,
# trains and writes checkpoints: it boots, goes on, and ends with the bits of a run that nobody disturbed.
# Prints JSON lines: {"name":"power-cuts","case":"N cuts ...","value":failures,"unit":"failures"}
. "$(dirname "$0")/lib.sh"
. tests/image/box_lib.sh
cuts=${KILN_POWER_CUTS:-200} samples=${KILN_POWER_SAMPLES:-2} epochs=${KILN_POWER_EPOCHS:-60}

figure() { # case, failures
	echo "{\"name\":\"power-cuts\",\"case\":\"$1\",\"value\":$2,\"unit\":\"failures\"}"
}

power_cut() { # verb, disk, further arguments: tests/image/power_cut.py
	mkdir -p "$work/cut"
	python3 tests/image/power_cut.py "$work/cut" "$KILN_BUILD/system/make_checkpoint" "$@"
}

# The state of the weights: what lies behind a model's header, which names the run.
bits_of() { # run
	fetched "$1/model/model.safetensors" && python3 - "$work/got" <<-'PY'
		import hashlib, struct, sys
		data = open(sys.argv[1], "rb").read()
		print(hashlib.sha256(data[8 + struct.unpack("<Q", data[:8])[0]:]).hexdigest())
	PY
}

begins() { # starts a run, and waits until there is one
	local before
	before=$(newest_run)
	as me start >"$work/said" 2>&1
	is_another() { [ "$(newest_run)" != "$before" ]; }
	wait_seldom "$BOOT_S" is_another
}

trains() {
	grep -qE '"step":[1-9]' <<<"$(as guest status --json | tr -d ' \t\n')" || is_in_state finished
}

ends() { # waits for the run's end; its weights' bits come into $bits
	bits=
	wait_seldom $((4 * BOOT_S)) is_in_state finished || return
	run=$(newest_run)
	wait_seldom "$BOOT_S" is_stored "$run"
	bits=$(bits_of "$run")
	[ -n "$bits" ]
}

built
start_store
start_ntp
write_config 00:00 "$epochs" 'every_steps = 5;'
prepared 240
box_folder
new_disk 4G
provision

# ---- An undisturbed run, and one whose writes are recorded ----
box_on
booted "the box boots"
begins && ends
ok $? "an undisturbed run" "$(as me status; cat "$work/said")"
undisturbed=$bits undisturbed_run=$run
power_off
ok $? "it powers off"
cp --sparse=always "$disk" "$work/before.img"
truncate -s 0 "$work/writes"
record=$work/writes
box_on
booted "it boots, and what it writes is recorded"
begins && ends
is "$bits" "$undisturbed" "the same run ends with the same bits"
cut_power
record=
power_cut replay "$work/before.img" "$work/writes" "${KILN_POWER_EVERY:-1}" >"$work/looks" 2>&1
ok $? "every write lies in the ESP or in /data" "$(tail -n 5 "$work/looks")"
like "$(tail -n 1 "$work/looks")" '^[0-9]{2,} looks, [1-9][0-9]* checkpoints, 0 bad$' \
	"after every flush, and some writes later: a disk that boots, and 0 torn checkpoints$(grep after "$work/looks")"
flushes=$(sed -n '1s/ flushes.*//p' "$work/looks")
figure "$(sed -n '$s/, [0-9]* bad//p' "$work/looks"), at $flushes flush boundaries of a boot and a run, and some writes later" \
	"$(sed -n '$s/.*, \([0-9]*\) bad/\1/p' "$work/looks")"

# ---- Some of those disks are booted ----
failures=0
for ((sample = 1; sample <= samples; sample++)); do
	cp --sparse=always "$work/before.img" "$disk"
	power_cut make "$disk" "$work/writes" $((flushes * sample / (samples + 1) + 1))
	box_on
	booted "a disk as it was after flush $((flushes * sample / (samples + 1) + 1)) boots"
	cut_power
done

# ---- The machine is killed ----
# Idle: anywhere in a boot or behind it. Run: anywhere in a run, of which each boot makes some steps, and checkpoints.
cp --sparse=always "$work/before.img" "$disk"
failures=0 done_cuts=0 ended=0 reasons=
fails() { failures=$((failures + 1)); reasons="$reasons
cut $done_cuts: $1"; }
up_again() {
	box_on
	local until=$((SECONDS + BOOT_S))
	until is_up; do
		if [ $SECONDS -gt $until ] || is_off; then fails "it does not boot"; return 1; fi
		sleep 1
	done
}
while [ $done_cuts -lt "$cuts" ]; do
	up_again || break
	if [ $((RANDOM % 4)) != 0 ] && ! is_in_state running; then
		if is_in_state finished && [ "$(newest_run)" != "$undisturbed_run" ] && [ "$(newest_run)" != "${seen_run:-}" ]; then
			ends && [ "$bits" = "$undisturbed" ] || fails "the run ended with the bits '$bits'"
			ended=$((ended + 1)) seen_run=$(newest_run)
		fi
		begins || fails "no run begins"
		wait_seldom "$BOOT_S" trains
	fi
	sleep $((RANDOM % 20)).$((RANDOM % 10))
	cut_power
	done_cuts=$((done_cuts + 1))
	said=$(power_cut check "$disk") && [[ $said == *" 0 bad" ]] || fails "$said"
done
up_again
if ! is_in_state finished || [ "$(newest_run)" = "$undisturbed_run" ]; then
	is_in_state running || begins
	ends
	[ "$bits" = "$undisturbed" ] || fails "the last run ended with the bits '$bits'"
	ended=$((ended + 1))
fi
figure "$done_cuts cuts: QEMU killed at random while a box idles, trains and writes checkpoints, and booted again; $ended runs ended" $failures
is "$failures" 0 "$done_cuts cuts: it boots each time, and $ended runs end with the undisturbed bits$reasons"
