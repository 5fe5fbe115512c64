/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Matches records against a condition of core/config/filter.h. Numbers are compared in the feature's own
 * type: with a float feature, 0.1 means the float32 nearest to 0.1. Pure functions on bytes; any thread.
 */
#pragma once

#include "core/base/error.h"
#include "core/config/filter.h"

/* Returns 1 when the Example matches, else 0. A comparison of a number that the Example does not have is
 * false; a text that it does not have is compared as the empty text. The second half of `and` and `or` is
 * looked at only where the first does not decide. Errors: -EBADMSG naming the feature: the bytes are no
 * Example, the feature holds another kind of values, or it holds several values and the condition has no
 * index. */
MUST_CHECK int filter_match(const struct filter *filter, const void *example, uint64_t bytes,
			    struct error *err);
