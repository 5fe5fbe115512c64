/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The last good configuration: a copy of kiln.conf, made when kiln.conf was last checked and had no mistakes.
 * The copy is in the same folder, with the suffix CONFIG_GOOD_SUFFIX. While kiln.conf has a mistake, the
 * timer, the network time and the reports use this copy, so that they go on working. kiln-oneshot keep-config
 * saves it, after kiln config check.
 */
#pragma once

#include "core/config/config.h"

/* Loads kiln.conf or, where it has mistakes, the last good configuration.
 * Where neither can be used, returns the errors of kiln.conf. */
MUST_CHECK int last_good_load(struct config *ret_config, struct error *err);

/* To be called when `file` cannot be used: loads its last good copy or, where that cannot be used either, the
 * frozen configuration of the current run. */
MUST_CHECK int last_good_or_frozen(const char *file, struct config *ret_config, struct error *err);
