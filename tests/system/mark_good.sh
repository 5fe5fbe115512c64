#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Which slots mark-good finds good: the script of a box, with a kiln-controld, and a program in the place of systemd.
. "$(dirname "$0")/lib.sh"

command -v grub-editenv >/dev/null || { skip "which slot is found good" "no grub-editenv here: tools/deps/install image"; exit; }
node box
bin=$KILN_ROOT/usr/libexec/kiln esp=$KILN_ROOT/efi/kiln
mkdir -p "$bin" "$esp/A" "$esp/B" "$KILN_ROOT/proc" "$KILN_ROOT/run/kiln" "$work/bin"
cp -R rootfs/overlay/usr/libexec/kiln/. "$bin"
ln -s "$KILN_BIN/kiln-oneshot" "$bin/kiln-oneshot"
echo "root=/dev/x rauc.slot=B panic=5" >"$KILN_ROOT/proc/cmdline"
mkdir -p "$KILN_ROOT/etc"
runs() { echo "IMAGE_VERSION=$1" >"$KILN_ROOT/etc/os-release"; }
runs 1.2.0
printf '#!/bin/sh\necho "$@" >>"%s/asked"\nexit "$(cat "%s/answer")"\n' "$work" "$work" >"$work/bin/systemctl"
chmod +x "$work/bin/systemctl"
PATH=$work/bin:$KILN_BIN:$PATH

slots() { # variables of the boot loader: writes grubenv
	rm -f "$work/asked"
	echo 0 >"$work/answer"
	grub-editenv "$esp/grubenv" create
	grub-editenv "$esp/grubenv" set "$@"
}
mark_good() { said=$("$bin/mark-good" 2>&1); }
variables() { grub-editenv "$esp/grubenv" list | xargs; }

slots B_OK=1 B_TRY=1
! mark_good && [ "$(variables)" = "B_OK=1 B_TRY=1" ]
ok $? "kiln-controld does not answer: no slot is" "$said"
[ ! -e "$esp/floor" ]
ok $? "its version is not remembered"
"$KILN_BIN/kiln-controld" 2>"$work/controld.log" &
wait_for 10 "$KILN_BIN/kiln" node
mark_good
ok $? "it answers" "$said"
is "$(variables)" "B_OK=1 B_TRY=0" "the slot is good"
is "$(cat "$work/asked")" "start kiln-check-root.service" "once its root was read"
is "$(cat "$esp/floor")" 1.2.0 "its version is remembered"
runs 1.1.0
slots B_OK=1 B_TRY=1
mark_good
is "$? $(cat "$esp/floor")" "0 1.2.0" "an older slot, after a fall back: the newest good version stays"
slots B_OK=1 B_TRY=1
echo 1 >"$work/answer"
! mark_good && [ "$(variables)" = "B_OK=1 B_TRY=1" ]
ok $? "one whose root cannot be read is not" "$said"
: >"$KILN_ROOT/run/kiln/no-data"
slots B_OK=1 B_TRY=1
mark_good
is "$? $(variables)" "0 B_OK=1 B_TRY=0" "one that was good before is so without /data, too"

# ---- On trial ----
touch "$esp/B/trial"
runs 1.3.0
slots B_OK=1 B_TRY=1
! mark_good && [ "$(variables)" = "B_OK=1 B_TRY=1" ] && [ -e "$esp/B/trial" ]
ok $? "a slot on trial is not" "$said $(variables)"
like "$said" 'slot B has no /data' "and says why"
rm "$KILN_ROOT/run/kiln/no-data"
echo 1 >"$work/answer"
! mark_good && [ "$(variables)" = "B_OK=1 B_TRY=1" ] && [ -e "$esp/B/trial" ]
ok $? "nor where store or device do not answer" "$said $(variables)"
is "$(cat "$esp/floor")" 1.2.0 "no version is remembered before its trial is passed"
slots B_OK=1 B_TRY=1 A_TRY=3
mark_good
is "$? $(variables)" "0 B_OK=1 B_TRY=0 A_TRY=3" "where all is well it is"
like "$(cat "$work/asked")" 'start kiln-check-store.service kiln-check-gpu.service' "store and device were asked"
test ! -e "$esp/B/trial"
ok $? "and the trial is over"
is "$(cat "$esp/floor")" 1.3.0 "its version is remembered"
touch "$esp/A/trial"
mark_good
is "$? $(variables)" "0 B_OK=1 B_TRY=0 A_TRY=3 A_OK=0 ORDER=B A" "an update that had its attempts is left alone"
