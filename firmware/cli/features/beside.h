/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "cli/features/job.h"

/* Sets job->classes: the names of the plan, or of dataset.json beside the shards of pictures. Call it when
 * the plan is there. Errors: those of the store, without -ENOENT; -EBADMSG dataset.json is no JSON. */
MUST_CHECK int beside_find_classes(struct job *job, struct error *err);
/* Writes features.conf, dataset.json and manifest.jsonl, and takes the mark of an unfinished set away. Call
 * it when all shards are there. Errors: those of the stores; -EFBIG the manifest is larger than a run reads.
 */
MUST_CHECK int beside_write(struct job *job, struct error *err);
/* Prints the summary. */
void beside_report(const struct job *job);
