/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records as people write them: a JSON object a line, {"FEATURE": VALUES}. A list may be nested like the
 * shape or flat; one number needs no list; an integer above 2^53 is a string.
 */
#pragma once

#include "cli/trained/columns.h"
#include "core/base/json.h"

/* Writes the values of `object` into a row. Members of features that the model does not read are ignored. A
 * missing feature becomes its `fill` where the schema allows it. Errors: -EBADMSG names the feature, what was
 * found and expected. */
MUST_CHECK int features_add(const struct columns *columns, const struct config *config, const cJSON *object,
			    uint32_t row, struct error *err);
