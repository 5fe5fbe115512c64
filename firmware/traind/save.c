/* SPDX-License-Identifier: Apache-2.0 */
#include "traind/save.h"
#include "core/base/clock.h"
#include "core/base/events.h"
#include "core/run/spool.h"
#include "traind/figures.h"
#include "traind/train.h"

#include <inttypes.h>

void save_open(struct train *train)
{
	train->save.cadence = cadence_of(&train->run.config, clock_us());
}

static bool is_due(struct train *train)
{
	struct save *save = &train->save;
	uint64_t worked_us;

	/* While the writer thread writes, the cost of its file is not known yet, so no checkpoint by time is
	 * due. A checkpoint by steps is due in any case: save_checkpoint() then skips and counts it. */
	if (writer_is_busy(&train->writer, &worked_us) && !save->cadence.every_steps)
		return false;
	cadence_cost(&save->cadence, save->stalled_us, worked_us);
	return cadence_is_due(&save->cadence, model_step(train->model), clock_us());
}

void save_after_step(struct train *train)
{
	train->save.due = is_due(train);
}

int save_if_due(struct train *train, struct error *err)
{
	int r = train->save.due ? save_checkpoint(train, false, err) : 0;

	train->save.due = false;
	return r;
}

static void skip(struct train *train, uint64_t step)
{
	const uint64_t skipped = ++train->save.skipped;

	event_send(&(struct event){ .id = EVENT_CHECKPOINT_SKIPPED,
				    .run_id = train->run.id,
				    .step = step,
				    .count = skipped },
		   "step %" PRIu64 ": the last checkpoint is still being written, skipping (%" PRIu64
		   " so far)",
		   step, skipped);
}

bool save_take_due(struct train *train)
{
	const bool due = train->save.due;
	uint64_t unused;

	train->save.due = false;
	if (!due || !writer_is_busy(&train->writer, &unused))
		return due;
	skip(train, model_step(train->model));
	return false;
}

static int write_checkpoint(struct train *train, bool wait, struct error *err)
{
	const uint64_t step = model_step(train->model), start_us = clock_us();
	struct save *save = &train->save;
	uint64_t unused, saved_step;
	char name[SPOOL_NAME_BYTES];
	int r;

	if (wait)
		writer_wait(train);
	if (writer_is_busy(&train->writer, &unused)) {
		skip(train, step);
		return 0;
	}
	r = record_write(train, err);
	if (r < 0 && !figures_may_wait(r))
		return r;
	if (writer_saved(&train->writer, &saved_step, &unused) && saved_step == step)
		return 0;
	if (r < 0) {
		writer_say_failed(train, step, err);
		return 0;
	}
	(void)spool_path(train->run.id, spool_checkpoint_name(step, name), train->writer.path);
	r = writer_start(train, false, err);
	cadence_started(&save->cadence, clock_us());
	save->stalled_us = clock_us() - start_us;
	return r;
}

/* Rank 0 writes what it has collected of all ranks. */
static int save_whole(struct train *train, bool wait, struct error *err)
{
	struct error own_err;
	bool whole;
	int r = world_collect(train, &whole, err), parted;

	if (r < 0)
		return r;
	if (whole && world_leads(&train->world))
		r = write_checkpoint(train, wait, err);
	parted = world_part(train, &own_err);
	if (r == 0 && parted < 0)
		*err = own_err;
	return r < 0 ? r : parted;
}

int save_checkpoint(struct train *train, bool wait, struct error *err)
{
	enum stage before;
	int r;

	if (train->adapt)
		return 0;
	before = stages_enter(&train->stages, STAGE_CHECKPOINTS);
	r = save_whole(train, wait, err);
	(void)stages_enter(&train->stages, before);
	return r;
}

int save_model(struct train *train, struct error *err)
{
	struct writer *writer = &train->writer;
	int r;

	writer_wait(train);
	(void)spool_path(train->run.id, WRITER_MODEL_NAME, writer->path);
	r = writer_start(train, true, err);
	if (r < 0)
		return r;
	writer_wait(train);
	if (writer->err.code)
		*err = writer->err;
	return writer->err.code;
}
