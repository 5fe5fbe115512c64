/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Space in the cache for a preload. Order: set `config`, `cache`, `pins` and `started_s` -> space_look ->
 * (space_make -> `coming` += bytes -> space_add or nothing, `coming` -= bytes)* -> cache_list_done.
 *
 * Objects that this preload needs are never evicted: the first pass of preload.c has set their time of use to
 * started_s or later. Among the others, the object unused for the longest time is evicted first, as in
 * kiln-fetchd.
 */
#pragma once

#include "core/config/config.h"
#include "drivers/cache/list.h"
#include "drivers/cache/pins.h"

struct space {
	const struct config *config;
	struct cache *cache;
	struct cache_pins pins;
	struct cache_list list; /* files in the cache, as space_look() listed them */
	uint64_t coming;        /* bytes of objects that are being fetched and are not in `list` yet */
	/* Unix time at which the preload started: it wants all objects that were used since then */
	int64_t started_s;
};

/* Returns the first source whose store has the endpoint and bucket of the pin; NULL: there is none. */
const struct config_source *space_source_of(const struct space *space, const struct cache_pin *pin);
/* Reads the list of files in the cache. */
MUST_CHECK int space_look(struct space *space, struct error *err);
/* Makes space for an object of `bytes` bytes, by evicting files where there is too little. *ret_fits is false
 * where all the files that may be evicted are too few. */
MUST_CHECK int space_make(struct space *space, uint64_t bytes, bool *ret_fits, struct error *err);
/* Adds an object to the list, when it is complete in the cache. */
MUST_CHECK int space_add(struct space *space, const struct cache_object *object, struct error *err);
