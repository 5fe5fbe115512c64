/* SPDX-License-Identifier: Apache-2.0 */
#include "traind/best.h"
#include "core/base/cleanup.h"
#include "model/formats/expect.h"
#include "model/formats/names.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int best_open(struct best *best, const struct config *config, const struct model *model, struct error *err)
{
	uint32_t count;
	const struct model_tensor *tensors = model_tensors(model, &count);

	callbacks_start(&best->state);
	if (!callbacks_save_best(config))
		return 0;
	best->parameter = calloc(count, sizeof(*best->parameter));
	if (!best->parameter)
		return error_set(err, -ENOMEM, "the best weights: no memory");
	for (uint32_t i = 0; i < count; i++) {
		struct best_parameter *parameter = &best->parameter[best->count];

		if (!name_is_parameter(tensors[i].name))
			continue;
		(void)snprintf(parameter->name, sizeof(parameter->name), BEST_PREFIX "%s", tensors[i].name);
		parameter->tensor = tensors[i];
		parameter->data = malloc(tensors[i].bytes);
		if (!parameter->data)
			return error_set(err, -ENOMEM, "the best weights: no memory for %" PRIu64 " bytes",
					 tensors[i].bytes);
		best->count++;
	}
	return 0;
}

void best_close(struct best *best)
{
	for (uint32_t i = 0; i < best->count; i++)
		free(best->parameter[i].data);
	free(TAKE(best->parameter));
	best->count = 0;
}

/* ---- In a checkpoint ---- */

static struct model_tensor tensor_of_state(const struct callbacks *state)
{
	return (struct model_tensor){ .name = CALLBACKS_TENSOR,
				      .dtype = "F64",
				      .rank = 1,
				      .shape = { CALLBACKS_NUMBERS },
				      .data = state,
				      .bytes = sizeof(*state) };
}

static struct model_tensor tensor_of(const struct best_parameter *parameter)
{
	struct model_tensor tensor = parameter->tensor;

	tensor.name = parameter->name;
	tensor.data = parameter->data;
	return tensor;
}

uint32_t best_tensors(const struct best *best, struct model_tensor *ret_tensors)
{
	uint32_t count = 0;

	ret_tensors[count++] = tensor_of_state(&best->state);
	for (uint32_t i = 0; best->filled && i < best->count; i++)
		ret_tensors[count++] = tensor_of(&best->parameter[i]);
	return count;
}

static const struct model_tensor *find(const struct safetensors *file, const char *name)
{
	uint32_t count;
	const struct model_tensor *tensors = safetensors_tensors(file, &count);

	return name_find(tensors, count, name);
}

/* Loads all parameters, or none if the first is missing: the checkpoint may come from a night whose
 * configuration did not ask for the best weights. */
static int restore_parameters(struct best *best, const char *path, const struct safetensors *file,
			      struct error *err)
{
	if (best->count == 0 || !find(file, best->parameter[0].name))
		return 0;
	for (uint32_t i = 0; i < best->count; i++) {
		const struct best_parameter *parameter = &best->parameter[i];
		const struct model_tensor wanted = tensor_of(parameter), *found = find(file, wanted.name);
		int r = expect_form(path, &wanted, found, err);

		if (r < 0)
			return r;
		memcpy(parameter->data, found->data, found->bytes);
	}
	best->filled = true;
	return 0;
}

int best_restore(struct best *best, const char *path, const struct safetensors *file, struct error *err)
{
	struct callbacks *state = &best->state;
	const struct model_tensor wanted = tensor_of_state(state), *found = find(file, wanted.name);
	int r = found ? expect_form(path, &wanted, found, err) : 0;

	if (r < 0 || !found)
		return r;
	memcpy(state, found->data, sizeof(*state));
	if (state->version != CALLBACKS_VERSION)
		return error_set(err, -EBADMSG, "%s: " CALLBACKS_TENSOR ": found version %g, expected %d",
				 path, state->version, CALLBACKS_VERSION);
	return restore_parameters(best, path, file, err);
}

/* ---- From and to the model ---- */

int best_save(struct best *best, struct model *model, struct error *err)
{
	const struct model_tensor *tensors;
	uint32_t count, saved = 0;
	int r = model_snapshot(model, err);

	if (r < 0)
		return r;
	r = model_snapshot_tensors(model, &tensors, &count, err);
	for (uint32_t i = 0; r == 0 && i < count; i++)
		if (name_is_parameter(tensors[i].name))
			memcpy(best->parameter[saved++].data, tensors[i].data, tensors[i].bytes);
	model_snapshot_release(model);
	best->filled = r == 0;
	return r;
}

int best_load(const struct best *best, struct model *model, struct error *err)
{
	int r = 0;

	for (uint32_t i = 0; r == 0 && i < best->count; i++)
		r = model_tensor_load(model, best->parameter[i].tensor.name, best->parameter[i].data,
				      best->parameter[i].tensor.bytes, err);
	return r;
}
