#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A ring that cannot be used, left by another firmware version or cut while both sides work: a restart repairs it, and the run
# ends with the same weights.
. "$(dirname "$0")/lib.sh"

config() { # name
	cat >"$work/$1.conf" <<-CONF
		run: { name = "t"; epochs = 20; batch_rows = 32; };
		source: { url = "file://$work/data"; };
		sink: { url = "file://$work/runs/$1"; };
		ring: { small_pages = true; };
		checkpoint: { every_steps = 20; };
		schema = ( { name = "sentence"; dtype = "float32"; shape = [ 8 ]; },
		           { name = "label"; dtype = "int64"; shape = [ 2 ]; } );
		model: { layers = ( { op = "dense"; units = 16; }, { op = "relu"; }, { op = "dense"; units = 2; },
		                    { op = "softmax"; } ); };
	CONF
}

# All nodes use the kernels that the first node compiled.
begin() { # name
	config "$1"
	node "$1"
	[ "$1" = whole ] || { mkdir -p "$KILN_ROOT/data/kiln" && cp -a "$work/nodes/whole/data/kiln/cache" "$KILN_ROOT/data/kiln/"; }
	id=$("$KILN_BIN/kiln-oneshot" begin --config "$work/$1.conf" 2>>"$KILN_ROOT/log")
	spool=$KILN_ROOT/data/kiln/spool/traind/$id ring=$KILN_ROOT/run/kiln/huge/ring
}

start() { # fetchd|traind
	"$KILN_BIN/kiln-$1" 2>>"$KILN_ROOT/log" &
	eval "$1=$!"
}

end() { # pid, expected exit status, name; with a time limit
	wait_for 60 test ! -d "/proc/$1" || kill -KILL "$1"
	wait "$1"
	is $? "$2" "$3"
}

state() {
	cat "$KILN_ROOT/data/kiln/run/current/state"
}

checkpoints() {
	find "$spool/checkpoints" -name 'ckpt-*.safetensors' | wc -l
}

model_bits() {
	python3 - "$spool/model/model.safetensors" <<-'PY'
		import hashlib, struct, sys
		data = open(sys.argv[1], "rb").read()
		print(hashlib.sha256(data[8 + struct.unpack("<Q", data[:8])[0]:]).hexdigest())
	PY
}

"$KILN_BUILD/system/make_shards" "$work/data" train 10 1200

begin whole
start fetchd
start traind
end $traind 0 "an undisturbed run ends"
expected=$(model_bits)

# ---- A ring of another firmware version, as after an update ----
begin version
start fetchd
wait_for 10 test -e "$ring"
kill -KILL $fetchd
wait $fetchd 2>/dev/null
python3 - "$ring" <<-'PY'
	import mmap, struct, sys
	with open(sys.argv[1], "r+b") as file:
	    with mmap.mmap(file.fileno(), 0) as ring:
	        ring[8:12] = struct.pack("<I", 1 + struct.unpack("<I", ring[8:12])[0])
PY
start traind
wait_for 10 grep -q 'version 3, expected a ring of version 2; waiting for fetchd to replace it' "$KILN_ROOT/log"
ok $? "traind waits at a ring of another version" "$(tail -n 1 "$KILN_ROOT/log")"
start fetchd
end $traind 0 "and goes on when fetchd has made a new one"
is "$(state) $(model_bits)" "finished $expected" "to the same weights"

# ---- Cut while both work ----
begin cut
start fetchd
start traind
for times in 1 2 3; do
	before=$(checkpoints)
	wait_for 60 eval '[ "$(checkpoints)" -gt $((before + 3)) ]'
	kill -STOP $fetchd $traind
	truncate -s 0 "$ring"
	kill -CONT $fetchd $traind
	end $fetchd 69 "the ring is cut ($times of 3): fetchd wants to be restarted"
	like "$(grep ' fetchd: ' "$KILN_ROOT/log" | tail -n 1)" "the ring's file was cut under its writer" "and says why"
	end $traind 69 "so does traind"
	is "$(state)" running "and the run is not over"
	start traind
	start fetchd
done
end $traind 0 "a ring cut three times costs three restarts"
is "$(state) $(model_bits)" "finished $expected" "and not a bit of the weights"

# ---- A slot that is not the next one: its cursor counts a step too many ----
begin skipped
start fetchd
start traind
wait_for 60 eval '[ "$(checkpoints)" -gt 3 ]'
kill -STOP $traind
change_last() { # fails until the ring is full: then the trainer has not read the last slot
	python3 - "$ring" <<-'PY'
		import mmap, struct, sys
		with open(sys.argv[1], "r+b") as file, mmap.mmap(file.fileno(), 0) as ring:
		    slots, = struct.unpack_from("<I", ring, 12)
		    slot_bytes, = struct.unpack_from("<Q", ring, 24)
		    head, tail = struct.unpack_from("<Q", ring, 64)[0], struct.unpack_from("<Q", ring, 128)[0]
		    if head - tail != slots:
		        sys.exit(1)
		    at = 43 * 4096 + (head - 1) % slots * slot_bytes + 128 + 24
		    struct.pack_into("<Q", ring, at, struct.unpack_from("<Q", ring, at)[0] + 1)
	PY
}
wait_for 30 change_last
ok $? "the last slot of a full ring is changed"
kill -CONT $traind
end $traind 69 "traind refuses it and wants to be restarted"
like "$(grep 'the ring gave' "$KILN_ROOT/log" | tail -n 1)" \
	" traind: the ring gave (train|validation|test) [0-9]+, batch [0-9]+, with a cursor of step [0-9]+, expected .* step [0-9]+$" "and says why"
start traind
end $traind 0 "it asks for the right one and goes on"
is "$(state) $(model_bits)" "finished $expected" "to the same weights"
