/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The plan: the shards that a run reads, and the settings that fix their order. Made before the first batch
 * and constant for the whole run.
 *
 * Why a file and not a listing at each start: a store may get more objects, or other ones, while a run goes
 * on for many nights. The plan names each object with size, ETag and version, so that the run either repeats
 * exactly or stops and says which object changed.
 *
 * A plan of objects (ORDER_OBJECTS, data/order.h; source.format = "objects") has shards of one record each:
 * an object as it is, whose folder is its class. Such a plan also has the names of the classes. It has one
 * source, no filter, and mode ORDER_EXACT.
 *
 * The file is mapped, so that a million shards cost no memory of the process. The file is input: plan_open()
 * checks every offset, the order of the keys, the characters of the ETags, and that no sum of sizes
 * overflows. plan_config.h checks that the plan belongs to a configuration.
 *
 * Order of calls, writing: plan_create -> plan_add* -> plan_finish, or plan_abandon.
 * Reading: plan_open -> any of the others -> plan_close. An open plan is read-only, for any thread.
 * Cost: the writer needs a few KiB for any number of shards; plan_open() reads the file once; plan_shard() is
 * O(1), plan_find() O(log shards). Crash: the file appears by rename when it is complete.
 *
 * The folder, firmware/data: plan.h, plan_config.h, order.h, next_use.h and lanes.h say which record comes
 * when, hold_out.h which shards validate. tfrecord.h, crc32c.h, inflate.h, example.h, filter.h and batch.h
 * turn a shard's bytes into rows of a slot, and quarantine.h lists the bad records. text.h and vocabulary.h
 * turn texts into numbers. No module has threads or state of its own, and the plan is the only file.
 */
#pragma once

#include "core/base/error.h"
#include "core/config/filter.h"
#include "core/ring/cursor.h"

#include <stdbool.h>
#include <stdint.h>

#define PLAN_MAGIC UINT64_C(0x4e414c504e4c494b) /* "KILNPLAN" */
/* A plan of objects has version 3, with classes; a plan of other shards has version 2. Version 1, for one
 * source, can be read, too. */
#define PLAN_VERSION     2u
#define PLAN_VERSION_MAX 3u
#define PLAN_SHARDS_MAX  ((uint64_t)16 << 20)
#define PLAN_SOURCES_MAX 32u
/* largest file of a plan: a million shards with keys of 1 KiB take 2 GiB at most */
#define PLAN_FILE_MAX    ((uint64_t)4 << 30)
#define PLAN_SPARE_BYTES ((uint64_t)2 << 20)   /* space that a new plan leaves free on the disk */
#define PLAN_BYTES_MAX   ((uint64_t)INT64_MAX) /* largest sum of the bytes of all shards */

/* The settings that fix the order of the run. */
struct plan_settings {
	uint32_t order_version, lanes, sources, remainder; /* remainder: enum config_remainder */
	uint64_t seed, epochs, window_shards, batch_rows;
	double weight[PLAN_SOURCES_MAX]; /* weight of each source in use: finite, > 0 */
	char filter[FILTER_BYTES];       /* condition of core/config/filter.h; "" = all records count */
	/* Each epoch passes over its first `skip_rows` rows, then trains on at most `take_rows` (0 = all). */
	uint64_t skip_rows, take_rows;
	uint32_t mode, reserved; /* enum config_order_mode */
};

/* One object of a source. */
struct plan_shard {
	const char *key, *etag, *version; /* NUL-terminated, the plan's; "" = none */
	uint64_t bytes;
	uint32_t source; /* index of its source, in the configuration's order */
	uint64_t index;  /* set by plan_shard(): its index in key order in its split of the source */
	uint64_t label;  /* set by plan_shard(): the number of its class in a plan of objects, else 0 */
};

struct plan;
struct plan_writer;

/* Starts to write a plan. Errors: those of the file. */
MUST_CHECK int plan_create(const char *path, const struct plan_settings *settings,
			   struct plan_writer **ret_writer, struct error *err);
/* Adds a shard: source by source; train, validation, test within a source; bytewise key order within a split.
 * Errors: -EINVAL out of this order, or a string is too long, or an object has no folder; -EBADMSG more than
 * PLAN_SHARDS_MAX in a split, or a file of more than PLAN_FILE_MAX bytes; -ENOSPC fewer than PLAN_SPARE_BYTES
 * would stay free on the disk; those of the file. */
MUST_CHECK int plan_add(struct plan_writer *writer, enum split split, const struct plan_shard *shard,
			struct error *err);
/* Turns the last `shards` train shards of the newest source into its validation split. Call it when all train
 * shards of the source are added and no shard of its other splits. */
void plan_hold_out(struct plan_writer *writer, uint64_t shards);
/* Turns each train shard of the newest source for which held(context, i) is true into a shard of its
 * validation split; i: the shard's index in key order. Call it as plan_hold_out(). Needs 100 KiB of
 * memory for any number of shards. Errors: -ENOMEM; those of the file. */
MUST_CHECK int plan_hold_out_each(struct plan_writer *writer,
				  bool (*held)(const void *context, uint64_t index), const void *context,
				  struct error *err);
/* Returns the number of shards added so far to a split of a source. */
uint64_t plan_added(const struct plan_writer *writer, uint32_t source, enum split split);
/* Completes and renames the file; frees the writer, also on failure. */
MUST_CHECK int plan_finish(struct plan_writer *writer, struct error *err);
/* Removes the unfinished file; frees the writer. Accepts NULL. */
void plan_abandon(struct plan_writer *writer);

/* Opens and checks a plan. Errors: -EBADMSG the file is damaged, or this firmware does not support it; those
 * of the file. */
MUST_CHECK int plan_open(const char *path, struct plan **ret_plan, struct error *err);
void plan_close(struct plan *plan);
void plan_closep(struct plan **plan);

const struct plan_settings *plan_settings_of(const struct plan *plan);
/* Whether each shard is an object that is one record. */
bool plan_is_of_objects(const struct plan *plan);
/* Return the number of classes, and the name of a class, the plan's; there are none without objects. */
uint64_t plan_class_count(const struct plan *plan);
const char *plan_class(const struct plan *plan, uint64_t number);
/* Finds the number of the class of a key, which need not be a key of the plan. False: its folder is no class
 * of the plan, or it has none. */
bool plan_label(const struct plan *plan, const char *key, uint64_t *ret_number);

/* Gives an open plan other settings, with as many sources and the same order_version: it is then the plan of
 * another run over the same shards. Before any other thread uses the plan. */
void plan_reorder(struct plan *plan, const struct plan_settings *settings);

/* Return the number of shards of a split: of all sources, or of one source. */
uint64_t plan_shards(const struct plan *plan, enum split split);
uint64_t plan_source_shards(const struct plan *plan, uint32_t source, enum split split);
/* Returns a shard by its index in key order; its strings are the plan's. */
struct plan_shard plan_shard(const struct plan *plan, uint32_t source, enum split split, uint64_t index);
/* Finds a key among the shards of a source's split, by binary search. False: not found. */
bool plan_find(const struct plan *plan, uint32_t source, enum split split, const char *key,
	       uint64_t *ret_index);
/* Draws 64 random bits for a record of a shard in a pass, which say where random_crop cuts its pictures
 * (data/batch.h). `offset`: that of the record's data in the shard, after inflating; 0 for an object. */
uint64_t plan_record_bits(const struct plan *plan, const struct plan_shard *shard, uint64_t pass,
			  uint64_t offset);
/* Returns the number of windows of one lane of a source in a pass. */
uint64_t plan_windows(const struct plan *plan, uint32_t source, uint32_t lane, enum split split);

/* Sets *split and *segment to the next segment of the run: train 0, validation 0, train 1, validation 1 ...
 * test 0. Splits without shards are left out. False: the end of the run. */
bool plan_next_segment(const struct plan *plan, enum split *split, uint64_t *segment);
