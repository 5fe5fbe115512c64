# SPDX-License-Identifier: Apache-2.0
# Shared by the tests of lakeFS: a contract server over radosgw. Source it after tests/system/lib.sh.

# Starts both servers, which run until the test ends. The environment then has the access key of lakeFS, and KILN_S3_ENDPOINT is
# lakeFS; the store below is $s3_endpoint with $s3_key and $s3_secret.
start_lakefs() { # name of the test to skip
	lakefs_python=$(tests/interop/venv lakefs 2>"$work/venv.log") || {
		skip "$1" "PyPI gives no openapi-core: $(tail -n 1 "$work/venv.log")"
		exit
	}
	start_radosgw "$1"
	s3_endpoint=$KILN_S3_ENDPOINT s3_key=$AWS_ACCESS_KEY_ID s3_secret=$AWS_SECRET_ACCESS_KEY
	"$lakefs_python" tests/lakefs/server.py "$work" >"$work/lakefs.log" 2>&1 &
	wait_for 60 test -e "$work/env" || { ok 1 "the contract server starts" "$(tail -n 5 "$work/lakefs.log")"; exit; }
	# shellcheck disable=SC1091
	. "$work/env"
	export KILN_S3_ENDPOINT=$KILN_LAKEFS AWS_ACCESS_KEY_ID=$KILN_LAKEFS_KEY AWS_SECRET_ACCESS_KEY=$KILN_LAKEFS_SECRET
}

below() { # command...: with the store below lakeFS
	KILN_S3_ENDPOINT=$s3_endpoint AWS_ACCESS_KEY_ID=$s3_key AWS_SECRET_ACCESS_KEY=$s3_secret "$@"
}

lakefs_test() { # name [body, {} for none]: asks the server what only tests may ask
	curl -s ${2:+--data "$2"} "$KILN_LAKEFS/_test/$1"
}

fault() { # method, path, status, times, body, headers, after: how the server answers; after: it does what is asked first
	local body='{"message": "a fault"}' headers='{}'
	[ -z "${5:-}" ] || body=$5
	[ -z "${6:-}" ] || headers=$6
	lakefs_test faults "[{\"method\": \"$1\", \"path\": \"$2\", \"status\": $3, \"times\": $4, \"body\": $body, \"headers\": $headers,
		\"after\": ${7:-false}}]" >/dev/null
}

protect() { # JSON, a list of patterns: the branches of rep that take merges only
	local rules
	rules=$(python3 -c 'import json, sys; print(json.dumps([{"pattern": p} for p in json.loads(sys.argv[1])]))' "$1")
	curl -sf -u "$KILN_LAKEFS_KEY:$KILN_LAKEFS_SECRET" -X PUT -H "Content-Type: application/json" --data "$rules" \
		"$KILN_LAKEFS/api/v1/repositories/rep/settings/branch_protection"
}

hook() { # [event, message, pattern of branches]: a hook of rep that refuses; no arguments: none
	local hooks=
	[ -z "${1:-}" ] || hooks="{\"event\": \"$1\", \"message\": \"$2\", \"branch\": \"${3:-*}\"}"
	lakefs_test hooks "{\"repository\": \"rep\", \"hooks\": [$hooks]}" >/dev/null
}

hold() { # method, path: the first such request waits until `lakefs_test release` is called
	lakefs_test hold "{\"method\": \"$1\", \"path\": \"$2\"}" >/dev/null
}

is_held() {
	[ "$(lakefs_test held)" = true ]
}

change() { # verb and arguments of tests/system/change_versions, for $url
	"$KILN_BUILD/system/change_versions" "${url:-lakefs://rep/main}" "$@"
}

put_object() { # URL, key, text
	printf '%s' "$3" >"$work/object"
	"$KILN_BUILD/system/store" upload "$1" "$2" "$work/object" >/dev/null
}

no_violations() {
	is "$(lakefs_test violations)" "[]" "requests and answers keep to lakeFS's OpenAPI document"
}
