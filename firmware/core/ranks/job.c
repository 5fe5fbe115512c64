/* SPDX-License-Identifier: Apache-2.0 */
#include "core/ranks/job.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#define SUFFIX    ".json"
#define ARGUMENTS "arguments"
#define LETTERS                      \
	"ABCDEFGHIJKLMNOPQRSTUVWXYZ" \
	"abcdefghijklmnopqrstuvwxyz0123456789"

bool ranks_job_is_name(const char *text)
{
	const size_t length = strlen(text);

	return length >= 1 && length <= RANKS_JOB_MAX && strspn(text, LETTERS "_-") == length &&
	       isalnum((unsigned char)*text);
}

const char *ranks_job_unit(const char *name, char out[static RANKS_UNIT_BYTES])
{
	(void)snprintf(out, RANKS_UNIT_BYTES, "kiln-rank@%s.service", name);
	return out;
}

const char *ranks_job_begin_unit(const char *name, char out[static RANKS_UNIT_BYTES])
{
	(void)snprintf(out, RANKS_UNIT_BYTES, "kiln-rank-begin@%s.service", name);
	return out;
}

const char *ranks_job_fetchd_unit(const char *name, char out[static RANKS_UNIT_BYTES])
{
	(void)snprintf(out, RANKS_UNIT_BYTES, "kiln-rank-fetchd@%s.service", name);
	return out;
}

const char *ranks_job_folder(const char *name, char out[static PATH_BYTES])
{
	char tail[RANKS_UNIT_BYTES];

	(void)snprintf(tail, sizeof(tail), "rank-%s", name);
	return path_of(PATH_RUNTIME, tail, out);
}

static const char *file_of(const char *name, char out[static PATH_BYTES])
{
	char tail[RANKS_UNIT_BYTES];

	(void)snprintf(tail, sizeof(tail), "%s" SUFFIX, name);
	return path_of(PATH_RANKS, tail, out);
}

/* ---- The file ---- */

static int write_file(const char *path, const char *text, struct error *err)
{
	CLEANUP(close_fd) int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	int r = fd < 0 ? -errno : file_write_all(fd, text, strlen(text));

	if (r < 0 && fd >= 0)
		(void)unlink(path);
	return r < 0 ? error_set(err, r, "%s: cannot make it: %s", path, strerror(-r)) : 0;
}

int ranks_job_write(const char *name, const cJSON *params, struct error *err)
{
	CLEANUP(free_ptr) char *text = NULL;
	char path[PATH_BYTES];
	int r;

	if ((r = json_print_line(params, &text, err)) < 0 ||
	    (r = path_make(path_of(PATH_RANKS, NULL, path), err)) < 0)
		return r;
	return write_file(file_of(name, path), text, err);
}

void ranks_job_remove(const char *name)
{
	char path[PATH_BYTES];

	(void)unlink(file_of(name, path));
}

static void closedirp(DIR **folder)
{
	if (*folder)
		(void)closedir(*folder);
}

void ranks_job_each(void (*see)(void *context, const char *name), void *context)
{
	char path[PATH_BYTES];
	CLEANUP(closedirp) DIR *folder = opendir(path_of(PATH_RANKS, NULL, path));
	const struct dirent *entry;

	while (folder && (entry = readdir(folder))) { // NOLINT(concurrency-mt-unsafe): a stream of its own
		const size_t length = strcspn(entry->d_name, ".");
		char name[RANKS_JOB_BYTES];

		if (length > RANKS_JOB_MAX || strcmp(entry->d_name + length, SUFFIX) != 0)
			continue;
		(void)snprintf(name, sizeof(name), "%.*s", (int)length, entry->d_name);
		if (ranks_job_is_name(name))
			see(context, name);
	}
}

/* ---- The arguments ---- */

int ranks_arguments_of(const cJSON *array, struct ranks_arguments *ret, struct error *err)
{
	CLEANUP(ranks_arguments_done) struct ranks_arguments found = { .json = cJSON_Duplicate(array, true) };
	const cJSON *item;

	if (!cJSON_IsArray(array))
		return error_set(err, -EBADMSG, ARGUMENTS ": expected an array of strings");
	found.words = calloc((size_t)cJSON_GetArraySize(array) + 1, sizeof(*found.words));
	if (!found.json || !found.words)
		return error_set(err, -ENOMEM, "no memory");
	cJSON_ArrayForEach(item, found.json) {
		if (!cJSON_IsString(item))
			return error_set(err, -EBADMSG, ARGUMENTS ": expected an array of strings");
		found.words[found.count++] = item->valuestring;
	}
	*ret = (struct ranks_arguments){ TAKE(found.json), TAKE(found.words), found.count };
	return 0;
}

void ranks_arguments_done(struct ranks_arguments *arguments)
{
	cJSON_Delete(arguments->json);
	free(arguments->words);
	*arguments = (struct ranks_arguments){ 0 };
}

/* ---- The credential ---- */

static int read_job(const char *path, struct ranks_job *job, struct error *err)
{
	CLEANUP(json_free) cJSON *json = NULL;
	int r = json_read(path, RANKS_JOB_FILE_BYTES, &json, err);

	if (r < 0 || (r = json_copy_string(path, json, "run", job->run, sizeof(job->run), err)) < 0 ||
	    (r = json_copy_string(path, json, "plan", job->plan_sha256, sizeof(job->plan_sha256), err)) < 0)
		return r;
	if (!run_is_id(job->run))
		return error_set(err, -EBADMSG, "%s: found the run \"%s\", which is no run's id", path,
				 job->run);
	r = ranks_arguments_of(json_member(json, ARGUMENTS), &job->arguments, err);
	return r < 0 ? error_prefix(err, "%s", path) : 0;
}

int ranks_job_read(struct ranks_job *ret_job, struct error *err)
{
	const char *folder = getenv("CREDENTIALS_DIRECTORY");
	char path[PATH_BYTES];

	if (!folder)
		return error_set(err, -EINVAL, "CREDENTIALS_DIRECTORY is not set: only systemd starts this");
	(void)snprintf(path, sizeof(path), "%.4000s/" RANKS_CREDENTIAL, folder);
	return read_job(path, ret_job, err);
}

void ranks_job_done(struct ranks_job *job)
{
	ranks_arguments_done(&job->arguments);
}
