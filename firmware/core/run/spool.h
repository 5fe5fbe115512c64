/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The spool: a folder in which traind writes files, and from which uploadd uploads them. After a restart
 * traind finds its newest checkpoint there. Why a folder: the two programs need no connection, each may be
 * stopped for hours, and a reboot loses no file that traind has reported as written.
 *
 * PATH_SPOOL/traind/<run id>/<name> is uploaded to <run id>/<name> in the sink. <name> is one of
 *     checkpoints/ckpt-%012u.safetensors    whole or absent (temporary name, fsync, rename, fsync)
 *     logs/{train,validation,steps}/events.out.tfevents.*
 *                                           the last file of a folder grows up to a bounded size, the others
 *                                           are whole. uploadd uploads a file again after its size changed: a
 *                                           trainer that returns to a checkpoint cuts off later records
 *     logs/events.out.tfevents.*            whole or absent: of a trial, its settings and its end
 *     model/NAME, model/saved_model/1/NAME  whole or absent
 * A name that ends in ".tmp" belongs to an unfinished file. traind makes files, uploadd removes them: a
 * checkpoint once it is uploaded and the disk has two newer ones; while the store cannot be reached, the
 * checkpoints that checkpoint.keep does not keep; all files of a run once the run is final and in the store.
 */
#pragma once

#include "core/base/error.h"
#include "core/base/paths.h"

#include <stdbool.h>
#include <stdint.h>

#define SPOOL_WRITER     "traind"
#define SPOOL_NAME_BYTES 512u

/* Returns out: "PATH_SPOOL/traind/<run id>/<name>". */
char *spool_path(const char *run_id, const char *name, char out[static PATH_BYTES]);

/* Returns out: "checkpoints/ckpt-<step as %012>.safetensors". */
char *spool_checkpoint_name(uint64_t step, char out[static SPOOL_NAME_BYTES]);
/* Returns the step in the name of a checkpoint, or -EINVAL. */
int64_t spool_checkpoint_step(const char *name);

/* Makes the folders of a run. */
MUST_CHECK int spool_make(const char *run_id, struct error *err);

/* Locks the spool for the trainer of this slot, until the descriptor is closed or the process ends. Call
 * spool_make() first. Errors: -EBUSY another process has the lock. */
MUST_CHECK int spool_lock(int *ret_fd, struct error *err);

/* Locks the folder of a run in the spool, in the same way. A night with fewer slots gives a run to another
 * slot, while its trainer of the night before may still write its last checkpoint. */
MUST_CHECK int spool_lock_run(const char *run_id, int *ret_fd, struct error *err);

/* Locks the uploads of the spool for this process, until the descriptor is closed or the process ends: two
 * processes would abort each other's unfinished uploads. Makes PATH_SPOOL where it is missing. Errors: -EBUSY
 * another process has the lock. */
MUST_CHECK int spool_lock_uploads(int *ret_fd, struct error *err);

/* Calls `each` with the name (relative to the run's folder) and the size of every finished file, in bytewise
 * order of the names. */
MUST_CHECK int spool_list(const char *run_id, int (*each)(void *context, const char *name, uint64_t bytes),
			  void *context, struct error *err);

/* Returns the step of the newest finished checkpoint of a run. Errors: -ENOENT the spool has none; those of
 * spool_list(). */
MUST_CHECK int64_t spool_newest_step(const char *run_id, struct error *err);
/* The same, for a caller to whom no checkpoint is no error: then *ret_step is -1. */
MUST_CHECK int spool_find_step(const char *run_id, int64_t *ret_step, struct error *err);

/* Opens a file of a run for reading, and follows no link: the trainer writes the names in the spool, and an
 * uploader that followed a link would send a file of its own, such as its credential, to the store. Errors:
 * -EINVAL a link, or not a regular file; -ENOENT. */
MUST_CHECK int spool_open(const char *run_id, const char *name, int *ret_fd, struct error *err);

/* Calls `each` with the id of every run that has a folder in the spool, in bytewise order. */
MUST_CHECK int spool_runs(int (*each)(void *context, const char *run_id), void *context, struct error *err);

/* Tells whether the spool has a folder of a run, or this cannot be found out. kiln-uploadd removes the folder
 * as its last step. */
bool spool_has(const char *run_id);
/* Removes the folder of a run and all its files. */
MUST_CHECK int spool_remove(const char *run_id, struct error *err);
