/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The results of earlier requests, by idempotency key. A client that lost the answer of an acting request
 * sends the request once more with the same key. It gets the first answer again, and the method does not act
 * twice.
 *
 * The table holds the last RECALL_MAX results; a new result replaces the oldest. The table is in memory only:
 * a restart of controld forgets every key, as core/control/control.h tells clients.
 */
#pragma once

#include "core/control/control.h"
#include "drivers/digest/digest.h"

#define RECALL_MAX 128u

struct recall {
	struct recalled {
		char key[CONTROL_KEY_MAX + 1];
		uint64_t caller;
		char request[DIGEST_HEX_BYTES]; /* digest of method and parameters */
		cJSON *result;                  /* NULL = an empty row */
	} done[RECALL_MAX];
	size_t next;
};

/* Looks for an earlier result under the client's key (request->key, not NULL).
 * Returns 1: *ret_result is a copy of the result, to be freed with cJSON_Delete(); 0: the key is new.
 * Errors: -EINVAL the client used the key for another method or other parameters. */
MUST_CHECK int recall_find(const struct recall *recall, uint64_t caller,
			   const struct control_request *request, cJSON **ret_result, struct error *err);

/* Returns whether two requests have the same caller, key, method and parameters; false if one has no key. */
bool recall_is_same(uint64_t caller, const struct control_request *request, uint64_t other_caller,
		    const struct control_request *other);

/* Remembers a copy of the result of a request that has a key. */
void recall_add(struct recall *recall, uint64_t caller, const struct control_request *request,
		const cJSON *result);
void recall_done(struct recall *recall);
