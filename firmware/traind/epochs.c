/* SPDX-License-Identifier: Apache-2.0 */
#include "traind/epochs.h"
#include "core/base/log.h"
#include "traind/train.h"

#include <inttypes.h>

int epochs_restore(struct train *train, const char *path, const struct safetensors *file, struct error *err)
{
	int r = best_restore(&train->best, path, file, err);

	if (r == 0 && train->run.config.reduce_on_plateau.monitor != MONITOR_NONE)
		model_learning_rate_set(train->model, train->best.state.plateau.rate);
	return r;
}

/* ---- At the end of an epoch ---- */

/* Sets the cursor after the last epoch: to the test pass, or to the run's end. */
static int leave_training(struct train *train, struct error *err)
{
	CLEANUP(plan_closep) struct plan *plan = NULL;
	enum split split = SPLIT_VALIDATION;
	struct cursor cursor;
	char path[PATH_BYTES];
	int r = plan_open(path_of(PATH_RUN, "plan", path), &plan, err);

	if (r < 0)
		return r;
	model_cursor_get(train->model, &cursor);
	cursor.segment = plan_settings_of(plan)->epochs - 1;
	cursor.ended = !plan_next_segment(plan, &split, &cursor.segment);
	cursor.split = split;
	cursor.batch = cursor.rows = 0;
	for (uint32_t lane = 0; lane < plan_settings_of(plan)->lanes; lane++)
		cursor.place[lane] = (struct cursor_place){ 0 };
	model_cursor_set(train->model, &cursor);
	return 0;
}

static void say(const struct train *train, uint64_t epoch, const struct callbacks_verdict *verdict)
{
	const struct callbacks *state = &train->best.state;

	if (verdict->save)
		log_info("epoch %" PRIu64 ": the best weights so far, saved", epoch + 1);
	if (verdict->reduce)
		log_notice("epoch %" PRIu64 ": no improvement for %" PRIu64
			   " epochs, the learning rate becomes %g",
			   epoch + 1, train->run.config.reduce_on_plateau.patience, state->plateau.rate);
	if (verdict->stop)
		log_notice("epoch %" PRIu64 ": no improvement for %" PRIu64
			   " epochs, stopping early; the best "
			   "was epoch %.0f, %g",
			   epoch + 1, train->run.config.early_stopping.patience,
			   state->stopping.best_epoch + 1, state->stopping.best);
}

/* Rank 0 decides for all ranks. */
static int decide(struct train *train, uint64_t epoch, struct callbacks_verdict *ret_verdict,
		  struct error *err)
{
	struct callbacks *state = &train->best.state;
	int r;

	*ret_verdict = (struct callbacks_verdict){ 0 };
	if (world_leads(&train->world)) {
		const struct callbacks_figures figures = history_figures(&train->record.history, epoch);

		*ret_verdict = callbacks_epoch(&train->run.config, state, epoch, &figures,
					       model_learning_rate(train->model));
		say(train, epoch, ret_verdict);
	}
	r = world_broadcast(train, ret_verdict, sizeof(*ret_verdict), 0, err);
	return r < 0 ? r : world_broadcast(train, state, sizeof(*state), 0, err);
}

int epochs_end(struct train *train, uint64_t epoch, bool *ret_stop, struct error *err)
{
	const struct callbacks *state = &train->best.state;
	struct callbacks_verdict verdict;
	int r;

	writer_wait(train); /* the writer thread reads train->best */
	if ((r = decide(train, epoch, &verdict, err)) < 0)
		return r;
	if (verdict.save)
		r = best_save(&train->best, train->model, err);
	if (verdict.reduce)
		model_learning_rate_set(train->model, state->plateau.rate);
	if (r == 0 && verdict.stop)
		r = leave_training(train, err);
	*ret_stop = verdict.stop;
	return r;
}

/* ---- At the end of training ---- */

int epochs_finish(struct train *train, struct error *err)
{
	int r;

	if (train->finished)
		return 0;
	/* If there are best weights, use them as trained, without the moving average: those weights were
	 * evaluated. */
	r = train->best.filled ? best_load(&train->best, train->model, err)
			       : model_finalize(train->model, err);
	if (r == 0 && train->best.filled)
		log_info("the best epoch's weights are the model");
	train->finished = r == 0;
	return r;
}
