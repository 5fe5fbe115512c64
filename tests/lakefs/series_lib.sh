# SPDX-License-Identifier: Apache-2.0
# Shared by the tests of a series whose sink is lakeFS. Source it after tests/system/train_lib.sh and tests/lakefs/lib.sh. The test
# sets $data, a folder of shards, or calls start_production.

trials='experiments = ( { name = "adam"; overrides = { optimizer = { name = "adam"; }; }; },
                { name = "sgd"; overrides = { optimizer = { name = "sgd"; }; }; } );'

start_production() { # name of the test to skip: the server, a repository with the branches main and production, and data
	export DBUS_SYSTEM_BUS_ADDRESS=unix:path=$work/no-bus KILN_CONFIG=$work/kiln.conf
	start_lakefs "$1"
	data=$work/data
	"$make_shards" "$data" train 4 600
	"$make_shards" "$data" test 2 400
	change create s3://kiln/lakefs/rep >/dev/null
	change branch production main >/dev/null
}

conf() { # name, run keys, sink keys, more: a configuration; $repository and $source, or their defaults
	local from=${source:-"url = \"file://$data\";"}
	cat >"$work/$1.conf" <<-CONF
		run: { name = "t"; batch_rows = 32; $2 };
		source: { $from };
		sink: { url = "lakefs://${repository:-rep}/main/runs"; endpoint = "$KILN_LAKEFS"; ${3:-} };
		ring: { small_pages = true; };
		order: { window_shards = 2; };
		schema = ( { name = "sentence"; dtype = "float32"; shape = [ 8 ]; }, { name = "label"; dtype = "int64"; shape = [ 2 ]; } );
		model: { layers = ( { op = "dense"; units = 16; }, { op = "relu"; }, { op = "dense"; units = 2; }, { op = "softmax"; } ); };
		${4:-}
	CONF
}

seen() { # python expression of r, what the repository has, b, its branches, and n(commits, key): how many have this metadata
	lakefs_test "repository/${repository:-rep}" | python3 -c 'import json, sys
r = json.load(sys.stdin)
b, n = r["branches"], lambda commits, key: sum(key in c["metadata"] for c in commits)
print(eval(sys.argv[1]))' "$1"
}

series_json() { # python expression of s, the newest series, and t, its trials
	python3 -c 'import glob, json, sys
s = json.load(open(sorted(glob.glob(sys.argv[1] + "/data/kiln/run/series/*/series.json"))[-1]))
t = s["trials"]
print(eval(sys.argv[2]))' "$KILN_ROOT" "$1"
}

whole_night() { # name: a whole night
	timeout 200 "$KILN_BIN/kiln" run --config "$work/$1.conf" >"$KILN_ROOT/out" 2>>"$KILN_ROOT/log"
	code=$?
}

get_object() { # URL, key: its text
	"$KILN_BUILD/system/store" download "$1" "$2" "$work/object" >/dev/null && cat "$work/object"
}

a_night() { # run keys, sink keys, more: a whole night with its promotion
	conf kiln "$1" "$2" "${3:-}"
	whole_night kiln
	series=$(series_json 's["id"]' 2>/dev/null)
}

promote() { # arguments
	said=$("$KILN_BIN/kiln-oneshot" promote "$@" 2>&1)
	rc=$?
}
