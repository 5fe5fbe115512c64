/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Copies the bundle of an update, from the store or from a file of the box, to PATH_BUNDLE. The copy is not
 * checked here: RAUC checks the signature when kiln-oneshot update installs it.
 */
#include "core/base/clock.h"
#include "core/base/events.h"
#include "core/base/log.h"
#include "core/box/update.h"
#include "core/config/config.h"
#include "drivers/notify/notify.h"
#include "drivers/store/store.h"
#include "oneshot/update/failed.h"
#include "oneshot/update/update.h"

#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sysexits.h>

#define NOTE_US        1000000u
#define RESERVED_BYTES (16u << 20) /* bytes to leave free on the disk, for the run record and the journal */

struct fetch {
	struct update update;
	uint64_t noted_us;
	char folder[UPDATE_URL_MAX + 1]; /* the URL up to its last '/' */
	const char *key;                 /* the URL after that '/' */
};

static void note(struct fetch *fetch)
{
	struct error err;

	fetch->noted_us = clock_us();
	if (update_save(&fetch->update, &err) < 0)
		log_warning("%s", err.text);
	notify_status("%" PRIu64 " of %" PRIu64 " bytes", fetch->update.bytes_done, fetch->update.bytes);
}

static void awake(void *context)
{
	struct fetch *fetch = context;
	char part[PATH_BYTES];
	struct stat file;

	if (clock_us() - fetch->noted_us < NOTE_US)
		return;
	if (stat(update_part_path(part), &file) == 0)
		fetch->update.bytes_done = (uint64_t)file.st_blocks * 512;
	note(fetch);
}

static int split_url(struct fetch *fetch, struct error *err)
{
	char *slash;

	(void)snprintf(fetch->folder, sizeof(fetch->folder), "%s", fetch->update.url);
	slash = strrchr(fetch->folder, '/');
	if (!slash || !slash[1] || slash < fetch->folder + strlen("s3://x"))
		return error_set(err, -EINVAL, "%s: expected s3://BUCKET/KEY or file:///PATH", fetch->folder);
	fetch->key = slash + 1;
	*slash = '\0';
	return 0;
}

static bool has_bucket(const struct config_store *store, const char *folder)
{
	const char *own = store->url ? store->url : "";
	size_t bucket = strcspn(folder + strlen("s3://"), "/") + strlen("s3://");

	return strncmp(own, folder, bucket) == 0 && (own[bucket] == '/' || own[bucket] == '\0');
}

static bool is_s3(const struct config_store *store)
{
	return store->url && strncmp(store->url, "s3://", 5) == 0;
}

/* Returns the store of kiln.conf whose endpoint and credential are used to fetch the bundle: one with the
 * same bucket, else the sink, else the first s3:// source. */
static const struct config_store *way_of(const struct config *config, const char *folder)
{
	const struct config_store *any = is_s3(&config->sink) ? &config->sink : NULL;

	if (has_bucket(&config->sink, folder))
		return &config->sink;
	for (uint32_t i = 0; i < config->sources; i++) {
		if (has_bucket(&config->source[i].store, folder))
			return &config->source[i].store;
		if (!any && is_s3(&config->source[i].store))
			any = &config->source[i].store;
	}
	return any;
}

static int open_store(struct fetch *fetch, const struct config *config, struct store **ret_store,
		      struct error *err)
{
	struct store_options options = { 0 };
	struct config_store where = { .endpoint = "", .region = "", .credential = "", .ca_file = "" };
	const struct config_store *way;

	if (strncmp(fetch->folder, "s3://", 5) == 0) {
		way = way_of(config, fetch->folder);
		if (!way)
			return error_set(
				err, -EINVAL,
				"%s: kiln.conf has no s3:// store, whose endpoint and credential the "
				"update would use",
				fetch->folder);
		where = *way;
		options = store_options_of(config);
	}
	where.url = fetch->folder;
	options.awake = awake;
	options.awake_context = fetch;
	return store_open(&where, &options, ret_store, err);
}

static int check_space(const char *path, uint64_t bytes, struct error *err)
{
	char folder[PATH_BYTES];
	struct statvfs disk;
	uint64_t available;

	(void)snprintf(folder, sizeof(folder), "%s", path);
	*strrchr(folder, '/') = '\0';
	if (statvfs(folder, &disk) < 0)
		return error_set(err, -errno, "%s: %s", folder, strerror(errno));
	available = (uint64_t)disk.f_bavail * disk.f_frsize;
	if (available >= bytes + RESERVED_BYTES)
		return 0;
	return error_set(err, -ENOSPC,
			 "%s: no space: the bundle needs %" PRIu64
			 " bytes, %u more stay free, and only %" PRIu64
			 " are free; kiln cache drop frees space",
			 folder, bytes, RESERVED_BYTES, available);
}

static int fetch_bundle(struct fetch *fetch, const struct config *config, struct error *err)
{
	CLEANUP(store_closep) struct store *store = NULL;
	struct store_object object;
	char path[PATH_BYTES];
	int r;

	(void)path_of(PATH_BUNDLE, NULL, path);
	if ((r = split_url(fetch, err)) < 0 || (r = open_store(fetch, config, &store, err)) < 0 ||
	    (r = store_stat(store, fetch->key, &object, err)) < 0)
		return r;
	update_discard(); /* remove a bundle that an earlier, killed update may have left */
	if ((r = check_space(path, object.pin.bytes, err)) < 0)
		return r;
	fetch->update.bytes = object.pin.bytes;
	note(fetch);
	if ((r = store_get_file(store, fetch->key, path, object.pin.bytes, err)) < 0)
		return r;
	fetch->update.bytes_done = object.pin.bytes;
	note(fetch);
	return 0;
}

int oneshot_update_fetch(int argc, char **argv)
{
	static struct fetch fetch;
	CLEANUP(config_done) struct config config = { 0 };
	struct error err = { 0 };
	int r = update_load(&fetch.update, &err);

	if (r < 0)
		return fatal(&err);
	fetch.update.state = UPDATE_FETCHING;
	event_send(&(struct event){ .id = EVENT_UPDATE_STARTED, .url = fetch.update.url }, "fetching %s",
		   fetch.update.url);
	if (strncmp(fetch.update.url, "s3://", 5) == 0)
		r = config_load(config_path(argc, argv), &config, &err);
	if (r == 0)
		r = fetch_bundle(&fetch, &config, &err);
	return r < 0 ? update_failed(&fetch.update, &err) : EX_OK;
}
