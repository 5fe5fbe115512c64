/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The names of the classes, in dataset.json in the model folder of the spool, where `kiln predict` and `kiln
 * evaluate` look for them. Of a plan of objects (data/plan.h) traind writes them; with shards, that file is
 * the one that kiln prep made, which kiln-oneshot begin copies there. Blocks: on the disk.
 */
#pragma once

#include "core/run/run.h"
#include "model/export/about.h"

/* Writes the file of a plan of objects; else notes the classes of the file, if it is there, in run.json.
 * Errors: those of the plan and of the file. */
MUST_CHECK int names_write(const struct run *run, struct error *err);
/* Makes what the finished model says of its data; `config` is the configuration in the model. Without the
 * file, and if it is not JSON, its classes have no names. Errors: those of about_make(). */
MUST_CHECK int names_about(const struct run *run, const struct config *config, struct about *ret_about,
			   struct error *err);
