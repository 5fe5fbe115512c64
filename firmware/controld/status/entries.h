/* SPDX-License-Identifier: Apache-2.0 */
/* Makes JSON of entries of the journal, for log.tail, for subscribers and for the errors in the status. */
#pragma once

#include "core/base/json.h"
#include "drivers/journal/journal.h"

/* Makes an object of the journal's current entry. NULL: no memory, or the entry is gone. */
cJSON *entries_object(struct sd_journal *journal, bool with_fields);
/* Returns the newest `lines` entries as an array, oldest first, with the fields of events if the filter asks
 * for events. Returns fewer after reading 20000 entries or 3 MiB of messages. */
MUST_CHECK int entries_tail(const struct journal_filter *filter, uint64_t lines, cJSON **ret_entries,
			    struct error *err);
