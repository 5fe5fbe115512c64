/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The main thread's own: where production stands, and the slots between claim and commit.
 * Order: (producer_start -> (produce -> commit.c publishes what is whole)*)* for each generation. The lock is
 * held in every call. produce() does one small step and never sleeps.
 */
#pragma once

#include "core/status.h"
#include "fetchd/fetch.h"

struct producer {
	struct status_page *page; /* NULL: it cannot be written */
	struct status status;
	uint64_t written_us;
	struct fetch *fetch;
	uint64_t generation;
	bool closed;          /* the generation ended: END_RUN or ERROR was claimed */
	struct cursor cursor; /* behind everything claimed so far, the open slot's rows not counted */
	struct window window[2];
	unsigned current;     /* the window that cursor.place[0] is in, when it is loaded for that place */
	struct pending *open; /* the slot being filled with rows */
	struct pending *pending;
	uint64_t head, tail; /* pending[tail .. head) modulo slots, oldest first */
	uint64_t skipped; /* rows, published in this generation; cursor.skipped holds what came before it */
};

/* What to do next: go on, wait for the reader, or wait for the workers. BROKEN: the reader's tail makes no
 * sense. */
enum step { STEP_DONE, STEP_WAIT_RING, STEP_WAIT_WORK, STEP_BROKEN };

enum step produce(struct producer *producer);

/* End the generation with an ERROR slot; `key` may be NULL. */
enum step produce_error(struct producer *producer, const struct error *err, const char *key, uint64_t offset);

/* Whether a cursor is a place of this plan. Errors: -EBADMSG what it says. */
MUST_CHECK int cursor_check(const struct plan *plan, const struct cursor *cursor, struct error *err);
