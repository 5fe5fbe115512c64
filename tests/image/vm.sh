#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# make vm: a user's configuration on the image in QEMU, controlled from outside; the stored data is there at the next start.
. "$(dirname "$0")/lib.sh"
. tests/image/box_lib.sh

start() { # arguments after the image; the console goes to $work/console
	PORT=$control tools/vm "$work/box.img" "$@" </dev/null >"$work/console" 2>&1 &
	vm=$!
	disown
}
answers() { grep -q "^box " <<<"$(as me status)"; } # status exits with the code for "no run", so look at its text
is_taken() { [ -s "$work/box-vm.img" ] && ! mtype -i "$work/box-vm.img@@1M" ::config/kiln.conf; }

built
ln -s "$image" "$work/box.img"
control=$(free_port)
guest_endpoint=http://10.0.2.2:9 KILN_S3_BUCKET=nowhere AWS_ACCESS_KEY_ID=id AWS_SECRET_ACCESS_KEY=secret
write_config 03:00 1
box_folder
echo "run: { epoch = 1; };" >"$work/bad.conf"
like "$(tools/vm "$work/box.img" "$work/bad.conf" 2>&1)" 'run.epoch' "a wrong configuration is refused"
start "$work/kiln.conf" "$work/box"
wait_for "$BOOT_S" is_taken
ok $? "the box takes its configuration" "$(tail -n 20 "$work/console")"
wait_for "$BOOT_S" console_says 'Kiln [0-9.]+ on kiln, slot A'
ok $? "and shows its status on this terminal" "$(tail -n 20 "$work/console")"
wait_seldom "$BOOT_S" answers
ok $? "kiln --host reaches it" "$(as me status)"
cut_power
start
wait_seldom "$BOOT_S" answers
ok $? "a second start, and it knows its configuration" "$(as me status; tail -n 20 "$work/console")"
