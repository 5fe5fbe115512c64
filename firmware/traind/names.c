/* SPDX-License-Identifier: Apache-2.0 */
#include "traind/names.h"

#include "core/base/log.h"
#include "core/base/paths.h"
#include "core/run/dataset.h"
#include "core/run/spool.h"
#include "data/plan.h"

#include <string.h>

#define NAMES_FILE "model/" DATASET_NAME

static int print(const struct plan *plan, char **ret_text, struct error *err)
{
	CLEANUP(json_free) cJSON *object = cJSON_CreateObject();
	cJSON *names = cJSON_AddArrayToObject(object, "classes");

	for (uint64_t i = 0; i < plan_class_count(plan); i++)
		if (!cJSON_AddItemToArray(names, json_string(plan_class(plan, i))))
			return error_set(err, -ENOMEM, NAMES_FILE ": no memory");
	return json_print(object, ret_text, err);
}

/* Without the file, and if it is not JSON, *ret_dataset stays NULL. */
static void read_file(const struct run *run, cJSON **ret_dataset)
{
	char path[PATH_BYTES];

	if (json_read(spool_path(run->id, NAMES_FILE, path), DATASET_BYTES_MAX, ret_dataset, NULL) < 0)
		*ret_dataset = NULL;
}

/* Notes the classes of a file of kiln prep in the run record, as fetchd notes those of objects. The file may
 * come from anywhere: names that the record has no room for are left out. */
static void note_classes(const struct run *run)
{
	CLEANUP(json_free) cJSON *dataset = NULL;
	CLEANUP(json_free) cJSON *object = cJSON_CreateObject();
	struct error err = { 0 };
	cJSON *classes;

	read_file(run, &dataset);
	classes = dataset_classes(dataset);
	if (!classes)
		return;
	cJSON_AddItemReferenceToObject(object, "classes", classes);
	if (run_note_members(object, &err) < 0)
		log_warning("run.json has no names of the classes: %s", err.text);
}

int names_write(const struct run *run, struct error *err)
{
	CLEANUP(plan_closep) struct plan *plan = NULL;
	CLEANUP(free_ptr) char *text = NULL;
	char path[PATH_BYTES];
	int r;

	if (!config_reads_objects(&run->config)) {
		note_classes(run);
		return 0;
	}
	if ((r = plan_open(path_of(PATH_RUN, "plan", path), &plan, err)) < 0 ||
	    (r = print(plan, &text, err)) < 0)
		return r;
	return file_write_durable(spool_path(run->id, NAMES_FILE, path), text, strlen(text), err);
}

int names_about(const struct run *run, const struct config *config, struct about *ret_about,
		struct error *err)
{
	CLEANUP(json_free) cJSON *dataset = NULL;

	read_file(run, &dataset);
	return about_make(config, dataset, ret_about, err);
}
