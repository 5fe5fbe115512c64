#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# kiln --host: a small authority, a box that answers by mutual TLS, and everybody it has to refuse, with the reason on both
# sides; from a second network namespace where the machine allows one.
. "$(dirname "$0")/lib.sh"
node one
kiln=$KILN_BIN/kiln
pki=$work/pki
port=$((20000 + $$ % 20000))
code() { # expected exit code, name, command...
	local expected=$1 name=$2
	shift 2
	said=$("$@" 2>&1)
	is $? "$expected" "$name" "$said"
}
me() { # who: makes a client's folder of it
	mkdir -p "$work/as-$1"
	cp "$pki/ca.crt" "$work/as-$1/ca.crt"
	cp "$pki/$1.crt" "$work/as-$1/client.crt"
	cp "$pki/$1.key" "$work/as-$1/client.key"
}
as() { # who, kiln's arguments...
	local who=$1
	shift
	KILN_PKI=$work/as-$who "$kiln" --host "box-1=127.0.0.1:$port" "$@"
}

code 0 "pki init" "$kiln" pki init "$pki"
code 1 "an authority is not written over" "$kiln" pki init "$pki"
code 0 "a box's certificate" "$kiln" pki issue "$pki" box-1
for role in view operate admin; do
	code 0 "a certificate for $role" "$kiln" pki issue "$pki" "$role" --role "$role"
	me "$role"
done
code 1 "a name that would leave the folder" "$kiln" pki issue "$pki" ../x --role view
code 2 "a role that is none" "$kiln" pki issue "$pki" x --role root
is "$(stat -c %a "$pki/ca.key" "$pki/admin.key" | sort -u)" 600 "keys are their owner's alone"
text=$(openssl x509 -in "$pki/box-1.crt" -noout -text)
like "$text" 'DNS:box-1' "a box has a SAN"
like "$text" 'TLS Web Server Authentication' "and its EKU"
like "$(openssl x509 -in "$pki/view.crt" -noout -text)" 'TLS Web Client Authentication' "a person has its EKU"
is "$(openssl verify -x509_strict -CAfile "$pki/ca.crt" "$pki/box-1.crt" "$pki/view.crt" 2>&1 | grep -c ': OK')" 2 "OpenSSL agrees with them"

mkdir -p "$KILN_ROOT/etc/kiln" "$KILN_ROOT/data/kiln/credentials"
cp "$pki/ca.crt" "$KILN_ROOT/data/kiln/credentials/control-ca"
cp "$pki/box-1.crt" "$KILN_ROOT/data/kiln/credentials/control-crt"
cp "$pki/box-1.key" "$KILN_ROOT/data/kiln/credentials/control-key"
cat >"$KILN_ROOT/etc/kiln/kiln.conf" <<-CONF
	source: { url = "file://$work/data"; };
	sink: { url = "file://$work/runs"; };
	control: { remote = true; port = $port; };
CONF
"$KILN_BIN/kiln-oneshot" begin >/dev/null 2>&1
"$KILN_BIN/kiln-controld" 2>"$work/controld.log" &
controld=$!
wait_for 10 grep -q "on port $port" "$work/controld.log"
ok $? "controld listens" "$(cat "$work/controld.log")"

# ---- Who is let in ----
code 0 "view: status" as view status
like "$said" 'state +running' "what it says"
code 1 "view stops no run" as view stop
like "$said" 'run.stop needs the role operate, yours is view' "and why"
code 0 "operate: checkpoint" as operate checkpoint now
code 1 "operate applies no configuration" as operate config apply "$KILN_ROOT/etc/kiln/kiln.conf"
code 0 "admin does" as admin config apply "$KILN_ROOT/etc/kiln/kiln.conf"
code 0 "long answers" as view runs --json

# ---- Who is not ----
refused() { # name, who, the client's reason, the box's reason
	: >"$work/seen"
	local before
	before=$(wc -l <"$work/controld.log")
	code 4 "$1: refused" as "$2" status
	like "$said" "$3" "$1: the client says why"
	tail -n +$((before + 1)) "$work/controld.log" >"$work/seen"
	like "$(cat "$work/seen")" "$4" "$1: the box says why"
}
issue() { # name, subject, days, EKU: by OpenSSL, as kiln pki would not
	openssl ecparam -name prime256v1 -genkey -noout -out "$pki/$1.key"
	openssl req -new -key "$pki/$1.key" -subj "$2" -out "$work/req" 2>/dev/null
	printf 'keyUsage=digitalSignature\nextendedKeyUsage=%s\n' "$4" >"$work/ext"
	openssl x509 -req -in "$work/req" -CA "${5:-$pki}/ca.crt" -CAkey "${5:-$pki}/ca.key" -set_serial $RANDOM \
		-days "$3" -extfile "$work/ext" -out "$pki/$1.crt" 2>/dev/null
	me "$1"
}
issue expired /O=kiln/OU=admin/CN=expired -1 clientAuth
refused "expired" expired 'has expired' 'validity has expired'
"$kiln" pki init "$work/other" && issue stranger /O=kiln/OU=admin/CN=stranger 10 clientAuth "$work/other"
refused "another authority" stranger 'authority that it does not know' 'not correctly signed by the trusted CA'
issue nobody /O=kiln/OU=root/CN=nobody 10 clientAuth
refused "an OU that is no role" nobody 'OU names no role' 'OU names no role'
issue two /O=kiln/OU=view/OU=admin/CN=two 10 clientAuth
refused "two OUs" two 'OU names no role' 'OU names no role'
issue server /O=kiln/OU=admin/CN=server 10 serverAuth
refused "a certificate for servers" server 'refuses our certificate' 'extendedKeyUsage'
code 0 "revoke" "$kiln" pki revoke "$pki" operate
cp "$pki/revoked" "$KILN_ROOT/etc/kiln/revoked"
refused "revoked" operate 'is revoked there' 'the certificate is revoked'
code 0 "the others are not" as view status
client() { openssl s_client -connect "127.0.0.1:$port" -CAfile "$pki/ca.crt" "$@" </dev/null 2>&1; }
client -tls1_2 >"$work/none" || true
wait_for 5 grep -q 'no client certificate' "$work/controld.log"
ok $? "no certificate: refused, and the box says so" "$(cat "$work/controld.log")"
like "$(cat "$work/none")" 'handshake failure' "no certificate: the client is told"
mine=(-cert "$pki/view.crt" -key "$pki/view.key")
for version in tls1 tls1_1 tls1_3; do
	before=$(wc -l <"$work/controld.log")
	said=$(client -$version -cipher DEFAULT@SECLEVEL=0 "${mine[@]}")
	like "$said" 'Cipher is \(NONE\)' "$version: no connection"
	more() { [ "$(wc -l <"$work/controld.log")" -gt "$before" ]; }
	wait_for 5 more
	ok $? "$version: the box says so" "$said"
done
like "$(client -tls1_2 -cipher ECDHE-ECDSA-AES256-GCM-SHA384 "${mine[@]}")" 'Cipher is ECDHE-ECDSA-AES256-GCM-SHA384' "TLS 1.2 with an AEAD suite"
like "$(client -tls1_2 -cipher ECDHE-ECDSA-AES256-SHA384 "${mine[@]}")" 'Cipher is \(NONE\)' "no suite without AEAD"
code 4 "a box with another name" env KILN_PKI="$work/as-view" "$kiln" --host "box-2=127.0.0.1:$port" status
like "$said" 'Common Name|does not match' "and why"
code 1 "no certificate of one's own" env KILN_PKI="$work/nothing" "$kiln" --host "box-1=127.0.0.1:$port" status

# ---- Many ----
export KILN_PKI=$work/as-view
code 3 "one of two answers" "$kiln" --host "box-1=127.0.0.1:$port,box-2=127.0.0.1:1" status
like "$said" '^box-1: running, ' "a line of the one"
like "$said" '^box-2: .*refused' "a line of the other"
code 4 "none answers" "$kiln" --host "a=127.0.0.1:1,b=127.0.0.1:1" status
code 0 "both answer" "$kiln" --host "box-1=127.0.0.1:$port,box-1=[::1]:$port" status
code 2 "no address" "$kiln" --host "box-1" status
python3 - "$port" <<-'PY'
	import socket, sys, time
	held = [socket.create_connection(("127.0.0.1", int(sys.argv[1]))) for _ in range(100)]
	for s in held:
	    s.send(b"\x16\x03\x01")
	began = time.monotonic()
	for s in held:
	    s.settimeout(20)
	    while s.recv(100):
	        pass
	assert 8 < time.monotonic() - began < 20
PY
ok $? "who begins a handshake and goes no further is dropped"
code 0 "and the others go on" as view status

# ---- From another network ----
if [ "$(id -u)" = 0 ] && ip netns add "kiln$$" 2>/dev/null; then
	cleanup() { ip netns del "kiln$$"; }
	ip link add "k$$" type veth peer name "p$$" netns "kiln$$" && ip addr add 10.203.7.1/30 dev "k$$" && ip link set "k$$" up &&
		ip -n "kiln$$" addr add 10.203.7.2/30 dev "p$$" && ip -n "kiln$$" link set "p$$" up
	code 0 "from a second network namespace" ip netns exec "kiln$$" "$kiln" --host "box-1=10.203.7.1:$port" status
	like "$said" 'state +running' "what it says"
else
	skip "a second network namespace" "not root, or none can be made"
fi
kill "$controld"
wait "$controld"
is $? 0 "a clean end" "$(tail -n 3 "$work/controld.log")"
