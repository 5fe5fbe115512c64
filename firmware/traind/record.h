/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What traind writes into run.json (core/run/run.h): "epochs" and "metrics" (history.h), "confusion"
 * (core/run/run_confusion.h), "time" (stages.h), "device", "tensor_cores" (model_tensor_cores()),
 * "store" (the bytes on kiln-fetchd's status page), "quarantine" if records were left out (quarantine.h), and
 * "throttled_s" if the run paused to cool down.
 * record_write() also writes the event files by epoch (curves.h). Main thread only.
 *
 * Order: record_open -> (record_pass | record_confusion | record_changed | record_write)* -> record_close.
 */
#pragma once

#include "traind/history.h"

struct train;

struct record {
	struct history history;
	cJSON *confusion;                        /* the member "confusion" of run.json; NULL = none */
	bool opened;                             /* run.json was read */
	bool written;                            /* run.json on the disk is up to date */
	uint64_t bytes_before, bytes, fetchd_us; /* the member "store" of run.json */
};

/* Reads what earlier processes of the run wrote, up to the model's cursor. Errors: -EBADMSG. */
MUST_CHECK int record_open(struct train *train, struct error *err);
void record_close(struct train *train);

/* Adds the metrics of a pass, which record_write() writes later. Errors: -ENOMEM. */
MUST_CHECK int record_pass(struct train *train, enum split split, uint64_t epoch,
			   const struct model_metrics *metrics, struct error *err);
/* Notes the confusion matrix of a pass of the validation or the test, before the model's metrics are reset;
 * record_write() writes it later. Of a validation only where the model keeps the weights of the epoch, whose
 * pass is added already. Does nothing where the network has no matrix. Errors: -ENOMEM; those of
 * model_confusion(). */
MUST_CHECK int record_confusion(struct train *train, enum split split, uint64_t epoch, struct error *err);
/* Returns the number of epochs that were trained. */
uint64_t record_epochs(const struct train *train);
/* Notes that run.json must change for another reason than a pass: the next record_write() writes it. */
void record_changed(struct train *train);
/* Writes run.json, and the event files that have one point per epoch. When this returns 0, the metrics of all
 * passes so far are on the disk. */
MUST_CHECK int record_write(struct train *train, struct error *err);
/* Writes only "time", "device", "tensor_cores" and "store" into run.json. */
MUST_CHECK int record_write_time(struct train *train, struct error *err);
