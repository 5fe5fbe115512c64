# SPDX-License-Identifier: Apache-2.0
# Shared by the tests of traind with a real fetchd: a configuration, daemons by PID, a run's results. Source lib.sh first.
make_shards=$KILN_BUILD/system/make_shards make_checkpoint=$KILN_BUILD/system/make_checkpoint

relu='{ op = "relu"; }, { op = "dropout"; rate = 0.2; },'
config() { # name, data, extra keys, optimizer
	cat >"$work/$1.conf" <<-CONF
		run: { name = "t"; epochs = 12; batch_rows = 32; $3 };
		source: { url = "file://$2"; };
		sink: { url = "file://$work/runs/$1"; };
		ring: { small_pages = true; };
		order: { window_shards = 3; };
		checkpoint: { every_steps = 20; };
		optimizer: { $4 };
		schema = ( { name = "sentence"; dtype = "float32"; shape = [ 8 ]; },
		           { name = "label"; dtype = "int64"; shape = [ 2 ]; } );
		model: { ${model:-} layers = ( { op = "dense"; units = 16; }, $relu { op = "dense"; units = 2; }, { op = "softmax"; } ); };
	CONF
}

spoil() { # folder, python expressions of 8 floats and 2 labels: makes a shard of 200 records, of which record 150 has these
	mkdir -p "$work/$1"
	python3 - "$work/$1/train-00000-of-00001.tfrecord" "$2" "$3" <<-'PY'
		import struct, sys
		def crc(data):
		    value = 0xffffffff
		    for byte in data:
		        value ^= byte
		        for _ in range(8): value = value >> 1 ^ (0x82f63b78 if value & 1 else 0)
		    value ^= 0xffffffff
		    return struct.pack("<I", ((value >> 15 | value << 17) + 0xa282ead8) & 0xffffffff)
		def field(number, data): return bytes([number << 3 | 2, len(data)]) + data
		def feature(name, kind, values): return field(1, field(1, name) + field(2, field(kind, field(1, values))))
		nan, inf = float("nan"), float("inf")
		with open(sys.argv[1], "wb") as out:
		    for i in range(200):
		        floats = eval(sys.argv[2]) if i == 150 else [0.5] * 8
		        labels = eval(sys.argv[3]) if i == 150 else [1, 0]
		        record = field(1, feature(b"sentence", 2, struct.pack("<8f", *floats)) + feature(b"label", 3, bytes(labels)))
		        length = struct.pack("<Q", len(record))
		        out.write(length + crc(length) + record + crc(record))
	PY
}

# All nodes use the kernels that the first node compiled.
begin() { # name: uses the configuration that is there
	[ -e "$KILN_ROOT/data/kiln/cache" ] || ! [ -e "$work/nodes/whole/data/kiln/cache" ] ||
		{ mkdir -p "$KILN_ROOT/data/kiln" && cp -a "$work/nodes/whole/data/kiln/cache" "$KILN_ROOT/data/kiln/"; }
	id=$("$KILN_BIN/kiln-oneshot" begin --config "$work/$1.conf" 2>>"$KILN_ROOT/log")
	local rc=$?
	spool=$KILN_ROOT/data/kiln/spool/traind/$id record=$KILN_ROOT/data/kiln/run/current
	return $rc
}

start() { # fetchd|traind|uploadd
	"$KILN_BIN/kiln-$1" 2>>"$KILN_ROOT/log" &
	eval "$1=$!"
}

stop_fetchd() {
	kill -KILL "$fetchd" 2>/dev/null
	wait "$fetchd" 2>/dev/null
}

state() {
	cat "$record/state"
}

record_json() { # python expression of the record r, whose epochs have no time of day: no two runs have the same
	python3 -c 'import json, sys
r = json.load(open(sys.argv[1]))
[e.pop("at_ms") for e in r.get("epochs", [])]
print(eval(sys.argv[2]))' "$record/run.json" "$1"
}

newest() { # the newest checkpoint in the spool
	find "$spool/checkpoints" -name 'ckpt-*.safetensors' | sort | tail -n 1
}

model_bits() {
	python3 - "$spool/model/model.safetensors" <<-'PY'
		import hashlib, struct, sys
		data = open(sys.argv[1], "rb").read()
		print(hashlib.sha256(data[8 + struct.unpack("<Q", data[:8])[0]:]).hexdigest())
	PY
}

at_step() { # step: whether there is a checkpoint of it or of a later one
	local name
	name=$(newest)
	[ -n "$name" ] && [ "$(basename "$name" | tr -dc 0-9 | sed 's/^0*//')" -ge "$1" ]
}

# Must be far from the run's end at step 4056, in case the test looks late.
run_until() { # step, signal
	start fetchd
	start traind
	wait_for 60 at_step "$1"
	kill -"$2" $traind
	wait $traind 2>/dev/null
	code=$?
}

run_to_end() {
	[ -d "/proc/${fetchd:-none}" ] || start fetchd
	start traind
	wait $traind
	code=$?
}

weights_of() { # safetensors file: digest of its parameters
	python3 - "$1" <<-'PY'
		import hashlib, json, struct, sys
		data = open(sys.argv[1], "rb").read()
		n = struct.unpack("<Q", data[:8])[0]
		header = json.loads(data[8:8 + n])
		digest = hashlib.sha256()
		for name in sorted(header):
		    if not name.startswith(("__", "state/", "optimizer/")):
		        a, b = header[name]["data_offsets"]
		        digest.update(name.encode() + data[8 + n + a:8 + n + b])
		print(digest.hexdigest())
	PY
}
