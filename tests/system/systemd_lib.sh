# SPDX-License-Identifier: Apache-2.0
# Shared by the tests of Kiln under a real systemd, in a container. Where no container can run, this file skips the test.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

root=$work/root machine=kiln-test-$$ # a test with several containers sets these, and leader and nspawn, for each
leader= nspawn= nspawn_options=()

why_not() {
	[ "$(id -u)" = 0 ] || { echo "it needs root"; return; }
	command -v systemd-nspawn >/dev/null || { echo "no systemd-nspawn here"; return; }
	[ -x /lib/systemd/systemd ] || { echo "no systemd here"; return; }
	unshare --mount true 2>/dev/null || { echo "no mount namespaces here"; return; }
}
reason=$(why_not)
[ -z "$reason" ] || { skip "Kiln under systemd" "$reason"; exit; }

# Kernels that the units of one test have compiled serve the units of all: a start that compiles takes 10 s of CPU time and more.
unit_kernels=$POCL_CACHE_DIR.units

bring_kernels() {
	local unit
	for unit in traind rank; do
		mkdir -p "$unit_kernels/$unit" "$root/var/cache/kiln-$unit"
		flock "$unit_kernels" cp -r "$unit_kernels/$unit/." "$root/var/cache/kiln-$unit/" # systemd gives them to the unit's user
	done
}

# After the end of the container: PoCL renames its files into place, so all but its temporary files are whole.
keep_kernels() {
	local unit
	for unit in traind rank; do
		rm -rf "$root/var/cache/kiln-$unit/"{tempfile_*,kernels}
		flock "$unit_kernels" cp -rn --no-preserve=ownership "$root/var/cache/kiln-$unit/." "$unit_kernels/$unit/"
	done
}

# ---- The container ----

# Mounts this machine's /usr with Kiln installed over it; everything else belongs to the container.
make_root() {
	mkdir -p "$root"/{usr,etc,var,data,proc,sys,dev,run,tmp,root} "$root".{upper,scratch}
	mount -t overlay overlay -o "lowerdir=/usr,upperdir=$root.upper,workdir=$root.scratch" "$root/usr" || return
	for link in bin sbin lib lib32 lib64; do
		[ ! -L /$link ] || ln -s usr/$link "$root/$link"
	done
	cp -a /etc/OpenCL /etc/ld.so.cache /etc/alternatives "$root/etc/"
	: >"$root/etc/fstab"
	tr -d - </proc/sys/kernel/random/uuid >"$root/etc/machine-id" # without a machine-id systemd would treat the boot as a first one, and ask questions
	make -s install DESTDIR="$root" B="$KILN_BUILD" >/dev/null || return
	# Memory limits do not work in every container. Nothing sets the clock here, so do not wait for it.
	local unit
	for unit in fetchd{,@} traind{,@} uploadd controld begin{,@} config devices check-gpu check-store; do
		drop_in "kiln-$unit.service" Service MemoryMax=infinity TimeoutAbortSec=1
	done
	if [ -n "${KILN_COUNTS:-}" ]; then
		drop_in kiln-.service Service "ReadWritePaths=$KILN_COUNTS"
		drop_in kiln-provision.service Service ReadWritePaths= # a namespace of its own would hide its mounts from the others
	fi
	# Hide this machine's pool of hugepages: the container sees an empty one.
	local pool=$root/usr/share/no-pages/node0/hugepages/hugepages-2048kB
	mkdir -p "$pool"
	echo 0 | tee "$pool"/{nr,free,resv}_hugepages >/dev/null
	for unit in kiln-hugepages{,@}.service; do
		drop_in $unit Service BindReadOnlyPaths=/usr/share/no-pages:/sys/devices/system/node
	done
	systemctl --root="$root" preset kiln-{provision,network,resume,uploadd,controld}.service kiln-steer.socket kiln-{finished,promote,report,slots}.path \
		kiln-nightly.timer >/dev/null 2>&1
	clock_wait 0
	bring_kernels
}

drop_in() { # unit, section, lines: a drop-in for the installed system; each call adds one
	local folder=$root/etc/systemd/system/$1.d
	mkdir -p "$folder"
	{ echo "[$2]" && printf '%s\n' "${@:3}"; } >"$folder/$(printf '9%03d' "$(find "$folder" -type f | wc -l)")-test.conf"
}

clock_wait() { # seconds
	sed -i "s/--clock-wait-s [0-9]*/--clock-wait-s $1/" "$root"/usr/lib/systemd/system/kiln-{nightly,resume}.service
}

# A cgroup for each container: in a common one, each systemd would end the other's processes.
cgroups() { # name: prints one cgroup path for each hierarchy that systemd uses
	local line type options
	while IFS= read -r line; do
		case $line in
		0::*) type=cgroup2 options= ;;
		*:name=systemd:*) type=cgroup options=name=systemd ;;
		*) continue ;;
		esac
		line=$(findmnt -nf -o TARGET -t $type ${options:+-O $options})${line#*:*:}
		echo "${line%/}/$1"
	done </proc/$$/cgroup
}

boot() {
	local cgroup
	for cgroup in $(cgroups "$machine"); do
		mkdir -p "$cgroup"
	done
	(
		for cgroup in $(cgroups "$machine"); do
			echo $BASHPID >"$cgroup/cgroup.procs"
		done
		exec setsid systemd-nspawn -D "$root" -b --register=no --keep-unit --console=read-only --machine="$machine" \
			${KILN_COUNTS:+"--bind=$KILN_COUNTS"} "${nspawn_options[@]}" </dev/null >>"$root.console" 2>&1
	) &
	nspawn=$!
	disown
	wait_for 60 is_up
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
	leave_nothing
}

# Keeps the kernels of a container that has ended; removes its cgroups and its mount.
leave_nothing() {
	local cgroup
	keep_kernels
	for cgroup in $(cgroups "$machine"); do
		wait_for 10 find "$cgroup" -depth -type d -exec rmdir {} +
	done
	wait_for 10 umount "$root/usr"
}

# Installs Kiln and data for a test; the store is the embedded one.
installed() { # records in each of ten shards
	make_root
	local rc=$?
	ok $rc "Kiln is installed into a root of its own"
	[ $rc = 0 ] || exit
	mkdir -p "$root/data/kiln/store/data"
	"$KILN_BUILD/system/make_shards" "$root/data/kiln/store/data" train 10 "$1"
	"$KILN_BUILD/system/make_shards" "$root/data/kiln/store/data" test 2 100
}

booted() { # name
	boot
	local rc=$?
	ok $rc "$1" "$(tail -n 20 "$root.console")
$(inside systemctl list-jobs 2>&1)"
	[ $rc = 0 ] || exit
}

# ---- Units ----

pid_of() { # daemon
	inside systemctl show -P MainPID "kiln-$1.service"
}

property() { # daemon, name
	inside systemctl show -P "$2" "kiln-$1.service"
}

is_active() { # units: all of them
	[ "$(inside systemctl is-active "$@" | sort -u)" = active ]
}

is_down() { # units: all of them
	! grep -qvxE 'inactive|failed' <<<"$(inside systemctl is-active "$@")"
}

restarted() { # daemon, its pid before
	local now
	now=$(pid_of "$1")
	[ "${now:-0}" != 0 ] && [ "$now" != "$2" ] && [ "$(property "$1" ActiveState)" = active ]
}

kill_it() { # daemon, signal
	local before
	before=$(pid_of "$1")
	[ "$before" -gt 0 ] || { ok 1 "$1, SIG$2: it does not run"; return; }
	inside kill "-$2" "$before"
	wait_for 90 restarted "$1" "$before"
	ok $? "$1, SIG$2: systemd starts it again" "$(inside systemctl status --no-pager -n 20 "kiln-$1.service" 2>&1)"
}

waits_after() { # daemon, crashes
	[ "$(property "$1" NRestarts)" = "$2" ] && grep -q "failed $2 times, trying again" <<<"$(property "$1" StatusText)"
}

# Kills the daemon after each restart; crashes that systemd has already counted count, too.
crash_up_to() { # count, daemon
	local crash
	for ((crash = $(property "$2" NRestarts) + 1; crash <= $1; crash++)); do
		inside kill -KILL "$(pid_of "$2")"
		wait_for 60 waits_after "$2" $crash
		ok $? "crash $crash of $2: it waits $((1 << (crash - 1))) s" "$(journal -u "kiln-$2" -n 10)"
	done
}

status_is() { # expected exit code of kiln status; puts its output into $work/status
	inside kiln status >"$work/status" 2>&1
	[ $? = "$1" ]
}

journal() {
	inside journalctl --no-pager -o cat "$@" 2>/dev/null
}

journal_has() { # extended regular expression, arguments of journalctl
	grep -qE "$1" <<<"$(journal "${@:2}")"
}

event() { # name, fields...: prints these fields of each such entry, as machines read them
	inside journalctl --no-pager -o json "MESSAGE_ID=$(sed -n "s/^| \`$1\` .*\`\([0-9a-f]*\)\` |\$/\1/p" config/events.md)" |
		python3 -c 'import json, sys
for line in sys.stdin: print(*(json.loads(line).get(f) for f in sys.argv[1:]))' "${@:2}"
}

says() { # seconds, name, extended regular expression, arguments of journalctl
	wait_for "$1" journal_has "${@:3}"
	ok $? "$2" "expected to match: $3
$(journal -n 40 "${@:4}")"
}

steer() { # word, user
	inside setpriv --reuid="${2:-kiln-control}" --regid=kiln --init-groups timeout 20 python3 -c '
import socket, sys
s = socket.socket(socket.AF_UNIX)
s.connect("/run/kiln-steer/socket")
s.sendall(sys.argv[1].encode() + b"\n")
print(s.makefile().readline().strip())' "$1" 2>&1 | tail -n 1
}

# Sets the timer to a time soon; the drop-in is gone after the next boot.
timer_soon() {
	inside mkdir -p /run/systemd/system/kiln-nightly.timer.d
	inside sh -c "printf '[Timer]\nOnCalendar=\nOnCalendar=%s\n' \"\$(date -u -d '+2 sec' '+%Y-%m-%d %H:%M:%S UTC')\" \
		>/run/systemd/system/kiln-nightly.timer.d/90-test.conf"
	is "$(steer config.reload)" ok "a time for the timer"
	# A single date does not come again, unlike the times of a configuration.
	[ "$(inside systemctl show -P SubState kiln-nightly.timer)" != elapsed ] || inside systemctl restart kiln-nightly.timer
}

# ---- Runs ----

# Defaults that a test may set: data_folder and runs_folder (the embedded store's folders), run_at (now).
config() { # epochs, further keys of run, further groups
	cat <<-CONF
		run: { name = "t"; epochs = $1; batch_rows = 32; at = "${run_at:-$(date -u +%H:%M)}"; zone = "UTC"; ${2:-} };
		source: { url = "file://${data_folder:-/data/kiln/store/data}"; };
		sink: { url = "file://${runs_folder:-/data/kiln/store/runs}"; };
		ring: { small_pages = true; };
		order: { window_shards = 3; };
		device: { type = "cpu"; };
		schema = ( { name = "sentence"; dtype = "float32"; shape = [ 8 ]; },
		           { name = "label"; dtype = "int64"; shape = [ 2 ]; } );
		model: { layers = ( { op = "dense"; units = 512; }, { op = "relu"; }, { op = "dropout"; rate = 0.2; },
		                    { op = "dense"; units = 2; }, { op = "softmax"; } ); };
		${3:-}
	CONF
}

# Runs the same configuration without systemd, undisturbed.
plain_run() { # name; its configuration is $work/NAME.conf
	node plain
	timeout 600 tools/night "$KILN_BIN" "$work/$1.conf" >"$work/$1.night" 2>&1
	ok $? "the same run without systemd and kills" "$(cat "$work/$1.night")"
	unset KILN_ROOT
}

state() {
	cat "$root/data/kiln/run/current/state" 2>/dev/null
}

is_state() {
	[ "$(state)" = "$1" ]
}

becomes() { # seconds, state, name; if the run does not even start, the test ends here
	wait_for "$1" is_state "$2"
	local rc=$?
	ok $rc "$3" "state $(state), newest checkpoint $(newest)
$(journal -b -n 40)"
	[ $rc = 0 ] || [ "$2" != running ] || exit
}

rests() { # name
	wait_for 60 is_down kiln-run.target kiln-traind kiln-fetchd
	ok $? "$1" "$(inside systemctl status --no-pager kiln-run.target kiln-traind kiln-fetchd 2>&1)"
	wait_for 60 test ! -e "$root/data/kiln/run/current/finished"
}

newest() { # step of the newest checkpoint
	find "$root/data/kiln/spool" -name 'ckpt-*.safetensors' 2>/dev/null | sed 's/.*ckpt-0*\([0-9]*\)\..*/\1/' |
		sort -n | tail -n 1
}

passed() { # step
	[ "$(newest)" != "" ] && [ "$(newest)" -gt "$1" ]
}

goes_on() { # name: waits for a checkpoint newer than the newest
	local before
	before=$(newest)
	wait_for 120 passed "${before:-0}"
	ok $? "$1" "state $(state), newest checkpoint ${before:-none}
$(inside systemctl status --no-pager -n 5 kiln-{begin,fetchd,traind,uploadd}.service 2>&1)"
}

# Digest of what trains in a checkpoint: weights, the optimizer's state, the step. A run that stops between an evaluation and the
# next step has the cursor, sums and callbacks of after the evaluation beside the weights of before it.
trained() { # file of safetensors
	python3 - "$@" <<-'PY'
		import hashlib, json, struct, sys
		data = open(sys.argv[1], "rb").read()
		start = 8 + struct.unpack("<Q", data[:8])[0]
		digest = hashlib.sha256()
		for name, tensor in sorted(json.loads(data[8:start]).items()):
		    if name != "__metadata__" and (not name.startswith("state/") or name == "state/step"):
		        first, end = tensor["data_offsets"]
		        digest.update(name.encode() + data[start + first:start + end])
		print(digest.hexdigest())
	PY
}

# Digest of the tensors alone: the file's header names run and configuration.
tensors() { # file of safetensors
	python3 - "$@" <<-'PY'
		import hashlib, struct, sys
		data = open(sys.argv[1], "rb").read()
		print(hashlib.sha256(data[8 + struct.unpack("<Q", data[:8])[0]:]).hexdigest())
	PY
}

of_series() { # python expression of the record s and its trials t
	python3 -c 'import glob, json, sys
s = json.load(open(glob.glob(sys.argv[1] + "/data/kiln/run/series/*/series.json")[0])); t = s["trials"]
print(eval(sys.argv[2]))' "$root" "$1" 2>&1
}
