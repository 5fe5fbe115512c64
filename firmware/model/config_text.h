/* SPDX-License-Identifier: Apache-2.0 */
/* A configuration from its text: that of a model file, or one that a program makes. */
#pragma once

#include "core/config/config.h"

/* Does what config_load() does. The text may be freed after the call. Errors: those of config_load(), whose
 * lines are those of the text; -ENOMEM and others, there is no memory for a file in memory. */
MUST_CHECK int config_text_load(const char *text, struct config *ret_config, struct error *err);
