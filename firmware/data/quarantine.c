/* SPDX-License-Identifier: Apache-2.0 */
#include "data/quarantine.h"

#include <inttypes.h>
#include <string.h>

static int compare(const struct ring_quarantined *a, const struct ring_quarantined *b)
{
	const uint64_t x[] = { a->row, a->source, a->split, a->shard, a->offset };
	const uint64_t y[] = { b->row, b->source, b->split, b->shard, b->offset };

	for (size_t i = 0; i < sizeof(x) / sizeof(x[0]); i++)
		if (x[i] != y[i])
			return x[i] < y[i] ? -1 : 1;
	return 0;
}

void quarantine_note(struct ring_quarantine *page, const struct ring_quarantined *record)
{
	/* A broken reader can write to the page, which may lie in shared memory: bound the count. */
	uint32_t records = page->records < RING_QUARANTINED_MAX ? page->records : RING_QUARANTINED_MAX;
	uint32_t at = records;

	while (at > 0 && compare(record, &page->record[at - 1]) < 0)
		at--;
	if (records == RING_QUARANTINED_MAX)
		page->more++;
	else
		records++;
	if (at < records) {
		memmove(&page->record[at + 1], &page->record[at],
			(records - 1 - at) * sizeof(page->record[0]));
		page->record[at] = *record;
	}
	page->records = records;
}

uint64_t quarantine_bytes(const struct ring_quarantine *page)
{
	return page->records
		       ? offsetof(struct ring_quarantine, record) + page->records * sizeof(page->record[0])
		       : 0;
}

int quarantine_read(const void *column, uint64_t bytes, struct ring_quarantine *ret_page, struct error *err)
{
	struct ring_quarantine page = { 0 };

	if (bytes <= sizeof(page))
		memcpy(&page, column, bytes);
	if (bytes > sizeof(page) || page.records > RING_QUARANTINED_MAX || quarantine_bytes(&page) != bytes)
		return error_set(err, -EUCLEAN,
				 "a slot's list of skipped records: found %u records in %" PRIu64
				 " bytes, expected %zu bytes each and at most %u",
				 page.records, bytes, sizeof(page.record[0]), RING_QUARANTINED_MAX);
	*ret_page = page;
	return 0;
}
