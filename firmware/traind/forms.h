/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the finished model in the file formats of other tools, in the spool beside model.safetensors. */
#pragma once

#include "core/run/run.h"
#include "model/export/about.h"
#include "model/graph/graph.h"
#include "model/model.h"

/* Writes the model in every format. A file that cannot be written is logged and does not stop the run: `kiln
 * export` makes the file from model.safetensors at any time. `graph` is that of the model, built without
 * training; `tensors` hold the data of all parameters. */
void forms_write(const struct run *run, const struct graph *graph, const struct model_tensor *tensors,
		 uint32_t count, const struct about *about);
