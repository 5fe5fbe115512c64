/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The model that is to be promoted: the run of a night, or the winner or another trial of a series, with its
 * record and with the configuration that says where its files are. That is the frozen configuration of the
 * series or of the run on this disk; for a run that only the store has, kiln.conf.
 */
#pragma once

#include "core/base/json.h"
#include "core/series/promote_request.h"

struct winner {
	char run_id[RUN_ID_BYTES];
	char trial[TRIAL_NAME_BYTES]; /* "" = a run of its own */
	cJSON *series;                /* record of the series; NULL = a run of its own */
	cJSON *record;                /* run.json, with the member state */
	struct config config;
};

/* Finds the model that the request names; without a series in the request the model of the current run, or
 * of the series that the current run belongs to. *ret_winner must be zeroed; the caller calls winner_done(),
 * also after an error. Errors: -EAGAIN the run or the series has not ended; -ENOENT there is no such series,
 * trial, run or winner; -EINVAL the run has not finished, or its configuration is wrong; -EBADMSG a damaged
 * record; those of a store. */
MUST_CHECK int winner_find(const struct promote_request *request, struct winner *ret_winner,
			   struct error *err);
void winner_done(struct winner *winner);

/* Returns the id of the series; "" = none. */
const char *winner_series(const struct winner *winner);
