/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/events.h"
#include "core/base/paths.h"
#include "oneshot/oneshot.h"

#include <string.h>
#include <sysexits.h>

#define CONFIG_BYTES_MAX (1u << 20)

/* The very bytes that are kept are checked: the file may be another by now. */
static int keep(const char *file, struct error *err)
{
	CLEANUP(config_done) struct config config = { 0 };
	CLEANUP(free_ptr) char *text = NULL;
	char next[PATH_BYTES], good[PATH_BYTES];
	uint64_t bytes;
	int r = file_read(file, CONFIG_BYTES_MAX, &text, &bytes, err);

	(void)snprintf(good, sizeof(good), "%.4000s" CONFIG_GOOD_SUFFIX, file);
	(void)snprintf(next, sizeof(next), "%.4000s" CONFIG_GOOD_SUFFIX ".next", file);
	if (r < 0 || (r = file_write_durable(next, text, bytes, err)) < 0 ||
	    (r = config_load(next, &config, err)) < 0)
		return r;
	return file_rename_durable(next, good, err);
}

int keep_config_load(struct config *ret_config, struct error *err)
{
	const char *file = config_path(0, NULL);
	char good[PATH_BYTES];
	int r = config_load(file, ret_config, err);

	if (r == 0)
		return 0;
	config_done(ret_config);
	(void)snprintf(good, sizeof(good), "%.4000s" CONFIG_GOOD_SUFFIX, file);
	return config_load(good, ret_config, NULL) == 0 ? 0 : r;
}

int oneshot_keep_config(int argc, char **argv)
{
	struct error err = { 0 };

	return keep(config_path(argc, argv), &err) < 0 ? fatal(&err) : EX_OK;
}
