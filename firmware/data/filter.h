/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Matching records against core/config/filter.h. Numbers are compared as the feature holds them: 0.1 is the
 * float32 nearest to 0.1. Pure functions on bytes.
 */
#pragma once

#include "core/base/error.h"
#include "core/config/filter.h"

/* 1 the Example counts, 0 it does not: nor does one without that number; one without the text has an empty
 * one. Errors: -EBADMSG naming the feature: it is no Example, the feature holds the other kind of values, or
 * several without an index. */
MUST_CHECK int filter_match(const struct filter *filter, const void *example, uint64_t bytes,
			    struct error *err);
