#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# tests/bench/scale.py: its formulas in cases that can be counted or solved by hand, and its check against measured times.
. "$(dirname "$0")/lib.sh"
formula() { # name, Python: an expression that is true
	said=$(PYTHONPATH=tests/bench python3 - "$2" 2>&1 <<-'END'
		import sys
		from math import inf, isclose
		from scale import *
		slow = Link(message=0.5, rate=10, cached_rate=20)
		small = Network("small", parameters=1000, forward=1, backward=2, launches=0, row_bytes=0, decoded_rate=inf, weight_bytes=4, rows=4)
		large = replace(small, parameters=4 * BUCKET_BYTES // FLOAT)
		def sent(world):
		    """The messages of rank 0, each a chunk, in both halves."""
		    return [1 / world for half in range(2) for peer in range(1, world)]
		assert eval(sys.argv[1]), sys.argv[1]
	END
	)
	ok $? "$1" "$said"
}
formula "what a rank sends is all its chunks" 'all(isclose(bytes_out(60, n), 60 * sum(sent(n))) and messages_out(n) == len(sent(n)) for n in (1, 2, 4, 1023))'
formula "2 ranks send the values once, in two messages" 'bytes_out(60, 2) == 60 and messages_out(2) == 2'
formula "an exchange waits for its messages or for its bytes" 'exchange_time(slow, 60, 2) == 3 and exchange_time(slow, 20, 2) == 1 and exchange_time(slow, 60, 2, 9) == 9'
formula "more bytes than a cache holds have a rate of their own" 'exchange_time(slow, 10 * CACHED_BYTES, 2) == CACHED_BYTES'
formula "4 ranks on 2 cores take turns" 'exchange_time(replace(slow, cores=2, message=0), 40, 4) == 6 and exchange_time(replace(slow, cores=4, message=0), 40, 4) == 3'
formula "a fitted link returns the times with 2 ranks" 'all(isclose(exchange_time(fit_link({(148000, "x", 2): 1, (2500000, "x", 2): 5, (25000000, "x", 2): 70}, "x", 1), 4 * n, 2), t) for n, t in ((2500000, 5), (25000000, 70)))'
formula "16 devices are 2 boxes: 8 in a box, then the 2 leaders" '(lambda part: part["box"] == 7 / 4 * 200 and part["boxes"] == 400 and whole_exchange(part) == 750)(exchange_parts(small, 16, (slow, replace(slow, rate=1, cached_rate=10))))'
formula "a device alone exchanges nothing" 'whole_exchange(exchange_parts(small, 1, (slow, slow))) == 0'
formula "backward hides all but the last bucket" 'exposed_time(12, 100, 4) == 3 and exposed_time(12, 5, 4) == 7 and exposed_time(12, 0, 4) == 12'
formula "only the last micro-batch hides" '[step_times(small, 4, 1, lanes, inf) for lanes in (1, 2, 4)] == [(12, 8), (12, 4), (12, 2)]'
formula "the gradients of 4 micro-batches are added three times and copied twice" 'isclose(step_times(small, 4, 1, 4, 1e6)[0], 12 + 0.028 + 0.052)'
formula "weights and launches bound small micro-batches" 'pass_times(small, 1, 100) == (40, 80) and pass_times(replace(small, launches=6e6), 1, inf) == (11, 22)'
formula "the optimizer is shared" 'isclose(step_times(small, 1, 1, 1, 1e6)[0] - step_times(small, 1, 2, 2, 1e6)[0], 0.014)'
# An exchange of x seconds leaves x - 2 r of r rows, which compute 3 r: equal where r = x / 5.
formula "a device pays where it computes as long as it waits" 'paying_rows(large, 2, (replace(slow, rate=large.size / 500), slow), inf) == 100'
formula "memory: 16 bytes a weight alone, 12 of two, 24 with four micro-batches" '[device_bytes(1, *ranks) for ranks in ((1, 1), (2, 2), (1, 4))] == [16, 12, 24]'
formula "the most weights fill the device" 'isclose(device_bytes(most_parameters(8), 8, 8), DEVICE_BYTES)'

core=$(python3 -c 'import os; print(min(os.sched_getaffinity(0)))')
model() { # a results file, of a machine with one core
	taskset -c "$core" tests/bench/scale.py "$1" >"$work/lines" 2>"$work/tables"
	code=$?
	said=$(grep '"predicted: ' "$work/lines")
}
model "$work/none"
is "$code" 0 "the model predicts README's figures" "$said"
is "$(wc -l <<<"$said")" 12 "each of them" "$said"
is "$(grep -vxFf tests/bench/README.md "$work/tables")" "" "README has these tables"
is "$(grep -c '^| .* | 1024 | ' "$work/tables")" 6 "both with the world of 1024 for each network"

results() { # how much longer 4 ranks over TCP take than the model says
	local floats longer
	# Of 2 ranks each sends the values once, in 2 messages; of 4 one and a half times, in 6. In shared memory twice as many ranks share
	# the core.
	while read -r floats longer; do
		printf '{"case":"%s floats, %s","value":%s}\n' "$floats" "2 ranks, shared memory" $((floats / 2000)) \
			"$floats" "4 ranks, shared memory" $((floats * 3 / 2000)) "$floats" "2 ranks, TCP" $((floats / 1000)) \
			"$floats" "4 ranks, TCP" $((floats * longer / 2000 * $1))
	done <<-'END'
		25000000 3
		2500000 3
		148000 6
	END
}
results 1 >"$work/results"
model "$work/results"
is "$code $(grep -c '"ratio": 1.0}' <<<"$said")" "0 12" "measured results count, where there are any" "$said"
results 3 >"$work/results"
model "$work/results"
like "$code $(tail -n 1 "$work/tables")" '^1 scale: a predicted time is 3 times off a measured one, at most 2' "a measured time that the model misses fails"
sed -i '/"25000000 floats, 4 ranks, TCP/d' "$work/results"
model "$work/results"
like "$code $(cat "$work/tables")" '^1 .*lack the case of 25000000 floats, TCP, 4 ranks' "a time that is missing fails"
