/* SPDX-License-Identifier: Apache-2.0 */
#include "fetchd/windows/shared.h"

#define PLACE_BYTES UINT64_C(64) /* a place begins at a multiple of it: a line of the processor's cache */

uint64_t shared_place(uint64_t bytes)
{
	if (bytes == 0 || bytes > SHARED_OBJECT_MAX)
		return 0;
	return (bytes + PLACE_BYTES - 1) / PLACE_BYTES * PLACE_BYTES;
}

void shared_begin(struct fetch *fetch, struct window *window)
{
	buffer_init(&window->shared, &fetch->budget);
	if (fetch->windows->shared_most > 0)
		buffer_expect(&window->shared, fetch->windows->shared_most);
}

static uint64_t places_of(const struct window *window)
{
	uint64_t bytes = 0;

	for (uint64_t k = 0; k < window->group.shards; k++)
		bytes += window->shard[k].slice_bytes;
	return bytes;
}

uint64_t shared_bytes(const struct window *window)
{
	const uint64_t bytes = places_of(window), held = window->shared.output.capacity;

	return bytes > held ? bytes : held;
}

int shared_divide(struct window *window, struct error *err)
{
	const uint64_t bytes = places_of(window);
	const int r = bytes ? buffer_try(&window->shared, 0, bytes, err) : 0;
	uint64_t at = 0;

	for (uint64_t k = 0; k < window->group.shards; k++) {
		struct shard *shard = &window->shard[k];

		if (buffer_lacks_disk(r))
			shard->slice_bytes = 0;
		else if (shard->slice_bytes > 0)
			shard->slice = window->shared.output.data + at;
		at += shard->slice_bytes;
	}
	return buffer_lacks_disk(r) ? 0 : r;
}
