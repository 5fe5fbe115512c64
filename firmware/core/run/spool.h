/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The spool: where traind leaves files for uploadd, and where it finds its newest checkpoint after a restart.
 *
 * PATH_SPOOL/traind/<run id>/<name> is uploaded to <run id>/<name> in the sink. <name> is one of
 *     checkpoints/ckpt-%012u.safetensors            whole or absent (temporary name, fsync, rename, fsync)
 *     logs/{train,validation,steps}/events.out.tfevents.* the last of a folder grows to a bounded size, the
 *                                                   others are whole; uploaded again after its size changed,
 *                                                   as a trainer that goes back cuts what is void
 *     model/NAME, model/saved_model/1/NAME          whole or absent
 * Names that end in ".tmp" are not there yet. traind makes files, uploadd removes them: a checkpoint once it
 * is uploaded and two newer ones are on the disk; while the store is away, all that it is not to keep;
 * everything of a run once the run is final and in the store.
 */
#pragma once

#include "core/base/error.h"
#include "core/base/paths.h"

#include <stdbool.h>
#include <stdint.h>

#define SPOOL_WRITER     "traind"
#define SPOOL_NAME_BYTES 512u

/* "PATH_SPOOL/traind/<run id>/<name>". */
char *spool_path(const char *run_id, const char *name, char out[static PATH_BYTES]);

/* "checkpoints/ckpt-<step as %012>.safetensors". */
char *spool_checkpoint_name(uint64_t step, char out[static SPOOL_NAME_BYTES]);
/* The step in such a name, or -EINVAL. */
int64_t spool_checkpoint_step(const char *name);

/* Make the folders of a run. */
MUST_CHECK int spool_make(const char *run_id, struct error *err);

/* Be the one that writes into the spool, until the descriptor is closed or the process ends; spool_make()
 * comes first. Errors: -EBUSY another process is. */
MUST_CHECK int spool_lock(int *ret_fd, struct error *err);

/* Calls `each` with the name (relative to the run's folder) and size of every finished file, in bytewise
 * order. */
MUST_CHECK int spool_list(const char *run_id, int (*each)(void *context, const char *name, uint64_t bytes),
			  void *context, struct error *err);

/* Calls `each` with the id of every run that has a folder, in bytewise order. */
MUST_CHECK int spool_runs(int (*each)(void *context, const char *run_id), void *context, struct error *err);

/* Remove a run's folder and all that is in it. */
MUST_CHECK int spool_remove(const char *run_id, struct error *err);
