/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is in the output before the job, and what the job may do with it:
 *
 *     the output has                             without options   --replace
 *     -----------------------------------------  ----------------  ------------
 *     nothing                                    writes all        writes all
 *     features of this base and these pictures,  writes the rest   writes all
 *       of this device
 *     other features                             refuses           writes all
 *     a damaged features.json                    refuses           writes all
 *     shards of others                           refuses           refuses
 *
 * Another device is another set of features, because the sums of two devices differ in their last bits.
 */
#pragma once

#include "cli/features/job.h"

/* Opens the output, and locks it where it is a folder. Errors: those of the store; -EBUSY another kiln prep
 * writes there. */
MUST_CHECK int there_open(struct job *job, struct error *err);
/* Decides by the table above, and removes what must go. Returns 1 where the output has features of this base,
 * these pictures and this device. Errors: -EEXIST with what is there; those of the store. */
MUST_CHECK int there_decide(struct job *job, struct error *err);
/* Writes what makes the output one of these features, before its first shard. */
MUST_CHECK int there_mark(struct job *job, struct error *err);
