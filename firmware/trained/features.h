/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records that a person can write: one JSON object per line, {"FEATURE": VALUES}. A list of values may be
 * flat, or nested like the shape of the feature. A feature of one number needs no list. An integer above 2^53
 * is written as a string.
 */
#pragma once

#include "core/base/json.h"
#include "trained/columns.h"

/* Writes the values of `object` into a row. Members for features that the model does not read are ignored. A
 * missing feature gets its `fill` value where the schema allows this. Errors: -EBADMSG with the feature, what
 * was found and what was expected. */
MUST_CHECK int features_add(const struct columns *columns, const struct config *config, const cJSON *object,
			    uint32_t row, struct error *err);
