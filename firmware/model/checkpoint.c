/* SPDX-License-Identifier: Apache-2.0 */
#include "model/checkpoint.h"

#include "core/run/spool.h"
#include "model/formats/expect.h"
#include "model/formats/names.h"

#include <inttypes.h>
#include <string.h>

/* ---- The newest whole file ---- */

int checkpoint_open_newest(const char *run_id,
			   void (*damaged)(const char *run_id, const char *name, const struct error *err),
			   char path[static PATH_BYTES], struct safetensors **ret_file, struct error *err)
{
	for (;;) {
		char name[SPOOL_NAME_BYTES];
		const int64_t newest = spool_newest_step(run_id, err);
		struct error open_err;
		int r;

		if (newest < 0)
			return (int)newest;
		(void)spool_path(run_id, spool_checkpoint_name((uint64_t)newest, name), path);
		r = safetensors_open(path, ret_file, &open_err);
		if (r != -EBADMSG)
			return r < 0 ? error_set(err, r, "%s", open_err.text) : 0;
		damaged(run_id, name, &open_err);
		if (unlink(path) < 0)
			return error_set(err, -errno, "%s: cannot remove it: %s", path, strerror(errno));
	}
}

/* ---- Tensors and metadata ---- */

/* Checks every tensor that the file must hold. */
static int check_forms(const struct model *model, const char *path, const struct safetensors *file,
		       bool parameters_alone, struct error *err)
{
	uint32_t count;
	const struct model_tensor *found = safetensors_tensors(file, &count);

	return expect_tensors(model_graph(model), parameters_alone ? EXPECT_PARAMETERS : EXPECT_STATE, path,
			      found, count, err);
}

int checkpoint_load(struct model *model, const char *path, const struct safetensors *file,
		    bool parameters_alone, struct error *err)
{
	uint32_t wanted_count, count;
	const struct model_tensor *wanted = model_tensors(model, &wanted_count),
				  *found = safetensors_tensors(file, &count);
	int r = safetensors_require_crcs(file, err);

	if (r == 0)
		r = check_forms(model, path, file, parameters_alone, err);
	for (uint32_t i = 0; r == 0 && i < wanted_count; i++) {
		const struct model_tensor *tensor = name_find(found, count, wanted[i].name);

		if (tensor && (!parameters_alone || name_is_parameter(tensor->name)))
			r = model_tensor_load(model, tensor->name, tensor->data, tensor->bytes, err);
	}
	return r;
}

int checkpoint_expect(const char *path, const struct safetensors *file, const char *key, const char *expected,
		      struct error *err)
{
	const char *found = safetensors_value(file, key);

	if (found && strcmp(found, expected) == 0)
		return 0;
	return error_set(err, -EINVAL, "%s: %s: found %.200s, expected %s", path, key,
			 found ? found : "nothing", expected);
}

int checkpoint_expect_graph(const struct model *model, const char *path, const struct safetensors *file,
			    bool parameters_alone, struct error *err)
{
	struct error hash_err, form_err;
	int r = parameters_alone
			? checkpoint_expect(path, file, "layers_hash", model_layers_hash(model), &hash_err)
			: checkpoint_expect(path, file, "graph_hash", model_graph_hash(model), &hash_err);

	if (r == 0)
		return 0;
	if (check_forms(model, path, file, parameters_alone, &form_err) < 0)
		return error_set(err, r, "%s; %s", hash_err.text, form_err.text + strlen(path) + 2);
	return error_set(err, r, "%s; each tensor fits, so a layer without any%s differs", hash_err.text,
			 parameters_alone ? "" : ", what is frozen, the loss or the optimizer");
}
