#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# kiln-generator alone: no configuration, a bad one, one that comes late and one whose read hangs; and whether systemd accepts
# its lines.
. "$(dirname "$0")/lib.sh"

node generator
conf=$KILN_ROOT/etc/kiln/kiln.conf
mkdir -p "${conf%/*}"
export KILN_KMSG=$work/kmsg

generate() { # sets rc, said, and leaves the drop-ins in $units
	units=$work/units
	rm -rf "$units"
	mkdir -p "$units"
	: >"$KILN_KMSG"
	"$KILN_BIN/kiln-generator" "$units" "$units.early" "$units.late" >"$work/out" 2>&1
	rc=$?
	said=$(cat "$KILN_KMSG" "$work/out")
}

drop_in() { # unit
	cat "$units/$1.d/50-kiln.conf" 2>&1
}

config() { # lines of run
	cat >"$conf" <<-CONF
		run: { $1 };
		source: { url = "s3://bkt/data"; credential = "store"; };
		sink: { url = "s3://bkt/runs"; credential = "results"; };
		device: { cores = "2-3"; };
	CONF
}

generate
is "$rc:$said:$(find "$units" -type f)" "0::" "no configuration: nothing is written or said"

config 'days = "mon..wed,sun"; at = "01:15"; zone = "Asia/Tokyo"; catch_up = true;'
generate
is "$rc:$said" "0:" "a good one: nothing is said"
is "$(drop_in kiln-nightly.timer)" "[Timer]
OnCalendar=
OnCalendar=Mon,Tue,Wed,Sun *-*-* 01:15:00 Asia/Tokyo
Persistent=yes" "the timer"
store=LoadCredential=store:/data/kiln/credentials/store results=LoadCredential=results:/data/kiln/credentials/results
is "$(drop_in kiln-begin.service)" "[Service]
$store
$results" "credentials by name"
like "$(drop_in kiln-fetchd.service | tr '\n' ' ')" "$store $results " "fetchd's credentials: the sink's, too, because it stores the plan"
is "$(drop_in kiln-uploadd.service)" "[Service]
$results" "the uploader's: the sink's alone"
is "$(drop_in kiln-preload.service)" "[Service]
$store" "what fills the cache: the sources' alone"
is "$(drop_in kiln-promote.service)" "[Service]
$store
$results" "what judges a model: both"
is "$(drop_in kiln-report.service)" "[Service]
SetCredential=results:-
$results" "the report's: it starts without, too"
is "$(ls "$units" | grep rank@)" "" "no network between boxes: the unit of ranks may speak with nobody"
is "$(drop_in kiln-traind.service)" "[Service]
CPUAffinity=
CPUAffinity=2-3" "the trainer's cores"
for unit in begin fetchd traind; do
	is "$(drop_in kiln-$unit@.service)" "$(drop_in kiln-$unit.service)" "kiln-$unit in slots 1, 2 ..., too"
done
like "$(drop_in kiln-fetchd.service)" '^MemoryMax=[0-9]+$' "the fetcher's memory"
is "$(find "$units.early" "$units.late" 2>/dev/null)" "" "the other two folders stay as they are"

"$KILN_BIN/kiln-oneshot" keep-config
cp "$conf" "$work/good"
config 'at = "25:00"; zone = "Nowhere";'
generate
is "$rc" 0 "a bad one is no reason to fail"
like "$said" 'kiln.conf:1: run.at: found "25:00"' "it says what is wrong"
like "$said" 'the units follow the last good one' "and that the last good one is used"
like "$(drop_in kiln-nightly.timer)" '01:15:00 Asia/Tokyo' "the timer of the last good one"
"$KILN_BIN/kiln-oneshot" keep-config 2>/dev/null
is "$?:$(cmp "$conf.good" "$work/good")" "78:" "a bad one never becomes the last good one"
rm "$conf.good"
generate
is "$rc:$(find "$units" -type f)" "0:" "a bad one alone: no drop-ins"
like "$said" 'no run starts by itself' "and it says so"

rm "$conf"
mkfifo "$conf"
generate
is "$rc" 0 "a pipe in its place holds the boot not up"
like "$said" 'kiln.conf: not a regular file' "and it says so"
rm "$conf"

config ''
echo 'tracking: { url = "http://mlflow.lan"; credential = "mlflow"; };' >>"$conf"
generate
is "$(drop_in kiln-uploadd.service | tr '\n' ' ')" "[Service] $results [Service] SetCredential=mlflow:- \
LoadCredential=mlflow:/data/kiln/credentials/mlflow " "the uploader starts without the tracking server's credential, too"

config ''
echo 'ranks: { network = "10.7.0.0/24"; trusted = true; };' >>"$conf"
generate
is "$(drop_in kiln-rank@.service)" "[Service]
IPAddressAllow=localhost 10.7.0.0/24" "a network between boxes: the unit of ranks speaks with it alone"

config ''
echo 'order: { lanes = 2; }; ranks: { network = "10.7.0.0/24"; trusted = true; boxes = "box-2"; };' >>"$conf"
generate
like "$(drop_in kiln-traind.service | tr '\n' ' ')" 'PrivateNetwork=no .*KILN_PKI=%d .*LoadCredential=client.key:/data/kiln/credentials/leads-key ' \
	"other boxes: the trainer of the box that leads may call them, with its certificate"

config 'days = "none";'
generate
like "$(drop_in kiln-nightly.timer)" 'OnCalendar=Mon,Tue,Wed,Thu,Fri,Sat,Sun' "no night: the timer has a time, at which no run starts"

config 'at = "02:30"; zone = "Europe/Berlin";'
generate
like "$said" 'run.at = "02:30" does not exist on 2[0-9]{3}-03-[0-9]{2} in Europe/Berlin: that run starts at 03:00' \
	"a time in the gap is warned about"
if command -v systemd-analyze >/dev/null; then
	lines=$(drop_in kiln-nightly.timer | sed -n 's/^OnCalendar=\(.\)/\1/p')
	while read -r line; do
		systemd-analyze calendar "$line" >"$work/calendar" 2>&1 || echo "$line: $(cat "$work/calendar")"
	done <<<"$lines" >"$work/refused"
	is "$(cat "$work/refused")" "" "systemd understands every time"
	day=$(sed -n 's/^\(2[0-9-]*\) 03:00:00 .*/\1/p' <<<"$lines" | head -n 1)
	next=$(while read -r line; do
		TZ=Europe/Berlin systemd-analyze calendar --base-time="$day 00:00" "$line" |
			sed -n 's/.*Next elapse: [A-Za-z]* //p'
	done <<<"$lines" | sort | head -n 1)
	like "$next" "^$day 03:00:00" "the night of the change has its run, right after the gap"
else
	skip "systemd understands every time" "no systemd-analyze here"
fi
