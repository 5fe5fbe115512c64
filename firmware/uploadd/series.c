/* SPDX-License-Identifier: Apache-2.0 */
#include "uploadd/series.h"
#include "core/series/series.h"
#include "uploadd/upload.h"

#include <string.h>
#include <sys/stat.h>

/* Opens the sink of a series, by the configuration beside its record (oneshot/series/freeze.h). *ret_store is
 * NULL where there is none yet. */
static int open_sink(const char *id, struct alive_worker *worker, struct store **ret_store, struct error *err)
{
	CLEANUP(config_done) struct config config = { 0 };
	struct store_options options = { 0 };
	char path[PATH_BYTES];
	int r;

	(void)snprintf(strrchr(series_path(id, path), '/'), sizeof("/kiln.conf"), "/kiln.conf");
	r = config_load(path, &config, err);
	if (r < 0)
		return r == -ENOENT ? 0 : r;
	options = store_options_of(&config);
	options.awake = upload_renew_lease;
	options.awake_context = worker;
	return store_open(&config.sink, &options, ret_store, err);
}

static int put(const char *id, struct alive_worker *worker, struct error *err)
{
	CLEANUP(store_closep) struct store *store = NULL;
	CLEANUP(free_ptr) char *text = NULL;
	char path[PATH_BYTES], key[RUN_ID_BYTES + 32];
	int r = file_read(series_path(id, path), SERIES_JSON_MAX, &text, NULL, err);

	if (r < 0 || (r = open_sink(id, worker, &store, err)) < 0 || !store)
		return r;
	(void)snprintf(key, sizeof(key), "series/%s/series.json", id);
	return store_put_checked(store, key, text, strlen(text), NULL, err);
}

static uint64_t changed_ns(const char *id)
{
	char path[PATH_BYTES];
	struct stat st;

	if (stat(series_path(id, path), &st) < 0)
		return 0;
	return (uint64_t)st.st_mtim.tv_sec * 1000000000u + (uint64_t)st.st_mtim.tv_nsec;
}

int series_upload(struct series_uploaded *uploaded, struct alive_worker *worker, struct error *err)
{
	CLEANUP(free_ptr) char(*ids)[RUN_ID_BYTES] = NULL;
	uint64_t newest = uploaded->changed_ns;
	uint32_t count = 0;
	int r = series_list(&ids, &count, err);

	for (uint32_t i = count > 2 ? count - 2 : 0; r == 0 && i < count; i++) {
		const uint64_t changed = changed_ns(ids[i]);

		if (changed > uploaded->changed_ns)
			r = put(ids[i], worker, err);
		newest = changed > newest ? changed : newest;
	}
	if (r == 0)
		uploaded->changed_ns = newest;
	return r;
}
