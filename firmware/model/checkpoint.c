/* SPDX-License-Identifier: Apache-2.0 */
#include "model/checkpoint.h"

#include "core/spool.h"

#include <inttypes.h>
#include <string.h>

static const struct model_tensor *find(const struct model_tensor *tensors, uint32_t count, const char *name)
{
	for (uint32_t i = 0; i < count; i++)
		if (strcmp(tensors[i].name, name) == 0)
			return &tensors[i];
	return NULL;
}

/* ---- Which file ---- */

static int note_newest(void *context, const char *name, uint64_t bytes)
{
	int64_t *newest = context, step = spool_checkpoint_step(name);

	(void)bytes;
	if (step > *newest)
		*newest = step;
	return 0;
}

int checkpoint_open_newest(const char *run_id,
			   void (*damaged)(const char *run_id, const char *name, const struct error *err),
			   char path[static PATH_BYTES], struct safetensors **ret_file, struct error *err)
{
	for (;;) {
		char name[SPOOL_NAME_BYTES];
		int64_t newest = -1;
		struct error open_err;
		int r = spool_list(run_id, note_newest, &newest, err);

		if (r < 0)
			return r;
		if (newest < 0)
			return error_set(err, -ENOENT, "%s: no checkpoint in the spool", run_id);
		(void)spool_path(run_id, spool_checkpoint_name((uint64_t)newest, name), path);
		r = safetensors_open(path, ret_file, &open_err);
		if (r != -EBADMSG)
			return r < 0 ? error_set(err, r, "%s", open_err.text) : 0;
		damaged(run_id, name, &open_err);
		if (unlink(path) < 0)
			return error_set(err, -errno, "%s: cannot remove it: %s", path, strerror(errno));
	}
}

/* ---- What is in it ---- */

bool checkpoint_is_parameter(const char *name)
{
	return strncmp(name, "optimizer/", 10) != 0 && strncmp(name, "state/", 6) != 0;
}

int checkpoint_load(struct model *model, const char *path, const struct safetensors *file,
		    bool parameters_alone, struct error *err)
{
	uint32_t wanted_count, count;
	const struct model_tensor *wanted = model_tensors(model, &wanted_count),
				  *found = safetensors_tensors(file, &count);

	for (uint32_t i = 0; i < wanted_count; i++) {
		const struct model_tensor *tensor = find(found, count, wanted[i].name);
		int r;

		if (parameters_alone && !checkpoint_is_parameter(wanted[i].name))
			continue;
		if (!tensor || strcmp(tensor->dtype, wanted[i].dtype) != 0 ||
		    tensor->rank != wanted[i].rank ||
		    memcmp(tensor->shape, wanted[i].shape, tensor->rank * sizeof(tensor->shape[0])) != 0)
			return error_set(err, -EBADMSG, "%s: %s: found %s, expected %s of %" PRIu64 " bytes",
					 path, wanted[i].name, tensor ? "another type or shape" : "nothing",
					 wanted[i].dtype, wanted[i].bytes);
		r = model_tensor_load(model, tensor->name, tensor->data, tensor->bytes, err);
		if (r < 0)
			return r;
	}
	return 0;
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
