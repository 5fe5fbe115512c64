/* SPDX-License-Identifier: Apache-2.0 */
#include "fetchd/fetch.h"

#include <inttypes.h>
#include <string.h>
#include <sysexits.h>

/* Train shards in the pass's order, the others in key order. */
static struct plan_shard shard_at(const struct fetch *fetch, const struct stream *stream, struct place place,
				  uint64_t k)
{
	const struct plan_settings *settings = plan_settings_of(fetch->plan);
	uint64_t shards = plan_source_shards(fetch->plan, stream->source, place.split);
	uint64_t position =
		order_position(settings->lanes, stream->lane, settings->window_shards, place.window, k);

	if (place.split == SPLIT_TRAIN)
		position = order_shard(settings->seed, stream->source, place.pass, shards, position);
	return plan_shard(fetch->plan, stream->source, place.split, position);
}

/* How many shards a place has: the last window of a pass may have fewer than the others. */
static uint64_t shards_of(const struct fetch *fetch, const struct stream *stream, struct place place)
{
	const struct plan_settings *settings = plan_settings_of(fetch->plan);
	uint64_t shards = plan_source_shards(fetch->plan, stream->source, place.split);
	uint64_t left = order_lane_shards(shards, settings->lanes, stream->lane) -
			place.window * settings->window_shards;

	return left < settings->window_shards ? left : settings->window_shards;
}

static int reserve_window(struct fetch *fetch, struct window *window, uint64_t shards_max, struct error *err)
{
	if (window->shard)
		return 0;
	window->first = calloc(shards_max, sizeof(*window->first));
	window->taken = calloc(shards_max, sizeof(*window->taken));
	window->shard = calloc(shards_max, sizeof(*window->shard));
	if (!window->shard || !window->first || !window->taken)
		return error_set(err, -ENOMEM, "no memory for %" PRIu64 " shards", shards_max);
	for (uint64_t k = 0; k < shards_max; k++) {
		int r = network_reserve(fetch, &window->shard[k], err);

		if (r < 0)
			return r;
		buffer_init(&window->shard[k].raw, &fetch->budget);
		buffer_init(&window->shard[k].inflated, &fetch->budget);
		buffer_init(&window->shard[k].index, &fetch->budget);
	}
	return 0;
}

static void take_larger(uint64_t *most, uint64_t other)
{
	*most = other > *most ? other : *most;
}

int window_expect(struct fetch *fetch, struct window *window, const struct window *like, struct error *err)
{
	uint64_t per_window = plan_settings_of(fetch->plan)->window_shards, raw = 0, inflated = 0, index = 0,
		 arrival = 0, parts = 0;
	int r = reserve_window(fetch, window, per_window, err);

	for (uint64_t k = 0; k < like->shards; k++) {
		const struct shard *shard = &like->shard[k];

		take_larger(&raw, shard->raw.room);
		take_larger(&inflated, shard->inflated.room);
		take_larger(&index, shard->index.room);
		take_larger(&parts, shard->parts_used);
		for (uint64_t i = 0; i < shard->parts_used; i++)
			take_larger(&arrival, shard->arrival[i].index.room);
	}
	for (uint64_t k = 0; r == 0 && k < per_window; k++) {
		struct shard *shard = &window->shard[k];

		shard->source = &fetch->source[window->stream->source];
		buffer_expect(&shard->raw, raw);
		buffer_expect(&shard->inflated, inflated);
		buffer_expect(&shard->index, index);
		arrivals_place(shard, parts, arrival);
	}
	return r;
}

static void set_shard(struct fetch *fetch, struct window *window, uint64_t k, struct plan_shard plan)
{
	struct shard *shard = &window->shard[k];

	shard->window = window;
	shard->source = &fetch->source[plan.source];
	shard->plan = plan;
	shard->parts = 0;
	shard->fetched_again = shard->cached = shard->repinned = false;
	shard->err.code = 0;
	shard_forgets(shard);
	shard->pin.bytes = plan.bytes;
	(void)snprintf(shard->pin.etag, sizeof(shard->pin.etag), "%s", plan.etag);
	(void)snprintf(shard->pin.version, sizeof(shard->pin.version), "%s", plan.version);
}

/* An eighth more than a shard needs: the next ones are about as large, and shall fit without another
 * allocation. */
static uint64_t raw_bytes(const struct shard *shard, bool roomy)
{
	uint64_t bytes = shard->plan.bytes, kept = shard->raw.output.capacity;

	if (bytes <= kept)
		return kept;
	return roomy && bytes > shard->raw.room ? bytes + bytes / 8 : bytes;
}

/* What the kept buffers will hold when every shard's stored bytes have their room. */
static uint64_t kept_bytes(const struct window *window, bool roomy)
{
	uint64_t bytes = 0;

	for (uint64_t k = 0; k < window->shards; k++) {
		const struct shard *shard = &window->shard[k];

		bytes += raw_bytes(shard, roomy) + shard->inflated.output.capacity +
			 shard->index.output.capacity + arrivals_kept_bytes(shard);
	}
	return bytes;
}

static void drop_shard(struct shard *shard)
{
	buffer_drop(&shard->raw);
	buffer_drop(&shard->inflated);
	buffer_drop(&shard->index);
	arrivals_drop(shard);
}

static void drop_buffers(struct window *window, uint64_t shards)
{
	for (uint64_t k = 0; k < shards; k++)
		drop_shard(&window->shard[k]);
}

/* Buffers grow to the largest shard each has seen: above a window's part of the budget they begin anew. */
static void make_room(struct fetch *fetch, struct window *window, uint64_t shards_max)
{
	uint64_t part = fetch->budget.max / ((1 + (uint64_t)fetch->ahead) * fetch->streams);

	window->roomy = kept_bytes(window, true) <= part;
	if (kept_bytes(window, window->roomy) <= part)
		return;
	drop_buffers(window, shards_max);
}

void window_drop(const struct fetch *fetch, struct window *window)
{
	if (window->shard)
		drop_buffers(window, plan_settings_of(fetch->plan)->window_shards);
	window->state = WINDOW_IDLE;
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

bool window_is_whole(const struct window *window)
{
	return window->state == WINDOW_READY && !window_lacks_disk(window) && !window_failed_ahead(window);
}

const struct shard *window_final_failure(const struct window *window)
{
	return window_lacks_disk(window) || window_failed_ahead(window) ? NULL : window_failure(window);
}

static bool is_taken(const struct window *window, uint64_t k)
{
	for (uint32_t i = 0; i < window->arrived; i++)
		if (window->taken[i] == k)
			return true;
	return false;
}

static int reserved(struct shard *shard, int r, struct error *err)
{
	if (r < 0)
		return error_prefix(err, "%s", shard->plan.key);
	shard->stored = shard->raw.output.data;
	return 0;
}

int shard_reserve(struct shard *shard, struct error *err)
{
	return reserved(shard, buffer_grow(&shard->raw, 0, raw_bytes(shard, shard->window->roomy), err), err);
}

struct buffer shard_take_raw(struct shard *shard, struct buffer place)
{
	shard->stored = NULL;
	return buffer_take(&shard->raw, place);
}

void shard_release(struct shard *shard)
{
	shard->stored = NULL;
	buffer_rest(&shard->raw);
}

/* What may be in the cache gets its room when it is not, and the place for that now. A full disk is the
 * shard's error, which matters when its rows are needed. */
static int reserve_raw(struct window *window, struct error *err)
{
	for (uint64_t k = 0; k < window->shards; k++) {
		struct shard *shard = &window->shard[k];
		int r = 0;

		if (is_taken(window, k))
			continue;
		if (cache_takes_shard(shard))
			buffer_expect(&shard->raw, raw_bytes(shard, window->roomy));
		else
			r = reserved(shard, buffer_try(&shard->raw, 0, raw_bytes(shard, window->roomy), err),
				     err);
		if (buffer_lacks_disk(r))
			shard->err = *err;
		if (r < 0)
			return r;
	}
	return 0;
}

static void fetch_shard(struct shard *shard)
{
	if (cache_takes_shard(shard))
		cache_fetch(shard);
	else
		network_fetch(shard);
}

/* Fetch whatever of it is not taken. */
static int begin(struct window *window, struct error *err)
{
	int r = reserve_raw(window, err);

	window->loading = 0;
	window->state = WINDOW_READY;
	if (r < 0)
		return buffer_lacks_disk(r) ? 0 : r;
	window->loading = window->shards - window->arrived;
	window->state = WINDOW_LOADING;
	for (uint64_t k = 0; k < window->shards; k++)
		if (!is_taken(window, k))
			fetch_shard(&window->shard[k]);
	return 0;
}

int window_load(struct fetch *fetch, struct window *window, struct place place, struct error *err)
{
	uint64_t per_window = plan_settings_of(fetch->plan)->window_shards;
	int r = reserve_window(fetch, window, per_window, err);

	if (r < 0)
		return r;
	window->state = WINDOW_IDLE;
	window->place = place;
	window->shards = shards_of(fetch, window->stream, place);
	window->bytes = window->lost = window->records = 0;
	window->arrived = 0;
	window->alone = false;
	window->failed = NULL;
	window->eager = fetch->fast && place.split == SPLIT_TRAIN;
	for (uint64_t k = 0; k < window->shards; k++) {
		set_shard(fetch, window, k, shard_at(fetch, window->stream, place, k));
		/* fetch_setup() saw that no window's sum leaves the budget. */
		window->bytes += window->shard[k].plan.bytes;
	}
	make_room(fetch, window, per_window);
	return begin(window, err);
}

int window_load_rest(struct window *window, struct error *err)
{
	for (uint64_t k = 0; k < window->shards; k++) {
		struct shard *shard = &window->shard[k];

		if (is_taken(window, k))
			continue;
		drop_shard(shard);
		shard->fetched_again = shard->cached = false;
		shard->err.code = 0;
		shard_forgets(shard);
	}
	window->failed = NULL;
	return begin(window, err);
}

/* What so large a window takes of the budget: it is for streams_ahead_max(). */
static void measure(struct fetch *fetch, const struct window *window)
{
	uint64_t bytes = kept_bytes(window, window->roomy);

	fetch->window_most = bytes > fetch->window_most ? bytes : fetch->window_most;
}

static void take_shard(struct window *window, uint32_t k)
{
	window->taken[window->arrived] = k;
	window->first[window->arrived] = window->records;
	window->records += window->shard[k].records;
	window->arrived++;
}

void window_arrived(struct fetch *fetch, struct window *window, const struct shard *shard)
{
	window->loading--;
	window->last = shard;
	if (window->eager && shard->err.code && !window->failed)
		window->failed = shard;
	if (window->eager && !shard->err.code)
		take_shard(window, (uint32_t)(shard - window->shard));
	for (uint32_t k = 0; !window->eager && window->loading == 0 && k < window->shards; k++)
		take_shard(window, k);
	if (window->loading == 0) {
		window->state = WINDOW_READY;
		measure(fetch, window);
	}
	if (window->loading == 0 || window->eager)
		(void)pthread_cond_signal(&fetch->progress);
}

const struct shard *window_failure(const struct window *window)
{
	const struct shard *given_up = NULL;

	if (window->state == WINDOW_LOADING)
		return window->failed;
	for (uint64_t k = 0; k < window->shards; k++) {
		int code = window->shard[k].err.code;

		if (code && code != -ECANCELED)
			return &window->shard[k];
		if (code)
			given_up = &window->shard[k];
	}
	return given_up;
}
