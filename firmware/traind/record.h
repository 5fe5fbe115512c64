/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes traind's members of run.json (core/run/run.h): "epochs" and "metrics" (history.h), "time"
 * (stages.h), "device", "quarantine" if records were left out (quarantine.h), and "throttled_s" if the run
 * paused to cool down. The event files by epoch (curves.h) are written together with it. Main thread only.
 *
 * Order: record_open -> (record_pass | record_changed | record_write)* -> record_close.
 */
#pragma once

#include "traind/history.h"

struct train;

struct record {
	struct history history;
	bool opened;  /* run.json was read */
	bool written; /* run.json has all of the above */
};

/* Reads what earlier processes of the run wrote, up to the model's cursor. Errors: -EBADMSG. */
MUST_CHECK int record_open(struct train *train, struct error *err);
void record_close(struct train *train);

/* Adds the figures of a pass, to be written by record_write(). Errors: -ENOMEM. */
MUST_CHECK int record_pass(struct train *train, enum split split, uint64_t epoch,
			   const struct model_metrics *metrics, struct error *err);
/* Something else than figures has changed: the next record_write() writes run.json. */
void record_changed(struct train *train);
/* Writes event files by epoch and run.json. When this returns 0, every figure so far is on the disk. */
MUST_CHECK int record_write(struct train *train, struct error *err);
/* Writes "time" and "device" alone. */
MUST_CHECK int record_write_time(struct train *train, struct error *err);
