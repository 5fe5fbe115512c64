#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Kiln under a real systemd, in a container: installed, started by its timer, killed, stopped, rebooted in mid-run. The run
# ends with the same bits as one that nobody disturbed.
. "$(dirname "$0")/../system/lib.sh"

root=$work/root
leader= nspawn=

why_not() {
	[ "$(id -u)" = 0 ] || { echo "it needs root"; return; }
	command -v systemd-nspawn >/dev/null || { echo "no systemd-nspawn here"; return; }
	[ -x /lib/systemd/systemd ] || { echo "no systemd here"; return; }
	unshare --mount true 2>/dev/null || { echo "no mount namespaces here"; return; }
}
reason=$(why_not)
[ -z "$reason" ] || { skip "Kiln under systemd" "$reason"; exit; }

# This machine's /usr with Kiln put over it; everything else is the container's own.
make_root() {
	mkdir -p "$root"/{usr,etc,var,data,proc,sys,dev,run,tmp,root} "$work"/{upper,scratch}
	mount -t overlay overlay -o "lowerdir=/usr,upperdir=$work/upper,workdir=$work/scratch" "$root/usr" || return
	for link in bin sbin lib lib32 lib64; do
		[ ! -L /$link ] || ln -s usr/$link "$root/$link"
	done
	cp -a /etc/OpenCL /etc/ld.so.cache /etc/alternatives "$root/etc/"
	: >"$root/etc/fstab"
	tr -d - </proc/sys/kernel/random/uuid >"$root/etc/machine-id" # without one it is a first boot, which asks
	make -s install DESTDIR="$root" B="$KILN_BUILD" >/dev/null || return
	install -m 755 "$KILN_BUILD/system/make_shards" "$root/usr/libexec/kiln/" || return
	# Short times, and a clock that nobody sets here.
	local unit
	for unit in fetchd traind uploadd controld; do
		mkdir -p "$root/etc/systemd/system/kiln-$unit.service.d"
		printf '[Service]\nWatchdogSec=4\nTimeoutAbortSec=1\nMemoryMax=infinity\n' \
			>"$root/etc/systemd/system/kiln-$unit.service.d/90-test.conf"
	done
	systemctl --root="$root" preset kiln-{provision,resume,uploadd,controld}.service kiln-steer.socket kiln-finished.path \
		kiln-nightly.timer >/dev/null 2>&1
	sed -i 's/ --clock-wait-s 300//' "$root"/usr/lib/systemd/system/kiln-{nightly,resume}.service
}

boot() {
	setsid systemd-nspawn -D "$root" -b --register=no --keep-unit --console=read-only \
		--machine="kiln-test-$$" </dev/null >>"$work/console" 2>&1 &
	nspawn=$!
	disown
	wait_for 20 test -n "$(pgrep -P $nspawn)" || true
	wait_for 30 is_up
}

is_up() {
	leader=$(pgrep -P "$nspawn" | head -n 1)
	[ -n "$leader" ] && grep -qE 'running|degraded' <<<"$(inside systemctl is-system-running 2>/dev/null)"
}

inside() {
	nsenter -t "$leader" -a "$@"
}

power_off() {
	inside systemctl poweroff >/dev/null 2>&1
	wait_for 60 gone
}

gone() {
	! kill -0 "$nspawn" 2>/dev/null
}

cleanup() {
	if [ -n "$nspawn" ] && ! gone; then
		power_off || kill -KILL ${leader:+$leader} "$nspawn"
	fi
	wait_for 10 umount "$root/usr"
}

state() {
	cat "$root/data/kiln/run/current/state" 2>/dev/null
}

is_state() {
	[ "$(state)" = "$1" ]
}

pid_of() { # daemon
	inside systemctl show -P MainPID "kiln-$1.service"
}

property() { # daemon, name
	inside systemctl show -P "$2" "kiln-$1.service"
}

restarted() { # daemon, its pid before
	local now
	now=$(pid_of "$1")
	[ "${now:-0}" != 0 ] && [ "$now" != "$2" ] && [ "$(property "$1" ActiveState)" = active ]
}

journal() {
	inside journalctl --no-pager -o cat "$@" 2>/dev/null
}

config() { # folder of data, folder of runs, epochs
	cat <<-CONF
		run: { name = "t"; epochs = $3; batch_rows = 32; at = "$(date -u +%H:%M)"; zone = "UTC"; };
		source: { url = "file://$1"; };
		sink: { url = "file://$2"; };
		ring: { small_pages = true; };
		order: { window_shards = 3; };
		checkpoint: { every_steps = 500; keep = 2; };
		device: { type = "cpu"; };
		schema = ( { name = "sentence"; dtype = "float32"; shape = [ 8 ]; },
		           { name = "label"; dtype = "int64"; shape = [ 2 ]; } );
		model: { layers = ( { op = "dense"; units = 512; }, { op = "relu"; }, { op = "dropout"; rate = 0.2; },
		                    { op = "dense"; units = 2; }, { op = "softmax"; } ); };
	CONF
}

steer() { # word, user
	inside setpriv --reuid="${2:-kiln-control}" --regid=kiln --init-groups timeout 20 python3 -c '
import socket, sys
s = socket.socket(socket.AF_UNIX)
s.connect("/run/kiln-steer/socket")
s.sendall(sys.argv[1].encode() + b"\n")
print(s.makefile().readline().strip())' "$1" 2>&1 | tail -n 1
}

# The weights alone: the file's header names run and configuration.
weights() { # folder of runs
	python3 - "$1"/*/model/model.safetensors <<-'PY'
		import hashlib, struct, sys
		data = open(sys.argv[1], "rb").read()
		print(hashlib.sha256(data[8 + struct.unpack("<Q", data[:8])[0]:]).hexdigest())
	PY
}

newest() { # the newest checkpoint's step
	find "$root/data/kiln/spool" -name 'ckpt-*.safetensors' 2>/dev/null | sed 's/.*ckpt-0*\([0-9]*\)\..*/\1/' |
		sort -n | tail -n 1
}

passed() { # step
	[ "$(newest)" != "" ] && [ "$(newest)" -gt "$1" ]
}

goes_on() { # name: a checkpoint that was not there yet
	local before
	before=$(newest)
	wait_for 60 passed "${before:-0}"
	ok $? "$1" "state $(state), newest checkpoint ${before:-none}
$(inside systemctl status --no-pager -n 5 kiln-{begin,fetchd,traind,uploadd}.service 2>&1)"
}

kill_it() { # daemon, signal
	local before
	before=$(pid_of "$1")
	[ "$before" -gt 0 ] || { ok 1 "$1, SIG$2: it does not run"; return; }
	inside kill "-$2" "$before"
	wait_for 40 restarted "$1" "$before"
	ok $? "$1, SIG$2: systemd starts it again" "$(inside systemctl status --no-pager -n 20 "kiln-$1.service" 2>&1)"
}

# ---- Installed ----
epochs=${KILN_EPOCHS:-600}
make_root || { ok 1 "Kiln is installed into a root of its own"; exit; }
ok 0 "Kiln is installed into a root of its own"
mkdir -p "$root/data/kiln/store/data" "$work/plain/runs"
"$KILN_BUILD/system/make_shards" "$root/data/kiln/store/data" train 10 1500
"$KILN_BUILD/system/make_shards" "$root/data/kiln/store/data" test 2 100
boot
rc=$?
ok $rc "it boots" "$(tail -n 20 "$work/console")"
[ $rc = 0 ] || exit
units="kiln-run.target kiln-nightly.timer kiln-steer.socket kiln-finished.path run-kiln-huge.mount
	$(cd "$root/usr/lib/systemd/system" && echo kiln-*.service)"
verified=$(inside systemd-analyze verify --man=no ${units//@.service/@x.service} 2>&1 | grep -i kiln)
is "$verified" "" "systemd-analyze verify has nothing to say"
is "$(pid_of uploadd | grep -c '^0$'):$(property uploadd StatusText)" "0:waiting for a run" "uploadd waits for the first run"
inside kiln status >"$work/status" 2>&1
is "$?" 7 "kiln status: idle" "$(cat "$work/status")"
like "$(inside systemctl show -P NextElapseUSecRealtime kiln-nightly.timer)" 2199 "without a configuration no run is due"

# ---- A configuration that comes late, the timer, a run ----
config /data/kiln/store/data /data/kiln/store/runs "$epochs" >"$root/etc/kiln/kiln.conf"
mkdir -p "$root/run/systemd/system"
is "$(steer config.reload)" ok "config.reload, as kiln-control"
inside mkdir -p /run/systemd/system/kiln-nightly.timer.d
inside sh -c "printf '[Timer]\nOnCalendar=\nOnCalendar=%s\n' \"\$(date -u -d '+3 sec' '+%Y-%m-%d %H:%M:%S UTC')\" \
	>/run/systemd/system/kiln-nightly.timer.d/90-test.conf"
is "$(steer config.reload)" ok "and again"
is "$(steer config.reload kiln-fetch | grep -c Permission)" 1 "the fetcher's user may not call kiln-steer"
is "$(steer 'run.start kiln-traind')" "error unknown word" "a word that is none is refused"
wait_for 30 is_state running
ok $? "the timer starts a run" "$(journal -n 40)"
goes_on "it trains"
like "$(property traind StatusText)" 'training' "traind's status says so"
like "$(inside kiln status 2>&1)" 'running' "so does kiln status"

# ---- Killed and stopped ----
fetchd=$(pid_of fetchd)
kill_it traind KILL
is "$(pid_of fetchd)" "$fetchd" "a trainer that crashes leaves the fetcher alone"
goes_on "and the run goes on"
kill_it fetchd KILL
kill_it uploadd KILL
kill_it controld KILL
goes_on "killed fetchd and uploadd: the run goes on"
kill_it traind STOP
kill_it fetchd STOP
kill_it controld STOP
like "$(journal -u kiln-fetchd -u kiln-traind)" 'Watchdog timeout' "the watchdog ends what stands still"
goes_on "and the run goes on"
like "$(journal -u kiln-traind)" 'failed [0-9]+ times, trying again in [0-9]+ s: killed, or crashed' "the journal tells why it waits"

# ---- Steered ----
inside kiln pause >"$work/said" 2>&1
wait_for 60 is_state paused
ok $? "kiln pause" "$(cat "$work/said"; journal -u kiln-traind -n 5)"
inside kiln resume >"$work/said" 2>&1
wait_for 60 is_state running
ok $? "kiln resume" "$(cat "$work/said"; journal -u kiln-traind -n 5)"
inside kiln stop >"$work/said" 2>&1
wait_for 60 is_state stopped
ok $? "kiln stop" "$(cat "$work/said"; journal -u kiln-traind -n 5)"
wait_for 30 test ! -e "$root/data/kiln/run/current/finished"
inside kiln start >"$work/said" 2>&1
wait_for 60 is_state running
ok $? "kiln start goes on with it" "$(cat "$work/said"; journal -n 20)"
goes_on "and it trains"

# ---- Power ----
echo 'run: { epochs = "none"; };' >"$root/etc/kiln/kiln.conf"
power_off
is "$(state)" running "the box goes down in mid-run"
boot
ok $? "it boots again" "$(tail -n 20 "$work/console")
$(inside systemctl list-jobs 2>&1)"
resumed() {
	journal -b -u kiln-resume | grep -q 'going on after a reboot' && journal -b -u kiln-traind | grep -q 'going on from'
}
wait_for 30 resumed
ok $? "a reboot in mid-run: it goes on, whatever kiln.conf says by now" "$(journal -b -n 40)"
wait_for 900 is_state finished
ok $? "it finishes" "$(state), $(newest)
$(journal -n 30)"
wait_for 20 test ! -e "$root/data/kiln/run/current/finished"
inactive() {
	[ "$(inside systemctl is-active kiln-run.target kiln-traind kiln-fetchd | sort -u)" = inactive ]
}
wait_for 20 inactive
ok $? "the run's units are stopped" "$(inside systemctl status --no-pager kiln-run.target kiln-fetchd 2>&1)"
archived() {
	[ -L "$root/data/kiln/run/current" ] && [ "$(cat "$root"/data/kiln/run/archive/*/state)" = finished ]
}
wait_for 60 archived
ok $? "its record goes to the archive" "$(inside systemctl status --no-pager -n 20 kiln-finished 2>&1)"
inside kiln status >"$work/said" 2>&1
like "$(cat "$work/said")" 'state +finished' "kiln status still tells of it"

# ---- The same bits ----
stored() {
	ls "$root"/data/kiln/store/runs/*/model/model.safetensors
}
wait_for 30 stored
ok $? "the model is in the store"
node plain
config "$root/data/kiln/store/data" "$work/plain/runs" "$epochs" >"$work/plain.conf"
tools/night "$KILN_BIN" "$work/plain.conf" >"$work/night" 2>&1
is "$(weights "$root/data/kiln/store/runs")" "$(weights "$work/plain/runs")" "the same weights as without systemd and kills, bit for bit"
