/* SPDX-License-Identifier: Apache-2.0 */
/* The current record: finds the record to which PATH_RUN leads, makes a record the current one, and locks the
 * records for changes. */
#include "core/base/paths.h"
#include "core/run/run_record.h"

#include <string.h>
#include <sys/stat.h>

/* Where a writer was killed between two renames, there is no current record. Returns the name of the record
 * that has to become the current one then; NULL = none. The record `next` is complete when it has its file
 * `state`. The link `last` is usable when the record to which it points is in the archive. */
static const char *in_between(void)
{
	char path[PATH_BYTES];

	if (file_exists(path_of(PATH_RUN, "run.json", path), NULL) != 0)
		return NULL;
	if (file_exists(path_of(PATH_SLOT, RECORD_NEXT "/state", path), NULL) > 0)
		return RECORD_NEXT;
	return file_exists(path_of(PATH_SLOT, RECORD_LAST "/state", path), NULL) > 0 ? RECORD_LAST : NULL;
}

int record_install(const char *which, struct error *err)
{
	char from[PATH_BYTES], to[PATH_BYTES];
	int r;

	(void)unlink(path_of(PATH_RUN, NULL, to)); /* a link is removed, a folder is not */
	r = file_rename_durable(path_of(PATH_SLOT, which, from), to, err);
	/* Remove the unused link `last`, because after a later crash it could become the current record. */
	if (r == 0)
		(void)unlink(path_of(PATH_SLOT, RECORD_LAST, from));
	return r;
}

int record_lock(int *ret_fd, struct error *err)
{
	CLEANUP(close_fd) int fd = -1;
	char path[PATH_BYTES];
	const char *between;
	int r = path_make(path_of(PATH_SLOT, NULL, path), err);

	if (r < 0 || (r = file_lock(path_of(PATH_RUNS, "lock", path), &fd, err)) < 0)
		return r;
	between = in_between();
	if (between)
		r = record_install(between, err);
	if (r == 0)
		*ret_fd = take_fd(&fd);
	return r;
}

int record_find(struct record_identity *ret_identity, struct error *err)
{
	CLEANUP(close_fd) int lock = -1;
	char path[PATH_BYTES];
	struct stat st;
	int r = in_between() ? record_lock(&lock, err) : 0;

	(void)path_of(PATH_RUN, NULL, path);
	ret_identity->entry = lstat(path, &st) == 0 ? st.st_ino : 0;
	ret_identity->folder = stat(path, &st) == 0 ? st.st_ino : 0;
	return r;
}

bool record_has_moved(const struct record_identity *before)
{
	struct record_identity after;

	return record_find(&after, NULL) == 0 &&
	       (after.entry != before->entry || after.folder != before->folder);
}
