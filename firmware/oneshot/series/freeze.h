/* SPDX-License-Identifier: Apache-2.0 */
/* A new series from kiln.conf, and the configuration of one of its trials. */
#pragma once

#include "core/config/config.h"
#include "core/series/series.h"

/* Makes the record of a new series from `file`. Where kiln.conf has no cache, the series gets one of half of
 * the disk: all trials get the same. `before`: id of the last run of this box; "" = none. Owns: the caller
 * deletes *ret_series. Errors: -EINVAL the file, or one of its trials, has mistakes. */
MUST_CHECK int freeze_series(const char *file, const char *before, cJSON **ret_series, struct error *err);

/* Loads the frozen configuration of the series. Owns: the caller calls config_done(). */
MUST_CHECK int freeze_config(const cJSON *series, struct config *ret_config, struct error *err);

/* Loads the configuration of a trial, with the lines of the frozen one, and writes it to `path`. Without a
 * cache in the frozen configuration the trial gets that of the series, so that all trials together read the
 * store once. Owns: the caller calls config_done(). */
MUST_CHECK int freeze_trial(const cJSON *series, uint32_t trial, const char *path, struct config *ret_config,
			    struct error *err);
