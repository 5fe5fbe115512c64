#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Files on a box's ESP: good ones are stored and erased there, bad ones stay, each with a reason beside it.
. "$(dirname "$0")/lib.sh"
export KILN_ROOT=$work/box
esp=$KILN_ROOT/efi/config keys=$KILN_ROOT/data/kiln/credentials
mkdir -p "$esp/credentials"

configure() { # name: puts the output into $said
	said=$("$KILN_BIN/kiln-oneshot" configure 2>&1)
	is $? 0 "$1"
}
refused() { # file, extended regular expression for the reason, on the ESP and on the console
	like "$(cat "$esp/$1.error.txt" 2>&1)" "$2" "$1: the reason lies beside it"
	like "$said" "kiln: $1 on the ESP is refused: .*($2)|$2" "the console shows the reason"
	test -e "$esp/$1"
	ok $? "and it stays"
}
mode() { stat -c %a "$1"; }

configure "nothing there"
is "$said" "" "nothing is said"

# ---- A box without /data ----
keeps_nothing() { # files that stay: kiln.conf, a credential and a control key
	cp config/examples/embedded.conf "$esp/kiln.conf"
	echo SECRETTEXT | tee "$esp/credentials/box" >"$esp/control-key"
	configure "$1"
	refused kiln.conf "$2.*; kiln.conf stays here"
	refused credentials/box "$2.*; credentials/box stays here"
	refused control-key "$2.*; mutual TLS stays here"
	is "$(cat "$esp/kiln.conf" "$esp/credentials/box" "$esp/control-key")" "$(cat config/examples/embedded.conf; echo SECRETTEXT; echo SECRETTEXT)" \
		"as it was"
	is "$(find "$KILN_ROOT" -path "$esp" -prune -o -type f -print | xargs -r -n 1 basename)" "$3" "nothing is stored"
}
mkdir -p "$KILN_ROOT/run/kiln"
touch "$KILN_ROOT/run/kiln/no-data"
keeps_nothing "no /data" "no /data: its partition cannot be mounted" no-data
like "$said" '^kiln: no /data: its partition' "the console says that there is no /data, even without a file"
mv "$KILN_ROOT/run/kiln/"{no-data,reset}
keeps_nothing "all is forgotten at each boot" "factory-reset cannot be removed from the ESP: each boot" reset
rm -r "$KILN_ROOT/run/kiln" "$esp/control-key"*

# ---- Good files ----
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
ln "$esp/credentials/box" "$work/blocks" # for reading the disk blocks after the name is gone
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

# ---- Time servers ----
servers() { # value: prints the resulting file
	sed -i '/^clock:/d' "$KILN_ROOT/etc/kiln/kiln.conf"
	echo "clock: { ntp_servers = \"$1\"; };" >>"$KILN_ROOT/etc/kiln/kiln.conf"
	"$KILN_BIN/kiln-oneshot" clock-servers && tr '\n' ' ' <"$KILN_ROOT/run/systemd/timesyncd.conf.d/50-kiln.conf"
}
cp "$KILN_ROOT/etc/kiln/kiln.conf" "$work/kiln.conf"
"$KILN_BIN/kiln-oneshot" clock-servers
is "$?$(ls "$KILN_ROOT/run/systemd" 2>&1 | grep -v 'No such file')" 0 "no servers: systemd-timesyncd's own"
is "$(servers "ntp-1.lan 192.0.2.7 2001:db8::7")" "[Time] NTP=ntp-1.lan 192.0.2.7 2001:db8::7 " "servers"
is "$(servers 'ntp-2.lan\nExecStart=/bin/sh')" "[Time] NTP=ntp-1.lan 192.0.2.7 2001:db8::7 " "a server's name cannot add lines to the file"
like "$("$KILN_BIN/kiln" config check 2>&1)" 'clock.ntp_servers: found .*allowed: host names of \[A-Za-z0-9.-\] and addresses' "and why"
cp "$work/kiln.conf" "$KILN_ROOT/etc/kiln/kiln.conf"

# ---- Pages of 1 GiB at the next boot ----
pages() { # keys of ring: prints the result for the boot loader
	sed -i '/^ring:/d' "$KILN_ROOT/etc/kiln/kiln.conf"
	echo "ring: { $1 };" >>"$KILN_ROOT/etc/kiln/kiln.conf"
	"$KILN_BIN/kiln-oneshot" boot-pages >"$work/said" 2>&1
	[ ! -e "$KILN_ROOT/efi/kiln/pages.env" ] || grub-editenv "$KILN_ROOT/efi/kiln/pages.env" list 2>&1
}
mkdir -p "$KILN_ROOT/efi/kiln"
pages 'pages = "2MiB";' >/dev/null
is "$(ls "$KILN_ROOT/efi/kiln")" "" "pages of 2 MiB: the ESP stays as it is"
if command -v grub-editenv >/dev/null; then
	is "$(pages 'pages = "1GiB";')" "kiln_gib=1" "the ring takes one of 1 GiB"
	like "$(cat "$work/said")" '1 pages of 1 GiB at the next boot' "it says so"
	is "$(stat -c %s "$KILN_ROOT/efi/kiln/pages.env")" 1024 "in a block as GRUB's own"
	inode=$(stat -c %i "$KILN_ROOT/efi/kiln/pages.env")
	is "$(pages 'pages = "1GiB";') $(stat -c %i "$KILN_ROOT/efi/kiln/pages.env")" "kiln_gib=1 $inode" "the same once more writes nothing"
	is "$(pages 'pages = "2MiB";')" "kiln_gib=0" "and back"
	pages 'pages = "1GiB";' >/dev/null
	sed -i 's/^run: {/run: { batch_rows = 65536;/' "$KILN_ROOT/etc/kiln/kiln.conf"
	is "$(pages 'pages = "1GiB"; slots = 4096;')" "kiln_gib=0" "a ring larger than the memory gets none"
	like "$(cat "$work/said")" "the ring needs [0-9]+ pages of 1 GiB, and at most [0-9]+ of this box" "and why"
	cp "$work/kiln.conf" "$KILN_ROOT/etc/kiln/kiln.conf"
	pages 'pages = "1GiB";' >/dev/null
	rm "$KILN_ROOT/etc/kiln/kiln.conf"
	"$KILN_BIN/kiln-oneshot" boot-pages
	is "$? $(grub-editenv "$KILN_ROOT/efi/kiln/pages.env" list)" "0 kiln_gib=0" "without a configuration, as after a factory reset, there are none"
else
	skip "what the boot loader is told" "no grub-editenv here"
fi

# ---- Waiting for the clock ----
clock() { # set or unset, seconds: prints the message
	LD_PRELOAD=$KILN_BUILD/system/preload/clock.so KILN_TEST_CLOCK=$1 "$KILN_BIN/kiln-oneshot" clock --wait-s "$2" 2>&1
}
is "$(clock unset 600)" "" "without a store that asks for signatures nobody waits for it"
cat >"$KILN_ROOT/etc/kiln/kiln.conf" <<-'CONF'
	source: { url = "s3://bkt/data"; };
	sink: { url = "s3://bkt/runs"; };
CONF
is "$(clock set 600)" "" "it does not wait when the clock is set"
like "$(clock unset 1)" 'clock: this box has no clock that runs while it is off \(RTC\): until a server sets the clock' "no hardware clock: it says so"
like "$(clock unset 1)" 'clock: the clock is not set after 1 s, going on from the time at which the box went down' "and goes on after a time"
rtc=$KILN_ROOT/sys/class/rtc/rtc0
mkdir -p "$rtc"
echo 946684800 >"$rtc/since_epoch"
like "$(clock unset 1)" 'hardware clock \(RTC\) did not keep the time: it says 2000-01-01: until' "one without a battery"
date +%s >"$rtc/since_epoch"
is "$(clock unset 1 | sed 's/.*clock: //')" "waiting at most 1 s for the clock to be set
the clock is not set after 1 s, going on by the box's hardware clock (RTC)" "one that kept the time is as good"
cp "$work/kiln.conf" "$KILN_ROOT/etc/kiln/kiln.conf"

# ---- SSH ----
for type in ed25519 "rsa -b 2048" ecdsa; do
	# shellcheck disable=SC2086
	ssh-keygen -q -N "" -C "me@here" -t $type -f "$work/${type%% *}" || skip "a key of $type" "no ssh-keygen here"
done
ssh=$KILN_ROOT/data/etc/ssh
{ echo "# mine"; cat "$work"/{ed25519,rsa,ecdsa}.pub | sed 's/$/\r/'; echo; } >"$esp/authorized_keys"
configure "keys for SSH"
is "$(mode "$ssh") $(mode "$ssh/authorized_keys") $(grep -c me@here "$ssh/authorized_keys")" "700 600 3" "they are root's alone"
is "$(ssh-keygen -l -f "$ssh/authorized_keys" | wc -l)" 3 "OpenSSH reads them all"
not_a_key() { # text, extended regular expression
	echo "$1" >"$esp/authorized_keys"
	configure "a file that is none: ${1:0:30}"
	refused authorized_keys "$2"
}
not_a_key "$(cat "$work/ed25519")" 'line 1: this is a private key'
not_a_key "command=\"/bin/sh\" $(cat "$work/ed25519.pub")" 'line 1: found "command=./bin/sh.", allowed: .*no options'
not_a_key "$(sed 's/ssh-ed25519/ssh-rsa/' "$work/ed25519.pub")" 'line 1: the text after ssh-rsa is not a complete key of this type'
not_a_key "$(cut -c-30 "$work/ed25519.pub")" 'is not a complete key of this type'
not_a_key "# nobody" 'no key in it'
is "$(grep -c me@here "$ssh/authorized_keys")" 3 "what the box has stays as it was"
: >"$esp/authorized_keys"
configure "an empty one"
is "$(ls "$ssh" "$esp" | grep authorized)" "" "takes it back"

# ---- Bad files ----
rm "$esp/.DS_Store"
sed 's/epochs = 5/epoch = 5/' config/examples/embedded.conf >"$esp/kiln.conf"
echo "SECRETTEXT" >"$esp/credentials/box"
printf "access_key_id=ID\nsecret_access_key=S\n" >"$esp/credentials/box.txt"
printf '[Network]\nAddress=192.0.2.7/24\n' >"$esp/other.network"
printf '[Match]\nName=en*\nrm -rf /\n' >"$esp/worse.network"
printf 'k\0i' >"$esp/store-ca.pem"
echo "text" >"$esp/kiln.conf.txt"
printf '\xEF\xBB\xBF[Match]\nType=ether\n' >"$esp/notepad.network"
cp "$work/rack/box-2.crt" "$esp/control-crt" # the key is box-1's
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

# ---- Corrected ----
cp config/examples/embedded.conf "$esp/kiln.conf"
cp "$work/rack/box-2.key" "$esp/control-key"
configure "two of them are put right"
is "$(cmp "$work/rack/box-2.key" "$keys/control-key")$(find "$esp" -name 'kiln.conf' -o -name 'control-*' -o -name kiln.conf.error.txt)" "" \
	"they are taken, and their reasons are gone"

# ---- Credentials of notify ----
find "$esp" -type f -delete
echo "https://hooks.example/SECRETTEXT" | tee "$esp/credentials/hook" >"$esp/credentials/monitor"
echo "user:SECRETTEXT" >"$esp/credentials/relay"
echo "SECRETTEXT" >"$esp/credentials/token"
configure "credentials that no kiln.conf names yet"
refused credentials/hook "\`notify\` of kiln.conf does not name it, so it must be the keys of a store: credential 'hook', line 1"
{ cat config/examples/embedded.conf; echo 'notify: { url_credential = "hook"; heartbeat_credential = "monitor"; credential = "token";
	mail_credential = "relay"; mail_server = "smtp://relay.example"; mail_from = "a@b.example"; mail_to = "c@d.example"; };'; } >"$esp/kiln.conf"
configure "with the kiln.conf that names them"
is "$(cat "$keys/hook" "$keys/monitor" "$keys/relay" "$keys/token")" "$(printf 'https://hooks.example/SECRETTEXT\nhttps://hooks.example/SECRETTEXT\nuser:SECRETTEXT\nSECRETTEXT')" \
	"are stored" "$said"
is "$(find "$esp" -type f)" "" "and nothing is left on the ESP" "$said"
printf 'access_key_id=ID\nsecret_access_key=SECRETTEXT\n' >"$esp/credentials/hook"
echo "two words" >"$esp/credentials/relay"
configure "later, by the box's own kiln.conf"
refused credentials/hook "credential 'hook': expected one line"
refused credentials/relay "credential 'relay': expected one line of printable characters without spaces"
echo "no-address" >"$esp/credentials/hook"
configure "a line that is no URL"
refused credentials/hook "credential 'hook': expected one line with an http:// or https:// URL"
! grep -rq SECRETTEXT "$esp" --include='*.error.txt'
ok $? "no secret in a reason"
for name in hook monitor relay token; do : >"$esp/credentials/$name"; done
configure "empty files take them back"
is "$(ls "$keys" | xargs)" "box control-ca control-crt control-key" "as other credentials" "$said"
cp config/examples/embedded.conf "$esp/kiln.conf"
configure "a kiln.conf without notify"

# ---- The network between boxes ----
"$KILN_BIN/kiln" pki network "$work/rack" 10.7.0.0/24 box-1 box-2
cp "$work/rack/box-1.wireguard" "$esp/ranks-key"
cp "$work/rack/boxes" "$esp/ranks-boxes"
configure "the key of the box and the list of boxes"
is "$(cmp "$work/rack/box-1.wireguard" "$keys/ranks-key")$(cmp "$work/rack/boxes" "$keys/ranks-boxes")$(find "$esp" -type f)" "" "are stored" "$said"
is "$(stat -c %a "$keys/ranks-key")" 600 "the key for root alone"
head -c 40 "$work/rack/box-2.wireguard" >"$esp/ranks-key"
sed 's/"box-2"/"box 2"/' "$work/rack/boxes" >"$esp/ranks-boxes"
configure "half a key, a name that is none"
refused ranks-key 'no private WireGuard key: expected one line of 44 characters of base64'
refused ranks-boxes 'box 1: the name is no host name'
! grep -qF "$(cut -c 1-40 "$work/rack/box-2.wireguard")" "$esp/ranks-key.error.txt"
ok $? "no part of a key in a reason"
: >"$esp/ranks-key"
: >"$esp/ranks-boxes"
configure "empty files take the box out"
is "$(ls "$keys" | xargs)" "box control-ca control-crt control-key" "of the network" "$said"

# ---- Removed by empty files ----
find "$esp" -type f -delete
: >"$esp/credentials/box"
: >"$esp/wired.network"
: >"$esp/store-ca.pem"
: >"$esp/never.network"
: >"$esp/kiln.conf"
: >"$esp/control-ca"
: >"$esp/control-key"
configure "empty files"
is "$(ls "$keys" "$KILN_ROOT/data/etc/network" "$KILN_ROOT/etc/kiln" | grep -xE 'box|.*network|store-ca.pem')" "" "take back what the box has of these names"
like "$said" '^kiln: wired.network is removed from the box' "and it says so"
refused kiln.conf 'source.url: found nothing'
refused control-key 'control-crt is not empty: control-ca, control-crt and control-key have to be empty together'
is "$(cmp config/examples/embedded.conf "$KILN_ROOT/etc/kiln/kiln.conf")$(ls "$keys" | xargs)" "control-ca control-crt control-key" "what the box has stays as it was"
rm "$esp/kiln.conf" "$esp/kiln.conf.error.txt"
: >"$esp/control-crt"
configure "all three of mutual TLS"
is "$(ls "$keys")$(find "$esp" -type f)" "" "take it back"

# ---- A power cut while files were erased ----
for name in .taken-kiln.conf credentials/.taken-box; do
	{ printf '\0\0\0\0\0\0'; echo SECRETTEXT; } >"$esp/$name"
done
ln "$esp/credentials/.taken-box" "$work/rest"
find "$esp" -type f ! -name '.taken-*' -delete
configure "what a power cut left of files that are taken"
is "$said$(find "$esp" -type f)$(tr -d '\0' <"$work/rest")" "" "is erased to its end, and nothing is refused"
