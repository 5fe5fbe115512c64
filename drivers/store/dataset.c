/* SPDX-License-Identifier: Apache-2.0 */
#include "drivers/store/dataset.h"

int store_get_dataset(struct store *store, cJSON **ret_dataset, struct error *err)
{
	CLEANUP(free_ptr) char *text = NULL;
	uint64_t bytes;
	int r = store_get_all(store, DATASET_NAME, DATASET_BYTES_MAX, &text, &bytes, err);

	return r < 0 ? r : json_parse(DATASET_NAME, text, bytes, ret_dataset, err);
}
