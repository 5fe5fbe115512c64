/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pins.json in the cache's folder: prefixes whose objects are never evicted. A pin means the current version
 * of an object. Where the evicting program knows the current version, from its plan or a listing, it may
 * evict older versions of the same key. kiln-controld writes the file; the programs that evict read it again
 * whenever it changed.
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
	uint64_t mark; /* time of the last change of pins.json, as it was read */
};

/* Reads the file; no file = no pins. Errors: -EBADMSG damaged; -errno; *pins is unchanged after an error. */
MUST_CHECK int cache_pins_load(const struct cache *cache, struct cache_pins *pins, struct error *err);
/* Returns whether the file has changed since cache_pins_load(). */
bool cache_pins_changed(const struct cache *cache, const struct cache_pins *pins);
MUST_CHECK int cache_pins_save(const struct cache *cache, const struct cache_pins *pins, struct error *err);
void cache_pins_done(struct cache_pins *pins);

bool cache_pin_covers(const struct cache_pin *pin, const struct cache_item *item);
bool cache_pins_cover(const struct cache_pins *pins, const struct cache_item *item);

/* Adds a pin (`on`) or removes it. Returns 1, or 0 where the pin was there, or was missing, already. Errors:
 * -ENOMEM; -E2BIG.
 */
MUST_CHECK int cache_pins_set(struct cache_pins *pins, const struct cache_pin *pin, bool on,
			      struct error *err);
