#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A night that three boxes train together, with KILN_FAULTS (40) random faults of the two that do not lead: a box is reset, cut off,
# frozen or slowed, or one of its processes is killed. The night ends, nothing is left on any box, and the weights are those of one
# box, to the bit.
boxes="1 2 3"
. "$(dirname "$0")/../system/boxes_lib.sh"

faults=${KILN_FAULTS:-40}
RANDOM=${KILN_SEED:-$$}
echo "# seed $RANDOM of KILN_SEED=${KILN_SEED:-$$}"

conf() { # number
	config 100000 'seed = 3;' "checkpoint: { every_steps = 50; keep = 20; }; control: { remote = true; };
		ranks: { network = \"$network\"; trusted = true; wait_s = 10;$([ "$1" != 1 ] || echo ' boxes = "box-2 box-3";') };" | sed 's/order: {/& lanes = 4;/'
}

change_box() { leads_from_box_1 "$1"; }

make_network
ok $? "a network of boxes"
make_store 200
issue init "$pki"
for n in 1 2 3; do
	issue issue "$pki" box-$n
done
issue issue "$pki" leader --role ranks
for n in 3 2 1; do
	make_box $n
	ok $? "box-$n boots" "$(tail -n 5 "$root.console"; journal -n 20)"
done

on 1
timer_soon
becomes 60 running "the timer of box-1 starts the night"
goes_on "three boxes train"

# ---- Faults ----

reset_box() { # number: without a word to anybody; then it boots
	on "$1"
	kill -KILL "$leader"
	wait_for 20 gone
	sleep $((RANDOM % 15))
	start_box || ok 1 "box-$1 boots again" "$(tail -n 5 "$root.console")"
}
cut_off() { # number
	ip -n "kb$$-1" link set "v$1" down
	sleep $((5 + RANDOM % 50))
	ip -n "kb$$-1" link set "v$1" up
}
processes_of() { # number: pids of the job there
	(on "$1" && pgrep --ns "$leader" --nslist pid -f '^(/usr/libexec/kiln/kiln-(traind|fetchd)|.*orted)')
}
freeze() { # number
	local pids
	pids=$(processes_of "$1")
	[ -n "$pids" ] || return
	kill -STOP $pids
	sleep $((1 + RANDOM % 20))
	kill -CONT $pids 2>/dev/null
}
slow_down() { # number: it stands still most of the time
	local pids beat
	pids=$(processes_of "$1")
	for beat in {1..20}; do
		kill -STOP $pids 2>/dev/null
		sleep 0.4
		kill -CONT $pids 2>/dev/null
		sleep 0.1
	done
}
kill_one() { # number
	local pids
	pids=($(processes_of "$1"))
	[ ${#pids[@]} -eq 0 ] || kill -KILL "${pids[RANDOM % ${#pids[@]}]}"
}

kinds=(reset_box cut_off freeze slow_down kill_one)
for ((fault = 1; fault <= faults; fault++)); do
	kind=${kinds[RANDOM % ${#kinds[@]}]} box=$((2 + RANDOM % 2))
	$kind $box
	on 1
	goes_on "fault $fault, $kind of box-$box: the night goes on"
	# All boxes take part again, where one was given up; and systemd forgets its restarts, which the next start waits for.
	inside systemctl restart kiln-traind
	goes_on "and after a new start"
done

# ---- The end ----

stops_as_one_box
