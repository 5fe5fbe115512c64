/* SPDX-License-Identifier: Apache-2.0 */
#include "fetchd/workers/slot_quarantine.h"

#include "data/batch.h"
#include "data/quarantine.h"
#include "data/tfrecord.h"

#include <string.h>

/* Returns the list of a slot, or `unplaced` without a slot; NULL = fetch.bad_record is "stop". */
static struct ring_quarantine *page_of(struct fetch *fetch, struct pending *pending,
				       struct ring_quarantine *unplaced)
{
	if (fetch->run.config.fetch.bad_record != BAD_RECORD_SKIP)
		return NULL;
	return pending ? batch_slot(&fetch->schema, fetch->ring, pending->slot).quarantine : unplaced;
}

void quarantine_begin(struct fetch *fetch, struct pending *pending, struct ring_quarantine *unplaced)
{
	struct ring_quarantine *page = page_of(fetch, pending, unplaced);

	if (!page)
		return;
	*page = *unplaced;
	memset(unplaced, 0, sizeof(*unplaced));
}

static struct ring_quarantined entry(const struct shard *shard)
{
	enum split split = shard->group->split;

	return (struct ring_quarantined){ .shard = shard->plan.index,
					  .source = (uint16_t)shard->plan.source,
					  .split = (uint16_t)split };
}

uint64_t quarantine_place(const struct fetch *fetch, struct window_record from)
{
	return fetch->objects ? 0 : from.record->offset - TFRECORD_HEADER_BYTES;
}

void quarantine_row(struct fetch *fetch, struct pending *pending, uint32_t row, struct window_record from)
{
	struct ring_quarantine *page = page_of(fetch, pending, NULL);
	struct ring_quarantined record;

	if (!page)
		return;
	record = entry(from.shard);
	record.row = row;
	record.offset = quarantine_place(fetch, from);
	quarantine_note(page, &record);
}

void quarantine_lost(struct fetch *fetch, struct pending *pending, const struct window *window,
		     struct ring_quarantine *unplaced)
{
	struct ring_quarantine *page = page_of(fetch, pending, unplaced);

	for (uint64_t k = 0; page && window->lost > 0 && k < window->group.shards; k++) {
		const struct shard *shard = &window->shard[k];
		struct ring_quarantined record;

		if (!shard->lost)
			continue;
		record = entry(shard);
		record.row = RING_QUARANTINED_REST;
		record.offset = shard->lost_at;
		quarantine_note(page, &record);
	}
}

void quarantine_seal(struct fetch *fetch, struct pending *pending)
{
	const struct ring_quarantine *page = page_of(fetch, pending, NULL);

	if (page)
		pending->slot->column[ring_geometry_of(fetch->ring)->columns - 1].bytes =
			quarantine_bytes(page);
}
