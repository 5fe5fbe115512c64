/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/events.h"
#include "core/base/log.h"
#include "drivers/notify/alive.h"
#include "fetchd/fetch.h"

#include <inttypes.h>
#include <string.h>

#define POLL_MS           1000
#define CONNECTIONS_LEAST 8u /* what a store begins with */
#define CONNECTION_PARTS  2u
#define PART_LEAST_BYTES  (UINT64_C(1) << 20)
#define REQUESTS_MAX      4096u /* that have room before they come: 200 MB of addresses */

void queue_append(struct queue *queue, struct shard *shard)
{
	shard->next = NULL;
	if (queue->last)
		queue->last->next = shard;
	else
		queue->first = shard;
	queue->last = shard;
}

struct shard *queue_take(struct queue *queue)
{
	struct shard *shard = queue->first;

	if (!shard)
		return NULL;
	queue->first = shard->next;
	if (!queue->first)
		queue->last = NULL;
	return shard;
}

void network_fetch(struct shard *shard)
{
	queue_append(&shard->source->to_fetch, shard);
	store_wake(shard->source->store);
}

void network_done(struct shard *shard)
{
	struct fetch *fetch = shard->source->fetch;

	(void)pthread_mutex_lock(&fetch->lock);
	queue_append(&fetch->to_decode, shard);
	(void)pthread_cond_signal(&fetch->work);
	(void)pthread_mutex_unlock(&fetch->lock);
}

/* ---- Shards in flight: what store_cancel_all() does not give back ---- */

/* They end about in the order in which they began: the one looked for stands near the front. */
static void queue_remove(struct queue *queue, struct shard *shard)
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

static void give_up_parts(struct shard *shard, const struct shard *failed)
{
	if (shard != failed)
		(void)error_set(&shard->err, -ECANCELED, "%s: given up, as %s failed", shard->plan.key,
				failed->plan.key);
	for (uint64_t i = 0; i < shard->parts && shard->parts_left > 0; i++)
		shard->parts_left -= store_cancel(shard->source->store, &shard->part[i]);
}

/* Nothing else of its window is of use: all of it would go on asking a store that is gone. */
static void give_up_window(struct queue *flying, const struct shard *failed)
{
	struct queue others = { 0 };
	struct shard *shard;

	while ((shard = queue_take(flying))) {
		if (shard->window != failed->window) {
			queue_append(&others, shard);
			continue;
		}
		give_up_parts(shard, failed);
		network_done(shard);
	}
	*flying = others;
}

/* One of its parts is settled; the last sends the shard on. An answer that made no sense, or another object,
 * is for the decoders to judge, as damage is: they may fetch the shard once more. */
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
	network_done(shard);
}

/* Large ones cost less, but every connection that the store bears is to have a few of a window's. */
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

/* As many as the largest has when it is alone in its window and every connection is in use; one more, where
 * ranges do not come out even. */
int network_reserve(const struct fetch *fetch, struct shard *shard, struct error *err)
{
	uint64_t bytes = fetch->extent.largest;
	uint64_t parts = 1 + parts_of(bytes, part_bytes_of(fetch, bytes, 1, fetch->connections_max));

	shard->part = calloc(parts, sizeof(*shard->part));
	shard->arrival = calloc(parts, sizeof(*shard->arrival));
	if (!shard->part || !shard->arrival)
		return error_set(err, -ENOMEM, "no memory for %" PRIu64 " requests a shard", parts);
	shard->parts_max = parts;
	return 0;
}

uint32_t network_requests(const struct fetch *fetch)
{
	uint64_t part_bytes = fetch->run.config.fetch.part_bytes, shards,
		 streams = fetch->streams / fetch->sources,
		 cut = fetch->budget.max / (part_bytes ? part_bytes : PART_LEAST_BYTES);

	if (__builtin_mul_overflow(plan_settings_of(fetch->plan)->window_shards, streams * (1 + AHEAD_MAX),
				   &shards) ||
	    shards > 2 * fetch->extent.shards)
		shards = 2 * fetch->extent.shards;
	return shards + cut < REQUESTS_MAX ? (uint32_t)(shards + cut) : REQUESTS_MAX;
}

/* Every range of a shard at once; the store keeps as many in flight as it has connections. */
static void submit(struct source *source, struct queue *flying, struct shard *shard)
{
	uint64_t bytes = shard->plan.bytes;
	uint64_t part_bytes = part_bytes_of(source->fetch, bytes, shard->window->shards,
					    store_counters_of(source->store).at_once);
	uint64_t parts = parts_of(bytes, part_bytes);
	struct error err = { 0 };

	if (shard->err.code || parts == 0) {
		network_done(shard);
		return;
	}
	if (parts > shard->parts_max) { /* larger than the plan's largest: it took another's place */
		part_bytes = (bytes + shard->parts_max - 1) / shard->parts_max;
		parts = parts_of(bytes, part_bytes);
	}
	queue_append(flying, shard);
	atomic_store(&source->fetch->part_bytes, part_bytes);
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
		arrival_expect(shard, i);
		if (store_submit(source->store, request, &err) < 0) {
			part_done(flying, request, &err);
			return;
		}
	}
}

static void give_up(struct shard *shard)
{
	(void)error_set(&shard->err, -ECANCELED, "%s: no longer wanted", shard->plan.key);
	network_done(shard);
}

static void give_up_all(struct source *source, struct queue *flying)
{
	struct shard *shard;

	store_cancel_all(source->store);
	while ((shard = queue_take(flying)))
		give_up(shard);
}

/* The next shard to fetch, or NULL, and whether everything is to be given up. */
static bool next_order(struct source *source, struct shard **ret_shard)
{
	struct fetch *fetch = source->fetch;
	bool discard;

	(void)pthread_mutex_lock(&fetch->lock);
	discard = fetch->discard;
	*ret_shard = queue_take(&source->to_fetch);
	(void)pthread_mutex_unlock(&fetch->lock);
	return discard;
}

static void take_orders(struct source *source, struct queue *flying)
{
	struct shard *shard;
	bool discard;

	while ((void)(discard = next_order(source, &shard)), shard) {
		if (discard)
			give_up(shard);
		else
			submit(source, flying, shard);
	}
	if (discard)
		give_up_all(source, flying);
}

/* ---- What the store counted ---- */

/* Logged when nothing is in flight any more, so about once a window. */
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

/* For those who ask while it lasts: how far each shard's first unfinished range is. */
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

	nic_pin(&source->fetch->cores.network);
	for (;; alive_tick(worker)) {
		struct store_request *done = NULL;
		struct error err = { 0 };

		take_orders(source, &flying);
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
