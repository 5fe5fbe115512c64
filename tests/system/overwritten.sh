#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Shards that are overwritten after the run: kiln evaluate and kiln predict refuse them, as kiln run --from does, and read them
# as they are now when they are told to.
. "$(dirname "$0")/lib.sh"
. tests/system/train_lib.sh
. tests/system/stored_lib.sh
shard=$(basename "$work"/data/test-*)

# ---- A folder: no versions ----
cp -r "$work/data" "$work/folder"
train folder "url = \"file://$work/folder\";"
figures=$(evaluate)
like "$figures" '^0 100 [0-9.]+ 0$' "kiln evaluate: the rows of the test split" "$(cat "$work/errors")"
cp "$work/other/$shard" "$work/folder/$shard"
like "$(evaluate) $(cat "$work/errors")" "^1 +kiln: $shard has changed since the run, --data-as-it-is-now reads it as it is now: .*pinned [0-9]+ bytes, .*found [0-9]+ bytes" \
	"a shard was replaced: kiln evaluate refuses it, and names both versions"
like "$(evaluate --data-as-it-is-now)" '^0 120 [0-9.]+ 1$' "with --data-as-it-is-now it reads the new one," "$(cat "$work/errors")"
like "$(cat "$work/errors")" "kiln: $shard has changed since the run, reading it as it is now: " "says so,"
like "$("$kiln" evaluate "$stored/model" --data-as-it-is-now 2>/dev/null)" '^shards changed since the run +1$' "and counts it"
"$kiln" predict "$stored/model" --split test >"$work/said" 2>"$work/errors"
like "$? $(cat "$work/errors")" "^1 kiln: $shard has changed since the run" "kiln predict --split refuses, too"
is "$(wc -l <"$work/said")" 0 "and predicts nothing from the new one"
is "$("$kiln" predict "$stored/model" --split test --data-as-it-is-now 2>/dev/null | wc -l)" 120 "unless it is told to"
like "$(evaluate --split train)" '^0 1800 [0-9.]+ 0$' "another split, whose shards are the run's, is read" "$(cat "$work/errors")"
repeat folder_again
like "$code $(tr '\n' ' ' <"$KILN_ROOT/log")" "^1 .*$shard changed: pinned" "kiln run --from refuses as well"

# ---- The same bytes again ----
train=$(basename "$work"/data/train-00001*)
cp -r "$work/data" "$work/same"
(cd "$work/same" && for name in *; do
	echo "{\"key\": \"$name\", \"size\": $(stat -c %s "$name"), \"sha256\": \"$(sha256sum "$name" | cut -d ' ' -f 1)\"}"
done >"$work/manifest.jsonl" && mv "$work/manifest.jsonl" .)
train same "url = \"file://$work/same\";"
touch "$work/same/$train"
repeat same_again
is "$code" 0 "a shard was written again with the bytes of manifest.jsonl: kiln run --from goes on" "$(tail -n 3 "$KILN_ROOT/log")"
like "$(cat "$KILN_ROOT/log")" "$train: the object changed since the plan was made, but its bytes have the SHA-256 of manifest.jsonl; going on" "and says so"

# ---- A plan that is not the model's ----
cp "$stored/plan" "$work/plan"
printf '\1' | dd of="$stored/plan" bs=1 seek=40 conv=notrunc status=none
like "$(evaluate) $(cat "$work/errors")" "^1 +kiln: .*the plan of the model's run: found SHA-256 [0-9a-f]{64}, expected [0-9a-f]{64}, which the model names" \
	"another plan than the one that the model was trained with is refused"
cp "$work/plan" "$stored/plan"
