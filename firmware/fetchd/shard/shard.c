/* SPDX-License-Identifier: Apache-2.0 */
#include "fetchd/shard/shard.h"

#include "core/base/clock.h"

#include <inttypes.h>
#include <string.h>

/* ---- Queues ---- */

void queue_append(struct queue *queue, struct shard *shard)
{
	shard->next = NULL;
	if (queue->last)
		queue->last->next = shard;
	else
		queue->first = shard;
	queue->last = shard;
}

struct shard *queue_pop(struct queue *queue)
{
	struct shard *shard = queue->first;

	if (!shard)
		return NULL;
	queue->first = shard->next;
	if (!queue->first)
		queue->last = NULL;
	return shard;
}

void queue_remove(struct queue *queue, struct shard *shard)
{
	struct shard *before = NULL, *at = queue->first;

	while (at && at != shard) {
		before = at;
		at = at->next;
	}
	if (before)
		before->next = shard->next;
	else
		queue->first = shard->next;
	if (queue->last == shard)
		queue->last = before;
}

/* ---- Begin ---- */

int shard_init(struct shard *shard, struct budget *budget, uint64_t parts, struct error *err)
{
	shard->part = calloc(parts, sizeof(*shard->part));
	shard->arrival = calloc(parts, sizeof(*shard->arrival));
	if (!shard->part || !shard->arrival)
		return error_set(err, -ENOMEM, "no memory for %" PRIu64 " requests a shard", parts);
	shard->parts_max = parts;
	buffer_init(&shard->raw, budget);
	buffer_init(&shard->inflated, budget);
	buffer_init(&shard->index, budget);
	return 0;
}

void shard_begin(struct shard *shard, const struct plan_shard *plan, struct source *source)
{
	shard->source = source;
	shard->plan = *plan;
	shard->parts = 0;
	shard->slice = NULL;
	shard->slice_bytes = 0;
	shard->fetched_again = shard->cached = shard->repinned = shard->settled = false;
	shard->claim_wait_us = 0;
	shard->err.code = 0;
	shard_forgets(shard);
	shard->pin = store_pin_make(plan->bytes, plan->etag, plan->version);
}

void shard_begin_again(struct shard *shard)
{
	shard_drop(shard);
	shard->fetched_again = shard->cached = shard->settled = false;
	shard->claim_wait_us = 0;
	shard->err.code = 0;
	shard_forgets(shard);
}

/* ---- Memory ---- */

static void raise_to(uint64_t *most, uint64_t other)
{
	*most = other > *most ? other : *most;
}

void shard_measure(const struct shard *shard, struct shard_sizes *sizes)
{
	raise_to(&sizes->raw, shard->raw.allocated);
	raise_to(&sizes->inflated, shard->inflated.allocated);
	raise_to(&sizes->index, shard->index.allocated);
	raise_to(&sizes->parts, shard->parts_used);
	for (uint64_t i = 0; i < shard->parts_used; i++)
		raise_to(&sizes->arrival, shard->arrival[i].index.allocated);
}

void shard_expect(struct shard *shard, const struct shard_sizes *sizes)
{
	buffer_expect(&shard->raw, sizes->raw);
	buffer_expect(&shard->inflated, sizes->inflated);
	buffer_expect(&shard->index, sizes->index);
	for (uint64_t i = 0; i < sizes->parts && i < shard->parts_max; i++) {
		buffer_init(&shard->arrival[i].index, shard->raw.budget);
		buffer_expect(&shard->arrival[i].index, sizes->arrival);
		shard->parts_used = i + 1;
	}
}

/* An object that was replaced in the store may be larger than its place. */
bool shard_is_shared(const struct shard *shard)
{
	return shard->slice_bytes > 0 && shard->plan.bytes <= shard->slice_bytes;
}

uint8_t *shard_memory(const struct shard *shard)
{
	return shard_is_shared(shard) ? shard->slice : shard->raw.output.data;
}

/* Returns the size for the buffer of the stored bytes. With `margin`, a buffer that must be allocated gets an
 * eighth more: the next shards are about as large and then fit without another allocation. */
static uint64_t raw_bytes(const struct shard *shard, bool margin)
{
	uint64_t bytes = shard->plan.bytes, held = shard->raw.output.capacity;

	if (bytes <= held || shard_is_shared(shard))
		return held;
	return margin && bytes > shard->raw.allocated ? bytes + bytes / 8 : bytes;
}

uint64_t shard_bytes(const struct shard *shard, bool margin)
{
	uint64_t bytes =
		raw_bytes(shard, margin) + shard->inflated.output.capacity + shard->index.output.capacity;

	for (uint64_t i = 0; i < shard->parts_used; i++)
		bytes += shard->arrival[i].index.output.capacity;
	return bytes;
}

static int reserved(struct shard *shard, int r, struct error *err)
{
	if (r < 0)
		return error_prefix(err, "%s", shard->plan.key);
	shard->stored = shard_memory(shard);
	return 0;
}

int shard_reserve(struct shard *shard, struct error *err)
{
	const uint64_t bytes = raw_bytes(shard, shard->group->margin);

	return reserved(shard, shard_is_shared(shard) ? 0 : buffer_grow(&shard->raw, 0, bytes, err), err);
}

int shard_try_reserve(struct shard *shard, struct error *err)
{
	const uint64_t bytes = raw_bytes(shard, shard->group->margin);

	return reserved(shard, shard_is_shared(shard) ? 0 : buffer_try(&shard->raw, 0, bytes, err), err);
}

void shard_expect_raw(struct shard *shard)
{
	if (!shard_is_shared(shard))
		buffer_expect(&shard->raw, raw_bytes(shard, shard->group->margin));
}

void shard_release(struct shard *shard)
{
	shard->stored = NULL;
	buffer_rest(&shard->raw);
}

struct buffer shard_swap_raw(struct shard *shard, struct buffer spare)
{
	shard->stored = NULL;
	if (!shard_is_shared(shard))
		return buffer_take(&shard->raw, spare);
	memcpy(spare.output.data, shard->slice, shard->plan.bytes);
	spare.output.capacity = shard->plan.bytes;
	return spare;
}

void shard_drop(struct shard *shard)
{
	buffer_drop(&shard->raw);
	buffer_drop(&shard->inflated);
	buffer_drop(&shard->index);
	for (uint64_t i = 0; i < shard->parts_used; i++)
		buffer_drop(&shard->arrival[i].index);
}

/* ---- Notes: relaxed, as each note is a figure that guards nothing else ---- */

void shard_leaves(struct shard *shard, enum stall_stage stage)
{
	atomic_store_explicit(&shard->left_us[stage], clock_us(), memory_order_relaxed);
}

void shard_forgets(struct shard *shard)
{
	for (int i = 0; i < STALL_STAGES; i++)
		atomic_store_explicit(&shard->left_us[i], 0, memory_order_relaxed);
}

void shard_notes_request(struct shard *shard, const struct http_times *times)
{
	/* Start of the newest attempt, where an earlier attempt failed; else 0. */
	const uint64_t retried_us = times->sent_us > times->first_us ? times->sent_us : 0;

	atomic_store_explicit(&shard->left_us[STALL_QUEUE], times->first_us, memory_order_relaxed);
	atomic_store_explicit(&shard->left_us[STALL_RETRY], retried_us, memory_order_relaxed);
	atomic_store_explicit(&shard->left_us[STALL_CONNECT], times->connected_us, memory_order_relaxed);
	atomic_store_explicit(&shard->left_us[STALL_FIRST_BYTE], times->answered_us, memory_order_relaxed);
}

enum stall_stage shard_stage(const struct shard *shard, bool has_cache)
{
	int stage = STALL_GATHER;

	while (stage > 0 && !atomic_load_explicit(&shard->left_us[stage - 1], memory_order_relaxed))
		stage--;
	if (stage == 0)
		return has_cache ? STALL_CACHE : STALL_QUEUE;
	return stage == STALL_RETRY ? STALL_CONNECT : (enum stall_stage)stage;
}
