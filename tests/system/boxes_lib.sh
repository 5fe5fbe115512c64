# SPDX-License-Identifier: Apache-2.0
# Shared by the tests of several boxes: each has a network namespace on one bridge, a host name, and a real systemd in a container. The
# boxes share a store, $store, and an authority, $pki. A test sets `boxes`, the numbers of those with systemd, before.
. "$(dirname "${BASH_SOURCE[0]}")/systemd_lib.sh"

why_no_boxes() {
	command -v mpirun >/dev/null && [ -x /usr/bin/orted ] || { echo "no Open MPI here: tools/deps/install test"; return; }
	ip netns add "kb$$x" 2>/dev/null || { echo "no network namespaces here"; return; }
	ip netns del "kb$$x"
}
reason=$(why_no_boxes)
[ -z "$reason" ] || { skip "several boxes" "$reason"; exit; }

network=10.93.0.0/24
pki=$work/pki
store=$work/store
declare -A nspawns leaders

on() { # number: the functions of systemd_lib.sh are for this box from now on
	root=$work/root-$1 machine=kiln-test-$$-$1 nspawn=${nspawns[$1]:-} leader=${leaders[$1]:-}
	nspawn_options=(--network-namespace-path="/run/netns/kb$$-$1" --hostname="box-$1" --bind="$store:/data/kiln/store" --bind="$store:/srv")
}

# The boxes have nothing to save: their first process is killed, and the kernel ends the others.
cleanup() {
	local n
	for n in $boxes; do
		on "$n"
		[ -z "$leader" ] || { kill -KILL "$leader" && wait_for 10 gone; }
		leave_nothing
	done
	for n in 1 2 3; do
		ip netns del "kb$$-$n"
	done
}

make_network() {
	local n
	printf '127.0.0.1 localhost\n10.93.0.1 box-1\n10.93.0.2 box-2\n10.93.0.3 box-3\n' >"$work/hosts"
	for n in 1 2 3; do
		ip netns add "kb$$-$n" && ip -n "kb$$-$n" link set lo up
	done
	ip -n "kb$$-1" link add br0 type bridge && ip -n "kb$$-1" link set br0 up && ip -n "kb$$-1" addr add 10.93.0.1/24 dev br0
	for n in 2 3; do
		ip -n "kb$$-1" link add "v$n" type veth peer name eth0 netns "kb$$-$n" && ip -n "kb$$-1" link set "v$n" master br0 up &&
			ip -n "kb$$-$n" addr add "10.93.0.$n/24" dev eth0 && ip -n "kb$$-$n" link set eth0 up
	done
}

make_store() { # records in each of ten shards
	mkdir -p "$store/data"
	"$KILN_BUILD/system/make_shards" "$store/data" train 10 "$1"
	"$KILN_BUILD/system/make_shards" "$store/data" test 2 100
}

issue() { # words of kiln pki: certificates
	"$KILN_BIN/kiln" pki "$@" || ok 1 "kiln pki $*"
}

# Makes the root of a box and boots the box; the function conf prints its kiln.conf.
make_box() { # number
	local folder
	on "$1"
	make_root && mkdir -p "$root/etc/kiln" "$root/data/kiln/"{credentials,store} || return
	conf "$1" >"$root/etc/kiln/kiln.conf"
	cp "$work/hosts" "$root/etc/hosts"
	folder=$root/data/kiln/credentials
	cp "$pki/ca.crt" "$folder/control-ca"
	cp "$pki/box-$1.crt" "$folder/control-crt"
	cp "$pki/box-$1.key" "$folder/control-key"
	change_box "$1"
	drop_in kiln-rank@.service Service MemoryMax=infinity Environment=POCL_MAX_PTHREAD_COUNT=1
	drop_in kiln-rank-fetchd@.service Service MemoryMax=infinity TimeoutAbortSec=1
	drop_in kiln-rank-begin@.service Service MemoryMax=infinity
	drop_in kiln-traind.service Service Environment=POCL_MAX_PTHREAD_COUNT=1 # the boxes share two cores
	start_box
}

change_box() { :; } # number: a test may change the root before the box boots

# Box-1, which leads, and box-2, on a network with a store and certificates.
make_two_boxes() {
	make_network
	ok $? "a network of boxes"
	make_store 200
	issue init "$pki"
	issue issue "$pki" box-1
	issue issue "$pki" box-2
	issue issue "$pki" leader --role ranks
	make_box 2
	ok $? "box-2 boots" "$(tail -n 5 "$root.console"; journal -n 20)"
	make_box 1
	ok $? "box-1 boots" "$(tail -n 5 "$root.console"; journal -n 20)"
}

# Box-1 leads, and its timer starts the night.
leads_from_box_1() { # number
	systemctl --root="$root" disable kiln-nightly.timer >/dev/null 2>&1
	[ "$1" = 1 ] || return 0
	cp "$pki/leader.crt" "$root/data/kiln/credentials/leads-crt"
	cp "$pki/leader.key" "$root/data/kiln/credentials/leads-key"
	systemctl --root="$root" enable kiln-nightly.timer >/dev/null 2>&1
}

start_box() {
	boot
	local rc=$?
	nspawns[${machine##*-}]=$nspawn leaders[${machine##*-}]=$leader
	[ $rc = 0 ] && wait_for 20 answers
}

answers() {
	journal_has 'answering other machines on port' -u kiln-controld
}

# ---- What is left of a job ----

left_on() { # number: prints what a job has left there
	on "$1"
	inside pgrep -af '^[^ ]*(orted|ranks_peer|kiln-traind|kiln-fetchd)( |$)'
	inside systemctl list-units --all --no-legend --plain 'kiln-rank@*' 'kiln-rank-*'
	inside sh -c 'ls -d /run/kiln/ranks/* /run/kiln/rank-* /run/kiln/job-* /dev/shm/* /tmp/ompi* /tmp/pmix* /run/kiln/huge/ring-* 2>/dev/null'
	inside ss -Hltnp | grep -E 'orted|ranks_peer'
}

# Stops the night of box-1, whose function conf has 100000 epochs and a checkpoint every 50 steps, and compares the newest checkpoint
# that one box alone writes, too.
stops_as_one_box() {
	local n last step
	on 1
	inside kiln stop >"$work/stop" 2>&1
	ok $? "kiln stop" "$(cat "$work/stop")"
	becomes 120 stopped "the run stops with a checkpoint"
	rests "and the units of box-1 stop"
	for n in $boxes; do
		[ "$n" != 1 ] || continue
		wait_for 30 nothing_left_on "$n"
		ok $? "nothing of the jobs is left on box-$n" "$(left_on "$n")"
	done
	on 1
	last=$(find "$root/data/kiln/spool" "$store/runs" -name 'ckpt-*.safetensors' | sed 's/.*ckpt-0*\([0-9]*\)\..*/\1 &/' | awk '$1 % 50 == 0' | sort -n | tail -n 1)
	step=${last%% *}
	data_folder=$store/data runs_folder=$work/one.runs conf 2 |
		sed "s/remote = true/remote = false/; s/keep = 20;/keep = 10000;/; s/epochs = 100000/epochs = $((step / 50 + 1))/" >"$work/one.conf"
	mkdir -p "$work/one.runs"
	plain_run one
	[ "${step:-0}" -gt 0 ]
	ok $? "there is such a checkpoint" "$last"
	is "$(trained "${last#* }")" "$(trained "$(find "$work/one.runs" -name "$(printf 'ckpt-%012d.safetensors' "$step")" | head -n 1)")" \
		"at step $step the weights are those of one box, to the bit"
}

nothing_left_on() { # number
	[ -z "$(left_on "$1")" ]
}
