#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A night that two boxes train together, each under a real systemd: the timer of box-1 starts the night, box-2 gets the run from
# their store. Processes are killed, and box-2 is cut off and
# comes back. The weights are those of one box, to the bit.
boxes="1 2"
. "$(dirname "$0")/boxes_lib.sh"

conf() { # number
	config 100000 'seed = 3;' "checkpoint: { every_steps = 50; keep = 20; }; control: { remote = true; };
		ranks: { network = \"$network\"; trusted = true; wait_s = 20;$([ "$1" != 1 ] || echo ' boxes = "box-2";') };" | sed 's/order: {/& lanes = 2;/'
}

change_box() { leads_from_box_1 "$1"; }

make_two_boxes

on 1
timer_soon
becomes 60 running "the timer of box-1 starts the night"
wait_for 60 passed 0
ok $? "both boxes train" "$(journal -n 60)
$(on 2; journal -n 60)"
[ "$(newest)" != "" ] || exit
says 10 "a rank on each box" 'rank 0 of 2, on box 1 of 2: 1 of 2 lanes' -u kiln-traind
says 10 "the other one logs there, too" 'rank 1 of 2, on box 2 of 2: 1 of 2 lanes' -u kiln-traind
status_is 0
like "$(cat "$work/status")" '^boxes +box-1, box-2$' "kiln status names the boxes" "$(cat "$work/status")"
is "$(on 2; state)" "" "box-2 has no run of its own"

job() { # the pid of orted on box-2: another one for each start
	(on 2 && inside pgrep -x orted)
}
another_job() { # pid of the last one
	local now
	now=$(job)
	[ "$now" != "" ] && [ "$now" != "$1" ]
}
survives() { # name, command that kills
	local before
	before=$(job)
	"${@:2}"
	wait_for 60 another_job "$before"
	ok $? "$1: another job starts" "$(journal -n 30)
$(on 2; journal -n 30)"
	goes_on "and it trains"
}
kill_on() { # box, pattern
	(on "$1" && inside pkill -KILL -f "$2")
}
is_stopping() {
	[ "$(inside systemctl show -P ActiveState kiln-traind)" = deactivating ]
}
lose_while_stopping() { # the rank that stands still delays the stop
	inside pkill -STOP -f '^/usr/libexec/kiln/kiln-traind --rank'
	inside systemctl --no-block restart kiln-traind
	wait_for 20 is_stopping
	kill_on 2 '^[^ ]*orted'
}
survives "the trainer on box-2 is killed" kill_on 2 '^/usr/libexec/kiln/kiln-traind'
survives "kiln-fetchd on box-2 is killed" kill_on 2 '^/usr/libexec/kiln/kiln-fetchd'
survives "box-2 is lost while kiln-traind of box-1 stops, to start again" lose_while_stopping

cut() { # up or down
	ip -n "kb$$-1" link set v2 "$1"
}
cut down
wait_for 120 journal_has 'the run goes on with 1 of 2 boxes; box box-2: ' -u kiln-traind
ok $? "box-2 is cut off: box-1 waits, then goes on without it" "$(journal -n 30)"
goes_on "and it trains"
status_is 0
like "$(cat "$work/status")" '^boxes +box-1; without box-2$' "kiln status names the lost one"
cut up
wait_for 30 nothing_left_on 2
ok $? "box-2 has ended its job" "$(left_on 2)"
survives "the next start finds box-2 again" kill_on 1 '^mpirun '

on 2
[ -n "$(ls "$root/var/cache/kiln-rank/kernels")" ]
ok $? "box-2 keeps the compiled kernels" "$(journal -u 'kiln-rank@*' -n 5)"
is "$(inside systemctl --failed --no-legend --plain | grep kiln-rank)" "" "no unit of box-2 has failed for good"
on 1
stops_as_one_box
