/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether all ranks of a run have the same weights: every ranks.check_steps steps they compare a checksum of
 * each parameter. A number that a network moves wrongly, or that one device alone changes, is found so, and
 * named. Not found is a wrong gradient, which is in the sum of all ranks, and a wrong update where ranks
 * divide the update among them (model/exchange.h). Main thread only.
 */
#pragma once

#include "core/base/error.h"

#include <stdbool.h>

struct train;

/* Tells whether a comparison is due after this training step: the same in all ranks. */
bool same_due(const struct train *train);
/* Compares the weights. All ranks call it where a comparison is due. Waits for the device and for the writer
 * thread. Errors, which all ranks return: -EBADMSG a parameter differs: the text names step, rank and
 * parameter; those of a snapshot in any rank. */
MUST_CHECK int same_weights(struct train *train, struct error *err);
