#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# lakeFS: every call of drivers/versions against a contract server over radosgw, every documented answer, and the store's contract
# through the S3 gateway. A real lakeFS server was not tried.
. "$(dirname "$0")/lib.sh"
. tests/lakefs/lib.sh
start_lakefs "lakeFS"
export KILN_ATTEMPTS=3

# ---- The story of a night ----

is "$(change create s3://kiln/lakefs/rep)" "0 " "a repository is created"
is "$(change create s3://kiln/lakefs/rep)" "0 " "creating it again changes nothing"
like "$(change create s3://kiln/elsewhere)" "^-17 .*exists with the storage s3://kiln/lakefs/rep, expected s3://kiln/elsewhere" \
	"a repository with another storage is refused"
for i in 1 2 3; do below put_object s3://kiln/imdb "train-$i" "records $i"; done
import=$(url=lakefs://rep/main/data change import s3://kiln/imdb/ "imdb" '{"kiln.import":"s3://kiln/imdb/"}')
like "$import" "^objects 3
0 [0-9a-f]{64}$" "an import makes the objects of a prefix objects of the branch"
start=${import##*0 }
like "$import" "^progress [0-9]+" "an import tells its progress"
is "$(change resolve main)" "0 $start" "a branch resolves to its newest commit"
is "$(change resolve "${start:0:12}")" "0 $start" "the beginning of an id resolves to the commit"
like "$(change resolve main~1)" "^0 [0-9a-f]{64}$" "main~1 resolves to the commit before"
is "$(url=lakefs://rep/main change resolve "")$(url=lakefs://rep/nowhere change resolve nowhere | cut -c 1-3)" "$(change resolve "")-2 " \
	"a ref that does not exist is not found"
like "$(change resolve nowhere)" "^-2 GET $KILN_LAKEFS/api/v1/repositories/rep/commits/nowhere: the server answers 404: nowhere: not found" \
	"the sentence names the server, the repository and the ref"
for trial in adam sgd; do
	is "$(change branch exp-$trial "$start" '{"kiln.series":"s1"}')" "0 " "the branch of the trial $trial is created"
done
is "$(change branch exp-adam "$start" '{"kiln.series":"s1"}')" "0 " "a branch at the same commit is ours: the series goes on"
put_object lakefs://rep/exp-adam model.bin "weights of adam"
made=$(change commit exp-adam "trial adam" '{"kiln.series":"s1","kiln.run_id":"r1"}')
like "$made" "^0 [0-9a-f]{64}$" "what the trial wrote is committed"
is "$(change commit exp-adam "trial adam" '{"kiln.series":"s1","kiln.run_id":"r1"}')" "$made" "the same commit again is the commit that is there"
like "$(change commit exp-adam other '{"kiln.run_id":"r2"}')" "^-61 .*nothing has changed" "a commit without changes says so"
is "$(change branch exp-adam "$start" '{"kiln.series":"s1"}')" "0 " "a branch with a commit of our series is ours"
like "$(change branch exp-adam "$start" '{"kiln.series":"s2"}')" "^-17 .*branch 'exp-adam' exists and is not ours" \
	"a branch of another series is refused"
is "$(change diff main exp-adam)" "added model.bin 15
0 " "the difference names what the trial added"
merged=$(change merge exp-adam main "winner adam" '{"kiln.series":"s1"}')
like "$merged" "^0 [0-9a-f]{64}$" "the winner's branch is merged"
is "$(change merge exp-adam main "winner adam" '{"kiln.series":"s1"}')" "$merged" "the same merge again is the commit that is there"
like "$(change merge exp-adam main other '{"kiln.series":"s9"}')" "^-61 " "a merge without changes says so"
is "$(change tag nightly-2026-11-27 "${merged#0 }")" "0 " "the night gets a tag"
is "$(change tag nightly-2026-11-27 "${merged#0 }")" "0 " "the same tag again is the tag that is there"
like "$(change tag nightly-2026-11-27 "$start")" "^-17 .*tag 'nightly-2026-11-27' names another commit" "a tag does not move"
change branch both "$start" >/dev/null
change tag both "${merged#0 }" >/dev/null
is "$(change tag both "${merged#0 }")" "0 " "a tag with the name of a branch is asked for as a tag"
is "$(change branch both "$start")" "0 " "and the branch as a branch"
put_object lakefs://rep/exp-sgd model.bin "other weights, of sgd"
change commit exp-sgd "trial sgd" '{"kiln.series":"s1"}' >/dev/null
like "$(change merge exp-sgd main "winner sgd")" "^-116 .*merging exp-sgd into main: 1 paths changed on both sides: model.bin; nothing was merged" \
	"a merge conflict names the paths"
is "$(change resolve main)" "$merged" "a conflict merges nothing"
is "$(change delete exp-sgd)$(change delete exp-sgd)" "0 0 " "a branch is deleted, and deleting it again is no error"
like "$(change delete main)" "^-13 .*403 \(the access key may not do this\): cannot delete repository default branch" \
	"403 names what the key may not do"

# ---- Refusals and faults ----
like "$(AWS_SECRET_ACCESS_KEY=wrong change resolve main)" "^-13 .*401 \(the access key is not accepted, or may not do this\): error authenticating request" \
	"401 is final, and says what is wrong"
like "$(AWS_ACCESS_KEY_ID='' AWS_SECRET_ACCESS_KEY='' change resolve main)" "^-129 .*no credential is given" "without an access key nothing is asked"
hook pre-commit "no licence file"
change branch hooked main >/dev/null
put_object lakefs://rep/hooked file "text"
like "$(change commit hooked m)" "^-1 .*412 \(a hook of the repository refused\): pre-commit hook: no licence file" "412 has the hook's message"
hook
fault GET commits/main 500 2
is "$(change resolve main)" "$merged" "500 is tried again"
fault GET commits/main 500 9
like "$(change resolve main)" "^-5 .*the server answers 500: a fault" "after all attempts the sentence has the server's message"
fault POST commits 423 1
like "$(change commit hooked m '{"a":"b"}')" "^0 [0-9a-f]{64}$" "423, a locked branch, is tried again"
fault GET commits/main 423 9
like "$(change resolve main)" "^-16 .*423 \(the branch is locked\)" "a branch that stays locked is told"
fault GET commits/main 429 1 '{"message": "too many"}' '{"Retry-After": "2"}'
before=$(date +%s%N)
is "$(change resolve main)" "$merged" "429 is tried again"
[ $((($(date +%s%N) - before) / 1000000)) -ge 2000 ]
ok $? "429 waits as long as Retry-After asks"
fault GET commits/main 200 9 '"no object"' '{"X-Foreign": "1", "Content-Type": "application/json"}'
like "$(change resolve main)" "^-74 " "an answer that makes no sense is an error after all attempts"
fault GET commits/main 200 9 '{"id": "../x", "parents": [], "committer": "", "message": "", "creation_date": 1, "meta_range_id": ""}' \
	'{"X-Foreign": "1"}'
like "$(change resolve main)" "^-74 .*id of a commit: found the byte 0x2e" "an id that could be a path is refused"
lakefs_test faults '[]' >/dev/null
page() { # method, path, status, times, headers: a web page in the place of the answer
	fault "$1" "$2" "$3" "$4" '"<html>log in</html>"' "{\"X-Foreign\": \"1\", \"Content-Type\": \"text/html; charset=utf-8\"$5}"
}
page GET commits/main 200 2 ''
is "$(change resolve main)" "$merged" "a login page in the place of an answer is tried again"
for status in 200 403 511; do
	page GET commits/main $status 9 ''
	like "$(change resolve main)" "^-64 .*the network answers for lakeFS: found status $status, Content-Type 'text/html" \
		"a web page with $status that stays is no answer of lakeFS"
done
page GET commits/main 302 9 ', "Location": "http://portal/login"'
like "$(change resolve main)" "^-64 .*found status 302, .*Location 'http://portal/login'" "a redirection is no answer of lakeFS"
page POST branches 200 1 ''
is "$(change branch behind-a-page main)" "0 " "a login page in the place of a new branch is tried again"
lakefs_test faults '[]' >/dev/null

# ---- Answers that are lost ----

lost() { # method, path: the server does the call, and the client sees 502
	fault "$1" "$2" 502 1 '{"message": "lost"}' '{}' true
}

lost POST 'repositories$'
is "$(url=lakefs://rep2/main change create s3://kiln/lakefs/rep2)" "0 " "a repository whose answer was lost is found"
lost POST 'branches$'
is "$(change branch exp-lost "$start" '{"kiln.series":"s1"}')" "0 " "a branch whose answer was lost is ours"
put_object lakefs://rep/exp-lost file.bin "text"
lost POST 'commits$'
like "$(change commit exp-lost lost '{"kiln.run_id":"r7"}')" "^0 [0-9a-f]{64}$" "a commit whose answer was lost is found"
is "$(change resolve exp-lost~1)" "0 $start" "a lost answer makes no second commit"
lost POST 'commits$'
like "$(change mark exp-lost mark '{"kiln.run_id":"r8"}')" "^-5 " "a commit without changes is not sent again where the answer is lost"
is "$(change resolve exp-lost~2)" "0 $start" "so there is one"
lost POST '/merge/'
like "$(change merge exp-lost main lost '{"kiln.run_id":"r7"}')" "^0 [0-9a-f]{64}$" "a merge whose answer was lost is found"
is "$(change resolve main~1)" "$merged" "a lost answer makes no second merge"
imports() { # how many imports were begun
	lakefs_test log | grep -o '"POST", "/api/v1/repositories/rep/branches/main/import"' | wc -l
}
before=$(imports)
lost POST 'import$'
like "$(url=lakefs://rep/main/lost change import s3://kiln/imdb/ lost)" "^-5 POST .*/import: the server answers 502: lost" \
	"the lost answer to an import is an error"
is "$(imports)" $((before + 1)) "an import is not begun a second time by itself"
fault POST 'import$' 503 1
like "$(url=lakefs://rep/main/busy change import s3://kiln/imdb/ busy | tail -n 1)" "^0 [0-9a-f]{64}$" "an import that the server has not taken is begun again"
lost POST 'tags$'
is "$(change tag lost "$start")" "0 " "a tag whose answer was lost is found"
like "$(url=lakefs://rep/main/none change import s3://kiln/nothing-here/ none)" "^-5 .*import of s3://kiln/nothing-here/ into 'main' failed" \
	"an import that fails has the server's reason"
change branch dirty main >/dev/null
put_object lakefs://rep/dirty file "text"
like "$(url=lakefs://rep/dirty/data change import s3://kiln/imdb/ dirty)" "^-5 .*into 'dirty' failed: dirty: uncommitted changes" \
	"an import into a branch with uncommitted changes is refused"
hook pre-commit "no licence file"
change branch clean main >/dev/null
like "$(url=lakefs://rep/clean/data change import s3://kiln/imdb/ clean)" "^-5 .*into 'clean' failed: pre-commit hook: no licence file" \
	"an import that a hook refuses has the hook's message"
like "$(change commit clean m)" "^-61 .*no licence file: nothing has changed" "a hook that refuses a commit without changes is no refusal"
hook
change branch guarded main >/dev/null
protect '["guarded"]'
like "$(url=lakefs://rep/guarded/data change import s3://kiln/imdb/ guarded | tail -n 1)" "^0 [0-9a-f]{64}$" "a protected branch takes an import"
protect '[]'
no_violations

# ---- More than a page ----

change branch many main >/dev/null
for i in $(seq 1 120); do put_object lakefs://rep/many "many/$i" "$i"; done
change commit many many >/dev/null
is "$(change diff main many | grep -c '^added many/')" 120 "a difference of several pages is whole"

# ---- The S3 gateway ----

change branch objects main >/dev/null
out=$("$KILN_BUILD/system/store" contract lakefs://rep/objects/contract)
sed -E "s|^((not )?ok) [0-9]+|# \1|" <<<"$out"
[ "$(grep -c '^not ok' <<<"$out")" = 0 ] && [ "$(grep -c '^ok' <<<"$out")" -gt 20 ]
ok $? "the store's contract holds through the S3 gateway"
no_violations

head -c 20000000 /dev/urandom >"$work/large"
lakefs_test lost 1 >/dev/null
KILN_ATTEMPTS=3 "$KILN_BUILD/system/store" upload lakefs://rep/objects large "$work/large" >"$work/said" 2>&1
is "$? $(lakefs_test lost 0)" "0 []" "a multipart upload that was completed, and whose answer was lost, is found" "$(cat "$work/said")"
"$KILN_BUILD/system/store" download lakefs://rep/objects large "$work/copy" >/dev/null && cmp -s "$work/large" "$work/copy"
ok $? "with its bytes"
