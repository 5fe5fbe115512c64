/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the finished model: model.safetensors, and the forms for other tools before it. Once
 * model.safetensors is there, the folder is complete. A run on features (model/features.h) writes the model
 * of base and head. */
#pragma once

#include "model/model.h"
#include "traind/train.h"

/* Writes the files into the spool, model.safetensors as `path`. `tensors`: the state, with data; `step`: the
 * number of steps. The writer thread calls. Errors: those of features_open() and safetensors_write(). */
MUST_CHECK int finished_write(const struct train *train, const char *path, uint64_t step,
			      const struct model_tensor *tensors, uint32_t count, struct error *err);
