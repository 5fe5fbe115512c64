/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes the names of the classes of a plan of objects (data/plan.h) as dataset.json into the model folder of
 * the spool, where `kiln predict` and `kiln evaluate` look for them. With shards, that file is the one that
 * kiln prep made, which kiln-oneshot begin copies there. Blocks: on the disk.
 */
#pragma once

#include "core/run/run.h"

/* Does nothing without objects. Errors: those of the plan and of the file. */
MUST_CHECK int names_write(const struct run *run, struct error *err);
