/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of layers: finds the row of an op (graph/op.h).
 *
 * The rows are in the files of this folder, one file for each family of layers. row.h, norm.h and embedding.h
 * hold what several rows share. attributes.h reads the keys of a layer, emit.h appends the launches of a
 * node.
 *
 * Threads: none of its own; rows are constants. A layer keeps no state outside the state arena, so a crash
 * loses nothing here.
 */
#pragma once

#include "core/base/nearest.h"
#include "model/graph/op.h"

/* Returns the row of an op, or NULL: there is no such op. */
const struct op *op_find(const char *name);
/* Returns row i = 0, 1, ...; NULL after the last. */
const struct op *op_at(uint32_t i);
/* Returns the names of all ops, "dense, relu, ...", for messages. */
const char *op_names(void);
/* Writes which op a person meant who typed `name`, as nearest_text() does. Returns `out`. */
const char *op_meant(const char *name, char out[static NEAREST_TEXT_BYTES]);
