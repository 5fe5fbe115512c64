# SPDX-License-Identifier: Apache-2.0
# What a box costs, as JSON lines: tests/image/night.sh sources it when its night is over and the box is up.

image_figure() { # name, case, value, unit
	echo "{\"name\":\"image\",\"case\":\"$1\",\"value\":$2,\"unit\":\"$3\"}"
}

steps() {
	as guest status --json | tr -d ' \t\n' | grep -oE '"step":[0-9]+' | head -n 1 | cut -d: -f2
}

goes_beyond() { # step
	[ "$(steps)" -gt "$1" ]
}

# A power cut in a run, and how long it takes until the box is a step further than it was.
power_to_step() { # case, further arguments of QEMU
	local step
	step=$(steps)
	cut_power
	box_on "${@:2}"
	wait_seldom "$BOOT_S" goes_beyond "${step:-0}"
	ok $? "a run goes on after a power cut: $1" "$(as me status; tail -n 20 "$work/console")"
	image_figure "power to the next training step, QEMU without acceleration: $1" $((SECONDS - started_s)) s
}

direct_boot() { # QEMU's arguments for the first slot's kernel, without the boot loader
	local file
	for file in vmlinuz initrd slot.cfg; do
		esp_get "kiln/A/$file" >"$work/$file"
	done
	direct=(-kernel "$work/vmlinuz" -initrd "$work/initrd" -append "root=/dev/mapper/kiln-root rootfstype=squashfs ro panic=5 quiet rauc.slot=A \
$(sed -n 's/.*slot_args="\(.*\)"/\1/p' "$work/slot.cfg") $(sed -n 's/.*kiln_args="\(.*\)"/\1/p' "$work/kernel.cfg")")
}

written() { # sectors of /data
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
	local unit
	image_figure "root, squashfs and its hashes" "$(awk "BEGIN { printf \"%.0f\", $(sed -n 's/.*kiln.hashoffset=\([0-9]*\).*/\1/p' <(esp_get kiln/A/slot.cfg)) / 1e6 }")" MB
	image_figure "what flashing writes" "$(awk "BEGIN { printf \"%.0f\", $(stat -c %b "$image") * 512 / 1e6 }")" MB
	as me start --epochs 100000 >"$work/said"
	wait_seldom "$BOOT_S" goes_beyond 0
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
