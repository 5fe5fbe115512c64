/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Results by idempotency key. A client that lost the answer to a request that changes something sends the
 * request again with the same key. It gets the first answer, and the change is not made twice.
 *
 * The table holds the last RECALL_MAX results; a new one replaces the oldest. The table is only in memory: a
 * restart of controld forgets every key, as core/control/control.h tells clients.
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

/* Looks for an earlier result of this caller's key (request->key, not NULL).
 * Returns 1: *ret_result is a copy of the result, the caller's; 0: the key is new.
 * Errors: -EINVAL the key was used for another method or other parameters. */
MUST_CHECK int recall_find(const struct recall *recall, uint64_t caller,
			   const struct control_request *request, cJSON **ret_result, struct error *err);

/* Whether two requests have the same caller, key, method and parameters; false where one has no key. */
bool recall_is_same(uint64_t caller, const struct control_request *request, uint64_t other_caller,
		    const struct control_request *other);

/* Remembers a copy of the result of a request that has a key. */
void recall_add(struct recall *recall, uint64_t caller, const struct control_request *request,
		const cJSON *result);
void recall_done(struct recall *recall);
