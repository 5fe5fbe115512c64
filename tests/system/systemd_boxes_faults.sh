#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A night of two boxes, each under a real systemd, where the part of box-2 fails each time: its kiln-fetchd, the begin of its part, its
# device. After three tries box-1 goes on without it, and says why; after a newer checkpoint box-2 has another chance. The weights are
# those of one box, to the bit.
boxes="1 2"
. "$(dirname "$0")/boxes_lib.sh"

conf() { # number
	config 100000 'seed = 3;' "checkpoint: { every_steps = 50; keep = 20; }; control: { remote = true; };
		ranks: { network = \"$network\"; trusted = true; wait_s = 20;$([ "$1" != 1 ] || echo ' boxes = "box-2";') };" | sed 's/order: {/& lanes = 2;/'
}

change_box() {
	leads_from_box_1 "$1"
	[ "$1" != 2 ] || break_unit kiln-rank-fetchd
}

break_unit() { # unit: of box-2, whose program ends with exit status 78
	drop_in "$1@.service" Service ExecStart= "ExecStart=/bin/sh -c 'exit 78'"
	broken=$(ls "$root/etc/systemd/system/$1@.service.d/"*-test.conf | tail -n 1)
}
mend_unit() {
	on 2
	rm "$broken"
	inside systemctl daemon-reload
}

make_two_boxes

gives_up() { # what box-1 says of box-2, name
	on 1
	wait_for 120 journal_has "the run goes on with 1 of 2 boxes; box box-2: its part of the run has failed 3 times since .*, the last time: .*$1" -u kiln-traind
	ok $? "$2: after three tries box-1 goes on without box-2, and says why" "$(journal -n 60 -u kiln-traind)
$(on 2; journal -n 40)"
	goes_on "$2: and it trains"
	status_is 0
	like "$(cat "$work/status")" '^boxes +box-1; without box-2$' "$2: kiln status names the lost one"
	wait_for 30 nothing_left_on 2
	ok $? "$2: nothing of the jobs is left on box-2" "$(left_on 2)"
	on 1
	inside journalctl --rotate --vacuum-time=1s >/dev/null 2>&1 # so that the next part finds its own lines
}
takes_part() { # name: the next start of the ranks has box-2
	local cursor
	on 1
	cursor=$(journal -n 0 --show-cursor | sed -n 's/^-- cursor: //p')
	inside systemctl --no-block restart kiln-traind
	wait_for 60 journal_has 'rank 1 of 2, on box 2 of 2: 1 of 2 lanes' -u kiln-traind --after-cursor="$cursor"
	ok $? "$1: the next start finds box-2 again" "$(journal -n 60)
$(on 2; journal -n 40)"
	goes_on "$1: and both train"
}

on 1
timer_soon
becomes 60 running "the timer of box-1 starts the night"
gives_up 'kiln-rank-fetchd@.*.service has failed: exit-code, status 78' "kiln-fetchd of box-2 fails"
mend_unit
takes_part "kiln-fetchd is mended"

on 2
mv "$root/etc/OpenCL" "$root/etc/OpenCL.gone"
on 1
inside systemctl --no-block restart kiln-traind
gives_up 'rank 1 on box-2: .*[Oo]pen ?CL' "the device of box-2 is gone"
on 2
mv "$root/etc/OpenCL.gone" "$root/etc/OpenCL"
takes_part "the device is there again"

on 2
break_unit kiln-rank-begin
inside systemctl daemon-reload
on 1
inside systemctl --no-block restart kiln-traind
gives_up 'kiln-rank-begin@.*.service has failed: exit-code, status 78' "the begin of box-2 fails"

stops_as_one_box
