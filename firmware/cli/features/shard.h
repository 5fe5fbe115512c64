/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "cli/features/rows.h"

/* Makes a shard of features, and puts it into the output: sets records, bytes, etag and sha256. Errors: those
 * of rows.h, of model_predict() and of the store. */
MUST_CHECK int shard_make(struct job *job, struct rows *rows, struct job_shard *shard, struct error *err);
/* Looks whether the output has the shard, whole: sets is_there, and what shard_make() sets. A damaged one is
 * made again. Errors: those of the store. */
MUST_CHECK int shard_look(struct job *job, struct job_shard *shard, struct error *err);
