/* SPDX-License-Identifier: Apache-2.0 */
#include "oneshot/boot/last_good.h"
#include "core/base/events.h"
#include "core/base/paths.h"
#include "oneshot/boot/boot.h"

#include <string.h>
#include <sysexits.h>

#define CONFIG_BYTES_MAX (1u << 20)

static char *good_path(const char *file, const char *suffix, char out[static PATH_BYTES])
{
	(void)snprintf(out, PATH_BYTES, "%.4000s" CONFIG_GOOD_SUFFIX "%s", file, suffix);
	return out;
}

/* Check the copy, and not `file`, because somebody may replace `file` between the check and the copying. */
static int save(const char *file, struct error *err)
{
	CLEANUP(config_done) struct config config = { 0 };
	CLEANUP(free_ptr) char *text = NULL;
	char next[PATH_BYTES], good[PATH_BYTES];
	uint64_t bytes;
	int r = file_read(file, CONFIG_BYTES_MAX, &text, &bytes, err);

	if (r < 0 || (r = file_write_durable(good_path(file, ".next", next), text, bytes, err)) < 0 ||
	    (r = config_load(next, &config, err)) < 0)
		return r;
	return file_rename_durable(next, good_path(file, "", good), err);
}

int last_good_load(struct config *ret_config, struct error *err)
{
	const char *file = config_path(0, NULL);
	char good[PATH_BYTES];
	int r = config_load(file, ret_config, err);

	if (r == 0)
		return 0;
	config_done(ret_config);
	return config_load(good_path(file, "", good), ret_config, NULL) == 0 ? 0 : r;
}

int last_good_or_frozen(const char *file, struct config *ret_config, struct error *err)
{
	char good[PATH_BYTES], path[PATH_BYTES];

	if (config_load(good_path(file, "", good), ret_config, NULL) == 0)
		return 0;
	return config_load(path_of(PATH_RUN, "config", path), ret_config, err);
}

int oneshot_keep_config(int argc, char **argv)
{
	struct error err = { 0 };

	return save(config_path(argc, argv), &err) < 0 ? fatal(&err) : EX_OK;
}
