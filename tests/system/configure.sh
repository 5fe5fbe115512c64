#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What somebody puts on a box's ESP: good files are taken and erased there, bad ones stay with a reason beside them.
. "$(dirname "$0")/lib.sh"
export KILN_ROOT=$work/box
esp=$KILN_ROOT/efi/config keys=$KILN_ROOT/data/kiln/credentials
mkdir -p "$esp/credentials"

configure() { # name: what it says comes into $said
	said=$("$KILN_BIN/kiln-oneshot" configure 2>&1)
	is $? 0 "$1"
}
refused() { # file, extended regular expression: of the reason, on the ESP and on the console
	like "$(cat "$esp/$1.error.txt" 2>&1)" "$2" "$1: the reason lies beside it"
	like "$said" "kiln: $1 on the ESP is not taken: .*($2)|$2" "and is said"
	test -e "$esp/$1"
	ok $? "and it stays"
}
mode() { stat -c %a "$1"; }

configure "nothing there"
is "$said" "" "nothing is said"

# ---- Good ones ----
cp config/examples/embedded.conf "$esp/kiln.conf"
printf 'aws_access_key_id = ID\r\naws_secret_access_key = SECRETTEXT\r\n' >"$esp/credentials/box"
printf '[Match]\nType=ether\n\n# mine\n[Network]\nAddress=192.0.2.7/24\n' >"$esp/wired.network"
"$KILN_BIN/kiln" pki init "$work/rack" >/dev/null && "$KILN_BIN/kiln" pki issue "$work/rack" box-1 >/dev/null &&
	"$KILN_BIN/kiln" pki issue "$work/rack" box-2 >/dev/null
cp "$work/rack/ca.crt" "$esp/control-ca"
cp "$work/rack/ca.crt" "$esp/store-ca.pem"
cp "$work/rack/box-1.crt" "$esp/control-crt"
cp "$work/rack/box-1.key" "$esp/control-key"
echo "for people" >"$esp/README.txt"
echo "an old reason" >"$esp/kiln.conf.error.txt"
ln "$esp/credentials/box" "$work/blocks" # what lies on the disk after the name is gone
touch "$esp/factory-reset" "$esp/.DS_Store"
configure "good files"
is "$(cmp config/examples/embedded.conf "$KILN_ROOT/etc/kiln/kiln.conf")" "" "kiln.conf is where programs look for it"
like "$(cat "$keys/box")" SECRETTEXT "so is the credential"
is "$(mode "$keys") $(mode "$keys/box") $(mode "$keys/control-key") $(mode "$KILN_ROOT/etc/kiln/kiln.conf")" "700 600 600 644" "their modes"
is "$(tr -d '\0' <"$work/blocks" | wc -c)" 0 "of the credential nothing is left on the ESP"
is "$(cd "$esp" && find . -type f | sort | xargs)" "./.DS_Store ./README.txt ./factory-reset" "nor of the others"
is "$(cmp "$work/rack/ca.crt" "$KILN_ROOT/etc/kiln/store-ca.pem")" "" "the store's authority"
test -e "$KILN_ROOT/data/etc/network/wired.network"
ok $? "the network's file"
if grep -q SECRETTEXT <<<"$said"; then ok 1 "no secret is said" "$said"; else ok 0 "no secret is said"; fi

# ---- Bad ones ----
rm "$esp/.DS_Store"
sed 's/epochs = 5/epoch = 5/' config/examples/embedded.conf >"$esp/kiln.conf"
echo "SECRETTEXT" >"$esp/credentials/box"
printf "access_key_id=ID\nsecret_access_key=S\n" >"$esp/credentials/box.txt"
printf '[Network]\nAddress=192.0.2.7/24\n' >"$esp/other.network"
printf '[Match]\nName=en*\nrm -rf /\n' >"$esp/worse.network"
printf 'k\0i' >"$esp/store-ca.pem"
echo "text" >"$esp/kiln.conf.txt"
printf '\xEF\xBB\xBF[Match]\nType=ether\n' >"$esp/notepad.network"
cp "$work/rack/box-2.crt" "$esp/control-crt" # and the key is box-1's
configure "bad files"
refused kiln.conf "run.epoch"
refused credentials/box 'line 1'
refused credentials/box.txt 'no ending'
refused other.network 'no section \[Match\]'
refused worse.network 'line 3: expected'
refused notepad.network 'byte order mark'
refused store-ca.pem 'no UTF-8 text'
refused kiln.conf.txt 'no file of this name is known'
refused control-crt 'key'
if grep -rq SECRETTEXT "$esp" --include='*.error.txt'; then ok 1 "no secret in a reason"; else ok 0 "no secret in a reason"; fi
is "$(cmp config/examples/embedded.conf "$KILN_ROOT/etc/kiln/kiln.conf") $(cmp "$work/rack/box-1.crt" "$keys/control-crt")" " " \
	"what the box has stays as it was"
configure "once more"
is "$(find "$esp" -name '*.error.txt.error.txt')" "" "reasons are no files to take"

# ---- Put right ----
cp config/examples/embedded.conf "$esp/kiln.conf"
cp "$work/rack/box-2.key" "$esp/control-key"
configure "two of them are put right"
is "$(cmp "$work/rack/box-2.key" "$keys/control-key")$(find "$esp" -name 'kiln.conf' -o -name 'control-*' -o -name kiln.conf.error.txt)" "" \
	"they are taken, and their reasons are gone"
