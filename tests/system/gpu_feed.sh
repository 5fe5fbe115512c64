#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The preloaded library of gpu-kit's part `feed` counts the commands of a step and their times. unit/gpu_send waits for each of its
# 20 batches, so no copy of it runs beside a kernel of another step.
. "$(dirname "$0")/lib.sh"
preload=$KILN_BUILD/system/preload
measure() { # window, type of the device: sets `lines` and `code`
	rm -f "$work/feed"
	KILN_DEVICE_TYPE=$2 LD_PRELOAD=$preload/feed_times.so:$preload/device_type.so KILN_FEED_CASE=sent KILN_FEED_STEPS=$1 \
		KILN_FEED_FILE=$work/feed "$KILN_BUILD/unit/gpu_send" >"$work/log" 2>&1
	code=$?
	lines=$(cat "$work/feed" 2>/dev/null)
}
value() { # case
	sed -n "s/.*\"case\":\"sent: $1\",\"value\":\([^,]*\),.*/\1/p" <<<"$lines"
}

measure '4 12' gpu
is "$code" 0 "the program passes" "$(cat "$work/log")"
is "$(value 'steps measured')" 12.00 "the window has its steps" "$lines"
is "$(value 'number of its copies') $(value 'number of its kernels') $(value 'number of its reads')" "2.00 1.00 1.00" \
	"two copies, a kernel and a read a step" "$lines"
is "$(value 'time of copies within kernels of other steps')" 0.00 "no copy is hidden" "$lines"
like "$(value 'device time without a kernel')" '^[1-9][0-9]*\.' "the device waits between the kernels" "$lines"
like "$(value 'speed of the copies')" '^[0-9]*\.[0-9]*$' "copies have a speed" "$lines"
measure '2 4 9' gpu
is "$code" 64 "a second window that begins within the first is refused"
measure 20 gpu
is "$code" 64 "a window without a length is refused"
measure '2 4 12' gpu
is "$(value 'few events: steps measured') $(value 'few events: number of its kernels')" "4.00 1.00" \
	"a second window has one event of a step's kernels" "$lines"
measure '15 100' gpu
is "$(value 'steps measured')" 6.00 "a program that ends in the window is measured until its end" "$lines"
measure '4 12' cpu
is "$code $lines" "0 " "a CPU has no copies" "$(cat "$work/log")"
