/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "data/plan.h"
#include "drivers/store/store.h"

/* Does what store_get_all() does, with a bound that this machine sets: an object may take half of the memory
 * that is available, because what is made of it takes memory, too. Asks for the size first; a larger object
 * is refused before anything is fetched, and what comes beyond the size is an error. Errors: those of
 * store_get_all(); -ENOMEM the object is larger than that. */
MUST_CHECK int whole_get(struct store *store, const char *key, uint64_t max, char **ret_data,
			 uint64_t *ret_bytes, struct error *err);

/* Gets the version of an object that a plan pins, of shard->bytes, into malloc'ed memory. Errors: those of
 * store_get(); -EFBIG more than `max`. */
MUST_CHECK int whole_get_pinned(struct store *store, const struct plan_shard *shard, uint64_t max,
				char **ret_data, struct error *err);
