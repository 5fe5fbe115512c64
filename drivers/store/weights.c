/* SPDX-License-Identifier: Apache-2.0 */
#include "drivers/store/weights.h"

#include <string.h>

static int get(const struct config *config, const struct store_options *options, const char *path,
	       struct error *err)
{
	CLEANUP(free_ptr) char *url = malloc(strlen(config->model.weights) + 1);
	CLEANUP(store_closep) struct store *store = NULL;
	struct config_store where;
	const char *key;
	int r;

	if (!url)
		return error_set(err, -ENOMEM, "no memory for a url");
	key = config_weights_key(config, &where, url);
	r = store_open(&where, options, &store, err);
	return r < 0 ? r : store_get_file(store, key, path, UINT64_MAX, err);
}

int store_get_weights(const struct config *config, const struct store_options *options, const char *path,
		      struct error *err)
{
	return get(config, options, path, err) < 0 ? error_prefix(err, "model.weights") : 0;
}
