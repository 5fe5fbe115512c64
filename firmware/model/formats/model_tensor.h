/* SPDX-License-Identifier: Apache-2.0 */
/* A tensor of a model's state, as checkpoints and model files name and describe it. */
#pragma once

#include "core/config/config.h"

#include <stdint.h>

/* A tensor of the state, in the form in which a checkpoint holds it. */
struct model_tensor {
	const char *name;  /* "dense/kernel", "optimizer/m/dense/kernel", "state/step" ... */
	const char *dtype; /* safetensors names: F32, I64, U8 */
	uint32_t rank;
	uint64_t shape[CONFIG_SHAPE_MAX];
	const void *data; /* points into the snapshot */
	uint64_t bytes;
};
