/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/log.h"
#include "fetchd/fetch.h"

static bool same_place(struct place a, struct place b)
{
	return a.split == b.split && a.pass == b.pass && a.window == b.window;
}

static uint64_t windows_of(const struct fetch *fetch, const struct stream *stream, enum split split)
{
	return plan_windows(fetch->plan, stream->source, stream->lane, split);
}

/* ---- What a stream needs ---- */

/* Where training takes its next record from. False: its part of the segment is over, which happens to the
 * first source only. */
static bool train_place(const struct fetch *fetch, const struct cursor *cursor, const struct stream *stream,
			struct place *ret_place)
{
	const struct cursor_place *at = &cursor->place[stream->place];
	bool over = at->window >= windows_of(fetch, stream, SPLIT_TRAIN);

	ret_place->split = SPLIT_TRAIN;
	ret_place->pass = stream->source == 0 ? cursor->segment : at->pass + over;
	ret_place->window = over ? 0 : at->window;
	return !over || stream->source > 0;
}

/* An evaluation reads one source of a lane after the other: the first source's place says which. */
static bool evaluation_place(const struct fetch *fetch, const struct cursor *cursor,
			     const struct stream *stream, struct place *ret_place)
{
	const struct cursor_place *at = &cursor->place[stream->lane];

	ret_place->split = (enum split)cursor->split;
	ret_place->pass = 0;
	ret_place->window = at->pass < stream->source ? 0 : at->window;
	return at->pass <= stream->source && ret_place->window < windows_of(fetch, stream, ret_place->split);
}

/* The stream's first place behind the cursor's segment. False at the end of the run. */
static bool place_behind(const struct fetch *fetch, const struct cursor *cursor, const struct stream *stream,
			 struct place *ret_place)
{
	enum split split = (enum split)cursor->split;
	uint64_t segment = cursor->segment;

	while (plan_next_segment(fetch->plan, &split, &segment)) {
		if (split == SPLIT_TRAIN && stream->source > 0)
			return train_place(fetch, cursor, stream, ret_place);
		*ret_place = (struct place){ split, split == SPLIT_TRAIN ? segment : 0, 0 };
		if (windows_of(fetch, stream, split) > 0)
			return true;
	}
	return false;
}

static bool next_place(const struct fetch *fetch, const struct cursor *cursor, const struct stream *stream,
		       struct place *place)
{
	if (place->window + 1 < windows_of(fetch, stream, place->split)) {
		place->window++;
		return true;
	}
	if (place->split == SPLIT_TRAIN && stream->source > 0) {
		place->pass++;
		place->window = 0;
		return true;
	}
	return place_behind(fetch, cursor, stream, place);
}

/* The place in the cursor's segment that rows are taken from, at once or, of a source that an evaluation has
 * not come to, later. False: there is none. */
static bool place_now(const struct fetch *fetch, const struct cursor *cursor, const struct stream *stream,
		      struct place *ret_place)
{
	return cursor->split == SPLIT_TRAIN ? train_place(fetch, cursor, stream, ret_place)
					    : evaluation_place(fetch, cursor, stream, ret_place);
}

/* Whether rows are taken from place_now() at once. */
static bool is_in_use(const struct cursor *cursor, const struct stream *stream)
{
	return cursor->split == SPLIT_TRAIN || cursor->place[stream->lane].pass == stream->source;
}

/* The place that rows are taken from, the one behind it and, of the same pass, those further ahead; returns
 * how many there are. Another pass begins with a shard that this one may be about to put into the cache. */
static unsigned places_wanted(const struct fetch *fetch, const struct cursor *cursor,
			      const struct stream *stream, bool now, struct place place[static 1 + AHEAD_MAX])
{
	uint64_t windows;
	unsigned places = 1;

	if (!now)
		return place_behind(fetch, cursor, stream, &place[0]);
	place[1] = place[0];
	if (!next_place(fetch, cursor, stream, &place[1]))
		return places;
	windows = windows_of(fetch, stream, place[0].split);
	for (places = 2; places <= fetch->ahead && place[0].window + places < windows; places++) {
		place[places] = place[0];
		place[places].window += places;
	}
	return places;
}

/* ---- Loading it ---- */

struct window *stream_window(struct stream *stream, struct place place)
{
	for (uint32_t i = 0; i < stream->windows; i++)
		if (stream->window[i].state != WINDOW_IDLE && same_place(stream->window[i].place, place))
			return &stream->window[i];
	return NULL;
}

static bool is_at_work(const struct window *window)
{
	return window->state == WINDOW_LOADING || window->spans > 0;
}

static bool is_free(struct window *window)
{
	return !is_at_work(window) && cache_lets_go(window);
}

/* Nobody works on it, and it holds none of the places. */
static bool is_of_no_use(struct window *window, const struct place *place, unsigned places)
{
	for (unsigned i = 0; i < places; i++)
		if (window->state != WINDOW_IDLE && same_place(window->place, place[i]))
			return false;
	return is_free(window);
}

static struct window *free_window(const struct fetch *fetch, struct stream *stream, const struct place *place,
				  unsigned places)
{
	for (uint32_t i = 0; i <= fetch->ahead; i++) {
		if (i == stream->windows)
			stream->windows++;
		if (is_of_no_use(&stream->window[i], place, places))
			return &stream->window[i];
	}
	return NULL;
}

/* Less is read ahead than was: those that are too many give their memory back, one after the other. */
static void give_back(const struct fetch *fetch, struct stream *stream, const struct place *place,
		      unsigned places)
{
	while (stream->windows > 1 + fetch->ahead) {
		struct window *last = &stream->window[stream->windows - 1];

		if (!is_of_no_use(last, place, places))
			return;
		window_drop(fetch, last);
		stream->windows--;
	}
}

/* The window that rows are taken from, without those behind it: there is no disk for what is ahead. */
static int load_alone(struct fetch *fetch, struct stream *stream, struct window *window, struct error *err)
{
	int r;

	/* An eager one keeps what it has. */
	for (uint32_t i = 0; i < stream->windows; i++)
		if (window->eager && window == &stream->window[i] ? is_at_work(window)
								  : !is_free(&stream->window[i]))
			return 0;
	for (uint32_t i = 0; i < stream->windows; i++)
		if (!window->eager || window != &stream->window[i])
			window_drop(fetch, &stream->window[i]);
	r = window->eager ? window_load_rest(window, err) : window_load(fetch, window, window->place, err);
	window->alone = true;
	window->ahead = false;
	return r;
}

/* The window that rows are taken from, which failed when nobody needed it: what made it fail may be over. */
static int load_again(struct fetch *fetch, struct window *window, struct error *err)
{
	if (!is_free(window))
		return 0;
	log_warning("%s, loading its window once more", window_failure(window)->err.text);
	window->ahead = false;
	return window->eager ? window_load_rest(window, err) : window_load(fetch, window, window->place, err);
}

/* The first window that has come tells how large the others will be: all that may be read ahead later get
 * their places now, so that nothing allocates in mid-run. They take memory when they are used. */
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

static int load(struct fetch *fetch, struct stream *stream, const struct cursor *cursor, struct error *err)
{
	struct place place[1 + AHEAD_MAX];
	bool now = place_now(fetch, cursor, stream, &place[0]), in_use = now && is_in_use(cursor, stream);
	unsigned places = places_wanted(fetch, cursor, stream, now, place);

	give_back(fetch, stream, place, places);
	for (unsigned i = 0; i < places; i++) {
		struct window *window = stream_window(stream, place[i]);
		int r;

		if (window && i == 0 && window_lacks_disk(window))
			return load_alone(fetch, stream, window, err);
		if (window && i == 0 && in_use && window_failed_ahead(window))
			return load_again(fetch, window, err);
		/* What is ahead would take the memory that was given up for it. */
		if (window && i == 0 && window->alone && window->state == WINDOW_LOADING)
			break;
		if (window)
			continue;
		window = free_window(fetch, stream, place, places);
		if (!window)
			break;
		window->ahead = i > 0 || !in_use;
		r = window_load(fetch, window, place[i], err);
		if (r < 0)
			return r;
	}
	return expect(fetch, stream, err);
}

static uint64_t most_windows(const struct fetch *fetch)
{
	uint64_t most = 0;

	for (uint32_t i = 0; i < fetch->streams; i++)
		for (int split = 0; split < SPLIT_MAX; split++) {
			uint64_t windows = windows_of(fetch, &fetch->stream[i], (enum split)split);

			most = windows > most ? windows : most;
		}
	return most;
}

uint32_t streams_ahead_max(const struct fetch *fetch, const char **ret_reason)
{
	uint64_t room = fetch->window_most ? fetch->budget.max / fetch->window_most / fetch->streams : 0;
	uint64_t windows = most_windows(fetch), most = AHEAD_MAX + 1;

	*ret_reason = "that is the most";
	if (windows < most) {
		*ret_reason = "a pass has no more windows";
		most = windows;
	}
	if (room < most || atomic_load(&fetch->budget.spilled) > 0) {
		*ret_reason = "fetch.memory_bytes holds no more windows";
		most = atomic_load(&fetch->budget.spilled) > 0 ? 0 : room;
	}
	return most > AHEAD_LEAST ? (uint32_t)most - 1 : AHEAD_LEAST;
}

int streams_load(struct fetch *fetch, const struct cursor *cursor, struct error *err)
{
	for (uint32_t i = 0; i < fetch->streams; i++) {
		int r = load(fetch, &fetch->stream[i], cursor, err);

		if (r < 0)
			return r;
	}
	return 0;
}

void streams_make(struct fetch *fetch)
{
	const struct plan_settings *settings = plan_settings_of(fetch->plan);

	for (uint32_t source = 0; source < settings->sources; source++)
		for (uint32_t lane = fetch->rank; lane < settings->lanes; lane += fetch->world) {
			struct stream *stream = &fetch->stream[fetch->streams++];

			stream->source = source;
			stream->lane = lane;
			stream->place = source * settings->lanes + lane;
			for (uint32_t i = 0; i <= AHEAD_MAX; i++)
				stream->window[i].stream = stream;
		}
	fetch->lanes = fetch->streams / settings->sources;
}
