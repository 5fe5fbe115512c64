/* SPDX-License-Identifier: Apache-2.0 */
#include "fetchd/windows/stream.h"

#include "core/base/log.h"
#include "fetchd/cache/shard_cache.h"
#include "fetchd/windows/wanted.h"

static bool same_id(struct window_id a, struct window_id b)
{
	return a.split == b.split && a.pass == b.pass && a.window == b.window;
}

struct window *stream_window(struct stream *stream, struct window_id id)
{
	for (uint32_t i = 0; i < stream->windows; i++)
		if (stream->window[i].state != WINDOW_IDLE && same_id(stream->window[i].id, id))
			return &stream->window[i];
	return NULL;
}

static bool is_at_work(const struct window *window)
{
	return window->state == WINDOW_LOADING || window->spans > 0;
}

/* Whether the window can be loaded anew: no thread works on it, and the cache's writer does not need its
 * bytes. */
static bool is_free(const struct fetch *fetch, struct window *window)
{
	return !is_at_work(window) &&
	       (!fetch->cache || writer_releases(&fetch->cache->writer, &window->group));
}

/* Whether the window is free, and is none of the wanted windows. */
static bool is_of_no_use(const struct fetch *fetch, struct window *window, const struct wanted *wanted)
{
	for (unsigned i = 0; i < wanted->count; i++)
		if (window->state != WINDOW_IDLE && same_id(window->id, wanted->id[i]))
			return false;
	return is_free(fetch, window);
}

static struct window *free_window(const struct fetch *fetch, struct stream *stream,
				  const struct wanted *wanted)
{
	for (uint32_t i = 0; i <= fetch->windows->ahead; i++) {
		if (i == stream->windows)
			stream->windows++;
		if (is_of_no_use(fetch, &stream->window[i], wanted))
			return &stream->window[i];
	}
	return NULL;
}

/* Frees the memory of windows that are too many since windows->ahead became smaller. */
static void give_back(const struct fetch *fetch, struct stream *stream, const struct wanted *wanted)
{
	while (stream->windows > 1 + fetch->windows->ahead) {
		struct window *last = &stream->window[stream->windows - 1];

		if (!is_of_no_use(fetch, last, wanted))
			return;
		window_drop(fetch, last);
		stream->windows--;
	}
}

/* Loads a window once more that failed. Of an eager window, whose rows may be in the ring already, only the
 * shards that have not arrived. */
static int load_missing(struct fetch *fetch, struct window *window, struct error *err)
{
	window->ahead = false;
	return window->eager ? window_load_rest(window, err) : window_load(fetch, window, window->id, err);
}

/* The disk is full: drops the stream's other windows, then loads the window that rows are needed from. Waits,
 * by returning 0, until no thread works on them. */
static int load_alone(struct fetch *fetch, struct stream *stream, struct window *window, struct error *err)
{
	int r;

	for (uint32_t i = 0; i < stream->windows; i++)
		if (window->eager && window == &stream->window[i] ? is_at_work(window)
								  : !is_free(fetch, &stream->window[i]))
			return 0;
	for (uint32_t i = 0; i < stream->windows; i++)
		if (!window->eager || window != &stream->window[i])
			window_drop(fetch, &stream->window[i]);
	r = load_missing(fetch, window, err);
	window->alone = true;
	return r;
}

/* Loads a window once more that failed while it was read ahead: its rows are needed now, and the error may be
 * over. */
static int load_again(struct fetch *fetch, struct window *window, struct error *err)
{
	if (!is_free(fetch, window))
		return 0;
	log_warning("%s, loading its window once more", window_failure(window)->err.text);
	return load_missing(fetch, window, err);
}

/* Allocates, once, all windows that may be read ahead later, so that nothing allocates in the middle of the
 * run. The first window that has arrived tells how large they will be. They use no memory until they are
 * loaded. */
static int expect(struct fetch *fetch, struct stream *stream, struct error *err)
{
	const struct window *like = NULL;
	const char *limit;
	uint32_t most;

	for (uint32_t i = 0; i < stream->windows && !stream->expects; i++)
		if (stream->window[i].state == WINDOW_READY && !window_failure(&stream->window[i]))
			like = &stream->window[i];
	if (!like)
		return 0;
	stream->expects = true;
	most = streams_ahead_max(fetch, &limit);
	for (uint32_t i = 0; i <= most; i++) {
		int r = stream->window[i].shard ? 0 : window_expect(fetch, &stream->window[i], like, err);

		if (r < 0)
			return r;
	}
	return 0;
}

/* Starts to load the wanted windows of a stream, the most urgent first, while there is a free window. */
static int load(struct fetch *fetch, struct stream *stream, const struct cursor *cursor, struct error *err)
{
	struct wanted wanted;

	windows_wanted(fetch->plan, cursor, stream, fetch->windows->ahead, &wanted);
	give_back(fetch, stream, &wanted);
	for (unsigned i = 0; i < wanted.count; i++) {
		struct window *window = stream_window(stream, wanted.id[i]);
		int r;

		if (window && i == 0 && window_lacks_disk(window))
			return load_alone(fetch, stream, window, err);
		if (window && i == 0 && wanted.in_use && window_failed_ahead(window))
			return load_again(fetch, window, err);
		/* Windows ahead would take the memory that was dropped for this one. */
		if (window && i == 0 && window->alone && window->state == WINDOW_LOADING)
			break;
		if (window)
			continue;
		window = free_window(fetch, stream, &wanted);
		if (!window)
			break;
		window->ahead = i > 0 || !wanted.in_use;
		r = window_load(fetch, window, wanted.id[i], err);
		if (r < 0)
			return r;
	}
	return expect(fetch, stream, err);
}

int streams_load(struct fetch *fetch, const struct cursor *cursor, struct error *err)
{
	for (uint32_t i = 0; i < fetch->streams->count; i++) {
		int r = load(fetch, &fetch->streams->stream[i], cursor, err);

		if (r < 0)
			return r;
	}
	return 0;
}

static bool has_all(const struct fetch *fetch, struct stream *stream, const struct cursor *cursor)
{
	struct wanted wanted;

	windows_wanted(fetch->plan, cursor, stream, fetch->windows->ahead, &wanted);
	for (unsigned i = 0; i < wanted.count; i++) {
		const struct window *window = stream_window(stream, wanted.id[i]);

		if (!window || window->state != WINDOW_READY)
			return false;
	}
	return windows_are_last(fetch->plan, cursor, stream, &wanted);
}

bool streams_have_all(const struct fetch *fetch, const struct cursor *cursor)
{
	for (uint32_t i = 0; i < fetch->streams->count; i++)
		if (!has_all(fetch, &fetch->streams->stream[i], cursor))
			return false;
	return true;
}

static uint64_t most_windows(const struct streams *streams)
{
	uint64_t most = 0;

	for (uint32_t i = 0; i < streams->count; i++)
		for (int split = 0; split < SPLIT_MAX; split++) {
			uint64_t windows = streams->stream[i].pass_windows[split];

			most = windows > most ? windows : most;
		}
	return most;
}

uint32_t streams_ahead_max(const struct fetch *fetch, const char **ret_reason)
{
	uint64_t largest = fetch->windows->largest_bytes, windows = most_windows(fetch->streams),
		 fit = largest ? fetch->budget.max / largest / fetch->streams->count : 0,
		 most = AHEAD_MAX + 1;

	*ret_reason = "more are never read ahead";
	if (windows < most) {
		*ret_reason = "a pass has no more windows";
		most = windows;
	}
	if (fit < most || atomic_load(&fetch->budget.spilled) > 0) {
		*ret_reason = "fetch.memory_bytes holds no more windows";
		most = atomic_load(&fetch->budget.spilled) > 0 ? 0 : fit;
	}
	return most > AHEAD_LEAST ? (uint32_t)most - 1 : AHEAD_LEAST;
}

static void make_stream(struct fetch *fetch, uint32_t source, uint32_t lane)
{
	struct stream *stream = &fetch->streams->stream[fetch->streams->count++];

	stream->source = source;
	stream->lane = lane;
	stream->place = source * fetch->settings->lanes + lane;
	for (int split = 0; split < SPLIT_MAX; split++)
		stream->pass_windows[split] = plan_windows(fetch->plan, source, lane, (enum split)split);
	for (uint32_t i = 0; i <= AHEAD_MAX; i++) {
		stream->window[i].source = source;
		stream->window[i].lane = lane;
	}
}

void streams_make(struct fetch *fetch)
{
	for (uint32_t source = 0; source < fetch->settings->sources; source++)
		for (uint32_t own = 0; own < fetch->part.own; own++)
			make_stream(fetch, source, fetch->part.first + own);
	fetch->streams->lanes = fetch->part.own;
	fetch->windows->streams = fetch->streams->count;
}

bool streams_are_loading(const struct streams *streams)
{
	for (uint32_t i = 0; i < streams->count; i++)
		for (uint32_t k = 0; k < streams->stream[i].windows; k++)
			if (streams->stream[i].window[k].state == WINDOW_LOADING)
				return true;
	return false;
}

void streams_forget(struct streams *streams)
{
	for (uint32_t i = 0; i < streams->count; i++)
		for (uint32_t k = 0; k < streams->stream[i].windows; k++)
			streams->stream[i].window[k].state = WINDOW_IDLE;
}
