#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Power cuts of the whole box. Part one records every write and every flush (QEMU's blklogwrites) of a boot, a run with
# checkpoints, an update in the middle of the run, and the boot into the updated slot, where the run goes on. Then it checks
# the disk as it is after each flush, and as it may be a moment later: the boot loader's choice of a slot, that slot, /data,
# every checkpoint, and the run record. The first disk of each state of the boot loader is booted. Part two kills the machine
# KILN_POWER_KILLS times (20) while it boots, idles, trains, writes a checkpoint and installs an update: it boots, goes on,
# and ends with the same weights as an undisturbed run. Before each kill the machine is frozen KILN_POWER_FREEZES times (9)
# and its disk is checked, as if it had been killed at that moment. tests/image/replay.sh has many more cuts of a run, without
# a virtual machine.
# Prints JSON lines: {"name":"power-cuts","case":"N cuts ...","value":failures,"unit":"failures"}
. "$(dirname "$0")/lib.sh"
. tests/image/box_lib.sh
. tests/image/bundle_lib.sh
kills=${KILN_POWER_KILLS:-20} freezes=${KILN_POWER_FREEZES:-9} states=${KILN_POWER_STATES:-6} epochs=${KILN_POWER_EPOCHS:-120}
command -v grub-emu >/dev/null || { skip "power cuts of a box" "no grub-emu here: tools/deps/install image"; exit; }

figure() { # case, failures
	echo "{\"name\":\"power-cuts\",\"case\":\"$1\",\"value\":$2,\"unit\":\"failures\"}"
}

power_cut() { # verb, disk, further arguments: tests/image/power_cut.py
	mkdir -p "$work/cut"
	python3 tests/image/power_cut.py "$work/cut" "$KILN_BUILD/system/make_checkpoint" "$@"
}

# Bytes of the weights: everything after the model's header, which names the run.
bits_of() { # run
	fetched "$1/model/model.safetensors" && python3 - "$work/got" <<-'PY'
		import hashlib, struct, sys
		data = open(sys.argv[1], "rb").read()
		print(hashlib.sha256(data[8 + struct.unpack("<Q", data[:8])[0]:]).hexdigest())
	PY
}

begins() { # starts a run, and waits until it is there
	local before
	before=$(newest_run)
	as me start >"$work/said" 2>&1
	is_another() { [ "$(newest_run)" != "$before" ]; }
	wait_seldom "$BOOT_S" is_another
}

trains() {
	grep -qE '"step":[1-9]' <<<"$(as guest status --json | tr -d ' \t\n')" || is_in_state finished
}

ends() { # waits for the run's end; puts the bytes of its weights into $bits
	bits=
	wait_seldom $((4 * BOOT_S)) is_in_state finished || return
	run=$(newest_run)
	wait_seldom "$BOOT_S" is_stored "$run"
	bits=$(bits_of "$run")
	[ -n "$bits" ]
}

takes_update() { # starts an update over TLS, which does not wait for the run's end
	as me update "s3://$KILN_S3_BUCKET/updates/kiln.raucb" --restart --yes >"$work/said"
}

boot_line() { # the line that the boot loader prints on the console
	tr -d '\r' <"$work/console" | grep -ao 'Kiln: slot .*' | tail -n 1
}

# An update with other bytes in every file but the same system: the changed bytes are never read.
built
unpacked
mkdir "$work/old" "$work/new"
cp "$content"/{vmlinuz,initrd,slot.cfg} "$work/old/"
cat "$work/squashfs" <(head -c 4096 /dev/urandom) >"$work/squashfs.new"
rooted "$work/squashfs.new"
head -c 4096 /dev/zero >>"$content/vmlinuz"
head -c 4096 /dev/zero >>"$content/initrd"
cp "$content"/{vmlinuz,initrd,slot.cfg} "$work/new/"
bundle "$work/update.raucb" build/keys
start_store
"$KILN_BUILD/system/store" upload "s3://$KILN_S3_BUCKET/updates" kiln.raucb "$work/update.raucb" >/dev/null
ok $? "an update is in the store"
write_config 00:00 "$epochs" "every_steps = 200;"
prepared 2400
box_folder
kernel_args=no_timer_check # a busy host delays timer ticks, which the kernel would take for a fault
new_disk 6G
provision

# ---- An undisturbed run; the same run with an update, recorded ----
box_on
booted "the box boots"
since=$SECONDS
begins && ends
ok $? "an undisturbed run" "$(as me status; cat "$work/said")"
echo "# it took $((SECONDS - since)) s"
undisturbed=$bits undisturbed_run=$run
power_off
ok $? "it powers off"
cp --sparse=always "$disk" "$work/before.img"
truncate -s 0 "$work/writes"
record=$work/writes
box_on
booted "it boots, and what it writes is recorded"
begins && wait_seldom "$BOOT_S" trains
takes_update
ok $? "an update beside the run" "$(cat "$work/said")"
wait_for $((2 * BOOT_S)) console_says 'Kiln: slot B, attempt 1'
ok $? "it is installed, and the box restarts into it" "$(as me status; tail -n 5 "$work/console")"
ends
is "$bits" "$undisturbed" "the run goes on in the updated slot, and ends with the same bits"
like "$(inside 'journalctl -b -q --no-pager -o cat -u kiln-traind')" 'going on from' "from its checkpoint"
like "$(inside 'journalctl -b -1 -q --no-pager -o cat -u kiln-update -u kiln-traind -u rauc' |
	sed -n '/a checkpoint is written after/,/installing .*: started/p' | grep -c 'wrote ckpt')" '^[1-9]' \
	"the update had asked for one, and waited for it"
is_marked() { esp_get kiln/grubenv | grep -q '^B_TRY=0' && ! esp_get kiln/B/trial; }
wait_for 900 is_marked
ok $? "the slot is found good" "$(inside 'journalctl -q --no-pager -n 30 -u kiln-mark-good -u kiln-check-store -u kiln-check-gpu')"
power_off
record=
rm -f "$work/vars.fd" # without the recorder the disk has another address on the bus

# ---- Every flush of the recording ----
power_cut replay "$work/before.img" "$work/writes" "${KILN_POWER_EVERY:-1}" "$work/old" "$work/new" >"$work/looks" 2>&1
cp "$work/looks" build/test-logs/power-looks.log
counted=$(tail -n 1 "$work/looks")
like "$counted" '^[0-9]{2,} looks, [0-9]{2,} ESPs, [1-9][0-9]* checkpoints, 0 bad$' \
	"after every flush, and some writes later: a slot that is whole, and 0 torn checkpoints$(grep after "$work/looks"; tail -n 3 "$work/looks")"
like "$(grep -c '^state ' "$work/looks")" '^([4-9]|[1-9][0-9]+)$' "the boot loader comes through states of all sorts" "$(grep '^state ' "$work/looks")"
figure "${counted%, *} at $(sed -n '1s/ flushes.*//p' "$work/looks") flush boundaries of a run and an update in it, and some writes later" "$(sed 's/.*, \([0-9]*\) bad/\1/' <<<"$counted")"

# ---- Boot from one disk of each state ----
grep '^state ' "$work/looks" | shuf -n "$states" --random-source=<(yes) >"$work/states"
while IFS= read -r state <&3; do
	cp --sparse=always "$work/before.img" "$disk"
	power_cut make "$disk" "$work/writes" ${state##*: }
	dd if="$disk" of="$work/esp" bs=1M skip=1 count=256 conv=sparse status=none
	emulated=$(python3 tests/image/boot_choice.py "$work/esp" | sed 's/ | .*//')
	box_on
	booted "after flush ${state##*: } ($(sed 's/^state \(.*\):.*/\1/' <<<"$state")) it boots"
	is "$(boot_line)" "$emulated" "grub-emu predicted the boot loader's choice"
	cut_power
done 3<"$work/states"

# ---- The machine is killed ----
cp --sparse=always "$work/before.img" "$disk"
failures=0 done_kills=0 looks=0 ended=0 reasons=
declare -A killed=()
fails() { failures=$((failures + 1)); reasons="$reasons
kill $done_kills: $1"; }
up_again() {
	box_on
	local until=$((SECONDS + BOOT_S))
	until is_up; do
		if [ $SECONDS -gt $until ] || is_off; then fails "it does not boot: $(tail -n 3 "$work/console")"; return 1; fi
		sleep 1
	done
}
trains_now() { # whether a run other than the undisturbed one trains; a run that has ended is a failure
	is_in_state paused && as me resume >"$work/said"
	is_in_state running && return
	if is_in_state finished && [ "$(newest_run)" != "$undisturbed_run" ] && [ "$(newest_run)" != "${seen_run:-}" ]; then
		ends && [ "$bits" = "$undisturbed" ] || fails "the run ended with the bits '$bits'"
		ended=$((ended + 1)) seen_run=$(newest_run)
	fi
	begins || fails "no run begins: $(cat "$work/said")"
	wait_seldom "$BOOT_S" trains
}
nap() { # sleeps a random time, at most this many seconds
	sleep $((RANDOM % ($1 + 1))).$((RANDOM % 10))
}
looked_at() { # disk, what was done to the machine: checks the disk
	local said
	said=$(power_cut check "$1" "$work/old" "$work/new")
	looks=$((looks + 1))
	[[ $said == *" 0 bad" ]] || fails "$said"
	echo "# $2 $looks ($kind): $(grep '^state' <<<"$said" | cut -d: -f1), $(tail -n 1 <<<"$said")"
}
# Kills QEMU after about $1 seconds, at random: the disk keeps what QEMU had written by then.
disturb() {
	local freeze
	for ((freeze = 0; freeze < freezes; freeze++)); do
		nap $(($1 / (freezes + 1)))
		kill -STOP "$vm" || break
		cp --sparse=always "$disk" "$work/frozen.img"
		kill -CONT "$vm"
		looked_at "$work/frozen.img" freeze
		[ "$kind" != checkpoint ] || as me checkpoint now >"$work/said"
	done
	nap $(($1 / (freezes + 1)))
}
kinds=(run update checkpoint boot idle)
while [ $done_kills -lt "$kills" ]; do
	kind=${kinds[done_kills % ${#kinds[@]}]}
	if [ $kind = boot ]; then
		box_on
		disturb 60
	else
		up_again || break
		trains_now
		case $kind in
		run) disturb 20 ;;
		update) takes_update || fails "no update: $(cat "$work/said")"; disturb 150 ;;
		checkpoint) as me checkpoint now >"$work/said"; disturb 2 ;;
		idle) as me pause >"$work/said"; wait_seldom "$BOOT_S" is_in_state 'paused|finished'; disturb 20 ;;
		esac
	fi
	is_off && fails "it is off"
	cut_power
	done_kills=$((done_kills + 1)) killed[$kind]=$((${killed[$kind]:-0} + 1))
	looked_at "$disk" kill
done
up_again && trains_now && ends
[ "$bits" = "$undisturbed" ] || fails "the last run ended with the bits '$bits'"
ended=$((ended + 1))
figure "$looks cuts, $done_kills of them kills of QEMU ($(for kind in "${!killed[@]}"; do echo "$kind ${killed[$kind]}"; done | sort | xargs)), and booted again; $ended runs ended" $failures
is "$failures" 0 "$looks cuts, $done_kills kills of them: a whole slot, and 0 torn checkpoints; it boots after each kill, and $ended runs end with the undisturbed bits$reasons"
