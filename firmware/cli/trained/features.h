/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records as people write them: a JSON object a line, the features that a model reads by their names. A list
 * may be nested as the shape is; one number may stand without a list; integers above 2^53 are strings.
 */
#pragma once

#include "cli/trained/columns.h"
#include "core/base/json.h"

/* The values of `object` into a row. Members that the schema has and the model does not read count for
 * nothing; a feature that is not there has its `fill`, if it may be missing. Errors: -EBADMSG the feature,
 * what was found and expected. */
MUST_CHECK int features_take(const struct columns *columns, const struct config *config, const cJSON *object,
			     uint32_t row, struct error *err);
