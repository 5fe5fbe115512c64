/* SPDX-License-Identifier: Apache-2.0 */
/* Facts about the machine, from the kernel, and about its device, from the status page of kiln-traind. Each
 * call reads them again. */
#pragma once

#include "core/base/json.h"
#include "core/run/status.h"

/* Returns {total_bytes, free_bytes, free_percent} of the data disk; JSON null if the disk cannot be read.
 * NULL: no memory. */
cJSON *node_disk(void);
/* Returns [{name, celsius}]. NULL: no memory. */
cJSON *node_temperatures(void);
/* Returns the answer of node.info. `traind`: the status page of kiln-traind, which names the device, or NULL.
 * NULL: no memory. */
cJSON *node_info(const struct status *traind);
