/* SPDX-License-Identifier: Apache-2.0 */
/* The finished model in the forms that other tools load, in the spool beside model.safetensors. */
#pragma once

#include "core/run/run.h"
#include "model/model.h"

/* Writes every form. A form that cannot be written is logged and does not stop the run: `kiln export` makes
 * it from model.safetensors at any time. `tensors` hold the data of all parameters. */
void forms_write(const struct run *run, const struct model_tensor *tensors, uint32_t count);
