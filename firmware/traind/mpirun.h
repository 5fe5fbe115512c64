/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A run that several devices of this box train (device.count): kiln-traind becomes Open MPI's mpirun, which
 * starts kiln-traind --rank-from-env once for each device, and ends with the exit status of the first rank
 * that fails. A start of mpirun that leads to no rank is followed by a wait of 10 s. mpirun ends all ranks
 * when one of them dies. Where mpirun itself is killed, the kernel kills its ranks.
 *
 * A stop is SIGUSR2, which mpirun passes on to its ranks. SIGTERM would make it kill them.
 */
#pragma once

#include "core/base/error.h"

/* Becomes mpirun where several devices train the current run; else returns 0 and does nothing. Call it before
 * threads start. Errors: -EINVAL mpirun is not there (the text names its package); -errno of the folder. */
MUST_CHECK int mpirun_become(struct error *err);

/* Makes a rank die with the mpirun that started it, and gives it back what mpirun_become() has put aside.
 * Call it in a rank before threads start, and before anything is logged. */
void mpirun_arrive(void);
