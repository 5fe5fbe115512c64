/* SPDX-License-Identifier: Apache-2.0 */
#include "model/export/about.h"

#include "core/run/dataset.h"

#include <string.h>

static int print(const cJSON *json, char **ret_text, struct error *err)
{
	int r = json_print_line(json, ret_text, err);

	if (r == 0)
		(*ret_text)[strlen(*ret_text) - 1] = '\0'; /* the end of the line */
	return r;
}

int about_make(const struct config *config, const cJSON *dataset, struct about *ret_about, struct error *err)
{
	CLEANUP(json_free) cJSON *schema = config_schema_json(config);
	cJSON *classes = dataset_classes(dataset);
	int r = print(schema, &ret_about->schema, err);

	return r < 0 || !classes ? r : print(classes, &ret_about->classes, err);
}

void about_done(struct about *about)
{
	free(about->schema);
	free(about->classes);
	*about = (struct about){ 0 };
}
