#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# kiln --host: a small authority, a box that answers by mutual TLS, and all clients that it has to refuse, with the reason on
# both sides; from a second network namespace if the machine allows one.
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
me() { # who: makes a client's folder for this person
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
like "$text" 'DNS:box-1' "a box's certificate has a SAN"
like "$text" 'TLS Web Server Authentication' "and its EKU"
like "$(openssl x509 -in "$pki/view.crt" -noout -text)" 'TLS Web Client Authentication' "a person has its EKU"
is "$(openssl verify -x509_strict -CAfile "$pki/ca.crt" "$pki/box-1.crt" "$pki/view.crt" 2>&1 | grep -c ': OK')" 2 "OpenSSL agrees with them"

mkdir -p "$KILN_ROOT/etc/kiln" "$KILN_ROOT/data/kiln/credentials"
cp "$pki/box-1.crt" "$KILN_ROOT/data/kiln/credentials/control-crt"
cp "$pki/box-1.key" "$KILN_ROOT/data/kiln/credentials/control-key"
cat >"$KILN_ROOT/etc/kiln/kiln.conf" <<-CONF
	source: { url = "file://$work/data"; };
	sink: { url = "file://$work/runs"; };
	control: { remote = true; port = $port; };
CONF
a_shard "$work/data"
"$KILN_BIN/kiln-oneshot" begin >/dev/null 2>&1
"$KILN_BIN/kiln-controld" 2>"$work/controld.log" &
controld=$!
wait_for 10 "$kiln" status
like "$(cat "$work/controld.log")" 'other machines get no answers: .*/data/kiln/credentials/control-ca did not exist when kiln-controld began' \
	"without credentials it answers its own box, and says what is missing"
kill "$controld"
wait "$controld"
cp "$pki/ca.crt" "$KILN_ROOT/data/kiln/credentials/control-ca"
begin_controld() { # state of the clock, further libraries to preload
	: >"$work/controld.log"
	LD_PRELOAD=$KILN_BUILD/system/preload/clock.so:${2:-} KILN_TEST_CLOCK=$1 "$KILN_BIN/kiln-controld" 2>>"$work/controld.log" &
	controld=$!
	wait_for 10 grep -q "on port $port" "$work/controld.log"
}
begin_controld set
ok $? "controld listens" "$(cat "$work/controld.log")"

# ---- Accepted clients ----
"$KILN_BUILD/system/status_pages" "$("$kiln" runs | awk '/running/ { print $1 }')" training &
code 0 "view: status" as view status
like "$said" 'state +running' "the answer is the box's status"
code 1 "view stops no run" as view stop
like "$said" 'run.stop needs the role operate, yours is view' "and why"
like "$(cat "$work/controld.log")" 'view at 127.0.0.1: refused: run.stop needs the role operate, yours is view' "the box says so, too"
code 0 "operate: checkpoint" as operate checkpoint now
code 1 "operate applies no configuration" as operate config apply "$KILN_ROOT/etc/kiln/kiln.conf"
code 1 "operate switches no box off" as operate power off --yes
like "$said" 'power.off needs the role admin, yours is operate' "and why"
code 0 "admin does" as admin config apply "$KILN_ROOT/etc/kiln/kiln.conf"
code 0 "long answers" as view runs --json

# ---- Refused clients ----
refused() { # name, who, the client's reason, the box's reason
	: >"$work/controld.log"
	code 4 "$1: refused" as "$2" status
	like "$said" "$3" "$1: the client says why"
	like "$(cat "$work/controld.log")" "$2 at 127\.0\.0\.1: refused: .*$4" "$1: the box says who and why"
}
# OpenSSL 3.4 and later refuse a negative number of days, and take dates.
past=(-days -1)
! openssl x509 -help 2>&1 | grep -q not_after || past=(-not_before 20200101000000Z -not_after 20200102000000Z)
issue() { # name, subject, days, EKU: a certificate made by OpenSSL, as kiln pki would not make it
	local dates=(-days "$3")
	[ "$3" != -1 ] || dates=("${past[@]}")
	openssl ecparam -name prime256v1 -genkey -noout -out "$pki/$1.key"
	openssl req -new -key "$pki/$1.key" -subj "$2" -out "$work/req" 2>/dev/null
	printf 'keyUsage=digitalSignature\nextendedKeyUsage=%s\n' "$4" >"$work/ext"
	openssl x509 -req -in "$work/req" -CA "${5:-$pki}/ca.crt" -CAkey "${5:-$pki}/ca.key" -set_serial $RANDOM \
		"${dates[@]}" -extfile "$work/ext" -out "$pki/$1.crt" 2>/dev/null
	me "$1"
}
issue expired /O=kiln/OU=admin/CN=expired -1 clientAuth
refused "expired" expired 'certificate has expired' 'validity has expired'
issue late /O=kiln/OU=view/CN=late -1 clientAuth
refused "expired, with the role view" late 'certificate has expired' 'validity has expired'
"$kiln" pki init "$work/other" && issue stranger /O=kiln/OU=admin/CN=stranger 10 clientAuth "$work/other"
refused "another authority" stranger 'authority that it does not know' 'not correctly signed by the trusted CA'
issue nobody /O=kiln/OU=root/CN=nobody 10 clientAuth
refused "an OU that is no role" nobody 'OU names no role' 'OU names no role'
issue two /O=kiln/OU=view/OU=admin/CN=two 10 clientAuth
refused "two OUs" two 'OU names no role' 'OU names no role'
issue server /O=kiln/OU=admin/CN=server 10 serverAuth
refused "a certificate for servers" server 'certificate is not for this use' 'extendedKeyUsage'
code 0 "revoke" "$kiln" pki revoke "$pki" operate
as operate watch >"$work/watched" 2>&1 &
watch=$!
wait_for 10 grep -q running "$work/watched"
cp "$pki/revoked" "$KILN_ROOT/etc/kiln/revoked"
wait_for 10 grep -q 'operate at 127.0.0.1: dropped: the certificate is revoked' "$work/controld.log"
ok $? "who is revoked is dropped" "$(cat "$work/controld.log")"
wait "$watch"
is $? 4 "and knows that its connection ended" "$(tail -n 3 "$work/watched")"
refused "revoked" operate 'is revoked there' 'the certificate is revoked'
code 0 "the others are not" as view status
client() { openssl s_client -connect "127.0.0.1:$port" -CAfile "$pki/ca.crt" "$@" </dev/null 2>&1; }
source=127.0.1.0
mine=(-cert "$pki/view.crt" -key "$pki/view.key")
turned_away() { # name, the client's reason, the box's reason, OpenSSL's arguments...
	: >"$work/controld.log"
	source=127.0.1.$((${source##*.} + 1)) # the same reason from the same address would only be counted
	said=$(client -bind "$source:0" "${@:4}")
	like "$said" 'Cipher is \(NONE\)|alert number' "$1: no connection"
	like "$said" "$2" "$1: the client is told why"
	wait_for 5 grep -qE "a client at $source: refused: $3" "$work/controld.log"
	ok $? "$1: the box says who and why" "$(cat "$work/controld.log")"
}
turned_away "no certificate" 'alert handshake failure' 'there is no client certificate' -tls1_2
turned_away "TLS 1.0" 'alert protocol version' 'it offers no TLS 1.2, only something older' -tls1 -cipher DEFAULT@SECLEVEL=0 "${mine[@]}"
turned_away "TLS 1.1" 'alert protocol version' 'it offers no TLS 1.2, only something older' -tls1_1 -cipher DEFAULT@SECLEVEL=0 "${mine[@]}"
turned_away "TLS 1.3 alone" 'alert handshake failure' 'it offers no suite of TLS 1.2' -tls1_3 "${mine[@]}"
turned_away "no AEAD" 'alert handshake failure' 'it offers no suite of TLS 1.2' -tls1_2 -cipher ECDHE-ECDSA-AES256-SHA384 "${mine[@]}"
turned_away "a slow curve" 'alert handshake failure' 'it offers no suite .* or no curve of ours' -tls1_2 -curves brainpoolP512r1 "${mine[@]}"
turned_away "another authority's certificate beside one's own" 'alert bad certificate' 'it sends certificates of authorities that the box does not trust' \
	-tls1_2 -no-CAfile -cert_chain "$work/other/ca.crt" "${mine[@]}"
like "$(client -tls1_2 -cert_chain "$pki/ca.crt" "${mine[@]}")" 'Verify return code: 0' "the box's own authority may be beside it"
like "$(client -tls1_2 -cipher ECDHE-ECDSA-AES256-GCM-SHA384 "${mine[@]}")" 'Cipher is ECDHE-ECDSA-AES256-GCM-SHA384' "TLS 1.2 with an AEAD suite"
code 4 "a box with another name" env KILN_PKI="$work/as-view" "$kiln" --host "box-2=127.0.0.1:$port" status
like "$said" 'Common Name|does not match' "and why"
code 1 "no certificate of one's own" env KILN_PKI="$work/nothing" "$kiln" --host "box-1=127.0.0.1:$port" status
like "$said" 'nothing/ca.crt: cannot read it: No such file' "the message names the missing file"

# ---- Many clients ----
export KILN_PKI=$work/as-view
code 3 "one of two answers" "$kiln" --host "box-1=127.0.0.1:$port,box-2=127.0.0.1:1" status
like "$said" '^box-1: running, ' "a line of the one"
like "$said" '^box-2: .*refused' "a line of the other"
code 4 "none answers" "$kiln" --host "a=127.0.0.1:1,b=127.0.0.1:1" status
code 3 "one refuses, one does not answer" "$kiln" --host "box-1=127.0.0.1:$port,box-2=127.0.0.1:1" stop
like "$said" '^box-1: .*needs the role operate' "a line of the one"
code 1 "one refuses, the other too" "$kiln" --host "box-1=127.0.0.1:$port,box-1=[::1]:$port" stop
code 0 "both answer" "$kiln" --host "box-1=127.0.0.1:$port,box-1=[::1]:$port" status
cp "$KILN_ROOT/data/kiln/run/current/state" "$work/state"
echo stopped >"$KILN_ROOT/data/kiln/run/current/state"
code 7 "all are idle" "$kiln" --host "box-1=127.0.0.1:$port,box-1=[::1]:$port" status
cp "$work/state" "$KILN_ROOT/data/kiln/run/current/state"
for verb in watch "log --follow" "log --event run.begun --follow"; do
	read -ra words <<<"$verb"
	code 2 "$verb of many" "$kiln" --host "box-1=127.0.0.1:$port,box-1=[::1]:$port" "${words[@]}"
	like "$said" "${words[0]} runs until it is stopped, expected one host" "and why"
done
# The configuration of the box, and not that of the machine on which the command runs.
there() { env KILN_ROOT="$work/elsewhere" "$kiln" --host "box-1=127.0.0.1:$port" "$@"; }
is "$(there config show)" "$("$kiln" config show)" "config show: that of the box"
is "$(there config show --json | tr -d ' \n\t')" "$("$kiln" config show --json | tr -d ' \n\t')" "as JSON, too"
code 2 "config show of a file here" there config show "$KILN_ROOT/etc/kiln/kiln.conf"
like "$said" 'is a file of this machine; --host shows' "and why"
code 0 "config check: that of the box" there config check
echo 'run: { epoch = 1; };' >"$work/epoch.conf"
code 78 "config check of a file: by the box" there config check "$work/epoch.conf"
like "$said" '^kiln.conf:1: run.epoch: found an unknown key' "its mistakes"
code 2 "config reference does not use a box" there config reference
code 2 "log reference neither" there log reference
code 2 "no address" "$kiln" --host "box-1" status
code 2 "a verb that is done here asks no box" "$kiln" --host "box-1=127.0.0.1:$port" pki init "$work/third"
said=$("$kiln" --host "box-1=127.0.0.1:$port,box-1=[::1]:$port" status --json)
is "$(sed 's/^box-1: //' <<<"$said" | python3 -c 'import json,sys; print(*(json.loads(l)["schema"] for l in sys.stdin))')" "1 1" \
	"for a program: a name and an object a line"
mkdir "$work/here"
(cd "$work/here" && "$kiln" --host "box-1=127.0.0.1:$port,box-1=[::1]:$port" support two.tar.gz) >/dev/null 2>&1
is "$? $(ls "$work/here")" "2 " "two boxes' archives do not go into one file"
(cd "$work/here" && "$kiln" --host "box-1=127.0.0.1:$port" support) >/dev/null
like "$(ls "$work/here")" '^kiln-support-box-1-[0-9-]+.tar.gz$' "an archive bears its box's name"
python3 -c 'import itertools, socket, sys, threading, time
def serve(client, number): # says nothing; sends warnings; sends a record byte by byte
    try:
        while number % 3:
            client.sendall(bytes.fromhex("1503030002015a" if number % 3 == 1 else "02"))
            time.sleep(0.3)
    except OSError:
        pass
s = socket.create_server(("127.0.0.1", 0))
open(sys.argv[1], "w").write(str(s.getsockname()[1]))
held = []
for number in itertools.count():
    held.append(s.accept()[0])
    if number % 3 == 2:
        held[-1].sendall(bytes.fromhex("1603034000"))
    threading.Thread(target=serve, args=(held[-1], number), daemon=True).start()' "$work/silent" &
wait_for 10 test -s "$work/silent"
hosts=box-1=127.0.0.1:$port
for i in 1 2 3 4 5 6 7 8; do hosts+=,s$i=127.0.0.1:$(cat "$work/silent"); done
began=$SECONDS
code 3 "boxes that take the connection and never end a handshake" timeout 60 "$kiln" --host "$hosts" status
is "$(grep -c '^s[1-8]: kiln: .*: connected, but no TLS handshake within 5 s' <<<"$said")" 8 "each has its line" "$said"
[ $((SECONDS - began)) -lt 30 ]
ok $? "kiln waits for all boxes at the same time" "$((SECONDS - began)) s"
for how in "sends a record byte by byte" "says nothing" "sends warnings without end"; do # connections 8, 9, 10
	code 4 "a box that $how" timeout 30 "$kiln" --host "s=127.0.0.1:$(cat "$work/silent"),t=127.0.0.1:1" status
	like "$said" '^s: kiln: .*: connected, but no TLS handshake within 5 s' "is given up after 5 s"
done

# ---- Hostile clients ----
raw() { python3 tests/system/control_raw.py "127.0.0.1:$port" "$@" 2>&1; }
raw slow >"$work/slow" & # reads its answer slowly
slow=$!
is "$(raw pipelined | tr ' ' '\n' | sort | uniq -c | tr -s ' ')" " 500 result" "many requests in a record, and one in two: all answered"
is "$(raw split)" "result" "a request in pieces, a record each"
is "$(raw 1mib)" "limit, then the end" "a line of 1 MiB"
is "$(raw utf8)" "parse result" "bad UTF-8"
is "$(raw deep)" "parse result" "100000 brackets"
code 0 "a certificate for a guest" "$kiln" pki issue "$pki" guest --role view
me guest
is "$(KILN_PKI=$work/as-guest raw idle 100)" "64 results" "a person may have so many connections"
like "$(cat "$work/controld.log")" 'guest at 127\.0\.0\.[0-9]+: refused: too many connections of yours' "the box says whose are more"
is "$(KILN_PKI=$work/as-admin raw idle 200)" "201 results" "200 idle clients, one that is not"
is "$(KILN_PKI=$work/as-admin raw hold 100)" "result, dropped some" "more unfinished lines than there is memory for"
python3 tests/system/tls_raw.py "$port" >"$work/warnings" &
warnings=$!
wait_for 10 grep -q 'at it' "$work/warnings"
code 0 "a client that sends warnings without end holds nobody up" timeout 30 "$kiln" status
wait_for 10 grep -q 'a client at 127.0.0.9: dropped: no handshake within 5 s' "$work/controld.log"
ok $? "and is dropped"
wait "$warnings"
strangers() { # connections from each address, addresses...: none begins a handshake; says how many the box ended
	python3 - "$port" "$@" <<-'PY'
		import select, socket, sys
		port, each, addresses = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:]
		held, poll = [], select.poll()
		for address in addresses:
		    for _ in range(each):
		        held.append(socket.create_connection(("127.0.0.1", port), source_address=(address, 0)))
		        poll.register(held[-1], select.POLLRDHUP)
		print("held", flush=True)
		ended = 0
		while ended < len(held) and (found := poll.poll(40000)):
		    for fd, _ in found:
		        poll.unregister(fd)
		        ended += 1
		print(ended, "ended")
	PY
}
: >"$work/controld.log"
strangers 400 127.0.0.77 >"$work/strangers" &
strangers=$!
wait_for 30 grep -q held "$work/strangers"
wait_for 10 grep -q 'a client at 127.0.0.77: refused: too many connections from this address' "$work/controld.log"
ok $? "a stranger has a limit of connections"
code 0 "who is on the box gets in all the same" "$kiln" status
code 0 "and who comes from another address" "$kiln" --host "box-1=[::1]:$port" status
wait "$strangers"
is "$(tail -n 1 "$work/strangers")" "400 ended" "who begins no handshake is dropped"
like "$(cat "$work/controld.log")" 'a client at 127.0.0.77: dropped: no handshake within 5 s' "and the log says so"
is "$(grep -c 'refused: too many' "$work/controld.log")" 1 "368 refused connections are one line"
: >"$work/strangers"
strangers 32 127.0.0.{1..12} >"$work/strangers" &
strangers=$!
wait_for 30 grep -q held "$work/strangers"
code 0 "strangers of many addresses lock nobody out" "$kiln" --host "box-1=[::1]:$port" status
wait "$strangers"
is "$(tail -n 1 "$work/strangers")" "384 ended" "all of them are dropped"
code 0 "and the others go on" as view status
wait "$slow"
is "$(cat "$work/slow")" "dropped after 20-60 s" "who takes no answer is dropped"
peak=$(awk '/VmHWM/ { print $2 }' "/proc/$controld/status")
[ "$peak" -lt 65536 ]
ok $? "the daemon never used 64 MiB" "$peak kB"

# ---- From another network ----
if [ "$(id -u)" = 0 ] && ip netns add "kiln$$" 2>/dev/null; then
	cleanup() { ip netns del "kiln$$"; }
	ip link add "k$$" type veth peer name "p$$" netns "kiln$$" && ip addr add 10.203.7.1/30 dev "k$$" && ip link set "k$$" up &&
		ip -n "kiln$$" addr add 10.203.7.2/30 dev "p$$" && ip -n "kiln$$" link set "p$$" up
	code 0 "from a second network namespace" ip netns exec "kiln$$" "$kiln" --host "box-1=10.203.7.1:$port" status
	like "$said" 'state +running' "the answer is the box's status"
else
	skip "a second network namespace" "not root, or none can be made"
fi
kill "$controld"
wait "$controld"
is $? 0 "a clean end" "$(tail -n 3 "$work/controld.log")"

# ---- A clock that nobody set ----
begin_controld unset
code 0 "unset clock: view passes, whatever the dates" as late status
like "$said" 'clock +not set' "unset clock: status says so"
is "$(as late status --json | python3 -c 'import json,sys; print(json.load(sys.stdin)["clock_set"])')" False "to programs, too"
code 1 "unset clock: it is view all the same" as late stop
refused "unset clock, expired" expired 'certificate has expired' 'validity has expired; the clock is not set here: only the role view needs no date'
code 0 "unset clock: dates that fit" as admin status
kill "$controld"
wait "$controld"
begin_controld 1970
code 0 "1970: view passes" as view status
like "$said" 'clock +not set' "1970: status says so"
refused "1970: admin" admin 'not valid yet by its clock' 'validity starts in the future; the clock is not set here: only the role view needs no date'
kill "$controld"
wait "$controld"

# ---- Mistakes that must not lock anybody out ----
file=$KILN_ROOT/etc/kiln/kiln.conf
cp "$file" "$file.good"
echo 'run: { epochs = "none"; };' >"$file"
begin_controld set "$KILN_BUILD/system/preload/no_ipv6.so"
like "$(cat "$work/controld.log")" 'kiln.conf has a mistake: using control.\* of the last good file, .*kiln.conf.good' \
	"a wrong kiln.conf, and no IPv6: it listens, and says by what"
code 5 "others are answered" as view status
like "$said" 'run.epochs: found "none"' "and told what is wrong"
code 1 "by IPv4 too, view is view" as view stop
like "$(cat "$work/controld.log")" 'view at 127.0.0.1: refused' "who it was, by address"
sed 's/control: {/& metrics_dir = "\/run\/kiln";/' "$file.good" >"$work/right.conf"
as admin config apply "$work/right.conf" >"$work/said" 2>&1 # there is no kiln-steer here
like "$(cat "$work/said")" '^control.remote: at the next boot, or systemctl restart kiln-controld on the box' \
	"it is put right from afar, and what counts when is said"
cmp -s "$work/right.conf" "$file"
ok $? "it is in its place" "$(cat "$work/said")"
kill "$controld"
wait "$controld"
