#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Which rank the others wait for, and why: kiln stalls, status and metrics name a rank whose kiln-fetchd is stopped, and one whose device
# is slow.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/train_lib.sh"
. "$(dirname "$0")/ranks_lib.sh"
kiln=$KILN_BIN/kiln host=$(hostname)

"$make_shards" "$work/data" train 17 203 plain
"$make_shards" "$work/data" test 3 40

begins() { # name: a run that two ranks begin
	ranks_config "$1" "" "" "$net"
	sed -i "s,epochs = 3,epochs = 400,; s,every_steps = 10,every_steps = 50," "$work/$1.conf"
	node "$1"
	begin "$1"
	"$KILN_BIN/kiln-controld" 2>"$KILN_ROOT/controld" &
	controld=$!
}

slowest() { # method that shows the ranks: prints "rank box stage"
	"$kiln" "$1" --json | /usr/bin/python3 -c 'import json, sys
slowest = (json.load(sys.stdin).get("ranks") or {}).get("slowest") or {}
print(slowest.get("rank"), slowest.get("box"), slowest.get("stage"))'
}
names() { # "rank box stage"
	[ "$(slowest stalls)" = "$1" ]
}

ends() { # ends the run and its processes
	want stopped
	end_ranks
	kill $controld
	wait $controld
	is "$code $(state)" "0 stopped" "$1: the run stops" "$(tail -n 9 "$KILN_ROOT/log")"
}

begins feed
start_ranks 2
wait_for 60 at_step 50
kill -STOP "${fetchds[1]}"
wait_for 60 names "1 $host feed"
ok $? "a kiln-fetchd stands still: kiln stalls names its rank, box and stage" "$("$kiln" stalls; tail -n 3 "$KILN_ROOT/log")"
like "$("$kiln" stalls)" "^slowest +rank 1 on $host: the others waited [0-9.]+ s for it; feed: its kiln-fetchd has no batch ready" "in words, too"
kill -CONT "${fetchds[1]}"
ends feed

begins device
start_ranks_with() { # program that starts rank 1
	local rank
	fetchds=()
	for rank in 0 1; do
		"$KILN_BIN/kiln-fetchd" --rank $rank --world 2 2>>"$KILN_ROOT/log" &
		fetchds+=($!)
	done
	mpirun --allow-run-as-root -n 1 "$KILN_BIN/kiln-traind" --rank-from-env : -n 1 "$@" "$KILN_BIN/kiln-traind" --rank-from-env \
		2>>"$KILN_ROOT/log" >&2 &
	ranks=$!
}
start_ranks_with env LD_PRELOAD="$KILN_BUILD/system/preload/slow_device.so"
wait_for 60 names "1 $host device"
ok $? "a device is slow: kiln stalls names its rank, box and stage" "$("$kiln" stalls; tail -n 3 "$KILN_ROOT/log")"
wait_for 60 eval "slowest status | grep -qx '1 $host device'"
ok $? "and kiln status, of the last seconds" "$("$kiln" status)"
like "$("$kiln" status)" "^rank 0 +$host: [0-9]+ records/s; device [0-9]+ %, waits for data [0-9]+ %, for ranks [0-9]+ %, for the exchange [0-9]+ %; " \
	"a line for each rank"
like "$("$kiln" metrics)" "^kiln_rank_seconds_total[{]rank=\"1\",box=\"$host\",stage=\"device\"[}] [0-9.]+" "metrics have the times of each rank"
is "$("$kiln" stalls --json | /usr/bin/python3 -c 'import json, sys
rows = [rank["rows"] for rank in json.load(sys.stdin)["ranks"]["rank"]]
print(len(rows), min(rows) > 0, max(rows) < 1.1 * min(rows))')" "2 True True" "each rank has its half of the rows"
ends device
