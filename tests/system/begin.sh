#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# kiln-oneshot begin against the embedded store: which run it chooses, what it fetches, what it refuses; kiln config.
. "$(dirname "$0")/lib.sh"

mkdir -p "$work/data" "$work/runs"
printf 'encoder' >"$work/data/encoder.bin"
printf '{}' >"$work/data/dataset.json"
a_shard "$work/data"

config() { # start_from
	cat >"$work/kiln.conf" <<-CONF
		run: { name = "t"; start_from = "$1"; };
		source: { url = "file://$work/data"; };
		sink: { url = "file://$work/runs"; };
	CONF
}

# Sets rc, said (standard output: the run's id) and errors.
begin() {
	said=$("$KILN_BIN/kiln-oneshot" begin --config "$work/kiln.conf" 2>"$work/errors")
	rc=$?
	errors=$(cat "$work/errors")
}

put_state() { # state
	echo "$1" >"$record/state.new"
	mv "$record/state.new" "$record/state"
}

name() { # step
	printf 'checkpoints/ckpt-%012d.safetensors' "$1"
}

# Writes a whole checkpoint of the network of kiln.conf.
checkpoint() { # run id, step, path
	KILN_ROOT=$work/made "$KILN_BUILD/system/make_checkpoint" "$1" "$2" 500 "$work/kiln.conf"
	mkdir -p "$(dirname "$3")"
	mv "$work/made/data/kiln/spool/traind/$1/$(name "$2")" "$3"
}

# Puts a checkpoint into the store; the last one is named by latest.json.
store_checkpoint() { # run id, step
	local stored=$work/runs/$1/$(name "$2")
	checkpoint "$1" "$2" "$stored"
	printf '{"version":1,"step":%d,"key":"%s","bytes":%d,"sha256":"%s","time":1}' "$2" "$(name "$2")" \
		"$(stat -c %s "$stored")" "$(sha256sum "$stored" | cut -d' ' -f1)" >"$work/runs/$1/checkpoints/latest.json"
}

damage() { # file
	printf 'x' | dd of="$1" bs=1 seek=$(($(stat -c %s "$1") - 100)) conv=notrunc 2>/dev/null
}

# ---- One disk, several nights ----
node first
record=$KILN_ROOT/data/kiln/run/current
config scratch
begin
first=$said
is "$rc" 0 "a run is begun"
like "$first" '^t-[0-9]{8}-[0-9]{6}$' "its id is printed"
like "$(cat "$work/runs/$first/run.json")" '"state":.*"running"' "its record is in the store before the first batch"
is "$(cat "$KILN_ROOT/data/kiln/spool/traind/$first/model/encoder.bin")" encoder "the encoder goes with the model"
is "$(cat "$KILN_ROOT/data/kiln/spool/traind/$first/model/dataset.json")" '{}' "so does dataset.json"

plan_sha256() { # SHA-256 of the current plan, if there is one
	sed -i "s/\"plan_sha256\":.*/\"plan_sha256\": \"$1\",/" "$record/run.json"
}
plan_sha256 "$(printf '%064d' 1)"
put_state expired
echo "broken" >"$work/kiln.conf"
begin
is "$rc $said" "0 $first" "an unfinished run that has its plan goes on with its own configuration, whatever kiln.conf says"
like "$errors" "kiln.conf has changed since $first was begun; the change counts for the next run$" "and it says so"
is "$(cat "$record/state")" running "it is running again"

put_state finished
begin
is "$rc" 78 "a wrong kiln.conf begins nothing (exit 78)" "$errors"
like "$errors" 'kiln.conf:2: syntax error: at the end of the file' "it says where"
config scratch
sed -i 's/^run: /model: { loss = "mine"; }; run: /' "$work/kiln.conf"
begin
is "$rc" 78 "nor does a model that cannot be built" "$errors"
is "$(cat "$record/state")" finished "the last run stays as it was"
config scratch
begin
[ "$rc" = 0 ] && [ "$said" != "$first" ]
ok $? "after a final run comes a new one" "$said $errors"

# ---- Missing shards ----
incomplete=$work/data/prep.incomplete
: >"$incomplete"
put_state expired
begin
is "$rc" 65 "an unfinished run without a plan is refused while kiln prep is not done (exit 65)"
like "$errors" "file://$work/data/prep.incomplete: kiln prep did not finish here; run it again" "it names the object"
plan_sha256 "$(printf '%064d' 1)"
begin
is "$rc $said" "0 $(sed -n 's/.*"id":[^"]*"\([^"]*\)".*/\1/p' "$record/run.json")" "one that has its plan goes on" "$errors"
plan_sha256 ""
put_state finished
before=$(cat "$record/run.json")
begin
is "$rc $(cat "$record/state")" "65 finished" "and no new run begins"
is "$(cat "$record/run.json")" "$before" "the last run stays as it was"
rm "$incomplete"
begin
is "$rc" 0 "until kiln prep is done" "$errors"

# ---- A new disk ----
new_disk() { # of the same box: a box is a machine and its KILN_ROOT
	rm -r "$KILN_ROOT/data"
}
second=$said
new_disk
spool=$KILN_ROOT/data/kiln/spool/traind/$second
stored=$work/runs/$second
store_checkpoint "$second" 3
store_checkpoint "$second" 7
damage "$stored/$(name 3)"
damage "$stored/$(name 7)"
begin
is "$rc" 65 "no good checkpoint among those in the store: refused (exit 65)" "$errors"
like "$errors" "no checkpoint in file://$work/runs is good: $(name 7), $(name 3)" "naming them"
[ -z "$(ls "$spool/checkpoints")" ] && [ ! -e "$record" ]
ok $? "and neither of them nor a record is left" "$(ls "$record" "$spool/checkpoints" 2>&1)"
store_checkpoint "$second" 3
store_checkpoint "$second" 5
store_checkpoint "$second" 7
begin
is "$rc $said" "0 $second" "a new disk takes the unfinished run from the store" "$errors"
cmp "$spool/$(name 7)" "$stored/$(name 7)"
ok $? "with its newest checkpoint"

# ---- A run record without a good checkpoint ----
brought() { # step, name: the run continues from this checkpoint, the only one in the spool
	begin
	is "$rc $said $(ls "$spool/checkpoints")" "0 $second $(basename "$(name "$1")")" "$2" "$errors"
	like "$errors" "no good checkpoint on this disk; going on from $(name "$1") in the store" "and it says so"
	cmp "$spool/$(name "$1")" "$stored/$(name "$1")"
	ok $? "and it is the one of the store"
}
rm -r "$spool"
brought 7 "the spool is gone: from the store"
damage "$spool/$(name 7)"
printf 'x' >"$spool/$(name 6)"
brought 7 "all in the spool are damaged: from the store"
like "$errors" "$(name 7): .*going back to the one before" "warning of the damaged one"
rm -r "$spool"
rm "$stored/$(name 7)"
brought 5 "what latest.json names is missing: the one before"
like "$errors" "$(name 7).*going back to the one before" "warning of the missing one"
rm -r "$spool"
store_checkpoint "$second" 7
damage "$stored/$(name 7)"
damage "$stored/$(name 5)"
brought 3 "the two newest are damaged: the one before them"
like "$errors" "$(name 7): SHA-256 .*, latest.json says" "warning of the digest"
like "$errors" "$(name 5): .*: CRC [0-9a-f]*, expected" "and of a tensor's CRC"
rm -r "$spool"
store_checkpoint "$second" 5
echo x >"$stored/checkpoints/latest.json"
rm "$stored/$(name 7)"
brought 5 "latest.json is damaged: the newest by name"
like "$errors" "latest.json: .*going by the names" "with a warning"
before=$(ls -i "$spool/checkpoints")
damage "$stored/$(name 5)"
begin
is "$rc $(ls -i "$spool/checkpoints")" "0 $before" "a good one on the disk: nothing is brought"
mkdir "$work/aside"
mv "$stored/checkpoints" "$work/aside/"
rm -r "$spool"
begin
is "$rc $(ls "$spool/checkpoints")" "0 " "none anywhere: the run goes on"
like "$errors" "no checkpoint on this disk or in the store; starting from its beginning" "from its beginning, and says so"
mv "$work/aside/checkpoints" "$stored/"
store_checkpoint "$second" 7

new_disk
sed -i 's/"state":.*"running"/"state": "finished"/' "$work/runs/$second/run.json"
config latest
begin
[ "$rc" = 0 ] && [ "$said" != "$second" ]
ok $? "a new disk after a finished run begins a new one" "$said $errors"
cmp "$KILN_ROOT/data/kiln/run/current/start.safetensors" "$stored/$(name 7)"
ok $? "run.start_from = latest: from the store's last run"

third=$said
like "$(cat "$record/run.json")" "\"start_run\":.*\"$second\"" "its record says whose weights they are"
put_state failed
begin
is "$rc" 0 "after a run that came to no checkpoint" "$errors"
cmp "$record/start.safetensors" "$stored/$(name 7)"
ok $? "run.start_from = latest: what that one was to start with"

# ---- Weights of another network ----
put_state finished
before=$(cat "$record/run.json")
echo 'model: { layers = ( { op = "dense"; units = 2; }, { op = "softmax"; } ); };' >>"$work/kiln.conf"
begin
is "$rc" 78 "run.start_from = latest with other layers: refused (exit 78)" "$errors"
like "$errors" "kiln.conf: run.start_from = .latest., but the layers are not those .*: $second: layers_hash: found [0-9a-f]{64}, expected [0-9a-f]{64}" "saying so"
is "$(cat "$record/state") $(cat "$record/run.json")" "finished $before" "the last run stays as it was"
is "$(ls "$record/..")" "$(printf 'archive\ncurrent\nlock\nseries.lock\ntonight.json\ntonight.lock\nunbegun')" "and nothing is left beside it but the night, and why"
like "$(cat "$record/../unbegun")" "layers_hash: found" "for status to show"
put_state running
"$KILN_BIN/kiln-oneshot" unfinished
is "$?" 1 "meanwhile nobody may work on a run"
put_state finished
sed -i 's/latest/scratch/' "$work/kiln.conf"
begin
is "$rc" 0 "from scratch it begins" "$errors"
"$KILN_BIN/kiln-oneshot" unfinished
is "$?" 0 "and may be worked on"
[ ! -e "$record/start.safetensors" ]
ok $? "the record has no weights to start with"

# ---- A run that never started, and a corrected kiln.conf ----
node fourth
record=$KILN_ROOT/data/kiln/run/current
rm -r "$work/runs"
config scratch
sed -i 's,/data",/dat",' "$work/kiln.conf"
a_shard "$work/dat"
begin
wrong=$said
begin
is "$rc $said" "0 $wrong" "a run that never started goes on as long as kiln.conf is as it was"
echo 'run: {' >"$work/kiln.conf"
begin
is "$rc $(cat "$record/state")" "78 running" "a wrong kiln.conf leaves it as it is (exit 78)" "$errors"
config scratch
store_checkpoint "$wrong" 3
begin
is "$rc $said" "0 $wrong" "with a checkpoint in the store it goes on with its own configuration" "$errors"
rm -r "$work/runs/$wrong/checkpoints"
begin
is "$rc $said" "0 $wrong" "a run with a checkpoint in the spool goes on with its own configuration" "$errors"
rm "$KILN_ROOT/data/kiln/spool/traind/$wrong/checkpoints"/*
begin
[ "$rc" = 0 ] && [ "$said" != "$wrong" ]
ok $? "without any a new run takes its place" "$said $errors"
like "$errors" "$wrong never started, and kiln.conf has changed since: a new run takes its place" "and the log says so"
archived=$KILN_ROOT/data/kiln/run/archive/$wrong
is "$(cat "$archived/state")" failed "the old one is in the archive as failed"
like "$(cat "$archived/run.json")" '"reason":.*"it never started, and kiln.conf changed"' "with the reason"
like "$(cat "$work/runs/$wrong/run.json")" '"state":.*"failed"' "the store knows too"
[ ! -e "$KILN_ROOT/data/kiln/spool/traind/$wrong" ]
ok $? "and nothing of it waits for upload"
like "$(cat "$record/config")" "file://$work/data\"" "the new one has kiln.conf as it is now"

node fifth
config scratch
sed -i "s,file://$work/runs,file:///proc/none," "$work/kiln.conf"
begin
is "$rc" 77 "a sink that cannot be written (exit 77)" "$errors"
config scratch
begin
is "$rc" 0 "put right, a new run begins" "$errors"

# ---- Overrides of run.start, for one run only ----
node override
record=$KILN_ROOT/data/kiln/run/current
mkdir -p "$KILN_ROOT/data/kiln/run"
config scratch
sed -i 's/name = "t"/name = "alone"/' "$work/kiln.conf"
next() { # overrides
	echo "{\"version\": 1, \"overrides\": {$1}}" >"$KILN_ROOT/data/kiln/run/next.json"
}
effective() { # key
	"$KILN_BIN/kiln" config show "$record/config" | sed -n "s/^  $1 = \\([^;]*\\);.*/\\1/p" | head -n 1
}
next '"run.epochs": 3, "run.seed": 9'
begin
is "$rc $(effective epochs) $(effective seed)" "0 3 9" "epochs and seed of this run alone" "$errors"
[ ! -e "$KILN_ROOT/data/kiln/run/next.json" ]
ok $? "next.json is removed: overrides hold for one run"
put_state finished
begin
is "$rc $(effective epochs)" "0 5" "the next run has kiln.conf's"
put_state finished
next '"run.epochs": 0'
begin
is "$rc" 78 "what no run may have is refused" "$errors"
like "$errors" 'run.epochs: found 0, allowed: ' "by name"
next '"run.name": "x"'
begin
is "$rc" 78 "so is what may not be overridden" "$errors"
like "$errors" 'run.name: found it in a trial, allowed: outside of trials' "by name"
next '"optimizer.name": "sgd", "model.layers.dense_1.units": 17'
begin
is "$rc $(effective name) $(grep -c 'units = 17;' "$record/config")" '0 "alone" 1' "every key of a trial, layers by name" "$errors"
put_state finished

# ---- Overrides of a run that never started ----
node again
record=$KILN_ROOT/data/kiln/run/current
mkdir -p "$KILN_ROOT/data/kiln/run"
rm -r "$work/runs"
config scratch
sed -i 's/name = "t"/name = "again"/' "$work/kiln.conf"
next '"run.epochs": 3, "run.start_from": "latest"'
begin
first=$said
begin
is "$rc $said" "0 $first" "kiln.conf is as it was: it goes on" "$errors"
next '"run.epochs": 4'
begin
is "$rc $said $(ls "$KILN_ROOT/data/kiln/run")" "0 $first $(printf 'current\nlock\nseries.lock\ntonight.json\ntonight.lock')" \
	"what was asked of a run that has begun counts for no other"
echo 'run: {' >"$work/kiln.conf"
begin
is "$rc $(cat "$record/state")" "78 running" "a wrong kiln.conf leaves it as it is"
config scratch
sed -i 's/name = "t"/name = "again"; batch_rows = 64/' "$work/kiln.conf"
begin
[ "$rc" = 0 ] && [ "$said" != "$first" ]
ok $? "kiln.conf has changed: a new run takes its place" "$said $errors"
is "$(effective epochs) $(effective start_from) $(effective batch_rows)" '3 "latest" 64' "with what was asked of the first one"
second=$said
begin
is "$rc $said" "0 $second" "which goes on in its turn"
next '"run.epochs": 3, "run.start_from": "latest"'
python3 -c 'import json, sys
record = json.load(open(sys.argv[1]))
del record["overrides"]
json.dump(record, open(sys.argv[1], "w"))' "$record/run.json"
begin
is "$rc $(effective epochs) $(grep -c run.epochs "$record/run.json")" "0 3 1" "killed before the record had it: begun once more, with it" "$errors"
put_state finished
begin
is "$rc $(effective epochs) $(effective start_from)" '0 5 "scratch"' "the run after it has kiln.conf's"

# ---- Two boxes with one kiln.conf ----
rm -r "$work/runs"
config scratch
a_box() { # name, first digit of its machine-id
	node "$1"
	record=$KILN_ROOT/data/kiln/run/current
	mkdir -p "$KILN_ROOT/etc"
	machine=$(printf "$2%.0s" {1..32})
	echo "$machine" >"$KILN_ROOT/etc/machine-id"
}
stored() { # run, member
	python3 -c 'import json, sys; print(json.load(open(sys.argv[1])).get(sys.argv[2]))' "$work/runs/$1/run.json" "$2"
}
a_box first_box a
begin
first=$said
is "$(stored "$first" machine)" "$machine" "a run's record names the machine"
a_box second_box b
begin
second=$said
[ "$rc" = 0 ] && [ "$second" != "$first" ]
ok $? "another box begins a run of its own" "$said $errors"
like "$errors" "$first is running on machine a{32} below .*, and this is machine b{32} below .*: leaving it alone; .*kiln start --adopt $first" "and says whose that one is, and what to do"
is "$(stored "$first" state) $(stored "$first" machine)" "running ${machine//b/a}" "which stays as it is"
put_state finished
now=$(date +%s)
for i in 0 1 2 3; do
	id=t-$(date -u -d "@$((now + i))" +%Y%m%d-%H%M%S)
	[ -e "$work/runs/$id" ] || { mkdir "$work/runs/$id" && cp "$work/runs/$first/run.json" "$work/runs/$id/"; }
done
begin
is "$rc $(stored "$said" machine)" "0 $machine" "a second in which another box began one gives no id" "$errors"
[[ $said > $id ]]
ok $? "the second box gets a later id" "$said, $id"
third=$said
find "$work/runs" -mindepth 1 -maxdepth 1 ! -name "$first" ! -name "$second" ! -name "$third" -exec rm -r {} +
a_box first_box a
new_disk
begin
is "$rc $said" "0 $first" "a new disk with the old identity takes its own run, past another box's newer one" "$errors"
is "$(stored "$first" root)" "$KILN_ROOT" "a run's record names the box's root"
a_box other_root a
begin
[ "$rc" = 0 ] && [ "$said" != "$first" ]
ok $? "another root on the same machine is another box, and begins a run of its own" "$said $errors"
like "$errors" "$first is running on machine a{32} below .*/first_box, and this is machine a{32} below .*/other_root: leaving it alone" "and says so"
rm -r "$work/runs/$said"
a_box third_box c
adopt() { # run
	mkdir -p "$KILN_ROOT/data/kiln/run"
	echo "{\"version\": 1, \"overrides\": {}, \"adopt\": \"$1\"}" >"$KILN_ROOT/data/kiln/run/next.json"
	begin
}
adopt "$first"
is "$rc $said $(stored "$first" machine)" "0 $first $machine" "one that is asked for is taken over, and is this machine's from then on" "$errors"
[ ! -e "$KILN_ROOT/data/kiln/run/next.json" ]
ok $? "next.json is removed: the run is adopted once"
adopt "$third"
like "$rc $errors" "^(69|75) .*$first is running, so $third is not adopted" "not beside one that is unfinished"
rm "$KILN_ROOT/data/kiln/run/next.json"
put_state finished
adopt "$third"
is "$rc $said $(cat "$KILN_ROOT/data/kiln/run/archive/$first/state")" "0 $third finished" "but after one that is over" "$errors"
put_state failed
sed -i 's/"state":.*"running"/"state": "finished"/' "$work/runs/$first/run.json"
adopt "$first"
like "$rc $errors" "^77 .*$first is finished: only an unfinished run is adopted" "one that is over is not adopted"
sed -i '/"machine"/d; s/"state":.*"finished"/"state": "running"/' "$work/runs/$first/run.json"
find "$work/runs" -mindepth 1 -maxdepth 1 ! -name "$first" -exec rm -r {} +
a_box fourth_box d
begin
[ "$rc" = 0 ] && [ "$said" != "$first" ]
ok $? "a record without a machine is nobody's: it is left alone" "$said $errors"
like "$errors" "$first is running, and nothing says on which machine: leaving it alone; .*kiln start --adopt $first" "which is said"
put_state finished
adopt "$first"
is "$rc $said $(stored "$first" machine)" "0 $first $machine" "it is adopted where a person says so" "$errors"

# ---- Records that somebody else put into the bucket ----
rm -r "$work/runs"
a_box attacked e
begin
own=$said
craft() { # seconds from now, statement that changes the record `r`
	crafted=t-$(date -u -d "@$(($(date +%s) + $1))" +%Y%m%d-%H%M%S)
	mkdir "$work/runs/$crafted"
	python3 - "$work/runs/$own/run.json" "$crafted" "$2" >"$work/runs/$crafted/run.json" <<-'PY'
		import json, sys
		r = json.load(open(sys.argv[1])) | {"id": sys.argv[2]}
		exec(sys.argv[3])
		print(json.dumps(r))
	PY
}
passed_over() { # name, what is said
	new_disk
	begin
	is "$rc $said" "0 $own" "$1: passed over, the box's own run goes on" "$errors"
	like "$errors" "$crafted.*$2" "and it is said"
	rm -r "$work/runs/$crafted"
}
craft 2000000000 ''
passed_over "an id of the future" "is of the future: leaving it alone"
craft 60 'r["config"] = r["config"].replace("sink: { url =", "sink: { credential = \"box\"; endpoint = \"http://127.0.0.1:9\"; url =")'
passed_over "another endpoint" 'sink.endpoint is "http://127.0.0.1:9" in the record and "" in kiln.conf: leaving it alone'
craft 60 'r["config"] = r["config"].replace("source: { url =", "source: { ca_file = \"/tmp/ca\"; url =")'
passed_over "another CA of the source" 'source.ca_file is "/tmp/ca" in the record and "" in kiln.conf'
craft 60 'r["config"] = r["config"].replace("/runs", "/elsewhere")'
passed_over "another sink" 'sink.url is "file://.*/elsewhere" in the record and "file://.*/runs" in kiln.conf'
craft 60 'r["config"] += "model: { weights = \"file:///etc/shadow\"; };"; r["weights_sha256"] = "0" * 64'
passed_over "weights of another place" 'model.weights is "file:///etc/shadow" in the record, which is in no store of kiln.conf'
craft 60 'r["config"] += "model: { weights = \"file://'"$work"'/runs/../../../etc/shadow\"; };"; r["weights_sha256"] = "0" * 64'
passed_over "weights beside the store, by way of its folder" 'model.weights is "file://.*/runs/../../../etc/shadow" in the record, which is in no store of kiln.conf'
craft 60 'r["config"] = "run: {"'
passed_over "a configuration with a mistake" "syntax error"
craft 60 'r["plan_sha256"] = "x"'
passed_over "a damaged record" 'found plan_sha256 "x".*going on with the run before it'
craft 60 'r["x"] = [0] * 1300000'
passed_over "a record that becomes too large when Kiln writes it" 'run.json: [0-9]+ bytes when Kiln writes it, at most 3145728 expected.*going on with the run before it'
head -c 5000000 /dev/zero | tr '\0' ' ' >"$record/run.json"
begin
is "$rc $said" "0 $own" "a record on the disk that is too large is set aside, the run comes back from the store" "$errors"
like "$errors" "run.json: 5000000 bytes, at most 4194304 expected; the record is now in .*/damaged-record-[0-9]+-[0-9]+, going on" "which is said"
is "$(stat -c %s "$KILN_ROOT"/data/kiln/run/damaged-record-*/run.json)" 5000000 "the record is kept"
craft 60 'del r["machine"]'
passed_over "nobody's record" "nothing says on which machine"
craft 60 'r["repeats"] = r["id"]; r["state"] = "finished"'
new_disk
begin
is "$rc $said" "0 $own" "a repeat is not the box's last run" "$errors"
rm -r "$work/runs/$crafted"
craft 60 'r["machine"] = "f" * 32; r["state"] = "finished"'
new_disk
begin
is "$rc $said" "0 $own" "the finished run of another box is not this box's last run" "$errors"
put_state finished
craft 120 'r["config"] = r["config"].replace("sink: { url =", "sink: { credential = \"box\"; endpoint = \"http://127.0.0.1:9\"; url =") + "notify: { url = \"http://127.0.0.1:9/\"; }; heat: { cpu_stop_celsius = 150; };"'
adopt "$crafted"
is "$rc $said" "0 $crafted" "a record with other stores is adopted where a person says so" "$errors"
is "$("$KILN_BIN/kiln" config show "$record/config" | grep -c '127.0.0.1:9')" 0 "with the stores and notify of kiln.conf"
is "$("$KILN_BIN/kiln" config show "$record/config" | grep -c 'cpu_stop_celsius = 150')" 0 "and with its limits of heat"
craft 180 'r["config"] = r["config"].replace("source: { url = ", "sources = ( { url = ").replace("\"; };\nsink", "\"; }, { url = \"file:///tmp\"; } );\nsink")'
put_state finished
adopt "$crafted"
like "$rc $errors" "^77 .*the record has 2 sources, kiln.conf has 1" "but not with another number of sources"
rm "$KILN_ROOT/data/kiln/run/next.json"

# The timers of all boxes start at the same moment.
rm -r "$work/runs"
for letter in 1 2 3 4 5 6; do
	a_box "rack_$letter" $letter
	"$KILN_BIN/kiln-oneshot" begin --config "$work/kiln.conf" >"$work/begun.$letter" 2>"$work/errors.$letter" &
	begun+=($!)
done
wait "${begun[@]}"
is "$(sort -u "$work"/begun.? | wc -l)" 6 "six boxes that begin at once have six runs" "$(cat "$work"/begun.? "$work"/errors.?)"
for letter in 1 2 3 4 5 6; do stored "$(cat "$work/begun.$letter")" machine; done >"$work/machines"
is "$(cut -c 1 "$work/machines" | xargs)" "1 2 3 4 5 6" "and each has the record of its own"

# ---- Usage ----
"$KILN_BIN/kiln-oneshot" begin --conf x >"$work/said" 2>&1
is "$?" 64 "begin takes --config FILE and nothing else"
"$KILN_BIN/kiln" config reference | cmp -s - config/kiln.conf
ok $? "kiln config reference is config/kiln.conf"
"$KILN_BIN/kiln" config show "$work/kiln.conf" >"$work/shown.conf" && "$KILN_BIN/kiln" config check "$work/shown.conf" >"$work/said" 2>&1
ok $? "what kiln config show prints is good" "$(cat "$work/said")"
echo 'run: { epoch = 1; };' >>"$work/shown.conf"
"$KILN_BIN/kiln" config check "$work/shown.conf" >"$work/said" 2>&1
is "$?" 78 "kiln config check of a wrong file exits with 78"
"$KILN_BIN/kiln" config check a b >/dev/null 2>&1
is "$?" 2 "and with 2 when called wrongly"

# ---- The network interface by which the shards come ----
node network
record=$KILN_ROOT/data/kiln/run/current
config scratch
begin
from_host() { # host: makes a store on it the source of the run
	rm -f "$KILN_ROOT/run/kiln/route/nic"
	sed "s,source: [^;]*;,source: { url = 's3://shards/x'; endpoint = 'http://$1:9';,; s/'/\"/g" "$work/frozen.conf" >"$record/config"
	"$KILN_BIN/kiln-oneshot" route 2>"$work/errors"
}
cp "$record/config" "$work/frozen.conf"
mkdir -p "$KILN_ROOT/run/kiln/"{route,interrupts} "$KILN_ROOT/sys/class/net/lo"
"$KILN_BIN/kiln-oneshot" route 2>"$work/errors"
is "$? $(ls "$KILN_ROOT/run/kiln/route")" "0 " "shards on this disk come by no interface" "$(cat "$work/errors")"
from_host host.invalid
like "$? $(cat "$work/errors")" '^0 .*host.invalid: .*; the interface of the default route is used' "a host whose name is not known: it goes on"
is "$(ls "$KILN_ROOT/run/kiln/route")" "" "and notes nothing"
from_host 127.0.0.1
is "$? $(cat "$KILN_ROOT/run/kiln/route/nic")" "0 lo" "a store on this machine: route notes the interface" "$(cat "$work/errors")"
"$KILN_BIN/kiln-oneshot" interrupts 2>"$work/errors"
like "$? $(cat "$work/errors")" '^0 .*lo, cores [0-9,-]+: the interface has no device: nothing to do' "interrupts uses it"
"$KILN_BIN/kiln-controld" 2>"$work/controld.log" &
wait_for 10 "$KILN_BIN/kiln" node
like "$("$KILN_BIN/kiln" node)" '^network +lo, cores [0-9,-]+ \(not known which are near\), decode on [0-9,-]+$' "kiln node shows what was found"
like "$("$KILN_BIN/kiln" node)" '^ +the interface has no device: nothing to do$' "and what was chosen"
like "$("$KILN_BIN/kiln" node)" '^ +network threads for each source: 1, the speed of the link is not known$' "and how many threads fetch, and why"
