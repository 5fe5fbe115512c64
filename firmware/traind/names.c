/* SPDX-License-Identifier: Apache-2.0 */
#include "traind/names.h"

#include "core/base/json.h"
#include "core/base/paths.h"
#include "core/run/spool.h"
#include "data/plan.h"

#include <string.h>

#define NAMES_FILE "model/dataset.json"

static int print(const struct plan *plan, char **ret_text, struct error *err)
{
	CLEANUP(json_free) cJSON *object = cJSON_CreateObject();
	cJSON *names = cJSON_AddArrayToObject(object, "classes");

	for (uint64_t i = 0; i < plan_class_count(plan); i++)
		if (!cJSON_AddItemToArray(names, json_string(plan_class(plan, i))))
			return error_set(err, -ENOMEM, NAMES_FILE ": no memory");
	return json_print(object, ret_text, err);
}

int names_write(const struct run *run, struct error *err)
{
	CLEANUP(plan_closep) struct plan *plan = NULL;
	CLEANUP(free_ptr) char *text = NULL;
	char path[PATH_BYTES];
	int r;

	if (!config_reads_objects(&run->config))
		return 0;
	if ((r = plan_open(path_of(PATH_RUN, "plan", path), &plan, err)) < 0 ||
	    (r = print(plan, &text, err)) < 0)
		return r;
	return file_write_durable(spool_path(run->id, NAMES_FILE, path), text, strlen(text), err);
}
