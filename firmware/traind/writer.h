/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The writer thread: turns one snapshot at a time into a file of the spool, a checkpoint or the finished
 * model, while the main thread trains on. The main thread makes the snapshot, a copy on the device's queue,
 * and starts the thread; the thread waits for the copy and writes it. So training waits for the copy only,
 * however slow the disk is. Files are whole or absent.
 *
 * Order: writer_open -> (writer_start -> writer_wait)* -> writer_close. All calls come from the main thread.
 * The lock guards `busy`, `quit`, `err`, `worked_us`, `took_us` and the `saved` members. The other members
 * belong to the thread while it is busy, and to the main thread while it is idle.
 */
#pragma once

#include "core/base/error.h"
#include "core/base/paths.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#define WRITER_MODEL_NAME "model/model.safetensors" /* in the spool */

struct train;

struct writer {
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t change;
	bool started, busy, quit;
	bool final; /* the snapshot is the finished model: write its parameters alone */
	uint64_t step;
	char path[PATH_BYTES];
	char *quarantine;              /* the quarantine list at the snapshot, as text; NULL = empty */
	struct error err;              /* error of the last file */
	uint64_t worked_us;            /* the last file's wait for the copy, and CPU time */
	uint64_t took_us;              /* the last file, from the snapshot to the disk */
	bool saved;                    /* the checkpoint of `saved_step` is on the disk */
	uint64_t saved_step, saved_us; /* Unix time; 0 = an earlier process wrote it */
};

#define WRITER_INITIALIZER                                                            \
	{                                                                             \
		.lock = PTHREAD_MUTEX_INITIALIZER, .change = PTHREAD_COND_INITIALIZER \
	}

/* Starts the thread. Errors: -EAGAIN. */
MUST_CHECK int writer_open(struct train *train, struct error *err);
/* Waits until the thread is idle and ends it. */
void writer_close(struct train *train);

/* Makes a snapshot and lets the thread, which must be idle, write it: the finished model if `final`, else a
 * checkpoint. */
MUST_CHECK int writer_start(struct train *train, bool final, struct error *err);
/* Blocks until the thread is idle, however slow the disk is. */
void writer_wait(struct train *train);
/* Whether the thread is busy. *ret_worked_us: what the last file cost, see `worked_us`. */
bool writer_is_busy(struct writer *writer, uint64_t *ret_worked_us);

/* Whether there is a checkpoint on the disk; step and time of the newest, 0 without one. */
bool writer_saved(struct writer *writer, uint64_t *ret_step, uint64_t *ret_us);
/* The run was restored from the checkpoint of this step. */
void writer_set_saved(struct writer *writer, uint64_t step);
/* How long the last file was on its way to the disk. */
uint64_t writer_took_us(struct writer *writer);
/* Logs that there is no checkpoint of this step. */
void writer_say_failed(const struct train *train, uint64_t step, const struct error *err);
