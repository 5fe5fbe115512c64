/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A person's request to promote a model, or to bring the former champion back: the file
 * PATH_RUNS/promote.json, which is written as a whole. kiln-controld writes it before kiln-promote.service
 * starts; kiln-oneshot promote removes it at its end, also where the request has failed. Only a kill or a
 * power cut leaves it: the next start goes on with it.
 */
#pragma once

#include "core/run/run.h"
#include "core/series/trials.h"

#include <stdbool.h>

struct promote_request {
	bool rollback;
	bool force;                   /* promote without a test against the champion */
	char series[RUN_ID_BYTES];    /* the series, or the run; "" = the current one */
	char trial[TRIAL_NAME_BYTES]; /* a trial of the series; "" = its winner */
	uint64_t from; /* number of the champion that a rollback replaces; 0 = no rollback has begun */
	uint32_t mark; /* random; the branch of a rollback is named after it, so no other box has its name */
};

/* Returns 1 where there is a request, 0 where there is none. Errors: -EBADMSG. */
MUST_CHECK int promote_request_get(struct promote_request *ret_request, struct error *err);
MUST_CHECK int promote_request_put(const struct promote_request *request, struct error *err);
MUST_CHECK int promote_request_remove(struct error *err);
