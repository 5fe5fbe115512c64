# SPDX-License-Identifier: Apache-2.0
# Shared by the tests of a run of several ranks: a configuration, the processes, the operator's requests. Source lib.sh and
# train_lib.sh first.
if ! command -v mpirun >/dev/null; then
	skip "several ranks" "no mpirun here: tools/deps/install test"
	exit
fi
export OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_btl=self,vader OMPI_MCA_hwloc_base_binding_policy=none
# Ranks share two cores.
export POCL_MAX_PTHREAD_COUNT=1

ranks_config() { # name, keys of run, of order, further lines
	cat >"$work/$1.conf" <<-CONF
		run: { name = "t"; epochs = 3; batch_rows = 32; $2 };
		source: { url = "file://$work/data"; };
		sink: { url = "file://$work/runs/$1"; };
		ring: { small_pages = true; };
		order: { lanes = 4; window_shards = 2; $3 };
		checkpoint: { every_steps = 10; };
		schema = ( { name = "sentence"; dtype = "float32"; shape = [ 8 ]; },
		           { name = "label"; dtype = "int64"; shape = [ 2 ]; } );
		$4
	CONF
}

net='model: { layers = ( { op = "dense"; units = 16; }, { op = "batch_norm"; }, { op = "relu"; }, { op = "dropout"; rate = 0.2; },
	{ op = "dense"; units = 2; }, { op = "softmax"; } ); };'

# Starts the kiln-fetchds and the ranks; their processes are in fetchds and ranks. Each $each_box ranks have a host name of their
# own, as on a box of their own.
start_ranks() { # world
	local rank box=()
	[ -z "${each_box:-}" ] ||
		box=(unshare --uts sh -c "hostname box-\$((OMPI_COMM_WORLD_RANK / $each_box)) && exec \"\$@\"" sh)
	fetchds=()
	for ((rank = 0; rank < $1; rank++)); do
		"$KILN_BIN/kiln-fetchd" --rank $rank --world "$1" 2>>"$KILN_ROOT/log" &
		fetchds+=($!)
	done
	if [ "$1" = 1 ]; then
		"$KILN_BIN/kiln-traind" 2>>"$KILN_ROOT/log" &
	else
		mpirun --allow-run-as-root -n "$1" "${box[@]}" "$KILN_BIN/kiln-traind" --rank-from-env 2>>"$KILN_ROOT/log" >&2 &
	fi
	ranks=$!
}

no_rank() { # of this node: other tests may have ranks too
	local pid
	for pid in $(pgrep -f -- --rank-from-env); do
		! grep -qzsxF "KILN_ROOT=$KILN_ROOT" "/proc/$pid/environ" || return 1
	done
}

end_ranks() { # waits for the ranks and ends the kiln-fetchds
	wait $ranks
	code=$?
	wait_for 10 no_rank
	kill -KILL "${fetchds[@]}" 2>/dev/null
	wait "${fetchds[@]}" 2>/dev/null
}

whole() { # name, world: a whole run of a configuration that is there
	node "$1-$2"
	begin "$1"
	start_ranks "$2"
	end_ranks
	is "$code $(state)" "0 finished" "$1: a run of $2 ranks" "$(tail -n 9 "$KILN_ROOT/log")"
}

figures() { # what the run's record says, without times
	record_json '[r["epochs"], r.get("confusion"), r.get("metrics"), sorted(map(str, r.get("quarantine", {}).get("records", [])))]'
}

same() { # name, world: this run, compared with that of one rank
	is "$(model_bits)" "$bits" "$1: $2 ranks have the weights of one, to the bit"
	is "$(figures)" "$told" "$1: and its figures"
}

seq=0 checkpoints=0
want() { # state: writes the operator's request; each has a number of its own
	seq=$((seq + 1))
	printf '{"seq": %d, "state": "%s", "checkpoint_seq": %d}' $seq "$1" $checkpoints >"$record/want.new"
	mv "$record/want.new" "$record/want"
}

is_newer() { # whether there is a checkpoint after $before
	[ "$(newest)" != "$before" ]
}

is_state() {
	[ "$(state)" = "$1" ]
}

fails() { # name, world, exit status, state, reason: a run that is there
	node "$1-fails"
	begin "$1"
	start_ranks "$2"
	end_ranks
	is "$code $(state)" "$3 $4" "$1: $2 ranks end with an error" "$(tail -n 9 "$KILN_ROOT/log")"
	like "$(record_json 'r.get("reason")') $(tail -n 30 "$KILN_ROOT/log")" "$5" "$1: and it is named"
}
