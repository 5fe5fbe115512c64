/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sends the spool of the tracking server to MLflow.
 *
 * sent.json says what the server has:
 *     experiment_id, run_id   of MLflow; "" = not known yet
 *     params                  true: it has the parameters
 *     offset                  the points before this offset of the journal are sent
 *     tags                    as they were sent last
 *     ended                   true: it was told that the run has ended
 *
 * No doubles. run_id is on the disk before anything else is sent. A process that is killed between
 * runs/create and that write finds the run again by its tag. A batch that is sent again has the same rows. A
 * run that the server made twice, because it answered a request that was given up, is deleted at the end.
 *
 * A server that has lost a run, because it was set up anew, gets the run from its beginning.
 *
 * Threads: one. Blocks: for the server, at most MLFLOW_CALL_S a call.
 */
#pragma once

#include "core/run/run.h"
#include "uploadd/tracking/files.h"
#include "uploadd/tracking/journal.h"

struct sender {
	struct mlflow *mlflow;  /* NULL = no connection */
	cJSON *where;           /* the file that says where the last connect_to() led */
	cJSON *failed;          /* an array: `where` of each server that has failed in this pass */
	uint64_t retry_after_s; /* the longest Retry-After of those servers */
	struct journal_batch *batch;
	uint64_t metrics; /* sent by this process */
	void (*awake)(void *context);
	void *awake_context;
	/* Called where the server refused a batch, which is left out; the reason is in the caller's `err`. */
	void (*refused)(void *context, const char *id);
	/* Called with the new connection, and with NULL before it is closed: another thread may cancel it. */
	void (*connected)(void *context, struct mlflow *mlflow);
};

/* Begins a pass: each server may be asked again. */
void send_begin_pass(struct sender *sender);
/* Notes that the server of the last call has failed, so that nothing is sent to it again in this pass. */
void send_note_failed(struct sender *sender);
/* Sends what is new of a run or series. Returns 1 where the server has all and knows that it ended, 0 where
 * the server has all so far. Errors: those of drivers/mlflow; -EALREADY the server has failed in this pass;
 * -EKEYREJECTED the credential; -errno of the disk. */
MUST_CHECK int send_run(struct sender *sender, const char *id, struct error *err);
/* Sends a champion, and removes its file. Returns 1 where the server refused the champion, or the file is
 * damaged: the file is removed, too, and *ret_refused is the champion's run, "" = not known. Errors, with
 * which the file stays: those of send_run(). */
MUST_CHECK int send_champion(struct sender *sender, const char *name, char ret_refused[static RUN_ID_BYTES],
			     struct error *err);
/* Closes the connection. */
void send_disconnect(struct sender *sender);
/* Closes the connection, and frees the members of the sender but `batch`. */
void send_done(struct sender *sender);
