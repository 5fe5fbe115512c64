/* SPDX-License-Identifier: Apache-2.0 */
#include "fetchd/setup.h"

#include "core/base/events.h"
#include "core/base/log.h"
#include "core/base/paths.h"
#include "data/batch.h"
#include "drivers/gpu/place.h"
#include "drivers/hugepage/hugepage.h"
#include "fetchd/cache/shard_cache.h"
#include "fetchd/prefetch/prefetch.h"
#include "fetchd/produce/fill.h"
#include "fetchd/shard/arrive.h"
#include "fetchd/shard/network.h"
#include "fetchd/shard/work.h"
#include "fetchd/windows/shared.h"
#include "fetchd/windows/stream.h"
#include "fetchd/workers/worker.h"

#include <inttypes.h>
#include <string.h>

/* A trainer leaves the ring of another run when it has opened its device, for which it may compile kernels.
 * Less than the unit's TimeoutStartSec=. */
#define RETIRE_WAIT_MS    60000u
#define CONNECTIONS_FIRST 8u /* until the store has measured whether more are faster */
/* The same for objects: a request for a small one is a wait for the server and hardly a transfer. */
#define CONNECTIONS_FIRST_OBJECTS 64u

/* The state of the modules, once per process. */
static struct sources sources;
static struct work work;
static struct windows windows;
static struct streams streams;

/* ---- Memory ---- */

static int by_size_descending(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x < *y ? 1 : *x > *y ? -1 : 0;
}

/* `size` is in descending order. */
static void note_extent(struct extent *extent, const uint64_t *size, uint64_t shards)
{
	extent->shards += shards;
	for (uint64_t i = 0; i < shards; i++)
		extent->bytes += size[i];
	if (shards > 0 && size[0] > extent->largest)
		extent->largest = size[0];
}

/* Notes the bytes that the small objects of a window take at most. `size` is in descending order. */
static void note_shared(struct windows *all, const uint64_t *size, uint64_t shards, uint64_t count)
{
	uint64_t bytes = 0, small = 0;

	for (uint64_t i = 0; i < shards && small < count; i++) {
		bytes += shared_place(size[i]);
		small += shared_place(size[i]) > 0;
	}
	all->shared_most = bytes > all->shared_most ? bytes : all->shared_most;
}

/* Computes the upper bound of the stored bytes of any window of a split: the sum of the split's largest
 * shards, as any shards may share a window. No sum of sizes overflows: PLAN_BYTES_MAX. */
static int largest_window(struct fetch *fetch, uint32_t source, enum split split, uint64_t *ret_bytes,
			  struct error *err)
{
	const struct plan *plan = fetch->plan;
	uint64_t shards = plan_source_shards(plan, source, split), count = fetch->settings->window_shards;
	CLEANUP(free_ptr) uint64_t *size = calloc(shards ? shards : 1, sizeof(*size));

	*ret_bytes = 0;
	if (!size)
		return error_set(err, -ENOMEM, "no memory for %" PRIu64 " sizes", shards);
	for (uint64_t i = 0; i < shards; i++)
		size[i] = plan_shard(plan, source, split, i).bytes;
	qsort(size, shards, sizeof(*size), by_size_descending);
	note_extent(&fetch->extent, size, shards);
	for (uint64_t i = 0; i < shards && i < count; i++)
		*ret_bytes += size[i];
	if (fetch->objects)
		note_shared(fetch->windows, size, shards, count);
	return 0;
}

/* Refuses a budget that the largest possible window exceeds: a night must not end at the first window that
 * large shards happen to share. */
static int check_memory(struct fetch *fetch, struct error *err)
{
	uint64_t bytes, worst = 0, max = fetch->run.config.fetch.memory_bytes;
	const struct plan_settings *settings = fetch->settings;

	fetch->window_max = max;
	for (uint32_t source = 0; source < settings->sources; source++)
		for (int split = 0; split < SPLIT_MAX; split++) {
			int r = largest_window(fetch, source, (enum split)split, &bytes, err);

			if (r < 0)
				return r;
			worst = bytes > worst ? bytes : worst;
		}
	if (worst > max)
		return error_set(err, -EINVAL,
				 "fetch.memory_bytes: found %" PRIu64 ", a window of %" PRIu64
				 " shards takes up to %" PRIu64
				 " as stored: raise it, or lower order.window_shards",
				 max, settings->window_shards, worst);
	/* Not less than a window takes as stored: that would lie on disk. */
	fetch->budget.max = max / fetch->beside > worst ? max / fetch->beside : worst;
	/* Objects are not inflated: what the largest window takes is known. */
	if (fetch->objects)
		fetch->windows->largest_bytes = worst;
	log_info("windows: %u of %" PRIu64 " shards, each up to %" PRIu64
		 " bytes as stored; with what they inflate to, %" PRIu64
		 " of memory; what does not fit lies on disk",
		 2 * fetch->streams->count, settings->window_shards, worst, fetch->budget.max);
	return 0;
}

/* ---- Ring ---- */

static void note_normal_pages(const struct fetch *fetch, const struct error *why)
{
	event_send(&(struct event){ .id = EVENT_HUGEPAGES_SHORT, .run_id = fetch->run.id },
		   "normal pages for the ring: %s", why->text);
}

/* Another program can take the free hugepages before ring_create() does, where it is none of ours: then the
 * ring gets normal pages, where the configuration allows them. */
static int make_ring(struct fetch *fetch, const struct ring_geometry *geometry, struct error *err)
{
	const bool small_allowed = fetch->run.config.ring.small_pages;
	CLEANUP(close_fd) int lock = -1;
	char folder[PATH_BYTES], path[PATH_BYTES];
	struct error why;
	bool huge;
	int r;

	path_of(PATH_RING, NULL, path);
	r = hugepage_prepare(path_of(PATH_HUGE, NULL, folder), ring_file_bytes(geometry),
			     ring_held_bytes(path), small_allowed, &huge, &lock, err);
	if (r < 0)
		return r;
	if (!huge)
		note_normal_pages(fetch, err);
	r = ring_create(path, geometry, RETIRE_WAIT_MS, &fetch->ring, err);
	close_fd(&lock);
	lock = -1;
	if (r != -ENOMEM || !huge || !small_allowed)
		return r;
	why = *err;
	if ((r = hugepage_release(folder, err)) < 0)
		return r;
	note_normal_pages(fetch, &why);
	return ring_create(path, geometry, RETIRE_WAIT_MS, &fetch->ring, err);
}

static int open_ring(struct fetch *fetch, struct error *err)
{
	const struct gpu_wish wish = gpu_wish_of(&fetch->run.config);
	const int node = gpu_ring_node("", &wish, &fetch->cores.network);
	struct ring_geometry geometry;
	int r;

	batch_geometry(&fetch->run.config, &fetch->schema, fetch->part.own * fetch->part.lane_rows,
		       &geometry);
	hugepage_prefer_node(node); /* of any size: the pages that ring_create() reserves */
	r = make_ring(fetch, &geometry, err);
	hugepage_prefer_node(-1);
	if (r == 0)
		log_info("ring: %u slots of %" PRIu64 " bytes on %s, of node %d where it has any",
			 geometry.slots, ring_slot_bytes(fetch->ring),
			 ring_pages_of(fetch->ring) == RING_HUGE_PAGES ? "hugepages" : "normal pages", node);
	return r;
}

/* ---- Store and threads ---- */

/* The share of the n-th of `threads` threads; all shares together are `all`. */
static uint64_t share_of(uint64_t all, uint32_t threads, uint32_t nth)
{
	return all / threads + (nth < all % threads);
}

static uint64_t at_least_1(uint64_t number)
{
	return number ? number : 1;
}

/* Opens a store for each thread of a source. `all` is what the threads share; a target of 0 is none. */
static int open_source(struct fetch *fetch, const struct store_options *all, uint32_t which,
		       struct error *err)
{
	const struct config_store *where = &fetch->run.config.source[which].store;
	struct source *source = &fetch->sources->source[which];
	const uint32_t threads = fetch->sources->threads;
	int r = 0;

	source->fetch = fetch;
	source->url = where->url;
	for (uint32_t i = 0; i < threads && r == 0; i++) {
		struct store_options options = *all;

		options.connections_max = (uint32_t)share_of(all->connections_max, threads, i);
		options.connections = (uint32_t)at_least_1(share_of(all->connections, threads, i));
		options.requests = (uint32_t)at_least_1(share_of(all->requests, threads, i));
		if (all->target_bytes_per_s)
			options.target_bytes_per_s =
				at_least_1(share_of(all->target_bytes_per_s, threads, i));
		source->network[i].source = source;
		r = store_open(where, &options, &source->network[i].store, err);
	}
	return r;
}

static int open_stores(struct fetch *fetch, struct error *err)
{
	const struct config *config = &fetch->run.config;
	struct store_options options = store_options_of(config);
	int r = 0;

	fetch->sources->count = config->sources;
	fetch->sources->threads = fetch->threads.count;
	options.connections_max = (uint32_t)config_source_connections(config);
	options.connections = fetch->objects ? CONNECTIONS_FIRST_OBJECTS : CONNECTIONS_FIRST;
	if (options.connections > options.connections_max)
		options.connections = options.connections_max;
	fetch->sources->connections_max = options.connections_max;
	options.target_bytes_per_s = config->fetch.target_bytes_per_s;
	options.patience_ms = PATIENCE_MS;
	options.requests =
		network_requests(fetch, (uint64_t)fetch->streams->count / config->sources * (1 + AHEAD_MAX));
	options.hedge_percent = (uint32_t)config->fetch.hedge_percent;
	options.hedge_bytes = config_fetch_part_bytes(config);
	for (uint32_t i = 0; i < config->sources && r == 0; i++)
		r = open_source(fetch, &options, i, err);
	return r;
}

int fetch_setup(struct fetch *fetch, struct error *err)
{
	const struct plan_settings *settings = plan_settings_of(fetch->plan);
	uint32_t lanes = settings->lanes;
	int r = batch_schema(&fetch->run.config, &fetch->schema, err);

	if (fetch->world > lanes)
		return error_set(err, -EINVAL,
				 "--world: found %u, order.lanes is %u: each rank needs at least one lane",
				 fetch->world, lanes);
	if (settings->batch_rows % lanes != 0)
		return error_set(
			err, -EINVAL,
			"order.lanes: found %u, allowed: a number that divides run.batch_rows, %" PRIu64,
			lanes, settings->batch_rows);
	fetch->settings = settings;
	fetch->part = order_part(lanes, fetch->world, fetch->rank, settings->batch_rows);
	fetch->threads = nic_threads_of(&fetch->run.config, &fetch->cores);
	fetch->sources = &sources;
	fetch->work = &work;
	fetch->windows = &windows;
	fetch->streams = &streams;
	work_init(&work);
	fetch->span_rows = batch_has_pictures(&fetch->schema) ? PICTURE_SPAN_ROWS : UINT32_MAX;
	fetch->fast = settings->mode == ORDER_FAST;
	fetch->objects = plan_is_of_objects(fetch->plan);
	/* plan_open() has parsed the filter: false means that there is none. */
	fetch->filtered = filter_parse(settings->filter, &fetch->filter);
	streams_make(fetch);
	if (r == 0)
		r = check_memory(fetch, err);
	if (r == 0)
		r = open_ring(fetch, err);
	if (r == 0)
		r = open_stores(fetch, err);
	if (r == 0)
		shard_cache_begin(fetch);
	return r;
}

static void say_threads(const struct fetch *fetch, uint64_t workers)
{
	char network[256], decode[256];

	cores_text(&fetch->cores.network, network, sizeof(network));
	cores_text(&fetch->cores.decode, decode, sizeof(decode));
	log_info("network threads for each source: %u, %s; on cores %s (%s%s), %" PRIu64
		 " decode workers on cores %s",
		 fetch->threads.count, fetch->threads.why, network,
		 *fetch->cores.nic ? fetch->cores.nic : "no default route",
		 fetch->cores.known ? "" : ", no core is known to be near it: all cores", workers, decode);
}

/* Starts the decode workers, and then the threads of all sources. */
static int start_threads(struct fetch *fetch, uint64_t workers, struct error *err)
{
	struct sources *all = fetch->sources;
	const uint64_t threads = workers + (uint64_t)all->count * all->threads;
	pthread_t thread;

	for (uint64_t i = 0; i < threads; i++) {
		const uint64_t n = i - workers;
		int r = i < workers
				? pthread_create(&thread, NULL, worker_thread, fetch)
				: pthread_create(&thread, NULL, network_thread,
						 &all->source[n / all->threads].network[n % all->threads]);

		if (r != 0)
			return error_set(err, -EAGAIN, "cannot start thread %" PRIu64 " of %" PRIu64, i + 1,
					 threads);
	}
	return 0;
}

int fetch_start_threads(struct fetch *fetch, struct error *err)
{
	uint64_t workers = fetch->run.config.fetch.decode_workers;
	int r;

	if (workers == 0)
		workers = (uint64_t)CPU_COUNT(&fetch->cores.decode);
	fetch->work->workers = fetch->work->workers_max = (uint32_t)workers;
	fetch->sources->index_arrivals =
		!fetch->objects && arrival_pays(fetch->work->workers_max, fetch->filtered);
	r = start_threads(fetch, workers, err);
	if (r < 0)
		return r;
	say_threads(fetch, workers);
	r = shard_cache_start(fetch, err);
	return r < 0 ? r : prefetch_start(fetch, err);
}
