/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/trained/trained.h"

#include "cli/base/say.h"
#include "cli/base/where.h"
#include "cli/trained/locate.h"
#include "core/base/paths.h"
#include "drivers/gpu/gpu.h"
#include "model/checkpoint.h"

#include <string.h>

#define RECORD_FILE  "run.json"
#define RECORD_MAX   (64u << 20)
#define DATASET_FILE "dataset.json"
#define DATASET_MAX  (4u << 20)

const struct verb_operand trained_operands[] = { { .name = "MODEL", .value = VERB_LOCATION }, { 0 } };

const struct verb_option trained_options[] = {
	{ .name = "config",
	  .value = VERB_FILE,
	  .argument = "FILE",
	  .help = "read url, endpoint, region and credential from this kiln.conf's `sink`; default for a run "
		  "id: the box's own configuration" },
	{ 0 },
};

void trained_read(struct trained *trained, const struct arguments *arguments)
{
	trained->name = arguments_operand(arguments, 0);
	trained->config_file = arguments_text(arguments, "config");
	trained->json = arguments_have(arguments, "json");
	where_read(&trained->where, arguments);
}

/* ---- The file ---- */

/* Loads the configuration whose sink holds the model: --config, or for a run id the box's own. */
static int merge_config(struct trained *trained, struct error *err)
{
	const char *file = trained->config_file;
	int r;

	if (!file && locate_is_run(trained->name))
		file = config_path(0, NULL);
	if (!file)
		return 0;
	r = config_load(file, &trained->given, err);
	if (r == 0)
		where_merge(&trained->where, &trained->given.sink);
	return r;
}

/* Reads the configuration of a checkpoint's run, and opens the folder with the files that belong to the
 * model. */
static int open_run(struct trained *trained, char **ret_config, struct error *err)
{
	CLEANUP(store_closep) struct store *run = NULL, *folder = NULL;
	CLEANUP(free_ptr) char *text = NULL;
	CLEANUP(json_free) cJSON *record = NULL;
	const char *config;
	uint64_t bytes;
	int r;

	if ((r = locate_in_run(trained->folder, &trained->where, "", &run, err)) < 0 ||
	    (r = locate_in_run(trained->folder, &trained->where, "model/", &folder, err)) < 0 ||
	    (r = store_get_all(run, RECORD_FILE, RECORD_MAX, &text, &bytes, err)) < 0 ||
	    (r = json_parse(RECORD_FILE, text, bytes, &record, err)) < 0 ||
	    (r = json_get_string(RECORD_FILE, record, "config", &config, err)) < 0)
		return error_prefix(err, "%s: the configuration of its run", trained->name);
	*ret_config = strdup(config);
	if (!*ret_config)
		return error_set(err, -ENOMEM, "%s: no memory for its configuration", trained->name);
	store_close(trained->folder);
	trained->folder = TAKE(folder);
	return 0;
}

int trained_load(struct trained *trained, struct error *err)
{
	CLEANUP(free_ptr) char *config = NULL;
	uint64_t bytes;
	int r;

	if ((r = merge_config(trained, err)) < 0 ||
	    (r = locate_model(trained->name, &trained->where, &trained->folder, &trained->data, &bytes,
			      err)) < 0 ||
	    (r = model_file_open(trained->name, trained->data, bytes, &trained->saved, err)) < 0)
		return r;
	if (model_file_is_checkpoint(&trained->saved) && (r = open_run(trained, &config, err)) < 0)
		return r;
	return model_file_build(trained->name, config, &trained->saved, err);
}

/* ---- The device ---- */

/* Chooses the folder for compiled kernels: Kiln's cache where this user may write to it, as on a box;
 * otherwise a folder in the user's own cache. */
static void find_cache(void)
{
	const char *home = getenv("HOME"), *cache = getenv("XDG_CACHE_HOME");
	char path[PATH_BYTES], root[PATH_BYTES / 2];

	if (getenv("KILN_ROOT") || access(path_of(PATH_CACHE, NULL, path), W_OK) == 0)
		return;
	if (cache && *cache)
		(void)snprintf(root, sizeof(root), "%s/kiln", cache);
	else
		(void)snprintf(root, sizeof(root), "%s/.cache/kiln", home ? home : "/tmp");
	(void)setenv("KILN_ROOT", root, 1);
}

/* Opens the device that the configuration names or, where this machine has no such device, any device. */
static int open_device(struct trained *trained, struct error *err)
{
	const struct gpu_wish wish = gpu_wish_of(&trained->saved.config);
	int r = gpu_open(&wish, &trained->gpu, err);

	/* -EINVAL: several devices of this machine fit, though one did on the machine that trained. */
	if (r != -ENODEV && r != -EINVAL)
		return r;
	r = gpu_open(&GPU_ANY, &trained->gpu, err);
	if (r == 0)
		fprintf(stderr,
			"kiln: this machine does not have the device that the model was trained on; the verb "
			"uses %s\n",
			gpu_description(trained->gpu));
	return r;
}

int trained_open_model(struct trained *trained, bool training, struct error *err)
{
	int r;

	find_cache();
	if ((r = open_device(trained, err)) < 0 ||
	    (r = model_open(trained->gpu, &trained->saved.config, training, &trained->model, err)) < 0)
		return r;
	return checkpoint_load(trained->model, trained->name, trained->saved.file, true, err);
}

int trained_dataset(const struct trained *trained, cJSON **ret_dataset, struct error *err)
{
	CLEANUP(free_ptr) char *text = NULL;
	uint64_t bytes;
	int r = store_get_all(trained->folder, DATASET_FILE, DATASET_MAX, &text, &bytes, err);

	if (r == -ENOENT)
		return 0;
	return r < 0 ? r : json_parse(DATASET_FILE, text, bytes, ret_dataset, err);
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
