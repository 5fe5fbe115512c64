#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# kiln check: a configuration that cannot fit its data, its stores or its device is told before the night; so are mistakes that
# a syntax check cannot see, at the begin of a run, too.
. "$(dirname "$0")/lib.sh"
kiln=$KILN_BIN/kiln make_shards=$KILN_BUILD/system/make_shards
cleanup() {
	umount "$work/nodes/check/data/kiln/run" 2>/dev/null
}
"$make_shards" "$work/data" train 4 50
"$make_shards" "$work/data" test 1 50
mkdir "$work/runs"
node check
mkdir -p "$KILN_ROOT/data/kiln/run"

config() { # sed commands
	sed "$1" >"$work/kiln.conf" <<-CONF
		run: { name = "t"; batch_rows = 36; };
		source: { url = "file://$work/data"; };
		sink: { url = "file://$work/runs"; };
		ring: { small_pages = true; };
		split: { by = "hash"; };
		order: { filter = ""; };
		notify: { url = ""; };
		schema = ( { name = "sentence"; dtype = "float32"; shape = [ 8 ]; },
		           { name = "label"; dtype = "int64"; shape = [ 2 ]; } );
		model: { layers = ( { op = "dense"; units = 2; }, { op = "softmax"; } ); };
	CONF
}
check() { # arguments; sets code and said
	said=$("$kiln" check "$work/kiln.conf" "$@" 2>&1)
	code=$?
}
fails() { # sed commands, regular expression of the row, name
	config "$1"
	check
	like "$code $(tr '\n' ' ' <<<"$said")" "^1 .*failed +$2" "$3"
}

# ---- What fits ----
config ''
check
is "$code" 0 "a configuration that fits: exit 0" "$said"
like "$said" "^ok +source +file://$work/data: train: 4 shards, [0-9]+ bytes" "the shards of a split are counted"
like "$said" "^ok +sink +file://$work/runs: listed; an object was written and deleted" "the sink is written to"
is "$(ls "$work/runs")" "" "and nothing stays there"
like "$said" "^ok +device +.*the network is built; it needs [0-9]+ of [0-9]+ bytes" "the network is built on the device"
is "$(grep -c 'passed over' <<<"$said")" 0 "no other device is there"
POCL_DEVICES="pthread basic" check
like "$(grep '^ok .*passed over' <<<"$said")" '^ok +device +Portable Computing Language: .*, driver .*: passed over: device.id is "auto", which takes the first, a GPU where there is one$' \
	"with two devices, why one is passed over"
KILN_DEVICE_TYPE=gpu LD_PRELOAD=$KILN_BUILD/system/preload/device_type.so check
like "$said" "^ok +device +Portable Computing Language: .*the network is built" "PoCL as a GPU"
config 's/^run:/vary = { run = { seed = [ 1, 2 ]; }; }; series: { parallel = 0; }; run:/'
POCL_DEVICES="pthread basic" check
like "$said" '^ok +device +2 trials side by side: each has a device, 1073741824 bytes of fetch.memory_bytes and a part of the cores for decoding' \
	"what each of two trials side by side gets"
config 's/^run:/device: { count = 2; }; run:/; s/order: {/& lanes = 2;/'
if command -v mpirun >/dev/null; then
	check
	like "$said" '^ok +device +2 ranks train together and share this processor' "several ranks on a processor"
fi
KILN_DEVICE_TYPE=gpu LD_PRELOAD=$KILN_BUILD/system/preload/device_type.so check
like "$said" '^failed +device +device.count is 2: rank 1 of this box has no device of its own; there are: 0: ' "one GPU, but device.count is 2"
config 's/^run:/device: { id = "1"; }; run:/'
POCL_DEVICES="pthread basic" check
like "$said" '^ok +device +.*: passed over: device.id is "1"' "the second device by its index"
config 's/^run:/device: { id = "none such"; }; run:/'
POCL_DEVICES="pthread basic" check
is "$(grep -cE '^ok +device .*passed over: device.id is "none such"' <<<"$said") $(grep -cE '^failed +device ' <<<"$said")" "2 1" "no device fits: each with the reason" "$said"
config ''
check
for part in disk clock hugepages; do
	like "$said" "^(ok|warning|not seen) +$part " "$part is looked at"
done
like "$said" "kiln.conf: [0-9]+ ok, [0-9]+ warnings, 0 failed" "the last line counts"
check --json
is "$(python3 -c 'import json, sys; rows = json.load(sys.stdin)["rows"]; print(sorted({r["result"] for r in rows} - {"ok", "warning", "not seen"}), sorted({k for r in rows for k in r}))' <<<"$said")" \
	"[] ['part', 'result', 'text', 'todo']" "--json: the same rows" "$said"

# ---- A series and its promotion ----
warns() { # sed commands, pattern, name: a row with a warning
	config "$1"
	check
	like "$code $(tr '\n' ' ' <<<"$said")" "^0 .*warning +$2" "$3"
}
warns 's/^run:/promote: { objective = "validation.accuracy"; min_gain = 0.002; }; run:/' \
	'promote +promote.min_gain is given, but promote.against is "off": no night promotes its model *-> set promote.against = "champion"' \
	"a promotion that never happens"
config 's/^run:/promote: { objective = "validation.accuracy"; }; run:/'
check
like "$(grep -c '^warning +promote' <<<"$said")" '^0$' "an objective alone is no promotion"

(cd "$work" && exec /usr/bin/python3 "$OLDPWD/tests/system/plain_s3.py" >s3.port 2>s3.errors) &
fake=$!
wait_for 20 test -s "$work/s3.port"
for shard in "$work"/data/*; do
	curl -sf -T "$shard" "http://127.0.0.1:$(cat "$work/s3.port")/kiln/data/${shard##*/}"
done
from_s3="s,file://$work/data,s3://kiln/data\"; endpoint = \"http://127.0.0.1:$(cat "$work/s3.port"),; s/^run:/vary: { run = { seed = [ 1, 2 ]; }; }; run:/"
bytes=$(cat "$work"/data/* | wc -c)
warns "$from_s3; s/^order:/fetch: { cache_bytes = $((bytes - 1)); }; order:/" \
	"cache +the trials read $bytes bytes, and their disk cache has room for $((bytes - 1)): each trial reads the rest from the store again" \
	"trials that read more than their cache has room for"
config "$from_s3; s/^order:/fetch: { cache_bytes = $bytes; }; order:/"
check
is "$code $(grep -c '^warning +cache' <<<"$said")" "0 0" "and no more" "$said"
kill "$fake"

# ---- What does not ----
fails 's/shape = \[ 2 \]/shape = [ 3 ]/; s/units = 2/units = 3/' 'record +train-00000-of-00004.tfrecord.gz: record 0: feature "label": found 2 values, expected 3' "another shape than the records'"
like "$said" 'make `schema` what the records are' "and what to do"
fails 's/name = "sentence"/name = "words"/; s/^model: {/model: { input = "words";/' 'record +.*record 0: feature "words"' "a feature that the records do not have"
fails 's/name = "sentence"/name = "words"/; s/name = "label"/name = "kind"/; s/^model: {/model: { input = "words"; label = "kind";/; s/^order:/fetch: { bad_record = "skip"; }; order:/' \
	'record +.*none of the first 50 records has a feature of the schema' "no feature of the schema at all, which bad_record = skip does not skip"
fails 's/filter = ""/filter = "lang == 3"/' 'filter +order.filter "lang == 3": the first 50 records of train-.* have no feature "lang"' "a filter on a feature that is not there"
fails "s,$work/data,$work/none," "source +.*(no object matches split.train_glob \"train-\*\"|none)" "a folder without shards"
fails 's/by = "hash"/by = "prefix"/' 'source +.*: no object matches split.validation_glob "validation-\*"' "a pattern that matches nothing"
fails 's/filter = ""/lanes = 9/' 'source +.*found 3 training shards beside 1 that validate, order.lanes is 9' "more lanes than shards"
fails 's/filter = ""/lanes = 4/' 'source +.*found 3 training shards beside 1 that validate, order.lanes is 4' "a lane for each shard, but one of them validates"
fails 's/by = "hash"/by = "hash"; train_glob = "*-of-*"/' 'source +.*object "test-00000-of-00001.tfrecord.gz" is matched by split.train_glob "\*-of-\*" and split.test_glob "test-\*"' "a shard in two splits"
fails "s,file://$work/runs,file:///proc/none," 'sink ' "a sink that cannot be written to"
fails "s,file://$work/runs,file://$work/kiln.conf," 'sink .*Not a directory.*name a folder' "a sink that is a file"
fails 's/^run:/device: { platform = "none such"; }; run:/' 'device ' "a device that is not there"
fails 's/^source: { /source: { credential = "none-such"; /; s,file://'"$work"'/data,s3://bucket/data,' 'source +.*none-such' "a credential that is not there"
printf '{"schema": [{"name": "label", "dtype": "int64", "shape": [3]}]}' >"$work/data/dataset.json"
fails '' "schema +schema: \"label\": found int64 \[ 2 \], file://$work/data/dataset.json has int64 \[ 3 \]" "another schema than dataset.json's"
like "$said" 'schema: found the feature "sentence", which .*dataset.json does not have' "and a feature that it lacks"
rm "$work/data/dataset.json"
: >"$work/data/prep.incomplete"
fails '' "source +.*prep.incomplete: kiln prep did not finish here" "a set that is not finished"
rm "$work/data/prep.incomplete"

# ---- Another box that does not answer ----
"$kiln" pki init "$work/rack" >/dev/null 2>&1
"$kiln" pki issue "$work/rack" leads --role ranks >/dev/null 2>&1
credentials=$KILN_ROOT/data/kiln/credentials
mkdir -p "$credentials"
cp "$work/rack/ca.crt" "$credentials/control-ca"
cp "$work/rack/leads.crt" "$credentials/leads-crt"
cp "$work/rack/leads.key" "$credentials/leads-key"
python3 - "$work/silent" 3>"$work/closed" <<-'PY' &
	import os, socket, sys
	closed = socket.socket()
	closed.bind(("127.0.0.1", 0)) # bound, but nothing listens
	print(closed.getsockname()[1], file=open(3, "w"), flush=True)
	server = socket.create_server(("127.0.0.1", 0))
	print(server.getsockname()[1], file=open(sys.argv[1] + ".new", "w"), flush=True)
	os.rename(sys.argv[1] + ".new", sys.argv[1])
	held = []
	while True:
	    held.append(server.accept()) # and never a word
PY
silent=$!
wait_for 10 test -s "$work/silent"
unanswered() { # file with a port, what the row says, name
	config "s/^run:/control: { port = $(cat "$1"); }; ranks: { network = \"127.0.0.0\/8\"; trusted = true; boxes = \"localhost\"; }; run:/; s/order: {/& lanes = 2;/"
	said=$(timeout 60 "$kiln" check "$work/kiln.conf" 2>&1)
	like "$? $(tr '\n' ' ' <<<"$said")" "^[01] .*not seen +boxes +box localhost: $2 *-> start the box, and compare its name in ranks.boxes and control.port" "$3"
}
unanswered "$work/closed" "localhost port $(cat "$work/closed"): Connection refused" "a box on which nothing listens"
unanswered "$work/silent" "localhost port $(cat "$work/silent"): connected, but no TLS handshake within 5 s" "a box that takes the connection and never speaks"
kill $silent

# ---- The shards that validate are shards of the training split ----
printf 'a\tone text\nb\tanother text\n' >"$work/two.tsv"
"$kiln" prep "$work/two.tsv" --output "file://$work/tokens" --tokens --test-percent 0 2>/dev/null >&2
other=$(ls "$work"/tokens/train-00000-*)
cp -r "$work/data" "$work/last"
cp "$other" "$work/last/train-00003-of-00004.tfrecord.gz"
fails "s,$work/data,$work/last,; s/by = \"hash\"/by = \"shard\"/" 'record +train-00003-of-00004.tfrecord.gz: record 0: feature "sentence": missing' "other records in the shard that validates"
cp -r "$work/data" "$work/others"
for number in 1 2 3; do
	cp "$other" "$work/others/train-0000$number-of-00004.tfrecord.gz"
done
fails "s,$work/data,$work/others," 'record +train-0000[1-3]-of-00004.tfrecord.gz: record 0: feature "sentence": missing' \
	"a shard that trains and a shard that validates are looked at"

# ---- The weights that a run starts with ----
weights() { # columns of the kernel: makes w.safetensors
	python3 - "$work/w.safetensors" "$1" <<-'PY'
		import json, struct, sys
		n = int(sys.argv[2])
		head = json.dumps({"dense/kernel": {"dtype": "F32", "shape": [8, n], "data_offsets": [0, 32 * n]}}).encode()
		head += b" " * (-len(head) % 8)
		open(sys.argv[1], "wb").write(struct.pack("<Q", len(head)) + head + bytes(32 * n))
	PY
}
begun() { # sed commands: the check of a box whose last run began with the configuration before
	said=$(timeout 120 "$KILN_BIN/kiln-oneshot" begin --config "$work/kiln.conf" 2>&1) || echo "# $said"
	config "$1"
	check
	rm -rf "$KILN_ROOT/data/kiln/run" "$work"/runs/*
}
weights 2
config "s,^model: {,model: { weights = \"file://$work/w.safetensors\";,"
check
like "$code $(tr '\n' ' ' <<<"$said")" '^0 .*ok +start +file://.*/w.safetensors: 1 of 2 tensors; dense/bias as initialized' "weights that fit: what they are used for"
is "$(ls "${TMPDIR:-/tmp}" | grep -c '^kiln-weights')" 0 "no copy of them stays"
weights 3
fails "s,^model: {,model: { weights = \"file://$work/w.safetensors\";," 'start +model.weights: .*dense/kernel: found \[8, 3\], allowed: \[8, 2\]' "weights of another shape"
fails "s,^model: {,model: { weights = \"file://$work/none.safetensors\";," 'start +model.weights: .*none.safetensors' "weights that are not there"
fails "s,^model: {,model: { weights = \"file://$work/kiln.conf\";," 'start +model.weights: ' "weights that are none"
config 's/name = "t"/name = "t"; start_from = "latest"/'
check
like "$code $(tr '\n' ' ' <<<"$said")" '^0 .*not seen +start +run.start_from = "latest": this disk has no run' "latest, without a run"
config ''
begun 's/name = "t"/name = "t"; start_from = "latest"/'
like "$code $(tr '\n' ' ' <<<"$said")" '^0 .*ok +start +the layers are those of the last run, t-' "latest, with the layers of the last run"
config ''
begun 's/name = "t"/name = "t"; start_from = "latest"/; s/layers = (/layers = ( { op = "dense"; units = 3; },/'
like "$code $(tr '\n' ' ' <<<"$said")" '^1 .*failed +start +run.start_from = "latest": the layers are not those of the last run, t-[0-9-]+ +-> set run.start_from' "latest, with other layers"

# ---- Numbers that the network does not take ----
printf '\xef\xbb\xbf' >"$work/classes.csv"
printf '%s\n' label,shop,x 0,7,0.5 1,8,0.5 2,9,0.5 0,1,0.5 1,2,0.5 2,3,0.5 >>"$work/classes.csv"
config/examples/tfrecord.py from-csv "$work/classes.csv" "$work/classes" --label label --integers shop --per-shard 2 >"$work/csv.log"
numbers() { # units of the last layer, ids of the embedding
	config "s,$work/data,$work/classes,; /^schema/,\$d"
	cat >>"$work/kiln.conf" <<-CONF
		schema = ( { name = "shop"; dtype = "int64"; shape = [ 1 ]; }, { name = "label"; dtype = "float32"; shape = [ 1 ]; } );
		model: { input = "shop"; loss = "binary_crossentropy"; layers = ( { op = "embedding"; input_dim = $1; output_dim = 2; },
		         { op = "flatten"; }, { op = "dense"; units = 1; }, { op = "sigmoid"; } ); };
		fetch: { bad_record = "$2"; };
	CONF
	check
	like "$code $(tr '\n' ' ' <<<"$said")" "$3" "$4"
}
numbers 10 stop '^1 .*failed +record +train-.*: record [0-9]+: feature "label": found 2, but the network takes 0 .. 1' "a label that the loss does not take"
numbers 10 skip '^1 .*failed +record +train-.*: feature "label": found 2' "which ends a run that skips bad records, too"
sed -i 's/"binary_crossentropy"/"mean_squared_error"/; s/, *{ op = "sigmoid"; }//' "$work/kiln.conf"
check
is "$code" 0 "numbers that a regression takes" "$said"
sed -i 's/input_dim = 10/input_dim = 3/' "$work/kiln.conf"
check
like "$code $(tr '\n' ' ' <<<"$said")" '^1 .*failed +record +train-.*: feature "shop": found [0-9], but the network takes 0 .. 2' "an id that the embedding does not have"

# ---- Warnings, and what could not be looked at ----
config 's/filter = ""/filter = "label[0] == 7"/'
check
like "$code $(tr '\n' ' ' <<<"$said")" '^0 .*warning +filter +order.filter .* matches none of the first 50 records' "a filter that matches nothing"
config 's/by = "hash"/by = "shard"/; s/name = "t"/name = "t"; start_from = "latest"/'
check
like "$said" '^warning +split +split.by is "shard": a new shard moves others' "by shard with start_from = latest"
mkdir "$work/one"
cp "$work"/data/train-00000-* "$work/one/"
config "s,$work/data,$work/one,"
check
like "$code $(tr '\n' ' ' <<<"$said")" '^0 .*warning +validation +.*found 1 training shard, so none is held out' "a single training shard"
config "s,$work/data,$work/one,; s/^run:/keep_best: { monitor = \"val_loss\"; }; run:/"
check
like "$code $(tr '\n' ' ' <<<"$said")" '^1 .*failed +validation +keep_best.monitor: found a metric of the validation, which has no shard' \
	"a callback that monitors a validation without shards"
: >"$work/one/train-00000-none"
mkdir "$work/none"
: >"$work/none/train-00000-none"
config "s,$work/data,$work/one,; s/shape = \[ 8 \]/shape = [ 9 ]/"
check
like "$code $(tr '\n' ' ' <<<"$said")" '^1 .*failed +record +train-00000-of-.*found 8 values, expected 9' "an empty shard in front: the first records are those of the next one"
config "s,$work/data,$work/none,"
check
is "$(grep -c '^not seen' <<<"$said")" 0 "a shard without records hides no network error" "$said"
config "s,file://$work/data,s3://bucket/data\"; endpoint = \"http://127.0.0.1:9,"
check
like "$code $(tr '\n' ' ' <<<"$said")" '^0 .*not seen +source +.*-> try again with a network that reaches the server' "without network: not seen"
like "$said" ' [1-9] not seen$' "and counted"

mkdir -p "$KILN_ROOT/data/kiln/run"
if mount -t tmpfs -o size=64m kiln-test "$KILN_ROOT/data/kiln/run" 2>/dev/null; then
	config ''
	check
	like "$code $(tr '\n' ' ' <<<"$said")" '^0 .*warning +disk +.*/data/kiln/run: [0-9]+ bytes free +-> make space' "a small disk"
	umount "$KILN_ROOT/data/kiln/run"
else
	skip "a small disk" "no tmpfs can be mounted here"
fi
said=$(TERM=xterm script -qec "$kiln check --no-notify $work/kiln.conf" /dev/null </dev/null)
like "$said" 'looking at the device' "on a terminal, the verb says what it looks at"
! grep -q 'looking at the addresses' <<<"$said"
ok $? "and nothing of what it leaves out" "$said"

# ---- The alarm that switches the box on ----
alarm() { # regular expression, name
	config 's/^run:/power: { when_finished = "off"; }; run:/'
	check
	like "$code $(tr '\n' ' ' <<<"$said")" "^0 .*$1" "$2"
}
rtc=$KILN_ROOT/sys/class/rtc/rtc0
alarm 'warning +alarm +.*no hardware clock with an alarm that wakes the box, so the box stays on after a night' "no hardware clock"
mkdir -p "$rtc/device/power"
touch "$rtc/wakealarm"
alarm 'ok +alarm +a hardware clock can wake the box' "a clock with an alarm"
echo disabled >"$rtc/device/power/wakeup"
alarm 'warning +alarm +.*device/power/wakeup: found "disabled": its alarm does not wake the box' "whose alarm is switched off"

# ---- notify.url ----
mkdir "$work/hook"
python3 tests/system/webhook.py "$work/hook" 2>"$work/hook.err" &
wait_for 10 test -s "$work/hook/port"
hook="http://127.0.0.1:$(cat "$work/hook/port")/night"
config "s,url = \"\",url = \"$hook\","
check --no-notify
is "$(grep -c notify <<<"$said") $(ls "$work/hook" | grep -c requests)" "0 0" "--no-notify sends nothing"
check
like "$code $(tr '\n' ' ' <<<"$said")" '^0 .*ok +notify +notify.url took a test message' "notify.url gets a test message"
like "$(cat "$work/hook/requests")" 'kiln check: this is a test' "which says so"
echo 403 >"$work/hook/answers"
check
like "$code $(tr '\n' ' ' <<<"$said")" '^1 .*failed +notify ' "one that is refused is told"

config "s,url = \"\",url_credential = \"chat\"; heartbeat_url = \"$hook/uuid\","
mkdir -p "$KILN_ROOT/data/kiln/credentials"
echo "$hook/secret" >"$KILN_ROOT/data/kiln/credentials/chat"
: >"$work/hook/requests"
check
like "$code $(tr '\n' ' ' <<<"$said")" '^0 .*ok +notify +notify.url took a test message.*ok +heartbeat +notify.heartbeat_url took a line for its log' "the URL as a credential, and the monitor"
is "$(python3 -c 'import json, sys; print([json.loads(l)["path"] for l in open(sys.argv[1])])' "$work/hook/requests")" "['/night/secret', '/night/uuid/log']" \
	"the monitor gets a line for its log alone, so no night begins there and no alarm follows"
printf '204\n404' >"$work/hook/answers"
check
like "$code $(tr '\n' ' ' <<<"$said")" '^0 .*warning +heartbeat +notify.heartbeat_url: POST http://127.0.0.1:[0-9]*: HTTP 404.* -> compare the address' "a monitor that does not know URL/log, or the address"
[[ $said != *uuid* ]]
ok $? "without its address" "$said"
config 's,url = "",heartbeat_credential = "none-such",'
check
like "$code $(tr '\n' ' ' <<<"$said")" '^1 .*failed +heartbeat +.*none-such' "a credential that is not there"
mkdir "$work/relay"
python3 tests/system/smtp.py "$work/relay" 2>"$work/relay.err" &
wait_for 10 test -s "$work/relay/port"
config "s,url = \"\",mail_server = \"smtp://127.0.0.1:$(cat "$work/relay/port")\"; mail_from = \"kiln@box.example\"; mail_to = \"one@example.org\","
check
like "$code $(tr '\n' ' ' <<<"$said")" '^0 .*ok +mail +smtp://127.0.0.1:[0-9]+ took a test mail to one@example.org' "the mail relay gets a test mail"
like "$(cat "$work/relay/mails")" '"Subject": "[^"]*kiln check: this is a test"' "which says so"
echo 550 >"$work/relay/answers"
check
like "$code $(tr '\n' ' ' <<<"$said")" '^1 .*failed +mail +mail by smtp://127.0.0.1:[0-9]*: ' "a relay that refuses the mail is told"
before=$(wc -l <"$work/relay/mails")
check --no-notify
is "$(grep -cE ' (notify|mail|heartbeat) ' <<<"$said") $(wc -l <"$work/relay/mails")" "0 $before" "--no-notify mails nothing"

# ---- kiln config check --data, and the begin of a run ----
config 's/shape = \[ 2 \]/shape = [ 3 ]/; s/units = 2/units = 3/'
is "$("$kiln" config check "$work/kiln.conf" 2>&1)" "$work/kiln.conf: good" "kiln config check looks at the file alone"
said=$("$kiln" config check --data "$work/kiln.conf" 2>&1)
like "$? $(tr '\n' ' ' <<<"$said")" '^1 .*failed +record +.*found 2 values, expected 3' "--data at the data, too"
is "$(grep -cE ' (sink|device|disk) ' <<<"$said")" 0 "and at nothing else"
said=$(TERM=xterm script -qec "$kiln config check --data $work/kiln.conf" /dev/null </dev/null)
like "$said" $'^\033\\[31mfailed *\033\\[0m record ' "on a terminal, results have colours"
config 's/by = "hash"/by = "hashes"/'
check
is "$code" 78 "mistakes of the file itself: exit 78"
like "$said" 'split.by: found "hashes", allowed: one of "shard", "prefix", "hash"' "as kiln config check says them"

# ---- The begin of a run ----
begins() { # sed commands; sets code and said
	config "$1"
	rm -rf "$KILN_ROOT/data/kiln/run" "$work/runs"
	said=$(timeout 120 "$KILN_BIN/kiln-oneshot" begin --config "$work/kiln.conf" 2>&1 >"$work/id")
	code=$?
}
ends() { # sed commands, regular expression of the error, name
	begins "$1"
	like "$code $(tail -n 1 <<<"$said")" "^65 .*the data do not fit $work/kiln.conf: $2" "begin: $3"
	is "$([ -e "$KILN_ROOT/data/kiln/run/current" ] && echo a record; ls "$work/runs" 2>/dev/null)" "" "begin: no run is begun, here or in the store"
}
goes_on() { # sed commands, regular expression of what is said, name
	begins "$1"
	like "$code $(tr '\n' ' ' <<<"$said")" "^0 .*$2" "begin: $3"
	like "$(cat "$work/id")" '^t-[0-9]+' "begin: the run is begun"
}
ends 's/shape = \[ 2 \]/shape = [ 3 ]/; s/units = 2/units = 3/' '.*record 0: feature "label": found 2 values, expected 3; make `schema`' "records of another shape end the start"
is "$(python3 -c 'import json, sys; print([r["part"] for r in json.load(open(sys.argv[1]))["rows"] if r["result"] == "failed"])' "$KILN_ROOT/data/kiln/run/unfit.json")" \
	"['record', 'record']" "the table is kept for the report"
"$KILN_BIN/kiln-oneshot" run-failed 2>/dev/null
"$KILN_BIN/kiln-oneshot" report 2>/dev/null
report=$(ls "$KILN_ROOT"/data/kiln/run/reports/*.txt | tail -n 1)
like "$(cat "$report")" '^outcome +never_started$' "the report of the night: no run started"
like "$(cat "$report")" '^failed +record +train-00000-of-00004.tfrecord.gz: record 0: feature "label": found 2 values, expected 3$' "the table is in the report"
like "$(cat "$report")" ' -> make `schema` what the records are' "with what to do"
ends 's/name = "sentence"/name = "words"/; s/^model: {/model: { input = "words";/' '.*record 0: feature "words"' "so does a column that is missing"
ends 's/filter = ""/filter = "lang == 3"/' 'order.filter "lang == 3": the first 50 records of train-.* have no feature "lang"' "a filter on a feature that is not there"
ends "s,$work/data,$work/nowhere," ".*nowhere" "a folder without shards"
ends 's/filter = ""/lanes = 9/' '.*found [0-9]+ training shards beside [0-9]+ that validate, order.lanes is 9' "more lanes than shards"
ends 's/by = "hash"/by = "prefix"/' '.*no object matches split.validation_glob "validation-\*"' "a pattern that matches nothing"
begins ''
is "$code $(ls "$KILN_ROOT/data/kiln/run/unfit.json" 2>/dev/null)" "0 " "begin: where the data fit, the run begins, and no table stays" "$said"
goes_on 's/filter = ""/filter = "lang != \\"de\\""/' 'have no feature "lang", which counts as the empty text' "a text that no record has is not a number"
goes_on 's/filter = ""/filter = "lang == 3 or label[0] == 7"/' 'have no feature "lang", and the comparison with it is false' "one side of or that no record has"
goes_on 's/filter = ""/filter = "label[0] == 7"/' 'matches none of the first 50 records' "a filter that may match later records"
goes_on 's/shape = \[ 2 \]/shape = [ 3 ]/; s/units = 2/units = 3/; s/^order:/fetch: { bad_record = "skip"; }; order:/' 'found 2 values, expected 3' "records that are to be left out"
printf '{"schema": [{"name": "label", "dtype": "int64", "shape": [3]}]}' >"$work/data/dataset.json"
goes_on '' 'schema: "label": found int64 \[ 2 \], .*dataset.json has int64 \[ 3 \]' "a dataset.json that is wrong about records that fit"
rm "$work/data/dataset.json"
mkdir "$work/damaged"
cp "$work"/data/* "$work/damaged/"
printf x | dd of="$work/damaged/train-00000-of-00004.tfrecord.gz" bs=1 seek=3000 conv=notrunc 2>/dev/null
goes_on "s,$work/data,$work/damaged," '' "bytes that are corrupt: perhaps only now"

# ---- A store that hangs: accepts and never answers, or answers a byte a second ----
for way in never drip; do
	mkdir "$work/$way"
	python3 tests/system/hanging_s3.py "$work/$way" $way 2>"$work/$way/errors" &
	wait_for 10 test -s "$work/$way/port"
	node $way
	config "s,file://$work/data,s3://bucket/data\"; endpoint = \"http://127.0.0.1:$(cat "$work/$way/port"),; s/^order:/fetch: { low_speed_bytes_per_s = 1; low_speed_s = 3600; }; order:/"
	cp "$work/kiln.conf" "$work/$way/kiln.conf"
	timeout 180 "$KILN_BIN/kiln-oneshot" begin --config "$work/$way/kiln.conf" >"$work/$way/id" 2>"$work/$way/said" &
	echo $! >"$work/$way/pid"
done
for way in never drip; do
	wait "$(cat "$work/$way/pid")"
	like "$? $(tr '\n' ' ' <"$work/$way/said")" '^0 .*could not look, because GET s3://bucket/data/: the store has not answered in the time' \
		"begin: a store that hangs ($way) does not hold a night up, and the table says so"
	like "$(cat "$work/$way/requests")" "^GET .*list-type=2" "begin: it was asked ($way)"
done
