#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Client proxies from the environment, as curl uses them: http forwarded, https tunnelled, exceptions, logins, refusals. Also
# the addresses of requests to AWS itself, seen through the tunnel of a proxy.
# shellcheck source=tests/system/lib.sh
source "$(dirname "$0")/lib.sh"
store=$KILN_BUILD/system/store
unset http_proxy https_proxy no_proxy all_proxy HTTP_PROXY HTTPS_PROXY NO_PROXY ALL_PROXY AWS_SESSION_TOKEN CURL_CA_BUNDLE SSL_CERT_FILE
export AWS_ACCESS_KEY_ID=id AWS_SECRET_ACCESS_KEY=secret KILN_ATTEMPTS=2

openssl req -x509 -newkey rsa:2048 -nodes -days 1 -subj /CN=localhost -addext subjectAltName=IP:127.0.0.1 \
	-keyout "$work/server.key" -out "$work/server.pem" 2>/dev/null
/usr/bin/python3 tests/system/faulty_s3.py "$work" >"$work/ports" &
start_proxy() { # name, options...
	mkdir "$work/$1"
	/usr/bin/python3 tests/system/proxy.py "$work/$1" "${@:2}" >"$work/$1/port" &
	wait_for 20 test -s "$work/$1/port"
}
start_proxy plain
start_proxy login --login 'a name:pass@word'
start_proxy forbidden --refuse 403
start_proxy busy --refuse 503
wait_for 20 test -s "$work/ports"
read -r port _ tls <"$work/ports"
proxy() { # name
	echo "127.0.0.1:$(cat "$work/$1/port")"
}
try() { # endpoint, key
	KILN_S3_ENDPOINT=$1 KILN_S3_CA=$work/server.pem "$store" try 's3://bucket/a b' get "$2" 2>&1
}
last() { # proxy's name, python expression over `r`, the requests that the proxy saw
	/usr/bin/python3 -c "
import json
r = [json.loads(line) for line in open('$work/$1/proxied')]
print($2)"
}
http=http://127.0.0.1:$port https=https://127.0.0.1:$tls
none='connect=0 timeout=0 reset=0 server=0 slow_down=0'

like "$(http_proxy=$(proxy plain) try "$http" 'c+d//e')" '^OK' 'http_proxy: the proxy is asked'
is "$(last plain "r[-1]['method'], r[-1]['target']")" "GET $http/bucket/a%20b/c%2Bd//e" 'with the whole URL, the key as it was signed'
like "$(https_proxy=http://$(proxy plain) try "$https" fine)" '^OK' 'https_proxy: a tunnel, with the certificate checked through it'
is "$(last plain "r[-1]['method'], r[-1]['target'], [h for h in r[-1]['headers'] if h == 'authorization' or h.startswith('x-amz')]")" \
	"CONNECT 127.0.0.1:$tls []" 'the proxy sees nothing of ours'
like "$(HTTPS_PROXY=http://$(proxy plain) KILN_S3_CA='' KILN_S3_ENDPOINT=$https "$store" try s3://bucket get x)" '^ENOKEY .*certificate' \
	'the certificate is refused through a tunnel, too'
is "$(last plain 'len(r)')" 4 'asked for twice'
like "$(http_proxy=$(proxy plain) no_proxy=example.com,127.0.0.1 try "$http" fine)" '^OK' 'no_proxy: an exception'
like "$(HTTP_PROXY=http://127.0.0.1:1 try "$http" fine)" '^OK' 'HTTP_PROXY in capitals does not count'
is "$(last plain 'len(r)')" 4 'the proxy was not asked'
like "$(all_proxy=http://$(proxy plain) try "$http" fine)" '^OK' 'all_proxy'
is "$(last plain 'len(r)')" 5 'the proxy was asked'

login='a%20name:pass%40word'
like "$(http_proxy=http://$login@$(proxy login) try "$http" fine)" '^OK' 'a login, http'
like "$(https_proxy=http://$login@$(proxy login) try "$https" fine)" '^OK' 'a login, https'
for scheme in http https; do
	out=$(declare -x "${scheme}_proxy=http://a:hidden@$(proxy login)" && try "${!scheme}" fine)
	like "$out" '^EACCES .* 407' "a wrong login, $scheme"
	like "$out" "requests=1 .*$none" 'is not tried again'
	[[ $out != *hidden* ]]
	ok $? 'and not shown' "$out"
done
out=$(https_proxy=http://$(proxy forbidden) try "$https" fine)
like "$out" '^EACCES .*the proxy answers 403' 'the proxy forbids it'
like "$out" "requests=1 .*$none" 'is not tried again'
like "$(https_proxy=http://$(proxy busy) try "$https" fine)" 'requests=2 .*slow_down=1' 'the proxy is busy: tried again'
like "$(http_proxy=http://127.0.0.1:1 try "$http" fine)" 'requests=2 .*connect=1' 'nobody listens: tried again'

# ---- Addresses of AWS ----
aws() { # region, url
	https_proxy=http://$(proxy forbidden) KILN_S3_REGION=$1 "$store" try "$2" get k >/dev/null
	last forbidden "r[-1]['target']"
}
is "$(aws '' s3://my-bucket/p)" my-bucket.s3.us-east-1.amazonaws.com:443 'AWS: the bucket is in the host'
is "$(aws eu-west-1 s3://my-bucket/p)" my-bucket.s3.eu-west-1.amazonaws.com:443 'in its region'
is "$(aws cn-north-1 s3://my-bucket/p)" my-bucket.s3.cn-north-1.amazonaws.com.cn:443 'in China'
is "$(aws eu-west-1 s3://my.bucket/p)" s3.eu-west-1.amazonaws.com:443 'a dot in the bucket: in the path, as no certificate matches'
