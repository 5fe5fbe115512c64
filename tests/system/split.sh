#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Which shards validate, while data grow from night to night: by hash none changes its side, and a run whose weights were
# trained on its validation shards says so.
. "$(dirname "$0")/lib.sh"
. tests/system/fetch_lib.sh

config() { # name, split's keys, run's keys
	cat >"$work/kiln.conf" <<-CONF
		run: { name = "t"; epochs = 1; batch_rows = 32; ${3:-} };
		source: { url = "file://$work/data"; };
		sink: { url = "file://$work/runs"; };
		ring: { small_pages = true; };
		split: { $2 };
		schema = ( { name = "sentence"; dtype = "float32"; shape = [ 8 ]; },
		           { name = "label"; dtype = "int64"; shape = [ 2 ]; } );
		model: { layers = ( { op = "dense"; units = 2; }, { op = "softmax"; } ); };
	CONF
}

record=
sides() { # prints "KEY SPLIT" of the plan's shards in key order; 0 = train, 1 = validation
	python3 - "$record/plan" <<-'PY' | sort
		import struct, sys
		data = open(sys.argv[1], "rb").read()
		counts = struct.unpack_from("<3Q", data, 608)
		at, heap = 1376, 1376 + 32 * sum(struct.unpack_from("<96Q", data, 608))
		for split, count in enumerate(counts):
		    for _ in range(count):
		        offset, = struct.unpack_from("<Q", data, at)
		        at += 32
		        print(data[heap + offset:data.index(b"\0", heap + offset)].decode(), split)
	PY
}

has_plan() {
	grep -Eq '"plan_sha256":[[:space:]]*"[0-9a-f]' "$record/run.json"
}

night() { # name, split's keys, run's keys: a run up to its first checkpoint
	begin "$@"
	record=$KILN_ROOT/data/kiln/run/current
	: >"$KILN_ROOT/fetchd.log"
	start_fetchd
	wait_for 30 has_plan || echo "# $(cat "$KILN_ROOT/begin.log" "$KILN_ROOT/fetchd.log")"
	kill -KILL $fetchd
	wait $fetchd 2>/dev/null
	id=$(said id)
	"$KILN_BUILD/system/make_checkpoint" "$id" 5 1000 "$work/kiln.conf"
	echo finished >"$record/state"
}

said() { # a part of run.json
	python3 -c 'import json, sys; print(json.load(open(sys.argv[1])).get(sys.argv[2]))' "$record/run.json" "$1"
}

"$make_shards" "$work/made" train 30 40
mkdir "$work/data"
day() { # number of a shard, its name
	mv "$work/made"/train-"$(printf %05d "$1")"-of-* "$work/data/train-$2.tfrecord.gz"
}

# ---- By hash ----
for i in $(seq 20); do
	day "$i" "2026-11-$i"
done
night hash 'by = "hash"; test_glob = "";'
sides >"$work/before"
is "$(wc -l <"$work/before")" 20 "every shard is in the plan"
like "$(grep -c ' 1$' "$work/before")" '^[1-6]$' "by hash, about a tenth validates"
is "$(said validation_seen)" None "a run from scratch has seen nothing"
day 21 2026-10-31
day 22 2026-11-21
night hash 'by = "hash"; test_glob = "";' 'start_from = "latest";'
sides >"$work/after"
is "$(wc -l <"$work/after") $(comm -12 "$work/before" "$work/after" | wc -l)" "22 20" \
	"two shards more, one of them in front: each of the 20 others stays on its side"
is "$(said start_run) $(said validation_seen)" "$(basename "$(ls -d "$work/runs"/*/ | head -n 1)") None" \
	"the weights have not seen the validation"

# ---- By shard ----
rm -rf "$work/runs"
half='by = "shard"; validation_percent = 50; test_glob = "";'
rm "$work"/data/*
for i in 1 2 3 4; do
	day $((22 + i)) "d$i"
done
night shard "$half"
first=$id
is "$(sides | xargs)" "train-d1.tfrecord.gz 0 train-d2.tfrecord.gz 0 train-d3.tfrecord.gz 1 train-d4.tfrecord.gz 1" "by shard, the last ones validate"
day 27 d0
night shard "$half" 'start_from = "latest";'
is "$(said validation_seen)" "{'run': '$first', 'shards': 1, 'replaced': 0, 'of': 3}" "one more in front: run.json says that the weights saw a validation shard"
like "$(cat "$KILN_ROOT/fetchd.log")" "$first trained on 1 of the 3 validation shards, and this run starts from its weights" "an event says so"
like "$("$KILN_BIN/kiln" report)" "the figures of the validation are too good: $first trained on 1 of the 3 validation shards" "so does kiln report"
second=$id
night shard "$half" 'start_from = "latest";'
is "$(said start_run) $(said validation_seen)" "$second {'run': '$first', 'shards': 1, 'replaced': 0, 'of': 3}" \
	"the run after that one, too: its weights go back to the same run"
night shard "$half"
is "$(said validation_seen)" None "from scratch: nothing"
cp "$work/runs/$first/plan" "$work/plan"
rm -r "$work/runs/$first/plan" "$work/runs/$second/plan"
night shard "$half" 'start_from = "latest";'
is "$(said validation_seen)" None "with plans that are gone the run goes on"

head -c 5000000 /dev/zero | tr '\0' ' ' >>"$work/runs/$id/run.json"
night shard "$half" 'start_from = "latest";'
is "$(has_plan && said validation_seen)" None "with a run.json that has become large, too"
truncate -s 5G "$work/runs/$id/plan"
night shard "$half" 'start_from = "latest";'
is "$(has_plan && said validation_seen)" None "with a plan of 5 GiB, too"

# ---- Test shards that trained the weights ----
rm "$work"/data/*
"$make_shards" "$work/six" train 6 40
for i in 1 2 3 4 5 6; do
	mv "$work"/six/train-0000$((i - 1))-of-* "$work/data/train-d$i.tfrecord.gz"
done
night test 'by = "hash"; train_glob = "train-d[123]*"; test_glob = "train-d[456]*"; validation_percent = 0;'
first=$id
is "$(said test_seen)" None "a run from scratch has seen no test shard"
night test 'by = "hash"; train_glob = "train-d[45]*"; test_glob = "train-d[126]*"; validation_percent = 0;' 'start_from = "latest";'
is "$(said test_seen) $(said validation_seen)" "{'run': '$first', 'shards': 2, 'replaced': 0, 'of': 3} None" "run.json says that the weights saw test shards"
like "$(cat "$KILN_ROOT/fetchd.log")" "$first trained on 2 of the 3 test shards, and this run starts from its weights" "an event says so"
like "$("$KILN_BIN/kiln" report)" "the figures of the test are too good: $first trained on 2 of the 3 test shards" "so does kiln report"

# ---- A single shard ----
rm "$work"/data/*
day 28 only
night single 'by = "hash"; test_glob = "";'
like "$(cat "$KILN_ROOT/fetchd.log")" "data has 1 training shard, and none is held out: the run has no validation" "one shard: the run says that it has no validation"
night single 'by = "shard"; test_glob = "";'
like "$(cat "$KILN_ROOT/fetchd.log")" "data has 1 training shard, and none is held out" "by shard, too"
night single 'validation_percent = 0; test_glob = "";'
is "$(grep -c "none is held out" "$KILN_ROOT/fetchd.log")" 0 "not where none is asked for"

# ---- Shards that were written anew ----
rm "$work"/data/*
anew() { # records of a shard: six shards of these names
	rm -rf "$work/six"
	"$make_shards" "$work/six" train 6 "$1"
	for i in 1 2 3 4 5 6; do
		mv "$work"/six/train-0000$((i - 1))-of-* "$work/data/train-d$i.tfrecord.gz"
	done
}
anew 40
night anew "$half"
first=$id
anew 41
night anew "$half" 'start_from = "latest";'
is "$(said validation_seen)" "{'run': '$first', 'shards': 0, 'replaced': 3, 'of': 3}" "other objects with the same keys may hold the records that trained the weights"
like "$(cat "$KILN_ROOT/fetchd.log")" "starts from the weights of $first, and 3 of the 3 validation shards were replaced since" "an event says so"
like "$("$KILN_BIN/kiln" report)" "the figures of the validation may be too good: this run starts from the weights of $first" "so does kiln report"
