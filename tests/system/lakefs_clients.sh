#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Holds the contract server honest: lakeFS's own clients from PyPI succeed on it, and the story of a night leaves the same requests
# (method, path, query, body) from them as from Kiln.
. "$(dirname "$0")/lib.sh"
. tests/lakefs/lib.sh
start_lakefs "lakeFS's clients"
for i in 1 2 3; do below put_object s3://kiln/imdb "train-$i" "records $i"; done

story_by_kiln() { # repository
	local url=lakefs://$1/main start merged
	change create "s3://kiln/lakefs/$1"
	url=$url/data change import s3://kiln/imdb/ "imdb" '{"kiln.import":"s3://kiln/imdb/"}'
	start=$(change resolve main)
	change branch exp-adam "${start#0 }"
	put_object "lakefs://$1/exp-adam" model.bin "weights of adam"
	change commit exp-adam "trial adam" '{"kiln.series":"s1","kiln.run_id":"r1"}'
	change mark exp-adam "trial of another" '{"kiln.run_id":"r2"}'
	change diff main exp-adam
	merged=$(change merge exp-adam main "winner adam" '{"kiln.series":"s1"}')
	change tag nightly "${merged#0 }"
	change delete exp-adam
}

story_by_client() { # client, repository
	coproc STORY { "$lakefs_python" tests/lakefs/clients.py "$1" "$2" 2>"$work/$1.log"; }
	local from=${STORY[0]} to=${STORY[1]} pid=$STORY_PID line
	read -r line <&"$from"
	put_object "lakefs://$2/exp-adam" model.bin "weights of adam"
	echo >&"$to"
	read -r line <&"$from"
	is "$line" "changes added model.bin 15" "$1: the client sees what the trial added"
	wait "$pid"
	ok $? "$1: every call of the client succeeds" "$(tail -n 5 "$work/$1.log")"
}

requests() { # repository
	lakefs_test log | "$lakefs_python" tests/lakefs/story.py "$1"
}

out=$(story_by_kiln by-kiln)
is "$(grep -c '^-' <<<"$out")" 0 "Kiln: every call succeeds"
requests by-kiln >"$work/kiln"
is "$(wc -l <"$work/kiln")" 11 "Kiln makes eleven requests"
for client in lakefs sdk; do
	lakefs_test clear >/dev/null
	story_by_client $client by-$client
	requests by-$client >"$work/$client"
	is "$(cat "$work/$client")" "$(cat "$work/kiln")" "$client: its requests are those of Kiln"
done

# ---- A protected branch, and an access key that may not do everything ----
url=lakefs://rules/main change create s3://kiln/lakefs/rules >/dev/null
for branch in production work; do url=lakefs://rules/main change branch $branch main >/dev/null; done
put_object lakefs://rules/work model.bin "weights"
url=lakefs://rules/main change commit work "work" >/dev/null
coproc RULES { "$lakefs_python" tests/lakefs/clients.py protected rules 2>"$work/rules.log"; }
from=${RULES[0]} to=${RULES[1]} pid=$RULES_PID
for expected in "rules prod*" "commit 403 cannot commit to protected branch" "merge done"; do
	read -r line <&"$from"
	is "$line" "$expected" "sdk: a protected branch: $expected"
done
read -r _ <&"$from"
lakefs_test deny '["fs:DeleteBranch"]' >/dev/null
echo >&"$to"
read -r line <&"$from"
is "$line" "delete 401 insufficient permissions" "sdk: an action that the policy of the key does not have"
wait "$pid"
like "$(url=lakefs://rules/main change delete work)" "^-13 .*401 \(the access key is not accepted, or may not do this\): insufficient permissions" "Kiln says so, too"
lakefs_test deny '[]' >/dev/null
printf text >"$work/object"
like "$("$KILN_BUILD/system/store" upload lakefs://rules/production model.bin "$work/object" 2>&1)" "403.*cannot write to protected branch" \
	"no object can be put on a protected branch"
like "$(url=lakefs://rules/main change commit production m)" "^-13 .*403 .*cannot commit to protected branch" "nor a commit"
no_violations
