/* SPDX-License-Identifier: Apache-2.0 */
#include "trained/locate.h"

#include "core/base/json.h"
#include "core/base/paths.h"
#include "core/run/latest.h"
#include "trained/location.h"
#include "trained/whole.h"

#include <string.h>
#include <sys/stat.h>

#define SUFFIX    ".safetensors"
#define FILE_NAME "model" SUFFIX
#define STAMP     "YYYYMMDD-HHMMSS"

static bool is_file(const char *name)
{
	const size_t bytes = strlen(name), suffix = strlen(SUFFIX);

	return bytes > suffix && strcmp(name + bytes - suffix, SUFFIX) == 0;
}

bool locate_is_run(const char *name)
{
	const size_t bytes = strlen(name), stamp = strlen(STAMP);
	const char *at = bytes > stamp + 1 ? name + bytes - stamp : name;
	struct stat st;

	if (at == name || at[-1] != '-' || strchr(name, '/') || strspn(at, "0123456789-") != stamp)
		return false;
	return stat(name, &st) < 0;
}

bool locate_is_model(const char *name)
{
	struct stat st;

	return is_file(name) || location_is_url(name) || locate_is_run(name) ||
	       (stat(name, &st) == 0 && S_ISDIR(st.st_mode));
}

/* ---- One file ---- */

/* Closes the store that an earlier call left in *ret_folder. */
static int read_file(const char *file, const struct config_store *where, struct store **ret_folder,
		     char **ret_data, uint64_t *ret_bytes, struct error *err)
{
	const char *key;
	int r;

	store_close(*ret_folder);
	*ret_folder = NULL;
	r = location_open(where, file, ret_folder, &key, err);
	return r < 0 ? r : whole_get(*ret_folder, key, STORE_OBJECT_MAX, ret_data, ret_bytes, err);
}

/* ---- A folder ---- */

/* Returns -ENOENT with a text that names the run's newest checkpoint, if it has one. */
static int refuse(const char *folder, const struct config_store *where, struct error *err)
{
	CLEANUP(store_closep) struct store *store = NULL;
	CLEANUP(json_free) cJSON *latest = NULL;
	CLEANUP(free_ptr) char *text = NULL;
	char file[PATH_BYTES];
	const char *key, *newest;
	uint64_t bytes;

	(void)snprintf(file, sizeof(file), "%s/checkpoints/latest.json", folder);
	if (location_open(where, file, &store, &key, NULL) == 0 &&
	    store_get_all(store, key, LATEST_BYTES_MAX, &text, &bytes, NULL) == 0 &&
	    json_parse(file, text, bytes, &latest, NULL) == 0 &&
	    json_get_string(file, latest, "key", &newest, NULL) == 0)
		return error_set(err, -ENOENT,
				 "%s: the run has no finished model; its newest checkpoint is %s/%.200s",
				 folder, folder, newest);
	return error_set(err, -ENOENT, "%s: found neither " FILE_NAME " nor model/" FILE_NAME, folder);
}

static int read_folder(const char *folder, const struct config_store *where, struct store **ret_folder,
		       char **ret_data, uint64_t *ret_bytes, struct error *err)
{
	static const char *const names[] = { FILE_NAME, "model/" FILE_NAME };
	char file[PATH_BYTES];
	int r = -ENOENT;

	for (size_t i = 0; r == -ENOENT && i < sizeof(names) / sizeof(names[0]); i++) {
		(void)snprintf(file, sizeof(file), "%s/%s", folder, names[i]);
		r = read_file(file, where, ret_folder, ret_data, ret_bytes, err);
	}
	return r == -ENOENT ? refuse(folder, where, err) : r;
}

/* Copies `name` to `out`, without slashes at its end. */
static void trim(const char *name, char out[static PATH_BYTES])
{
	size_t bytes = strlen(name);

	while (bytes > 1 && name[bytes - 1] == '/')
		bytes--;
	(void)snprintf(out, PATH_BYTES, "%.*s", (int)bytes, name);
}

int locate_model(const char *name, const struct config_store *where, struct store **ret_folder,
		 char **ret_data, uint64_t *ret_bytes, struct error *err)
{
	char folder[PATH_BYTES], sink[PATH_BYTES];
	struct stat st;

	if (is_file(name))
		return read_file(name, where, ret_folder, ret_data, ret_bytes, err);
	if (!location_is_url(name) && stat(name, &st) == 0 && S_ISREG(st.st_mode))
		return error_set(err, -EINVAL,
				 "%s: found a file that is no *" SUFFIX
				 ", expected a run id, the folder of a run or of a model, a " FILE_NAME
				 " or a checkpoint",
				 name);
	if (!locate_is_run(name)) {
		trim(name, folder);
		return read_folder(folder, where, ret_folder, ret_data, ret_bytes, err);
	}
	trim(where->url, sink);
	if ((size_t)snprintf(folder, sizeof(folder), "%s/%s", sink, name) >= sizeof(folder))
		return error_set(err, -ENAMETOOLONG, "%s: sink.url is too long", name);
	return read_folder(folder, where, ret_folder, ret_data, ret_bytes, err);
}

/* ---- The run ---- */

int locate_in_run(const struct store *folder, const struct config_store *where, const char *tail,
		  struct store **ret_store, struct error *err)
{
	struct config_store in_run = *where;
	struct store_options options = { 0 };
	char below[PATH_BYTES], url[PATH_BYTES];
	const char *slash;

	trim(store_url(folder), below);
	slash = strrchr(below, '/');
	(void)snprintf(url, sizeof(url), "%.*s%s", slash ? (int)(slash + 1 - below) : 0, below, tail);
	in_run.url = url;
	return store_open(&in_run, &options, ret_store, err);
}
