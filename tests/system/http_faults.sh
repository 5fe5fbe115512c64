#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Servers that fail in every way in DESIGN.md's table, and some more: what the store returns, prints, and counts.
set -uo pipefail
tests=$(dirname "$0") store=${KILN_BUILD:-build/release}/system/store
dir=$(mktemp -d /tmp/kiln-faults-XXXXXX)
trap 'kill "$server" 2>/dev/null; rm -rf "$dir"' EXIT
unset http_proxy https_proxy HTTP_PROXY HTTPS_PROXY all_proxy ALL_PROXY AWS_SESSION_TOKEN CURL_CA_BUNDLE SSL_CERT_FILE
export AWS_ACCESS_KEY_ID=id AWS_SECRET_ACCESS_KEY=secret
n=0 failed=0

openssl req -x509 -newkey rsa:2048 -nodes -days 1 -subj /CN=localhost -addext subjectAltName=IP:127.0.0.1 \
	-keyout "$dir/server.key" -out "$dir/server.pem" 2>/dev/null
openssl req -x509 -newkey rsa:2048 -nodes -days 1 -subj /CN=portal -addext subjectAltName=DNS:portal \
	-keyout "$dir/portal.key" -out "$dir/portal.pem" 2>/dev/null
coproc SERVER { exec /usr/bin/python3 "$tests/faulty_s3.py" "$dir"; }
server=$SERVER_PID
read -r port other tls <&"${SERVER[0]}"
export KILN_S3_ENDPOINT=http://127.0.0.1:$port

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

# name, verb, key, result with words of the sentence (a regular expression), counters (one, too)
expect() {
	local what=$1 verb=$2 key=$3 result=$4 counters=$5 out
	out=$(KILN_S3_ENDPOINT=${scheme:-http}://127.0.0.1:${to:-$port} "$store" try "s3://bucket/l${prefix:-}" "$verb" "$key" 2>&1)
	grep -qE "^$result" <<<"$out" && grep -qE "$counters" <<<"$out"
	say $? "$what" "expected: $result / $counters
found: $out"
}

logged() { # name, python expression over `r`, the list of requests
	/usr/bin/python3 -c "
import json, sys
r = [json.loads(line) for line in open('$dir/requests')]
sys.exit(not ($2))"
	say $? "$1"
}

none='.*retries: connect=0 timeout=0 reset=0 server=0 slow_down=0 malformed=0'
# An answer that makes no sense is asked for again; this test allows two attempts.
again='.*retries: connect=0 timeout=0 reset=0 server=0 slow_down=0 malformed=1'
twice="requests=2 $again"
# An answer without end costs little memory, whatever it repeats.
small='malformed=1 .*peak_mib=(.|..|1..)$'

# ---- Failures that may pass are retried, and counted by class ----
expect '503 with Retry-After, twice' get slow-down OK 'requests=3 .*connect=0 timeout=0 reset=0 server=0 slow_down=2'
logged 'Retry-After is waited for' "(lambda t: len(t) == 3 and t[1] - t[0] >= 1 and t[2] - t[1] >= 1)([x['t'] for x in r if x['path'].endswith('slow-down')])"
expect '429' get too-many OK 'slow_down=1'
expect '500' get internal OK 'server=1'
expect '502 with HTML' get gateway OK 'server=1'
expect '400 RequestTimeout' get timeout-400 OK 'timeout=1'
expect 'reset in mid body' get reset OK 'reset=1'
expect 'end in mid body' get cut OK 'reset=1'
KILN_LOW_SPEED_S=1 expect 'a stalled transfer is cut and tried again' get stall OK 'timeout=1'
KILN_ATTEMPTS=3 expect 'always cut: given up after all attempts' get always-cut 'ECONNRESET GET s3://bucket/l/always-cut: after 3 attempts: ' 'requests=3 .*reset=2'
KILN_ATTEMPTS=2 expect 'always 500: given up, with the server'"'"'s words' get down 'EIO .*after 2 attempts.*500 InternalError: always' 'server=1'
KILN_ATTEMPTS=3 to=1 expect 'nobody listens' get x 'ECONNREFUSED .*after 3 attempts.*127.0.0.1' 'connect=2'

# ---- Failures that do not pass are not retried ----
expect '403 names bucket, key, code and message on one line' get denied 'EACCES GET s3://bucket/l/denied: .*403 AccessDenied: not you$' "requests=1 $none"
expect '403 to HEAD, which has no body: asked again for the words' stat denied 'EACCES GET .*403 AccessDenied' "requests=2 .* connections=1 $none"
expect 'an expired token' get expired 'EACCES .*400 ExpiredToken' "requests=1 $none"
expect 'clock skew is named, with its size' get skew 'ETIME .*RequestTimeTooSkewed.*clock skew: .* [0-9]{9} s ahead' "requests=1 $none"
expect 'another region, 301' get region 'EINVAL .*PermanentRedirect.*eu-west-9' "requests=1 $none"
expect 'another region, 400' get wrong-region 'EINVAL .*AuthorizationHeaderMalformed.*eu-west-9' "requests=1 $none"

# ---- Answers that do not match the request ----
export KILN_ATTEMPTS=2
expect 'no HTTP at all' get garbage 'EBADMSG .*after 2 attempts: .*HTTP/0.9' "$twice"
expect 'another range' get wrong-range "EBADMSG .*bytes 0-9, .*bytes 5-14/20" "$twice"
expect 'a range of words' get no-range 'EBADMSG .*Content-Range' "$twice"
expect 'all of a larger object' get ignores-range 'EBADMSG .*ignores ranges' "$twice"
expect 'all of an object that is just the range' get small-200 OK "requests=1 $none"
expect 'more bytes than announced' get longer 'EBADMSG .*longer' "$twice"
expect 'the pin holds' get-pinned fine OK "requests=1 $none"
logged 'If-Match was sent' "r[-1]['headers']['if-match'] == '\"781e5e245d69b566979b86e28d23f2c7\"'"
expect 'If-Match ignored, another ETag' get-pinned ignores-if-match 'ESTALE .*781e5e.*found "other"' "requests=1 $none"
expect '412' get-pinned if-match 'ESTALE .*781e5e' "requests=1 $none"
expect 'the right ETag, another size' get-pinned other-size 'ESTALE .*10 bytes.*11 bytes' "requests=1 $none"
expect 'no ETag' get-pinned no-etag 'EBADMSG .*no ETag' "$twice"
expect 'an ETag of 500 bytes' get wild-etag 'EBADMSG .*ETag' "$twice"

# ---- The network answers for the store ----
foreign='ENONET .*s3://bucket/l/login.* the network answers for the store: '
expect 'a login page in place of an object' get login "$foreign.*status 200, Content-Type 'text/html" "$twice"
expect 'is not a changed object' get-pinned login "$foreign" "$twice"
expect 'nor an object of its size' stat login "$foreign" "$twice"
expect 'a login page after a redirect' get-pinned to-login 'ENONET .*to-login: .*the network answers for the store' "$again"
expect 'a firewall that refuses with a page' get login-403 "$foreign.*status 403" "$twice"
expect '511' get login-511 "$foreign.*status 511" 'requests=2 .*server=1 '
expect '403 without a reason of S3, once' get-pinned bare-once OK "$twice"
expect '404 without a reason of S3' get bare-404 'ENOENT .*after 2 attempts: the server answers 404' "$twice"
expect '404 to HEAD, and the object is there' stat head-404-once OK "requests=3 $none"
expect 'an error of 3 MiB' get babble 'EACCES .*403' "$twice"
expect 'a redirect to nowhere' get to-nowhere 'EBADMSG .*after 2 attempts: the server answers 307' "$twice"
expect 'a login page once' get-pinned login-once OK "$twice"

# ---- Redirects ----
expect '307 to a presigned URL on another host' get-pinned to-other OK "requests=2 $none"
logged 'no Authorization nor anything of ours is forwarded, the range is, and the URL is verbatim' "
(lambda h, p: p == '/data?X-Amz-Signature=abc&k=a%2Fb' and h['range'] == 'bytes=0-9' and not [k for k in h if k == 'authorization' or k.startswith('x-amz') or k == 'if-match'])(r[-1]['headers'], r[-1]['path']) and r[-1]['port'] == $other and 'authorization' in r[-2]['headers']"
expect '503 behind a redirect: begins at the first server again' get to-broken OK 'requests=4 .*slow_down=1'
echo 3 >"$dir/portal"
scheme=https to=$tls KILN_S3_CA=$dir/server.pem KILN_ATTEMPTS=5 expect 'a login page in the place of an https server, for a while: its certificate is no end' \
	get fine OK 'requests=4 .*retries: connect=3 timeout=0'
echo 100 >"$dir/portal"
scheme=https to=$tls KILN_S3_CA=$dir/server.pem KILN_ATTEMPTS=3 expect 'for good: an end after the usual attempts, naming both possibilities' \
	get fine "ENOKEY .*after 3 attempts: .*certificate.*: ca_file, the endpoint or this clock is wrong, or something on the network answers in the server's place" \
	'requests=3 .*retries: connect=2 timeout=0'
rm "$dir/portal"
scheme=https to=$tls KILN_S3_CA=$dir/server.pem expect 'from https to http: not followed' get to-plain 'EBADMSG .*redirects to http:' "$twice"
expect 'in a circle' get to-itself 'EBADMSG .*redirects more than' "$again"
expect 'to a file' get to-file 'EBADMSG .*redirects' "$twice"
elsewhere="ENONET .*the network answers for the store: the PUT is redirected to 127.0.0.1:$other, not followed"
expect '307 of a PUT to another host: not followed' put put-elsewhere "$elsewhere" "$twice"
expect '302 of a PUT to another host: not followed' put put-login "$elsewhere" "$twice"
logged 'nothing was sent there' "not [x for x in r if x['port'] == $other and x['method'] == 'PUT']"
expect '307 of a PUT on the same host' put put-beside OK "requests=2 $none"
out=$("$store" get-twice s3://bucket/l to-changing 2>&1)
grep -q '^OK ESTALE .*behind the redirect' <<<"$out"
say $? 'behind a 307 the ETag of the first answer is the pin' "$out"

# ---- Lists ----
bad() {
	prefix=/$2 expect "$1" list x "$3" "$again"
}
once() {
	prefix=/once-$2 expect "$1" list x OK "${3:-$twice}"
}
flood() {
	prefix=/$2 expect "$1" list x "EBADMSG .*$3" "$small"
}
prefix=/good expect 'a list with escapes' list x 'a b\+c% 1' "$none"
bad 'a list that is not in order' order 'EBADMSG .*order'
bad 'a key twice' twice 'EBADMSG .*order'
bad 'a key outside the prefix' outside 'EBADMSG .*outside'
bad 'a key with NUL' nul 'EBADMSG .*NUL'
bad 'a key with half an escape' escape 'EBADMSG .*escape'
bad 'a key of 1025 bytes' long 'EBADMSG .*longer'
bad 'an entry without a key' keyless 'EBADMSG .*without a key'
bad 'a negative size' size 'EBADMSG .*size'
bad 'more entries than asked for' many 'EBADMSG .*1000'
bad 'pages without end' endless 'EBADMSG .*the list is truncated'
bad 'a next page without a token' nowhere 'EBADMSG .*the list is truncated'
bad 'entities' bomb 'EBADMSG .*document type'
bad 'XML that ends early' malformed 'EBADMSG .*XML'
bad 'a text of 20 kB' text 'EBADMSG .*longer'
bad 'nested fifty deep' deep 'EBADMSG .*deep'
bad 'nothing' empty 'EBADMSG .*XML'
bad 'an entry without a size' sizeless 'EBADMSG .*without a size'
bad 'an entry with two keys' two-keys 'EBADMSG .*two keys'
bad 'no word about an end' endless-page 'EBADMSG .*does not say whether it is truncated'
bad 'XML of something else' other-root 'EBADMSG .*<note>, expected <ListBucketResult>'
bad 'a web page' web-page 'ENONET .*the network answers for the store: found a web page'
bad 'a web page that is XML' xhtml 'ENONET .*the network answers for the store: found a web page'
bad 'a login page' login 'ENONET .*the network answers for the store'
once 'a login page once' login
once 'a list that is cut once' cut
once 'a connection that ends in the list once' short 'requests=2 .*reset=1 .*malformed=0'
once 'seven bytes that are not HTTP once' garbage
once 'a length of 2^66 once' length
once 'a head that begins with a continued line once' folded
once 'status 511 once' 511 'requests=2 .*server=1 .*malformed=0'
flood 'a key repeated without end' keys 'two keys'
flood 'entries without end' entries 'more than'
flood 'attributes without end' attributes 'memory'
flood 'names of elements without end' names 'more than'
flood 'a comment without end' comment 'memory'
flood 'comments without end' comments 'more than'
flood 'an instruction without end' instruction 'memory'
flood 'chunk trailers without end' trailers 'headers'
flood 'headers without end' headers 'headers'
flood 'interim answers without end' continues 'headers'
unset KILN_ATTEMPTS

# ---- Lists of versions: two lists from one store, of which only the first asks a server that refuses ----
versions() { # answer, errno's words
	prefix=/v-$1 expect "a list of versions: $1" list-versions x "'' a '' a refused: GET s3://bucket/l/.*$2" "requests=3 $none"
}
versions 501 '501 NotImplemented'
versions bare-501 'answers 501'
versions 400 '400 InvalidArgument'
versions bare-400 'answers 400'
versions 403 '403 AccessDenied'
versions bare-403 'answers 403'
versions 404 '404 NoSuchKey'
versions 405 '405 MethodNotAllowed'
versions ignored '<ListBucketResult>, not with <ListVersionsResult>'
prefix=/v-head expect 'a list of versions that may not be read' list-versions x \
	"'' a '' a refused: HEAD s3://bucket/l/v-head/a: the server answers 403" "requests=3 $none"
prefix=/v-good expect 'a list of versions' list-versions x "'v1' a 'v1' a refused: nothing" "requests=3 $none"

# ---- Puts ----
expect 'the MD5 differs: sent again' put other-md5 OK 'requests=2 .*reset=1'
expect 'an ETag that is no MD5' put kms OK "requests=1 $none"

head -c 11000000 /dev/zero >"$dir/file"
upload() {
	out=$("$store" upload s3://bucket/l "$1" "$dir/file" 2>&1)
}
upload upload-late && say 0 '200 and then InternalError: completed again' || say 1 '200 and then InternalError' "$out"
upload upload-lost && say 0 'completed, but the answer was lost' || say 1 'completed, but the answer was lost' "$out"
upload upload-old
grep -q '404 NoSuchUpload' <<<"$out"
say $? 'not completed, and the object of that size is an older one' "$out"
upload upload-short
grep -q 'uploaded 11000000 bytes, the server has 10999999' <<<"$out"
say $? 'the size is checked at the end' "$out"
upload upload-garbled
grep -q 'upload-garbled: the server has other bytes than were sent, at offset 10' <<<"$out"
say $? 'so is the ETag of all parts: where it differs, the object is read' "$out"
upload upload-own-etag && say 0 'a server with ETags of its own kind' || say 1 'a server with ETags of its own kind' "$out"
upload upload-kms && say 0 'encrypted parts' || say 1 'encrypted parts' "$out"
logged 'an object is read where the ETag is another one than S3 gives, not where it is encrypted' "
(lambda got: got('own-etag') == 3 and got('kms') == 0 and got('late') == 0)(lambda name: len([x for x in r if x['method'] == 'GET' and x['path'].endswith('upload-' + name)]))"
upload upload-denied
grep -q '403 AccessDenied' <<<"$out"
say $? 'a part is refused' "$out"
logged 'then the upload is aborted' "[x for x in r if x['method'] == 'DELETE' and x['path'] == '/bucket/l/upload-denied?uploadId=u1']"

# ---- Other requests go on ----
out=$(KILN_CONNECTIONS=1 KILN_ATTEMPTS=20 "$store" overtake s3://bucket/l overtaken overtakes 2>&1)
say "$([ "$out" = "overtakes overtaken" ]; echo $?)" 'a delayed request holds up nobody, even with one connection' "$out"
AWS_SESSION_TOKEN=the-token expect 'a session token' get fine OK "$none"
logged 'is sent and signed' "r[-1]['headers']['x-amz-security-token'] == 'the-token' and 'x-amz-security-token,' in r[-1]['headers']['authorization']"
unset AWS_ACCESS_KEY_ID AWS_SECRET_ACCESS_KEY
expect 'without credentials' get fine OK "$none"
logged 'nothing is signed' "'authorization' not in r[-1]['headers']"

echo "1..$n"
exit $failed
