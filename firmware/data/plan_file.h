/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The plan's file: a header, an entry of fixed size for each shard (by source, split and key), and the heap
 * of the entries' strings. Little endian. For data/plan*.c only.
 */
#pragma once

#include "data/plan.h"

#include <assert.h>
#include <stddef.h>

struct plan_header {
	uint64_t magic;
	uint32_t version, reserved;
	uint64_t heap_bytes;
	struct plan_settings settings;
	uint64_t shards[PLAN_SOURCES_MAX][SPLIT_MAX];
};

/* Follows the header in version 3. The names of the classes follow the heap, each with its NUL. */
struct plan_header_classes {
	uint64_t classes, bytes;
};

/* The header of version 1: one source, and settings up to the filter. */
struct plan_header_1 {
	uint64_t magic;
	uint32_t version, reserved;
	uint64_t shards[SPLIT_MAX];
	uint64_t heap_bytes;
	uint8_t settings[offsetof(struct plan_settings, skip_rows)];
};

#define PLAN_TEXT_MAX 1024u /* bytes of a key, ETag or version */

/* Key, ETag and version follow each other in the heap, each with its NUL. */
struct plan_entry {
	uint64_t heap_offset, bytes;
	uint32_t source;
	uint16_t key_bytes, etag_bytes, version_bytes, reserved[3];
};
static_assert(sizeof(struct plan_entry) == 32, "entries are 32 bytes");
static_assert(sizeof(struct plan_header) == 1376 && sizeof(struct plan_header_1) == 608,
	      "the headers have these sizes, so that the entries after them are aligned");
