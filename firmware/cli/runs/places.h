/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The places of records in a sink, and what is found there. On lakefs:// they are the branch that winners are
 * merged into, and the branch of sink.url, which has runs of their own and the series whose champion stays;
 * one place where both are the same branch, and on a store without branches. One thread; every call blocks.
 *
 * Order: places_open -> places_find, places_get, place_get -> places_done.
 */
#pragma once

#include "core/base/json.h"
#include "core/run/run.h"
#include "drivers/store/store.h"

#define PLACES_MAX 2u

/* A kind of record: PREFIX ID NAME is the key of such a record. */
struct places_kind {
	const char *prefix, *name;
	uint64_t bytes_max;
	int (*parse)(const char *what, const char *text, uint64_t bytes, cJSON **ret_record,
		     struct error *err);
};

extern const struct places_kind places_runs, places_series;

struct places {
	struct config_store where[PLACES_MAX];
	struct store *store[PLACES_MAX];
	uint32_t count;
};

struct places_id {
	char id[RUN_ID_BYTES];
	uint32_t place; /* the first one that has it */
};

/* The newest ids, newest first. */
struct places_found {
	const struct places_kind *kind;
	struct places_id *at;
	uint32_t count, limit;
	uint32_t place; /* the one that is listed */
};

/* Opens the places of the sink of a configuration, which must outlive them. The caller calls places_done(),
 * also after an error. Errors: those of a store. */
MUST_CHECK int places_open(const struct config *config, struct places *places, struct error *err);
void places_done(struct places *places);

/* Finds the newest `limit` ids of a kind. The caller calls places_found_done(), also after an error. Errors:
 * those of a store. */
MUST_CHECK int places_find(const struct places *places, const struct places_kind *kind, uint32_t limit,
			   struct places_found *ret_found, struct error *err);
void places_found_done(struct places_found *found);

/* Gets a record from the first place that has it. Errors: as place_get(). */
MUST_CHECK int places_get(const struct places *places, const struct places_kind *kind, const char *id,
			  cJSON **ret_record, struct error *err);

/* Opens one place. */
MUST_CHECK int place_open(const struct config_store *where, struct store **ret_store, struct error *err);
/* Gets a record from one place. The caller deletes it. Errors: those of a store; -ENOENT; -EBADMSG. */
MUST_CHECK int place_get(struct store *place, const struct places_kind *kind, const char *id,
			 cJSON **ret_record, struct error *err);

/* Compares two ids by the time at which their runs began; for qsort(), newest first. */
int places_newest_first(const char *a, const char *b);
