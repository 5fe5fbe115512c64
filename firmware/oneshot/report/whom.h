/* SPDX-License-Identifier: Apache-2.0 */
/* The configuration that says whom to tell of a night. */
#pragma once

#include "core/config/config.h"

/* Loads the configuration that says whom to tell: kiln.conf; where it has mistakes, its last good copy or the
 * frozen one of the current run. Where there is none, *ret_config stays empty, and the log says so. The
 * caller calls config_done(). */
void whom_load(struct config *ret_config);
