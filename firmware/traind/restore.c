/* SPDX-License-Identifier: Apache-2.0 */
#include "traind/restore.h"
#include "core/base/events.h"
#include "core/base/log.h"
#include "core/run/spool.h"
#include "model/adapt.h"
#include "model/checkpoint.h"
#include "model/weights.h"
#include "traind/epochs.h"
#include "traind/train.h"

#include <inttypes.h>
#include <string.h>

static int load_checkpoint(struct train *train, const char *path, const struct safetensors *file,
			   struct error *err)
{
	struct cursor cursor;
	int r;

	if ((r = checkpoint_expect(path, file, "format", CHECKPOINT_FORMAT, err)) < 0 ||
	    (r = checkpoint_expect(path, file, "version", CHECKPOINT_VERSION, err)) < 0 ||
	    (r = checkpoint_expect_graph(train->model, path, file, false, err)) < 0 ||
	    (r = checkpoint_expect(path, file, "data_hash", train->run.plan_sha256, err)) < 0 ||
	    (r = checkpoint_load(train->model, path, file, false, err)) < 0 ||
	    (r = quarantine_restore(&train->quarantine, path, file, err)) < 0 ||
	    (r = epochs_restore(train, path, file, err)) < 0)
		return r;
	model_cursor_get(train->model, &cursor);
	if (cursor.version != CURSOR_VERSION || cursor.split >= SPLIT_MAX ||
	    cursor.step != model_step(train->model))
		return error_set(err, -EBADMSG,
				 "%s: cursor version %u in split %u at step %" PRIu64
				 ", expected version %u, a split below %u, step %" PRIu64,
				 path, cursor.version, cursor.split, cursor.step, CURSOR_VERSION, SPLIT_MAX,
				 model_step(train->model));
	return 0;
}

static void warn_damaged(const char *run_id, const char *name, const struct error *err)
{
	event_send(&(struct event){ .id = EVENT_CHECKPOINT_DAMAGED, .run_id = run_id, .key = name },
		   "%s, going back to the checkpoint before it", err->text);
}

static int restore_checkpoint(struct train *train, struct error *err)
{
	CLEANUP(safetensors_closep) struct safetensors *file = NULL;
	char path[PATH_BYTES], name[SPOOL_NAME_BYTES];
	struct cursor cursor;
	int r = checkpoint_open_newest(train->run.id, warn_damaged, path, &file, err);

	if (r < 0)
		return r;
	r = load_checkpoint(train, path, file, err);
	if (r < 0)
		return r == -ENOENT ? error_set(err, -EBADMSG, "%s: it belongs to another model", path) : r;
	writer_set_saved(&train->writer, model_step(train->model));
	model_cursor_get(train->model, &cursor);
	event_send(&(struct event){ .id = EVENT_CHECKPOINT_LOADED,
				    .run_id = train->run.id,
				    .step = cursor.step,
				    .key = spool_checkpoint_name(cursor.step, name) },
		   "going on from %s: %s %" PRIu64 ", batch %" PRIu64 ", step %" PRIu64, path,
		   split_name(cursor.split), cursor.segment + 1, cursor.batch, cursor.step);
	return 0;
}

/* Loads the weights of an earlier run; optimizer, step and cursor begin anew. */
static int restore_start(struct train *train, const char *path, struct error *err)
{
	CLEANUP(safetensors_closep) struct safetensors *file = NULL;
	int r;

	if ((r = safetensors_open(path, &file, err)) < 0 ||
	    (r = checkpoint_expect_graph(train->model, path, file, true, err)) < 0 ||
	    (r = checkpoint_load(train->model, path, file, true, err)) < 0)
		return r;
	log_info("starting with the weights of %s", safetensors_value(file, "run_id"));
	return 0;
}

/* Tells the log and run.json which tensors came from the file and which did not. */
static int note_weights(const char *what, const struct weights *weights, struct error *err)
{
	CLEANUP(json_free) cJSON *members = cJSON_CreateObject();
	cJSON *list = cJSON_AddObjectToObject(members, "weights");
	char text[WEIGHTS_TEXT_BYTES];

	log_info("starting with %s: %s", what, weights_text(weights, text));
	if (!cJSON_AddStringToObject(list, "from", what) ||
	    !cJSON_AddNumberToObject(list, "tensors", weights->matched) ||
	    !cJSON_AddNumberToObject(list, "of", weights->wanted) ||
	    !cJSON_AddStringToObject(list, "as_initialized", weights->initial) ||
	    !cJSON_AddStringToObject(list, "not_used", weights->unused))
		return error_set(err, -ENOMEM, "run.json: no memory");
	return run_note_members(members, err);
}

static int restore_weights(struct train *train, const char *path, struct error *err)
{
	CLEANUP(safetensors_closep) struct safetensors *file = NULL;
	const char *what = train->run.config.model.weights;
	struct weights weights = { 0 };
	int r = safetensors_open(path, &file, err);

	if (r == 0)
		r = weights_match(model_graph(train->model), what, file, &weights, err);
	if (r == 0)
		r = weights_load(train->model, what, &weights, err);
	if (r == 0)
		r = note_weights(what, &weights, err);
	if (r == 0)
		r = adapt_open(model_graph(train->model), &weights, &train->adapt, err);
	weights_done(&weights);
	return r;
}

int restore(struct train *train, struct error *err)
{
	char path[PATH_BYTES];
	int r = restore_checkpoint(train, err);

	if (r != -ENOENT)
		return r;
	r = model_init(train->model, err);
	if (r < 0)
		return r;
	(void)path_of(PATH_RUN, RUN_START_FILE, path);
	if (*train->run.weights_sha256)
		return restore_weights(train, path, err);
	if ((r = file_exists(path, err)) != 0)
		return r < 0 ? r : restore_start(train, path, err);
	log_info("starting from initial weights");
	return adapt_open(model_graph(train->model), NULL, &train->adapt, err);
}
