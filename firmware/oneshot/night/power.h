/* SPDX-License-Identifier: Apache-2.0 */
/* What follows a night that the timer started: the box is switched off or suspended, where nobody uses it and
 * something will wake it for the next night. */
#pragma once

#include "core/config/config.h"

/* Does what power.when_finished says. The box stays on, with an event that says why, where somebody is logged
 * in, an update is being fetched or installed, the next night begins within minutes, or the alarm that would
 * wake the box cannot be set. */
MUST_CHECK int power_rest(const struct config *config, const char *run_id, struct error *err);
