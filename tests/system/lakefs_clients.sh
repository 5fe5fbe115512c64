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
is "$(wc -l <"$work/kiln")" 10 "Kiln makes ten requests"
for client in lakefs sdk; do
	lakefs_test clear >/dev/null
	story_by_client $client by-$client
	requests by-$client >"$work/$client"
	is "$(cat "$work/$client")" "$(cat "$work/kiln")" "$client: its requests are those of Kiln"
done
no_violations
