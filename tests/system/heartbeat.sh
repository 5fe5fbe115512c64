#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Who is told of a night, and of a box that is silent: the heartbeat to a monitor, notices in the night, the URL of the post as
# a credential, mail through a real SMTP relay with and without TLS and login.
. "$(dirname "$0")/lib.sh"
unset http_proxy https_proxy HTTP_PROXY HTTPS_PROXY all_proxy ALL_PROXY CURL_CA_BUNDLE SSL_CERT_FILE
export DBUS_SYSTEM_BUS_ADDRESS=unix:path=$work/no-bus

cleanup() {
	umount "$work/nodes/full/data/kiln/run" 2>/dev/null
}

serve() { # name, program, arguments: starts a server; sets port
	hook=$work/hooks/$1
	mkdir -p "$hook"
	"tests/system/$2" "$hook" "${@:3}" 2>"$hook/log" &
	wait_for 20 test -s "$hook/port"
	ok $? "$1: a server" "$(cat "$hook/log")"
	port=$(cat "$hook/port")
}

a_shard "$work/data"

a_node() { # name, lines of notify
	node "$1"
	runs=$KILN_ROOT/data/kiln/run
	mkdir -p "$KILN_ROOT/etc/kiln" "$KILN_ROOT/data/kiln/credentials"
	cat >"$KILN_ROOT/etc/kiln/kiln.conf" <<-CONF
		run: { name = "t"; epochs = 3; };
		source: { url = "file://$work/data"; };
		sink: { url = "file://$work/store/$1"; };
		notify: { wait_min = 0; $2 };
		power: { upload_wait_min = 0; };
	CONF
}

begin() {
	id=$("$KILN_BIN/kiln-oneshot" begin 2>"$work/errors") || ok 1 "begin" "$(cat "$work/errors")"
}

over() { # state: does the same as kiln-finished, except for systemd
	echo "$1" >"$runs/current/state.new"
	mv "$runs/current/state.new" "$runs/current/state"
	"$KILN_BIN/kiln-oneshot" finished 2>"$work/errors" || ok 1 "kiln-oneshot finished" "$(cat "$work/errors")"
}

oneshot() { # verb
	"$KILN_BIN/kiln-oneshot" "$1" 2>"$work/errors"
	rc=$?
	errors=$(cat "$work/errors")
}

posted() { # expression over `p`, the requests so far
	python3 -c 'import json, os, sys
p = [json.loads(line) for line in open(sys.argv[1])] if os.path.exists(sys.argv[1]) else []
print(eval(sys.argv[2]))' "$hook/requests" "$1" 2>&1
}

mails() { # expression over `m`, the mails so far
	python3 -c 'import json, os, sys
m = [json.loads(line) for line in open(sys.argv[1])] if os.path.exists(sys.argv[1]) else []
print(eval(sys.argv[2]))' "$hook/mails" "$1" 2>&1
}

later() { # seconds: what was said is older by so many
	python3 - "$runs/heartbeat.json" "$1" <<-'PY'
		import json, sys
		state = json.load(open(sys.argv[1]))
		state["beat_s"] = state.get("beat_s", 0) - int(sys.argv[2])
		state["told"] = {key: at - int(sys.argv[2]) for key, at in state["told"].items()}
		json.dump(state, open(sys.argv[1], "w"))
	PY
}

# ---- The heartbeat ----
serve monitor webhook.py
a_node beats "heartbeat_url = \"http://127.0.0.1:$port/ping/uuid/?create=1\";"
oneshot heartbeat
is "$rc $(posted 'len(p)')" "0 0" "without a night nothing is said" "$errors"
begin
oneshot heartbeat
is "$rc $(posted '[q["path"] for q in p]')" "0 ['/ping/uuid/start?create=1']" "a night that begins" "$errors"
oneshot heartbeat
is "$(posted 'len(p)')" 1 "a minute later there is nothing to say"
later 300
oneshot heartbeat
is "$(posted '[q["path"] for q in p[1:]]')" "['/ping/uuid/start?create=1']" "after notify.heartbeat_min: it goes on" "$errors"
later 300
echo 503 >"$hook/answers"
oneshot heartbeat
like "$rc $errors" "^0 .*notify.heartbeat_url: POST http://127.0.0.1:[0-9]*: .*HTTP 503" "a monitor that is away harms nothing"
oneshot heartbeat
is "$(posted '[(q["path"], q["status"]) for q in p[2:]]')" "[('/ping/uuid/start?create=1', '503'), ('/ping/uuid/start?create=1', '204')]" "and is asked again"
over finished
oneshot report
is "$rc $(posted '[q["path"] for q in p[4:]]')" "0 ['/ping/uuid/?create=1']" "a night that ended well" "$errors"
like "$(posted 'json.loads(p[-1]["body"])["text"]')" "$id: finished, 0 of 3 epochs" "says how"
oneshot heartbeat
oneshot report
is "$(posted 'len(p)')" 5 "when it is over there is nothing more to say"
begin
oneshot heartbeat
over failed
oneshot report
is "$(posted '[q["path"] for q in p[5:]]')" "['/ping/uuid/start?create=1', '/ping/uuid/fail?create=1']" "one that failed" "$errors"
a_node secret 'heartbeat_credential = "monitor";'
echo "http://127.0.0.1:$port/secret-uuid" >"$KILN_ROOT/data/kiln/credentials/monitor"
before=$(posted 'len(p)')
begin
oneshot heartbeat
is "$(posted "[q['path'] for q in p[$before:]]")" "['/secret-uuid/start']" "its address as a credential" "$errors"
! grep -rq "secret-uuid" "$work/store" "$runs" "$work/errors"
ok $? "which is nowhere else"
echo "no address" >"$KILN_ROOT/data/kiln/credentials/monitor"
later 300
oneshot heartbeat
like "$rc $errors" "^0 .*credential 'monitor': expected one line" "a credential that is no address is said"

# ---- The address of the post as a credential, and notices in the night ----
serve people webhook.py
a_node told 'url_credential = "slack";'
echo "http://127.0.0.1:$port/services/T0/secret-B0" >"$KILN_ROOT/data/kiln/credentials/slack"
begin
oneshot heartbeat
is "$rc $(posted 'len(p)')" "0 0" "a night in which nothing is wrong: people sleep" "$errors"
degrade() { # why
	"$KILN_BUILD/system/status_pages" "$id" training 1 "$1" &
	pages=$!
	wait_for 20 grep -q "$1" "$KILN_ROOT/run/kiln/status/uploadd/page"
	kill $pages
	wait $pages 2>/dev/null
}
degrade "failed 6 times, the last time: the device is lost"
oneshot heartbeat
is "$rc $(posted '[(q["path"], json.loads(q["body"])["who"], json.loads(q["body"])["why"]) for q in p if "traind" in q["body"]]')" \
	"0 [('/services/T0/secret-B0', 'kiln-traind is degraded', 'failed 6 times, the last time: the device is lost')]" "a degraded daemon is told" "$errors"
like "$(posted 'json.loads(p[-1]["body"])["text"]')" ": kiln-[a-z]+ is degraded: failed 6 times" "with the member text, which chats show"
count=$(posted 'len(p)')
degrade "failed 7 times, the last time: the device is lost"
oneshot heartbeat
is "$(posted 'len(p)')" "$count" "the same reason is told once an hour, however often it fails" "$errors"
degrade "failed 7 times, the last time: no device"
oneshot heartbeat
is "$(posted 'len(p)')" $((2 * count)) "another reason is told at once" "$errors"
later 3600
oneshot heartbeat
is "$(posted 'len(p)')" $((3 * count)) "and after an hour again" "$errors"
echo 404 >"$hook/answers"
degrade "failed 7 times, the last time: no memory"
oneshot heartbeat
like "$errors" 'notify.url: POST http://127.0.0.1:[0-9]*: HTTP 404: /\*+/T0/\*+ with None was not found here' \
	"a server that repeats the address in its answer: its parts are hidden"
! grep -q "secret-B0" <<<"$errors"
ok $? "and the secret is not in the log" "$errors"
is "$(posted 'p[-1]["status"]')" 404 "after a failure the other notices of this minute wait"
before=$(posted 'len(p)')
oneshot heartbeat
is "$(posted "len(p) - $before")" "$count" "what was refused is told again a minute later, and so are they"
before=$(posted 'len(p)')
degrade ""
echo "s3://bucket: refused" >"$runs/unbegun"
oneshot heartbeat
is "$(posted 'len(p)')" "$before" "a run that has not begun yet: five minutes are no reason" "$errors"
sed -i 's/"from_s":[ \t]*[0-9]*/"from_s": 1700000000/' "$runs/tonight.json"
oneshot heartbeat
is "$(posted 'len(p) - '"$before"', json.loads(p[-1]["body"])["why"].strip()')" "(1, 's3://bucket: refused')" "then it is told" "$errors"
rm "$runs/unbegun"
over failed
oneshot report
is "$(posted 'p[-1]["path"], json.loads(p[-1]["body"])["outcome"]')" "('/services/T0/secret-B0', 'failed')" "the report goes there, too" "$errors"
! grep -rqE "secret-B0" "$work/store" "$runs" "$work/errors"
ok $? "the address is nowhere else"

# ---- What only kiln-controld sees ----
before=$(posted 'len(p)')
a_node seen "url = \"http://127.0.0.1:$port/seen\";"
begin
noted() { # a word of the health that kiln-controld notes
	grep -q "$1" "$KILN_ROOT/run/kiln/health.json"
}
python3 - "$runs/current/run.json" <<-'PY'
	import json, sys
	record = json.load(open(sys.argv[1]))
	record["reason"] = "uploadd ended: s3://bucket: 403 AccessDenied"
	json.dump(record, open(sys.argv[1], "w"))
PY
"$KILN_BIN/kiln-controld" 2>"$work/controld.log" &
controld=$!
wait_for 40 noted degraded
ok $? "kiln-controld notes what is wrong with the box" "$(cat "$work/controld.log")"
oneshot heartbeat
is "$rc $(posted "[(json.loads(q['body'])['who'], json.loads(q['body'])['why']) for q in p[$before:]]")" \
	"0 [('the box is degraded', 'uploadd ended: s3://bucket: 403 AccessDenied')]" "people are told of it" "$errors"
oneshot heartbeat
is "$(posted "len(p) - $before")" 1 "once"
kill "$controld"
wait "$controld" 2>/dev/null
sed -i 's/"at_us":[ \t]*[0-9]*/"at_us": 1/' "$KILN_ROOT/run/kiln/health.json"
oneshot heartbeat
is "$(posted "[json.loads(q['body'])['who'] for q in p[$before + 1:]]")" "['kiln-controld does not run']" "and of a kiln-controld that is dead" "$errors"
KILN_ROOT=$work/nodes/told
runs=$KILN_ROOT/data/kiln/run

# ---- Mistakes of notify ----
config=$("$KILN_BIN/kiln" config check "$KILN_ROOT/etc/kiln/kiln.conf" 2>&1)
ok $? "kiln config check" "$config"
sed -i 's/notify: {/notify: { url = "http:\/\/a\/"; mail_server = "smtp:\/\/relay"; mail_to = "a@b\\r\\nBcc:c@d";/' "$KILN_ROOT/etc/kiln/kiln.conf"
config=$("$KILN_BIN/kiln" config check "$KILN_ROOT/etc/kiln/kiln.conf" 2>&1)
like "$config" 'notify.url_credential: found beside notify.url on line 4, allowed: one of them' "two addresses are a mistake"
like "$config" 'notify.mail_from: found "", allowed with notify.mail_server: one address' "so is a mail of nobody"
like "$config" 'notify.mail_to: found "a@b..Bcc:c@d"|notify.mail_to: .*, allowed: mail addresses' "and an address that adds a header"

# ---- User and password in an address ----
a_node login 'url_credential = "hook"; heartbeat_credential = "hook";'
echo "http://al%69ce:hunter2@127.0.0.1:$port/topic" >"$KILN_ROOT/data/kiln/credentials/hook"
before=$(posted 'len(p)')
begin
printf '404\n404\n' >"$hook/answers"
degrade "failed 6 times, the last time: the device is lost"
oneshot heartbeat
is "$rc $(posted "[(q['path'], q['headers'].get('Authorization')) for q in p[$before:]]")" \
	"0 [('/topic', 'Basic $(printf alice:hunter2 | base64)'), ('/topic/start', 'Basic $(printf alice:hunter2 | base64)')]" "both are sent" "$errors"
like "$errors" "notify.url: POST http://127.0.0.1:$port: HTTP 404: /\*+ with Basic \*+ was not found here \*+:\*+" "and hidden in what is said, also where the server repeats them"
printf '404\n503\n' >"$hook/answers"
over failed
oneshot report
like "$(tr '\n' ' ' <<<"$errors")" "is not posted: POST http://127.0.0.1:$port: HTTP 404.*notify.heartbeat_url: POST http://127.0.0.1:$port" "in the report, too"
config=$("$KILN_BIN/kiln" check --no-notify 2>&1; "$KILN_BIN/kiln" report --night 2>&1)
! grep -rE "al%69ce|alice|hunter2|$(printf alice:hunter2 | base64)" "$runs" "$work/errors" "$work/store" - <<<"$errors$config"
ok $? "they are nowhere"
refused() { # line of notify, extended regular expression: kiln.conf has a secret in the wrong place
	sed "s|notify: {|&  $1 |" "$KILN_ROOT/etc/kiln/kiln.conf" >"$work/refused.conf"
	config=$("$KILN_BIN/kiln" config check "$work/refused.conf" 2>&1)
	like "$config" "$2" "refused: ${1%% *}"
	! grep -q hunter2 <<<"$config"
	ok $? "without what may be a secret" "$config"
}
refused 'mail_server = "smtp://bob:hunter2@relay.example";' 'notify.mail_server: found "smtp://\*\*\*@relay.example", allowed'
refused 'mail_server = "bob:hunter2@relay.example:25";' 'notify.mail_server: found "\*\*\*@relay.example:25", allowed'
refused "url = \"https://bob:$(printf 'x%.0s' {1..100})hunter2/@relay.example/a\";" 'notify.url: found "https://\*\*\*@relay.example/a", allowed'
refused 'credential = "https://relay.example/hunter2";' 'notify.credential: found a value that may be a secret, allowed'
refused 'mail_server "smtp://bob:hunter2@relay.example";' 'found the string "smtp://\*\*\*@relay.example'

# ---- A full disk ----
a_node full "url = \"http://127.0.0.1:$port/\"; heartbeat_url = \"http://127.0.0.1:$port/beat\";"
mkdir -p "$runs"
if mount -t tmpfs -o size=1m kiln-test "$runs" 2>/dev/null; then
	begin
	before=$(posted 'len(p)')
	degrade "failed 6 times, the last time: No space left on device"
	head -c 2M /dev/zero >"$runs/filler" 2>/dev/null
	oneshot heartbeat
	is "$rc $(posted "len(p) - $before")" "0 $((count + 1))" "people and the monitor are told while the disk is full" "$errors"
	like "$errors" "heartbeat.json.*: No space left on device; what was said is noted until the next boot only" "it says where that is noted"
	oneshot heartbeat
	is "$rc $(posted "len(p) - $before")" "0 $((count + 1))" "but not every minute" "$errors"
	rm "$runs/filler"
	oneshot heartbeat
	oneshot heartbeat
	is "$rc $(posted "len(p) - $before") $(ls "$KILN_ROOT/run/kiln/heartbeat")" "0 $((count + 1)) " "nor once there is space, where the note then lies" "$errors"
	test -s "$runs/heartbeat.json"
	ok $? "on the disk"
	umount "$runs"
else
	skip "a full disk" "no tmpfs can be mounted here"
fi

# ---- Servers that answer slowly ----
a_node slow "url = \"http://127.0.0.1:$port/\"; heartbeat_url = \"http://127.0.0.1:$port/beat\";"
rm -f "$hook/go"
printf 'drip-200\ndrip-200\n' >"$hook/answers"
before=$(posted 'len(p)')
begin
degrade "failed 6 times, the last time: the device is lost"
said=$(timeout 60 "$KILN_BIN/kiln-oneshot" heartbeat 2>&1)
is "$? $said" "0 " "a head with 200 is enough, however long its body takes"
is "$(posted "[q['path'] for q in p[$before:]][::len(p) - $before - 1]")" "['/', '/beat/start']" "people are told before the monitor"
slow_before=$(posted 'len(p)')
over failed
sed -i 's/notify: { wait_min = 0;/notify: { wait_min = 60;/' "$KILN_ROOT/etc/kiln/kiln.conf"
echo drip-404 >"$hook/answers"
timeout 120 "$KILN_BIN/kiln-oneshot" report 2>"$work/slow" & # takes as long as one attempt may take
slow=$!
# ---- Mail ----
openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost -addext 'subjectAltName=DNS:localhost,IP:127.0.0.1' \
	-keyout "$work/key" -out "$work/crt" 2>"$work/openssl"
serve relay smtp.py
a_node mailed "mail_server = \"smtp://127.0.0.1:$port\"; mail_from = \"kiln@box.example\"; mail_to = \"one@example.org, two@example.org\";"
begin
over finished
oneshot report
is "$rc $(mails '[(m_["from"], m_["to"], m_["tls"], m_["login"]) for m_ in m]')" "0 [('kiln@box.example', ['one@example.org', 'two@example.org'], False, None)]" \
	"the report is mailed to everybody" "$errors"
like "$(mails 'm[0]["headers"]["Subject"], m[0]["headers"]["From"], m[0]["headers"]["To"]')" "$id: finished, 0 of 3 epochs', 'kiln@box.example', 'one@example.org, two@example.org'" "its sentence is the subject"
is "$(mails 'm[0]["text"].replace("\r\n", "\n").strip()')" "$(cat "$runs/reports"/*.txt)" "the page is the text"
begin
degrade "failed 6 times, the last time: the device is lost"
oneshot heartbeat
like "$(mails '[m_["headers"]["Subject"] for m_ in m[1:]]')" "kiln-traind is degraded: failed 6 times" "what is wrong in the night is mailed, too"
over failed
echo 451 >"$hook/answers"
oneshot report
like "$errors" "the report of .* is not mailed: mail by smtp://127.0.0.1:[0-9]*: .*451, trying again with the next report" "a relay that is busy"
like "$("$KILN_BIN/kiln" report --night)" 'not delivered to notify.mail_to yet: mail by smtp://127.0.0.1' "kiln report --night says so"
before=$(mails 'len(m)')
oneshot report
is "$(mails 'len(m)') $(ls "$runs/reports" | grep -c pending)" "$((before + 1)) 0" "gets it with the next report" "$errors"

touch "$hook/silent"
begin
over finished
before=$(mails 'len(m)')
timeout 100 "$KILN_BIN/kiln-oneshot" report 2>"$work/errors"
is "$? $(mails 'len(m)') $(ls "$runs/reports" | grep -c pending)" "0 $((before + 1)) 0" "a relay that does not answer QUIT has the mail, and holds nobody for long" "$(cat "$work/errors")"
rm "$hook/silent"

serve secure smtp.py "$work/crt" "$work/key"
a_node secure "mail_server = \"smtp://localhost:$port\"; mail_from = \"kiln@box.example\"; mail_to = \"one@example.org\"; mail_credential = \"relay\"; ca_file = \"$work/crt\";"
echo "user:s3cr3t-w0rd" | tee "$KILN_ROOT/data/kiln/credentials/relay" >"$hook/login"
begin
over finished
oneshot report
is "$rc $(mails '[(m_["tls"], m_["login"]) for m_ in m]')" "0 [(True, 'user:s3cr3t-w0rd')]" "with a login: over TLS" "$errors"
! grep -rq "s3cr3t-w0rd" "$work/store" "$runs" "$work/errors"
ok $? "the password is nowhere"
echo "user:wrong" >"$KILN_ROOT/data/kiln/credentials/relay"
begin
over finished
oneshot report
like "$errors" "is not mailed: mail by smtp://localhost:[0-9]*: " "a wrong login is said"
! grep -q "wrong" <<<"$errors"
ok $? "without the password"
hook=$work/hooks/relay port=$(cat "$work/hooks/relay/port")
a_node plain "mail_server = \"smtp://localhost:$port\"; mail_from = \"kiln@box.example\"; mail_to = \"one@example.org\"; mail_credential = \"relay\";"
echo "user:s3cr3t-w0rd" >"$KILN_ROOT/data/kiln/credentials/relay"
before=$(mails 'len(m)')
begin
over finished
oneshot report
is "$(mails 'len(m)')" "$before" "a relay without TLS gets no password" "$errors"

# ---- What was slow ----
wait $slow
is "$? $(ls "$work/nodes/slow/data/kiln/run/reports" | grep -c pending)" "0 1" "a body of a refusal that does not end is not waited for" "$(cat "$work/slow")"
like "$(cat "$work/slow")" "is not posted: POST http://127.0.0.1:[0-9]*: HTTP 404: no" "and what came of it is said"
hook=$work/hooks/people
is "$(posted "[q['path'] for q in p[$slow_before:]]")" "['/', '/beat/fail']" "the monitor is told after people were"
is "$(find "$work/store/slow" -name report.txt | wc -l)" 1 "and the store has the report"
touch "$hook/go"
