#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# One job on three boxes: network namespaces, with a real systemd on two of them. mpirun on box-1 has kiln-controld of the others
# start orted, over mutual TLS. Who may not is refused and named; whatever is killed, nothing of the job stays on any box.
boxes="2 3"
. "$(dirname "$0")/boxes_lib.sh"

leads=$work/box-1 # KILN_ROOT of the leading box

data_folder=/srv/data runs_folder=/srv/runs # a folder that each machine has

conf() { # "leads": of box-1
	config 1 '' "control: { remote = true; }; ranks: { network = \"$network\"; trusted = true;$([ "$1" != leads ] || echo ' boxes = "box-2 box-3";') };" |
		sed 's/order: {/& lanes = 4;/'
}

change_box() {
	install "$KILN_BUILD/system/ranks_peer" "$root/usr/libexec/kiln/"
	install -D /bin/sh "$root/usr/lib/klibc/bin/sh"
	# Nothing but controld is of use here.
	systemctl --root="$root" disable kiln-{resume,uploadd}.service kiln-{finished,promote,report,slots}.path kiln-nightly.timer >/dev/null 2>&1
}

me() { # name, path of a certificate: makes a client's folder
	mkdir -p "$work/as-$1"
	cp "$pki/ca.crt" "$work/as-$1/ca.crt"
	cp "$2.crt" "$work/as-$1/client.crt"
	cp "$2.key" "$work/as-$1/client.key"
}

# Runs a command on box-1: its network, its host name, and the same programs as on the others.
at_leader() {
	ip netns exec "kb$$-1" unshare --uts bash -c 'hostname box-1 && mount --bind "$1/usr" /usr && mount --bind "$2" /etc/hosts &&
		mount --bind "$3" /srv && shift 3 && exec "$@"' - "$work/root-2" "$work/hosts" "$store" env KILN_ROOT="$leads" "$@"
}

lead() { # certificate's folder, job, arguments of ranks_peer after the library
	at_leader timeout 100 "$KILN_BUILD/system/ranks_lead" "$2" "$network" /usr/libexec/kiln/kiln-oneshot "$work/as-$1" box-1,box-2,box-3 \
		/usr/libexec/kiln/ranks_peer /usr/libexec/kiln/kiln-ranks.so "${@:3}" 2>&1
}

at_box_1() { # extended regular expression: prints the processes of box-1 that match
	local pid found=1
	for pid in $(ip netns pids "kb$$-1"); do
		tr '\0' ' ' </proc/"$pid"/cmdline | grep -qE "$1" && echo "$pid" && found=0
	done
	return $found
}

# ---- What is left of a job ----

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

make_store 50
for names in "init $pki" "issue $pki box-2" "issue $pki box-3" "issue $pki box-1 --role ranks" "issue $pki admin --role admin" \
	"init $work/other" "issue $work/other box-1 --role ranks"; do
	issue $names
done
me ranks "$pki/box-1"
me admin "$pki/admin"
me stranger "$work/other/box-1"
mkdir -p "$leads/etc/kiln" "$work/as-nobody"
conf leads >"$leads/etc/kiln/kiln.conf"
make_network
ok $? "a network of three boxes"
make_box 2 && make_box 3
rc=$?
ok $rc "two boxes with systemd, whose kiln-controld listens" "$(tail -n 5 "$root.console"; journal -n 20)"
[ $rc = 0 ] || exit

# The run that the jobs belong to, and its plan.
has_plan() { grep -q '"plan_sha256":[[:space:]]*"[0-9a-f]' "$leads/data/kiln/run/current/run.json"; }
out=$(at_leader /usr/libexec/kiln/kiln-oneshot begin 2>&1)
ok $? "box-1 begins a run" "$out"
at_leader timeout 30 /usr/libexec/kiln/kiln-fetchd 2>"$work/fetchd" &
fetchd=$!
wait_for 20 has_plan
ok $? "and its plan is in the store" "$(cat "$work/fetchd")"
kill $(at_box_1 kiln-fetchd)
wait $fetchd

out=$(lead ranks night-1 3 exchange apart)
ok $? "three ranks on three boxes: every sum, chunk and broadcast is right" "$out
$(on 2; journal -n 30)"
all_gone "after the job"

# ---- kiln check asks the other boxes ----

checks() { # extended regular expression, name
	local said
	said=$(at_leader KILN_PKI="$work/as-admin" timeout 60 /usr/bin/kiln check --no-notify 2>&1)
	like "$(tr '\n' ' ' <<<"$said")" "$1" "kiln check: $2"
}
credentials=$leads/data/kiln/credentials
mkdir -p "$credentials"
cp "$pki/ca.crt" "$credentials/control-ca"
checks 'failed +boxes +box box-2: .*leads-crt' "a box that leads without a certificate"
cp "$pki/admin.crt" "$credentials/leads-crt"
cp "$pki/admin.key" "$credentials/leads-key"
checks 'failed +boxes +box box-2: .*rank.check needs the role ranks, yours is admin' "another role"
cp "$pki/box-1.crt" "$credentials/leads-crt"
cp "$pki/box-1.key" "$credentials/leads-key"
checks 'ok +boxes +box box-2: it has the build of this box, .*ok +boxes +box box-3: it has' "two boxes that are ready"

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
fault=$leads/data/kiln/run/current/fault-box-2.json
[ -e "${fault%/*}/run.json" ] && [ ! -e "$fault" ]
ok $? "a refusal is no failure of the other box" "$(ls "${fault%/*}")
$(cat "$fault" 2>&1)"
on 2
inside mount --bind /dev/null /usr/bin/orted
refused 'kiln-rank@night-2.service has ended: exit-code, status 127' "a box without Open MPI" ranks "${good[@]}" "${uri[@]}"
inside umount /usr/bin/orted
like "$(tr -d '\t\n' <"$fault")" '"faults": ?1,.*"lasting": ?true,.*kiln-rank@night-2.service has failed: exit-code, status 127' \
	"and that is a failure that lasts"
wait_for 20 nothing_left
says 10 "the other box says so, too" 'box-1 at 10.93.0.1|admin at 10.93.0.1: refused: rank.check needs the role ranks' -u kiln-controld
for shell in /bin/sh /usr/lib/klibc/bin/sh; do
	out=$(at_leader timeout 60 "$KILN_BUILD/system/ranks_lead" night-3 "$network" /usr/libexec/kiln/kiln-oneshot "$work/as-ranks" box-1,box-2 $shell -c true 2>&1)
	[ $? != 0 ] && grep -q "Executable: $shell" <<<"$out" && grep -q 'Node: box-2' <<<"$out"
	ok $? "a shell as a rank: the unit can run no $shell" "$out"
	wait_for 20 nothing_left # a box refuses a job that has not ended there
done
# A relay between box-1 and box-2 keeps what box-1 sends, and later sends all of it again.
port=$(sed -n 's/^ *port = \([0-9]*\);.*/\1/p' config/kiln.conf | head -n 1)
cat >"$work/relay.py" <<'PY'
import select, socket, sys
def records(data): # the types of the TLS records: 21 an alert, 22 the handshake, 23 an answer
    found = []
    while len(data) >= 5:
        found.append(data[0])
        data = data[5 + int.from_bytes(data[3:5], "big"):]
    return found
what, port, path = sys.argv[1], int(sys.argv[2]), sys.argv[3]
if what == "keep":
    server = socket.create_server(("10.93.0.1", port))
    print("ready", flush=True)
    here = server.accept()[0]
there = socket.create_connection(("10.93.0.2", port))
if what == "send":
    there.sendall(open(path, "rb").read())
    there.settimeout(20)
    answer = b""
    try:
        while piece := there.recv(65536):
            answer += piece
    except ConnectionResetError:
        pass
    print(*records(answer))
    sys.exit()
with open(path, "wb") as kept:
    while True:
        for end in select.select([here, there], [], [])[0]:
            data = end.recv(65536)
            if not data:
                sys.exit()
            if end is here:
                kept.write(data)
            (there if end is here else here).sendall(data)
PY
starts_of() { # job: how often its unit began on box-2
	on 2
	journal -o cat -u "kiln-rank@$1" | grep -c '^Started'
}
at_leader timeout 60 python3 "$work/relay.py" keep "$port" "$work/sent" >"$work/relay" 2>&1 &
relay=$!
wait_for 10 grep -q ready "$work/relay"
sed 's/10.93.0.2 box-2/10.93.0.1 box-2/' "$work/hosts" >"$work/hosts.relay"
at_leader bash -c 'mount --bind "$1" /etc/hosts && shift && exec "$@"' - "$work/hosts.relay" env KILN_JOB=night-6 KILN_PKI="$work/as-ranks" \
	/usr/libexec/kiln/kiln-oneshot ranks-agent box-2 " orted" "${good[@]}" "${uri[@]}" >"$work/relayed" 2>&1
wait $relay
wait_for 20 nothing_left
is "$(starts_of night-6)" 1 "a relay between two boxes: the job begins" "$(cat "$work/relay" "$work/relayed")"
like "$(at_leader python3 "$work/relay.py" send "$port" "$work/sent" 2>&1)" '^22( 22)*( 21)?$' \
	"what box-1 sent is sent again: records of a handshake, and no answer"
is "$(starts_of night-6)" 1 "and no second job begins" "$(journal -n 10)"
says 10 "box-2 says so" 'box-1 at 10.93.0.1: refused: .*signature is not valid' -u kiln-controld
on 3
cp "$root/usr/libexec/kiln/kiln-fetchd" "$root/usr/libexec/kiln/kiln-traind"
out=$(lead ranks night-2 3 exchange apart)
[ $? != 0 ] && grep -qE 'box box-3: found the build [0-9a-f]{40} of kiln-traind, expected [0-9a-f]{40} as here' <<<"$out"
ok $? "refused and named: a box with another build" "$out"
checks 'failed +boxes +box box-3: found the build [0-9a-f]{40} of kiln-traind' "a box with another build"
cp "$KILN_BIN/kiln-traind" "$root/usr/libexec/kiln/kiln-traind"
all_gone "after refusals"

# ---- Who is killed ----

all_run() { # a job of three ranks
	[ "$(inside pgrep -fc '^[^ ]*ranks_peer ')" = 1 ] && [ "$(on 2; inside pgrep -fc '^[^ ]*ranks_peer ')" = 1 ] && at_box_1 '^[^ ]*ranks_peer ' >/dev/null
}

killed() { # name, command that kills
	local job
	lead ranks night-4 3 stay >"$work/stay" &
	job=$!
	on 3
	wait_for 30 all_run
	ok $? "$1: first three ranks run" "$(cat "$work/stay"; journal -n 60)"
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
