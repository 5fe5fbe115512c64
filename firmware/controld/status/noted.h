/* SPDX-License-Identifier: Apache-2.0 */
/* Notes the state of the box in a file, for kiln-oneshot heartbeat (core/box/box_health.h). */
#pragma once

#include "controld/status/box.h"

/* Writes the file every BOX_HEALTH_EVERY_S. */
void noted_sweep(struct box *box, uint64_t now_ms);
