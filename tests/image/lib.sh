# SPDX-License-Identifier: Apache-2.0
# Shared by the tests of the shipped image in QEMU, without acceleration. The image's copy gets systemd's debug shell on the
# second serial port, by one line on its ESP, which anyone with access to the disk may write; its root is the shipped one.
. "$(dirname "${BASH_SOURCE[0]}")/../system/lib.sh"

image=${KILN_IMAGE:-$PWD/build/image/kiln-cpu-amd64.img}
disk=$work/disk.img
vm=
BOOT_S=${KILN_BOOT_S:-600} # generous, for a busy machine

why_no_vm() {
	local program
	for program in qemu-system-x86_64 mcopy sfdisk veritysetup; do
		command -v $program >/dev/null || { echo "no $program here: tools/deps/install image"; return; }
	done
	[ "$(id -u)" = 0 ] || { echo "an image is built as root"; return; }
	[ -e /usr/share/OVMF/OVMF_CODE_4M.fd ] || echo "no OVMF here: tools/deps/install image"
}
reason=$(why_no_vm)
[ -z "$reason" ] || { skip "an image in QEMU" "$reason"; exit; }

# ---- The disk ----

is_current() {
	[ -e "$image" ] && [ -z "$(find "$KILN_BIN" rootfs tools/mkimage -newer "$image" -print -quit)" ]
}

built() { # builds the image where it is not current; the next test uses it again
	is_current || make -s image >"$work/image.log" 2>&1
	ok $? "make image" "$(tail -n 20 "$work/image.log" 2>/dev/null)"
	[ -e "$image" ] || exit
}

new_disk() { # size, as truncate takes it
	cp --sparse=always --reflink=auto "$image" "$disk"
	truncate -s "$1" "$disk"
	# No screen and no virtual machines inside: their drivers take seconds to load. An emulated processor needs no mitigations.
	printf 'set kiln_args="console=ttyS0,115200 systemd.debug_shell=ttyS1 systemd.mask=kiln-console@tty1.service modprobe.blacklist=kvm_amd mitigations=off %s"\n' \
		"${kernel_args:-}" >"$work/kernel.cfg"
	esp_put "$work/kernel.cfg" kiln/kernel.cfg
	rm -f "$work/vars.fd"
}

# The ESP starts at 1 MiB (rootfs/partitions).
esp_put() { # file, where
	mcopy -o -i "$disk@@1M" "$1" "::$2"
}

esp_get() { # file
	mtype -i "$disk@@1M" "::$1"
}

partition_start() { # name: in bytes
	sfdisk --json "$disk" 2>/dev/null | python3 -c '
import json, sys
print(next(p["start"] for p in json.load(sys.stdin)["partitiontable"]["partitions"] if p["name"] == sys.argv[1]) * 512)' "$1"
}

# ---- The machine ----

# The emulated watchdog (iTCO) may reset the machine, as a real one does. la57: a fifth level of page tables makes each miss of
# the emulated TLB longer.
power_on() { # further arguments of QEMU; with $record every write and flush is recorded in that file
	[ -e "$work/vars.fd" ] || cp /usr/share/OVMF/OVMF_VARS_4M.fd "$work/vars.fd"
	: >"$work/console"
	rm -f "$work/shell"
	local drive=(-drive "if=virtio,format=raw,cache=unsafe,file=$disk")
	[ -z "${record:-}" ] || drive=(-blockdev "driver=file,cache.no-flush=on,filename=$disk,node-name=medium" -blockdev "driver=file,cache.no-flush=on,filename=$record,node-name=record"
		-blockdev "driver=blklogwrites,node-name=disk,file=medium,log=record,log-sector-size=512" -device virtio-blk-pci,drive=disk,bootindex=0)
	nice -n 2 qemu-system-x86_64 -machine q35 -accel tcg,thread=multi -cpu max,la57=off -smp 2 -m 2048 -nodefaults -display none \
		-global ICH9-LPC.noreboot=off -action watchdog=reset \
		-drive if=pflash,format=raw,readonly=on,file=/usr/share/OVMF/OVMF_CODE_4M.fd \
		-drive "if=pflash,format=raw,file=$work/vars.fd" "${drive[@]}" \
		-nic "${nic:-user,model=virtio-net-pci}${forward:-}" -device virtio-rng-pci \
		-chardev "file,id=console,path=$work/console,append=on" -serial chardev:console \
		-chardev "socket,id=shell,path=$work/shell,server=on,wait=off" -serial chardev:shell "$@" 2>"$work/qemu.log" &
	vm=$!
	disown
	started_s=$SECONDS
}

is_off() {
	! kill -0 "$vm" 2>/dev/null
}

# Cuts the power.
cut_power() {
	kill -KILL "$vm" 2>/dev/null
	wait_for 10 is_off
	vm=
}

power_off() {
	vm_run 30 'systemctl --no-block poweroff' >/dev/null
	wait_for "$BOOT_S" is_off
}

cleanup() {
	[ -z "$vm" ] || cut_power
}

vm_run() { # seconds, command
	timeout $(($1 + 5)) python3 tests/image/vm_shell.py "$work/shell" "$1" "$2"
}

inside() { # command
	vm_run 120 "$1"
}

# A question slows the boot down. So wait for the status screen first, then ask one question that waits.
is_up() {
	console_says 'Kiln [0-9.]+ on kiln, slot' &&
		grep -qE 'running|degraded' <<<"$(vm_run 120 'systemctl is-system-running --wait')"
}

console_says() { # extended regular expression
	grep -qE "$1" < <(tr -d '\r' <"$work/console") # not a pipeline: grep -q would end tr with SIGPIPE
}

booted() { # name
	local until=$((SECONDS + BOOT_S)) rc=1
	while [ $SECONDS -lt $until ] && ! is_off; do
		if is_up; then rc=0; break; fi
		sleep 1
	done
	boot_s=$((SECONDS - started_s))
	ok $rc "$1" "$(tail -n 60 "$work/console" | tr -d '\r'; cat "$work/qemu.log")"
	[ $rc = 0 ] || exit
}

expect() { # name, extended regular expression, command inside
	like "$(inside "$3")" "$2" "$1"
}
