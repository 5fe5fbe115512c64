/* SPDX-License-Identifier: Apache-2.0 */
#include "traind/writer.h"
#include "core/base/clock.h"
#include "core/base/events.h"
#include "core/run/spool.h"
#include "drivers/notify/alive.h"
#include "model/checkpoint.h"
#include "traind/finished.h"
#include "traind/killed.h"
#include "traind/train.h"

#include <inttypes.h>
#include <string.h>
#include <time.h>

#define WRITE_LEASE_S 900u /* for the watchdog: time for a checkpoint on the slowest disk */

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
	const char *list = train->writer.quarantine;
	CLEANUP(free_ptr)
	struct model_tensor *all = calloc(count + train->best.count + 2, sizeof(*all));

	if (!all)
		return error_set(err, -ENOMEM, "%s: no memory", train->writer.path);
	memcpy(all, tensors, count * sizeof(*all));
	count += best_tensors(&train->best, all + count);
	if (list)
		all[count++] = (struct model_tensor){ .name = QUARANTINE_TENSOR,
						      .dtype = "U8",
						      .rank = 1,
						      .shape = { strlen(list) },
						      .data = list,
						      .bytes = strlen(list) };
	return safetensors_write(train->writer.path, all, count, notes, sizeof(notes) / sizeof(notes[0]),
				 err);
}

static uint64_t thread_cpu_us(void)
{
	struct timespec used = { 0 };

	(void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
	return (uint64_t)used.tv_sec * 1000000 + (uint64_t)used.tv_nsec / 1000;
}

/* *ret_worked_us: the time that this thread waited for the copy, which occupies the device, plus its CPU
 * time. */
static int write_snapshot(struct train *train, uint64_t *ret_worked_us, struct error *err)
{
	const uint64_t start_us = clock_us(), start_cpu_us = thread_cpu_us();
	const struct model_tensor *tensors;
	uint32_t count;
	int r = model_snapshot_tensors(train->model, &tensors, &count, err);
	const uint64_t copied_us = clock_us() - start_us, copied_cpu_us = thread_cpu_us() - start_cpu_us;

	/* The device has finished the batches before the snapshot. If another process cut the ring's file
	 * meanwhile, these batches may have read zeros: never write such weights. */
	if (r == 0 && train->ring && !ring_intact(train->ring))
		r = error_set(err, -EUCLEAN, "the ring's file was cut while its batches were in use");
	if (r == 0)
		r = train->writer.final ? finished_write(train, train->writer.path, train->writer.step,
							 tensors, count, err)
					: write_checkpoint(train, tensors, count, err);
	model_snapshot_release(train->model);
	*ret_worked_us = copied_us + thread_cpu_us() - start_cpu_us - copied_cpu_us;
	return r;
}

static void say_written(const struct train *train)
{
	const struct writer *writer = &train->writer;
	char name[SPOOL_NAME_BYTES];

	killed_forget();
	(void)spool_checkpoint_name(writer->step, name);
	event_send(&(struct event){ .id = writer->final ? EVENT_MODEL_WRITTEN : EVENT_CHECKPOINT_WRITTEN,
				    .run_id = train->run.id,
				    .step = writer->step,
				    .key = writer->final ? WRITER_MODEL_NAME : name },
		   "step %" PRIu64 ": wrote %s", writer->step, strrchr(writer->path, '/') + 1);
}

void writer_say_failed(const struct train *train, uint64_t step, const struct error *err)
{
	event_send(&(struct event){ .id = EVENT_CHECKPOINT_FAILED, .run_id = train->run.id, .step = step },
		   "step %" PRIu64 ": no checkpoint: %s; going on", step, err->text);
}

static void *writer_thread(void *context)
{
	struct train *train = context;
	struct writer *writer = &train->writer;

	(void)pthread_mutex_lock(&writer->lock);
	for (;;) {
		struct error err = { 0 };
		uint64_t worked_us = 0, start_us;

		while (!writer->busy && !writer->quit)
			(void)pthread_cond_wait(&writer->change, &writer->lock);
		if (!writer->busy)
			break;
		(void)pthread_mutex_unlock(&writer->lock);
		start_us = clock_us();
		if (write_snapshot(train, &worked_us, &err) == 0)
			say_written(train);
		else if (!writer->final)
			writer_say_failed(train, writer->step, &err);
		(void)pthread_mutex_lock(&writer->lock);
		writer->err = err;
		writer->worked_us = worked_us;
		writer->took_us = clock_us() - start_us;
		if (err.code == 0 && !writer->final) {
			writer->saved = true;
			writer->saved_step = writer->step;
			writer->saved_us = (uint64_t)time(NULL) * 1000000;
		}
		writer->busy = false;
		(void)pthread_cond_broadcast(&writer->change);
	}
	(void)pthread_mutex_unlock(&writer->lock);
	return NULL;
}

/* ---- The main thread ---- */

bool writer_is_busy(struct writer *writer, uint64_t *ret_worked_us)
{
	bool busy;

	(void)pthread_mutex_lock(&writer->lock);
	busy = writer->busy;
	*ret_worked_us = writer->worked_us;
	(void)pthread_mutex_unlock(&writer->lock);
	return busy;
}

void writer_wait(struct train *train)
{
	struct writer *writer = &train->writer;

	alive_lease(train->worker, NULL, WRITE_LEASE_S);
	(void)pthread_mutex_lock(&writer->lock);
	while (writer->busy)
		(void)pthread_cond_wait(&writer->change, &writer->lock);
	(void)pthread_mutex_unlock(&writer->lock);
	alive_lease_end(train->worker);
}

/* Prints the present list into writer->quarantine. The writer thread must be idle. */
static int print_quarantine(struct train *train, struct error *err)
{
	CLEANUP(json_free) cJSON *list = quarantine_json(&train->quarantine);

	free(TAKE(train->writer.quarantine));
	if (!list && train->quarantine.all.records > 0)
		return error_set(err, -ENOMEM, "the quarantine list: no memory");
	return list ? json_print_line(list, &train->writer.quarantine, err) : 0;
}

int writer_start(struct train *train, bool final, struct error *err)
{
	struct writer *writer = &train->writer;
	int r = print_quarantine(train, err);

	if (r == 0)
		r = model_snapshot(train->model, err);
	if (r < 0)
		return r;
	(void)pthread_mutex_lock(&writer->lock);
	writer->final = final;
	writer->step = model_step(train->model);
	writer->busy = true;
	(void)pthread_cond_broadcast(&writer->change);
	(void)pthread_mutex_unlock(&writer->lock);
	return 0;
}

bool writer_saved(struct writer *writer, uint64_t *ret_step, uint64_t *ret_us)
{
	bool saved;

	(void)pthread_mutex_lock(&writer->lock);
	saved = writer->saved;
	*ret_step = writer->saved_step;
	*ret_us = writer->saved_us;
	(void)pthread_mutex_unlock(&writer->lock);
	return saved;
}

void writer_set_saved(struct writer *writer, uint64_t step)
{
	(void)pthread_mutex_lock(&writer->lock);
	writer->saved = true;
	writer->saved_step = step;
	(void)pthread_mutex_unlock(&writer->lock);
}

uint64_t writer_took_us(struct writer *writer)
{
	uint64_t took_us;

	(void)pthread_mutex_lock(&writer->lock);
	took_us = writer->took_us;
	(void)pthread_mutex_unlock(&writer->lock);
	return took_us;
}

int writer_open(struct train *train, struct error *err)
{
	struct writer *writer = &train->writer;

	if (pthread_create(&writer->thread, NULL, writer_thread, train) != 0)
		return error_set(err, -EAGAIN, "cannot start the thread that writes checkpoints");
	writer->started = true;
	return 0;
}

void writer_close(struct train *train)
{
	struct writer *writer = &train->writer;

	if (!writer->started)
		return;
	(void)pthread_mutex_lock(&writer->lock);
	writer->quit = true;
	(void)pthread_cond_broadcast(&writer->change);
	(void)pthread_mutex_unlock(&writer->lock);
	(void)pthread_join(writer->thread, NULL);
	writer->started = false;
	free(TAKE(writer->quarantine));
}
