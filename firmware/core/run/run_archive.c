/* SPDX-License-Identifier: Apache-2.0 */
#include "core/base/paths.h"
#include "core/base/slot.h"
#include "core/run/run_record.h"
#include "core/run/spool.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

/* In PATH_RUNS, with a time after it: a record that cannot be read. */
#define RECORD_DAMAGED "damaged-record"
#define RECORD_OLD     "old" /* folder in PATH_RUNS: an archived record while its files are being removed */

int record_remove_folder(const char *folder, struct error *err)
{
	path_empty(folder);
	if (rmdir(folder) < 0 && errno != ENOENT)
		return error_set(err, -errno, "%s: cannot remove it: %s", folder, strerror(errno));
	return 0;
}

/* ---- The archive ---- */

static bool is_older(const struct stat *a, const struct stat *b)
{
	return a->st_mtim.tv_sec < b->st_mtim.tv_sec ||
	       (a->st_mtim.tv_sec == b->st_mtim.tv_sec && a->st_mtim.tv_nsec < b->st_mtim.tv_nsec);
}

/* Counts the archived records, and finds the path of the oldest record that may go: its id is not `keep_id`,
 * and the spool has no file of it. `oldest` is "" where there is none. The age is the time of the folder,
 * because an id begins with the name of its run, so ids are not sorted by time. */
static int look_at_archive(const char *keep_id, unsigned *ret_count, char oldest[static PATH_BYTES],
			   struct error *err)
{
	char folder[PATH_BYTES], path[PATH_BYTES];
	DIR *entries = opendir(path_of(PATH_ARCHIVE, NULL, folder));
	struct stat st, oldest_st = { 0 };
	struct dirent *entry;
	bool any = false;

	*ret_count = 0;
	*oldest = '\0';
	if (!entries)
		return error_set(err, -errno, "%s: cannot list it: %s", folder, strerror(errno));
	while ((entry = readdir(entries))) {
		if (entry->d_name[0] == '.' || stat(path_of(PATH_ARCHIVE, entry->d_name, path), &st) < 0)
			continue;
		++*ret_count;
		if (strcmp(entry->d_name, keep_id) == 0 || (any && !is_older(&st, &oldest_st)) ||
		    spool_has(entry->d_name))
			continue;
		any = true;
		oldest_st = st;
		memcpy(oldest, path, PATH_BYTES);
	}
	(void)closedir(entries);
	return 0;
}

/* Removes the oldest records. Each record is first renamed out of the archive, and then its files are
 * removed, so that no reader finds an incomplete record in the archive. */
static int trim_archive(const char *keep_id, struct error *err)
{
	char oldest[PATH_BYTES], old[PATH_BYTES];
	unsigned count;
	int r;

	(void)path_of(PATH_RUNS, RECORD_OLD, old);
	while ((r = record_remove_folder(old, err)) == 0 &&
	       (r = look_at_archive(keep_id, &count, oldest, err)) == 0 && count > RUN_ARCHIVES_MAX &&
	       *oldest)
		if ((r = file_rename_durable(oldest, old, err)) < 0)
			break;
	return r;
}

bool run_is_archived(void)
{
	char path[PATH_BYTES];
	struct stat st;

	return lstat(path_of(PATH_RUN, NULL, path), &st) == 0 && S_ISLNK(st.st_mode);
}

int record_archive_folder(const char *from, const char *id, struct error *err)
{
	char path[PATH_BYTES + sizeof("/" RUN_START_FILE)], to[PATH_BYTES];
	int r = path_make(path_of(PATH_ARCHIVE, NULL, to), err);

	if (r < 0)
		return r;
	(void)snprintf(path, sizeof(path), "%s/" RUN_START_FILE, from);
	(void)unlink(path);
	r = file_rename_durable(from, path_of(PATH_ARCHIVE, id, to), err);
	return r < 0 ? r : trim_archive(id, err);
}

int record_archive(const char *id, struct error *err)
{
	char from[PATH_BYTES];

	return run_is_archived() ? 0 : record_archive_folder(path_of(PATH_RUN, NULL, from), id, err);
}

/* Makes the link to the archived record before the record is moved. Where a program then finds no current
 * record, it makes this link the current record; see record_lock(). */
static int make_link(const char *id, struct error *err)
{
	char target[RUN_ID_BYTES + 16], path[PATH_BYTES], temporary[PATH_BYTES];

	(void)snprintf(target, sizeof(target), "%sarchive/%s", slot_now() ? "../" : "", id);
	(void)unlink(path_of(PATH_SLOT, RECORD_LAST ".tmp", temporary));
	if (symlink(target, temporary) < 0)
		return error_set(err, -errno, "%s: cannot make it: %s", temporary, strerror(errno));
	return file_rename_durable(temporary, path_of(PATH_SLOT, RECORD_LAST, path), err);
}

int run_archive(struct error *err)
{
	CLEANUP(close_fd) int lock = -1;
	CLEANUP(run_done) struct run run = { 0 };
	int r;

	if ((r = record_lock(&lock, err)) < 0 || (r = run_load(&run, err)) < 0)
		return r;
	if (!run_state_is_final(run.state))
		return error_set(err, -EPERM, "%s is %s: only a run that has ended can be archived", run.id,
				 run_state_name(run.state));
	if (run_is_archived())
		return 0;
	if ((r = make_link(run.id, err)) < 0 || (r = record_archive(run.id, err)) < 0)
		return r;
	return record_install(RECORD_LAST, err);
}

int run_show(const char *id, struct error *err)
{
	CLEANUP(close_fd) int lock = -1;
	char path[PATH_BYTES];
	int r = record_lock(&lock, err);

	if (r < 0)
		return r;
	if (!run_is_id(id) || file_exists(path_of(PATH_ARCHIVE, id, path), NULL) <= 0)
		return error_set(err, -ENOENT, "the archive has no run \"%.100s\"", id);
	if (!run_is_archived() && file_exists(path_of(PATH_RUN, NULL, path), NULL) != 0)
		return error_set(err, -EBUSY, "%s: its record is not in the archive", path);
	r = make_link(id, err);
	return r < 0 ? r : record_install(RECORD_LAST, err);
}

int run_keep(const char *id, struct error *err)
{
	char path[PATH_BYTES];

	if (run_is_id(id) && utimensat(AT_FDCWD, path_of(PATH_ARCHIVE, id, path), NULL, 0) == 0)
		return 0;
	return error_set(err, -ENOENT, "the archive has no run \"%.100s\"", id);
}

/* ---- A record that nobody can read ---- */

const char *record_aside_path(char path[static PATH_BYTES])
{
	char name[64];

	for (time_t now = time(NULL);; now++) {
		struct tm tm;

		(void)gmtime_r(&now, &tm);
		(void)strftime(name, sizeof(name), RECORD_DAMAGED "-%Y%m%d-%H%M%S", &tm);
		if (file_exists(path_of(PATH_RUNS, name, path), NULL) <= 0)
			return path;
	}
}

int run_set_aside(char ret_path[static PATH_BYTES], struct error *err)
{
	CLEANUP(close_fd) int lock = -1;
	CLEANUP(json_free) cJSON *record = NULL;
	CLEANUP(free_ptr) char *folder = NULL;
	char path[PATH_BYTES];
	int r;

	if ((r = record_lock(&lock, err)) < 0)
		return r;
	r = record_read_json(NULL, &record, err);
	if (r != -E2BIG && r != -EBADMSG)
		return r == -ENOENT ? 0 : r;
	/* The current record may be a link to an archived one. */
	folder = realpath(path_of(PATH_RUN, NULL, path), NULL);
	if (!folder)
		return error_set(err, -errno, "%s: %s", path, strerror(errno));
	if ((r = file_rename_durable(folder, record_aside_path(ret_path), err)) < 0)
		return r;
	(void)unlink(path);
	return 1;
}

/* ---- After a repeat ---- */

int run_give_back(const char *reason, struct error *err)
{
	CLEANUP(close_fd) int lock = -1;
	CLEANUP(run_done) struct run run = { 0 };
	char tail[RUN_ID_BYTES + 16], path[PATH_BYTES];
	int back = 0, r = run_load(&run, err);

	if (r < 0 || !*run.repeats || run.state == RUN_FINISHED)
		return r;
	if ((run.state != RUN_FAILED && (r = run_end(RUN_FAILED, reason, err)) < 0) ||
	    (r = record_lock(&lock, err)) < 0)
		return r;
	(void)snprintf(tail, sizeof(tail), "%s/state", run.before);
	if (*run.before && (back = file_exists(path_of(PATH_ARCHIVE, tail, path), err)) < 0)
		return back;
	if ((back && (r = make_link(run.before, err)) < 0) || (r = record_archive(run.id, err)) < 0)
		return r;
	return back ? record_install(RECORD_LAST, err) : 0;
}
