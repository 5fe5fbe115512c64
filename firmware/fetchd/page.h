/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes kiln-fetchd's status page (core/run/status.h) four times a second: what the process does, and the
 * reasons of its tuning. Without a page the run goes on. The producer calls, with fetch->lock held.
 */
#pragma once

#include "fetchd/produce/producer.h"
#include "fetchd/tune.h"

struct page {
	struct status_page *page; /* NULL = it cannot be written */
	struct status status;
	uint64_t written_us;
};

void page_open(struct page *page, const struct fetch *fetch);
/* Whether the last page is old enough. */
bool page_is_due(const struct page *page);
void page_write(struct page *page, const struct producer *producer, const struct tune *tune);
