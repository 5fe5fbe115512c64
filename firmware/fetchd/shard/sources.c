/* SPDX-License-Identifier: Apache-2.0 */
#include "fetchd/shard/sources.h"

/* relaxed: the number only says which thread has less to do. */
static uint64_t bytes_of(const struct network *network)
{
	return atomic_load_explicit(&network->bytes, memory_order_relaxed);
}

static struct network *least_busy(struct source *source)
{
	struct network *least = &source->network[0];

	for (uint32_t i = 1; i < source->fetch->sources->threads; i++)
		if (bytes_of(&source->network[i]) < bytes_of(least))
			least = &source->network[i];
	return least;
}

void sources_fetch(struct shard *shard)
{
	struct network *network = least_busy(shard->source);

	shard->network = network;
	atomic_fetch_add_explicit(&network->bytes, shard->plan.bytes, memory_order_relaxed);
	queue_append(&network->to_fetch, shard);
	store_wake(network->store);
}

void sources_wake(const struct sources *sources)
{
	for (uint32_t i = 0; i < sources->count; i++)
		for (uint32_t k = 0; k < sources->threads; k++)
			store_wake(sources->source[i].network[k].store);
}

void sources_give_up_window(const struct shard *failed)
{
	struct source *source = failed->source;

	if (!failed->group->given_up)
		failed->group->given_up = failed->plan.key;
	for (uint32_t i = 0; i < source->fetch->sources->threads; i++) {
		source->network[i].window_failed = true;
		if (&source->network[i] != failed->network)
			store_wake(source->network[i].store);
	}
}

struct store_counters source_counters(const struct source *source)
{
	struct store_counters sum = { 0 };

	for (uint32_t i = 0; i < source->fetch->sources->threads; i++)
		store_counters_add(&sum, &source->network[i].counters);
	return sum;
}
