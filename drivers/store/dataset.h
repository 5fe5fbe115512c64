/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "core/run/dataset.h"
#include "drivers/store/store.h"

/* Gets and parses the dataset.json of a store. Owns: the caller frees *ret_dataset. Errors: those of
 * store_get_all(), -ENOENT there is none; those of json_parse(). */
MUST_CHECK int store_get_dataset(struct store *store, cJSON **ret_dataset, struct error *err);
