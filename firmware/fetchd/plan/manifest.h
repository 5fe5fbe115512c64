/* SPDX-License-Identifier: Apache-2.0 */
/*
 * manifest.jsonl (core/run/manifest.h), which some sources have beside their shards: size, ETag and SHA-256
 * of each object. A source without one is fine. Blocks: on the network.
 */
#pragma once

#include "data/plan.h"
#include "drivers/store/store.h"

/* Compares a source's manifest with the plan; a difference is a warning. *ret_pin is the manifest's, unset
 * when there is none. Errors: those of the store. */
MUST_CHECK int manifest_compare(struct store *store, const struct plan *plan, uint32_t source,
				struct store_pin *ret_pin, struct error *err);

/* Returns the SHA-256 that the manifest of this pin has for a key of so many bytes; "" = the manifest does
 * not say. Errors: -ESTALE the manifest is another now; -EBADMSG; those of the store. */
MUST_CHECK int manifest_sha256(struct store *store, const struct store_pin *pin, const char *key,
			       uint64_t bytes, char ret_sha256[static 65], struct error *err);
