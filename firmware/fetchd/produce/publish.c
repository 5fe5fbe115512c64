/* SPDX-License-Identifier: Apache-2.0 */
#include "fetchd/produce/publish.h"

#include "core/base/events.h"
#include "data/batch.h"
#include "drivers/notify/alive.h"
#include "fetchd/workers/slot_quarantine.h"

#include <inttypes.h>
#include <string.h>

static void fill_error(const struct ring *ring, struct pending *pending)
{
	struct ring_error *record = ring_error_data(ring, pending->slot);

	memset(record, 0, sizeof(*record));
	(void)snprintf(record->text, sizeof(record->text), "%.*s", (int)sizeof(record->text) - 1,
		       pending->err.text);
	(void)snprintf(record->key, sizeof(record->key), "%s", pending->err_key ? pending->err_key : "");
	record->offset = pending->err_offset;
	pending->slot->error_code = pending->err.code;
	pending->kind = RING_ERROR;
}

/* Adds the slot's bad records to the run's, and to the cursor after the slot. fetch.skip_records_max is for
 * the whole run, and counts bad records and shards whose rest is left out. */
static void count_skipped(struct producer *producer, struct pending *pending)
{
	uint64_t max = producer->fetch->run.config.fetch.skip_records_max;

	producer->skipped += pending->skipped;
	pending->cursor.skipped += producer->skipped;
	if (pending->cursor.skipped > max && !pending->err.code)
		(void)error_set(&pending->err, -EBADMSG,
				"%" PRIu64 " records skipped in this run, fetch.skip_records_max is %" PRIu64,
				pending->cursor.skipped, max);
}

static void fill_header(struct fetch *fetch, struct pending *pending)
{
	struct ring_slot *slot = pending->slot;
	bool data = pending->kind == RING_DATA;

	slot->kind = pending->kind;
	slot->split = pending->split;
	slot->segment = pending->segment;
	slot->batch = pending->batch;
	slot->first_row = pending->first_row;
	slot->cursor = pending->cursor;
	slot->rows = data ? pending->rows : 0;
	slot->valid_rows = data ? pending->rows - pending->skipped - pending->empty : 0;
	if (pending->kind == RING_END_SEGMENT) {
		slot->total_batches = pending->batch;
		slot->total_rows = pending->first_row;
		slot->total_skipped = pending->cursor.skipped;
	}
	/* A worker packs a slot that is sealed. A slot that was sealed after its last row was filled is
	 * packed here.
	 */
	if (data && !pending->packed && batch_is_ragged(&fetch->schema)) {
		struct batch_slot batch = batch_slot(&fetch->schema, fetch->ring, slot);

		batch_pack(&batch, slot->rows, pending->packed_bytes);
	}
	batch_set_bytes(&fetch->schema, ring_geometry_of(fetch->ring), pending->packed_bytes, slot);
	quarantine_seal(fetch, pending);
}

static void count(struct published *published, const struct pending *pending)
{
	published->segment = pending->segment;
	published->batch = pending->batch;
	published->records += pending->kind == RING_DATA ? pending->rows - pending->empty : 0;
	published->skipped += pending->skipped;
}

static void say_error(const struct producer *producer, const struct pending *pending)
{
	event_send(&(struct event){ .id = pending->err.code == -ESTALE ? EVENT_OBJECT_CHANGED
								       : EVENT_SOURCE_FAILED,
				    .run_id = producer->fetch->run.id,
				    .key = pending->err_key,
				    .offset = pending->err_offset },
		   "%s", pending->err.text);
}

static void publish(struct producer *producer, struct pending *pending)
{
	struct ring *ring = producer->fetch->ring;

	count_skipped(producer, pending);
	if (pending->err.code)
		fill_error(ring, pending);
	fill_header(producer->fetch, pending);
	ring_commit(ring);
	count(&producer->published, pending);
	if (pending->kind != RING_ERROR) {
		alive_progress();
		return;
	}
	say_error(producer, pending);
	/* The last slot of its generation: forget what was claimed after it. */
	ring_unclaim(ring);
	producer->tail = producer->head - 1;
	producer->open = NULL;
	producer->filling = false;
	producer->closed = true;
}

bool publish_ready(struct producer *producer)
{
	uint64_t slots = producer->fetch->run.config.ring.slots;
	bool any = false;

	while (producer->tail < producer->head) {
		struct pending *pending = &producer->pending[producer->tail % slots];

		if (!pending->sealed || pending->spans > 0)
			break;
		publish(producer, pending);
		producer->tail++;
		any = true;
	}
	return any;
}
