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

/* ---- Shards in flight: `flying`, the network thread's, as store_cancel_all() returns no requests ---- */

/* Sends the shard to the workers, good or bad. */
static void hand_over(struct shard *shard)
{
	atomic_fetch_sub_explicit(&shard->network->bytes, shard->plan.bytes, memory_order_relaxed);
	work_add_shard(shard->source->fetch, shard);
}

/* The window of the shard is given up. The shard that is the reason keeps its own error. */
static void give_up_with_window(struct shard *shard)
{
	const char *reason = shard->group->given_up;

	if (shard->plan.key != reason)
		(void)error_set(&shard->err, -ECANCELED, "%s: given up, as %s failed", shard->plan.key,
				reason);
	hand_over(shard);
}

static void cancel_parts(struct shard *shard)
{
	for (uint64_t i = 0; i < shard->parts && shard->parts_left > 0; i++)
		shard->parts_left -= store_cancel(shard->network->store, &shard->part[i]);
}

/* Gives up the shards of windows that were given up: their requests would go on trying a store that is gone.
 */
static void give_up_windows(struct network *network, struct queue *flying)
{
	struct fetch *fetch = network->source->fetch;
	struct queue failed = { 0 }, others = { 0 };
	struct shard *shard;

	(void)pthread_mutex_lock(&fetch->lock);
	network->window_failed = false;
	while ((shard = queue_pop(flying)))
		queue_append(shard->group->given_up ? &failed : &others, shard);
	(void)pthread_mutex_unlock(&fetch->lock);
	*flying = others;
	while ((shard = queue_pop(&failed))) {
		cancel_parts(shard);
		give_up_with_window(shard);
	}
}

static void give_up_window(struct network *network, struct queue *flying, const struct shard *failed)
{
	struct fetch *fetch = network->source->fetch;

	(void)pthread_mutex_lock(&fetch->lock);
	sources_give_up_window(failed);
	(void)pthread_mutex_unlock(&fetch->lock);
	give_up_windows(network, flying);
}

/* Settles a part; after the last part the shard is handed over. */
static void part_done(struct network *network, struct queue *flying, struct store_request *part,
		      const struct error *err)
{
	struct shard *shard = part->context;

	shard->parts_left--;
	shard_notes_request(shard, &part->times);
	if (err && !shard->err.code)
		shard->err = *err;
	if (err && err->code != -EBADMSG && err->code != -ESTALE) {
		give_up_window(network, flying, shard);
		return;
	}
	if (shard->parts_left > 0)
		return;
	queue_remove(flying, shard);
	shard_leaves(shard, STALL_TRANSFER);
	hand_over(shard);
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

/* The threads of a source have about the same number of requests at once. */
static uint64_t at_once_of(const struct network *network)
{
	const struct sources *sources = network->source->fetch->sources;
	uint64_t at_once = store_counters_of(network->store).at_once * sources->threads;

	return at_once < sources->connections_max ? at_once : sources->connections_max;
}

static void ask_for(struct shard *shard, uint64_t part, uint64_t part_bytes)
{
	struct store_request *request = &shard->part[part];
	const uint64_t bytes = shard->plan.bytes;

	memset(request, 0, sizeof(*request));
	request->key = shard->plan.key;
	request->pin = &shard->pin;
	request->offset = part * part_bytes;
	request->bytes = bytes - request->offset < part_bytes ? bytes - request->offset : part_bytes;
	request->buffer = shard_memory(shard) + request->offset;
	request->context = shard;
	arrival_expect(shard, part, shard->source->fetch->sources->index_arrivals);
}

/* Submits all parts of a shard; the store decides how many of them are in flight. */
static void submit(struct network *network, struct queue *flying, struct shard *shard)
{
	const struct fetch *fetch = network->source->fetch;
	uint64_t bytes = shard->plan.bytes;
	uint64_t part_bytes = part_bytes_of(fetch, bytes, shard->group->shards, at_once_of(network));
	uint64_t parts = parts_of(bytes, part_bytes);
	struct error err = { 0 };

	if (shard->err.code || parts == 0) {
		hand_over(shard);
		return;
	}
	if (parts > shard->parts_max) { /* a changed object, larger than any object of the plan */
		part_bytes = (bytes + shard->parts_max - 1) / shard->parts_max;
		parts = parts_of(bytes, part_bytes);
	}
	queue_append(flying, shard);
	atomic_store(&fetch->sources->part_bytes, part_bytes);
	shard->parts = shard->parts_left = parts;
	shard->parts_used = parts > shard->parts_used ? parts : shard->parts_used;
	for (uint64_t i = 0; i < parts; i++) {
		ask_for(shard, i, part_bytes);
		if (store_submit(network->store, &shard->part[i], &err) < 0) {
			part_done(network, flying, &shard->part[i], &err);
			return;
		}
	}
}

static void give_up(struct shard *shard)
{
	(void)error_set(&shard->err, -ECANCELED, "%s: no longer wanted", shard->plan.key);
	hand_over(shard);
}

static void give_up_all(struct network *network, struct queue *flying)
{
	struct shard *shard;

	store_cancel_all(network->store);
	while ((shard = queue_pop(flying)))
		give_up(shard);
}

/* What to do next, copied from what the lock guards. */
struct orders {
	struct shard *shard; /* the next shard to fetch, or NULL */
	bool too_late;       /* its window is given up */
	bool discard;        /* give up all loads */
	bool window_failed;  /* give up the shards of windows that were given up */
};

static struct orders orders_of(struct network *network)
{
	struct fetch *fetch = network->source->fetch;
	struct orders orders;

	(void)pthread_mutex_lock(&fetch->lock);
	orders = (struct orders){ .shard = queue_pop(&network->to_fetch),
				  .discard = fetch->discard,
				  .window_failed = network->window_failed };
	orders.too_late = orders.shard && orders.shard->group->given_up;
	(void)pthread_mutex_unlock(&fetch->lock);
	return orders;
}

static void start_shards(struct network *network, struct queue *flying)
{
	struct orders orders;

	while ((void)(orders = orders_of(network)), orders.shard) {
		if (orders.discard)
			give_up(orders.shard);
		else if (orders.too_late)
			give_up_with_window(orders.shard);
		else
			submit(network, flying, orders.shard);
	}
	if (orders.discard)
		give_up_all(network, flying);
	else if (orders.window_failed)
		give_up_windows(network, flying);
}

/* ---- What the store counted ---- */

/* Publishes the counters; logs those of all threads when nothing is in flight here, which is about once per
 * window. */
static void report(struct network *network, bool idle)
{
	struct source *source = network->source;
	const struct store_counters mine = store_counters_of(network->store);
	struct store_counters all, last;
	char text[STORE_COUNTERS_TEXT];

	(void)pthread_mutex_lock(&source->fetch->lock);
	network->counters = mine;
	all = source_counters(source);
	last = source->said;
	if (idle)
		source->said = all;
	(void)pthread_mutex_unlock(&source->fetch->lock);
	if (!idle)
		return;
	(void)store_counters_text(&all, text);
	if (store_counters_retries(&all) != store_counters_retries(&last))
		event_send(&(struct event){ .id = EVENT_SOURCE_RETRIED,
					    .run_id = source->fetch->run.id,
					    .url = source->url,
					    .retries = store_counters_retries(&all) },
			   "%s: %s", source->url, text);
	else
		log_line(all.hedged > last.hedged ? LOG_INFO : LOG_DEBUG, "%s: %s", source->url, text);
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
	struct network *network = argument;
	struct queue flying = { 0 };
	struct alive_worker *worker = alive_worker("the network thread");

	cores_pin(&network->source->fetch->cores.network);
	for (;; alive_tick(worker)) {
		struct store_request *done = NULL;
		struct error err = { 0 };

		start_shards(network, &flying);
		if (store_poll(network->store, POLL_MS, &done, &err) < 0) {
			(void)error_prefix(&err, "network");
			_exit(alive_fatal(STATUS_FETCHD, &err));
		}
		if (!done) {
			note_slow(&flying);
			report(network, false);
			continue;
		}
		part_done(network, &flying, done, done->result < 0 ? &done->err : NULL);
		report(network, !flying.first);
	}
	return NULL;
}
