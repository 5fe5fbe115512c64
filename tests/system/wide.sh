#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A table of a thousand columns, each a feature of its own: prep, init, check, a night, predictions.
. "$(dirname "$0")/lib.sh"
kiln=$KILN_BIN/kiln
cd "$work" || exit 1

# The class is the sign of the first column plus the last one.
python3 - <<'PY'
import random
random.seed(3)
with open("wide.csv", "w") as f:
    f.write(",".join(f"c{i}" for i in range(1000)) + ",y\n")
    for _ in range(300):
        row = [random.gauss(0, 1) for _ in range(1000)]
        f.write(",".join(f"{x:.3f}" for x in row) + (",a\n" if row[0] + row[999] > 0 else ",b\n"))
PY
"$kiln" prep wide.csv --label y --output "file://$work/shards" >prep.log 2>&1
ok $? "prep" "$(cat prep.log)"
"$kiln" init shards >init.log 2>&1
ok $? "init" "$(tail -n 3 init.log)"
is "$(grep -c '^  { name = .*dtype = "float32"' kiln.conf)" 1000 "the schema has all columns"
sed -i 's/epochs = [0-9]*/epochs = 1/' kiln.conf
node wide
"$kiln" check kiln.conf >check.log 2>&1
ok $? "check" "$(cat check.log)"
timeout 300 "$kiln" run --config kiln.conf >run.log 2>&1
ok $? "a night on it" "$(tail -n 5 run.log)"
run=$(ls runs | grep '^first-')
"$kiln" predict "runs/$run" --split test >predicted.jsonl 2>&1
ok $? "predictions" "$(tail -n 2 predicted.jsonl)"
# Each end of the row reaches the network: another value changes the probability.
ask() { # value of c0, value of c999
	python3 -c 'import json, sys; print(json.dumps({f"c{i}": {0: float(sys.argv[1]), 999: float(sys.argv[2])}.get(i, 0.0) for i in range(1000)}))' "$@" |
		"$kiln" predict "runs/$run" --data - | python3 -c 'import json, sys; print(json.load(sys.stdin)["probability"])'
}
base=$(ask 0 0)
[ -n "$base" ] && [ "$base" != "$(ask 3 0)" ] && [ "$base" != "$(ask 0 3)" ]
ok $? "the first and the last column reach the network"
