/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The loop: a pass over the current run, then over the runs of earlier nights that the spool still has. After
 * a failure that may pass it waits, twice as long each time up to a minute, and trims the spool meanwhile,
 * since traind goes on.
 */
#pragma once

#include "core/run/status.h"
#include "uploadd/upload.h"
#include "uploadd/watch.h"

struct uploader {
	struct watch watch;
	struct upload current;       /* open when its store is */
	char complete[RUN_ID_BYTES]; /* the current run, once it is final and in the store */
	bool left;                   /* runs of earlier nights are not all in the store */
	char **warned;               /* runs that need a person, and that was logged */
	uint32_t warnings;
	bool drain;                  /* end with the run */
	struct alive_worker *worker; /* the only thread */
	struct error *err;
	struct status_page *page; /* NULL: it cannot be written */
	struct status status;
};

/* Without a page only the status is missing, so a failure is logged. */
void uploader_open_page(struct uploader *uploader);
/* Runs until an error that waiting does not mend, or with `drain` until the run is final and in the store. */
MUST_CHECK int uploader_run(struct uploader *uploader, struct error *err);
