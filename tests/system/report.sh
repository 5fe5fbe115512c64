#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# kiln-oneshot report: the night's report, posted to a real HTTP and HTTPS server and put into the store, for nights that
# finished, failed, ended early or never started. Also reports that cannot be delivered, which must not harm anything. Runs
# are put into the state that kiln-finished finds; tests/system/night.sh reports a whole run.
. "$(dirname "$0")/lib.sh"
unset http_proxy https_proxy HTTP_PROXY HTTPS_PROXY all_proxy ALL_PROXY CURL_CA_BUNDLE SSL_CERT_FILE
export DBUS_SYSTEM_BUS_ADDRESS=unix:path=$work/no-bus
a_shard "$work/data"
kiln=$KILN_BIN/kiln token=s3cr3t-t0k3n

cleanup() {
	umount "$work/nodes/full/data/kiln/run" 2>/dev/null
}

serve() { # name, certificate and key
	hook=$work/hooks/$1
	mkdir -p "$hook"
	tests/system/webhook.py "$hook" "${@:2}" 2>"$hook/log" &
	wait_for 20 test -s "$hook/port"
	ok $? "$1: a server" "$(cat "$hook/log")"
	port=$(cat "$hook/port")
}

config() { # lines of run, of notify
	mkdir -p "$KILN_ROOT/etc/kiln"
	cat >"$KILN_ROOT/etc/kiln/kiln.conf" <<-CONF
		run: { name = "t"; at = "22:00"; zone = "UTC"; epochs = 3; $1 };
		source: { url = "file://$work/data"; };
		sink: { url = "file://$sink"; };
		notify: { $2 };
		power: { upload_wait_min = 0; };
	CONF
}

a_node() { # name, lines of notify
	node "$1"
	runs=$KILN_ROOT/data/kiln/run reports=$KILN_ROOT/data/kiln/run/reports sink=$work/store/$1
	config "" "$2"
}

begin() {
	id=$("$KILN_BIN/kiln-oneshot" begin 2>"$work/errors") || ok 1 "begin" "$(cat "$work/errors")"
}

rest() { # state
	echo "$1" >"$runs/current/state.new"
	mv "$runs/current/state.new" "$runs/current/state"
}

over() { # state: does the same as kiln-finished, except for systemd
	rest "$1"
	"$KILN_BIN/kiln-oneshot" finished 2>"$work/errors" || ok 1 "kiln-oneshot finished" "$(cat "$work/errors")"
}

a_night() { # run, reason, seconds from now: a night that is over, in the state that a power cut leaves while it is noted
	local at=$(($(date +%s) + ${3:-0}))
	printf '{"from_s": %s, "over_s": %s, "by": "timer", "run": "%s", "reason": "%s"}\n' $at $at "$1" "$2" >"$runs/tonight.json"
}

report() {
	"$KILN_BIN/kiln-oneshot" report 2>"$work/errors"
	rc=$?
	errors=$(cat "$work/errors")
}

of() { # JSON file, expression over `r`: prints it
	python3 -c 'import json, sys; r = json.load(open(sys.argv[1])); print(eval(sys.argv[2]))' "$@" 2>&1
}

posted() { # expression over `p`, the requests so far
	python3 -c 'import json, sys; p = [json.loads(line) for line in open(sys.argv[1])]; print(eval(sys.argv[2]))' "$hook/requests" "$1" 2>&1
}

# ---- A night that finished, and a server that is down at first ----
serve plain
a_node finished "url = \"http://127.0.0.1:$port/hook?a=b\"; credential = \"hook\";"
mkdir -p "$KILN_ROOT/data/kiln/credentials"
echo "$token" >"$KILN_ROOT/data/kiln/credentials/hook"
mkdir -p "$KILN_ROOT/proc"
printf 'PRETTY_NAME="Debian 12"\nBUILD_ID=0123abcd\n' >"$KILN_ROOT/etc/os-release"
echo "quiet rauc.slot=B root=/dev/x" >"$KILN_ROOT/proc/cmdline"
printf 'e%.0s' {1..32} >"$KILN_ROOT/etc/machine-id"
begin
is "$(of "$runs/tonight.json" 'r["by"], r["run"]')" "('hand', '')" "begin: a night by hand"
over finished
printf '503\ndrop\n429\n' >"$hook/answers"
report
is "$rc" 0 "a night that finished is reported" "$errors"
is "$(posted '[q["status"] for q in p]')" "['503', 'drop', '429', '204']" "the POST is tried again until the server takes it" "$errors"
is "$(posted '{(q["path"], q["headers"]["Content-Type"], q["headers"]["Authorization"]) for q in p}')" \
	"{('/hook?a=b', 'application/json', 'Bearer $token')}" "where, as JSON, with the token"
night=$(ls "$reports" | sed -n 's/\.json$//p')
is "$(posted 'p[-1]["body"]')" "$(cat "$reports/$night.json")" "what is posted is the report"
is "$(cat "$sink/$id/report.json")" "$(cat "$reports/$night.json")" "and lies in the store, beside the run"
is "$(cat "$sink/$id/report.txt")" "$(cat "$reports/$night.txt")" "so does the page"
cmp "$sink/$id/report.html" "$reports/$night.html"
ok $? "and the page with the curves"
is "$(of "$reports/$night.json" 'r["schema"], r["outcome"], r["reason"], r["run"]["id"], r["run"]["epochs"], r["night"]["by"], r["faults"]')" \
	"(1, 'finished', None, '$id', 3, 'hand', None)" "its members"
is "$(of "$reports/$night.json" 'r["machine"], r["slot"], r["build"]')" "('$(cat "$KILN_ROOT/etc/machine-id")', 'B', '0123abcd')" \
	"which box, and which image"
is "$(of "$reports/$night.json" 'r["run"]["sources"], r["run"]["outputs"]')" "(['file://$work/data'], 'file://$sink/$id')" "data and outputs"
like "$(of "$reports/$night.json" 'r["night"]["next_s"] % 86400')" '^79200$' "the next night's start"
like "$errors" "report: .*: $id: finished, 0 of 3 epochs" "one sentence says it"
like "$(cat "$reports/$night.txt")" '3 epochs, 128 rows a batch, seed 44$' "the page says what ran"
[ "$(wc -l <"$reports/$night.txt")" -le 60 ]
ok $? "the page is one" "$(cat "$reports/$night.txt")"
is "$(ls "$reports")" "$night.html
$night.json
$night.txt" "nothing is left to do"
[ ! -e "$runs/tonight.json" ]
ok $? "the night is over"
is "$("$kiln" report --night)" "$(cat "$reports/$night.txt")" "kiln report --night"
is "$("$kiln" report --night --json)" "$(cat "$reports/$night.json")" "kiln report --night --json"
report
is "$rc $(posted 'len(p)')" "0 4" "once more: there is nothing to report"
! grep -rq "$token" "$reports" "$sink" "$work/errors"
ok $? "the token is nowhere"

# ---- Nights that did not finish ----
outcome() { # state, outcome, reason, name
	begin
	rest "$1"
	sleep 1.1 # two nights in one second would share a name
	a_night "$id" "$3"
	report
	is "$rc $(posted 'json.loads(p[-1]["body"])["outcome"], json.loads(p[-1]["body"])["reason"], json.loads(p[-1]["body"])["night"]["by"]')" \
		"0 ('$2', $([ -n "$3" ] && echo "'$3'" || echo None), 'timer')" "$4"
}
outcome failed failed 'a NaN' "a failed night"
outcome expired expired '' "one that did not suffice"
outcome running halted 'kiln-fetchd.service ended with 77' "one whose service ended for good"
rest finished
echo 's3://b: refused' >"$runs/unbegun"
a_night "" "" 10
report
is "$(posted 'json.loads(p[-1]["body"])["outcome"], json.loads(p[-1]["body"])["run"], json.loads(p[-1]["body"])["reason"].strip()')" \
	"('never_started', None, 's3://b: refused')" "one that never started: the last night's run is not this one's"
like "$(find "$sink" -path '*nights*')" "nights/t-[0-9]{8}-[0-9]{6}/report.json" "it has a place in the store"
rm "$runs/unbegun"

# ---- A night ends while the report of another one is delivered ----
begin
over finished
first=$id
sleep 1.1
rm -f "$hook/go"
echo hold >"$hook/answers"
before=$(posted 'len(p)')
"$KILN_BIN/kiln-oneshot" report 2>"$work/errors" &
reporter=$!
is_held() { [ "$(posted 'len(p)')" = $((before + 1)) ]; }
wait_for 20 is_held
ok $? "the first one's is being delivered" "$(cat "$work/errors")"
begin
over failed
"$KILN_BIN/kiln-oneshot" nightly 2>"$work/said" # the third night begins, and ends without a report of its own
is "$(ls "$reports" | grep -c 'night$')" 1 "the second one waits for its own" "$(ls "$reports")"
: >"$hook/go"
wait $reporter
is "$? $(posted '[json.loads(q["body"])["run"]["id"] for q in p['"$before"':]]')" "0 ['$first', '$id']" "and has it from the same reporter" "$(cat "$work/errors")"
is "$(ls "$reports" | grep -c 'night$')" 0 "none is left without one"

# ---- A wrong kiln.conf: the last good copy says where to send the report ----
"$KILN_BIN/kiln-oneshot" keep-config
echo 'run: { at = "25:00"; };' >"$KILN_ROOT/etc/kiln/kiln.conf"
"$KILN_BIN/kiln-oneshot" nightly 2>"$work/errors" # without systemd it does no more
is "$?" 78 "the timer, and a wrong kiln.conf"
a_night "" 'run.at: found 25:00' 20
before=$(posted 'len(p)')
report
is "$rc $(posted 'len(p)') $(posted 'json.loads(p[-1]["body"])["reason"]')" "0 $((before + 1)) run.at: found 25:00" \
	"it is reported all the same" "$errors"

# ---- HTTPS ----
if command -v openssl >/dev/null; then
	openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost -addext 'subjectAltName=DNS:localhost,IP:127.0.0.1' \
		-keyout "$work/key" -out "$work/crt" 2>"$work/openssl"
	serve tls "$work/crt" "$work/key"
	a_node tls "url = \"https://localhost:$port/\"; ca_file = \"$work/crt\"; wait_min = 0;"
	begin
	over finished
	report
	is "$rc $(posted 'p[-1]["status"], "Authorization" in p[-1]["headers"]')" "0 ('204', False)" "HTTPS with an own authority, without a token" "$errors"
	a_node untrusted "url = \"https://localhost:$port/\"; wait_min = 0;"
	begin
	over finished
	report
	is "$rc $(posted 'len(p)')" "0 1" "an authority that is not trusted gets nothing"
	like "$errors" 'the report of .* is not posted: POST https://localhost:[0-9]*: .*certificate' "it says so"
else
	skip "notify.url by HTTPS" "no openssl here"
fi

# ---- Reports that cannot be delivered ----
serve refusing
a_node late "url = \"http://127.0.0.1:$port/secret-path\"; credential = \"hook\"; wait_min = 0;"
begin
over finished
: >"$hook/requests"
report
is "$rc $(posted 'len(p)')" "0 0" "without its credential nothing is sent, and nothing fails"
like "$errors" "is not posted: credential 'hook':.*, trying again with the next report" "but it is said"
mkdir -p "$KILN_ROOT/data/kiln/credentials"
printf -- - >"$KILN_ROOT/data/kiln/credentials/hook"
report
like "$errors" "credential 'hook': this box has no credential of that name" "as a unit says it"
echo "$token" >"$KILN_ROOT/data/kiln/credentials/hook"
echo 403 >"$hook/answers"
report
is "$rc $(posted '[q["status"] for q in p]')" "0 ['403']" "a refusal is not tried again by itself"
like "$errors" 'POST http://127.0.0.1:[0-9]+: HTTP 403: no, +not now, trying again' "what the server said is told, on one line"
! grep -qE "$token|secret-path" <<<"$errors" "$reports"/*
ok $? "neither token nor path are" "$errors"
like "$("$kiln" report --night)" 'not delivered to notify.url yet: POST http://127.0.0.1' "kiln report --night says it"
"$KILN_BIN/kiln-controld" 2>"$work/controld.log" &
controld=$!
wait_for 10 "$kiln" node
like "$("$kiln" status)" '^report +.*: finished.*; not posted: POST http' "so does kiln status"
"$kiln" status --json >"$work/status.json"
is "$(of "$work/status.json" 'r["report"]["outcome"], sorted(r["report"]["pending"])')" "('finished', ['notify'])" "kiln status --json"
is "$(of "$work/status.json" 'r["machine"] or "", r["slot"], r["build"]')" "('$(cat /etc/machine-id 2>/dev/null)', None, None)" \
	"of a system that is no image there is no build; the machine is this one, whatever KILN_ROOT is"
mkdir -p "$KILN_ROOT/proc"
echo BUILD_ID=4567 >"$KILN_ROOT/etc/os-release"
echo "rauc.slot=A" >"$KILN_ROOT/proc/cmdline"
"$kiln" status --json >"$work/status.json"
is "$(of "$work/status.json" 'r["slot"], r["build"]')" "('A', '4567')" "an image tells which it is"
like "$("$kiln" node)" "build 4567, slot A, machine ($(cat /etc/machine-id 2>/dev/null)|-)" "so does kiln node"
kill $controld
wait $controld 2>/dev/null
first=$(ls "$reports" | sed -n 's/\.json$//p')
sleep 1.1
rm -rf "$sink"
: >"$sink" # a file, where a folder should be
a_night "$id" ""
report
is "$rc $(posted '[json.loads(q["body"])["id"] == "'"$first"'" for q in p[1:]]')" "0 [False, True]" "with the next report what was left is posted"
like "$errors" 'is not uploaded: .*' "a store that is away keeps nobody from being told"
rm "$sink" "$reports/$(ls "$reports" | sed -n 's/\.pending$//p').html" # which version 0.1.0 did not write
report
is "$rc $(ls "$reports" | grep -c pending)" "0 0" "when it is back, it gets it" "$errors"
test -s "$sink/$id/report.json"
ok $? "there it is"
for i in $(seq 35); do
	cp "$reports/$first.json" "$reports/20200101-0000$(printf %02d "$i").json"
	cp "$reports/$first.html" "$reports/20200101-0000$(printf %02d "$i").html"
done
report
is "$(ls "$reports" | grep -c 'json$') $(ls "$reports" | grep -c html)" "30 29" "the newest 30 are kept, one of them without a page"
a_node nobody ""
begin
over finished
report
is "$rc $(ls "$reports" | grep -c pending)" "0 0" "without notify.url the store alone gets it" "$errors"
test -s "$sink/$id/report.txt"
ok $? "the report is in the store"

# ---- A place that is waited for keeps no other place waiting ----
a_node waits 'url = "http://127.0.0.1:1/"; wait_min = 60;'
begin
over finished
"$KILN_BIN/kiln-oneshot" report 2>"$work/errors" &
reporter=$!
notify_alone_waits() {
	[ "$(of "$(echo "$reports"/*.pending)" 'sorted(r)')" = "['notify']" ]
}
wait_for 20 notify_alone_waits
ok $? "the store alone is done with while notify.url is tried again" "$(cat "$work/errors")"
test -s "$sink/$id/report.json"
ok $? "it has the report"
kill $reporter
wait $reporter
is $? 143 "notify.url is still tried" "$(cat "$work/errors")"

# ---- A full disk, which may be the reason why the night failed ----
serve full
a_node full "url = \"http://127.0.0.1:$port/\"; wait_min = 0;"
mkdir -p "$runs"
if mount -t tmpfs -o size=1m kiln-test "$runs" 2>/dev/null; then
	begin
	over failed
	head -c 2M /dev/zero >"$runs/filler" 2>/dev/null
	report
	is "$rc $(posted '[(json.loads(q["body"])["outcome"], json.loads(q["body"])["run"]["id"]) for q in p]')" "0 [('failed', '$id')]" \
		"a report that the disk has no space for is posted" "$errors"
	like "$errors" 'No space left on device; the report is written when the disk has space' "what is missing is said"
	is "$(ls "$reports" | sed 's/.*\.//' | xargs)" night "the night waits for its report"
	report
	is "$rc $(posted 'len(p)')" "0 1" "which is not posted again" "$errors"
	rm "$runs/filler"
	report
	is "$rc $(ls "$reports" | sed 's/.*\.//' | xargs)" "0 html json txt" "once there is space it is written" "$errors"
	is "$(of "$sink/$id/report.json" 'r["outcome"]') $(posted 'len(p)')" "failed 1" "and uploaded, but not posted once more"
else
	skip "a full disk" "no tmpfs can be mounted here"
fi
