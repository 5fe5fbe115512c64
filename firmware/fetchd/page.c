/* SPDX-License-Identifier: Apache-2.0 */
#include "fetchd/page.h"

#include "core/base/clock.h"
#include "core/base/log.h"
#include "fetchd/cache/shard_cache.h"
#include "fetchd/prefetch/prefetch.h"
#include "fetchd/shard/sources.h"

#define PAGE_US 250000

void page_open(struct page *page, const struct fetch *fetch)
{
	struct status *status = &page->status;
	const char *url = fetch->run.config.source[0].store.url;
	uint32_t sources = fetch->sources->count;
	struct error err;

	if (status_open(STATUS_FETCHD, &page->page, &err) < 0)
		log_warning("no status page: %s", err.text);
	(void)snprintf(status->run_id, sizeof(status->run_id), "%s", fetch->run.id);
	status->fetchd.fast = fetch->fast;
	(void)snprintf(status->phase, sizeof(status->phase), "fetching");
	if (sources > 1)
		(void)snprintf(status->text, sizeof(status->text), "%s and %u more", url, sources - 1);
	else
		(void)snprintf(status->text, sizeof(status->text), "%s", url);
}

bool page_is_due(const struct page *page)
{
	return page->page && clock_us() - page->written_us >= PAGE_US;
}

void page_write(struct page *page, const struct producer *producer, const struct tune *tune)
{
	const struct fetch *fetch = producer->fetch;
	struct status_fetchd *status = &page->status.fetchd;

	if (!page->page)
		return;
	status->segment = producer->published.segment;
	status->batch = producer->published.batch;
	status->records = producer->published.records;
	status->skipped = producer->published.skipped;
	status->bytes = status->retries = 0;
	for (uint32_t i = 0; i < fetch->sources->count; i++) {
		const struct store_counters counters = source_counters(&fetch->sources->source[i]);

		status->bytes += counters.bytes_in;
		status->retries += store_counters_retries(&counters);
	}
	prefetch_count(status);
	shard_cache_count(fetch, status);
	tune_show(tune, fetch, status);
	stall_show(&producer->stall, fetch->cache, status);
	status_write(page->page, &page->status);
	page->written_us = clock_us();
}
