#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# With fetch.bad_record = "skip" every checkpoint names the records left out so far, and run.json and kiln status name all of
# them: each once, whatever is killed meanwhile.
# shellcheck source=tests/system/lib.sh
. "$(dirname "$0")/lib.sh"
data=$work/data kiln=$KILN_BIN/kiln

damage() { # file, offset
	printf '\377' | dd of="$1" bs=1 seek="$2" conv=notrunc status=none
}

begin() { # name, epochs, keys of fetch
	node "$1"
	[ ! -e "$work/nodes/whole/data/kiln/cache" ] || [ "$1" = whole ] ||
		{ mkdir -p "$KILN_ROOT/data/kiln" && cp -a "$work/nodes/whole/data/kiln/cache" "$KILN_ROOT/data/kiln/"; }
	cat >"$work/$1.conf" <<-CONF
		run: { name = "t"; epochs = $2; batch_rows = 8; };
		source: { url = "file://$data"; };
		sink: { url = "file://$work/runs/$1"; };
		ring: { small_pages = true; };
		order: { window_shards = 2; };
		checkpoint: { every_steps = 10; keep = 4; };
		fetch: { bad_record = "skip"; $3 };
		schema = ( { name = "sentence"; dtype = "float32"; shape = [ 8 ]; },
		           { name = "label"; dtype = "int64"; shape = [ 2 ]; } );
		model: { layers = ( { op = "dense"; units = 512; }, { op = "relu"; }, { op = "dense"; units = 2; }, { op = "softmax"; } ); };
	CONF
	id=$("$KILN_BIN/kiln-oneshot" begin --config "$work/$1.conf" 2>>"$KILN_ROOT/log")
	spool=$KILN_ROOT/data/kiln/spool/traind/$id record=$KILN_ROOT/data/kiln/run/current
}

start() { # fetchd|traind
	"$KILN_BIN/kiln-$1" 2>>"$KILN_ROOT/log" &
	eval "$1=$!"
}

stop() { # fetchd|traind, signal
	local pid=${!1}
	kill -"$2" "$pid" 2>/dev/null
	wait "$pid" 2>/dev/null
}

# Prints KEY OFFSET REST for each entry, and the number of entries that did not fit; - if there is no list.
list() { # run.json, or a checkpoint
	python3 - "$1" <<-'PY'
		import json, struct, sys
		data = open(sys.argv[1], "rb").read()
		if data[:1] == b"{":
		    found = json.loads(data).get("quarantine")
		else:
		    header = 8 + struct.unpack("<Q", data[:8])[0]
		    tensor = json.loads(data[8:header]).get("state/quarantine")
		    if tensor:
		        first, last = tensor["data_offsets"]
		        assert tensor["dtype"] == "U8" and tensor["shape"] == [last - first], tensor
		        found = json.loads(data[header + first:header + last])
		    else:
		        found = None
		for r in sorted(found["records"], key=lambda r: (r["key"], r["offset"])) if found else []:
		    print(r["key"], r["offset"], "rest" if r["rest"] else "-")
		print("more", found["more"] if found else "-")
	PY
}

newest() { # the newest checkpoint in the spool
	find "$spool/checkpoints" -name 'ckpt-*.safetensors' 2>/dev/null | sort | tail -n 1
}

names_one() { # the newest checkpoint names a record
	[ -n "$(newest)" ] && list "$(newest)" | grep -q tfrecord
}

weights() {
	python3 - "$spool/model/model.safetensors" <<-'PY'
		import hashlib, struct, sys
		data = open(sys.argv[1], "rb").read()
		print(hashlib.sha256(data[8 + struct.unpack("<Q", data[:8])[0]:]).hexdigest())
	PY
}

shard() { # prefix, index, number of shards
	printf '%s-%05d-of-%05d.tfrecord' "$1" "$2" "$3"
}

"$KILN_BUILD/system/make_shards" "$data" train 24 1000 plain
"$KILN_BUILD/system/make_shards" "$data" test 2 100 plain
bytes=$(($(stat -c %s "$data/$(shard train 0 24)") / 1000))
for i in 3 8 15 21; do
	damage "$data/$(shard train $i 24)" $((bytes * 10 * i + 40))
	echo "$(shard train $i 24) $((bytes * 10 * i)) -"
done >"$work/bad"
damage "$data/$(shard train 12 24)" $((bytes * 700))
damage "$data/$(shard test 1 2)" $((bytes * 7 + 40))
(cat "$work/bad"; echo "$(shard train 12 24) $((bytes * 700)) rest"; echo "$(shard test 1 2) $((bytes * 7)) -") | sort >"$work/expected"
echo 'more 0' >>"$work/expected"

# ---- Undisturbed ----
begin whole 2 ''
start fetchd
start traind
wait $traind
is "$(cat "$record/state")" finished 'a run that leaves records out ends well'
is "$(list "$record/run.json")" "$(cat "$work/expected")" 'run.json has each of them once: key, offset, what is lost of a shard'
list "$(newest)" >"$work/found"
is "$(grep -vc '^more' "$work/found")" 5 'a checkpoint of the last epoch has those of training'
expected=$(weights)
"$KILN_BIN/kiln-controld" 2>>"$KILN_ROOT/log" &
controld=$!
wait_for 20 "$kiln" status --json
"$kiln" status --json | python3 -c 'import json, sys; print(json.dumps(json.load(sys.stdin)["run"]))' >"$work/status.json"
is "$(list "$work/status.json")" "$(cat "$work/expected")" 'kiln status --json has them, too'
kill $controld
wait $controld 2>/dev/null

# ---- One epoch: a record that a checkpoint forgets would not come again ----
data=$work/long
"$KILN_BUILD/system/make_shards" "$data" train 60 3000 plain
for i in 2 9 16 23 30 37 44 51 58; do
	damage "$data/$(shard train $i 60)" $((bytes * 40 * i + 40))
	echo "$(shard train $i 60) $((bytes * 40 * i)) -"
done >"$work/long-expected"
echo 'more 0' >>"$work/long-expected"
begin once 1 ''
start fetchd
start traind
wait_for 60 names_one
ok $? 'a checkpoint names what is left out so far'
stop traind KILL
stop fetchd KILL
is "$(cat "$record/state")" running 'killed in the middle'
list "$(newest)" >"$work/so-far"
[ "$(grep -vc '^more' "$work/so-far")" -lt 9 ]
ok $? 'which is not all of them yet' "$(cat "$work/so-far")"
start fetchd
start traind
wait $traind
is "$(list "$record/run.json")" "$(cat "$work/long-expected")" 'it goes on, and each of them is there once'

# ---- Again and again ----
data=$work/data
begin often 2 ''
start fetchd
start traind
kills=0 last=
while kill -0 $traind 2>/dev/null && [ $SECONDS -lt 300 ]; do
	now=$(newest)
	if [ "$now" != "$last" ] && [ $kills -lt 12 ] && [ "$(cat "$record/state")" = running ]; then
		last=$now kills=$((kills + 1))
		victim=$([ $((kills % 3)) = 0 ] && echo fetchd || echo traind)
		stop "$victim" KILL
		start "$victim"
	fi
	sleep 0.02
done
wait $traind
[ $kills -ge 6 ]
ok $? 'killed many times' "$kills"
is "$(cat "$record/state") $(weights)" "finished $expected" 'the weights are those of the run that nobody disturbed'
is "$(list "$record/run.json")" "$(cat "$work/expected")" 'and so is the list'

# ---- A budget that is spent ----
begin spent 2 'skip_records_max = 1;'
start fetchd
start traind
wait $traind
is "$(cat "$record/state") $(list "$record/run.json" | grep -c tfrecord)" 'failed 2' \
	'a run that ends as the budget is spent says which they were' "$(list "$record/run.json")"
stop fetchd KILL
