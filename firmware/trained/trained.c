/* SPDX-License-Identifier: Apache-2.0 */
#include "trained/trained.h"

#include "core/base/log.h"
#include "core/run/run.h"
#include "drivers/digest/digest.h"
#include "drivers/gpu/gpu.h"
#include "drivers/store/dataset.h"
#include "model/checkpoint.h"
#include "model/export/about.h"
#include "trained/locate.h"

#include <string.h>

#define RECORD_FILE "run.json"

/* ---- The file ---- */

/* Reads the configuration of a checkpoint's run, and opens the folder with the files that belong to the
 * model. */
static int open_run(struct trained *trained, char **ret_config, struct error *err)
{
	CLEANUP(store_closep) struct store *run = NULL, *folder = NULL;
	CLEANUP(free_ptr) char *text = NULL;
	CLEANUP(json_free) cJSON *record = NULL;
	const char *config;
	uint64_t bytes;

	if (locate_in_run(trained->folder, &trained->where, "", &run, err) < 0 ||
	    locate_in_run(trained->folder, &trained->where, "model/", &folder, err) < 0 ||
	    store_get_all(run, RECORD_FILE, RUN_JSON_MAX, &text, &bytes, err) < 0 ||
	    json_parse(RECORD_FILE, text, bytes, &record, err) < 0 ||
	    json_get_string(RECORD_FILE, record, "config", &config, err) < 0)
		return error_prefix(err, "%s: the configuration of its run", trained->name);
	*ret_config = strdup(config);
	if (!*ret_config)
		return error_set(err, -ENOMEM, "%s: no memory for its configuration", trained->name);
	store_close(trained->folder);
	trained->folder = TAKE(folder);
	return 0;
}

static int check_digest(const struct trained *trained, uint64_t bytes, struct error *err)
{
	char found[DIGEST_HEX_BYTES];

	if (!trained->sha256)
		return 0;
	digest_sha256(trained->data, bytes, found);
	if (strcmp(found, trained->sha256) == 0)
		return 0;
	return error_set(err, -EBADMSG, "%s: found SHA-256 %s, expected %s", trained->name, found,
			 trained->sha256);
}

int trained_load(struct trained *trained, struct error *err)
{
	CLEANUP(free_ptr) char *config = NULL;
	uint64_t bytes;
	int r;

	if ((r = locate_model(trained->name, &trained->where, &trained->folder, &trained->data, &bytes,
			      err)) < 0 ||
	    (r = check_digest(trained, bytes, err)) < 0 ||
	    (r = model_file_open(trained->name, trained->data, bytes, &trained->saved, err)) < 0)
		return r;
	if (model_file_is_checkpoint(&trained->saved) && (r = open_run(trained, &config, err)) < 0)
		return r;
	return model_file_build(trained->name, config, &trained->saved, err);
}

/* ---- The device ---- */

int trained_open_device(const struct config *config, const char *which, struct gpu **ret_gpu,
			struct error *err)
{
	const struct gpu_wish wish = gpu_wish_of(config);
	int r = gpu_open(&wish, ret_gpu, err);

	/* -EINVAL: several devices of this machine fit, though one did on another machine. */
	if (r != -ENODEV && r != -EINVAL)
		return r;
	r = gpu_open(&GPU_ANY, ret_gpu, err);
	if (r == 0)
		log_notice("this machine does not have the device that %s; using %s", which,
			   gpu_description(*ret_gpu));
	return r;
}

int trained_open_model(struct trained *trained, bool training, struct error *err)
{
	int r;

	if ((r = trained_open_device(&trained->saved.config, "the model was trained on", &trained->gpu,
				     err)) < 0 ||
	    (r = model_open(trained->gpu, &trained->saved.config, training, &trained->model, err)) < 0)
		return r;
	return checkpoint_load(trained->model, trained->name, trained->saved.file, true, err);
}

/* Takes the names of the classes from the model itself, where it has them. */
static int own_classes(const struct trained *trained, cJSON **ret_dataset, struct error *err)
{
	const char *text = safetensors_value(trained->saved.file, ABOUT_CLASSES);
	cJSON *classes = NULL;
	int r = text ? json_parse(trained->name, text, strlen(text), &classes, err) : 0;

	if (r < 0 || !classes)
		return r;
	*ret_dataset = cJSON_CreateObject();
	cJSON_AddItemToObject(*ret_dataset, "classes", classes);
	return 0;
}

int trained_dataset(const struct trained *trained, cJSON **ret_dataset, struct error *err)
{
	int r = store_get_dataset(trained->folder, ret_dataset, err);

	return r == -ENOENT ? own_classes(trained, ret_dataset, err) : r;
}

/* ---- Its sources ---- */

/* Returns whether two urls name the same bucket, which may be a part of the host that gets the request. */
static bool is_same_bucket(const char *a, const char *b)
{
	const char *bucket = strstr(a, "://");
	size_t length;

	if (!bucket)
		return false;
	bucket += strlen("://");
	length = (size_t)(bucket - a) + strcspn(bucket, "/");
	return strncmp(a, b, length) == 0 && (b[length] == '/' || !b[length]);
}

/* Returns the store of kiln.conf with the url of `model`, or else one with the same bucket, server and
 * credential; NULL: neither. */
static const struct config_store *allowed(const struct config *given, const struct config_store *model)
{
	const struct config_store *same = NULL;

	for (uint32_t i = 0; i <= given->sources; i++) {
		const struct config_store *store =
			i < given->sources ? &given->source[i].store : &given->sink;

		if (strcmp(store->url, model->url) == 0)
			return store;
		if (is_same_bucket(store->url, model->url) && !config_server_differs(store, model))
			same = store;
	}
	return same;
}

int trained_source(const struct trained *trained, uint32_t index, struct config_store *ret_store,
		   struct error *err)
{
	const struct config_store *model = &trained->saved.config.source[index].store,
				  *options = &trained->options;
	const struct config_store *store = NULL;

	if (strncmp(model->url, "file://", 7) == 0) {
		*ret_store = *model;
		return 0;
	}
	if (*options->endpoint || *options->region || *options->credential || *options->ca_file) {
		*ret_store = *options;
		ret_store->url = model->url;
		return 0;
	}
	if (trained->any_given)
		store = allowed(&trained->given, model);
	if (!store)
		return error_set(err, -EPERM,
				 "%s: its shards are at %s, endpoint \"%s\", credential \"%s\", and %s: give "
				 "--endpoint, --region and --credential for this store, or --config with a "
				 "kiln.conf that names it, or other shards with --data",
				 trained->name, model->url, model->endpoint, model->credential,
				 trained->any_given ? "kiln.conf has no such store"
						    : "there is no kiln.conf");
	*ret_store = *store;
	ret_store->url = model->url;
	return 0;
}

void trained_done(struct trained *trained)
{
	model_close(trained->model);
	gpu_close(trained->gpu);
	model_file_done(&trained->saved);
	config_done(&trained->given);
	free(trained->data);
	store_close(trained->folder);
}
