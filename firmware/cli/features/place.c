/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/features/place.h"

#include "trained/location.h"

#include <string.h>

#define FILE_SCHEME "file://"
#define S3_SCHEME   "s3://"

/* Returns the path without symbolic links; the end of it that does not exist stays as it is. The caller frees
 * it. */
static char *resolve(const char *path)
{
	CLEANUP(free_ptr) char *head = strdup(path);
	CLEANUP(free_ptr) char *real = NULL;
	char *slash, *whole = NULL;

	while (head && !(real = realpath(head, NULL)) && (slash = strrchr(head, '/')) && slash != head)
		*slash = '\0';
	if (!head || asprintf(&whole, "%s%s", real ? real : head, path + strlen(head)) < 0)
		return NULL;
	return whole;
}

/* Returns a URL in the form in which places are compared: without slashes at its end, and a folder of this
 * machine as a path. The caller frees it. */
static char *find_place(const char *url)
{
	const bool is_folder = strncmp(url, FILE_SCHEME, strlen(FILE_SCHEME)) == 0;
	char *place = is_folder ? resolve(url + strlen(FILE_SCHEME)) : strdup(url);

	for (size_t bytes = place ? strlen(place) : 0; bytes && place[bytes - 1] == '/';)
		place[--bytes] = '\0';
	return place;
}

static bool is_in(const char *place, const char *folder)
{
	const size_t bytes = strlen(folder);

	return strncmp(place, folder, bytes) == 0 && (!place[bytes] || place[bytes] == '/');
}

static int check_apart(const struct job *job, struct error *err)
{
	const struct config_store *source = &job->config.source[0].store;
	CLEANUP(free_ptr) char *output = find_place(job->url);
	CLEANUP(free_ptr) char *pictures = find_place(source->url);

	if (!output || !pictures)
		return error_set(err, -ENOMEM, "no memory for a url");
	/* The same bucket of two servers is two places. */
	if (strncmp(output, S3_SCHEME, strlen(S3_SCHEME)) == 0 &&
	    strcmp(job->where.endpoint, source->endpoint) != 0)
		return 0;
	if (is_in(output, pictures))
		return error_set(
			err, -EINVAL,
			"--output %s: found a folder in the source %s of %s, expected one outside of it: "
			"a plan would take the features for pictures",
			job->url, source->url, job->file);
	if (is_in(pictures, output))
		return error_set(
			err, -EINVAL,
			"--output %s: found the source %s of %s in this folder, expected a folder without "
			"pictures",
			job->url, source->url, job->file);
	return 0;
}

int place_check(struct job *job, struct error *err)
{
	const char *differs;

	location_merge(&job->where, &job->config.sink);
	job->where.url = job->url;
	differs = config_server_differs(&job->where, &job->config.sink);
	if (strncmp(job->url, S3_SCHEME, strlen(S3_SCHEME)) == 0 && differs)
		return error_set(
			err, -EINVAL,
			"--output %s: found another %s than that of the sink in %s, expected the same: a run "
			"gets the base from there",
			job->url, differs, job->file);
	return check_apart(job, err);
}
