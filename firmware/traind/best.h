/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state of the callbacks (model/learn/callbacks.h) and the weights of the best epoch, in host memory and
 * in a checkpoint: tensor CALLBACKS_TENSOR, and BEST_PREFIX "<parameter>" for each parameter.
 *
 * The writer thread reads struct best while it writes a checkpoint: call writer_wait() before a change.
 */
#pragma once

#include "model/formats/safetensors.h"
#include "model/learn/callbacks.h"
#include "model/model.h"

#define CALLBACKS_TENSOR "state/callbacks"
#define BEST_PREFIX      "state/best/"

struct best_parameter {
	char name[256]; /* name of the tensor in a checkpoint */
	struct model_tensor tensor;
	void *data;
};

struct best {
	struct callbacks state;
	uint32_t count; /* number of parameters; 0: the configuration does not ask for the best weights */
	struct best_parameter *parameter;
	bool filled; /* each parameter's `data` holds the weights of an epoch */
};

/* Allocates space for the best weights if the configuration wants them. */
MUST_CHECK int best_open(struct best *best, const struct config *config, const struct model *model,
			 struct error *err);
void best_close(struct best *best);

/* Lists the tensors for a checkpoint, at most 1 + best->count; returns how many. */
uint32_t best_tensors(const struct best *best, struct model_tensor *ret_tensors);
/* Reads the tensors of best_tensors() from a checkpoint; `path` names the file in errors. Errors:
 * -EBADMSG. */
MUST_CHECK int best_restore(struct best *best, const char *path, const struct safetensors *file,
			    struct error *err);

/* Copies the model's weights into struct best. Blocks: waits for the device. Uses the model's one
 * snapshot. */
MUST_CHECK int best_save(struct best *best, struct model *model, struct error *err);
/* Loads the best weights into the model. */
MUST_CHECK int best_load(const struct best *best, struct model *model, struct error *err);
