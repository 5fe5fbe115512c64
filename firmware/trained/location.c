/* SPDX-License-Identifier: Apache-2.0 */
#include "trained/location.h"

#include "core/base/paths.h"

#include <string.h>

#define URL_BYTES (PATH_BYTES + 8u)

void location_merge(struct config_store *options, const struct config_store *config)
{
	struct config_store merged = *config;

	if (*options->url)
		merged.url = options->url;
	if (*options->endpoint)
		merged.endpoint = options->endpoint;
	if (*options->region)
		merged.region = options->region;
	if (*options->credential)
		merged.credential = options->credential;
	if (*options->ca_file)
		merged.ca_file = options->ca_file;
	*options = merged;
}

bool location_is_url(const char *name)
{
	return strncmp(name, "s3://", 5) == 0 || strncmp(name, "lakefs://", 9) == 0 ||
	       strncmp(name, "file://", 7) == 0;
}

/* Writes the file:// URL of `folder`, which ends with '/', or is empty for the current folder. `name`: the
 * path that the user gave, for the error. */
static int url_of_folder(const char *name, const char *folder, char url[static URL_BYTES], struct error *err)
{
	CLEANUP(free_ptr) char *path = realpath(*folder ? folder : ".", NULL);

	if (!path)
		return error_set(err, -errno, "%s: %s", name, strerror(errno));
	(void)snprintf(url, URL_BYTES, "file://%s", path);
	return 0;
}

int location_open(const struct config_store *where, const char *name, struct store **ret_store,
		  const char **ret_key, struct error *err)
{
	const char *slash = strrchr(name, '/');
	struct store_options options = { 0 };
	struct config_store at = *where;
	char folder[URL_BYTES], url[URL_BYTES];
	int r = 0;

	*ret_key = slash ? slash + 1 : name;
	(void)snprintf(folder, sizeof(folder), "%.*s", (int)(*ret_key - name), name);
	if (!location_is_url(name))
		r = url_of_folder(name, folder, url, err);
	at.url = location_is_url(name) ? folder : url;
	return r < 0 ? r : store_open(&at, &options, ret_store, err);
}
