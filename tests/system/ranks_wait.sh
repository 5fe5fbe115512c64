#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The box that leads while it waits for another box: a stop ends the wait at once. And a box whose part of the run fails each time: the
# run does not wait for it.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/train_lib.sh"
. "$(dirname "$0")/ranks_lib.sh"

"$make_shards" "$work/data" train 9 61 plain
"$make_shards" "$work/data" test 3 40
has_plan() { grep -q '"plan_sha256":[[:space:]]*"[0-9a-f]' "$record/run.json"; }
leads() { # name, further keys of ranks, further boxes, wait_s: a run whose plan is there, and whose other boxes are nowhere
	ranks_config "$1" "" "" "$net ranks: { network = \"127.0.0.0/8\"; trusted = true; boxes = \"box-2.invalid${3:-}\"; wait_s = ${4:-3600}; $2 };"
	node "$1"
	begin "$1"
	start fetchd
	wait_for 20 has_plan
	stop_fetchd
}
waits() {
	grep -q 'box box-2.invalid: ' "$KILN_ROOT/log"
}

# ---- A stop ----
signaled() { # name, request or "", SIGNAL or "", state afterwards
	leads "$1" ''
	start traind
	wait_for 20 waits
	ok $? "$1: it waits for the box" "$(cat "$KILN_ROOT/log")"
	kill -STOP $traind # so that it sees request and signal together
	[ -z "$2" ] || want "$2"
	[ -z "$3" ] || kill "-$3" $traind
	kill -CONT $traind
	wait_for 10 ended $traind
	ok $? "$1: it ends at once"
	kill -KILL $traind 2>/dev/null
	wait $traind
	is "$? $(state)" "0 $4" "$1: exit status 0, state $4" "$(cat "$KILN_ROOT/log")"
}
signaled stop-now stopped USR2 stopped
is "$(ls "$record/finished")" "$record/finished" "stop-now: the run rests"
like "$(cat "$KILN_ROOT/log")" "$id: stopped before its ranks have started" "stop-now: and the log says so"
signaled asked-alone stopped '' stopped
like "$(cat "$KILN_ROOT/log")" "$id: stopped before its ranks have started" "asked-alone: no rank has started"
signaled unit-stops '' USR2 running
signaled terminated '' TERM running

# ---- A box whose part fails each time ----
fault() { # failures, step, lasting: true or false, status, box or ""
	echo "{\"run\": \"$id\", \"faults\": $1, \"step\": $2, \"lasting\": $3, \"job\": \"a-$1\", \"why\": \"kiln-rank-fetchd@a-$1.service has failed: exit-code, status $4\"}" \
		>"$record/fault-${5:-box-2.invalid}.json"
}
refuses() { # name, exit status, state
	timeout 60 "$KILN_BIN/kiln-traind" 2>>"$KILN_ROOT/log"
	is "$? $(state)" "$2 $3" "$1" "$(cat "$KILN_ROOT/log")"
}
leads fails 'boxes_min = 2;'
fault 3 -1 true 78
refuses "where boxes_min boxes are not left, the run fails" 65 failed
like "$(record_json 'r["reason"]')" \
	'^found 1 boxes that can train, expected at least 2 by ranks.boxes_min; box box-2.invalid: its part of the run has failed 3 times since the begin, the last time: kiln-rank-fetchd@a-3.service has failed: exit-code, status 78' \
	"and its reason names the box and the cause"

leads outage 'boxes_min = 2;'
fault 3 -1 false 69
refuses "failures that pass, such as those of a store that is away, do not end the run" 69 running
like "$(cat "$KILN_ROOT/log")" 'found 1 boxes that can train, expected at least 2 .*box box-2.invalid: its part .* status 69' "and the log names the cause"
start traind
wait_for 20 waits
ok $? "and the next start asks the box again" "$(cat "$KILN_ROOT/log")"
end $traind
wait $traind 2>/dev/null

leads absent 'boxes_min = 2;' ' box-3.invalid' 1
fault 3 -1 true 78
refuses "a box that fails does not end a run that another box, which is away, could save" 69 running
fault 3 -1 true 78 box-3.invalid
refuses "where both fail, it ends" 65 failed

for failures in "2 -1" "3 50"; do
	leads "tries-${failures%% *}" 'boxes_min = 2;'
	fault $failures true 78
	start traind
	wait_for 20 waits
	ok $? "$failures: fewer failures, or those before another checkpoint, and the box is asked" "$(cat "$KILN_ROOT/log")"
	end $traind
	wait $traind 2>/dev/null
done
