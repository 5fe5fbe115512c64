/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Moves the chunks of a job between the ranks, on the thread that calls MPI. Chunks are cut into segments,
 * and the next segments are on their way while the last are added. Where the groups are divided (groups.h),
 * some segments are in the first stage while others are in the second. Order: pump_open -> pump_run* ->
 * pump_done.
 */
#pragma once

#include "drivers/ranks/groups.h"
#include "drivers/ranks/library.h"
#include "drivers/ranks/ranks.h"

#include <stdatomic.h>

enum pump_way {
	PUMP_REDUCE, /* floats: the own chunk becomes the sum of all ranks, the others are undefined */
	PUMP_SPREAD, /* every rank gets all chunks from their owners */
	PUMP_DEAL,   /* every rank gets its own chunk from `root` */
};

/* Memory in chunks: rank r owns the bytes from r * chunk_bytes to the next rank's, or to the end. */
struct pump_job {
	enum pump_way way;
	bool bfloat16; /* memory has floats, and they travel as bfloat16; not with PUMP_DEAL */
	unsigned char *memory;
	uint64_t bytes, chunk_bytes;
	uint32_t root;
};

struct pump {
	const struct ranks_library *library;
	uint32_t world, rank, segment_bytes;
	uint64_t patience_us;
	const struct ranks_where *where; /* [world], for messages; a host is "" while it is not known */
	_Atomic int abort_code;          /* PUMP_GOES_ON, or with what code all ranks have to end */
	unsigned char *scratch[LIBRARY_LANES];
	float **addend; /* [world] */
	float *widened; /* [world][SUM_BLOCK]: a part of the addends that came as bfloat16 */
	struct rank_groups groups;
};

#define PUMP_GOES_ON (-1)

/* Allocates the memory for segments of other ranks. library, world, rank and groups are set. Errors: -ENOMEM,
 * and the caller calls pump_done(). */
MUST_CHECK int pump_open(struct pump *pump, struct error *err);
/* Blocks. Errors: those of an exchange in ranks.h. */
MUST_CHECK int pump_run(struct pump *pump, const struct pump_job *job, struct error *err);
/* Ends all ranks if abort_code says so. */
void pump_obey(const struct pump *pump);
void pump_done(struct pump *pump);
