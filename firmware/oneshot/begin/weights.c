/* SPDX-License-Identifier: Apache-2.0 */
#include "oneshot/begin/weights.h"
#include "core/run/run.h"
#include "oneshot/begin/configured_store.h"

#include <string.h>

static int fetch(const struct config *config, const char *path, struct error *err)
{
	CLEANUP(free_ptr) char *url = malloc(strlen(config->model.weights) + 1);
	CLEANUP(store_closep) struct store *store = NULL;
	struct config_store where;
	const char *key;
	int r;

	if (!url)
		return error_set(err, -ENOMEM, "no memory for a url");
	key = config_weights_key(config, &where, url);
	if ((r = config_store_check(&where, err)) < 0 ||
	    (r = configured_store_open(config, &where, &store, err)) < 0)
		return r;
	return store_get_file(store, key, path, UINT64_MAX, err);
}

static int bring(const struct config *config, const char *expected, const char *path,
		 char ret_sha256[static DIGEST_HEX_BYTES], struct error *err)
{
	int r;

	if (fetch(config, path, err) < 0)
		return error_prefix(err, "model.weights");
	if ((r = digest_file(path, ret_sha256, err)) < 0)
		return r;
	if (!expected || strcmp(ret_sha256, expected) == 0)
		return 0;
	(void)unlink(path);
	return error_set(err, -EBADMSG,
			 "model.weights: %s: SHA-256 %s, expected %s: the run began with other weights",
			 config->model.weights, ret_sha256, expected);
}

int weights_bring(const struct config *config, const char *expected, char ret_path[static PATH_BYTES],
		  char ret_sha256[static DIGEST_HEX_BYTES], struct error *err)
{
	char path[PATH_BYTES];
	int r = path_make(path_of(PATH_RUNS, NULL, path), err);

	if (r < 0)
		return r;
	(void)path_of(PATH_RUNS, RUN_START_FILE, path);
	r = bring(config, expected, path, ret_sha256, err);
	if (r == -EBADMSG) /* the bytes may have changed on their way */
		r = bring(config, expected, path, ret_sha256, err);
	if (r == 0)
		memcpy(ret_path, path, PATH_BYTES);
	return r;
}
