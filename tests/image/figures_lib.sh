# SPDX-License-Identifier: Apache-2.0
# Measures a box, as JSON lines in build/results/image.jsonl. tests/image/night.sh sources it when its nights are over and the
# box is off.
figures_file=build/results/image.jsonl

image_figure() { # case, value, unit
	echo "{\"name\":\"image\",\"case\":\"$1\",\"value\":$2,\"unit\":\"$3\"}" | tee -a "$figures_file"
}

status_step() { # progress or checkpoint
	as guest status --json | python3 -c 'import json, sys; print(json.load(sys.stdin)[sys.argv[1]]["step"] or 0)' "$1"
}

goes_beyond() { # step
	[ "$(status_step progress)" -gt "$1" ]
}

has_a_checkpoint() { # at this step, or later
	[ "$(status_step checkpoint)" -ge "$1" ]
}

processor_s() { # CPU-seconds that QEMU has used so far
	awk '{ printf "%.0f", ($14 + $15) / 100 }' "/proc/$vm/stat"
}

# Cuts the power right after a checkpoint, and measures the time until the box has trained a step more.
power_to_step() { # case, further arguments of QEMU
	local step
	step=$(status_step progress)
	as me checkpoint >"$work/said"
	wait_seldom "$BOOT_S" has_a_checkpoint "$step"
	ok $? "a checkpoint at once" "$(cat "$work/said"; as me status)"
	step=$(status_step checkpoint)
	cut_power
	box_on "${@:2}"
	wait_seldom "$BOOT_S" goes_beyond "$step"
	ok $? "a run goes on after a power cut: $1" "$(as me status; tail -n 20 "$work/console")"
	image_figure "power to training step, QEMU without acceleration, $1: wall" $((SECONDS - started_s)) s
	image_figure "power to training step, QEMU without acceleration, $1: processor time" "$(processor_s)" s
}

direct_boot() { # QEMU's arguments for the first slot's kernel, without the boot loader
	local file
	for file in vmlinuz initrd slot.cfg; do
		esp_get "kiln/A/$file" >"$work/$file"
	done
	direct=(-kernel "$work/vmlinuz" -initrd "$work/initrd" -append "root=/dev/mapper/kiln-root rootfstype=squashfs ro panic=5 quiet rauc.slot=A \
$(sed -n 's/.*slot_args="\(.*\)"/\1/p' "$work/slot.cfg") $(sed -n 's/.*kiln_args="\(.*\)"/\1/p' "$work/kernel.cfg")")
}

written() { # sectors written to /data
	inside 'cut -c1- /sys/class/block/vda4/stat | tr -s " " | cut -d" " -f8' | tr -d ' '
}

writes_per_hour() { # case: extrapolated from three minutes
	local before after
	before=$(written)
	sleep 180
	after=$(written)
	image_figure "written to /data in an hour, from 180 s: $1" "$(awk "BEGIN { printf \"%.1f\", ($after - $before) * 512 / 1e6 * 20 }")" MB
}

figures() {
	local unit value
	mkdir -p "${figures_file%/*}"
	: >"$figures_file"
	prepared 40000 1000 # an epoch takes minutes
	image_figure "root, squashfs and its hashes" "$(awk "BEGIN { printf \"%.0f\", $(sed -n 's/.*kiln.hashoffset=\([0-9]*\).*/\1/p' <(esp_get kiln/A/slot.cfg)) / 1e6 }")" MB
	image_figure "what flashing writes" "$(awk "BEGIN { printf \"%.0f\", $(stat -c %b "$image") * 512 / 1e6 }")" MB
	box_on
	booted "it boots again"
	image_figure "power to all units up, QEMU without acceleration: wall" "$boot_s" s
	image_figure "power to all units up, QEMU without acceleration: processor time" "$(processor_s)" s
	as me start --epochs 1000 >"$work/said"
	wait_seldom "$BOOT_S" is_in_state running && wait_seldom "$BOOT_S" goes_beyond 0
	ok $? "another run goes on" "$(cat "$work/said"; as me status)"
	power_to_step "firmware, boot loader, all of it"
	direct_boot
	power_to_step "without the boot loader, kernel and initramfs given" "${direct[@]}"
	writes_per_hour "training, a checkpoint as often as 1 % of the time pays for"
	as me stop >"$work/said"
	becomes "$BOOT_S" stopped "it stops"
	sleep 30
	image_figure "memory in use while idle" "$(inside "awk '/MemTotal/ { t = \$2 } /MemAvailable/ { a = \$2 } END { printf \"%.0f\", (t - a) / 1000 }' /proc/meminfo")" MB
	writes_per_hour "idle"
	inside 'systemd-analyze security --no-pager | sed -n "s/^\(kiln-[^ ]*\) *\([0-9.]*\) .*/\1 \2/p"' | while read -r unit value; do
		image_figure "systemd-analyze security $unit" "$value" "of 10"
	done
}
