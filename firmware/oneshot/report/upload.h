/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Uploads the forms of a report (core/box/reports.h) to the store: beside the files of the night's run, or to
 * nights/NAME-ID/ for a night without a run. In a sink with branches it goes to the run's branch, or where
 * that was merged to the branch merged into, by a branch of its own; before kiln-uploadd has committed the
 * run it becomes part of that commit. Crash: made again, it replaces the same objects.
 */
#pragma once

#include "core/config/config.h"

struct report_upload {
	const struct config *config; /* kiln.conf: the sink of a night without a run */
	const char *id;
	const char *run_id; /* id of the night's run; NULL = the night had no run */
	uint64_t wait_ms;   /* how long to try again; 0 = one attempt */
};

/* Errors: those of the store and of drivers/versions. */
MUST_CHECK int report_upload(const struct report_upload *upload, struct error *err);
