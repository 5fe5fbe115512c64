/* SPDX-License-Identifier: Apache-2.0 */
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

/* The place that rows are taken from and the one behind it; returns how many there are. */
static unsigned places_wanted(const struct fetch *fetch, const struct cursor *cursor,
			      const struct stream *stream, struct place place[static 2])
{
	bool now = cursor->split == SPLIT_TRAIN ? train_place(fetch, cursor, stream, &place[0])
						: evaluation_place(fetch, cursor, stream, &place[0]);

	if (!now)
		return place_behind(fetch, cursor, stream, &place[0]);
	place[1] = place[0];
	return 1 + next_place(fetch, cursor, stream, &place[1]);
}

/* ---- Loading it ---- */

struct window *stream_window(struct stream *stream, struct place place)
{
	for (int i = 0; i < 2; i++)
		if (stream->window[i].state != WINDOW_IDLE && same_place(stream->window[i].place, place))
			return &stream->window[i];
	return NULL;
}

static bool is_free(struct window *window)
{
	return window->state != WINDOW_LOADING && window->spans == 0 && cache_lets_go(window);
}

/* A window that nobody works on and that holds none of the places. */
static struct window *free_window(struct stream *stream, const struct place *place, unsigned places)
{
	for (int i = 0; i < 2; i++) {
		struct window *window = &stream->window[i];
		bool wanted = false;

		for (unsigned k = 0; k < places; k++)
			wanted |= window->state != WINDOW_IDLE && same_place(window->place, place[k]);
		if (!wanted && is_free(window))
			return window;
	}
	return NULL;
}

/* The window that rows are taken from, without the one behind it: there is no disk for what is ahead. */
static int load_alone(struct fetch *fetch, struct stream *stream, struct window *window, struct error *err)
{
	struct window *other = &stream->window[window == &stream->window[0]];
	int r;

	if (!is_free(window) || !is_free(other))
		return 0;
	window_drop(fetch, other);
	window_drop(fetch, window);
	r = window_load(fetch, window, window->place, err);
	window->alone = true;
	return r;
}

static int load(struct fetch *fetch, struct stream *stream, const struct cursor *cursor, struct error *err)
{
	struct place place[2];
	unsigned places = places_wanted(fetch, cursor, stream, place);

	for (unsigned i = 0; i < places; i++) {
		struct window *window = stream_window(stream, place[i]);
		int r;

		if (window && i == 0 && window_lacks_disk(window))
			return load_alone(fetch, stream, window, err);
		if (window)
			continue;
		window = free_window(stream, place, places);
		if (!window)
			return 0;
		r = window_load(fetch, window, place[i], err);
		if (r < 0)
			return r;
	}
	return 0;
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
			stream->window[0].stream = stream->window[1].stream = stream;
		}
	fetch->lanes = fetch->streams / settings->sources;
}
