/* SPDX-License-Identifier: Apache-2.0 */
/* A ring of four slots in a new folder, with both sides in one process. */
#pragma once

#include "core/ring/ring_shared.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#define SLOTS 4

static char folder[64], path[80];

static const struct ring_geometry geometry = {
	.slots = SLOTS,
	.columns = 2,
	.column = { { "x", RING_FLOAT32, 16, 4096 }, { "empty", RING_UINT8, 1, 4096 } },
};

static inline int make_folder(void **state)
{
	(void)state;
	(void)snprintf(folder, sizeof(folder), "/tmp/kiln-ring-XXXXXX");
	assert_non_null(mkdtemp(folder));
	(void)snprintf(path, sizeof(path), "%s/ring", folder);
	return 0;
}

static inline int remove_folder(void **state)
{
	(void)state;
	(void)unlink(path);
	return rmdir(folder);
}

static inline int fresh(void **state)
{
	(void)state;
	(void)unlink(path);
	return 0;
}

static inline struct ring *writer(void)
{
	struct ring *ring;
	struct error err;

	if (ring_create(path, &geometry, 0, &ring, &err) < 0)
		fail_msg("%s", err.text);
	return ring;
}

static inline struct ring *reader(void)
{
	struct ring *ring;
	struct error err;

	if (ring_open(path, &ring, &err) < 0)
		fail_msg("%s", err.text);
	return ring;
}

static inline struct cursor at(uint64_t batch)
{
	struct cursor cursor = { .version = CURSOR_VERSION, .batch = batch };

	return cursor;
}

/* Publishes the slot of `batch`; its cursor is the position after it. */
static inline void publish(struct ring *ring, uint64_t batch, enum ring_kind kind)
{
	struct ring_slot *slot;

	assert_int_equal(ring_claim(ring, &slot), 0);
	slot->kind = kind;
	slot->rows = slot->valid_rows = 2;
	slot->batch = batch;
	slot->cursor = at(batch + 1);
	memset(ring_column_data(ring, slot, 0), (int)batch, 32);
	ring_commit(ring);
}

static inline const struct ring_slot *expect(struct ring *ring, uint64_t batch)
{
	const struct ring_slot *slot;
	struct error err;
	uint64_t bytes;
	const uint8_t *memory = ring_memory(ring, &bytes);

	assert_int_equal(ring_next(ring, &slot, &err), 0);
	assert_int_equal(slot->batch, batch);
	assert_in_range((const uint8_t *)ring_column_data(ring, slot, 1) + 4095 - memory, 4096, bytes - 1);
	assert_int_equal(((const uint8_t *)ring_column_data(ring, slot, 0))[31], (uint8_t)batch);
	return slot;
}

static inline uint64_t begin(struct ring *ring)
{
	struct cursor from;
	bool closed;
	uint64_t generation = ring_request(ring, &from, &closed);

	ring_begin(ring, generation);
	return from.batch;
}
