/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A whole shard of a store in memory, and its records one after another. A shard of the source.format
 * "objects" is one object, and `data` has its bytes.
 *
 * Order: (whole_shard_get or whole_shard_get_pinned -> whole_shard_inflate -> whole_shard_next*)* ->
 * whole_shard_done. One thread.
 */
#pragma once

#include "data/filter.h"
#include "data/inflated.h"
#include "data/plan.h"
#include "data/tfrecord.h"
#include "drivers/store/store.h"

#define WHOLE_SHARD_MAX (UINT64_C(1) << 34) /* bytes, also inflated */

struct whole_shard {
	const uint8_t *data; /* the bytes in the store; after whole_shard_inflate() the records */
	uint64_t bytes;
	uint64_t at, record; /* the offset and the number of the next record */
	char *raw;           /* the bytes in the store; NULL once they are inflated */
	struct inflated inflated;
};

/* Gets a shard in the place of the one before, from *shard, which is zero at first: as it is now, as
 * whole_get() does; or the version that a plan pins, as whole_get_pinned() does. Errors: those of the two
 * functions. */
MUST_CHECK int whole_shard_get(struct whole_shard *shard, struct store *store, const char *key,
			       struct error *err);
MUST_CHECK int whole_shard_get_pinned(struct whole_shard *shard, struct store *store,
				      const struct plan_shard *pinned, struct error *err);

/* Inflates the shard where it is compressed. Errors: those of inflate_into(), without the key; with -EBADMSG
 * the shard has the bytes before the fault. */
MUST_CHECK int whole_shard_inflate(struct whole_shard *shard, struct error *err);

/* Goes to the next record of a shard whose `at` is not `bytes`. Returns 1, or 0 where `filter` drops the
 * record; NULL = none is dropped.
 * Errors, without the key and the number of the record: those of tfrecord_next() and filter_match(). The
 * shard goes on with the next record; after a broken frame, whose ret_record->data is NULL, it has ended. */
MUST_CHECK int whole_shard_next(struct whole_shard *shard, const struct filter *filter, uint64_t record_max,
				struct tfrecord *ret_record, struct error *err);

void whole_shard_done(struct whole_shard *shard); /* leaves it zero */
