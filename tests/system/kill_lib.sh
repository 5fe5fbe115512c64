# SPDX-License-Identifier: Apache-2.0
# Shared by the tests that kill the daemons of a run again and again: one run is left alone, others are killed, and the weights
# and figures of all are compared. Source it after lib.sh or fetch_lib.sh. The test defines config(), which writes
# $work/kiln.conf, and sets `deadline` (of $SECONDS), `kills_wanted` and `victims` (daemons to kill).
kills_wanted=20 victims=(traind fetchd uploadd)

# All nodes use the kernels that the undisturbed run compiled.
begin() { # name
	node "$1"
	config "$1"
	[ "$1" = undisturbed ] ||
		{ mkdir -p "$KILN_ROOT/data/kiln" && cp -a "$work/nodes/undisturbed/data/kiln/cache" "$KILN_ROOT/data/kiln/"; }
	"$KILN_BIN/kiln-oneshot" begin --config "$work/kiln.conf" >"$KILN_ROOT/id" 2>>"$KILN_ROOT/log"
}

declare -A pid
start() { # fetchd|traind|uploadd
	local arguments=
	[ "$1" = uploadd ] && arguments=--drain
	"$KILN_BIN/kiln-$1" $arguments 2>>"$KILN_ROOT/log" &
	pid[$1]=$!
}

# A daemon that ended with 0 is done; one that was killed, or ended with 69 or 75, is started again.
tend() { # name
	kill -0 "${pid[$1]}" 2>/dev/null && return
	wait "${pid[$1]}"
	case $? in
	0) ended[$1]=1 ;;
	137 | 69 | 75) start "$1" ;;
	*) ended[$1]=1 gave_up=1 ;;
	esac
}

state() {
	cat "$KILN_ROOT/data/kiln/run/current/state" 2>/dev/null
}

progress() { # step of the newest checkpoint on this disk
	find "$KILN_ROOT/data/kiln/spool" -name 'ckpt-*.safetensors' 2>/dev/null | sed 's/.*ckpt-0*\([0-9]*\)\..*/\1/' |
		sort -n | tail -n 1
}

# Kill only a running daemon, and only after there was progress since its last kill, so that each kill hits real work.
start_all() { # name
	declare -gA ended=()
	gave_up=0
	begin "$1"
	start fetchd
	start traind
	start uploadd
}

tend_all() {
	local name
	for name in fetchd traind uploadd; do
		[ -n "${ended[$name]:-}" ] || tend $name
	done
	[ "${#ended[@]}" != 3 ] && [ $SECONDS -le $deadline ]
}

run() { # name, seed or ""
	local victim now
	last=-1
	declare -gA killed=([traind]=0 [fetchd]=0 [uploadd]=0)
	kills=0
	[ -z "$2" ] || RANDOM=$2
	start_all "$1"
	while tend_all; do
		now=$(progress)
		if [ -n "$2" ] && [ $kills -lt $kills_wanted ] && [ "${now:-0}" != "$last" ] && [ "$(state)" = running ]; then
			sleep 0.0$((RANDOM % 10))
			victim=${victims[RANDOM % ${#victims[@]}]}
			if [ -z "${ended[$victim]:-}" ] && kill -KILL "${pid[$victim]}" 2>/dev/null; then
				kills=$((kills + 1)) killed[$victim]=$((killed[$victim] + 1))
				wait "${pid[$victim]}" 2>/dev/null
				start "$victim"
				last=${now:-0}
			fi
		fi
		sleep 0.02
	done
}

# Digest of the weights alone: the file's header names run and configuration.
weights() { # name
	python3 - "$work/runs/$1"/*/model/model.safetensors <<-'PY'
		import hashlib, struct, sys
		data = open(sys.argv[1], "rb").read()
		print(hashlib.sha256(data[8 + struct.unpack("<Q", data[:8])[0]:]).hexdigest())
	PY
}

epochs() { # name: the epochs in run.json, without the run's names and times
	python3 -c 'import json, sys; r = json.load(open(sys.argv[1])); [e.pop("at_ms") for e in r["epochs"]]; print(json.dumps([r["epochs"], r["metrics"], r["confusion"], r["state"]]))' \
		"$work/runs/$1"/*/run.json
}
