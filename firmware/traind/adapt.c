/* SPDX-License-Identifier: Apache-2.0 */
#include "traind/adapt.h"
#include "core/base/clock.h"
#include "core/base/log.h"
#include "drivers/notify/alive.h"
#include "model/adapt.h"
#include "traind/train.h"

#include <inttypes.h>

#define SAY_US 250000u

static void say(struct train *train, uint64_t *said_us)
{
	const uint64_t now = clock_us();

	if (now - *said_us < SAY_US)
		return;
	*said_us = now;
	publish_phase(train, "adapting", "to %" PRIu64 " rows of the training split",
		      adapt_rows(train->adapt));
}

/* Adds the batch of a slot to the statistics. Returns 1 at the slot that ends the segment. */
static int read_slot(struct train *train, const struct ring_slot *slot, struct error *err)
{
	const bool data = slot->kind == RING_DATA;
	const struct cursor after = slot->cursor;
	struct model_batch batch;
	int r = 0;

	if (data) {
		batches_read(train, slot, &batch);
		r = adapt_batch(train->adapt, &batch, err);
		model_cursor_set(train->model, &after);
	}
	ring_release(train->ring, slot);
	alive_progress();
	return r < 0 ? r : !data;
}

/* Passes over the first segment. The model's cursor follows, and is `start` again at the end. */
static int pass_over(struct train *train, const struct cursor *start, struct error *err)
{
	const struct ring_slot *slot = NULL;
	uint64_t said_us = 0;
	int r;

	do {
		say(train, &said_us);
		r = rounds_next(train, &slot, err);
		if (r == 0 && slot) /* without a slot the rows are those of other ranks */
			r = read_slot(train, slot, err);
	} while (r == 0);
	model_cursor_set(train->model, start);
	return r < 0 ? r : 0;
}

int adapt(struct train *train, struct error *err)
{
	struct cursor start;
	int r;

	if (!train->adapt)
		return 0;
	model_cursor_get(train->model, &start);
	if ((r = pass_over(train, &start, err)) < 0 || (r = world_collect_adapt(train, err)) < 0 ||
	    (r = adapt_end(train->adapt, train->model, err)) < 0)
		return r;
	log_info("adapted to %" PRIu64 " rows of the training split", adapt_rows(train->adapt));
	adapt_closep(&train->adapt);
	train->adapt = NULL;
	r = save_checkpoint(train, true, err);
	if (r == 0)
		batches_attach(train);
	return r;
}
