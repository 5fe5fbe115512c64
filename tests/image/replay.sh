#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Power cuts at block level: the daemons work on an ext4 file system whose every write and flush is recorded (QEMU's
# blklogwrites, through FUSE and a loop device), through a whole run with its checkpoints. Then the disk is checked as it is
# after each flush, and again with some of the writes after that flush. From KILN_POWER_CUTS (200) of these disks the run goes
# on, and ends with the same weights as an undisturbed run. There is no virtual machine: tests/image/power.sh runs the whole
# box in one.
. "$(dirname "$0")/../system/lib.sh"
cuts=${KILN_POWER_CUTS:-200} every=${KILN_POWER_EVERY:-1}
fs=$work/data.img record=$work/writes loop='' exporter=''

for program in qemu-storage-daemon losetup mkfs.ext4 e2fsck debugfs; do
	command -v $program >/dev/null || { skip "a recorded disk" "no $program here: tools/deps/install image"; exit; }
done

cleanup() {
	let_go
	rm -f "$work/exported"
}

mounted() { # file or device
	loop=$(losetup -f --show "$1" 2>"$work/said") && mkdir -p "$KILN_ROOT/data" && mount -t ext4 "$loop" "$KILN_ROOT/data" 2>"$work/said"
}

let_go() {
	umount "$KILN_ROOT/data" 2>/dev/null
	[ -z "$loop" ] || losetup -d "$loop"
	[ -z "$exporter" ] || { kill "$exporter"; wait "$exporter" 2>/dev/null; }
	loop='' exporter=''
}

recorded() {
	: >"$work/exported"
	truncate -s 0 "$record"
	qemu-storage-daemon --blockdev "driver=file,node-name=medium,filename=$fs" --blockdev "driver=file,node-name=record,filename=$record" \
		--blockdev driver=blklogwrites,node-name=disk,file=medium,log=record,log-sector-size=512 \
		--export "type=fuse,id=disk,node-name=disk,mountpoint=$work/exported,writable=on" >"$work/exporter" 2>&1 &
	exporter=$!
	wait_for 20 test -s "$work/exported" && mounted "$work/exported"
}

power_cut() { # verb, disk, further arguments: tests/image/power_cut.py
	mkdir -p "$work/cut"
	python3 tests/image/power_cut.py "$work/cut" "$KILN_BUILD/system/make_checkpoint" "$@"
}

# Starts a run, or continues it, and waits for its end. Puts the bytes of its weights, everything after the model's header,
# into $bits.
night() {
	bits=
	timeout 600 tools/night "$KILN_BIN" "$work/kiln.conf" >"$work/night.log" 2>&1 || return
	bits=$(python3 - "$work/runs/$(cat "$KILN_ROOT/run/kiln/night/run-id")/model/model.safetensors" <<-'PY'
		import hashlib, struct, sys
		data = open(sys.argv[1], "rb").read()
		print(hashlib.sha256(data[8 + struct.unpack("<Q", data[:8])[0]:]).hexdigest())
	PY
	)
}

figure() { # case, failures
	echo "{\"name\":\"power-cuts\",\"case\":\"$1\",\"value\":$2,\"unit\":\"failures\"}"
}

cat >"$work/kiln.conf" <<-CONF
	run: { name = "cut"; epochs = ${KILN_POWER_EPOCHS:-6}; batch_rows = 16; };
	source: { url = "file://$work/data"; };
	sink: { url = "file://$work/runs"; };
	ring: { small_pages = true; };
	checkpoint: { every_steps = 5; keep = 2; };
	schema = ( { name = "sentence"; dtype = "float32"; shape = [ 8 ]; }, { name = "label"; dtype = "int64"; shape = [ 2 ]; } );
	model: { layers = ( { op = "dense"; units = 16; }, { op = "relu"; }, { op = "dropout"; rate = 0.2; },
	                    { op = "dense"; units = 2; }, { op = "softmax"; } ); };
CONF
"$KILN_BUILD/system/make_shards" "$work/data" train 4 50 plain 8 >/dev/null
node box
truncate -s 512M "$fs"
mkfs.ext4 -q "$fs"
mounted "$fs" || { skip "a recorded disk" "no loop devices here: $(cat "$work/said")"; exit; }
night
ok $? "an undisturbed run" "$(tail -n 20 "$work/night.log")"
undisturbed=$bits
let_go
cp --sparse=always "$fs" "$work/before.img"
recorded || { skip "a recorded disk" "no FUSE here: $(cat "$work/said" "$work/exporter")"; exit; }
night
is "$bits" "$undisturbed" "a run on it ends with the same bits"
let_go

# ---- Every flush ----
power_cut replay "$work/before.img" "$record" "$every" >"$work/looks" 2>&1
like "$(tail -n 1 "$work/looks")" '^[0-9]{2,} looks, 0 ESPs, [1-9][0-9]* checkpoints, 0 bad$' \
	"after every flush, and some writes later: /data is repaired by itself, 0 torn checkpoints, none lost$(grep after "$work/looks")"
flushes=$(sed -n '1s/ flushes.*//p' "$work/looks")
figure "$(sed -n '$s/, 0 ESPs\(.*\), [0-9]* bad/\1/p' "$work/looks") at $flushes flush boundaries of a run with its checkpoints, and some writes later" \
	"$(sed -n '$s/.*, \([0-9]*\) bad/\1/p' "$work/looks")"

# ---- Continuing from these disks ----
newest() { # prints the file name of the newest checkpoint of an unfinished run
	local record=$KILN_ROOT/data/kiln/run/current run
	grep -qE '^(finished|failed)' "$record/state" && return
	run=$(sed -n 's/.*"id":[^"]*"\([^"]*\)".*/\1/p' "$record/run.json")
	ls "$KILN_ROOT/data/kiln/spool/traind/$run/checkpoints" | grep -xE 'ckpt-[0-9]+\.safetensors' | tail -n 1
}

# Check that the run continues: a run that began anew would end with the same weights, too.
goes_on() {
	[ -z "$checkpoint" ] && return
	from_checkpoint=$((from_checkpoint + 1))
	grep -q "going on from .*/$checkpoint:" "$KILN_ROOT/run/kiln/night/traind.log"
}

failures=0 reasons='' from_checkpoint=0
for ((cut = 0; cut < cuts; cut++)); do
	bits='' checkpoint=''
	flush=$((1 + cut * flushes / cuts))
	cp --sparse=always "$work/before.img" "$fs"
	power_cut make "$fs" "$record" $flush "$cut"
	e2fsck -p "$fs" >"$work/fsck" 2>&1
	"$KILN_BIN/kiln-oneshot" release
	rm -rf "$work/runs" "$KILN_ROOT/run"
	if mounted "$fs"; then
		checkpoint=$(newest 2>/dev/null)
		night
	fi
	let_go
	[ "$bits" = "$undisturbed" ] && goes_on || { failures=$((failures + 1)) reasons="$reasons
after flush $flush, which has '$checkpoint': found '$bits' $(tail -n 5 "$work/night.log" "$KILN_ROOT/run/kiln/night/traind.log" 2>&1)"; }
done
figure "$cut cuts of a run at flush boundaries, with some of the writes behind them, and gone on from there" $failures
is "$failures" 0 "$cut runs go on after a power cut, from the newest checkpoint, and end with the undisturbed bits$reasons"
like "$from_checkpoint" '^[1-9]' "$from_checkpoint of them had one"
