/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The last good configuration: a copy of kiln.conf, beside it under CONFIG_GOOD_SUFFIX, from when it was last
 * checked. After a later mistake in kiln.conf the timer, the network time and the reports use this copy until
 * the mistake is mended. Saved by kiln-oneshot keep-config, after kiln config check.
 */
#pragma once

#include "core/config/config.h"

/* Loads kiln.conf or, where it has mistakes, the last good configuration.
 * Errors: those of kiln.conf, where neither can be used. */
MUST_CHECK int last_good_load(struct config *ret_config, struct error *err);

/* For a `file` that is known to be unusable: loads its last good copy or, where that is unusable too, the
 * frozen configuration of the current run. */
MUST_CHECK int last_good_or_frozen(const char *file, struct config *ret_config, struct error *err);
