/* SPDX-License-Identifier: Apache-2.0 */
/* Entries of the journal as JSON, for log.tail, for subscribers and for the errors in the status. */
#pragma once

#include "core/base/json.h"
#include "drivers/journal/journal.h"

/* The entry at which the journal stands. NULL: no memory, or the entry is gone. */
cJSON *entries_object(struct sd_journal *journal, bool with_fields);
/* The newest `lines` entries as an array, oldest first, with the fields of events where the filter asks for
 * events. Stops early at 20000 entries looked at or 3 MiB of messages. */
MUST_CHECK int entries_tail(const struct journal_filter *filter, uint64_t lines, cJSON **ret_entries,
			    struct error *err);
