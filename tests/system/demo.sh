#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The demo as a user runs it, on the package descriptions that apt knows here.
. "$(dirname "$0")/lib.sh"

if [ -z "$(apt-cache dumpavail 2>/dev/null | head -n 1)" ] && ! apt-get update >/dev/null 2>&1; then
	skip "the demo reaches 85 % on the test split" "apt knows no packages here, and apt-get update fails"
	exit
fi
tools/demo --bin "$KILN_BIN" --root "$work/demo" >"$work/log" 2>&1
ok $? "the demo ends well" "$(tail -n 40 "$work/log")"
log=$(cat "$work/log")
like "$log" 'epoch +loss +accuracy' "it shows the accuracy of each epoch"
like "$log" 'prepare +[0-9.]+ s' "it shows the time of each stage"
like "$log" '[0-9]+ records/s' "it shows records a second"
like "$log" 'tensorboard --logdir' "it says how to open TensorBoard"
like "$log" 'ring: [0-9]+ slots .* (2 MiB|normal) pages' "it says which pages the ring uses"
accuracy=$(python3 -c 'import json, sys; print(json.load(open(sys.argv[1]))["metrics"]["test"]["accuracy"])' "$work/demo/run.json")
awk -v a="${accuracy:-0}" 'BEGIN { exit !(a >= 0.85) }'
ok $? "test accuracy is at least 85 %" "found ${accuracy:-none}"
echo '{"name":"demo","case":"package descriptions, test accuracy","value":'"${accuracy:-0}"',"unit":"fraction"}'
awk '{ printf "{\"name\":\"demo\",\"case\":\"stage %s\",\"value\":%s,\"unit\":\"s\"}\n", $1, $2 }' "$work/demo/stages"
