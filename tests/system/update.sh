#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Updates without a virtual machine: bundles and their signers, the hook on a folder in the place of the ESP, grubenv, RAUC's
# service with the image's D-Bus policy, and an update from `kiln update` to its end as far as this machine's kernel allows.
# tests/image/update.sh updates booted images.
. "$(dirname "$0")/lib.sh"
chmod 755 "$work"

for program in rauc unsquashfs mksquashfs veritysetup mcopy mkfs.vfat sfdisk openssl grub-editenv dbus-daemon busctl setpriv; do
	command -v $program >/dev/null || { skip "updates" "no $program here: tools/deps/install image"; exit; }
done

# ---- A bundle of the smallest possible image ----
keys=$work/keys
tools/bundle-key "$keys/old" "the old key"
tools/bundle-key "$keys/new" "the new key"
cat "$keys"/{old,new}/cert.pem >"$keys/both.pem"
mkdir -p "$work/root/etc/rauc" "$work/root/usr/lib" "$work/esp/kiln/A"
sed 's/@GPU@/cpu/; s/@KERNEL@/amd64/; s/@CHECK_CRL@/false/' rootfs/overlay/etc/rauc/system.conf >"$work/root/etc/rauc/system.conf"
echo IMAGE_VERSION=1.2.3 >"$work/root/usr/lib/os-release"
head -c 3M /dev/urandom >"$work/root/filler"
mksquashfs "$work/root" "$work/slot" -quiet -no-progress >/dev/null
bytes=$((($(stat -c %s "$work/slot") + 4095) / 4096 * 4096))
truncate -s $bytes "$work/slot"
veritysetup format --hash-offset=$bytes --root-hash-file="$work/hash" "$work/slot" "$work/slot" >/dev/null
echo "set slot_args=\"kiln.roothash=$(cat "$work/hash") kiln.hashoffset=$bytes\"" >"$work/esp/kiln/A/slot.cfg"
echo kernel >"$work/esp/kiln/A/vmlinuz"
echo initramfs >"$work/esp/kiln/A/initrd"
truncate -s 310M "$work/small.img"
sed 's/@ROOT_MIB@/16/; s/size=64MiB/size=8MiB/' rootfs/partitions | sfdisk --quiet --no-tell-kernel "$work/small.img" >/dev/null 2>&1
truncate -s 256M "$work/esp.img"
mkfs.vfat -F 32 "$work/esp.img" >/dev/null
MTOOLS_SKIP_CHECK=1 mcopy -s -i "$work/esp.img" "$work/esp/kiln" ::
dd if="$work/esp.img" of="$work/small.img" bs=1M seek=1 conv=notrunc,sparse status=none
dd if="$work/slot" of="$work/small.img" bs=1M seek=257 conv=notrunc status=none

bundle() { # key's folder, out
	KEY=$keys/$1/key.pem CERT=$keys/$1/cert.pem tools/mkbundle "$work/small.img" "$2" >"$work/said" 2>&1
}
bundle old "$work/old.raucb"
ok $? "make bundle" "$(cat "$work/said")"
like "$(cat "$work/said")" '^[^ ]*: .*kiln-cpu-amd64 1.2.3, signed by CN = the old key' "it says of what, and who signed"
! grep -q 'development key' "$work/said"
ok $? "a key that was given needs no warning" "$(cat "$work/said")"
tools/mkbundle "$work/small.img" "$work/x.raucb" 2>"$work/said" >/dev/null
like "$? $(cat "$work/said")" '^0 WARNING: signed with the development key in build/keys' "without one a warning names the development key"
unsquashfs -no-progress -d "$work/content" "$work/old.raucb" >/dev/null
is "$(cmp "$work/content/root.img" "$work/slot" && cmp "$work/content/initrd" "$work/esp/kiln/A/initrd")" "" "it holds the image's own bytes"
cp "$work/small.img" "$work/damaged.img"
printf x | dd of="$work/damaged.img" bs=1 seek=$((257 * 1048576 + 4096 * 100)) conv=notrunc status=none
tools/mkbundle "$work/damaged.img" "$work/x.raucb" >"$work/said" 2>&1
like "$? $(tail -n 1 "$work/said")" '^1 mkbundle: .*slot A does not match root hash' "none is made of a damaged image"

# ---- Accepted signers ----
accepts() { # keyring, bundle
	rauc --keyring="$1" info "$2" 2>&1 | grep -oE "^Compatible:.*|verification failed.*|bundle is too small.*|Invalid.*" | tail -n 1
}
good="Compatible: 	'kiln-cpu-amd64'"
bundle new "$work/new.raucb"
is "$(accepts "$keys/both.pem" "$work/old.raucb") $(accepts "$keys/both.pem" "$work/new.raucb")" "$good $good" \
	"roll-over: with both in the keyring either key counts"
like "$(accepts "$keys/new/cert.pem" "$work/old.raucb")" 'verification failed' "the new one alone: the old key's bundle is refused"
is "$(accepts "$keys/new/cert.pem" "$work/new.raucb")" "$good" "and the new one's is not"
head -c -100 "$work/old.raucb" >"$work/short.raucb"
[ "$(accepts "$keys/old/cert.pem" "$work/short.raucb")" != "$good" ]
ok $? "one that is cut off is refused"
cp "$work/old.raucb" "$work/flipped.raucb"
printf '\377' | dd of="$work/flipped.raucb" bs=1 seek=$(($(stat -c %s "$work/old.raucb") - 60)) conv=notrunc status=none
[ "$(accepts "$keys/old/cert.pem" "$work/flipped.raucb")" != "$good" ]
ok $? "a signature with another byte is refused"

# ---- Revoked signers ----
authority() { tools/bundle-authority "$keys/authority" "$@" >"$work/said" 2>&1; }
checks() { # bundle, with the authority's keyring, as on a box: RAUC's verdict
	sed "s,/etc/rauc/keyring.pem,$keys/authority/keyring.pem,; s/^check-crl=.*/check-crl=true/" "$work/root/etc/rauc/system.conf" >"$work/revoking.conf"
	rauc --conf="$work/revoking.conf" info "$1" 2>&1 | grep -oE "^Compatible:.*|verification failed.*" | tail -n 1
}
authority make "the authority" && authority sign "$keys/one" "signer one" && authority sign "$keys/two" "signer two"
ok $? "an authority and two signers" "$(cat "$work/said")"
signed_by() { # signer: makes $work/SIGNER.raucb
	KEYRING=$keys/authority/keyring.pem bundle "$1" "$work/$1.raucb"
}
signed_by one && signed_by two
ok $? "make bundle with a signer of the authority" "$(cat "$work/said")"
is "$(checks "$work/one.raucb") $(checks "$work/two.raucb")" "$good $good" "the bundles of both are accepted"
authority revoke "$keys/one/cert.pem"
like "$(checks "$work/one.raucb")" 'verification failed.*certificate revoked' "one is revoked: his bundle is refused, though it was signed before"
is "$(checks "$work/two.raucb")" "$good" "the other's is accepted, though it was signed before the list was made"
like "$(checks "$work/old.raucb")" 'verification failed' "a signer who is not of the authority is refused"
authority make "another"
is "$? $(cat "$work/said")" "1 bundle-authority: $keys/authority: there is an authority already" "an authority is not overwritten"
lists() { # keyring
	tools/check-keyring "$1" 2>&1
}
is "$(lists "$keys/authority/keyring.pem")" "" "a keyring with a list for each certificate"
is "$(lists "$keys/both.pem")" "" "a keyring without lists"
cat "$keys/authority/keyring.pem" "$keys/old/cert.pem" >"$keys/mixed.pem"
like "$(lists "$keys/mixed.pem")" 'CN = the old key.*: .*unable to get certificate CRL' "a certificate without a list, beside one with: no bundle of it would be accepted"

# ---- The hook ----
esp=$work/efi/kiln
hook() { # word
	KILN_ESP=$work/efi RAUC_SLOT_BOOTNAME=B RAUC_BUNDLE_MOUNT_POINT=$work/content sh "$work/content/hook" "$1" 2>"$work/said"
}
mkdir -p "$esp/B"
echo old >"$esp/B/slot.cfg"
echo old >"$esp/B/vmlinuz"
hook slot-pre-install
is "$? $(ls "$esp/B")" "0 vmlinuz" "before the slot is written the boot loader does not take it: slot.cfg is gone"
mv "$work/content/initrd" "$work/away"
hook slot-post-install
is "$? $(ls "$esp/B" | xargs)" "1 vmlinuz" "what fails half way leaves it so"
mv "$work/away" "$work/content/initrd"
hook slot-post-install
is "$? $(ls "$esp/B" | xargs)" "0 initrd slot.cfg trial vmlinuz" "kernel, initramfs and hash are there, and the slot is on trial"
is "$(cat "$esp"/B/{vmlinuz,initrd,slot.cfg})" "$(cat "$work"/content/{vmlinuz,initrd,slot.cfg})" "the bundle's"

# ---- grubenv ----
editenv=rootfs/overlay/usr/libexec/kiln/boot/grub-editenv env=$work/efi/kiln/grubenv
$editenv "$env" set ORDER="A B" A_OK=1 2>"$work/said"
is "$? $(grub-editenv "$env" list | xargs)" "0 ORDER=A B A_OK=1" "one that is missing is made"
before=$(stat -c %i "$env")
$editenv "$env" set B_OK=0
is "$(grub-editenv "$env" list | xargs)" "ORDER=A B A_OK=1 B_OK=0" "what was there stays"
[ "$(stat -c %i "$env")" != "$before" ]
ok $? "it is another file, by rename"
: >"$env"
$editenv "$env" set A_TRY=0 2>"$work/said"
is "$? $(stat -c %s "$env") $(grub-editenv "$env" list)" "0 1024 A_TRY=0" "one that a power cut tore is made anew"

# ---- The handler that RAUC calls before it writes a slot ----
node handler
mkdir -p "$KILN_ROOT"/{etc,efi/kiln,usr/libexec/kiln,run/kiln-update}
ln -s "$KILN_BIN/kiln-oneshot" "$KILN_ROOT/usr/libexec/kiln/kiln-oneshot"
echo IMAGE_VERSION=1.1.0 >"$KILN_ROOT/etc/os-release"
is "$(sed -n 's/^pre-install=//p' "$work/root/etc/rauc/system.conf")" /usr/libexec/kiln/check-version "system.conf names the handler of the image"
handler() { # content of a bundle
	RAUC_BUNDLE_MOUNT_POINT=$1 rootfs/overlay/usr/libexec/kiln/check-version 2>"$work/said"
}
handler "$work/content"
is "$?" 0 "1.2.3 on 1.1.0: it may be installed" "$(cat "$work/said")"
echo 1.3.0 >"$KILN_ROOT/efi/kiln/floor"
handler "$work/content"
like "$? $(cat "$work/said")" '^77 .*version 1.2.3 is older than 1.3.0, which was found good on this box' "1.3.0 was found good here: it may not"
: >"$KILN_ROOT/run/kiln-update/downgrade"
handler "$work/content"
is "$?" 0 "unless this update may be older" "$(cat "$work/said")"
rm "$KILN_ROOT/run/kiln-update/downgrade"
mkdir "$work/unversioned"
printf '[update]\ncompatible=x\n[bundle]\nversion=9.0.0\n' >"$work/unversioned/manifest.raucm"
handler "$work/unversioned"
like "$? $(cat "$work/said")" '^78 .*version "": expected' "a bundle without a version may not"
handler "$work/nothing"
[ $? != 0 ]
ok $? "nor may one without a manifest"

# ---- RAUC's service with the image's D-Bus policy ----
if [ "$(id -u)" != 0 ]; then
	skip "who may call RAUC" "it needs root, to be others"
	exit
fi
node box
mkdir -p "$KILN_ROOT"/{run/kiln/update,data/kiln/update,etc/kiln} "$work/slots"
chmod 755 "$work" "$work/nodes" "$KILN_ROOT"
truncate -s 16M "$work/slots/a" "$work/slots/b"
sed "s,/efi/kiln,$work/efi/kiln,; s,/run/rauc,$work/mount,; s,/data/kiln/rauc.status,$work/rauc.status,; s,/etc/rauc/keyring.pem,$keys/new/cert.pem,
	s,/dev/disk/by-partlabel/kiln-root-,$work/slots/," "$work/root/etc/rauc/system.conf" >"$work/system.conf"
# This machine has other users: daemon takes the place of kiln-control, nobody that of kiln-fetch.
sed 's/kiln-control/daemon/' rootfs/overlay/usr/share/dbus-1/system.d/de.pengutronix.rauc.conf >"$work/policy.conf"
cat >"$work/bus.conf" <<-BUS
	<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN" "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
	<busconfig>
	  <type>system</type>
	  <listen>unix:path=$work/bus</listen>
	  <auth>EXTERNAL</auth>
	  <policy context="default">
	    <allow user="*"/>
	    <deny own="*"/>
	    <deny send_type="method_call"/>
	    <allow send_type="signal"/>
	    <allow send_requested_reply="true" send_type="method_return"/>
	    <allow send_requested_reply="true" send_type="error"/>
	    <allow receive_type="method_call"/>
	    <allow receive_type="method_return"/>
	    <allow receive_type="error"/>
	    <allow receive_type="signal"/>
	    <allow send_destination="org.freedesktop.DBus" send_interface="org.freedesktop.DBus"/>
	  </policy>
	  <include>$work/policy.conf</include>
	</busconfig>
BUS
dbus-daemon --config-file="$work/bus.conf" --nofork --nopidfile 2>"$work/bus.log" &
bus=$!
wait_for 10 test -S "$work/bus"
chmod 777 "$work/bus"
export DBUS_SYSTEM_BUS_ADDRESS=unix:path=$work/bus
PATH=$PWD/${editenv%/*}:$PATH rauc --conf="$work/system.conf" --override-boot-slot=A service >"$work/rauc.log" 2>&1 &
rauc=$!
cleanup() { kill "$bus" "$rauc" "${controld:-$bus}" "${stub:-$bus}" 2>/dev/null; }
ask() { # user, busctl's arguments
	setpriv --reuid="$1" --clear-groups busctl --address="$DBUS_SYSTEM_BUS_ADDRESS" "${@:2}" 2>&1
}
service="de.pengutronix.rauc / de.pengutronix.rauc.Installer"
is_there() { ask root get-property $service Operation; }
wait_for 20 is_there
is "$(is_there)" 's "idle"' "rauc service, with the image's system.conf" "$(cat "$work/rauc.log" "$work/bus.log")"
denied='Access (denied|to the requested)|not allowed|rejected'
like "$(ask nobody call $service InstallBundle 'sa{sv}' "$work/old.raucb" 0)" "$denied" "fetchd's user may not have a bundle installed"
like "$(ask nobody call $service Install s "$work/old.raucb")" "$denied" "by the old call neither"
like "$(ask nobody get-property $service Progress)" "$denied" "fetchd's user may not read its properties"
like "$(ask daemon call $service InstallBundle 'sa{sv}' "$work/old.raucb" 0)" "$denied" "kiln-control may not install"
like "$(ask daemon call $service Mark ss good booted)" "$denied" "kiln-control may not mark a slot"
like "$(ask daemon get-property $service Progress) $(ask daemon get-property $service LastError)" '^\(isi\) 0 "" 0 s ""$' \
	"it may read Progress and LastError"
like "$(ask daemon set-property $service Progress '(isi)' 1 x 1)" "$denied" "kiln-control may not write them"

# ---- An update, from the verb to RAUC's verdict ----
kiln=$KILN_BIN/kiln words=$work/words answers=$work/answers
echo ok >"$answers"
python3 tests/system/steer_stub.py "$KILN_ROOT/run/kiln-steer/socket" "$words" "$answers" &
stub=$!
"$KILN_BIN/kiln-controld" 2>"$work/controld.log" &
controld=$!
wait_for 10 "$kiln" node
wait_for 10 test -S "$KILN_ROOT/run/kiln-steer/socket"
status() { "$kiln" status | sed -n 's/^update *//p'; }
steps() { # runs the steps of the unit
	"$KILN_BIN/kiln-oneshot" update-fetch 2>"$work/said" && "$KILN_BIN/kiln-oneshot" update 2>"$work/said"
}
is "$(status)" "" "no update yet: status has no line of it"
"$kiln" update "$work/nothing" --yes >"$work/said" 2>&1
like "$? $(cat "$work/said")" "^1 .*nothing: No such file" "a file that is not there"
"$kiln" update https://host/x --yes >"$work/said" 2>&1
like "$? $(cat "$work/said")" '^1 .*expected s3://BUCKET/KEY or file:///PATH' "a URL of another kind"
"$kiln" --host box=127.0.0.1:1 update x.raucb --yes >"$work/said" 2>&1
like "$? $(cat "$work/said")" '^2 .*with --host a bundle is a URL that the box reaches' "a file of this machine, for another box"
(cd "$work" && "$kiln" update old.raucb --yes) >"$work/said" 2>&1
is "$? $(cat "$words")" "0 update.install" "kiln update FILE: the word is said" "$(cat "$work/said")"
is "$(status)" "asked, file://$work/old.raucb" "status"
"$kiln" update "$work/new.raucb" --yes >"$work/said" 2>&1
like "$? $(cat "$work/said")" '^1 .*an update is asked already' "one at a time"
"$KILN_BIN/kiln-oneshot" update-fetch 2>"$work/said"
is "$? $(cmp "$work/old.raucb" "$KILN_ROOT/data/kiln/update/bundle.raucb")" "0 " "it is fetched" "$(cat "$work/said")"
"$KILN_BIN/kiln-oneshot" update 2>"$work/said"
is $? 65 "a bundle of a key that the box does not know"
is "$(ls "$KILN_ROOT/data/kiln/update")" "" "does not stay on the disk"
like "$(status)" 'failed, .*old.raucb: RAUC: .*signature verification failed' "and refused, which status says" "$(cat "$work/rauc.log")"
like "$(ask daemon get-property $service LastError)" 'signature verification failed' "as RAUC's LastError has it"
is "$($editenv "$env" list)" "A_TRY=0" "the boot loader's variables are as they were"

"$kiln" update "s3://bucket/x/kiln.raucb" --yes >"$work/said" 2>&1
steps
like "$? $(status)" '^(78|77) failed, s3://bucket/x/kiln.raucb: .*kiln.conf' "s3:// without a configuration"
"$kiln" update "file://$work/none.raucb" --yes >"$work/said" 2>&1
steps
like "$? $(status)" '^77 failed, .*none.raucb: .*(No such file|no such object|not there)' "a bundle that is not there"
truncate -s 15T "$work/huge.raucb"
"$kiln" update "$work/huge.raucb" --yes >"$work/said" 2>&1
steps
like "$? $(status)" '^69 failed, .*no space: the bundle needs 16492674416640 bytes, .* only [0-9]+ are free' "no space: how much is needed, and there"
rm "$work/huge.raucb"

sed -i 's/^compatible=.*/compatible=kiln-other-amd64/' "$work/content/manifest.raucm" 2>/dev/null || {
	printf '[update]\ncompatible=kiln-other-amd64\nversion=1\n[bundle]\nformat=verity\n[hooks]\nfilename=hook\n[image.root]\nfilename=root.img\nhooks=pre-install;post-install\n' >"$work/content/manifest.raucm"
}
rauc --cert="$keys/new/cert.pem" --key="$keys/new/key.pem" --keyring="$keys/new/cert.pem" bundle "$work/content" "$work/other.raucb" >"$work/said" 2>&1
"$kiln" update "$work/other.raucb" --yes >"$work/said" 2>&1
steps
found=$(status)
like "$found" '^failed, .*other.raucb, version 1.2.3: ' "a bundle whose signature is good: status tells its version"
is "$(ls "$KILN_ROOT/data/kiln/update")" "" "nor does this one"
if grep -qE 'mount|loop|dm-|device-mapper|verity' <<<"$found"; then
	skip "wrong hardware" "this kernel maps no bundle: $found"
else
	like "$found" 'failed, .*ompatible mismatch.*kiln-cpu-amd64.*kiln-other-amd64' "a bundle for other hardware, named both"
fi
# ---- An older version ----
mkdir -p "$KILN_ROOT"/{efi/kiln,run/kiln-update}
echo 2.0.0 >"$KILN_ROOT/efi/kiln/floor"
"$kiln" update "$work/new.raucb" --yes >"$work/said" 2>&1
steps
like "$? $(status)" '^77 failed, .*new.raucb, version 1.2.3: version 1.2.3 is older than 2.0.0, which was found good on this box; --allow-downgrade' \
	"an older version than one that was good here is refused"
is "$(tail -n 1 "$words")" update.install "kiln-steer was not asked for a downgrade"
"$kiln" update "$work/new.raucb" --yes --allow-downgrade >"$work/said" 2>&1
is "$? $(tail -n 1 "$words")" "0 update.downgrade" "kiln update --allow-downgrade: another word is said" "$(cat "$work/said")"
steer() { echo "$1" | "$KILN_BIN/kiln-steer" >/dev/null 2>&1; } # it notes the word, though no systemd is on this bus
steer update.downgrade
steps
found=$(status)
! grep -q 'is older' <<<"$found"
ok $? "RAUC is asked to install it" "$found"
like "$(cat "$work/said")" 'version 1.2.3 is older than 2.0.0' "and the journal has that it is older"
steer update.install
"$kiln" update "$work/new.raucb" --yes >"$work/said" 2>&1
steps
like "$(status)" 'version 1.2.3 is older than 2.0.0' "the next update without the option is refused again"
rm "$KILN_ROOT/efi/kiln/floor"

echo "error this system is not a Kiln image: it has no kiln-update.service" >"$answers"
"$kiln" update "$work/new.raucb" --yes >"$work/said" 2>&1
like "$? $(status)" '^1 failed, .*not a Kiln image' "where there is no image it failed, too: the next may be asked for"
echo ok >"$answers"
"$kiln" update "$work/new.raucb" --yes >"$work/said" 2>&1
MONITOR_UNIT=kiln-update-fetch.service MONITOR_SERVICE_RESULT=oom-kill "$KILN_BIN/kiln-oneshot" update-failed 2>"$work/said"
like "$(status)" 'failed, .*: kiln-update-fetch.service ended: oom-kill' "an update that was killed is reported as failed, too"
