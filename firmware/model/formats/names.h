/* SPDX-License-Identifier: Apache-2.0 */
/*
 * firmware/model/formats: the files that others read or write: checkpoints and models (safetensors.h), event
 * files (tfevents.h, histogram.h), and protocol buffers (wire.h), the encoding of event files and exported
 * models. No threads. A crash leaves a safetensors file whole or absent, and an event file with at most one
 * incomplete record at its end, which tfevents_session_start() cuts.
 *
 * This file: the names of tensors in safetensors files. "LAYER/PARAMETER" is a parameter or state of a layer,
 * "optimizer/SLOT/LAYER/PARAMETER" a slot of the optimizer, "state/NAME" another part of the run's state.
 */
#pragma once

#include "model/formats/model_tensor.h"

#include <stdbool.h>

/* Returns whether the tensor of this name is a parameter or state of a layer. */
bool name_is_parameter(const char *name);

/* Returns the tensor of this name, or NULL. */
const struct model_tensor *name_find(const struct model_tensor *tensors, uint32_t count, const char *name);
