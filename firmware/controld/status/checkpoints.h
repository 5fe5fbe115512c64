/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The checkpoints of the current run, as status and checkpoint.list tell them: those on this disk, and the
 * one that latest.json in the store names. kiln-uploadd removes files from the disk, so the newest checkpoint
 * may be in the store alone.
 */
#pragma once

#include "core/base/json.h"
#include "core/run/status.h"

#include <stdbool.h>

struct checkpoints {
	cJSON *rows; /* [{step, bytes, time_s, on_disk, uploaded}], the newest last; null = not known */
	bool any, store_known, any_stored;
	uint64_t newest, newest_s; /* if `any`: step and Unix time of the newest; the time 0 = not known */
	uint64_t stored, stored_s; /* if `any_stored`: of the one in the store */
};

/* Reads the spool of a run. `traind`, `uploadd`: their status pages for this run, NULL = none.
 * Errors: of spool_list(), except that a missing folder is no error; -ENOMEM. */
MUST_CHECK int checkpoints_read(const char *run_id, const struct status *traind, const struct status *uploadd,
				struct checkpoints *ret_checkpoints, struct error *err);
void checkpoints_done(struct checkpoints *checkpoints);
