/* SPDX-License-Identifier: Apache-2.0 */
#include "fetchd/produce/end.h"

#include "fetchd/produce/segment.h"
#include "fetchd/produce/slot.h"

#include <inttypes.h>

/* Refuses a validation without rows that a callback monitors: the figure of 0 rows would be the best of all.
 */
static enum step refuse_unvalidated(struct producer *producer, const char *monitor)
{
	const struct plan *plan = producer->fetch->plan;
	const char *filter = plan_settings_of(plan)->filter;
	struct error err;

	(void)error_set(&err, -EBADMSG,
			"%s: found a metric of the validation, whose %" PRIu64
			" shards hold no rows%s%s%s, allowed: \"loss\" or \"accuracy\", or shards with rows",
			monitor, plan_shards(plan, SPLIT_VALIDATION), *filter ? " of order.filter \"" : "",
			filter, *filter ? "\"" : "");
	return slot_fail(producer, &err, NULL, 0);
}

/* Refuses a training segment without a batch: the run would end with its initial weights. */
static enum step refuse_untrained(struct producer *producer)
{
	const struct plan *plan = producer->fetch->plan;
	const struct plan_settings *settings = producer->fetch->settings;
	char besides[FILTER_BYTES + 64] = "";
	struct error err;

	if (settings->skip_rows || *settings->filter)
		(void)snprintf(besides, sizeof(besides), ", order.skip_rows %" PRIu64 ", order.filter \"%s\"",
			       settings->skip_rows, settings->filter);
	(void)error_set(
		&err, -EBADMSG,
		"the %" PRIu64 " train shards hold %u rows, too few for a batch: run.batch_rows is %" PRIu64
		", order.remainder \"%s\"%s",
		plan_shards(plan, SPLIT_TRAIN), producer->open ? producer->open->rows : 0,
		settings->batch_rows, settings->remainder == REMAINDER_DROP ? "drop" : "keep", besides);
	return slot_fail(producer, &err, NULL, 0);
}

/* Whether the segment is known to be empty. With several ranks it never is: another rank may have rows where
 * this one has none. */
static bool is_empty(const struct producer *producer)
{
	return producer->cursor.batch == 0 && producer->fetch->world == 1;
}

enum step end_segment(struct producer *producer)
{
	const struct plan_settings *settings = producer->fetch->settings;
	struct pending *pending = producer->open;
	const char *monitor = config_validation_monitor(&producer->fetch->run.config);
	bool train = producer->cursor.split == SPLIT_TRAIN;
	enum step step;

	if (pending && pending->rows > 0 && (settings->remainder == REMAINDER_KEEP || !train)) {
		slot_batch(producer);
		return STEP_DONE;
	}
	if (train && is_empty(producer))
		return refuse_untrained(producer);
	if (producer->cursor.split == SPLIT_VALIDATION && monitor && is_empty(producer))
		return refuse_unvalidated(producer, monitor);
	step = pending ? STEP_DONE : slot_claim(producer, RING_END_SEGMENT, &pending);
	if (step != STEP_DONE)
		return step;
	pending->kind = RING_END_SEGMENT;
	pending->rows = 0;
	producer->open = NULL;
	producer->cursor = segment_next(producer);
	segment_begin(producer);
	slot_seal(producer, pending);
	return STEP_DONE;
}

enum step end_run(struct producer *producer)
{
	struct pending *pending;
	enum step step = slot_claim(producer, RING_END_RUN, &pending);

	if (step != STEP_DONE)
		return step;
	slot_seal(producer, pending);
	producer->closed = true;
	return STEP_DONE;
}
