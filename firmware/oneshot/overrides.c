/* SPDX-License-Identifier: Apache-2.0 */
#include "core/json.h"
#include "core/log.h"
#include "core/paths.h"
#include "oneshot/oneshot.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#define OVERRIDES_BYTES_MAX 65536u

static int override(struct config *config, const char *path, const cJSON *list, const cJSON *item,
		    struct error *err)
{
	const char *key = item->string, *word;

	if (strcmp(key, "run.epochs") == 0)
		return json_get_u64(path, list, key, &config->run.epochs, err);
	if (strcmp(key, "run.seed") == 0)
		return json_get_u64(path, list, key, &config->run.seed, err);
	if (strcmp(key, "run.start_from") == 0) {
		int r = json_get_string(path, list, key, &word, err);

		if (r == 0)
			config->run.start_from = strcmp(word, "latest") == 0 ? START_LATEST : START_SCRATCH;
		return r;
	}
	return error_set(err, -EBADMSG,
			 "%s: found the override \"%s\", expected run.epochs, run.seed or run.start_from",
			 path, key);
}

static int write_copy(const struct config *config, const char *path, struct error *err)
{
	CLEANUP(free_ptr) char *text = NULL;
	size_t bytes;
	FILE *out = open_memstream(&text, &bytes);

	if (!out)
		return error_set(err, -ENOMEM, "%s: no memory", path);
	config_print(config, out);
	if (fclose(out) != 0)
		return error_set(err, -ENOMEM, "%s: no memory", path);
	return file_write_durable(path, text, bytes, err);
}

int overrides_apply(const char *file, char room[static PATH_BYTES], const char **ret_file, struct error *err)
{
	CLEANUP(config_done) struct config config = { 0 };
	CLEANUP(json_free) cJSON *json = NULL;
	CLEANUP(free_ptr) char *text = NULL;
	const cJSON *list, *item;
	char path[PATH_BYTES];
	uint64_t bytes;
	int r = file_read(path_of(PATH_RUNS, "next.json", path), OVERRIDES_BYTES_MAX, &text, &bytes, err);

	*ret_file = file;
	if (r == -ENOENT)
		return 0;
	if (r < 0 || (r = json_parse(path, text, bytes, &json, err)) < 0 ||
	    (r = config_load(file, &config, err)) < 0)
		return r;
	list = cJSON_GetObjectItemCaseSensitive(json, "overrides");
	cJSON_ArrayForEach(item, list)
		if ((r = override(&config, path, list, item, err)) < 0)
			return r;
	log_notice("%s: of this run alone", path);
	*ret_file = path_of(PATH_RUNS, "next.conf", room);
	return write_copy(&config, room, err); /* whoever loads it checks the bounds */
}

void overrides_done(void)
{
	char path[PATH_BYTES];

	(void)unlink(path_of(PATH_RUNS, "next.json", path));
	(void)unlink(path_of(PATH_RUNS, "next.conf", path));
}
