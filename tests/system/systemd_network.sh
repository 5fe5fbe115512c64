#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The network between boxes under a real systemd: kiln-network.service gets its credentials, and systemd-networkd reads what it
# writes. A container cannot have an interface of WireGuard where the kernel has no module for it, so the test looks at what
# systemd-networkd says of the files; with the module it also looks at the interface.
. "$(dirname "$0")/systemd_lib.sh"
[ -x /lib/systemd/systemd-networkd ] || { skip "systemd-networkd" "not installed"; exit; }
nspawn_options=(--private-network)
make_root || { ok 1 "a root with Kiln and systemd"; exit 1; }
systemctl --root="$root" enable systemd-networkd.service >/dev/null 2>&1
systemctl --root="$root" disable systemd-networkd-wait-online.service >/dev/null 2>&1 # nothing in the container is ever online
credentials=$root/data/kiln/credentials
kiln=$KILN_BIN/kiln rack=$work/rack
mkdir -p "$credentials"
chmod 700 "$credentials"
"$kiln" pki init "$rack" && "$kiln" pki issue "$rack" box-1 && "$kiln" pki issue "$rack" box-2 &&
	"$kiln" pki network "$rack" 10.7.0.0/24 box-1 box-2 || exit 1
(umask 077 && cp "$rack/box-1.wireguard" "$credentials/ranks-key")
cp "$rack/boxes" "$credentials/ranks-boxes"
cp "$rack/ca.crt" "$credentials/control-ca"
conf() { # what `ranks` has
	echo "source: { url = \"file:///data/kiln/store/data\"; }; sink: { url = \"file:///data/kiln/store/runs\"; }; order: { lanes = 2; }; ranks: { $1 };" >"$root/etc/kiln/kiln.conf"
}
networkd_says() { # what it found wrong in the files, since it last started
	inside journalctl -o cat --no-pager "_SYSTEMD_INVOCATION_ID=$(inside systemctl show -P InvocationID systemd-networkd)" |
		grep -iE 'kiln-ranks.*(:[0-9]+:|ignoring|invalid|unknown|failed to (parse|read|load))'
}

conf 'network = "10.7.0.0/24"; boxes = "box-2";'
boot
ok $? "systemd boots" "$(tail -n 20 $root.console)"
is "$(inside systemctl show -P Result -P ActiveState kiln-network | xargs)" "success active" "kiln-network writes the network" \
	"$(inside systemctl status kiln-network)"
is "$(inside stat -c '%a %U:%G' /run/systemd/network/50-kiln-ranks.key)" "640 root:systemd-network" "systemd-networkd may read the key"
is "$(inside systemctl show -P ActiveState systemd-networkd)" active "systemd-networkd runs"
inside journalctl -o cat --no-pager -u systemd-networkd | grep -q kiln-ranks
ok $? "and has read the files" "$(inside journalctl -o cat --no-pager -u systemd-networkd)"
is "$(networkd_says)" "" "it finds no mistake in them"
[ "$(inside systemctl show -P ExecMainStartTimestampMonotonic kiln-network)" -lt "$(inside systemctl show -P ExecMainStartTimestampMonotonic systemd-networkd)" ]
ok $? "which were there before it started"
if [ -n "$(inside ip -o link show kiln-ranks 2>/dev/null)" ]; then
	like "$(inside ip -o -4 address show kiln-ranks)" '10\.7\.0\.1/24' "the interface has its address"
else
	skip "the interface has its address" "this kernel has no WireGuard"
	like "$(inside kiln status)" '^network +the WireGuard network 10.7.0.0/24 is not up' "kiln status says that it is not up"
fi

# ---- A mistake would be seen ----

inside sed -i 's/^AllowedIPs=.*/AllowedIPs=10.7.0.300/' /run/systemd/network/50-kiln-ranks.netdev
inside systemctl restart systemd-networkd
wait_for 20 networkd_says
like "$(networkd_says)" 'kiln-ranks\.netdev' "systemd-networkd tells of a mistake in such a file"
inside systemctl restart kiln-network systemd-networkd
is "$(inside grep AllowedIPs /run/systemd/network/50-kiln-ranks.netdev)$(networkd_says)" "AllowedIPs=10.7.0.2/32" "a restart writes it anew"

# ---- No network, a trusted network, no key ----

conf 'network = "10.7.0.0/24"; trusted = true;'
inside systemctl restart kiln-network
is "$(inside ls /run/systemd/network)" "" "a trusted network needs no files"
like "$(inside kiln status)" '^network +ranks speak unencrypted over the trusted network 10.7.0.0/24' "kiln status says that it is not encrypted"
conf ''
is "$(inside kiln status | grep -c '^network')" 0 "without a network it says nothing"
conf 'network = "10.7.0.0/24";'
inside systemctl restart kiln-network
is "$(inside ls /run/systemd/network | wc -l)" 3 "the network is back"
rm "$credentials/ranks-key"
inside systemctl restart kiln-network 2>/dev/null
is "$(inside systemctl show -P ActiveState kiln-network)$(inside ls /run/systemd/network)" failed "without its key the box leaves the network"
power_off
ok $? "the container powers off"
