#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The store's contract against file:// and a real S3 server (Ceph's radosgw) over http and https, and that server's refusals.
# tests/system/http_faults.sh has faulty servers.
set -uo pipefail
tests=$(dirname "$0") tools=$(dirname "$0")/../../tools/store store=${KILN_BUILD:-build/release}/system/store
dir=$(mktemp -d /tmp/kiln-store-XXXXXX)
relay='' uploader='' proxy='' h2=''
finish() {
	kill $relay $uploader $proxy $h2 2>/dev/null
	"$tools/radosgw" stop "$dir/rgw"
	rm -rf "$dir"
}
trap finish EXIT
unset http_proxy https_proxy HTTP_PROXY HTTPS_PROXY all_proxy ALL_PROXY AWS_SESSION_TOKEN CURL_CA_BUNDLE SSL_CERT_FILE
n=0 failed=0

say() { # good (0 = yes), name, details
	n=$((n + 1))
	if [ "$1" = 0 ]; then
		echo "ok $n - $2"
	else
		echo "not ok $n - $2"
		sed 's/^/# /' <<<"${3:-}"
		failed=1
	fi
}

wait_for() { # command...
	for ((i = 0; i < 600; i++)); do
		! "$@" || break
		sleep 0.1
	done
}

contract() { # label, url
	local out
	out=$(KILN_TAP_FROM=$((n + 1)) "$store" contract "$2") || failed=1
	counters=$(grep '^# requests=' <<<"$out")
	sed -E "s|^((not )?ok [0-9]+ - )|\1$1: |" <<<"$out"
	n=$((n + $(grep -cE '^(not )?ok ' <<<"$out")))
	grep -qE '^(not )?ok ' <<<"$out" || say 1 "$1: no result"
}

expect() { # name, verb, key, result with words of the sentence
	local out
	out=$("$store" try "${url:-s3://kiln/x}" "$2" "$3" 2>&1)
	grep -qE "^$4" <<<"$out"
	say $? "$1" "expected: $4
found: $out"
}

contract file "file://$dir/files"

if ! "$tools/radosgw" check >/dev/null 2>&1; then
	echo "ok $((n + 1)) - radosgw # SKIP not installed (packages ceph-mon ceph-osd radosgw ceph-common)"
	echo "1..$((n + 1))"
	exit $failed
fi
"$tools/radosgw" start "$dir/rgw" --tls >"$dir/start" 2>&1
say $? 'radosgw starts' "$(tail -n 5 "$dir/start")"
[ -s "$dir/rgw/env" ] || { echo "1..$n"; exit 1; }
# shellcheck disable=SC1091
source "$dir/rgw/env"
http=$KILN_S3_ENDPOINT tls=$KILN_S3_TLS_ENDPOINT ca=$KILN_S3_CA
unset KILN_S3_CA

contract http "s3://kiln/a prefix+with%41"
KILN_S3_ENDPOINT=$tls KILN_S3_CA=$ca contract https s3://kiln/tls/
KILN_S3_ENDPOINT=${http/127.0.0.1/localhost} KILN_S3_STYLE=virtual contract virtual-host s3://kiln/virtual

# ---- A bucket with versioning ----
versioning='<VersioningConfiguration><Status>Enabled</Status></VersioningConfiguration>'
KILN_S3_ENDPOINT=$http "$tools/s3_request" PUT /versions >"$dir/bucket" &&
	KILN_S3_ENDPOINT=$http "$tools/s3_request" PUT /versions versioning "$versioning" >>"$dir/bucket"
say $? 'a bucket with versioning' "$(cat "$dir/bucket")"
KILN_VERSIONED=1 KILN_S3_ENDPOINT=$http contract versions s3://versions/v

# ---- A network that cuts connections: the whole contract holds, by retries ----
/usr/bin/python3 "$tests/proxy.py" "$dir" --cut >"$dir/proxy" &
proxy=$!
wait_for test -s "$dir/proxy"
read -r port <"$dir/proxy"
https_proxy=http://127.0.0.1:$port KILN_ATTEMPTS=20 KILN_S3_ENDPOINT=$tls KILN_S3_CA=$ca contract cut s3://kiln/cut
grep -qE 'retries: .*reset=[1-9]' <<<"$counters"
say $? 'cut: there were retries' "$counters"

# ---- HTTP/2, where the server has it ----
if command -v nghttpx >/dev/null; then
	read -r port < <(/usr/bin/python3 -c 'import socket; s = socket.create_server(("127.0.0.1", 0)); print(s.getsockname()[1])')
	# Not with the package's own configuration: its port is fixed, and two proxies would collide.
	nghttpx --conf=/dev/null --workers=1 --no-location-rewrite -b "127.0.0.1,${http##*:}" -f "127.0.0.1,$port" --accesslog-file="$dir/h2.log" \
		--accesslog-format='$alpn' "$dir/rgw/server.key" "$dir/rgw/server.pem" >"$dir/h2.out" 2>&1 &
	h2=$!
	wait_for curl -s -o "$dir/null" --cacert "$ca" "https://127.0.0.1:$port/"
	# nghttpx normalises paths, and so breaks the signatures of keys with "//" or "." in them.
	KILN_S3_HTTP2=1 KILN_NORMALISED=1 KILN_S3_ENDPOINT=https://127.0.0.1:$port KILN_S3_CA=$ca contract http2 s3://kiln/h2
	[ "$(sort -u "$dir/h2.log")" = h2 ]
	say $? 'http2: all requests came by HTTP/2' "$(sort "$dir/h2.log" | uniq -c)"
	: >"$dir/h2.log"
	KILN_S3_ENDPOINT=https://127.0.0.1:$port KILN_S3_CA=$ca expect 'the same server without the key' list x OK
	[ "$(sort -u "$dir/h2.log")" = http/1.1 ]
	say $? 'is asked by HTTP/1.1' "$(sort "$dir/h2.log" | uniq -c)"
else
	n=$((n + 1))
	echo "ok $n - HTTP/2 # SKIP not installed (package nghttp2-proxy)"
fi

# ---- Refusals ----
expect '404 of a key' stat nothing 'ENOENT .*s3://kiln/x/nothing: .*404 NoSuchKey'
url=s3://no-such-bucket expect '404 of a bucket' list x 'ENOENT .*s3://no-such-bucket/: .*404 NoSuchBucket'
AWS_SECRET_ACCESS_KEY=wrong expect 'a wrong secret' put k 'EACCES .*s3://kiln/x/k: .*403 SignatureDoesNotMatch'
AWS_ACCESS_KEY_ID=NOBODY expect 'an unknown access key' put k 'EACCES .*403 InvalidAccessKeyId'
(
	unset AWS_ACCESS_KEY_ID AWS_SECRET_ACCESS_KEY
	expect 'no credentials' list x 'EACCES .*403 AccessDenied.*no credentials are given'
	exit $failed
) || failed=1
n=$((n + 1))
SSL_CERT_FILE=$ca KILN_S3_ENDPOINT=$tls expect 'the CA in SSL_CERT_FILE, as curl takes it' list x OK
KILN_S3_ENDPOINT=$tls KILN_S3_CA=$ca KILN_S3_HTTP2=1 expect 'HTTP/2 is allowed, this server answers with 1.1' list x OK
KILN_S3_ENDPOINT=$tls KILN_ATTEMPTS=2 expect 'https without its CA is refused' list x 'ENOKEY .*certificate'
openssl req -x509 -newkey rsa:2048 -nodes -days 1 -subj /CN=other -keyout "$dir/other.key" -out "$dir/other.pem" 2>/dev/null
KILN_S3_ENDPOINT=$tls KILN_S3_CA=$dir/other.pem KILN_ATTEMPTS=2 expect 'https with another CA is refused' list x 'ENOKEY .*certificate'
KILN_S3_ENDPOINT=$tls KILN_S3_CA=$dir/absent.pem expect 'a CA file that is not there' list x 'EINVAL .*absent.pem'
KILN_S3_ENDPOINT=${tls/127.0.0.1/127.0.0.2} KILN_S3_CA=$ca KILN_ATTEMPTS=1 expect 'another host than the certificate names' list x 'E(NOKEY|CONNREFUSED) '

# ---- Credentials from files ----
mkdir -p "$dir/systemd" "$dir/root/data/kiln/credentials"
printf '[default]\naws_access_key_id = %s\naws_secret_access_key = %s\n' "$AWS_ACCESS_KEY_ID" "$AWS_SECRET_ACCESS_KEY" >"$dir/systemd/minio"
printf 'AWS_ACCESS_KEY_ID=%s\nAWS_SECRET_ACCESS_KEY=%s\n' "$AWS_ACCESS_KEY_ID" "$AWS_SECRET_ACCESS_KEY" >"$dir/root/data/kiln/credentials/file"
export CREDENTIALS_DIRECTORY=$dir/systemd KILN_ROOT=$dir/root
AWS_ACCESS_KEY_ID=x KILN_S3_CREDENTIAL=minio expect 'a systemd credential' put k OK
AWS_ACCESS_KEY_ID=x KILN_S3_CREDENTIAL=file expect 'a credential file' delete k OK
KILN_S3_CREDENTIAL=absent expect 'a credential that is nowhere' list x "EKEYREJECTED .*absent"

# ---- Killed in mid-part ----
echo '[{"match": "partNumber=3", "fault": "stall", "upload": true}]' >"$dir/faults"
coproc RELAY { exec /usr/bin/python3 "$tests/fault_proxy.py" "$dir" "${http##*:}"; }
relay=$RELAY_PID
read -r port <&"${RELAY[0]}"
head -c 20971520 /dev/urandom >"$dir/file"
odd='a b+c%41%2F//é&<>' # radosgw 17 lists control characters in a form that is no valid XML
KILN_S3_ENDPOINT=http://127.0.0.1:$port "$store" upload s3://kiln/killed "$odd" "$dir/file" >/dev/null 2>&1 &
uploader=$!
wait_for test -e "$dir/stalled"
{ kill -9 $uploader && wait $uploader; } 2>/dev/null
uploader=''
url=s3://kiln/killed expect 'an uploader killed in mid-part leaves no object' stat "$odd" ENOENT
url=s3://kiln/killed/other expect 'its upload is not below another prefix' abort-stale x OK
url=s3://kiln/killed expect 'it is found and aborted' abort-stale x 'MANY'
url=s3://kiln/killed expect 'then none is left' abort-stale x OK

echo "1..$n"
exit $failed
