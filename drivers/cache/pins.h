/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pins.json in the cache's folder: prefixes whose objects are never evicted. An object is what the store has
 * now: of a key whose version the evicting program knows, from its plan or listing, other versions are as if
 * not pinned. kiln-controld writes it; who evicts reads it, again whenever it changed.
 */
#pragma once

#include "drivers/cache/cache.h"

#define CACHE_PINS_MAX 1000u

struct cache_pin {
	char *endpoint, *bucket, *prefix;
};

struct cache_pins {
	struct cache_pin *pin;
	size_t count;
	uint64_t mark; /* of the file that was read */
};

/* Without a file there are none. Errors: -EBADMSG damaged; -errno; the pins are what they were. */
MUST_CHECK int cache_pins_load(const struct cache *cache, struct cache_pins *pins, struct error *err);
/* Whether the file is another one than that read last. */
bool cache_pins_changed(const struct cache *cache, const struct cache_pins *pins);
MUST_CHECK int cache_pins_save(const struct cache *cache, const struct cache_pins *pins, struct error *err);
void cache_pins_done(struct cache_pins *pins);

bool cache_pin_covers(const struct cache_pin *pin, const struct cache_item *item);
bool cache_pins_cover(const struct cache_pins *pins, const struct cache_item *item);

/* Add one or take it away: 1 when that changed something, else 0. Errors: -ENOMEM; -E2BIG. */
MUST_CHECK int cache_pins_set(struct cache_pins *pins, const struct cache_pin *pin, bool on,
			      struct error *err);
