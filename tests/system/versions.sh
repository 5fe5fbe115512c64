#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Shards that are overwritten after the run. In a bucket with versioning, a run is repeated and its model is evaluated with the
# shards as they were. tests/system/overwritten.sh has a folder, which keeps no versions.
. "$(dirname "$0")/lib.sh"
. tests/system/train_lib.sh
. tests/system/stored_lib.sh
shard=$(basename "$work"/data/test-*) first=$(basename "$work"/data/train-00000*)
with=(--config "$work/versions.conf")

# ---- A bucket with versioning ----
start_radosgw 'versions'
request() { # arguments of tools/store/s3_request
	tools/store/s3_request "$@"
}
request PUT /kiln versioning '<VersioningConfiguration><Status>Enabled</Status></VersioningConfiguration>' >"$work/answer"
ok $? "the bucket keeps versions" "$(cat "$work/answer")"
upload "$work/other" s3://kiln/data
upload "$work/data" s3://kiln/data
source="url = \"s3://kiln/data\"; endpoint = \"$KILN_S3_ENDPOINT\";"
train versions "$source"
like "$(cat "$KILN_ROOT/log")" "plan: 3 train, 1 validation, 1 test shards in s3://kiln/data; 5 of them are pinned by version" \
	"the plan pins each shard by version"
expected=$(weights_of "$stored/model/model.safetensors") figures=$(evaluate)
like "$figures" '^0 100 [0-9.]+ 0$' "kiln evaluate: the rows of the test split" "$(cat "$work/errors")"
upload "$work/other" s3://kiln/data
request DELETE "/kiln/data/$first" >/dev/null
is "$(evaluate)" "$figures" "all shards were replaced, and one was deleted: the same figures"
repeat versions_again
is "$code $(state) $(weights_of "$work/runs/versions/$(cat "$KILN_ROOT/out")/model/model.safetensors")" "0 finished $expected" \
	"and the run is repeated with the same bits" "$(tail -n 5 "$KILN_ROOT/log")"
is "$(stored=$work/runs/versions/$(cat "$KILN_ROOT/out"); evaluate)" "$figures" "the model of the repeated run is evaluated from its own plan"

# ---- The version is removed for good ----
old=$(request GET /kiln "versions=&prefix=data/$shard" | python3 -c '
import re, sys
print(re.findall(r"<VersionId>([^<]*)</VersionId><IsLatest>false", sys.stdin.read().replace("\n", ""))[0])')
request DELETE "/kiln/data/$shard" "versionId=$old" >/dev/null
like "$(evaluate) $(cat "$work/errors")" "^1 +kiln: $shard has changed since the run" "its version was removed for good: it has changed"
like "$(evaluate --data-as-it-is-now)" '^0 120 [0-9.]+ 1$' "and is read as it is now"

# ---- A credential that may not list or read versions ----
deny() { # action, resource
	request PUT /kiln policy "{\"Version\": \"2012-10-17\", \"Statement\": [{\"Effect\": \"Deny\", \"Principal\": \"*\", \"Action\": \"s3:$1\", \"Resource\": \"arn:aws:s3:::$2\"}]}" >"$work/answer"
	ok $? "a policy denies $1" "$(cat "$work/answer")"
}
planned() { # name, refusal, name of the test: makes the plan of a run
	begin_run "$1" "$source"
	start fetchd
	wait_for 60 grep -q 'pinned by version' "$KILN_ROOT/log"
	stop_fetchd
	like "$(cat "$KILN_ROOT/log")" "; 0 of them are pinned by version" "$3"
	is "$(grep -c "s3://kiln/data: the plan has ETags in place of versions, as the store refuses: $2" "$KILN_ROOT/log")" 1 \
		"and one line says why" "$(cat "$KILN_ROOT/log")"
}
deny ListBucketVersions kiln
planned unlisted 'GET s3://kiln/data.*403 AccessDenied' "versions may not be listed: the run goes by ETags"
deny GetObjectVersion 'kiln/*'
planned unread 'HEAD s3://kiln/data/t.*403' "versions may not be read: the run goes by ETags"
