#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The network between boxes: `kiln pki network`, the files that kiln-oneshot network writes for systemd-networkd, and the row of
# `kiln check`. tests/unit/wireguard.c has the cases of the list; systemd_network.sh has a real systemd-networkd.
. "$(dirname "$0")/lib.sh"
kiln=$KILN_BIN/kiln rack=$work/rack
node box-2
credentials=$KILN_ROOT/data/kiln/credentials written=$KILN_ROOT/run/systemd/network
mkdir -p "$credentials" "$KILN_ROOT/etc/kiln"

conf() { # what `ranks` has
	echo "source: { url = \"file://$work/data\"; }; sink: { url = \"file://$work/runs\"; }; order: { lanes = 4; }; ranks: { $1 };" >"$KILN_ROOT/etc/kiln/kiln.conf"
}
row() { # the row network of kiln check: result and text
	"$kiln" check --json --no-notify 2>/dev/null |
		python3 -c 'import json,sys; print(*(r["result"] + ": " + r["text"] for r in json.load(sys.stdin)["rows"] if r["part"] == "network"))'
}
write() {
	said=$("$KILN_BIN/kiln-oneshot" network 2>&1)
}

# ---- kiln pki network ----

"$kiln" pki init "$rack" && for box in box-1 box-2 box-3; do "$kiln" pki issue "$rack" $box || break; done &&
	"$kiln" pki network "$rack" 10.7.0.0/24 box-1 box-2 box-3
ok $? "an authority, certificates, a network"
is "$(stat -c '%a %n' "$rack"/*.wireguard | sed "s,$rack/,,")" "600 box-1.wireguard
600 box-2.wireguard
600 box-3.wireguard" "keys are their owner's alone"
is "$(python3 -c 'import json,sys; print(*(b["name"] + "=" + b["address"] for b in json.load(open(sys.argv[1]))["boxes"]))' "$rack/boxes")" \
	"box-1=10.7.0.1 box-2=10.7.0.2 box-3=10.7.0.3" "each box has an address"
cp "$rack/boxes" "$work/before"
like "$("$kiln" pki network "$rack" 10.7.0.0/24 nobody 2>&1)" 'nobody\.crt' "a box without a certificate is refused"
like "$("$kiln" pki network "$rack" 10.7.0.0/24 2>&1)" 'NAME' "a command without a box is refused"
cmp "$rack/boxes" "$work/before"
ok $? "a refused command changes nothing"

# ---- kiln-oneshot network ----

grep -q '^systemd-network:' /etc/group || { skip "files of systemd-networkd" "no group systemd-network here"; exit; }
[ "$(id -u)" = 0 ] || { skip "files of systemd-networkd" "it needs root, to give the key to that group"; exit; }
conf ''
write
ok $? "no ranks.network, no files" "$said"
[ ! -e "$written" ]
ok $? "not even the folder"
conf 'network = "10.7.0.0/24"; boxes = "box-1 box-3";'
write
is $? 77 "a network without a key is an error" "$said"
like "$said" 'credentials/ranks-key: cannot read it: No such file' "which names the file"
like "$(row)" '^failed: .*credentials/ranks-key: cannot read it' "and so does kiln check"
cp "$rack/box-2.wireguard" "$credentials/ranks-key"
cp "$rack/boxes" "$credentials/ranks-boxes"
cp "$rack/ca.crt" "$credentials/control-ca"
write
ok $? "with key, list and authority the files are written" "$said"
is "$(stat -c '%a %U:%G %n' "$written"/* | sed "s,$written/,,")" "640 root:systemd-network 50-kiln-ranks.key
644 root:root 50-kiln-ranks.netdev
644 root:root 50-kiln-ranks.network" "only root and systemd-networkd can read the key"
is "$(cat "$written"/*.netdev "$written"/*.network | grep -cF "$(cat "$rack/box-2.wireguard")")" 0 "the key is in no unit"
is "$(cat "$written/50-kiln-ranks.key")" "$(cat "$rack/box-2.wireguard")" "but in its file"
is "$(sed -n 's/^Endpoint=\|^AllowedIPs=//p' "$written/50-kiln-ranks.netdev" | xargs)" "10.7.0.1/32 box-1:51820 10.7.0.3/32 box-3:51820" \
	"the peers are the other boxes, each with its one address"
like "$(row)" '^failed: .*no interface has an address in the WireGuard network 10.7.0.0/24' "kiln check: the interface is not there yet"

# ---- What the box refuses ----

sed 's/10\.7\.0\.3/10.7.0.9/' "$rack/boxes" >"$credentials/ranks-boxes"
write
is $? 77 "a list that was changed is refused" "$said"
like "$said" 'the signature is not one of the authority' "with the reason"
is "$(ls "$written")" "" "and no files are left"
"$kiln" pki revoke "$rack" box-3 && cp "$rack/boxes" "$credentials/ranks-boxes"
write
like "$said" 'ranks.boxes has box-3, for which .* has no key: the box was revoked' "a revoked box cannot train"
like "$(row)" '^failed: ranks.boxes has box-3' "kiln check says so, too"
conf 'network = "10.7.0.0/24"; boxes = "box-1";'
write
is "$?$(grep -c '10\.7\.0\.3' "$written/50-kiln-ranks.netdev")" 00 "without it the others can, and it is no peer" "$said"

# ---- A trusted network ----

conf 'network = "127.0.0.0/8"; trusted = true;'
write
is "$?$(ls "$written")" 0 "a trusted network has no files" "$said"
like "$(row)" '^ok: ranks speak unencrypted over the trusted network 127.0.0.0/8: everybody on it can read and change the weights' \
	"kiln check says that it is not encrypted"
conf 'network = "198.51.100.0/24"; trusted = true;'
like "$(row)" '^failed: this box has no address in the trusted network 198.51.100.0/24' "and whether this box is in it"
