/* SPDX-License-Identifier: Apache-2.0 */
#include "fetchd/produce/deal.h"

#include "fetchd/produce/segment.h"

#include <string.h>

/* Rows of a batch are dealt before any record is there. The rows of a lane lie side by side. With several
 * sources, a weighted draw for each row says which source of the row's lane gives it, so each stream's rows
 * are written to a list. */

uint32_t share_row(const struct share *share, uint32_t i)
{
	return share->row ? share->row[i] : share->first + i;
}

uint32_t share_below(const struct share *share, uint32_t row)
{
	uint32_t low = 0, high = share->rows;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (share_row(share, middle) < row)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* The rows of a lane in a batch. A single lane has fewer rows in a batch that is smaller; with several lanes
 * these rows are there, and stay empty. */
static uint32_t lane_rows(const struct producer *producer)
{
	const struct order_part *part = &producer->fetch->part;

	return part->lanes == 1 ? producer->batch.global_rows : part->lane_rows;
}

static void deal_lanes(struct producer *producer, uint64_t global_rows)
{
	struct batch *batch = &producer->batch;
	uint32_t rows, lanes = producer->fetch->part.own;

	batch->global_rows = (uint32_t)global_rows;
	rows = lane_rows(producer);
	batch->rows = lanes * rows;
	for (uint32_t own = 0; own < lanes; own++)
		batch->share[own] = (struct share){ .first = own * rows, .rows = rows, .limit = rows };
}

/* Draws the source of each row by weight, then sorts the rows by stream (a counting sort). The draw depends
 * on the row's index in the epoch, which counts rows that are passed over, too: `before` is that of the first
 * row. */
static void deal_sources(struct producer *producer, uint32_t *dealt)
{
	const struct plan_settings *settings = producer->fetch->settings;
	const struct order_part *part = &producer->fetch->part;
	uint32_t streams = producer->fetch->streams->count;
	uint64_t before = settings->skip_rows - producer->pass_over + producer->cursor.rows;
	uint32_t next[CURSOR_PLACES_MAX] = { 0 }, *sorted = dealt, *stream_of = dealt + producer->batch.rows;
	struct share *share = producer->batch.share;

	for (uint32_t i = 0; i < streams; i++)
		share[i] = (struct share){ 0 };
	for (uint32_t row = 0; row < producer->batch.rows; row++) {
		uint32_t source = order_source(settings->seed, producer->cursor.segment,
					       before + order_batch_row(part, row), settings->weight,
					       settings->sources);

		stream_of[row] = source * part->own + row / part->lane_rows;
		share[stream_of[row]].rows++;
	}
	for (uint32_t i = 0, first = 0; i < streams; i++) {
		share[i].row = sorted + first;
		share[i].limit = share[i].rows;
		next[i] = first;
		first += share[i].rows;
	}
	for (uint32_t row = 0; row < producer->batch.rows; row++)
		sorted[next[stream_of[row]]++] = row;
}

/* Returns the number of a lane's rows among the first `rows` of a global batch. */
static uint32_t rows_of_lane(uint64_t rows, uint64_t lanes, uint64_t lane)
{
	return rows > lane ? (uint32_t)((rows - lane - 1) / lanes + 1) : 0;
}

void deal_rows(struct producer *producer, uint64_t global_rows, uint32_t *dealt)
{
	const struct order_part *part = &producer->fetch->part;

	deal_lanes(producer, global_rows);
	if (producer->fetch->settings->sources > 1)
		deal_sources(producer, dealt);
	for (uint32_t own = 0; own < part->own; own++) {
		uint32_t rows = rows_of_lane(global_rows, part->lanes, part->first + own);

		if (segment_lane_is_over(producer, own))
			deal_end(producer, own, 0);
		else if (rows < lane_rows(producer))
			deal_end(producer, own, own * part->lane_rows + rows);
	}
}

void deal_evaluation(struct producer *producer, uint64_t global_rows)
{
	memset(producer->batch.share, 0, sizeof(producer->batch.share));
	deal_lanes(producer, global_rows);
}

void deal_end(struct producer *producer, uint32_t lane, uint32_t row)
{
	struct batch *batch = &producer->batch;
	uint32_t lanes = producer->fetch->streams->lanes;

	for (uint32_t i = lane; i < producer->fetch->streams->count; i += lanes)
		batch->share[i].limit = share_below(&batch->share[i], row);
}

uint32_t deal_rows_given(const struct producer *producer)
{
	uint64_t rows = 0;

	for (uint32_t i = 0; i < producer->fetch->streams->count; i++) {
		const struct share *share = &producer->batch.share[i];
		uint64_t end = share->limit ? order_batch_row(&producer->fetch->part,
							      share_row(share, share->limit - 1)) +
						      1
					    : 0;

		rows = end > rows ? end : rows;
	}
	return (uint32_t)rows;
}
