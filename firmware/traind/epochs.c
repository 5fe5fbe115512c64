/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What follows from an epoch's figures (model/learn/callbacks.h): the best weights, the learning rate, the
 * end of training. In a checkpoint: CALLBACKS_TENSOR, and BEST_PREFIX with each parameter's name.
 */
#include "core/base/log.h"
#include "model/formats/names.h"
#include "traind/train.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

int epochs_open(struct train *train, struct error *err)
{
	struct epochs *epochs = &train->epochs;
	uint32_t count;
	const struct model_tensor *tensors = model_tensors(train->model, &count);

	callbacks_start(&epochs->state);
	if (!callbacks_keep_best(&train->run.config))
		return 0;
	epochs->best = calloc(count, sizeof(*epochs->best));
	if (!epochs->best)
		return error_set(err, -ENOMEM, "the best weights: no memory");
	for (uint32_t i = 0; i < count; i++) {
		struct best *best = &epochs->best[epochs->best_count];

		if (!name_is_parameter(tensors[i].name))
			continue;
		(void)snprintf(best->name, sizeof(best->name), BEST_PREFIX "%s", tensors[i].name);
		best->tensor = tensors[i];
		best->data = malloc(tensors[i].bytes);
		if (!best->data)
			return error_set(err, -ENOMEM, "the best weights: no memory for %" PRIu64 " bytes",
					 tensors[i].bytes);
		epochs->best_count++;
	}
	return 0;
}

void epochs_close(struct train *train)
{
	for (uint32_t i = 0; i < train->epochs.best_count; i++)
		free(train->epochs.best[i].data);
	free(TAKE(train->epochs.best));
	train->epochs.best_count = 0;
}

/* ---- In a checkpoint ---- */

uint32_t epochs_tensors(const struct epochs *epochs, struct model_tensor *ret_tensors)
{
	uint32_t count = 0;

	ret_tensors[count++] = (struct model_tensor){ .name = CALLBACKS_TENSOR,
						      .dtype = "F64",
						      .rank = 1,
						      .shape = { CALLBACKS_NUMBERS },
						      .data = &epochs->state,
						      .bytes = sizeof(epochs->state) };
	for (uint32_t i = 0; epochs->best_kept && i < epochs->best_count; i++) {
		ret_tensors[count] = epochs->best[i].tensor;
		ret_tensors[count].name = epochs->best[i].name;
		ret_tensors[count++].data = epochs->best[i].data;
	}
	return count;
}

static const struct model_tensor *find(const struct safetensors *file, const char *name)
{
	uint32_t count;
	const struct model_tensor *tensors = safetensors_tensors(file, &count);

	for (uint32_t i = 0; i < count; i++)
		if (strcmp(tensors[i].name, name) == 0)
			return &tensors[i];
	return NULL;
}

/* All of them, or none: what is to be kept may not have been so in the night before. */
static int restore_best(struct train *train, const char *path, const struct safetensors *file,
			struct error *err)
{
	struct epochs *epochs = &train->epochs;

	if (epochs->best_count == 0 || !find(file, epochs->best[0].name))
		return 0;
	for (uint32_t i = 0; i < epochs->best_count; i++) {
		const struct best *best = &epochs->best[i];
		const struct model_tensor *found = find(file, best->name);

		if (!found || found->bytes != best->tensor.bytes)
			return error_set(err, -EBADMSG, "%s: %s: found %" PRIu64 " bytes, expected %" PRIu64,
					 path, best->name, found ? found->bytes : 0, best->tensor.bytes);
		memcpy(best->data, found->data, found->bytes);
	}
	epochs->best_kept = true;
	return 0;
}

int epochs_restore(struct train *train, const char *path, const struct safetensors *file, struct error *err)
{
	const struct model_tensor *found = find(file, CALLBACKS_TENSOR);
	struct callbacks *state = &train->epochs.state;

	if (!found)
		return 0;
	if (found->bytes != sizeof(*state))
		return error_set(err, -EBADMSG,
				 "%s: " CALLBACKS_TENSOR ": found %" PRIu64 " bytes, expected %zu", path,
				 found->bytes, sizeof(*state));
	memcpy(state, found->data, sizeof(*state));
	if (state->version != CALLBACKS_VERSION)
		return error_set(err, -EBADMSG, "%s: " CALLBACKS_TENSOR ": found version %g, expected %d",
				 path, state->version, CALLBACKS_VERSION);
	if (train->run.config.reduce_on_plateau.monitor != MONITOR_NONE)
		model_learning_rate_set(train->model, state->plateau.rate);
	return restore_best(train, path, file, err);
}

/* ---- At the end of an epoch ---- */

/* The weights as they are, on the host: a copy of them is made once an epoch at most. */
static int keep_weights(struct train *train, struct error *err)
{
	struct epochs *epochs = &train->epochs;
	const struct model_tensor *tensors;
	uint32_t count, kept = 0;
	int r = model_snapshot(train->model, err);

	if (r < 0)
		return r;
	r = model_snapshot_tensors(train->model, &tensors, &count, err);
	for (uint32_t i = 0; r == 0 && i < count; i++)
		if (name_is_parameter(tensors[i].name))
			memcpy(epochs->best[kept++].data, tensors[i].data, tensors[i].bytes);
	model_snapshot_release(train->model);
	epochs->best_kept = r == 0;
	return r;
}

/* The place behind the last epoch: the test pass, or the run's end. */
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
	const struct callbacks *state = &train->epochs.state;

	if (verdict->keep)
		log_info("epoch %" PRIu64 ": the best weights so far, kept", epoch + 1);
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

int epochs_end(struct train *train, uint64_t epoch, bool *ret_stop, struct error *err)
{
	struct epochs *epochs = &train->epochs;
	const struct callbacks_figures figures = report_figures(train, epoch);
	struct callbacks_verdict verdict;
	int r = 0;

	saver_wait(train); /* its thread reads the state and the best weights */
	verdict = callbacks_epoch(&train->run.config, &epochs->state, epoch, &figures,
				  model_learning_rate(train->model));
	say(train, epoch, &verdict);
	if (verdict.keep)
		r = keep_weights(train, err);
	if (verdict.reduce)
		model_learning_rate_set(train->model, epochs->state.plateau.rate);
	if (r == 0 && verdict.stop)
		r = leave_training(train, err);
	*ret_stop = verdict.stop;
	return r;
}

/* ---- At the end of training ---- */

static int load_best(struct train *train, struct error *err)
{
	struct epochs *epochs = &train->epochs;
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < epochs->best_count; i++)
		r = model_tensor_load(train->model, epochs->best[i].tensor.name, epochs->best[i].data,
				      epochs->best[i].tensor.bytes, err);
	if (r == 0)
		log_info("the best epoch's weights are the model");
	return r;
}

int epochs_finish(struct train *train, struct error *err)
{
	struct epochs *epochs = &train->epochs;
	int r;

	if (epochs->finished)
		return 0;
	/* What was judged the best were the weights as trained, not their average. */
	r = epochs->best_kept ? load_best(train, err) : model_finalize(train->model, err);
	epochs->finished = r == 0;
	return r;
}
