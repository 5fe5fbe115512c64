#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A box without a run: a hardware watchdog (QEMU's i6300esb), a panic, SSH with a key from the ESP, and pages of 1 GiB, which
# need a second boot.
. "$(dirname "$0")/lib.sh"

kernel_args=no_timer_check # a busy host delays timer ticks, which the kernel would take for a fault
built
new_disk 4G
sed 's/^ring: {/& pages = "1GiB";/' config/examples/embedded.conf >"$work/kiln.conf"
esp_put "$work/kiln.conf" config/kiln.conf
ssh-keygen -q -N "" -t ed25519 -f "$work/key"
esp_put "$work/key.pub" config/authorized_keys
port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
power_on -m 4096 -device i6300esb -action watchdog=reset -nic "user,model=virtio-net-pci,net=10.0.7.0/24,hostfwd=tcp:127.0.0.1:$port-:22"
booted "it boots"

# ---- SSH ----
as() { # key, command: logs in as a user on the network
	timeout 120 ssh -p "$port" -i "$work/$1" -o IdentitiesOnly=yes -o BatchMode=yes -o ConnectTimeout=60 -o StrictHostKeyChecking=no \
		-o UserKnownHostsFile="$work/known" root@127.0.0.1 "$2" 2>"$work/ssh.log"
}
is_let_in() { [ "$(as key 'id -un')" = root ]; }
wait_for 180 is_let_in
ok $? "who has the key is let in" "$(cat "$work/ssh.log"; inside 'systemctl status --no-pager kiln-ssh ssh')"
is "$(as key 'stat -c "%a %U" /data/etc/ssh/authorized_keys; ls /efi/config | grep -c authorized')" "600 root
0" "the file is gone from the ESP"
ssh-keygen -q -N "" -t ed25519 -f "$work/other"
as other true
is $? 255 "who has another is not"
like "$(cat "$work/ssh.log")" 'Permission denied \(publickey\)' "and is asked for no password"
expect "the box's own key is on /data, and no other" '^1$' 'ls /data/etc/ssh/host_key /etc/ssh/ssh_host_* 2>/dev/null | wc -l'

# ---- The watchdog ----
like "$(inside 'kiln node')" '^watchdog +(i6300ESB timer|iTCO_wdt), active, 60 s$' "kiln node names the watchdog, one of the two that it has"
expect "the kernel reboots when it made a mistake" '^1 5$' 'cat /proc/sys/kernel/panic_on_oops /proc/sys/kernel/panic | xargs'
boots() { [ "$(grep -ac 'Kiln: slot' "$work/console")" -ge "$1" ]; } # count: whether the box has booted that often
before=$SECONDS
inside 'echo 1 >/sys/fs/cgroup/init.scope/cgroup.freeze'
wait_for "$BOOT_S" boots 2
ok $? "systemd stands still: the watchdog resets the box" "$(tail -n 5 "$work/console")"
echo "{\"name\":\"watchdog-reset-seconds\",\"case\":\"qemu-tcg, i6300esb, 60 s\",\"value\":$((SECONDS - before)),\"unit\":\"s\"}"
booted "it boots again"

# ---- Pages of 1 GiB, from this boot on ----
expect "the boot loader has set one aside" '^1$' 'cat /sys/kernel/mm/hugepages/hugepages-1048576kB/nr_hugepages'
expect "the ring's folder will lie on it" 'pagesize=1G' 'systemctl show -p Options run-kiln-huge.mount'

# ---- A panic ----
vm_run 10 'echo c >/proc/sysrq-trigger' >/dev/null
wait_for "$BOOT_S" boots 3
ok $? "a kernel that panics: the box reboots" "$(tail -n 5 "$work/console")"
