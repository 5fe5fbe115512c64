/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The loop of kiln-uploadd: a pass over the current run of each slot (core/base/slot.h), then over the runs
 * of earlier nights that are still in the spool. The status page is that of the run of slot 0. After a
 * failure for which waiting may help it waits, each time twice as long, up to a minute. Meanwhile it trims
 * the spool, because traind goes on writing checkpoints. For this reason it also waits after any other
 * failure while the trainer works; its status then says "degraded".
 */
#pragma once

#include "core/base/slot.h"
#include "core/run/status.h"
#include "uploadd/asking.h"
#include "uploadd/refused.h"
#include "uploadd/series.h"
#include "uploadd/upload.h"
#include "uploadd/watch.h"

struct uploader {
	int lock; /* held by the one process that uploads from the spool */
	struct watch watch;
	struct place {
		struct upload current; /* the current run; open where current.store is not NULL */
		/* id of the current run, once it is final and all its files are in the store */
		char complete[RUN_ID_BYTES];
		bool refused; /* the store refuses its files, and waiting does not help */
	} place[SLOTS_MAX];   /* by slot */
	struct asking asking;
	struct pause report; /* between two attempts for reports that wait */
	struct series_records series;
	bool left; /* some runs of earlier nights are not completely in the store */
	struct refused refused;
	bool drain; /* end the process when the run has ended or stopped, and all its files are in the store
		     */
	struct tracker *tracker;     /* NULL: it could not be started */
	struct alive_worker *worker; /* the main thread, as the watchdog knows it */
	struct error *err;
	struct status_page *page; /* NULL: the page could not be opened */
	struct status status;
};

/* Opens the status page. A failure is only logged: without the page only the status is missing. */
void uploader_open_page(struct uploader *uploader);
/* Starts the thread for the tracking server. A failure is only logged: uploads are more important. */
void uploader_open_tracker(struct uploader *uploader);
/* Makes sure that no other kiln-uploadd works on the spool. With `drain` waits for another one: returns 1
 * once it has put the current run, which is final, into the store, or the current run has stopped; 0 once it
 * has ended. Errors: -EBUSY another one is working. */
MUST_CHECK int uploader_lock(struct uploader *uploader, struct error *err);
/* Returns whether the trainer of this slot has done its last step: the run has ended, was stopped, or its
 * night is over. What is in the spool then is all that there will be. */
bool uploader_rests(void);
/* Returns after an error for which waiting does not help, once the run has ended or, with `drain`, stopped;
 * with `drain` also once the run has ended or stopped and all its files are in the store. Without `drain` it
 * goes on where somebody else has the run's branch (-EEXIST) or a hook refuses it (-EPERM): a new start would
 * find the same. */
MUST_CHECK int uploader_run(struct uploader *uploader, struct error *err);
void uploader_close(struct uploader *uploader);
