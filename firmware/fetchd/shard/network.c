/* SPDX-License-Identifier: Apache-2.0 */
#include "fetchd/shard/network.h"

#include "core/base/events.h"
#include "core/base/log.h"
#include "drivers/notify/alive.h"
#include "fetchd/shard/arrive.h"
#include "fetchd/shard/work.h"

#include <inttypes.h>
#include <string.h>

#define POLL_MS           1000
#define CONNECTIONS_LEAST 8u /* connections that a store starts with */
#define CONNECTION_PARTS  2u
#define PART_LEAST_BYTES  (UINT64_C(1) << 20)
#define REQUESTS_MAX      4096u /* reserved at the start: 200 MB of addresses */

void network_fetch(struct shard *shard)
{
	queue_append(&shard->source->to_fetch, shard);
	store_wake(shard->source->store);
}

/* ---- Shards in flight: `flying`, the network thread's, as store_cancel_all() returns no requests ---- */

static void give_up_parts(struct shard *shard, const struct shard *failed)
{
	if (shard != failed)
		(void)error_set(&shard->err, -ECANCELED, "%s: given up, as %s failed", shard->plan.key,
				failed->plan.key);
	for (uint64_t i = 0; i < shard->parts && shard->parts_left > 0; i++)
		shard->parts_left -= store_cancel(shard->source->store, &shard->part[i]);
}

/* Gives up all shards of the failed shard's window: their requests would go on trying a store that is gone.
 */
static void give_up_window(struct queue *flying, const struct shard *failed)
{
	struct queue others = { 0 };
	struct shard *shard;

	while ((shard = queue_pop(flying))) {
		if (shard->group != failed->group) {
			queue_append(&others, shard);
			continue;
		}
		give_up_parts(shard, failed);
		work_add_shard(shard->source->fetch, shard);
	}
	*flying = others;
}

/* Settles a part; the last part sends the shard to the workers, good or bad. */
static void part_done(struct queue *flying, struct store_request *part, const struct error *err)
{
	struct shard *shard = part->context;

	shard->parts_left--;
	shard_notes_request(shard, &part->times);
	if (err && !shard->err.code)
		shard->err = *err;
	if (err && err->code != -EBADMSG && err->code != -ESTALE) {
		give_up_window(flying, shard);
		return;
	}
	if (shard->parts_left > 0)
		return;
	queue_remove(flying, shard);
	shard_leaves(shard, STALL_TRANSFER);
	work_add_shard(shard->source->fetch, shard);
}

/* Returns the size of a part: network.h says why. */
static uint64_t part_bytes_of(const struct fetch *fetch, uint64_t shard_bytes, uint64_t shards,
			      uint64_t at_once)
{
	const struct config *config = &fetch->run.config;
	uint64_t most = config_fetch_part_bytes(config), even;

	if (config->fetch.part_bytes || __builtin_mul_overflow(shard_bytes, shards, &even))
		return most;
	at_once = at_once < CONNECTIONS_LEAST ? CONNECTIONS_LEAST : at_once;
	even /= at_once * CONNECTION_PARTS;
	even = even < PART_LEAST_BYTES ? PART_LEAST_BYTES : even;
	return even < most ? even : most;
}

static uint64_t parts_of(uint64_t bytes, uint64_t part_bytes)
{
	return bytes / part_bytes + (bytes % part_bytes != 0);
}

/* The largest shard, alone in its window, with every connection in use; one more for the last, smaller part.
 */
uint64_t network_parts_max(const struct fetch *fetch)
{
	uint64_t bytes = fetch->extent.largest;

	return 1 + parts_of(bytes, part_bytes_of(fetch, bytes, 1, fetch->sources->connections_max));
}

uint32_t network_requests(const struct fetch *fetch, uint64_t windows)
{
	uint64_t part_bytes = fetch->run.config.fetch.part_bytes, shards,
		 cut = fetch->budget.max / (part_bytes ? part_bytes : PART_LEAST_BYTES);

	if (__builtin_mul_overflow(fetch->settings->window_shards, windows, &shards) ||
	    shards > 2 * fetch->extent.shards)
		shards = 2 * fetch->extent.shards;
	return shards + cut < REQUESTS_MAX ? (uint32_t)(shards + cut) : REQUESTS_MAX;
}

/* Submits all parts of a shard; the store decides how many of them are in flight. */
static void submit(struct source *source, struct queue *flying, struct shard *shard)
{
	uint64_t bytes = shard->plan.bytes;
	uint64_t part_bytes = part_bytes_of(source->fetch, bytes, shard->group->shards,
					    store_counters_of(source->store).at_once);
	uint64_t parts = parts_of(bytes, part_bytes);
	struct error err = { 0 };

	if (shard->err.code || parts == 0) {
		work_add_shard(shard->source->fetch, shard);
		return;
	}
	if (parts > shard->parts_max) { /* a changed object, larger than any object of the plan */
		part_bytes = (bytes + shard->parts_max - 1) / shard->parts_max;
		parts = parts_of(bytes, part_bytes);
	}
	queue_append(flying, shard);
	atomic_store(&source->fetch->sources->part_bytes, part_bytes);
	shard->parts = shard->parts_left = parts;
	shard->parts_used = parts > shard->parts_used ? parts : shard->parts_used;
	for (uint64_t i = 0; i < parts; i++) {
		struct store_request *request = &shard->part[i];

		memset(request, 0, sizeof(*request));
		request->key = shard->plan.key;
		request->pin = &shard->pin;
		request->offset = i * part_bytes;
		request->bytes = bytes - request->offset < part_bytes ? bytes - request->offset : part_bytes;
		request->buffer = shard->raw.output.data + request->offset;
		request->context = shard;
		arrival_expect(shard, i, source->fetch->sources->index_arrivals);
		if (store_submit(source->store, request, &err) < 0) {
			part_done(flying, request, &err);
			return;
		}
	}
}

static void give_up(struct shard *shard)
{
	(void)error_set(&shard->err, -ECANCELED, "%s: no longer wanted", shard->plan.key);
	work_add_shard(shard->source->fetch, shard);
}

static void give_up_all(struct source *source, struct queue *flying)
{
	struct shard *shard;

	store_cancel_all(source->store);
	while ((shard = queue_pop(flying)))
		give_up(shard);
}

/* Pops the next shard to fetch, or NULL. Returns whether all loads are to be given up. */
static bool pop_shard(struct source *source, struct shard **ret_shard)
{
	struct fetch *fetch = source->fetch;
	bool discard;

	(void)pthread_mutex_lock(&fetch->lock);
	discard = fetch->discard;
	*ret_shard = queue_pop(&source->to_fetch);
	(void)pthread_mutex_unlock(&fetch->lock);
	return discard;
}

static void start_shards(struct source *source, struct queue *flying)
{
	struct shard *shard;
	bool discard;

	while ((void)(discard = pop_shard(source, &shard)), shard) {
		if (discard)
			give_up(shard);
		else
			submit(source, flying, shard);
	}
	if (discard)
		give_up_all(source, flying);
}

/* ---- What the store counted ---- */

/* Publishes the counters; logs them when nothing is in flight, which is about once per window. */
static void report(struct source *source, bool idle, struct store_counters *last)
{
	struct store_counters counters = store_counters_of(source->store);
	bool retried = store_counters_retries(&counters) != store_counters_retries(last);
	char text[STORE_COUNTERS_TEXT];

	atomic_store(&source->bytes_in, counters.bytes_in);
	atomic_store(&source->retries, store_counters_retries(&counters));
	atomic_store(&source->at_once, counters.at_once);
	atomic_store(&source->hedged, counters.hedged);
	atomic_store(&source->hedges_won, counters.hedges_won);
	atomic_store(&source->pace, counters.pace);
	if (!idle)
		return;
	(void)store_counters_text(&counters, text);
	if (retried)
		event_send(&(struct event){ .id = EVENT_SOURCE_RETRIED,
					    .run_id = source->fetch->run.id,
					    .url = store_url(source->store),
					    .retries = store_counters_retries(&counters) },
			   "%s: %s", store_url(source->store), text);
	else
		log_line(counters.hedged > last->hedged ? LOG_INFO : LOG_DEBUG, "%s: %s",
			 store_url(source->store), text);
	*last = counters;
}

/* Notes how far each shard's first unfinished part is, for the status page and the account of waits. */
static void note_slow(const struct queue *flying)
{
	for (struct shard *shard = flying->first; shard; shard = shard->next)
		for (uint64_t i = 0; i < shard->parts; i++)
			if (shard->part[i].context == shard && store_is_in_flight(&shard->part[i])) {
				shard_notes_request(shard, &shard->part[i].times);
				break;
			}
}

void *network_thread(void *argument)
{
	struct source *source = argument;
	struct queue flying = { 0 };
	struct store_counters last = { 0 };
	struct alive_worker *worker = alive_worker("the network thread");

	cores_pin(&source->fetch->cores.network);
	for (;; alive_tick(worker)) {
		struct store_request *done = NULL;
		struct error err = { 0 };

		start_shards(source, &flying);
		if (store_poll(source->store, POLL_MS, &done, &err) < 0) {
			(void)error_prefix(&err, "network");
			_exit(alive_fatal(STATUS_FETCHD, &err));
		}
		if (!done) {
			note_slow(&flying);
			report(source, false, &last);
			continue;
		}
		part_done(&flying, done, done->result < 0 ? &done->err : NULL);
		report(source, !flying.first, &last);
	}
	return NULL;
}
