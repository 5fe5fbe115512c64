# SPDX-License-Identifier: Apache-2.0
# Shared by the tests of a run that is in the store, and whose shards are overwritten afterwards. Source it after train_lib.sh.
# $work/data has the shards, $work/other has other records in shards of the same names.
kiln=$KILN_BIN/kiln
"$make_shards" "$work/data" train 4 600
"$make_shards" "$work/data" test 1 100
"$make_shards" "$work/other" train 4 700
"$make_shards" "$work/other" test 1 120
with=() # what kiln run --from and kiln evaluate get in addition, such as --config FILE

begin_run() { # name, source
	node "$1"
	config "$1" "$work/data" '' ''
	sed -i "s,epochs = 12,epochs = 3,; s|source: .*|source: { $2 };|" "$work/$1.conf"
	begin "$1"
}

end_run() { # name: trains the run that has begun, and puts its folder into $stored
	run_to_end
	"$KILN_BIN/kiln-uploadd" --drain 2>>"$KILN_ROOT/log"
	stop_fetchd
	is "$code $(state)" "0 finished" "$1: a run" "$(tail -n 5 "$KILN_ROOT/log")"
	stored=$work/runs/$1/$id
}

train() { # name, source
	begin_run "$1" "$2"
	end_run "$1"
}

repeat() { # name: repeats the run $stored on another disk
	node "$1"
	mkdir -p "$KILN_ROOT/data/kiln"
	timeout 120 "$kiln" run --from "$stored/run.json" "${with[@]}" >"$KILN_ROOT/out" 2>"$KILN_ROOT/log"
	code=$?
	record=$KILN_ROOT/data/kiln/run/current
}

evaluate() { # arguments: prints the exit status, rows and loss
	"$kiln" evaluate "$stored/model" --json "${with[@]}" "$@" >"$work/figures" 2>"$work/errors"
	echo "$? $(python3 -c '
import json, sys
f = json.load(open(sys.argv[1]))
print(f["rows"], f["loss"], f["changed"])' "$work/figures" 2>/dev/null)"
}
