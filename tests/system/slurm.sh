#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# config/examples/slurm.sh on a real Slurm: two tasks have the weights of one trainer without Slurm, to the bit. A job on one node
# is cancelled and writes a checkpoint. The next job goes on, as root on two nodes: each has a name and a /dev/shm of its own.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/train_lib.sh"
PATH=$KILN_BIN:$PATH:/usr/sbin
for program in munged slurmctld slurmd sbatch; do
	if ! command -v $program >/dev/null; then
		skip "a run on Slurm" "no $program here: tools/deps/install test"
		exit
	fi
done
export OMPI_MCA_btl=self,vader,tcp
# Ranks share two cores.
export POCL_MAX_PTHREAD_COUNT=1

# ---- A Slurm of its own ----

slurm=$work/slurm
mkdir -p "$slurm/cgroup" "$slurm/tmp-node-1" "$slurm/tmp-node-2"
export SLURM_CONF=$slurm/slurm.conf

nodes=1
[ "$(id -u)" != 0 ] || ! unshare -mu true 2>/dev/null || nodes=2

write_conf() { # ports: of slurmctld, and of the nodes
	cat >"$SLURM_CONF" <<-CONF
		ClusterName=kiln
		SlurmctldHost=$(hostname -s)(127.0.0.1)
		SlurmctldPort=$1
		SlurmUser=$(id -un)
		SlurmdUser=$(id -un)
		AuthType=auth/munge
		AuthInfo=socket=$slurm/munge
		CredType=cred/munge
		StateSaveLocation=$slurm/state
		SlurmdSpoolDir=$slurm/spool-%n
		TmpFS=$slurm/tmp-%n
		SlurmctldPidFile=$slurm/slurmctld.pid
		SlurmdPidFile=$slurm/%n.pid
		SlurmctldLogFile=$slurm/slurmctld.log
		SlurmdLogFile=$slurm/%n.log
		ProctrackType=proctrack/linuxproc
		TaskPlugin=task/none
		SelectType=select/cons_tres
		SelectTypeParameters=CR_CPU
		SlurmdParameters=config_overrides
		KillWait=60
		FirstJobId=$$
		NodeName=node-1 NodeHostname=$(hostname -s) NodeAddr=127.0.0.1 Port=$2 CPUs=4
		NodeName=node-2 NodeHostname=node-2 NodeAddr=127.0.0.1 Port=$3 CPUs=4
		PartitionName=all Nodes=node-[1-$nodes] Default=YES State=UP
	CONF
	# No job is confined, and Slurm changes no control group of this machine.
	printf 'CgroupPlugin=cgroup/v1\nCgroupMountpoint=%s/cgroup\n' "$slurm" >"$slurm/cgroup.conf"
}

free_ports() { # three ports that nobody uses
	python3 -c 'import socket
sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(3)]
print(*[s.getsockname()[1] for s in sockets])'
}

start_slurm() {
	write_conf $(free_ports)
	(umask 077 && head -c 128 /dev/urandom >"$slurm/key")
	munged --force --key-file="$slurm/key" --socket="$slurm/munge" --pid-file="$slurm/munged.pid" --log-file="$slurm/munged.log" \
		--seed-file="$slurm/seed" 2>"$slurm/munged.said" && slurmctld -c && slurmd -N node-1 || return
	[ $nodes = 1 ] || unshare -mu sh -c 'mount -t tmpfs tmpfs /dev/shm && hostname node-2 && slurmd -N node-2'
}

is_idle() {
	[ "$(sinfo --noheader --format='%T %D')" = "idle $nodes" ]
}

no_job() {
	[ -z "$(squeue --noheader)" ]
}

# The daemons are no children of this shell.
cleanup() {
	local pids
	pids=$(cat "$slurm"/*.pid 2>/dev/null)
	[ -n "$pids" ] || return
	scancel --user "$(id -un)" && wait_for 100 no_job
	kill -TERM $pids
	wait_for 20 ended $pids
}

# ---- Jobs ----

submit() { # options of sbatch: prints the number of the job
	sbatch --parsable --gres=none --output="$work/job-%j" "$@" config/examples/slurm.sh "$work/slurm.conf"
}

log_of() { # job
	tail -n 15 "$work/job-$1"
}

rings() { # of the job, in the memory of any node
	local pid
	for pid in "$slurm"/node-*.pid; do
		find "/proc/$(cat "$pid")/root/dev/shm" -name "kiln-$job"
	done
}

exit_of() { # job: exit status and signal
	scontrol --oneliner show job "$1" | grep -oP ' ExitCode=\K\S+'
}

goes_on() { # whether the run of this node has begun, and is at a step
	local runs
	runs=("$KILN_ROOT"/data/kiln/spool/traind/*)
	spool=${runs[0]}
	at_step "$1"
}

weights() { # the model in the sink
	local spool=$work/sink/$1
	spool=$(dirname "$(dirname "$(find "$spool" -name model.safetensors)")")
	model_bits
}

run_config() { # name
	cat >"$work/$1.conf" <<-CONF
		run: { name = "t"; epochs = 60; batch_rows = 32; };
		source: { url = "file://$work/data"; };
		sink: { url = "file://$work/sink/$1"; };
		ring: { small_pages = true; };
		order: { lanes = 4; window_shards = 2; };
		checkpoint: { every_steps = 20; };
		schema = ( { name = "sentence"; dtype = "float32"; shape = [ 8 ]; },
		           { name = "label"; dtype = "int64"; shape = [ 2 ]; } );
		model: { layers = ( { op = "dense"; units = 16; }, { op = "batch_norm"; }, { op = "relu"; }, { op = "dropout"; rate = 0.2; },
			{ op = "dense"; units = 2; }, { op = "softmax"; } ); };
	CONF
}

"$make_shards" "$work/data" train 9 61 plain
"$make_shards" "$work/data" test 3 40

node whole
run_config whole
begin whole
run_to_end
is "$code $(state)" "0 finished" "one trainer, without Slurm" "$(tail -n 9 "$KILN_ROOT/log")"
bits=$(model_bits)
stop_fetchd

start_slurm
ok $? "Slurm starts" "$(tail -n 5 "$slurm"/*.log "$slurm/munged.said")"
wait_for 20 is_idle
ok $? "its nodes wait for jobs" "$(sinfo; tail -n 9 "$slurm"/*.log)"

node job
run_config slurm
record=$KILN_ROOT/data/kiln/run/current
mkdir -p "$KILN_ROOT/data/kiln"
cp -a "$work/nodes/whole/data/kiln/cache" "$KILN_ROOT/data/kiln/"
job=$(submit --nodes=1 --ntasks-per-node=2)
wait_for 40 goes_on 100
ok $? "a job trains" "$(log_of "$job")"
scancel "$job"
wait_for 100 no_job
ok $? "a cancelled job ends" "$(squeue)"
is "$(state)" running "and its run is not finished" "$(log_of "$job")"
step=$(sed -n 's/.*traind: stopped at step \([0-9]*\).*/\1/p' "$work/job-$job")
[ -n "$step" ] && at_step "$step"
ok $? "it wrote a checkpoint of its last step" "$(log_of "$job")"
is "$(rings)" "" "no ring is left in memory"

job=$(submit --nodes=$nodes --ntasks-per-node=$((2 / nodes)))
wait_for 150 no_job
is "$(state) $(exit_of "$job")" "finished 0:0" "the next job ends the run" "$(log_of "$job")"
like "$(cat "$work/job-$job")" "traind: going on from .* step $step$" "it goes on from that checkpoint"
like "$(cat "$work/job-$job")" "rank 1 of 2, on box $nodes of $nodes: 2 of 4 lanes" "as two tasks, on $nodes nodes"
is "$(rings)" "" "no ring is left in memory of any node"
is "$(weights slurm)" "$bits" "the weights in the store are those of one trainer, to the bit"

# ---- A kiln-fetchd that fails ----
mkdir "$work/failing"
printf '#!/bin/sh\n[ "$SLURM_PROCID" != 1 ] || exit 78\nexec %q "$@"\n' "$KILN_BIN/kiln-fetchd" >"$work/failing/kiln-fetchd"
chmod +x "$work/failing/kiln-fetchd"
job=$(PATH=$work/failing:$PATH submit --nodes=$nodes --ntasks-per-node=$((2 / nodes)))
wait_for 150 no_job
like "$(state) $(exit_of "$job")" '^running [1-9][0-9]*:0$' "where the kiln-fetchd of one task fails, the job fails"
like "$(cat "$work/job-$job")" 'task 1: Exited with exit code 78' "with the exit status of kiln-fetchd"
is "$(rings)" "" "no ring is left in memory"
