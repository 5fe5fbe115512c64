/* SPDX-License-Identifier: Apache-2.0 */
#include "fetchd/workers/gather.h"

#include "core/base/events.h"
#include "core/base/log.h"
#include "data/tfrecord.h"
#include "fetchd/shard/sources.h"
#include "fetchd/workers/slot_quarantine.h"

#include <inttypes.h>
#include <string.h>

#define WAKE_SHARE 4u /* wake the producer after a quarter of the ring's slots */

/* The first faulty row of a span, and the number of faulty rows. */
struct row_fault {
	struct fetch *fetch;
	struct pending *pending;
	uint32_t row, skipped;
	struct error err;
	const char *key;
	uint64_t offset;
};

/* Says which record is faulty; an object has one record. */
static void name_fault(struct row_fault *fault, int code, const char *text)
{
	if (fault->fetch->objects)
		(void)error_set(&fault->err, code, "%s: %s", fault->key, text);
	else
		(void)error_set(&fault->err, code, "%s: record at byte %" PRIu64 ": %s", fault->key,
				fault->offset, text);
}

static void note(struct row_fault *fault, uint32_t row, struct window_record from, int code, const char *text)
{
	(void)pthread_mutex_lock(&fault->fetch->lock);
	quarantine_row(fault->fetch, fault->pending, row, from);
	(void)pthread_mutex_unlock(&fault->fetch->lock);
	if (fault->skipped++ > 0)
		return;
	fault->row = row;
	fault->key = from.shard->plan.key;
	fault->offset = quarantine_place(fault->fetch, from);
	name_fault(fault, code, text);
}

static int parse_row(const struct batch_slot *batch, struct batch_decoder *decoder, uint32_t row,
		     struct window_record from, const uint64_t *bits, struct error *err)
{
	const struct shard *shard = from.shard;
	const uint8_t *data = shard->plain + from.record->offset;

	if (shard->source->fetch->objects)
		return batch_object(batch, decoder, row, data, from.record->bytes, shard->plan.label, bits,
				    err);
	return batch_parse(batch, decoder, row, data, from.record->bytes, bits, err);
}

/* Counts a picture that was decoded with a warning; names the first one. */
static void note_warning(struct fetch *fetch, struct window_record from)
{
	bool first;

	(void)pthread_mutex_lock(&fetch->lock);
	first = fetch->warnings++ == 0;
	(void)pthread_mutex_unlock(&fetch->lock);
	if (first)
		log_notice("%s: byte %" PRIu64
			   ": the decoder warned of a picture that has all its pixels; such pictures are "
			   "used and counted",
			   from.shard->plan.key, from.record->offset);
}

/* Parses one record into row `row`. */
static void gather_row(const struct batch_slot *batch, struct batch_decoder *decoder, uint32_t row,
		       struct window_record from, struct row_fault *fault)
{
	const struct shard *shard = from.shard;
	struct error err;
	uint64_t bits = 0, warnings;
	int r;

	if (from.record->bad) {
		batch_empty_row(batch, row);
		note(fault, row, from, -EBADMSG, "its data CRC is wrong");
		return;
	}
	if (decoder)
		bits = plan_record_bits(fault->fetch->plan, &shard->plan, shard->window->id.pass,
					from.record->offset);
	warnings = batch_decoder_warnings(decoder);
	r = parse_row(batch, decoder, row, from, shard->group->split == SPLIT_TRAIN ? &bits : NULL, &err);
	if (r < 0)
		note(fault, row, from, r, err.text);
	if (batch_decoder_warnings(decoder) > warnings)
		note_warning(fault->fetch, from);
}

/* Notes a span's faults in the slot. The slot's error is that of its first faulty row, in whatever order the
 * workers finish. The lock is held. */
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

static void gather_rows(struct fetch *fetch, const struct span *span, const struct batch_slot *batch,
			struct batch_decoder *decoder, struct row_fault *fault)
{
	const struct window_order order = window_order(fetch, span);
	struct window_record record[WINDOW_RECORDS_MAX];

	for (uint32_t first = 0; first < span->count; first += WINDOW_RECORDS_MAX) {
		uint32_t left = span->count - first,
			 rows = left < WINDOW_RECORDS_MAX ? left : WINDOW_RECORDS_MAX;

		window_records(&order, span->offset + first, rows, record);
		for (uint32_t i = 0; i < rows; i++) {
			if (i + 1 < rows)
				tfrecord_ahead(record[i + 1].shard->plain + record[i + 1].record->offset,
					       record[i + 1].record->bytes);
			gather_row(batch, decoder, span_row(span, first + i), record[i], fault);
		}
	}
}

/* Packs the ragged columns of a sealed slot whose rows are all filled. Counts as one more span, so that the
 * producer waits for it. The lock is held, but released meanwhile. */
static void pack_slot(struct fetch *fetch, struct pending *pending, const struct batch_slot *batch)
{
	uint32_t rows = pending->rows;

	pending->spans++;
	(void)pthread_mutex_unlock(&fetch->lock);
	batch_pack(batch, rows, pending->packed_bytes);
	(void)pthread_mutex_lock(&fetch->lock);
	pending->spans--;
	pending->packed = true;
}

/* Whether to wake the producer: for several finished slots at once, and always when no span is left. A
 * wake-up for each slot takes a twentieth of the CPU time. The lock is held. */
static bool producer_is_told(struct fetch *fetch, const struct pending *pending)
{
	fetch->work->whole += pending->spans == 0;
	if (fetch->work->spans > 0 && fetch->work->whole < fetch->run.config.ring.slots / WAKE_SHARE)
		return false;
	fetch->work->whole = 0;
	return true;
}

void gather_span(struct fetch *fetch, struct batch_decoder *decoder, const struct span *span)
{
	struct batch_slot batch = batch_slot(&fetch->schema, fetch->ring, span->pending->slot);
	struct row_fault fault;
	bool tell;

	fault.fetch = fetch;
	fault.pending = span->pending;
	fault.skipped = 0;
	if (span->window)
		gather_rows(fetch, span, &batch, decoder, &fault);
	else
		for (uint32_t i = 0; i < span->count; i++)
			batch_empty_row(&batch, span_row(span, i));
	if (fault.skipped && fetch->run.config.fetch.bad_record == BAD_RECORD_SKIP)
		event_send(&(struct event){ .id = EVENT_RECORDS_SKIPPED,
					    .run_id = fetch->run.id,
					    .key = fault.key,
					    .records = fault.skipped },
			   "%s; skipping %u in this batch", fault.err.text, fault.skipped);

	(void)pthread_mutex_lock(&fetch->lock);
	note_fault(fetch, span->pending, &fault);
	span->pending->spans--;
	if (span->pending->spans == 0 && span->pending->sealed && batch_is_ragged(&fetch->schema))
		pack_slot(fetch, span->pending, &batch);
	fetch->work->spans--;
	if (span->window)
		span->window->spans--;
	tell = producer_is_told(fetch, span->pending);
	(void)pthread_mutex_unlock(&fetch->lock);
	if (tell)
		(void)pthread_cond_signal(&fetch->progress);
}
