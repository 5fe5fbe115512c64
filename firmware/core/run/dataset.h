/* SPDX-License-Identifier: Apache-2.0 */
/* dataset.json, a file in the folder of shards: what kiln prep wrote there. The model folder of a run has a
 * copy, for the names of the classes; of a plan of objects traind writes it with these names alone. */
#pragma once

#include "core/base/json.h"

#define DATASET_NAME      "dataset.json"
#define DATASET_BYTES_MAX (4u << 20)

/* Returns the names of the classes, a list in the order of their numbers; NULL: there is no such list.
 * `dataset` may be NULL. */
cJSON *dataset_classes(const cJSON *dataset);
/* Returns the name of one class, which is the list's; NULL: it has no name. */
const char *dataset_class(const cJSON *dataset, uint64_t class);
