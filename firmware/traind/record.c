/* SPDX-License-Identifier: Apache-2.0 */
#include "traind/record.h"
#include "core/base/build.h"
#include "core/base/cleanup.h"
#include "core/base/clock.h"
#include "core/run/run_confusion.h"
#include "core/run/run_summary.h"
#include "core/run/status.h"
#include "drivers/gpu/gpu.h"
#include "traind/train.h"

#include <math.h>
#include <string.h>

/* ---- Open ---- */

/* Returns a number of the record; 0 where it is missing. */
static uint64_t number_of(const cJSON *record, const char *path)
{
	return (uint64_t)fmax(json_number(record, path, 0), 0);
}

/* Moves "confusion" out of the record, unless it is of an epoch that is trained again. */
static cJSON *load_confusion(cJSON *record, uint64_t passes)
{
	if (json_number(record, "confusion.epoch", 0) >= (double)passes)
		return NULL;
	return cJSON_DetachItemFromObjectCaseSensitive(record, "confusion");
}

static int load(struct train *train, uint64_t passes, struct error *err)
{
	CLEANUP(json_free) cJSON *json = NULL;
	int r = run_record(&json, err);

	if (r < 0)
		return r;
	publish_throttled(train, (uint64_t)(1e6 * fmax(0, json_number(json, "throttled_s", 0))));
	stages_restore(&train->stages, json);
	train->record.bytes_before = number_of(json, "store.before");
	train->record.bytes = number_of(json, "store.bytes");
	train->record.fetchd_us = number_of(json, "store.since_us");
	train->record.confusion = load_confusion(json, passes);
	train->record.opened = true;
	return history_load(&train->record.history, json, passes, err);
}

int record_open(struct train *train, struct error *err)
{
	const uint64_t epochs = train->run.config.run.epochs;
	struct record *record = &train->record;
	struct cursor cursor;
	uint64_t passes;

	model_cursor_get(train->model, &cursor);
	passes = history_passes(&cursor, epochs, SPLIT_TRAIN);
	curves_open(train, passes, history_passes(&cursor, epochs, SPLIT_VALIDATION));
	record->history.top_k = train->run.config.model.top_k > 0;
	record->written = true;
	train->quarantine.changed = false;
	return load(train, passes, err);
}

void record_close(struct train *train)
{
	curves_close(train);
	cJSON_Delete(TAKE(train->record.confusion));
	history_close(&train->record.history);
}

/* ---- Changes ---- */

int record_pass(struct train *train, enum split split, uint64_t epoch, const struct model_metrics *metrics,
		struct error *err)
{
	const struct history_pass pass = { .split = split,
					   .epoch = epoch,
					   .step = model_step(train->model),
					   .at_ms = clock_day_us() / 1000,
					   .learning_rate = model_learning_rate(train->model),
					   .metrics = metrics };

	if (!history_add(&train->record.history, &pass))
		return error_set(err, -ENOMEM, "run.json: no memory");
	record_changed(train);
	return 0;
}

/* Returns whether the model keeps the weights that a pass has evaluated: those of the test, and those of the
 * best epoch so far where the configuration asks for the best, else of every epoch. */
static bool keeps(const struct train *train, enum split split, uint64_t epoch)
{
	const struct callbacks_figures figures = history_figures(&train->record.history, epoch);

	return split == SPLIT_TEST ||
	       callbacks_keeps(&train->run.config, &train->best.state, epoch, &figures);
}

static cJSON *confusion_of(const uint32_t *counts, uint64_t classes)
{
	CLEANUP(free_ptr) double *matrix = calloc(classes * classes, sizeof(*matrix));

	for (uint64_t i = 0; matrix && i < classes * classes; i++)
		matrix[i] = counts[i];
	return matrix ? run_confusion_member(matrix, classes) : NULL;
}

int record_confusion(struct train *train, enum split split, uint64_t epoch, struct error *err)
{
	CLEANUP(free_ptr) uint32_t *counts = NULL;
	CLEANUP(json_free) cJSON *member = NULL;
	const bool kept = keeps(train, split, epoch);
	uint64_t classes;
	int r;

	if (!kept && train->world.count == 1)
		return 0;
	if ((r = world_confusion(train, &counts, &classes, err)) < 0 || classes == 0 || !kept)
		return r;
	member = confusion_of(counts, classes);
	if (!member || !cJSON_AddStringToObject(member, "split", split_name(split)) ||
	    (split == SPLIT_VALIDATION && !json_add_u64(member, "epoch", epoch)))
		return error_set(err, -ENOMEM, "run.json: no memory");
	json_free(&train->record.confusion);
	train->record.confusion = TAKE(member);
	record_changed(train);
	return 0;
}

uint64_t record_epochs(const struct train *train)
{
	return run_epochs_done(train->record.history.epochs);
}

void record_changed(struct train *train)
{
	train->record.written = false;
}

/* ---- To the disk ---- */

/* Counts what kiln-fetchd has read from the store. A process of it counts from 0. */
static void count_bytes(struct train *train)
{
	struct record *record = &train->record;
	struct status status;

	if (status_read(STATUS_FETCHD, &status, NULL) < 0 || strcmp(status.run_id, train->run.id) != 0)
		return;
	if (status.started_us != record->fetchd_us)
		record->bytes_before = record->bytes;
	record->fetchd_us = status.started_us;
	record->bytes = record->bytes_before + status.fetchd.bytes;
}

static bool add_bytes(struct train *train, cJSON *object)
{
	cJSON *store = cJSON_AddObjectToObject(object, "store");

	count_bytes(train);
	return store && json_add_u64(store, "bytes", train->record.bytes) &&
	       json_add_u64(store, "before", train->record.bytes_before) &&
	       json_add_u64(store, "since_us", train->record.fetchd_us);
}

/* Adds what computes: the device, and this program. */
static bool add_device(struct train *train, cJSON *object)
{
	char build[BUILD_ID_BYTES];

	return cJSON_AddStringToObject(object, "kiln_build", build_id(build)) &&
	       cJSON_AddItemToObject(object, "device", json_string(gpu_description(train->gpu))) &&
	       cJSON_AddStringToObject(object, "tensor_cores", model_tensor_cores(train->model));
}

static bool add_time(struct train *train, cJSON *object)
{
	return add_bytes(train, object) && stages_add(&train->stages, object) && add_device(train, object);
}

static int write_record(struct train *train, struct error *err)
{
	CLEANUP(json_free) cJSON *object = cJSON_CreateObject();
	const struct history *history = &train->record.history;
	const double throttled_s = (double)train->publish.status.traind.throttled_us / 1e6;
	cJSON *quarantine;
	int r;

	if (!cJSON_AddItemReferenceToObject(object, "epochs", history->epochs) ||
	    !cJSON_AddItemReferenceToObject(object, "metrics", history->metrics) ||
	    (train->record.confusion &&
	     !cJSON_AddItemReferenceToObject(object, "confusion", train->record.confusion)) ||
	    !add_time(train, object))
		return error_set(err, -ENOMEM, "run.json: no memory");
	quarantine = quarantine_json(&train->quarantine);
	if (quarantine)
		(void)cJSON_AddItemToObject(object, "quarantine", quarantine);
	if (throttled_s > 0)
		(void)history_set_number(object, "throttled_s", throttled_s);
	r = run_note_members(object, err);
	train->record.written = r == 0;
	if (r == 0)
		train->quarantine.changed = false;
	return r;
}

int record_write(struct train *train, struct error *err)
{
	int r = curves_write(train, train->record.history.epochs, err);

	return r < 0 || (train->record.written && !train->quarantine.changed) ? r : write_record(train, err);
}

int record_write_time(struct train *train, struct error *err)
{
	CLEANUP(json_free) cJSON *object = cJSON_CreateObject();

	return add_time(train, object) ? run_note_members(object, err)
				       : error_set(err, -ENOMEM, "run.json: no memory");
}
