/* SPDX-License-Identifier: Apache-2.0 */
#include "core/run/tracking.h"

#include "core/base/json.h"

#include <dirent.h>
#include <inttypes.h>
#include <string.h>
#include <time.h>

#define FOLDER    "tracking"
#define CHAMPIONS "champions"
#define LOCAL     "file:"

static char *path_in(const char *folder, const char *id, const char *name, char out[static PATH_BYTES])
{
	char tail[PATH_BYTES / 2];

	(void)snprintf(tail, sizeof(tail), "%s%s%s%s%s", folder, *id ? "/" : "", id, *name ? "/" : "", name);
	return path_of(PATH_SPOOL, tail, out);
}

char *tracking_path(const char *id, const char *name, char out[static PATH_BYTES])
{
	return path_in(FOLDER, id, name, out);
}

char *tracking_champion_path(const char *name, char out[static PATH_BYTES])
{
	return path_in(CHAMPIONS, "", name, out);
}

static int is_wanted(const struct dirent *entry)
{
	const char *dot = strrchr(entry->d_name, '.');

	return entry->d_name[0] != '.' && !(dot && strcmp(dot, ".tmp") == 0);
}

static int each_in(const char *folder, int (*each)(void *context, const char *name), void *context,
		   struct error *err)
{
	char path[PATH_BYTES];
	struct dirent **entries;
	int count = scandir(path_in(folder, "", "", path), &entries, is_wanted, alphasort), r = 0;

	if (count < 0)
		return errno == ENOENT
			       ? 0
			       : error_set(err, -errno, "%s: cannot list it: %s", path, strerror(errno));
	for (int i = 0; i < count; i++) {
		if (r == 0)
			r = each(context, entries[i]->d_name);
		free(entries[i]);
	}
	free(entries);
	return r;
}

int tracking_each(int (*each)(void *context, const char *id), void *context, struct error *err)
{
	return each_in(FOLDER, each, context, err);
}

int tracking_each_champion(int (*each)(void *context, const char *name), void *context, struct error *err)
{
	return each_in(CHAMPIONS, each, context, err);
}

int tracking_remove(const char *id, struct error *err)
{
	char path[PATH_BYTES];

	path_empty(tracking_path(id, "", path));
	return rmdir(path) < 0 && errno != ENOENT
		       ? error_set(err, -errno, "%s: cannot remove it: %s", path, strerror(errno))
		       : 0;
}

static bool fill(cJSON *json, const struct config *config, const struct tracking_champion *champion)
{
	return cJSON_AddStringToObject(json, "url", config->tracking.url) &&
	       cJSON_AddStringToObject(json, "credential", config->tracking.credential) &&
	       cJSON_AddStringToObject(json, "ca_file", config->tracking.ca_file) &&
	       cJSON_AddStringToObject(json, "experiment",
				       *config->tracking.experiment ? config->tracking.experiment
								    : config->run.name) &&
	       cJSON_AddStringToObject(json, "model", champion->model) &&
	       cJSON_AddStringToObject(json, "run", champion->run_id) &&
	       cJSON_AddStringToObject(json, "source", champion->source) &&
	       json_add_u64(json, "number", champion->number);
}

int tracking_champion(const struct config *config, const struct tracking_champion *champion,
		      struct error *err)
{
	CLEANUP(json_free) cJSON *json = cJSON_CreateObject();
	CLEANUP(free_ptr) char *text = NULL;
	char folder[PATH_BYTES], path[PATH_BYTES], name[64];
	struct timespec now;
	int r;

	if (!*config->tracking.url || strncmp(champion->source, LOCAL, strlen(LOCAL)) == 0)
		return 0;
	(void)clock_gettime(CLOCK_REALTIME, &now);
	(void)snprintf(name, sizeof(name), "%020" PRIu64 ".json",
		       (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000);
	if (!fill(json, config, champion))
		return error_set(err, -ENOMEM, "the champion of %s: no memory", champion->model);
	if ((r = json_print_line(json, &text, err)) < 0 ||
	    (r = path_make(tracking_champion_path("", folder), err)) < 0)
		return r;
	return file_write_durable(tracking_champion_path(name, path), text, strlen(text), err);
}
