/* SPDX-License-Identifier: Apache-2.0 */
#include "oneshot/branches/left.h"
#include "core/base/log.h"
#include "core/base/paths.h"

#include <dirent.h>
#include <string.h>
#include <sys/stat.h>
#include <sysexits.h>
#include <time.h>
#include <unistd.h>

#define FOLDER   "left"
#define LEFT_MAX 100u
#define TOLD_MAX 3u /* refusals that are told of one by one */

struct names {
	char name[LEFT_MAX][CONFIG_REF_MAX + 1];
	uint32_t count;
};

static char *path_of_branch(const char *branch, char out[static PATH_BYTES])
{
	char tail[CONFIG_REF_MAX + sizeof(FOLDER) + 2];

	(void)snprintf(tail, sizeof(tail), FOLDER "/%s", branch);
	return path_of(PATH_RUNS, tail, out);
}

static bool is_of_report(const char *branch)
{
	return strncmp(branch, LEFT_REPORT, strlen(LEFT_REPORT)) == 0;
}

/* Lists the noted names. A name has no dot; a file that is being written has one. */
static void list(struct names *names)
{
	char path[PATH_BYTES];
	DIR *folder = opendir(path_of(PATH_RUNS, FOLDER, path));
	const struct dirent *entry;

	names->count = 0;
	while (folder && names->count < LEFT_MAX && (entry = readdir(folder)))
		if (!strchr(entry->d_name, '.') && strlen(entry->d_name) <= CONFIG_REF_MAX)
			memcpy(names->name[names->count++], entry->d_name, strlen(entry->d_name) + 1);
	if (folder)
		(void)closedir(folder);
}

void left_forget(const char *branch)
{
	char path[PATH_BYTES];

	(void)unlink(path_of_branch(branch, path));
}

/* Forgets the name that was noted first, where the list is full: nobody has deleted its branch for long. */
static int make_room(struct error *err)
{
	CLEANUP(free_ptr) struct names *names = malloc(sizeof(*names));
	const char *oldest = NULL;
	char path[PATH_BYTES];
	time_t oldest_s = 0;
	struct stat st;

	if (!names)
		return error_set(err, -ENOMEM, "no memory for the names of branches");
	list(names);
	for (uint32_t i = 0; names->count == LEFT_MAX && i < names->count; i++)
		if (stat(path_of_branch(names->name[i], path), &st) == 0 &&
		    (!oldest || st.st_mtim.tv_sec < oldest_s)) {
			oldest = names->name[i];
			oldest_s = st.st_mtim.tv_sec;
		}
	if (!oldest)
		return 0;
	log_warning("%u branches are left; the branch %s is not tried again", LEFT_MAX, oldest);
	left_forget(oldest);
	return 0;
}

static int write_note(const struct config_store *sink, const char *branch, struct error *err)
{
	char path[PATH_BYTES];
	int r = file_exists(path_of_branch(branch, path), err);

	if (r < 0 || (r == 0 && (r = make_room(err)) < 0))
		return r;
	r = path_make(path_of(PATH_RUNS, FOLDER, path), err);
	return r < 0 ? r
		     : file_write_durable(path_of_branch(branch, path), sink->url, strlen(sink->url), err);
}

void left_note(const struct config_store *sink, const char *branch)
{
	struct error err = { 0 };

	if (versions_has_branches(sink) && write_note(sink, branch, &err) < 0)
		log_warning("%s; where the branch %s is not deleted, it is not tried again", err.text,
			    branch);
}

/* ---- Stages ---- */

int left_stage_open(const struct config_store *into, const char *name, const struct store_options *options,
		    struct stage *ret_stage, struct error *err)
{
	int r;

	left_note(into, name);
	r = stage_open(into, name, options, ret_stage, err);
	if (r == 0 && strcmp(ret_stage->at.at, name) != 0)
		left_note(into, ret_stage->at.at);
	return r;
}

void left_stage_drop(const struct stage *stage, const struct store_options *options)
{
	struct error err = { 0 };

	if (stage_drop(stage, options, &err) < 0)
		log_warning("%s; the branch %s stays", err.text, stage->at.at);
	else if (*stage->at.at && versions_has_branches(&stage->at))
		left_forget(stage->at.at);
}

/* ---- Deleting ---- */

/* Returns whether a noted branch is one of this sink. */
static bool is_of_sink(const char *branch, const struct config *config)
{
	CLEANUP(free_ptr) char *url = NULL;
	char path[PATH_BYTES];

	return file_read(path_of_branch(branch, path), PATH_BYTES, &url, NULL, NULL) == 0 &&
	       strcmp(url, config->sink.url) == 0;
}

/* Returns 1 where the server cannot be asked, -1 where it refuses, else 0. `told`: how many refusals are told
 * of already. */
static int delete_one(struct versions *versions, const char *branch, uint32_t told)
{
	struct error err = { 0 };

	if (versions_branch_delete(versions, branch, &err) == 0) {
		left_forget(branch);
		return 0;
	}
	if (told < TOLD_MAX)
		log_warning("%s; the branch %s stays", err.text, branch);
	return error_exit_code(&err) == EX_UNAVAILABLE ? 1 : -1;
}

/* Returns as left_delete(). */
static int delete_all(const struct names *names, const struct config *config,
		      const struct store_options *options)
{
	CLEANUP(versions_closep) struct versions *versions = NULL;
	struct error err = { 0 };
	uint32_t refusals = 0;
	int r = 0;

	if (names->count > 0 && versions_open(&config->sink, options, &versions, &err) < 0) {
		log_warning("%s; %u branches stay", err.text, names->count);
		return 0;
	}
	for (uint32_t i = 0; r <= 0 && i < names->count; i++) {
		r = delete_one(versions, names->name[i], refusals);
		refusals += r < 0;
	}
	if (refusals > TOLD_MAX)
		log_warning("the server refuses to delete %u branches", refusals);
	return r > 0;
}

int left_delete(const struct config *config, bool of_reports, const char *busy,
		const struct store_options *options)
{
	CLEANUP(free_ptr) struct names *names = malloc(sizeof(*names));
	uint32_t found = 0;

	if (!names || !versions_has_branches(&config->sink))
		return 0;
	list(names);
	for (uint32_t i = 0; i < names->count; i++)
		if (is_of_report(names->name[i]) == of_reports && strcmp(names->name[i], busy) != 0 &&
		    is_of_sink(names->name[i], config))
			memmove(names->name[found++], names->name[i], sizeof(names->name[i]));
	names->count = found;
	return delete_all(names, config, options);
}
