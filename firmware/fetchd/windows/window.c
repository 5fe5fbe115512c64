/* SPDX-License-Identifier: Apache-2.0 */
#include "fetchd/windows/window.h"

#include "data/order.h"
#include "fetchd/cache/shard_cache.h"
#include "fetchd/cache/shard_object.h"
#include "fetchd/shard/network.h"
#include "fetchd/windows/shared.h"

#include <inttypes.h>
#include <sysexits.h>

/* ---- Which shards ---- */

/* Shard k of a window. Training takes the shards in the pass's order, evaluations in key order. */
static struct plan_shard shard_at(const struct fetch *fetch, const struct window *window, uint64_t k)
{
	const struct plan_settings *settings = fetch->settings;
	uint64_t position =
		order_position(settings->lanes, window->lane, settings->window_shards, window->id.window, k);

	if (window->id.split == SPLIT_TRAIN)
		position =
			order_shard(settings->seed, window->source, window->id.pass,
				    plan_source_shards(fetch->plan, window->source, SPLIT_TRAIN), position);
	return plan_shard(fetch->plan, window->source, window->id.split, position);
}

/* Returns the number of shards of a window; the last window of a pass may have fewer than the others. */
static uint64_t shards_of(const struct fetch *fetch, const struct window *window)
{
	const struct plan_settings *settings = fetch->settings;
	uint64_t shards = plan_source_shards(fetch->plan, window->source, window->id.split);
	uint64_t left = order_lane_shards(shards, settings->lanes, window->lane) -
			window->id.window * settings->window_shards;

	return left < settings->window_shards ? left : settings->window_shards;
}

/* ---- Memory ---- */

/* Allocates the arrays of a window, once: for the largest window that there may be. */
static int allocate(struct fetch *fetch, struct window *window, struct error *err)
{
	uint64_t shards = fetch->settings->window_shards, parts;

	if (window->shard)
		return 0;
	parts = network_parts_max(fetch);
	window->first = calloc(shards, sizeof(*window->first));
	window->arrival_order = calloc(shards, sizeof(*window->arrival_order));
	window->shard = calloc(shards, sizeof(*window->shard));
	if (!window->shard || !window->first || !window->arrival_order)
		return error_set(err, -ENOMEM, "no memory for %" PRIu64 " shards", shards);
	for (uint64_t k = 0; k < shards; k++) {
		int r = shard_init(&window->shard[k], &fetch->budget, parts, err);

		if (r < 0)
			return r;
		window->shard[k].window = window;
		window->shard[k].group = &window->group;
	}
	shared_begin(fetch, window);
	return 0;
}

int window_expect(struct fetch *fetch, struct window *window, const struct window *like, struct error *err)
{
	struct shard_sizes sizes = { 0 };
	int r = allocate(fetch, window, err);

	for (uint64_t k = 0; k < like->group.shards; k++)
		shard_measure(&like->shard[k], &sizes);
	for (uint64_t k = 0; r == 0 && k < fetch->settings->window_shards; k++)
		shard_expect(&window->shard[k], &sizes);
	return r;
}

/* Returns the bytes on the account once the stored bytes of every shard have a buffer. */
static uint64_t bytes_of(const struct window *window, bool margin)
{
	uint64_t bytes = shared_bytes(window);

	for (uint64_t k = 0; k < window->group.shards; k++)
		bytes += shard_bytes(&window->shard[k], margin);
	return bytes;
}

static void drop_shards(const struct fetch *fetch, struct window *window)
{
	for (uint64_t k = 0; k < fetch->settings->window_shards; k++)
		shard_drop(&window->shard[k]);
	buffer_drop(&window->shared);
}

/* Each buffer has grown to the largest shard that it has held. When all of them together exceed the window's
 * share of the budget, they start anew. */
static void fit_budget(struct fetch *fetch, struct window *window)
{
	uint64_t share =
		fetch->budget.max / ((1 + (uint64_t)fetch->windows->ahead) * fetch->windows->streams);

	window->group.margin = bytes_of(window, true) <= share;
	if (bytes_of(window, window->group.margin) > share)
		drop_shards(fetch, window);
}

void window_drop(const struct fetch *fetch, struct window *window)
{
	if (window->shard)
		drop_shards(fetch, window);
	window->state = WINDOW_IDLE;
}

/* ---- Loading ---- */

/* Whether the shard's records are part of the window already. */
static bool has_arrived(const struct window *window, uint64_t k)
{
	for (uint32_t i = 0; i < window->arrived; i++)
		if (window->arrival_order[i] == k)
			return true;
	return false;
}

/* Gets buffers for the stored bytes. A shard that may be in the cache gets addresses only; its memory follows
 * where the cache lacks it. A full disk is the shard's error, which matters only when its rows are needed. */
static int reserve(struct window *window, struct error *err)
{
	for (uint64_t k = 0; k < window->group.shards; k++) {
		struct shard *shard = &window->shard[k];
		int r = 0;

		if (has_arrived(window, k))
			continue;
		if (object_is_cacheable(shard))
			shard_expect_raw(shard);
		else
			r = shard_try_reserve(shard, err);
		if (buffer_lacks_disk(r))
			shard->err = *err;
		if (r < 0)
			return r;
	}
	return 0;
}

static void send_off(struct shard *shard)
{
	if (object_is_cacheable(shard))
		reader_look_up(&shard->source->fetch->cache->reader, shard);
	else
		sources_fetch(shard);
}

/* Starts to load all shards that are not part of the window yet. */
static int begin(struct window *window, struct error *err)
{
	int r = reserve(window, err);

	window->group.given_up = NULL;
	window->loading = 0;
	window->state = WINDOW_READY;
	if (r < 0)
		return buffer_lacks_disk(r) ? 0 : r;
	window->loading = window->group.shards - window->arrived;
	window->state = WINDOW_LOADING;
	for (uint64_t k = 0; k < window->group.shards; k++)
		if (!has_arrived(window, k))
			send_off(&window->shard[k]);
	return 0;
}

int window_load(struct fetch *fetch, struct window *window, struct window_id id, struct error *err)
{
	struct source *source = &fetch->sources->source[window->source];
	int r = allocate(fetch, window, err);

	if (r < 0)
		return r;
	window->state = WINDOW_IDLE;
	window->id = id;
	window->group.split = id.split;
	window->group.shards = shards_of(fetch, window);
	window->group.bytes = window->lost = window->records = 0;
	window->arrived = 0;
	window->alone = false;
	window->failed = NULL;
	window->in_order = fetch->objects;
	window->eager = fetch->objects || (fetch->fast && id.split == SPLIT_TRAIN);
	for (uint64_t k = 0; k < window->group.shards; k++) {
		const struct plan_shard shard = shard_at(fetch, window, k);

		shard_begin(&window->shard[k], &shard, source);
		if (fetch->objects)
			window->shard[k].slice_bytes = shared_place(shard.bytes);
		/* Within the budget: fetch_setup() added up the largest shards. */
		window->group.bytes += shard.bytes;
	}
	fit_budget(fetch, window);
	r = shared_divide(window, err);
	return r < 0 ? r : begin(window, err);
}

int window_load_rest(struct window *window, struct error *err)
{
	for (uint64_t k = 0; k < window->group.shards; k++)
		if (!has_arrived(window, k))
			shard_begin_again(&window->shard[k]);
	window->failed = NULL;
	return begin(window, err);
}

/* ---- Arrival ---- */

/* Notes the size of the largest window so far: streams_ahead_max() divides the budget by it. */
static void measure(struct fetch *fetch, const struct window *window)
{
	uint64_t bytes = bytes_of(window, window->group.margin);

	if (bytes > fetch->windows->largest_bytes)
		fetch->windows->largest_bytes = bytes;
}

static void add_shard(struct window *window, uint32_t k)
{
	window->arrival_order[window->arrived] = k;
	window->first[window->arrived] = window->records;
	window->records += window->shard[k].records;
	window->arrived++;
}

/* Adds the objects that can be gathered now: those up to the first one that is not there, or has failed. An
 * object that was given up is not the failure: another one is, and window_failure() finds it later. */
static void add_in_order(struct window *window)
{
	while (window->arrived < window->group.shards && window->shard[window->arrived].settled) {
		const struct shard *next = &window->shard[window->arrived];

		if (next->err.code) {
			window->failed = next->err.code == -ECANCELED ? NULL : next;
			return;
		}
		add_shard(window, window->arrived);
	}
}

/* Returns whether the producer has something to do. */
static bool add_eagerly(struct window *window, const struct shard *shard)
{
	const uint32_t before = window->arrived;

	if (window->in_order)
		add_in_order(window);
	else if (!shard->err.code)
		add_shard(window, (uint32_t)(shard - window->shard));
	else if (!window->failed)
		window->failed = shard;
	return window->arrived > before || window->failed;
}

void window_settle(struct fetch *fetch, struct shard *shard)
{
	struct window *window = shard->window;
	bool more;

	window->loading--;
	window->last = shard;
	shard->settled = true;
	more = window->eager && add_eagerly(window, shard);
	for (uint32_t k = 0; !window->eager && window->loading == 0 && k < window->group.shards; k++)
		add_shard(window, k);
	if (window->loading == 0) {
		window->state = WINDOW_READY;
		measure(fetch, window);
	}
	if (window->loading == 0 || more)
		(void)pthread_cond_signal(&fetch->progress);
}

/* ---- Failure ---- */

const struct shard *window_failure(const struct window *window)
{
	const struct shard *given_up = NULL;

	if (window->state == WINDOW_LOADING)
		return window->failed;
	for (uint64_t k = 0; k < window->group.shards; k++) {
		int code = window->shard[k].err.code;

		if (code && code != -ECANCELED)
			return &window->shard[k];
		if (code)
			given_up = &window->shard[k];
	}
	return given_up;
}

bool window_lacks_disk(const struct window *window)
{
	const struct shard *failure = window_failure(window);

	return failure && buffer_lacks_disk(failure->err.code) && !window->alone;
}

bool window_failed_ahead(const struct window *window)
{
	const struct shard *failure = window->ahead ? window_failure(window) : NULL;

	return failure && error_exit_code(&failure->err) == EX_UNAVAILABLE;
}

bool window_is_complete(const struct window *window)
{
	return window_is_whole(window) && window->arrived == window->group.shards;
}

bool window_has_rows(const struct window *window, uint64_t offset)
{
	return window->in_order && offset < window->records;
}

bool window_is_whole(const struct window *window)
{
	return window->state == WINDOW_READY && !window_lacks_disk(window) && !window_failed_ahead(window);
}

const struct shard *window_final_failure(const struct window *window)
{
	return window_lacks_disk(window) || window_failed_ahead(window) ? NULL : window_failure(window);
}
