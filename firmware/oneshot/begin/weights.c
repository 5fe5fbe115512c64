/* SPDX-License-Identifier: Apache-2.0 */
#include "oneshot/begin/weights.h"
#include "core/run/run.h"
#include "oneshot/begin/configured_store.h"

#include <string.h>

/* Splits "s3://bucket/folder/key" into the store of that folder and the key; any other text is a key of the
 * sink. Writes the folder's URL into `url` (a buffer of PATH_BYTES), to which ret_where->url then points. */
static const char *split(const struct config *config, struct config_store *ret_where, char *url)
{
	const char *name = config->model.weights, *slash = strrchr(name, '/');

	*ret_where = config->sink;
	if (!strstr(name, "://") || !slash)
		return name;
	(void)snprintf(url, PATH_BYTES, "%.*s", (int)(slash - name), name);
	ret_where->url = url;
	return slash + 1;
}

static int fetch(const struct config *config, const char *path, struct error *err)
{
	CLEANUP(store_closep) struct store *store = NULL;
	struct config_store where;
	char url[PATH_BYTES];
	const char *key = split(config, &where, url);
	int r;

	if ((r = config_store_check(&where, err)) < 0 ||
	    (r = configured_store_open(config, &where, &store, err)) < 0)
		return r;
	return store_get_file(store, key, path, UINT64_MAX, err);
}

int weights_bring(const struct config *config, const char *expected, char ret_path[static PATH_BYTES],
		  char ret_sha256[static DIGEST_HEX_BYTES], struct error *err)
{
	char path[PATH_BYTES];
	int r = path_make(path_of(PATH_RUNS, NULL, path), err);

	if (r < 0)
		return r;
	(void)path_of(PATH_RUNS, RUN_START_FILE, path);
	if (fetch(config, path, err) < 0)
		return error_prefix(err, "model.weights");
	if ((r = digest_file(path, ret_sha256, err)) < 0)
		return r;
	if (expected && strcmp(ret_sha256, expected) != 0) {
		(void)unlink(path);
		return error_set(
			err, -EBADMSG,
			"model.weights: %s: SHA-256 %s, expected %s: the run began with other weights",
			config->model.weights, ret_sha256, expected);
	}
	memcpy(ret_path, path, PATH_BYTES);
	return 0;
}
