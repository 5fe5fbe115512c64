/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which numbers the network can take from a record: labels, by the loss and the last layer, and ids, by the
 * embeddings that read them. A run ends at the first other number. Private to preflight.
 */
#pragma once

#include "core/config/config.h"
#include "data/example.h"

struct numbers {
	uint64_t limit[CONFIG_FEATURES_MAX]; /* by feature of the schema: 0 .. limit - 1; 0 = any number */
};

/* Without a network that can be built, any number is allowed: trials_check() says what is wrong. */
void numbers_of(const struct config *config, struct numbers *ret_numbers);

/* Checks the rows of one record. `row`: as for example_parse(). Errors: -EBADMSG the first wrong number, with
 * its feature. */
MUST_CHECK int numbers_check(const struct numbers *numbers, const struct example_schema *schema,
			     void *const *row, struct error *err);
