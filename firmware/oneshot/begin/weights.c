/* SPDX-License-Identifier: Apache-2.0 */
#include "oneshot/begin/weights.h"
#include "core/run/run.h"
#include "drivers/store/weights.h"

#include <string.h>

static int bring(const struct config *config, const char *expected, const char *path,
		 char ret_sha256[static DIGEST_HEX_BYTES], struct error *err)
{
	const struct store_options options = store_options_of(config);
	int r;

	if ((r = store_get_weights(config, &options, path, err)) < 0 ||
	    (r = digest_file(path, ret_sha256, err)) < 0)
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
	int r = path_make(path_of(PATH_SLOT, NULL, path), err);

	if (r < 0)
		return r;
	(void)path_of(PATH_SLOT, RUN_START_FILE, path);
	r = bring(config, expected, path, ret_sha256, err);
	if (r == -EBADMSG) /* the bytes may have changed on their way */
		r = bring(config, expected, path, ret_sha256, err);
	if (r == 0)
		memcpy(ret_path, path, PATH_BYTES);
	return r;
}
