/* SPDX-License-Identifier: Apache-2.0 */
#include "core/log.h"
#include "data/inflate.h"
#include "data/tfrecord.h"
#include "fetchd/fetch.h"

#include <inttypes.h>
#include <string.h>

/* ---- A shard: plain bytes and an index
 * ------------------------------------------------------------------------------------ */

static const uint8_t *plain_of(const struct shard *shard)
{
	return shard->inflated ? shard->inflated : shard->raw;
}

static int add_record(struct shard *shard, uint64_t offset, uint64_t bytes, bool bad, struct error *err)
{
	if (shard->records == shard->records_capacity) {
		uint64_t capacity = shard->records_capacity ? shard->records_capacity * 2 : 1024;
		struct record *record = realloc(shard->record, capacity * sizeof(*record));

		if (!record)
			return error_set(err, -ENOMEM, "no memory for %" PRIu64 " records", capacity);
		shard->record = record;
		shard->records_capacity = capacity;
	}
	shard->record[shard->records++] =
		(struct record){ .offset = offset, .bytes = (uint32_t)bytes, .bad = bad };
	return 0;
}

/* Inflates where needed. A corrupt stream leaves its good prefix behind the error. */
static int make_plain(const struct fetch *fetch, struct shard *shard, struct error *err)
{
	enum compression compression = compression_of(shard->raw, shard->plan.bytes);

	free(shard->inflated);
	shard->inflated = NULL;
	shard->plain_bytes = shard->plan.bytes;
	if (compression == COMPRESSION_NONE)
		return 0;
	return inflate_all(shard->raw, shard->plan.bytes, compression, fetch->shard_max, &shard->inflated,
			   &shard->plain_bytes, err);
}

/* Every record's place. Bad data CRCs become empty rows; anything else ends the shard. Returns the first
 * fault. */
static int index_records(const struct fetch *fetch, struct shard *shard, struct error *err)
{
	uint64_t offset = 0;
	int fault = 0;

	shard->records = 0;
	for (;;) {
		struct tfrecord record;
		struct error one = { 0 };
		int r = tfrecord_next(plain_of(shard), shard->plain_bytes, offset, fetch->record_max, &record,
				      &one);

		if (r == -ENODATA)
			return fault;
		if (r < 0 && fault == 0) {
			fault = -EBADMSG;
			*err = one;
			err->code = -EBADMSG;
			shard->bad_offset = offset;
		}
		if (r == -EBADMSG)
			return fault;
		if (add_record(shard, (uint64_t)(record.data - plain_of(shard)), record.bytes, r < 0, err) <
		    0)
			return -ENOMEM;
		offset = record.next;
	}
}

static void index_shard(struct fetch *fetch, struct shard *shard)
{
	struct error corrupt = { 0 }, err = { 0 };
	int inflated = make_plain(fetch, shard, &corrupt), indexed;

	shard->bad_offset = 0;
	indexed = inflated == 0 || inflated == -EBADMSG ? index_records(fetch, shard, &err) : 0;
	/* The inflate error is the cause of what the index then finds. */
	if (inflated < 0)
		shard->err = corrupt;
	else if (indexed < 0)
		shard->err = err;
	if (shard->err.code)
		(void)error_prefix(&shard->err, "%s", shard->plan.key);
}

/* Bad bytes are fetched once more before they count; then policy decides whether the rest of the shard may be
 * lost. */
static void decode_shard(struct fetch *fetch, struct shard *shard)
{
	bool again, skip = fetch->run.config.fetch.bad_record == BAD_RECORD_SKIP;

	if (!shard->err.code)
		index_shard(fetch, shard);
	else
		shard->records = 0;
	again = shard->err.code == -EBADMSG && !shard->fetched_again;
	if (again)
		log_warning("%s; fetching it once more", shard->err.text);
	else if (shard->err.code == -EBADMSG && skip)
		log_warning("%s; going on with its %" PRIu64 " records", shard->err.text, shard->records);

	(void)pthread_mutex_lock(&fetch->lock);
	if (again) {
		shard->fetched_again = true;
		shard->err.code = 0;
		network_fetch(fetch, shard);
	} else {
		if (shard->err.code == -EBADMSG && skip)
			shard->err.code = 0;
		if (--shard->window->loading == 0) {
			window_complete(shard->window);
			(void)pthread_cond_signal(&fetch->progress);
		}
	}
	(void)pthread_mutex_unlock(&fetch->lock);
}

/* ---- A span: rows of a slot
 * -------------------------------------------------------------------------------------------------- */

struct row_fault {
	uint32_t row, skipped;
	struct error err;
	const char *key;
	uint64_t offset;
};

static void empty_row(const struct fetch *fetch, void *const *rows, uint8_t *empty)
{
	for (uint32_t i = 0; i < fetch->schema.features; i++)
		memset(rows[i], 0, example_row_bytes(&fetch->schema.feature[i]));
	*empty = 1;
}

static void gather_row(struct fetch *fetch, const struct span *span, uint32_t row, uint64_t offset,
		       struct row_fault *fault)
{
	const struct shard *shard;
	const struct record *record = window_record(fetch, span->window, offset, &shard);
	void *rows[EXAMPLE_FEATURES_MAX];
	struct error err = { 0 };
	uint8_t *empty;
	int r;

	for (uint32_t i = 0; i < fetch->schema.features; i++)
		rows[i] = (uint8_t *)ring_column_data(fetch->ring, span->pending->slot, i) +
			  row * example_row_bytes(&fetch->schema.feature[i]);
	empty = (uint8_t *)ring_column_data(fetch->ring, span->pending->slot, fetch->schema.features) + row;
	*empty = 0;
	r = record->bad ? error_set(&err, -EBADMSG, "its data CRC is wrong")
			: example_parse(&fetch->schema, plain_of(shard) + record->offset, record->bytes, rows,
					&err);
	if (r == 0)
		return;
	empty_row(fetch, rows, empty);
	if (fault->skipped++ == 0) {
		fault->row = row;
		fault->key = shard->plan.key;
		fault->offset = record->offset - TFRECORD_HEADER_BYTES;
		(void)error_set(&fault->err, r, "%s: record at byte %" PRIu64 ": %s", shard->plan.key,
				fault->offset, err.text);
	}
}

static void note_fault(const struct fetch *fetch, struct pending *pending, const struct row_fault *fault)
{
	pending->skipped += fault->skipped;
	if (fault->skipped == 0 || fetch->run.config.fetch.bad_record == BAD_RECORD_SKIP)
		return;
	/* The first row's fault is the one that is told, whichever worker finds its own first. */
	if (!pending->err.code || fault->row < pending->err_row) {
		pending->err = fault->err;
		pending->err_row = fault->row;
		pending->err_key = fault->key;
		pending->err_offset = fault->offset;
	}
}

static void gather(struct fetch *fetch, const struct span *span)
{
	struct row_fault fault = { 0 };

	for (uint32_t i = 0; i < span->count; i++)
		gather_row(fetch, span, span->row + i, span->offset + i, &fault);
	if (fault.skipped && fetch->run.config.fetch.bad_record == BAD_RECORD_SKIP)
		log_warning("%s; skipping %u in this batch", fault.err.text, fault.skipped);

	(void)pthread_mutex_lock(&fetch->lock);
	note_fault(fetch, span->pending, &fault);
	span->pending->spans--;
	span->window->spans--;
	(void)pthread_cond_signal(&fetch->progress);
	(void)pthread_mutex_unlock(&fetch->lock);
}

/* Rows first: they feed the ring; the next window can wait. */
void *decode_thread(void *argument)
{
	struct fetch *fetch = argument;

	nic_pin(&fetch->cores.decode);
	for (;;) {
		struct shard *shard = NULL;
		struct span span = { 0 };

		(void)pthread_mutex_lock(&fetch->lock);
		while (fetch->spans_head == fetch->spans_tail && !fetch->to_decode)
			(void)pthread_cond_wait(&fetch->work, &fetch->lock);
		if (fetch->spans_head != fetch->spans_tail) {
			span = fetch->span[fetch->spans_tail++ % FETCH_SPANS_MAX];
		} else {
			shard = fetch->to_decode;
			fetch->to_decode = shard->next;
		}
		(void)pthread_mutex_unlock(&fetch->lock);
		if (shard)
			decode_shard(fetch, shard);
		else
			gather(fetch, &span);
	}
	return NULL;
}
