/* SPDX-License-Identifier: Apache-2.0 */
#include "traind/forms.h"
#include "core/base/log.h"
#include "core/base/paths.h"
#include "core/run/spool.h"
#include "model/export/export.h"

static int write_form(const struct run *run, const struct graph *graph, const struct export_weights *weights,
		      const struct about *about, enum export_form form, struct error *err)
{
	CLEANUP(free_ptr) uint8_t *data = NULL;
	char name[SPOOL_NAME_BYTES], path[PATH_BYTES];
	uint64_t bytes;
	int r = export_model(graph, weights, about, form, &data, &bytes, err);

	(void)snprintf(name, sizeof(name), "model/%s", export_file(form));
	return r < 0 ? r : file_write_durable(spool_path(run->id, name, path), data, bytes, err);
}

void forms_write(const struct run *run, const struct graph *graph, const struct model_tensor *tensors,
		 uint32_t count, const struct about *about)
{
	const struct export_weights weights = { tensors, count };
	struct error err = { 0 };

	for (enum export_form form = 0; form < EXPORT_FORMS; form++)
		if (write_form(run, graph, &weights, about, form, &err) < 0)
			log_warning("%s is not written: %s; `kiln export` can make it later",
				    export_file(form), err.text);
}
