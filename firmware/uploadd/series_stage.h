/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The record of a series in a sink with branches: on the branch of sink.url, by a stage "series-<id>"
 * (drivers/versions/versions_stage.h), so that `kiln runs --store` and `kiln experiments --store` of every
 * box find the night, whatever came of it. A merged winner has brought the record to the branch merged into.
 */
#pragma once

#include "core/base/json.h"
#include "core/config/config.h"
#include "drivers/store/store.h"

/* Tells whether the record is to be put: the series has ended, and has its outcome where promote.against asks
 * for one, and its winner is not merged. */
bool series_stage_is_due(const struct config *config, const cJSON *series);
/* Puts the record. Errors: those of a stage; also where the stage alone cannot be deleted, unless the access
 * key or a hook lets nobody delete it. Then the next call deletes it. */
MUST_CHECK int series_stage_put(const struct config *config, const cJSON *series,
				const struct store_options *options, struct error *err);
