# SPDX-License-Identifier: Apache-2.0
# Shared by the tests that kill or slow the programs of whole nights. Source it after lib.sh. A test that kills sets kills_wanted, and
# $work/CONFIGURATION.conf.

programs() { # prints the pids of this node's programs
	local pid
	for pid in $(pgrep "^kiln" 2>/dev/null); do
		[ "$(tr '\0' '\n' <"/proc/$pid/environ" 2>/dev/null | sed -n 's/^KILN_ROOT=//p')" = "$KILN_ROOT" ] && echo "$pid"
	done
}

program() { # name: prints its pid
	local pid
	for pid in $(programs); do
		[ "$(cat "/proc/$pid/comm" 2>/dev/null)" != "$1" ] || echo "$pid"
	done
}

# Runs a command that waits for a night. Meanwhile the trainer of this node works a tenth of the time: a night that only spends its
# budget leaves the cores to other tests.
with_slow_trainer() { # command...
	local slowing result
	while :; do
		mapfile -t pids < <(program kiln-traind)
		kill -STOP "${pids[@]}"
		sleep 0.9
		kill -CONT "${pids[@]}"
		sleep 0.1
	done 2>/dev/null &
	slowing=$!
	"$@"
	result=$?
	kill $slowing
	return $result
}

is_over() { # the newest series has ended: kiln run, started again, would begin another one
	newest_series
	[ -n "$series" ] && [ "$(of_series 's["ended_s"] > 0' 2>/dev/null)" = True ]
}

# A test may replace these four.
await_kill() { # waits until the next kill
	sleep 0.$((RANDOM % 9 + 1))
}

may_kill() { # whether it may be now
	! is_over
}

choose_victims() { # of $pids; sets victims
	victims=("${pids[RANDOM % ${#pids[@]}]}")
}

finish_night() { # the series is over, and kiln run was killed: does what that has left; sets code
	"$KILN_BIN/kiln-uploadd" --drain 2>>"$KILN_ROOT/log"
	code=$?
}

kill_while() { # pid: kills programs while it lives; sets code to its exit status, counts kills
	local pids victims
	while kill -0 "$1" 2>/dev/null; do
		await_kill
		[ $kills -lt "$kills_wanted" ] && may_kill || continue
		mapfile -t pids < <(programs)
		[ ${#pids[@]} -gt 0 ] || continue
		choose_victims
		kill -KILL "${victims[@]}" 2>/dev/null && kills=$((kills + 1))
	done
	wait "$1"
	code=$?
}

killed_night() { # node, configuration, seed, node with the compiled kernels: kills programs of the night; sets code, kills, series
	node "$1"
	mkdir -p "$KILN_ROOT/data/kiln/cache"
	cp -a "$work/nodes/$4/data/kiln/cache/kernels" "$KILN_ROOT/data/kiln/cache/"
	RANDOM=$3 kills=0 code=1
	until=$((SECONDS + 240))
	while [ $SECONDS -lt $until ]; do
		"$KILN_BIN/kiln" run --config "$work/$2.conf" >>"$KILN_ROOT/out" 2>>"$KILN_ROOT/log" &
		kill_while $!
		[ $code != 0 ] || break
		gone() { [ -z "$(programs)" ]; }
		wait_for 20 gone
		is_over || continue
		finish_night
		break
	done 2>/dev/null
	newest_series
}
