/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether all ranks of a run have the same weights: every ranks.check_steps steps they compare a checksum of
 * each parameter. A number that a network moves wrongly, or that one device alone changes, is found so, and
 * named. Not found is a wrong gradient, which is in the sum of all ranks, and a wrong update where ranks
 * divide the update among them (model/exchange.h). Main thread only.
 */
#pragma once

#include "core/base/error.h"

struct train;

/* Called by all ranks after each training step. Waits for the device and for the writer thread where a
 * comparison is due. Errors: -EBADMSG a parameter differs: the text names step, rank and parameter; all ranks
 * return it. */
MUST_CHECK int same_weights(struct train *train, struct error *err);
