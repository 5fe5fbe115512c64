#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# One job on three boxes: network namespaces, with a real systemd on two of them. mpirun on box-1 has kiln-controld of the others
# start orted, over mutual TLS. Who may not is refused and named; whatever is killed, nothing of the job stays on any box.
. "$(dirname "$0")/systemd_lib.sh"

why_no_boxes() {
	command -v mpirun >/dev/null && [ -x /usr/bin/orted ] || { echo "no Open MPI here: tools/deps/install test"; return; }
	ip netns add "kb$$x" 2>/dev/null || { echo "no network namespaces here"; return; }
	ip netns del "kb$$x"
}
reason=$(why_no_boxes)
[ -z "$reason" ] || { skip "a job on three boxes" "$reason"; exit; }

network=10.93.0.0/24
pki=$work/pki
leads=$work/box-1 # KILN_ROOT of the leading box
declare -A nspawns leaders

# ---- The boxes ----

on() { # 2 or 3: the functions of systemd_lib.sh are for this box from now on
	root=$work/root-$1 machine=kiln-test-$$-$1 nspawn=${nspawns[$1]:-} leader=${leaders[$1]:-}
	nspawn_options=(--network-namespace-path="/run/netns/kb$$-$1" --hostname="box-$1")
}

# The boxes have nothing to save: their first process is killed, and the kernel ends the others.
cleanup() {
	local n
	for n in 2 3; do
		on $n
		[ -z "$leader" ] || { kill -KILL "$leader" && wait_for 10 gone; }
		leave_nothing
	done
	for n in 1 2 3; do
		ip netns del "kb$$-$n"
	done
}

make_network() {
	local n
	for n in 1 2 3; do
		ip netns add "kb$$-$n" && ip -n "kb$$-$n" link set lo up
	done
	ip -n "kb$$-1" link add br0 type bridge && ip -n "kb$$-1" link set br0 up && ip -n "kb$$-1" addr add 10.93.0.1/24 dev br0
	for n in 2 3; do
		ip -n "kb$$-1" link add "v$n" type veth peer name eth0 netns "kb$$-$n" && ip -n "kb$$-1" link set "v$n" master br0 up &&
			ip -n "kb$$-$n" addr add "10.93.0.$n/24" dev eth0 && ip -n "kb$$-$n" link set eth0 up
	done
}

conf() {
	cat <<-CONF
		source: { url = "file:///data/kiln/store/data"; };
		sink: { url = "file:///data/kiln/store/runs"; };
		control: { remote = true; };
		ranks: { network = "$network"; trusted = true; };
	CONF
}

make_box() { # 2 or 3
	local folder
	on "$1"
	make_root && mkdir -p "$root/etc/kiln" "$root/data/kiln/credentials" || return
	conf >"$root/etc/kiln/kiln.conf"
	cp "$work/hosts" "$root/etc/hosts"
	folder=$root/data/kiln/credentials
	cp "$pki/ca.crt" "$folder/control-ca"
	cp "$pki/box-$1.crt" "$folder/control-crt"
	cp "$pki/box-$1.key" "$folder/control-key"
	install "$KILN_BUILD/system/ranks_peer" "$root/usr/libexec/kiln/"
	install -D /bin/sh "$root/usr/lib/klibc/bin/sh" || return
	# Nothing but controld is of use here.
	systemctl --root="$root" disable kiln-{resume,uploadd}.service kiln-{finished,promote,report,slots}.path kiln-nightly.timer >/dev/null 2>&1
	drop_in kiln-rank@.service Service MemoryMax=infinity
	start_box
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

me() { # name, path of a certificate: makes a client's folder
	mkdir -p "$work/as-$1"
	cp "$pki/ca.crt" "$work/as-$1/ca.crt"
	cp "$2.crt" "$work/as-$1/client.crt"
	cp "$2.key" "$work/as-$1/client.key"
}

# Runs a command on box-1: its network, its host name, and the same programs as on the others.
at_leader() {
	ip netns exec "kb$$-1" unshare --uts bash -c 'hostname box-1 && mount --bind "$1/usr" /usr && mount --bind "$2" /etc/hosts && shift 2 && exec "$@"' \
		- "$work/root-2" "$work/hosts" env KILN_ROOT="$leads" "$@"
}

lead() { # certificate's folder, job, arguments of ranks_peer after the library
	at_leader timeout 50 "$KILN_BUILD/system/ranks_lead" "$2" "$network" /usr/libexec/kiln/kiln-oneshot "$work/as-$1" box-1,box-2,box-3 \
		/usr/libexec/kiln/ranks_peer /usr/libexec/kiln/kiln-ranks.so "${@:3}" 2>&1
}

# ---- What is left of a job ----

left_on() { # 2 or 3: prints what a job has left there
	on "$1"
	inside pgrep -af '^[^ ]*(orted|ranks_peer)( |$)'
	inside systemctl list-units --all --no-legend --plain 'kiln-rank@*'
	inside sh -c 'ls -d /run/kiln/ranks/* /run/kiln/rank-* /dev/shm/* /tmp/ompi* /tmp/pmix* 2>/dev/null'
	inside ss -Hltnp | grep -E 'orted|ranks_peer'
}

left() {
	local n pid
	for n in 2 3; do
		left_on $n | sed "s/^/box-$n: /"
	done
	for pid in $(ip netns pids "kb$$-1"); do
		echo "box-1: $(tr '\0' ' ' </proc/"$pid"/cmdline)"
	done
}

nothing_left() {
	[ -z "$(left)" ]
}

all_gone() { # name
	wait_for 20 nothing_left
	ok $? "$1: no orted, rank, unit, file, socket or shared memory is left on a box" "$(left)
$(on 2; journal -n 30)"
}

# ---- A job ----

printf '127.0.0.1 localhost\n10.93.0.1 box-1\n10.93.0.2 box-2\n10.93.0.3 box-3\n' >"$work/hosts"
kiln=$KILN_BIN/kiln
for names in "init $pki" "issue $pki box-2" "issue $pki box-3" "issue $pki box-1 --role ranks" "issue $pki admin --role admin" \
	"init $work/other" "issue $work/other box-1 --role ranks"; do
	"$kiln" pki $names || ok 1 "kiln pki $names"
done
me ranks "$pki/box-1"
me admin "$pki/admin"
me stranger "$work/other/box-1"
mkdir -p "$leads/etc/kiln" "$work/as-nobody"
conf >"$leads/etc/kiln/kiln.conf"
make_network
ok $? "a network of three boxes"
make_box 2 && make_box 3
rc=$?
ok $rc "two boxes with systemd, whose kiln-controld listens" "$(tail -n 5 "$root.console"; journal -n 20)"
[ $rc = 0 ] || exit

out=$(lead ranks night-1 3 exchange apart)
ok $? "three ranks on three boxes: every sum, chunk and broadcast is right" "$out
$(on 2; journal -n 30)"
all_gone "after the job"

# ---- Who is refused ----

refused() { # extended regular expression, name, certificate's folder, words after orted
	local said
	said=$(at_leader env KILN_JOB=night-2 KILN_PKI="$work/as-$3" /usr/libexec/kiln/kiln-oneshot ranks-agent box-2 " orted" "${@:4}" 2>&1)
	[ $? != 0 ] && grep -qE "box box-2: .*$1" <<<"$said"
	ok $? "refused and named: $2" "found: $said
expected to match: $1"
}
good=(-mca orte_leave_session_attached '"1"' -mca ess '"env"' -mca ess_base_jobid '"9"' -mca ess_base_vpid 1 -mca ess_base_num_procs '"2"'
	-mca plm '"rsh"')
uri=(-mca orte_hnp_uri '"9.0;tcp://10.93.0.1:9"')
refused 'as-nobody/ca.crt' "a box without a certificate" nobody "${good[@]}" "${uri[@]}"
refused 'authority that it does not know' "a box with a certificate of another authority" stranger "${good[@]}" "${uri[@]}"
refused 'rank.check needs the role ranks, yours is admin' "another role" admin "${good[@]}" "${uri[@]}"
refused 'argument 20 of orted: found "orte_launch_agent", allowed: ess, ess_base_jobid' "a program in the place of orted" ranks "${good[@]}" \
	-mca orte_launch_agent '"/bin/sh"' "${uri[@]}"
refused 'found the address 10.94.0.1, allowed: addresses in ranks.network, 10.93.0.0/24' "an address outside of the network" ranks "${good[@]}" \
	-mca orte_hnp_uri '"9.0;tcp://10.94.0.1:9"'
on 2
says 10 "the other box says so, too" 'box-1 at 10.93.0.1|admin at 10.93.0.1: refused: rank.check needs the role ranks' -u kiln-controld
for shell in /bin/sh /usr/lib/klibc/bin/sh; do
	out=$(at_leader timeout 20 "$KILN_BUILD/system/ranks_lead" night-3 "$network" /usr/libexec/kiln/kiln-oneshot "$work/as-ranks" box-1,box-2 $shell -c true 2>&1)
	[ $? != 0 ] && grep -q "Executable: $shell" <<<"$out" && grep -q 'Node: box-2' <<<"$out"
	ok $? "a shell as a rank: the unit can run no $shell" "$out"
done
on 3
cp "$root/usr/libexec/kiln/kiln-fetchd" "$root/usr/libexec/kiln/kiln-traind"
out=$(lead ranks night-2 3 exchange apart)
[ $? != 0 ] && grep -qE 'box box-3: found the build [0-9a-f]{40} of kiln-traind, expected [0-9a-f]{40} as here' <<<"$out"
ok $? "refused and named: a box with another build" "$out"
cp "$KILN_BIN/kiln-traind" "$root/usr/libexec/kiln/kiln-traind"
all_gone "after refusals"

# ---- Who is killed ----

all_run() { # a job of three ranks
	[ "$(inside pgrep -fc '^[^ ]*ranks_peer ')" = 1 ] && [ "$(on 2; inside pgrep -fc '^[^ ]*ranks_peer ')" = 1 ] && at_box_1 '^[^ ]*ranks_peer ' >/dev/null
}

at_box_1() { # extended regular expression: prints the processes of box-1 that match
	local pid found=1
	for pid in $(ip netns pids "kb$$-1"); do
		tr '\0' ' ' </proc/"$pid"/cmdline | grep -qE "$1" && echo "$pid" && found=0
	done
	return $found
}

killed() { # name, command that kills
	local job
	lead ranks night-4 3 stay >"$work/stay" &
	job=$!
	on 3
	wait_for 30 all_run
	ok $? "$1: first three ranks run" "$(cat "$work/stay"; journal -n 10)"
	"${@:2}"
	wait_for 30 ended $job
	ok $? "$1: mpirun ends" "$(left)"
	wait $job
	all_gone "$1"
}
kill_at_1() { # pattern
	kill -KILL $(at_box_1 "$1")
}
kill_at_2() { # program
	on 2
	inside pkill -KILL -x "$1"
}
killed "mpirun is killed" kill_at_1 '^mpirun '
killed "an orted is killed" kill_at_2 orted
killed "an agent is killed" kill_at_1 'ranks-agent box-2 '
killed "kiln-controld is killed" kill_at_2 kiln-controld
out=$(lead ranks night-5 3 exchange apart)
ok $? "after all that the next job works" "$out"
all_gone "after the last job"
