/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/clock.h"
#include "core/base/events.h"
#include "core/run/spool.h"
#include "model/formats/names.h"
#include "traind/train.h"

#include <inttypes.h>
#include <string.h>
#include <time.h>

#define CONFIG_BYTES_MAX (4u << 20)
#define MODEL_NAME       "model/model.safetensors"
#define WRITE_LEASE_S    900u /* a checkpoint on the slowest disk */

/* ---- The writer thread ---- */

static int write_checkpoint(const struct train *train, const struct model_tensor *tensors, uint32_t count,
			    struct error *err)
{
	const struct safetensors_note notes[] = {
		{ "format", CHECKPOINT_FORMAT },
		{ "version", CHECKPOINT_VERSION },
		{ "graph_hash", model_graph_hash(train->model) },
		{ "layers_hash", model_layers_hash(train->model) },
		{ "data_hash", train->run.plan_sha256 },
		{ "run_id", train->run.id },
	};
	const char *text = train->saver.quarantine;
	CLEANUP(free_ptr)
	struct model_tensor *all = calloc(count + train->epochs.best_count + 2, sizeof(*all));

	if (!all)
		return error_set(err, -ENOMEM, "%s: no memory", train->saver.path);
	memcpy(all, tensors, count * sizeof(*all));
	count += epochs_tensors(&train->epochs, all + count);
	if (text)
		all[count++] = (struct model_tensor){ .name = QUARANTINE_TENSOR,
						      .dtype = "U8",
						      .rank = 1,
						      .shape = { strlen(text) },
						      .data = text,
						      .bytes = strlen(text) };
	return safetensors_write(train->saver.path, all, count, notes, sizeof(notes) / sizeof(notes[0]), err);
}

/* What others load first: model.safetensors says that the folder is whole. With the configuration, so that
 * the file alone is enough to build the network again. */
static int write_model(const struct train *train, const struct model_tensor *tensors, uint32_t count,
		       struct error *err)
{
	CLEANUP(free_ptr) struct model_tensor *kept = calloc(count, sizeof(*kept));
	CLEANUP(free_ptr) char *config = NULL;
	char path[PATH_BYTES], step[24];
	uint32_t used = 0;
	int r;

	if (!kept)
		return error_set(err, -ENOMEM, "%s: no memory", train->saver.path);
	write_forms(train, tensors, count);
	r = file_read(path_of(PATH_RUN, "config", path), CONFIG_BYTES_MAX, &config, NULL, err);
	if (r < 0)
		return r;
	for (uint32_t i = 0; i < count; i++)
		if (name_is_parameter(tensors[i].name))
			kept[used++] = tensors[i];
	(void)snprintf(step, sizeof(step), "%" PRIu64, train->saver.step);
	{
		const struct safetensors_note notes[] = {
			{ "format", MODEL_FORMAT },
			{ "version", CHECKPOINT_VERSION },
			{ "graph_hash", model_graph_hash(train->model) },
			{ "layers_hash", model_layers_hash(train->model) },
			{ "data_hash", train->run.plan_sha256 },
			{ "run_id", train->run.id },
			{ "step", step },
			{ "config", config },
		};

		return safetensors_write(train->saver.path, kept, used, notes,
					 sizeof(notes) / sizeof(notes[0]), err);
	}
}

static uint64_t thread_cpu_us(void)
{
	struct timespec used = { 0 };

	(void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
	return (uint64_t)used.tv_sec * 1000000 + (uint64_t)used.tv_nsec / 1000;
}

/* *ret_worked_us: the wait for the copy, which the device's queue makes, and this thread's CPU time. */
static int write_snapshot(struct train *train, uint64_t *ret_worked_us, struct error *err)
{
	const uint64_t start_us = clock_us(), start_cpu_us = thread_cpu_us();
	const struct model_tensor *tensors;
	uint32_t count;
	int r = model_snapshot_tensors(train->model, &tensors, &count, err);
	const uint64_t copied_us = clock_us() - start_us, copied_cpu_us = thread_cpu_us() - start_cpu_us;

	/* The batches before the snapshot are through: what they read was whole, or may not be kept. */
	if (r == 0 && train->ring && !ring_intact(train->ring))
		r = error_set(err, -EUCLEAN, "the ring's file was cut while its batches were in use");
	if (r == 0)
		r = train->saver.final ? write_model(train, tensors, count, err)
				       : write_checkpoint(train, tensors, count, err);
	model_snapshot_release(train->model);
	*ret_worked_us = copied_us + thread_cpu_us() - start_cpu_us - copied_cpu_us;
	return r;
}

static void say_written(const struct train *train)
{
	const struct saver *saver = &train->saver;
	char name[SPOOL_NAME_BYTES];

	(void)spool_checkpoint_name(saver->step, name);
	event_send(&(struct event){ .id = saver->final ? EVENT_MODEL_WRITTEN : EVENT_CHECKPOINT_WRITTEN,
				    .run_id = train->run.id,
				    .step = saver->step,
				    .key = saver->final ? MODEL_NAME : name },
		   "step %" PRIu64 ": wrote %s", saver->step, strrchr(saver->path, '/') + 1);
}

static void say_failed(const struct train *train, uint64_t step, const struct error *err)
{
	event_send(&(struct event){ .id = EVENT_CHECKPOINT_FAILED, .run_id = train->run.id, .step = step },
		   "step %" PRIu64 ": no checkpoint: %s; going on", step, err->text);
}

static void *saver_thread(void *context)
{
	struct train *train = context;
	struct saver *saver = &train->saver;

	(void)pthread_mutex_lock(&saver->lock);
	for (;;) {
		struct error err = { 0 };
		uint64_t worked_us = 0, start_us;

		while (!saver->busy && !saver->quit)
			(void)pthread_cond_wait(&saver->change, &saver->lock);
		if (!saver->busy)
			break;
		(void)pthread_mutex_unlock(&saver->lock);
		start_us = clock_us();
		if (write_snapshot(train, &worked_us, &err) == 0)
			say_written(train);
		else if (!saver->final)
			say_failed(train, saver->step, &err);
		(void)pthread_mutex_lock(&saver->lock);
		saver->err = err;
		saver->worked_us = worked_us;
		saver->took_us = clock_us() - start_us;
		if (err.code == 0 && !saver->final) {
			saver->saved = true;
			saver->saved_step = saver->step;
			saver->saved_us = (uint64_t)time(NULL) * 1000000;
		}
		saver->busy = false;
		(void)pthread_cond_broadcast(&saver->change);
	}
	(void)pthread_mutex_unlock(&saver->lock);
	return NULL;
}

/* ---- The main thread ---- */

/* With `wait` it returns when the thread is idle, however slow the disk is. */
static bool is_busy(struct train *train, bool wait)
{
	struct saver *saver = &train->saver;
	bool busy;

	if (wait)
		alive_lease(train->worker, NULL, WRITE_LEASE_S);
	(void)pthread_mutex_lock(&saver->lock);
	while (wait && saver->busy)
		(void)pthread_cond_wait(&saver->change, &saver->lock);
	busy = saver->busy;
	(void)pthread_mutex_unlock(&saver->lock);
	if (wait)
		alive_lease_end(train->worker);
	return busy;
}

void saver_wait(struct train *train)
{
	(void)is_busy(train, true);
}

/* The list as it is now, for the thread, which is idle. */
static int print_quarantine(struct train *train, struct error *err)
{
	CLEANUP(json_free) cJSON *list = quarantine_json(train);

	free(TAKE(train->saver.quarantine));
	if (!list && train->quarantine.records > 0)
		return error_set(err, -ENOMEM, "the quarantine list: no memory");
	return list ? json_print_line(list, &train->saver.quarantine, err) : 0;
}

static int hand_over(struct train *train, bool final, struct error *err)
{
	struct saver *saver = &train->saver;
	int r = print_quarantine(train, err);

	if (r == 0)
		r = model_snapshot(train->model, err);
	if (r < 0)
		return r;
	(void)pthread_mutex_lock(&saver->lock);
	saver->final = final;
	saver->step = model_step(train->model);
	saver->busy = true;
	(void)pthread_cond_broadcast(&saver->change);
	(void)pthread_mutex_unlock(&saver->lock);
	return 0;
}

uint64_t saver_took_us(struct train *train)
{
	uint64_t took_us;

	(void)pthread_mutex_lock(&train->saver.lock);
	took_us = train->saver.took_us;
	(void)pthread_mutex_unlock(&train->saver.lock);
	return took_us;
}

bool save_is_due(struct train *train)
{
	struct saver *saver = &train->saver;
	uint64_t worked_us;
	bool busy;

	(void)pthread_mutex_lock(&saver->lock);
	worked_us = saver->worked_us;
	busy = saver->busy;
	(void)pthread_mutex_unlock(&saver->lock);
	/* What it costs is known when it is written. */
	if (busy && !train->cadence.every_steps)
		return false;
	cadence_cost(&train->cadence, saver->stalled_us, worked_us);
	return cadence_is_due(&train->cadence, model_step(train->model), clock_us());
}

static int take_checkpoint(struct train *train, bool wait, struct error *err)
{
	struct saver *saver = &train->saver;
	uint64_t step = model_step(train->model), start_us = clock_us();
	char name[SPOOL_NAME_BYTES];
	int r;

	if (train->adapt)
		return 0;
	if (is_busy(train, wait)) {
		saver->skipped++;
		event_send(&(struct event){ .id = EVENT_CHECKPOINT_SKIPPED,
					    .run_id = train->run.id,
					    .step = step,
					    .count = saver->skipped },
			   "step %" PRIu64 ": the last checkpoint is still being written, skipping (%" PRIu64
			   " so far)",
			   step, saver->skipped);
		return 0;
	}
	r = report_write(train, err);
	if (r < 0 && !report_may_wait(r))
		return r;
	if (saver->saved && saver->saved_step == step)
		return 0;
	if (r < 0) {
		say_failed(train, step, err);
		return 0;
	}
	(void)spool_path(train->run.id, spool_checkpoint_name(step, name), saver->path);
	r = hand_over(train, false, err);
	cadence_taken(&train->cadence, clock_us());
	saver->stalled_us = clock_us() - start_us;
	return r;
}

int save_checkpoint(struct train *train, bool wait, struct error *err)
{
	const enum stage before = stages_enter(train, STAGE_CHECKPOINTS);
	int r = take_checkpoint(train, wait, err);

	(void)stages_enter(train, before);
	return r;
}

int save_model(struct train *train, struct error *err)
{
	struct saver *saver = &train->saver;
	int r;

	(void)is_busy(train, true);
	(void)spool_path(train->run.id, MODEL_NAME, saver->path);
	r = hand_over(train, true, err);
	if (r < 0)
		return r;
	(void)is_busy(train, true);
	if (saver->err.code)
		*err = saver->err;
	return saver->err.code;
}

int saver_open(struct train *train, struct error *err)
{
	struct saver *saver = &train->saver;

	if (pthread_create(&saver->thread, NULL, saver_thread, train) != 0)
		return error_set(err, -EAGAIN, "cannot start the thread that writes checkpoints");
	saver->started = true;
	return 0;
}

void saver_close(struct train *train)
{
	struct saver *saver = &train->saver;

	if (!saver->started)
		return;
	(void)pthread_mutex_lock(&saver->lock);
	saver->quit = true;
	(void)pthread_cond_broadcast(&saver->change);
	(void)pthread_mutex_unlock(&saver->lock);
	(void)pthread_join(saver->thread, NULL);
	saver->started = false;
	free(TAKE(saver->quarantine));
}
