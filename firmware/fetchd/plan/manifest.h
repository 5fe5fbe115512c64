/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads manifest.jsonl (core/run/manifest.h), which some sources have next to their shards: size, ETag and
 * SHA-256 of each object. A source needs none. A manifest of more than MANIFEST_BYTES_MAX bytes is malformed.
 * Any thread. Blocks: on the network.
 */
#pragma once

#include "data/plan.h"
#include "drivers/store/store.h"

/* Compares a source's manifest with the plan; a difference is a warning, as is a manifest that is malformed
 * when it is read a second time. Sets *ret_pin to the manifest's pin; leaves it alone when there is no
 * manifest that can be read. Errors: those of the store. */
MUST_CHECK int manifest_compare(struct store *store, const struct plan *plan, uint32_t source,
				struct store_pin *ret_pin, struct error *err);

/* Finds the SHA-256 that the manifest of this pin has for an object of this key and size; "" = not listed.
 * Errors: -ESTALE the manifest has changed; -EBADMSG it is malformed; those of the store. */
MUST_CHECK int manifest_sha256(struct store *store, const struct store_pin *pin, const char *key,
			       uint64_t bytes, char ret_sha256[static 65], struct error *err);
