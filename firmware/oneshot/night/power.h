/* SPDX-License-Identifier: Apache-2.0 */
/* Switches the box off, or suspends it, after a night that the timer started, if nobody uses the box and
 * something wakes it for the next night. */
#pragma once

#include "core/config/config.h"

/* Does what power.when_finished says. The box stays on, with an event that says why, while somebody is logged
 * in, an update is on its way, the next night is near, or the alarm that would wake the box cannot be set. */
MUST_CHECK int power_rest(const struct config *config, const char *run_id, struct error *err);
