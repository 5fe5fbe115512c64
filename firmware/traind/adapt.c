/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What `normalization` layers know of the training split comes before step 0: its first segment is read once,
 * nothing is trained, then the run begins with the first batch. Meanwhile there is nothing to keep, so no
 * checkpoint: whoever stops or dies begins anew. The one behind it, of step 0, holds the statistics.
 */
#include "model/adapt.h"
#include "core/base/clock.h"
#include "core/base/log.h"
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

/* 1: the segment is through. */
static int take_slot(struct train *train, const struct ring_slot *slot, struct error *err)
{
	const bool data = slot->kind == RING_DATA;
	struct model_batch batch;
	int r = 0;

	if (slot->kind == RING_ERROR)
		return train_refuse(train, slot, err);
	if (data) {
		train_batch(train, slot, &batch);
		r = adapt_batch(train->adapt, &batch, err);
	}
	ring_release(train->ring, slot);
	alive_progress();
	return r < 0 ? r : !data;
}

int adapt(struct train *train, struct error *err)
{
	const struct ring_slot *slot = NULL;
	uint64_t said_us = 0;
	int r;

	if (!train->adapt)
		return 0;
	do {
		say(train, &said_us);
		r = train_next_slot(train, &slot, err);
		if (r == 0)
			r = take_slot(train, slot, err);
	} while (r == 0);
	if (r < 0 || (r = adapt_end(train->adapt, train->model, err)) < 0)
		return r;
	log_info("adapted to %" PRIu64 " rows of the training split", adapt_rows(train->adapt));
	adapt_closep(&train->adapt);
	train->adapt = NULL;
	r = save_checkpoint(train, true, err);
	return r < 0 ? r : train_attach(train, err);
}
