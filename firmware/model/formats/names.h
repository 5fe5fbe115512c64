/* SPDX-License-Identifier: Apache-2.0 */
/*
 * firmware/model/formats: the files that others read or write: checkpoints and models (safetensors.h), event
 * files (tfevents.h, histogram.h), and protocol buffers, of which event files and exported models are made
 * (wire.h). No threads. A crash leaves a safetensors file whole or absent, and an event file with at most one
 * incomplete record at its end, which tfevents_session_start() cuts.
 *
 * This file: the names of tensors in safetensors files. "LAYER/PARAMETER" is a layer's, "optimizer/SLOT/
 * LAYER/PARAMETER" the optimizer's, "state/NAME" the run's.
 */
#pragma once

#include "model/model.h"

#include <stdbool.h>

/* Whether the tensor is a layer's. */
bool name_is_parameter(const char *name);

/* Returns the tensor of this name, or NULL. */
const struct model_tensor *name_find(const struct model_tensor *tensors, uint32_t count, const char *name);
