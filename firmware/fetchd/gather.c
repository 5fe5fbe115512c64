/* SPDX-License-Identifier: Apache-2.0 */
#include "core/events.h"
#include "data/tfrecord.h"
#include "fetchd/fetch.h"

#include <inttypes.h>
#include <string.h>

/* The first faulty row of a span, and how many there are. */
struct row_fault {
	uint32_t row, skipped;
	struct error err;
	const char *key;
	uint64_t offset;
};

static void note(struct row_fault *fault, uint32_t row, const struct shard *shard,
		 const struct record *record, int code, const char *text)
{
	if (fault->skipped++ > 0)
		return;
	fault->row = row;
	fault->key = shard->plan.key;
	fault->offset = record->offset - TFRECORD_HEADER_BYTES;
	(void)error_set(&fault->err, code, "%s: record at byte %" PRIu64 ": %s", shard->plan.key,
			fault->offset, text);
}

static void empty_row(const struct fetch *fetch, uint8_t *const *columns, uint32_t row)
{
	for (uint32_t i = 0; i < fetch->schema.features; i++)
		memset(columns[i] + row * fetch->row_bytes[i], 0, fetch->row_bytes[i]);
	columns[fetch->schema.features][row] = 1;
}

/* One record into row `row` of the columns. */
static void gather_row(struct fetch *fetch, uint8_t *const *columns, uint32_t row, const struct shard *shard,
		       const struct record *record, struct row_fault *fault)
{
	uint32_t features = fetch->schema.features;
	void *rows[EXAMPLE_FEATURES_MAX];
	struct error err;
	int r = -EBADMSG;

	for (uint32_t i = 0; i < features; i++)
		rows[i] = columns[i] + row * fetch->row_bytes[i];
	if (!record->bad)
		r = example_parse(&fetch->schema, shard->plain + record->offset, record->bytes, rows, &err);
	if (r == 0) {
		columns[features][row] = 0;
		return;
	}
	empty_row(fetch, columns, row);
	note(fault, row, shard, record, r, record->bad ? "its data CRC is wrong" : err.text);
}

/* The first row's fault is the one that is told, whichever worker finds its own first. The lock is held. */
static void note_fault(const struct fetch *fetch, struct pending *pending, const struct row_fault *fault)
{
	if (fault->skipped == 0)
		return;
	if (pending->skipped == 0 || fault->row < pending->err_row) {
		pending->err_row = fault->row;
		pending->err_key = fault->key;
		pending->err_offset = fault->offset;
		if (fetch->run.config.fetch.bad_record == BAD_RECORD_STOP)
			pending->err = fault->err;
	}
	pending->skipped += fault->skipped;
}

static void gather_rows(struct fetch *fetch, const struct span *span, uint8_t *const *columns,
			struct row_fault *fault)
{
	const struct window_order order = window_order(fetch, span->window);

	for (uint32_t i = 0; i < span->count; i++) {
		const struct shard *shard;
		const struct record *record = window_record(&order, span->offset + i, &shard);

		gather_row(fetch, columns, span_row(span, i), shard, record, fault);
	}
}

void gather_span(struct fetch *fetch, const struct span *span)
{
	uint8_t *columns[EXAMPLE_FEATURES_MAX + 1];
	struct row_fault fault;

	fault.skipped = 0;
	for (uint32_t i = 0; i <= fetch->schema.features; i++)
		columns[i] = ring_column_data(fetch->ring, span->pending->slot, i);
	if (span->window)
		gather_rows(fetch, span, columns, &fault);
	else
		for (uint32_t i = 0; i < span->count; i++)
			empty_row(fetch, columns, span_row(span, i));
	if (fault.skipped && fetch->run.config.fetch.bad_record == BAD_RECORD_SKIP)
		event_send(&(struct event){ .id = EVENT_RECORDS_SKIPPED,
					    .run_id = fetch->run.id,
					    .key = fault.key,
					    .records = fault.skipped },
			   "%s; skipping %u in this batch", fault.err.text, fault.skipped);

	(void)pthread_mutex_lock(&fetch->lock);
	note_fault(fetch, span->pending, &fault);
	fetch->spans--;
	span->pending->spans--;
	if (span->window)
		span->window->spans--;
	(void)pthread_cond_signal(&fetch->progress);
	(void)pthread_mutex_unlock(&fetch->lock);
}
