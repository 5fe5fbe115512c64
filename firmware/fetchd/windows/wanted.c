/* SPDX-License-Identifier: Apache-2.0 */
#include "fetchd/windows/wanted.h"

/* Finds the window of training that gives the next record. False: the stream's part of the segment is over,
 * which happens to the first source only; other sources begin their next pass. */
static bool in_training(const struct cursor *cursor, const struct stream *stream, struct window_id *ret_id)
{
	const struct cursor_place *at = &cursor->place[stream->place];
	bool over = at->window >= stream->pass_windows[SPLIT_TRAIN];

	ret_id->split = SPLIT_TRAIN;
	ret_id->pass = stream->source == 0 ? cursor->segment : at->pass + over;
	ret_id->window = over ? 0 : at->window;
	return !over || stream->source > 0;
}

/* Finds the window of an evaluation that gives the stream's next record. An evaluation reads the sources of a
 * lane one after the other; `pass` of the first source's place is the number of the source that it reads. */
static bool in_evaluation(const struct cursor *cursor, const struct stream *stream, struct window_id *ret_id)
{
	const struct cursor_place *at = &cursor->place[stream->lane];

	ret_id->split = (enum split)cursor->split;
	ret_id->pass = 0;
	ret_id->window = at->pass < stream->source ? 0 : at->window;
	return at->pass <= stream->source && ret_id->window < stream->pass_windows[ret_id->split];
}

/* Finds the stream's first window after the cursor's segment. False: the end of the run. */
static bool after_segment(const struct plan *plan, const struct cursor *cursor, const struct stream *stream,
			  struct window_id *ret_id)
{
	enum split split = (enum split)cursor->split;
	uint64_t segment = cursor->segment;

	while (plan_next_segment(plan, &split, &segment)) {
		if (split == SPLIT_TRAIN && stream->source > 0)
			return in_training(cursor, stream, ret_id);
		*ret_id = (struct window_id){ split, split == SPLIT_TRAIN ? segment : 0, 0 };
		if (stream->pass_windows[split] > 0)
			return true;
	}
	return false;
}

/* Moves *id to the window after it. False: the end of the run. */
static bool next(const struct plan *plan, const struct cursor *cursor, const struct stream *stream,
		 struct window_id *id)
{
	if (id->window + 1 < stream->pass_windows[id->split]) {
		id->window++;
		return true;
	}
	if (id->split == SPLIT_TRAIN && stream->source > 0) {
		id->pass++;
		id->window = 0;
		return true;
	}
	return after_segment(plan, cursor, stream, id);
}

void windows_wanted(const struct plan *plan, const struct cursor *cursor, const struct stream *stream,
		    uint32_t ahead, struct wanted *ret_wanted)
{
	bool train = cursor->split == SPLIT_TRAIN, now;
	struct window_id *id = ret_wanted->id;
	unsigned count;

	now = train ? in_training(cursor, stream, &id[0]) : in_evaluation(cursor, stream, &id[0]);
	ret_wanted->in_use = now && (train || cursor->place[stream->lane].pass == stream->source);
	ret_wanted->count = now || after_segment(plan, cursor, stream, &id[0]);
	if (!now)
		return;
	id[1] = id[0];
	if (!next(plan, cursor, stream, &id[1]))
		return;
	for (count = 2; count <= ahead; count++) {
		if (id[0].window + count >= stream->pass_windows[id[0].split])
			break;
		id[count] = id[0];
		id[count].window += count;
	}
	ret_wanted->count = count;
}

/* Whether the last wanted window is of the cursor's segment. */
static bool ends_here(const struct cursor *cursor, const struct stream *stream, const struct wanted *wanted)
{
	const struct window_id *last = &wanted->id[wanted->count - 1];
	struct window_id now;

	return (cursor->split == SPLIT_TRAIN ? in_training(cursor, stream, &now)
					     : in_evaluation(cursor, stream, &now)) &&
	       last->split == now.split && last->pass == now.pass;
}

/* Moves *split and *segment to the next segment in which the stream has windows. False: there is none. */
static bool next_segment(const struct plan *plan, const struct stream *stream, enum split *split,
			 uint64_t *segment)
{
	while (plan_next_segment(plan, split, segment))
		if (stream->pass_windows[*split] > 0)
			return true;
	return false;
}

bool windows_are_last(const struct plan *plan, const struct cursor *cursor, const struct stream *stream,
		      const struct wanted *wanted)
{
	enum split split = (enum split)cursor->split;
	uint64_t segment = cursor->segment;
	const struct window_id *last;

	if (wanted->count == 0)
		return true;
	last = &wanted->id[wanted->count - 1];
	if (last->window + 1 < stream->pass_windows[last->split] ||
	    (last->split == SPLIT_TRAIN && stream->source > 0))
		return false;
	if (!ends_here(cursor, stream, wanted))
		(void)next_segment(plan, stream, &split, &segment);
	return !next_segment(plan, stream, &split, &segment);
}
