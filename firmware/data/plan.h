/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The plan: what a run reads and in which order, fixed before its first batch. A file of fixed-width entries
 * and a heap of keys, mapped; a million shards fit. Little endian. It is input: every offset, and the order
 * of the keys, is checked when it is opened.
 *
 * Writing: plan_create -> plan_add* (source by source; of each train, then validation, then test; each of
 * these in bytewise key order) -> plan_finish
 * Reading: plan_open -> plan_shard -> plan_close
 * Cost: the writer streams, a few KiB however many shards; open reads the file once; plan_shard is O(1),
 * plan_find O(log shards).
 */
#pragma once

#include "core/base/error.h"
#include "core/config/filter.h"
#include "core/ring/cursor.h"

#include <stdbool.h>
#include <stdint.h>

#define PLAN_MAGIC       UINT64_C(0x4e414c504e4c494b) /* "KILNPLAN" */
#define PLAN_VERSION     2u                           /* version 1, of one source, is read as well */
#define PLAN_SHARDS_MAX  ((uint64_t)16 << 20)
#define PLAN_SOURCES_MAX 32u

/* What fixes the order besides the shards. */
struct plan_settings {
	uint32_t order_version, lanes, sources, remainder; /* remainder: enum config_remainder */
	uint64_t seed, epochs, window_shards, batch_rows;
	double weight[PLAN_SOURCES_MAX]; /* of the sources in use: finite, > 0 */
	char filter[FILTER_BYTES];       /* which records count, as core/config/filter.h reads it; "" = all */
	/* Of an epoch's rows, the first `skip_rows` are passed over and at most `take_rows` (0 = all) of the
	 * others are trained on. */
	uint64_t skip_rows, take_rows;
	uint32_t mode, reserved; /* enum config_order_mode */
};

struct plan_shard {
	const char *key, *etag, *version; /* NUL-terminated, the plan's; "" = none */
	uint64_t bytes;
	uint32_t source; /* index of its source, in the configuration's order */
};

struct plan;
struct plan_writer;

MUST_CHECK int plan_create(const char *path, const struct plan_settings *settings,
			   struct plan_writer **ret_writer, struct error *err);
MUST_CHECK int plan_add(struct plan_writer *writer, enum split split, const struct plan_shard *shard,
			struct error *err);
/* Make the last `shards` train shards of the source added last its validation split, before any other than
 * train shards of it was added. */
void plan_hold_out(struct plan_writer *writer, uint64_t shards);
uint64_t plan_added(const struct plan_writer *writer, uint32_t source, enum split split);
/* Completes and renames the file; frees the writer, also on failure. */
MUST_CHECK int plan_finish(struct plan_writer *writer, struct error *err);
/* Gives up and removes what was written. Accepts NULL. */
void plan_abandon(struct plan_writer *writer);

/* Errors: -EBADMSG what does not fit. */
MUST_CHECK int plan_open(const char *path, struct plan **ret_plan, struct error *err);
void plan_close(struct plan *plan);
void plan_closep(struct plan **plan);

const struct plan_settings *plan_settings_of(const struct plan *plan);
uint64_t plan_shards(const struct plan *plan, enum split split); /* of all sources */
uint64_t plan_source_shards(const struct plan *plan, uint32_t source, enum split split);
struct plan_shard plan_shard(const struct plan *plan, uint32_t source, enum split split, uint64_t index);
/* Where a key stands among the shards of a source's split. False: it is none of them. */
bool plan_find(const struct plan *plan, uint32_t source, enum split split, const char *key,
	       uint64_t *ret_index);
/* Windows of one lane of a source in a pass. */
uint64_t plan_windows(const struct plan *plan, uint32_t source, uint32_t lane, enum split split);

/* The segment behind this one: train k, validation k, train k + 1 ... test 0; splits without shards are left
 * out. False at the end of the run. */
bool plan_next_segment(const struct plan *plan, enum split *split, uint64_t *segment);
