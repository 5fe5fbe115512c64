#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What kiln-uploadd tells a tracking server (MLflow) of runs, and every way in which that server fails.
. "$(dirname "$0")/lib.sh"
a_shard "$work/data"
mkdir "$work/mlflow"
/usr/bin/python3 tests/system/mlflow_fake.py "$work/mlflow" >"$work/mlflow/port" 2>"$work/mlflow/err" &
wait_for 20 test -s "$work/mlflow/port"
server=http://127.0.0.1:$(cat "$work/mlflow/port")

begin() { # node, more keys of tracking
	node "$1"
	cat >"$work/kiln.conf" <<-CONF
		run: { name = "$1"; };
		source: { url = "file://$work/data"; };
		sink: { url = "file://$work/runs"; };
		optimizer: { learning_rate = 0.5; };
		tracking: { url = "$server"; ${2:-} };
	CONF
	id=$("$KILN_BIN/kiln-oneshot" begin --config "$work/kiln.conf" 2>"$work/begin.log")
	spool=$KILN_ROOT/data/kiln/spool record=$KILN_ROOT/data/kiln/run/current
	mkdir -p "$spool/traind/$id/logs/steps"
}

points() { # steps
	echo | "$KILN_BUILD/system/write_events" "$spool/traind/$id/logs/steps" 1000000 "$1" >/dev/null
}

note() { # python statements on the record r
	python3 - "$record/run.json" "$1" <<-'PY'
		import json, os, sys
		r = json.load(open(sys.argv[1]))
		exec(sys.argv[2])
		json.dump(r, open(sys.argv[1] + ".new", "w"))
		os.rename(sys.argv[1] + ".new", sys.argv[1])
	PY
}

epochs() { # count
	note "r['epochs'] = [{'epoch': k, 'step': k + 1, 'at_ms': 1700000000000 + k, 'loss': 1 / (k + 1), 'accuracy': 0.5, 'validation_loss': 2.0} for k in range($1)]"
}

finish_run() { # state
	note "r['metrics'] = {'test': {'loss': 0.25, 'accuracy': 0.75, 'rows': 4}}"
	echo "$1" >"$record/state.new"
	mv "$record/state.new" "$record/state"
}

start() {
	"$KILN_BIN/kiln-uploadd" "$@" 2>>"$KILN_ROOT/log" &
	uploadd=$!
}

stop() {
	kill -KILL $uploadd 2>/dev/null
	wait $uploadd 2>/dev/null
}

drain() {
	start --drain
	wait $uploadd
}

faults() { # JSON
	echo "$1" >"$work/mlflow/faults.new"
	mv "$work/mlflow/faults.new" "$work/mlflow/faults"
}

told() { # python expression: runs = those of MLflow with this run's id, r = the first that is not deleted, d = everything
	curl -sf "$server/dump" | python3 -c 'import json, sys
d = json.load(sys.stdin)
runs = [x for x in d["runs"].values() if sys.argv[2] in x["tags"].values() and x["stage"] == "active"]
r = runs[0] if runs else None
steps = lambda key: [x[3] for x in r["rows"] if x[0] == key]
print(eval(sys.argv[1]))' "$1" "$id" 2>&1
}

is_so() { # python expression
	[ "$(told "$1")" = True ]
}

is_told() { # python expression that becomes True
	wait_for 30 is_so "$1"
}


# ---- A night ----
begin night
epochs 3
points 10
start
is_told 'len(steps("batch_loss")) == 10 and len(steps("train.loss")) == 3'
ok $? "points by step and epochs come while the run goes on" "$(told r) $(tail -n 3 "$KILN_ROOT/log")"
is "$(told 'r["status"], r["tags"]["kiln.state"], d["experiments"]')" "('RUNNING', 'running', {'night': '1'})" "a run that runs, in an experiment named after it"
is "$(told 'r["params"]["optimizer.learning_rate"], "notify.url" in r["params"]')" "('0.5', False)" "parameters: what differs from the default, and nothing of the box"
stop
finish_run finished
drain
is "$? $(told 'len(runs), r["status"], r["tags"]["kiln.model_url"]')" "0 (1, 'FINISHED', 'file://$work/runs/$id/model')" "the same run has ended"
is "$(told 'steps("batch_loss") == list(range(10)), steps("train.loss"), steps("test.accuracy"), len(r["rows"])')" \
	"(True, [1, 2, 3], [3], 41)" "each metric once, with its step or its epoch"
note "r['kiln_build'] = 'another'"
drain
is "$(told 'len(runs), r["status"], r["tags"]["kiln.build"], len(r["rows"])')" "(1, 'FINISHED', 'another', 41)" "a tag that changes after the end is told, too"

# ---- Another box goes on with a run ----
begin adopted
epochs 2
start
is_told 'len(steps("train.loss")) == 2'
stop
rm -r "$spool/tracking"
epochs 3
start
is_told 'len(steps("train.loss")) >= 3'
is "$(told 'steps("train.loss"), steps("validation.loss")')" "([1, 2, 3], [1, 2, 3])" \
	"a box that has only the record tells each epoch at the same time: no doubles" "$(told 'r["rows"]')"
stop

begin winner
winner=$id rows='len(runs), r["rows"], r["end"]'
epochs 2
finish_run finished
drain
told=$(told "$rows")
begin winner # the next trial
finish_run finished
drain
rm -r "$record"
ln -s "archive/$winner" "$record"
id=$winner
drain
is "$(told "$rows")" "$told" "a run that becomes the current run again after its end is not told again"

# ---- The answers of a server ----
fails() { # name, fault (its own "match" comes before "."), words of the log, more keys of tracking
	begin "$1" "${4:-}"
	points 2
	finish_run finished
	faults "[{\"match\": \".\", $2}]"
	drain
	is "$? $([ -e "$work/runs/$id/run.json" ] && echo stored)" "0 stored" "$1: the run is uploaded all the same"
	like "$(cat "$KILN_ROOT/log")" "$3" "$1: it is said"
	faults '[]'
	drain
	is "$(told 'len(runs), r["status"], steps("batch_loss")')" "(1, 'FINISHED', [0, 1])" "$1: and sent when the server is back"
}
fails unauthorized '"do": "answer", "status": 401' 'GET http://127.0.0.1:[0-9]+/api/2.0/mlflow/experiments/get-by-name: HTTP 401.*trying again in 1 s; training goes on'
fails forbidden '"do": "answer", "status": 403, "code": "PERMISSION_DENIED"' 'HTTP 403 PERMISSION_DENIED: told to'
fails broken '"do": "answer", "status": 500, "code": "INTERNAL_ERROR"' 'HTTP 500 INTERNAL_ERROR'
fails elsewhere '"do": "answer", "status": 404, "body": "<h1>no such page</h1>"' 'HTTP 404: <h1>no such page'
fails garbage '"do": "answer", "status": 200, "body": "<h1>hello</h1>"' 'not JSON'
fails nothing '"do": "lose"' 'http://127.0.0.1'
fails proxy '"match": "log-batch", "do": "answer", "status": 400, "body": "<h1>bad request</h1>"' 'HTTP 400: <h1>bad request'
fails slow '"match": "log-batch", "do": "answer", "status": 408, "code": "INVALID_PARAMETER_VALUE"' 'HTTP 408 INVALID_PARAMETER_VALUE'

server=http://127.0.0.1:1 begin two
finish_run finished
drain
begin two
finish_run finished
drain
is "$(told 'len(runs), r["status"]')" "(1, 'FINISHED')" "a server that is away holds up no run of another server"
like "$(cat "$KILN_ROOT/log")" 'http://127.0.0.1:1/.*trying again' "and is told"
like "$(tail -n 1 "$KILN_ROOT/log")" 'http://127.0.0.1:1/.*; a later start tells the tracking server the rest' "the last line says that something is left"

begin busy
points 2
finish_run finished
faults '[{"match": ".", "do": "answer", "status": 429, "headers": {"Retry-After": "4"}, "count": 1}]'
start
is_told 'r["status"] == "FINISHED"'
stop
is "$(tail -n 20 "$work/mlflow/log" | python3 -c 'import sys
times = [float(l.split()[2]) for l in sys.stdin if "get-by-name" in l]
print(times[-1] - times[-2] >= 3.9)')" True "Retry-After is kept"

# ---- A server that hangs ----
begin hangs
faults '[{"match": ".", "do": "hang"}]'
start
sleep 1
points 2
finish_run finished
wait_for 10 grep -q '"state":.*"finished"' "$work/runs/$id/run.json"
ok $? "a server that hangs delays no upload"
stop
faults '[{"match": ".", "do": "answer", "status": 403}]'
start
wait_for 20 eval '"$KILN_BUILD/system/show_status" uploadd tracking | grep -q "HTTP 403"'
ok $? "the status page says what is wrong with it"
stop
faults '[]'
drain
is "$(told 'len(runs), r["status"]')" "(1, 'FINISHED')" "and gets the run later"

# ---- No doubles ----
begin lost
points 1500
finish_run finished
faults '[{"match": "runs/create", "do": "lose", "count": 1}, {"match": "log-batch", "having": "batch_loss", "do": "lose", "count": 2}]'
start
is_told 'r["status"] == "FINISHED"'
stop
is "$(told 'len(runs), steps("batch_loss") == list(range(1500)), len(r["rows"]), r["posted"] > 4502')" "(1, True, 4502, True)" \
	"answers that are lost: one run, and each metric once, though it was sent twice"

begin killed
points 3000
finish_run finished
for seed in $(seq 1 25); do
	RANDOM=$seed
	start
	sleep 0.$((RANDOM % 3))$((RANDOM % 10))
	stop
done
drain
is "$(told 'len(runs), r["status"], steps("batch_loss") == list(range(3000)), len(r["rows"])')" "(1, 'FINISHED', True, 9002)" \
	"kiln-uploadd killed 25 times: one run, and each metric once"

# ---- What a server refuses ----
begin refused
points 2
finish_run finished
faults '[{"match": "log-batch", "do": "answer", "status": 400, "code": "INVALID_PARAMETER_VALUE", "count": 1}]'
drain
faults '[]'
is "$(told 'r["status"], steps("batch_loss")')" "('FINISHED', [0, 1])" "parameters that are refused hold nothing up"
like "$(cat "$KILN_ROOT/log")" 'INVALID_PARAMETER_VALUE: told to, leaving it out' "and are told"

begin turns
finish_run finished
faults '[{"match": "runs/create", "do": "answer", "status": 400, "code": "INVALID_PARAMETER_VALUE"}]'
drain
begin turns
finish_run finished
: >"$KILN_ROOT/log"
: >"$work/mlflow/log"
start
wait_for 20 eval '[ "$(grep -c runs/create "$work/mlflow/log")" -ge 5 ]'
stop
faults '[]'
is "$(grep -c 'leaving it out' "$KILN_ROOT/log")" 2 "two runs that are refused in turns are told once each"
drain

begin forgotten
points 2
start
is_told 'len(steps("batch_loss")) == 2'
stop
faults '[{"match": "log-batch|update", "do": "answer", "status": 404, "code": "RESOURCE_DOES_NOT_EXIST", "count": 1}]'
finish_run finished
start
is_told 'r["status"] == "FINISHED" and len(steps("batch_loss")) == 2'
ok $? "a server that has lost a run gets it again"
stop
faults '[]'

# ---- Champions ----
champion() { # fault
	begin champion
	finish_run finished
	"$KILN_BUILD/system/note_champion" "$work/kiln.conf" "$id" "s3://models/champion/saved_model/1" 1
	faults "[{\"match\": \"registered-models/create\", $1}]"
	drain
	faults '[]'
}
champion '"do": "answer", "status": 200, "body": "<h1>hello</h1>"'
drain
is "$(told 'd["models"]["champion"]["aliases"]')" "{'champion': '1'}" "a champion waits for a server whose answers are no JSON"
champion '"do": "answer", "status": 400, "code": "INVALID_PARAMETER_VALUE"'
like "$(cat "$KILN_ROOT/log")" "champion $id: .*INVALID_PARAMETER_VALUE: told to, leaving it out" "a champion that is refused is told"
is "$(ls "$KILN_ROOT/data/kiln/spool/champions")" "" "and left out"

# ---- The box is switched off ----
export DBUS_SYSTEM_BUS_ADDRESS=unix:path=$work/no-bus # whatever goes wrong, this machine is not
switch_off() { # minutes of waiting
	mkdir -p "$KILN_ROOT/etc/kiln"
	sed "s/^run: {/power: { when_finished = \"off\"; wake_by = \"other\"; upload_wait_min = $1; };\n&/" "$work/kiln.conf" >"$KILN_ROOT/etc/kiln/kiln.conf"
	printf '{"from_s": %s, "by": "timer", "run": "", "reason": ""}\n' "$(date +%s)" >"$KILN_ROOT/data/kiln/run/tonight.json"
	: >"$record/finished"
	"$KILN_BIN/kiln-oneshot" finished 2>"$work/errors"
}
begin off
epochs 2
finish_run finished
faults '[{"match": ".", "do": "answer", "status": 503}]'
start
wait_for 20 eval '"$KILN_BUILD/system/show_status" uploadd tracking | grep -q "HTTP 503"'
switch_off 0
like "$(cat "$work/errors")" "$id: the tracking server may not have been told all after 0 minutes: 1 runs, series or champions are left \(kiln-uploadd: .*HTTP 503" \
	"before the box is switched off it is said what is left"
like "$(tail -n 1 "$work/errors")" 'D-Bus' "and it is switched off all the same"
stop
faults '[]'
start
switch_off 5
like "$(cat "$work/errors")" "$id: the tracking server knows all" "the box waits until the server knows all"
is "$(told 'r["status"], steps("train.loss")')" "('FINISHED', [1, 2])" "as it does then"
stop

# ---- Login ----
mkdir -p "$work/credentials"
export CREDENTIALS_DIRECTORY=$work/credentials
echo "user:secret" >"$work/credentials/basic"
echo "token-1" >"$work/credentials/bearer"
for name in basic bearer; do
	begin "login-$name" "credential = \"$name\"; experiment = \"ours\";"
	points 1
	finish_run failed
	drain
	like "$(tail -n 1 "$work/mlflow/log")" "$([ $name = basic ] && echo 'Basic dXNlcjpzZWNyZXQ=' || echo 'Bearer token-1')$" "login by $name"
done
is "$(told 'r["status"], "ours" in d["experiments"]')" "('FAILED', True)" "a failed run, in the experiment of tracking.experiment"
begin login-none 'credential = "missing";'
points 1
finish_run finished
drain
like "$(cat "$KILN_ROOT/log")" "credential 'missing'" "a missing credential is told, and uploads go on"
unset CREDENTIALS_DIRECTORY
