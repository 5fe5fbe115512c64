# SPDX-License-Identifier: Apache-2.0
# A box in QEMU that trains: the store is radosgw on this machine, reached through user networking; configuration, credential
# and certificates are on the ESP; shards are made by kiln prep. Source it after lib.sh.
pki=$work/pki

free_port() {
	python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
}

# Serves the time to the box: SigV4 needs a correct clock, and a night waits for one.
start_ntp() {
	python3 tests/image/ntp.py >"$work/ntp" 2>&1 &
	wait_for 20 grep -qx ready "$work/ntp"
	ok $? "this machine tells the time" "$(cat "$work/ntp")"
}

write_config() { # start of the night (HH:MM UTC), epochs, further keys of checkpoint, further groups
	cat >"$work/kiln.conf" <<-CONF
		run: { name = "night"; at = "$1"; epochs = $2; batch_rows = 16; };
		optimizer: { learning_rate = 0.005; };
		source: { url = "s3://$KILN_S3_BUCKET/data"; endpoint = "$guest_endpoint"; credential = "store"; };
		sink: { url = "s3://$KILN_S3_BUCKET/runs"; endpoint = "$guest_endpoint"; credential = "store"; };
		ring: { small_pages = true; };
		checkpoint: { keep = 2; ${3:-} };
		control: { remote = true; };
		schema = ( { name = "sentence"; dtype = "float32"; shape = [ 64 ]; }, { name = "label"; dtype = "int64"; shape = [ 2 ]; } );
		model: { layers = ( { op = "dense"; units = 16; }, { op = "relu"; }, { op = "dense"; units = 2; }, { op = "softmax"; } ); };
		${4:-}
	CONF
}

# The same configuration for use on this machine, where the store has another address.
host_config() {
	sed "s,$guest_endpoint,$KILN_S3_ENDPOINT,; s,credential = \"store\";,," "$work/kiln.conf" >"$work/host.conf"
}

# Sentences in which one word decides the mood, so that the model can learn something.
prepared() { # number of reviews, of records in a shard
	awk -v reviews="$1" 'BEGIN {
		srand(44); split("grand warm fine lovely", good, " "); split("dull cold grim awful", bad, " ")
		split("film story actor scene song ending", thing, " "); split("was felt looked stayed", verb, " ")
		for (i = 0; i < reviews; i++) {
			pos = i % 2
			print (pos ? "pos" : "neg") "\tthe " thing[1 + int(rand() * 6)] " " verb[1 + int(rand() * 4)] " " \
				(pos ? good[1 + int(rand() * 4)] : bad[1 + int(rand() * 4)]) " in part " int(rand() * 90)
		}
	}' >"$work/reviews.tsv"
	host_config
	"$KILN_BIN/kiln" prep "$work/reviews.tsv" --config "$work/host.conf" --dims 64 --records-per-shard "${2:-40}" >"$work/prep.log" 2>&1
	ok $? "shards are made and lie in the store" "$(cat "$work/prep.log")"
}

start_store() {
	start_radosgw "a box in QEMU"
	guest_endpoint=http://10.0.2.2:${KILN_S3_ENDPOINT##*:}
}

# Makes the folder for `make flash FOLDER=`: the files that go onto the ESP.
box_folder() {
	local kiln=$KILN_BIN/kiln box=$work/box
	{
		"$kiln" pki init "$pki" && "$kiln" pki issue "$pki" box && "$kiln" pki issue "$pki" me --role admin &&
			"$kiln" pki issue "$pki" guest --role view
	} >"$work/pki.log" 2>&1
	ok $? "kiln pki: an authority, a box, two persons" "$(cat "$work/pki.log")"
	mkdir -p "$box/credentials"
	cp "$pki/ca.crt" "$box/control-ca"
	cp "$pki/box.crt" "$box/control-crt"
	cp "$pki/box.key" "$box/control-key"
	printf 'access_key_id=%s\nsecret_access_key=%s\n' "$AWS_ACCESS_KEY_ID" "$AWS_SECRET_ACCESS_KEY" >"$box/credentials/store"
	printf '[Match]\nType=ether\n\n[Network]\nDHCP=yes\nNTP=10.0.2.2\n' >"$box/box.network"
	for who in me guest; do
		mkdir "$work/as-$who"
		cp "$pki/ca.crt" "$work/as-$who/ca.crt"
		cp "$pki/$who.crt" "$work/as-$who/client.crt"
		cp "$pki/$who.key" "$work/as-$who/client.key"
	done
}

provision() { # puts the files onto the ESP
	local file
	esp_put "$work/kiln.conf" config/kiln.conf
	for file in control-ca control-crt control-key box.network credentials/store; do
		esp_put "$work/box/$file" "config/$file"
	done
}

box_on() { # starts the box, with its control port forwarded to this machine
	control=$(free_port)
	forward=",hostfwd=tcp:127.0.0.1:$control-:7443"
	power_on "$@"
}

as() { # who, verb and arguments: runs kiln --host over TLS
	KILN_PKI=$work/as-$1 timeout 120 "$KILN_BIN/kiln" --host "box=127.0.0.1:$control" "${@:2}" 2>&1
}

state() { # the state that status reports, over TLS
	as guest status --json | python3 -c 'import json, sys; print(json.load(sys.stdin)["state"])' 2>/dev/null
}

# Asks seldom: each question costs the slow machine time.
wait_seldom() { # seconds, command...
	local until=$((SECONDS + $1))
	shift
	until "$@" >/dev/null 2>&1; do
		[ $SECONDS -lt $until ] && ! is_off || return 1
		sleep 3
	done
}

is_in_state() { # extended regular expression
	grep -qE "^($1)\$" <<<"$(state)"
}

becomes() { # seconds, states, name
	wait_seldom "$1" is_in_state "$2"
	ok $? "$3" "$(as me status; as me log | tail -n 20; tail -n 5 "$work/console")"
}

fetched() { # key below runs/: downloads the object into $work/got
	rm -f "$work/got"
	"$KILN_BUILD/system/store" download "s3://$KILN_S3_BUCKET/runs" "$1" "$work/got" >"$work/store.log" 2>&1
}

got() { # Python expression over the JSON document g in $work/got
	python3 -c 'import json, sys; g = json.load(open(sys.argv[1])); print(eval(sys.argv[2]))' "$work/got" "$1" 2>&1
}

newest_run() {
	as guest runs --json | grep -o 'night-[0-9]*-[0-9]*' | sort | tail -n 1
}

is_stored() { # run
	fetched "$1/run.json" && [ "$(got 'g["state"]')" = finished ]
}

# Checks what the bucket holds of a finished run; puts the last checkpoint's SHA-256 into $sum.
is_in_the_bucket() { # run
	local key step
	fetched "$1/run.json"
	ok $? "run.json is in the bucket" "$(cat "$work/store.log")"
	is "$(got 'g["state"]')" finished "it says finished"
	fetched "$1/checkpoints/latest.json"
	ok $? "latest.json is in the bucket" "$(cat "$work/store.log")"
	key=$(got 'g["key"]') sum=$(got 'g["sha256"]') step=$(got 'g["step"]')
	fetched "${key#*"$1/"}" || fetched "$1/checkpoints/${key##*/}"
	is "$(sha256sum <"$work/got" | cut -d' ' -f1)" "$sum" "the checkpoint of step $step is in the bucket, of the SHA-256 in latest.json"
	is "$(KILN_S3_ENDPOINT=$KILN_S3_ENDPOINT "$KILN_BUILD/system/make_checkpoint" --latest "s3://$KILN_S3_BUCKET/runs/$1" 2>&1)" "$step" \
		"and it is whole"
	fetched "$1/model/model.safetensors"
	ok $? "so is the model" "$(cat "$work/store.log")"
}

# Checks the report that the night left in the bucket.
has_its_report() { # run
	wait_seldom "$BOOT_S" fetched "$1/report.json"
	ok $? "the night's report is in the bucket" "$(cat "$work/store.log")"
	like "$(cat "$work/got")" "$1" "which is of this run"
	fetched "$1/report.txt"
	ok $? "and is there to be read" "$(cat "$work/store.log")"
}
