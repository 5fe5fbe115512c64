/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a process becomes Open MPI's mpirun (core/ranks/launch.h makes its words and its environment), and how
 * a rank finds out that it was started so. mpirun keeps the pid: systemd and the caller supervise mpirun.
 *
 * Files: the folder `mpirun` of the status folder of traind, with temporary files of Open MPI and of the
 * ranks of this box. Crash: the next start removes what a killed mpirun has left.
 *
 * Order: mpirun_prepare -> mpirun_exec; in each rank mpirun_arrive. Before threads start.
 */
#pragma once

#include "core/base/paths.h"
#include "core/ranks/launch.h"

/* Makes the folder, empty, and writes its path. First waits 10 s where the last mpirun has started no rank:
 * only rank 0 waits as a daemon does after failures. Errors: -errno of the folder. */
MUST_CHECK int mpirun_prepare(char folder[static PATH_BYTES], struct error *err);

/* Becomes mpirun, with the environment of this process and `environment` beside it. Returns only where that
 * fails. Errors: -EINVAL mpirun is not there; the text names its package. */
MUST_CHECK int mpirun_exec(const struct ranks_texts *words, struct ranks_texts *environment,
			   struct error *err);

/* Makes a rank die with the mpirun or the orted that started it, and gives it back what mpirun_exec() has put
 * aside. Call it in a rank before anything is logged. `program`: the rank's name in the journal. */
void mpirun_arrive(const char *program);
