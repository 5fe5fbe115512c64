/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "cli/prep/prep.h"

/* Writes the whole set: shards, the files beside them and manifest.jsonl; prints the summary. A shard that
 * lies in the store with the same bytes is not written again. Errors: those of a store and of the kind. */
MUST_CHECK int prep_write(struct prep *prep, struct error *err);
