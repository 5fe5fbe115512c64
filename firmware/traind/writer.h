/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The writer thread: turns one snapshot at a time into a file of the spool, a checkpoint or the finished
 * model, while the main thread trains on. The main thread makes the snapshot, a copy on the device's queue,
 * and starts the writer thread, which waits for the copy and writes it. So training waits for the copy only,
 * however slow the disk is. A file is complete or absent.
 *
 * Order: writer_open -> (writer_start -> writer_wait)* -> writer_close. All calls come from the main thread.
 * The lock guards `busy`, `quit`, `err`, `worked_us`, `took_us` and the `saved` members. The other members
 * belong to the writer thread while it is busy, and to the main thread while the writer thread is idle.
 */
#pragma once

#include "core/base/error.h"
#include "core/base/paths.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#define WRITER_MODEL_NAME "model/model.safetensors" /* path in the spool */

struct train;

struct writer {
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t change;
	bool started, busy, quit;
	bool final; /* the snapshot is the finished model: write its parameters only */
	uint64_t step;
	char path[PATH_BYTES];
	char *quarantine;   /* the quarantine list as text, at the time of the snapshot; NULL = empty */
	struct error err;   /* error of the last file */
	uint64_t worked_us; /* cost of the last file: waiting for the copy, and CPU time */
	uint64_t took_us;   /* time from the snapshot until the last file was on the disk */
	bool saved;         /* the disk has a checkpoint of `saved_step` */
	uint64_t saved_step, saved_us; /* saved_us: Unix time; 0 = an earlier process wrote it */
};

#define WRITER_INITIALIZER                                                            \
	{                                                                             \
		.lock = PTHREAD_MUTEX_INITIALIZER, .change = PTHREAD_COND_INITIALIZER \
	}

/* Starts the writer thread. Errors: -EAGAIN. */
MUST_CHECK int writer_open(struct train *train, struct error *err);
/* Waits until the writer thread is idle and ends it. */
void writer_close(struct train *train);

/* Makes a snapshot, which the writer thread then writes: the finished model if `final`, else a checkpoint.
 * The writer thread must be idle. */
MUST_CHECK int writer_start(struct train *train, bool final, struct error *err);
/* Blocks until the writer thread is idle, however slow the disk is. */
void writer_wait(struct train *train);
/* Returns whether the writer thread is busy. *ret_worked_us: the cost of the last file, `worked_us`. */
bool writer_is_busy(struct writer *writer, uint64_t *ret_worked_us);

/* Returns whether the disk has a checkpoint. *ret_step and *ret_us: step and time of the newest, 0 without
 * one. */
bool writer_saved(struct writer *writer, uint64_t *ret_step, uint64_t *ret_us);
/* Notes that the run was restored from the checkpoint of this step. */
void writer_set_saved(struct writer *writer, uint64_t step);
/* Returns how long the last file took, from the snapshot to the disk. */
uint64_t writer_took_us(struct writer *writer);
/* Sends an event: there is no checkpoint of this step. */
void writer_say_failed(const struct train *train, uint64_t step, const struct error *err);
