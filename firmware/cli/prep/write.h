/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "cli/prep/prep.h"

/* Writes the whole set: shards, the files beside them, and manifest.jsonl. Prints a summary. A shard that the
 * store already has with the same bytes is not written again. Errors: those of a store, and those of the
 * kind's functions. */
MUST_CHECK int prep_write(struct prep *prep, struct error *err);
