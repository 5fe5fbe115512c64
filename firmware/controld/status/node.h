/* SPDX-License-Identifier: Apache-2.0 */
/* The machine: what the kernel says of it, and the trainer of its device. Each function reads anew. */
#pragma once

#include "core/base/json.h"
#include "core/run/status.h"

/* {total_bytes, free_bytes, free_percent} of the data disk; null where it cannot be asked; NULL: no memory.
 */
cJSON *node_disk(void);
/* [{name, celsius}]. NULL: no memory. */
cJSON *node_temperatures(void);
/* The answer of node.info. `traind`: its page, NULL = none; it names the device. NULL: no memory. */
cJSON *node_info(const struct status *traind);
