/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which rank of a run this process is, as its launcher says in the environment: mpirun of Open MPI,
 * mpiexec of MPICH or Intel (PMI), or Slurm's srun. Pure functions: they start nothing.
 */
#pragma once

#include "core/base/error.h"

#include <stdint.h>

struct ranks_started {
	uint32_t world;  /* ranks of the run, 1 .. */
	uint32_t rank;   /* 0 .. world - 1 */
	uint32_t local;  /* index of the rank among those of its box, 0 .. locals - 1 */
	uint32_t locals; /* ranks of its box, 1 .. world */
};

/* Reads the environment. A process in an allocation of Slurm that srun did not start, such as a batch script,
 * has no launcher. Errors: -EINVAL no launcher has started this process, or one of its variables is no
 * number in its range; the text names the variables. */
MUST_CHECK int ranks_started(struct ranks_started *ret_started, struct error *err);
