/* SPDX-License-Identifier: Apache-2.0 */
#include "traind/loop.h"
#include "core/base/events.h"
#include "core/base/log.h"
#include "drivers/notify/alive.h"
#include "traind/adapt.h"
#include "traind/epochs.h"
#include "traind/figures.h"
#include "traind/pictures.h"
#include "traind/same.h"
#include "traind/session.h"
#include "traind/train.h"
#include "traind/wait.h"

#include <inttypes.h>

#define SPACE_WAIT_MS 1000u

/* Longer than a device needs to compile all kernels of the first batches. */
#define WARM_LEASE_S 600u

/* Tells a person why nothing seems to happen during the first batches of a split. */
static void say_compiling(struct train *train, enum split split)
{
	if (!model_compiles(train->model))
		return;
	log_info("compiling the kernels of this network for the %s split; later runs find them on the disk",
		 split_name(split));
	publish_phase(train, "compiling", "building the kernels of this network for the %s split, once",
		      split_name(split));
	train->compiling = true;
}

static void end_warm(struct train *train)
{
	train->compiling = false;
	alive_lease_end(train->worker);
}

/* ---- A test that cannot be made ---- */

/* Writes the reason into run.json. */
static int note_test(const char *why, struct error *err)
{
	CLEANUP(json_free) cJSON *members = cJSON_CreateObject();

	if (!cJSON_AddItemToObject(members, "test_given_up", json_string(why)))
		return error_set(err, -ENOMEM, "run.json: no memory");
	return run_note_members(members, err);
}

/* A number of a test record, as `err` says, makes the loss NaN or is no class. The test changes no weight, so
 * the trained model is as good as before, and the run finishes without figures of the test. */
static int give_up_test(struct train *train, struct error *err)
{
	const struct error why = *err;
	int r = model_fault_forget(train->model, err);

	if (r < 0)
		return r;
	train->test_fault = why;
	if (!world_leads(&train->world))
		return 0; /* rank 0 hears of it at the end of the test */
	event_send(&(struct event){ .id = EVENT_TEST_FAILED,
				    .run_id = train->run.id,
				    .step = model_step(train->model) },
		   "the test split: %s; the run finishes without figures of the test", why.text);
	return note_test(why.text, err);
}

/* Makes it known to all ranks that one of them cannot make the test. */
static int agree_on_test(struct train *train, struct error *err)
{
	struct model_metrics metrics;
	int r = train->test_fault.code ? 0 : figures_get(train->model, &metrics, err);

	if (r == -EDOM)
		r = give_up_test(train, err);
	if (r < 0)
		return r;
	*err = train->test_fault;
	r = world_all(train, err->code, err);
	if (r != -EDOM)
		return r;
	train->world.agreed = false; /* the run goes on */
	return train->test_fault.code ? 0 : give_up_test(train, err);
}

/* Gives a slot of the test back without a look at it. */
static int pass_over(struct train *train, const struct ring_slot *slot, struct error *err)
{
	const struct cursor after = slot->cursor;
	const int r = batches_release(train, true, err);

	ring_release(train->ring, slot);
	model_cursor_set(train->model, &after);
	alive_progress();
	return r;
}

/* ---- Batches ---- */

/* Does what all ranks do together after some of the training steps. `r` and `err` are the result of what this
 * rank did after the step. An error of one rank ends all ranks here, because the others would wait for this
 * one. An error before this call ends the job of MPI. A NaN may be known to one rank, while the devices of
 * the others still work: wait for them. */
static int meet(struct train *train, int r, struct error *err)
{
	const bool compares = same_due(train), draws = curves_due(train);
	struct model_metrics metrics;

	if (!compares && !draws)
		return r;
	if (r == 0 && train->world.count > 1)
		r = figures_get(train->model, &metrics, err);
	r = world_all(train, r, err);
	if (r == 0 && compares)
		r = same_weights(train, err);
	if (r == 0 && draws)
		r = world_metrics(train, &metrics, err);
	return r == 0 && draws && world_leads(&train->world) ? curves_step(train, &metrics, false, err) : r;
}

/* Does the work after a batch that was enqueued: checkpoint, figures, curves. With `wait` waits for the
 * device. */
static int end_batch(struct train *train, enum split split, uint64_t segment, uint32_t rows, bool wait,
		     struct error *err)
{
	int r;

	if (split == SPLIT_TRAIN && world_leads(&train->world))
		save_after_step(train);
	publish_batch(train, split, segment, rows);
	alive_progress();
	r = batches_release(train, wait, err);
	if (wait)
		end_warm(train);
	if (split == SPLIT_TRAIN)
		r = meet(train, r, err);
	return r == 0 && world_leads(&train->world) ? report_progress(train, split, segment, rows, err) : r;
}

/* Takes part in a batch for which the lanes of this rank have no rows. */
static int run_empty(struct train *train, struct error *err)
{
	const struct model_batch *batch = rounds_empty(train);
	int r = batch ? model_train(train->model, batch, err) : 0;

	return r == 0 && batch ? end_batch(train, SPLIT_TRAIN, train->rounds.segment, 0, false, err) : r;
}

/* Trains on or evaluates a slot. fetchd can write to the slot's header at any time: read it once, before the
 * slot is given back. */
static int run_batch(struct train *train, const struct ring_slot *slot, struct error *err)
{
	const uint64_t segment = slot->segment;
	const enum split split = batches_split(slot);
	const struct cursor after = slot->cursor;
	struct model_batch batch;
	bool compiles, warm;
	int r = save_if_due(train, err);

	batches_read(train, slot, &batch);
	stages_batch(&train->stages, split);
	/* A device may compile kernels anew for another number of rows, which the last batch of an epoch has.
	 */
	compiles = train->warm[split] < WARM_BATCHES || batch.rows != model_batch_rows(train->model);
	if (compiles)
		alive_lease(train->worker, "building kernels", WARM_LEASE_S);
	if (train->warm[split] == 0)
		say_compiling(train, split);
	if (r == 0 && split == SPLIT_TEST)
		r = epochs_finish(train, err);
	if (r == 0 && split == SPLIT_TRAIN && model_step(train->model) == 0 && world_leads(&train->world))
		pictures_write(train, &batch);
	if (r == 0)
		r = split == SPLIT_TRAIN ? model_train(train->model, &batch, err)
					 : model_evaluate(train->model, &batch, err);
	if (r == -EDOM && split == SPLIT_TEST && (r = give_up_test(train, err)) == 0)
		return pass_over(train, slot, err);
	if (r == 0)
		r = batches_add_left_out(train, slot, err);
	if (r < 0)
		return r;
	model_cursor_set(train->model, &after);
	/* Wait for the device, which compiles the kernels of these batches long after they are enqueued. */
	train->warm[split] += train->warm[split] < WARM_BATCHES;
	warm = compiles && train->warm[split] == WARM_BATCHES;
	r = end_batch(train, split, segment, batch.valid_rows, warm, err);
	return r == -EDOM && split == SPLIT_TEST ? give_up_test(train, err) : r;
}

/* Tells whether a trial of a series rests once so many epochs are done. */
static bool rests_after(const struct train *train, uint64_t epochs)
{
	const uint64_t rest = train->run.rest_after_epoch;

	return rest && epochs >= rest && epochs < train->run.config.run.epochs;
}

static int leave_rung(struct train *train, struct error *err)
{
	train->want.rest = RUN_STOPPED;
	train->want.rung = true;
	train->world.agreed = true; /* each rank comes here */
	if (world_leads(&train->world))
		session_end(train, TFEVENTS_SUCCESS);
	return error_set(err, -ECANCELED, "the rung has ended");
}

/* Reports the metrics of a segment, which is complete in all ranks. */
static int report(struct train *train, enum split split, uint64_t segment, struct error *err)
{
	int r;

	if (train->world.count > 1 && split == SPLIT_TEST && (r = agree_on_test(train, err)) < 0)
		return r;
	if (train->test_fault.code)
		return 0;
	r = world_collect_sums(train, err);
	if (r == 0)
		r = world_leads(&train->world) ? report_segment(train, split, segment, err)
					       : report_counts(train, split, err);
	return r == -EDOM && split == SPLIT_TEST ? give_up_test(train, err) : r;
}

/* Writes metrics first, then the checkpoint. After a kill in between the next process writes the metrics
 * again, and the event files mark the first ones void. */
static int end_segment(struct train *train, const struct ring_slot *slot, struct error *err)
{
	const enum split split = batches_split(slot);
	const uint64_t segment = slot->segment, batches = slot->total_batches;
	struct cursor after = slot->cursor;
	/* the segment is the last one of its epoch */
	const bool last =
		split == SPLIT_VALIDATION || (split == SPLIT_TRAIN && after.split != SPLIT_VALIDATION);
	bool stop = false;
	int r = batches_add_left_out(train, slot, err);

	if (r == 0)
		r = batches_release(train, true, err);
	ring_release(train->ring, slot);
	end_warm(train); /* not ended yet if the split has fewer than WARM_BATCHES batches */
	if (r == 0)
		r = report(train, split, segment, err);
	if (r < 0 || (r = model_metrics_reset(train->model, err)) < 0)
		return r;
	publish_segment(train, split, batches);
	model_cursor_set(train->model, &after);
	train->save.due = false;
	if (last)
		r = epochs_end(train, segment, &stop, err);
	if (r == 0 && split == SPLIT_TRAIN)
		r = save_checkpoint(train, true, err);
	/* Training ends early: attach again, because the ring holds batches of epochs that are left out. */
	if (r == 0 && stop)
		batches_attach(train);
	curves_rest(train);
	return r == 0 && last && !stop && rests_after(train, segment + 1) ? leave_rung(train, err) : r;
}

/* Writes the finished model. While the disk is full, waits for space: the trained weights are never given
 * up. */
static int end_run(struct train *train, struct error *err)
{
	uint64_t said_us = 0;
	int r;

	if ((r = epochs_finish(train, err)) < 0)
		return r;
	record_changed(train); /* write the time until now */
	for (;;) {
		if ((r = record_write(train, err)) == 0 && (r = save_model(train, err)) == 0) {
			session_end(train, TFEVENTS_SUCCESS);
			r = run_state_set(RUN_FINISHED, err);
		}
		if (r != -ENOSPC && r != -EDQUOT)
			break;
		if (!said_us)
			event_send(&(struct event){ .id = EVENT_DISK_FULL,
						    .run_id = train->run.id,
						    .step = model_step(train->model) },
				   "%s", err->text);
		wait_for(train, SPACE_WAIT_MS, "space on the disk", &said_us);
		if ((r = wait_stopped(err)) < 0)
			return r;
	}
	if (r == 0)
		event_send(&(struct event){ .id = EVENT_RUN_FINISHED,
					    .run_id = train->run.id,
					    .step = model_step(train->model) },
			   "%s: finished after %" PRIu64 " steps", train->run.id, model_step(train->model));
	return r;
}

static int run_slots(struct train *train, struct error *err)
{
	for (;;) {
		const struct ring_slot *slot = NULL;
		bool ends;
		enum split split;
		int r = rounds_next(train, &slot, err);

		if (r < 0)
			return r;
		if (slot && slot->kind == RING_END_RUN) {
			ring_release(train->ring, slot);
			train->rounds.over = train->world.agreed = true;
			return world_leads(&train->world) ? end_run(train, err) : 0;
		}
		split = slot ? batches_split(slot) : SPLIT_TRAIN;
		ends = slot && slot->kind == RING_END_SEGMENT;
		if (!slot)
			r = run_empty(train, err);
		else if (ends)
			r = end_segment(train, slot, err);
		else
			r = train->test_fault.code ? pass_over(train, slot, err)
						   : run_batch(train, slot, err);
		/* The error's text names a row of the pass: add the split. */
		if (r == -EDOM && split != SPLIT_TRAIN)
			return error_prefix(err, "the %s split", split_name(split));
		/* All ranks hear of it in the next round. */
		if (r == -EDOM && !ends && train->world.count > 1 && !train->world.agreed)
			continue;
		if (r < 0)
			return r;
	}
}

/* Attaches to the ring, unless the run rests already: the process before was killed after the last checkpoint
 * of the rung. */
static int begin(struct train *train, struct error *err)
{
	struct cursor cursor;

	model_cursor_get(train->model, &cursor);
	if (cursor.split == SPLIT_TRAIN && rests_after(train, cursor.segment))
		return leave_rung(train, err);
	batches_attach(train);
	return 0;
}

int loop_run(struct train *train, struct error *err)
{
	struct error save_err;
	int r = begin(train, err);

	if (r == 0)
		r = adapt(train, err);
	curves_rest(train);
	if (r == 0)
		r = run_slots(train, err);
	/* The run must stop between two batches: with a checkpoint nothing is lost. During an evaluation the
	 * disk already has a checkpoint of this step, and the next start evaluates the segment again. */
	if (r == -ECANCELED && (train->world.count == 1 || !train->rounds.over) &&
	    save_checkpoint(train, true, &save_err) < 0)
		event_send(&(struct event){ .id = EVENT_CHECKPOINT_FAILED,
					    .run_id = train->run.id,
					    .step = model_step(train->model) },
			   "%s, going back to the last checkpoint", save_err.text);
	return r;
}
