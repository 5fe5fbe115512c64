/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A run that several devices train: kiln-traind becomes Open MPI's mpirun, which starts kiln-traind
 * --rank-from-env once for each device, and ends with the exit status of the first rank that fails. mpirun
 * ends all ranks when one of them dies. Where mpirun itself is killed, the kernel kills its ranks.
 *
 * With other boxes (ranks.boxes) kiln-traind becomes `kiln-oneshot lead`, which finds out which of them are
 * there, and becomes mpirun in its turn.
 *
 * A stop is SIGUSR2, which mpirun passes on to its ranks. SIGTERM would make it kill them.
 */
#pragma once

#include "core/base/error.h"

/* Becomes mpirun where several devices train the current run; else returns 0 and does nothing. Call it before
 * threads start. Errors: -EINVAL mpirun is not there (the text names its package); -errno of the folder. */
MUST_CHECK int together_become(struct error *err);
