/* SPDX-License-Identifier: Apache-2.0 */
/* Makes the bytes of one shard, in memory. Any thread may call. */
#pragma once

#include "cli/prep/prep.h"

/* The records of a shard: rows first .. first + records - 1 of a split. */
struct build_part {
	const struct example_schema *schema;
	uint64_t example_bytes; /* usual size of a record */
	enum texts_split split;
	uint64_t first, records;
};

/* The caller frees the data. Errors: -ENOMEM; those of the kind's functions. */
MUST_CHECK int build_shard(const struct prep *prep, const struct build_part *part, uint8_t **ret_data,
			   uint64_t *ret_bytes, struct error *err);
