#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A batch script for a cluster with Slurm: trains the run of a kiln.conf with a task for each device. Copy it, change the lines
# below to what your cluster has, and submit it:
#
#   sbatch slurm.sh kiln.conf
#
# A job that is cancelled, or whose time ends, writes a checkpoint. Submit the script again, and the run goes on. The number of tasks
# may then be another one. Several jobs may wait at the same time: singleton has them run one after the other.
#
# What the cluster and kiln.conf need is in rootfs/doc/boxes.md, "On a cluster with Slurm".
#
#SBATCH --job-name=kiln
#SBATCH --dependency=singleton
#SBATCH --time=08:00:00
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=4
#SBATCH --gres=gpu:4
set -euo pipefail
conf=${1:?expected the path of a kiln.conf}

# The programs of Kiln; all nodes find them here.
PATH=$PATH:/usr/libexec/kiln
# Records, checkpoints and the cache, on a file system that all nodes share.
export KILN_ROOT=${KILN_ROOT:-$HOME/kiln}
# The rings of batches, in the memory of each node: a link leads from the shared folder to it.
export memory=/dev/shm/kiln-$SLURM_JOB_ID
mkdir -p "$KILN_ROOT" "$memory"
ln -sfnT "$memory" "$KILN_ROOT/run"

train() { # in each task: a kiln-traind, and the kiln-fetchd that feeds it
	local traind code=0 trained=0 stopped=false
	trap stopped=true TERM
	mkdir -p "$memory"
	kiln-fetchd --rank-from-env &
	kiln-traind --rank-from-env &
	traind=$!
	# Where kiln-fetchd fails, kiln-traind stops with a checkpoint.
	wait -n || code=$?
	[ $code = 0 ] || kill $traind 2>/dev/null
	! $stopped || code=0
	# A signal ends a wait early.
	while kill -0 $traind 2>/dev/null; do
		wait $traind
	done
	wait $traind || trained=$?
	[ $code != 0 ] || code=$trained
	kill %1 2>/dev/null
	wait
	# The node of the batch script still needs its memory.
	[ "$SLURM_NODEID" = 0 ] || [ "$SLURM_LOCALID" != 0 ] || leave
	exit $code
}

leave() {
	kiln-oneshot release
	rm -rf "$memory"
}

# Slurm sends SIGTERM to every process of a job that it ends. A shell with a trap goes on after the program that it waits for.
trap : TERM
kiln-oneshot begin --config "$conf"
kiln-uploadd --drain &
uploadd=$!
code=0
# All tasks of a node see all its cores and devices: kiln-fetchd divides the cores, each kiln-traind takes a device of its own.
srun --mpi=pmix --kill-on-bad-exit=1 --cpu-bind=none bash -c "$(declare -f train leave); train" || code=$?
# The checkpoints of a run that is not finished wait in KILN_ROOT for the next job.
if kiln-oneshot unfinished; then
	kill $uploadd 2>/dev/null || true
else
	wait $uploadd || code=$?
fi
leave
exit $code
