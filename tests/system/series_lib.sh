# SPDX-License-Identifier: Apache-2.0
# Shared by the tests of series: a night in the foreground. Source it after lib.sh. Sets make_shards and source.
make_shards=$KILN_BUILD/system/make_shards
source="url = \"file://$work/data\";"

config() { # name, keys of the night, keys of run
	cat >"$work/$1.conf" <<-CONF
		run: { name = "t"; epochs = 4; batch_rows = 32; ${3:-} };
		source: { $source };
		split: { by = "prefix"; };
		sink: { url = "file://$work/runs/$1"; };
		ring: { small_pages = true; };
		order: { window_shards = 3; };
		checkpoint: { every_steps = 30; };
		optimizer: { learning_rate = 0.002; };
		schema = ( { name = "sentence"; dtype = "float32"; shape = [ 8 ]; },
		           { name = "label"; dtype = "int64"; shape = [ 2 ]; } );
		model: { layers = ( { op = "dense"; units = 16; }, { op = "relu"; }, { op = "dropout"; rate = 0.2; },
		                    { op = "dense"; units = 2; }, { op = "softmax"; } ); };
		$2
	CONF
}

newest_series() { # sets series
	series=$(ls "$KILN_ROOT"/data/kiln/run/series/*/series.json 2>/dev/null | tail -n 1)
}

# All nodes use the kernels that the first node compiled.
night() { # node, configuration: sets code, series
	node "$1"
	[ -e "$KILN_ROOT/data/kiln/cache/kernels" ] || ! [ -e "$work/nodes/list/data/kiln/cache/kernels" ] || {
		mkdir -p "$KILN_ROOT/data/kiln/cache"
		cp -a "$work/nodes/list/data/kiln/cache/kernels" "$KILN_ROOT/data/kiln/cache/"
	}
	timeout 200 "$KILN_BIN/kiln" run --config "$work/$2.conf" >>"$KILN_ROOT/out" 2>>"$KILN_ROOT/log"
	code=$?
	newest_series
}

of_series() { # python expression of the series s and its trials t
	python3 -c 'import json, sys; s = json.load(open(sys.argv[1])); t = s["trials"]; print(eval(sys.argv[2]))' "$series" "$1"
}

# The bits of every trial: of the model that has finished, or of the newest checkpoint of one that stopped early.
bits() { # name of the sink
	python3 - "$series" "$work/runs/$1" <<-'PY'
		import glob, json, os, sys
		sys.path.insert(0, "tests/system")
		from tensors import digest
		for trial in json.load(open(sys.argv[1]))["trials"]:
		    folder = os.path.join(sys.argv[2], trial["run"])
		    record = json.load(open(folder + "/run.json"))
		    [epoch.pop("at_ms") for epoch in record["epochs"]]
		    model = folder + "/model/model.safetensors"
		    found = model if trial["state"] == "finished" else sorted(glob.glob(folder + "/checkpoints/*.safetensors"))[-1]
		    print(trial["name"], trial["state"], trial["epochs"], trial["value"], trial["rungs"], digest(found),
		          json.dumps([record["epochs"], record["metrics"]]))
	PY
}
