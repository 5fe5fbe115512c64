/* SPDX-License-Identifier: Apache-2.0 */
#include "core/run/spool.h"
#include "core/base/slot.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

#define CHECKPOINT_PREFIX "checkpoints/ckpt-"
#define CHECKPOINT_SUFFIX ".safetensors"
#define CHECKPOINT_DIGITS 12u

/* Each folder comes before its parent, so that spool_remove() can remove them in this order. */
static const char *const folders[] = { "checkpoints",       "logs/train", "logs/validation",
				       "logs/steps",        "logs",       "model/saved_model/1",
				       "model/saved_model", "model",      "" };

char *spool_path(const char *run_id, const char *name, char out[static PATH_BYTES])
{
	char tail[PATH_BYTES / 2];

	(void)snprintf(tail, sizeof(tail), "%s/%s%s%s", SPOOL_WRITER, run_id, *name ? "/" : "", name);
	return path_of(PATH_SPOOL, tail, out);
}

char *spool_checkpoint_name(uint64_t step, char out[static SPOOL_NAME_BYTES])
{
	(void)snprintf(out, SPOOL_NAME_BYTES, CHECKPOINT_PREFIX "%012" PRIu64 CHECKPOINT_SUFFIX, step);
	return out;
}

int64_t spool_checkpoint_step(const char *name)
{
	size_t prefix = strlen(CHECKPOINT_PREFIX);
	const char *digits = name + prefix;
	char *end;
	int64_t step;

	if (strncmp(name, CHECKPOINT_PREFIX, prefix) != 0 ||
	    strspn(digits, "0123456789") != CHECKPOINT_DIGITS)
		return -EINVAL;
	step = strtoll(digits, &end, 10);
	return strcmp(end, CHECKPOINT_SUFFIX) == 0 ? step : -EINVAL;
}

int spool_make(const char *run_id, struct error *err)
{
	char path[PATH_BYTES];

	for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
		int r = path_make(spool_path(run_id, folders[i], path), err);

		if (r < 0)
			return r;
	}
	return 0;
}

int spool_lock(int *ret_fd, struct error *err)
{
	const bool shared = slot_now() == 0; /* the folder of all runs; another slot locks its own */
	char path[PATH_BYTES];

	return folder_lock(path_of(shared ? PATH_SPOOL : PATH_SLOT, shared ? SPOOL_WRITER : NULL, path),
			   "another process writes there", ret_fd, err);
}

int spool_lock_run(const char *run_id, int *ret_fd, struct error *err)
{
	char path[PATH_BYTES];

	return folder_lock(spool_path(run_id, "", path), "another process trains this run", ret_fd, err);
}

int spool_lock_uploads(int *ret_fd, struct error *err)
{
	char path[PATH_BYTES];
	int r = path_make(path_of(PATH_SPOOL, NULL, path), err);

	return r < 0 ? r : folder_lock(path, "another process uploads from there", ret_fd, err);
}

static bool is_finished_file(const char *name)
{
	size_t length = strlen(name);

	return name[0] != '.' && (length < 4 || strcmp(name + length - 4, ".tmp") != 0);
}

/* Calls `each` for a regular file. A file that was removed meanwhile is no error. */
static int list_file(const char *run_id, const char *name,
		     int (*each)(void *context, const char *name, uint64_t bytes), void *context,
		     struct error *err)
{
	char path[PATH_BYTES];
	struct stat st;

	if (stat(spool_path(run_id, name, path), &st) < 0)
		return errno == ENOENT ? 0 : error_set(err, -errno, "%s: %s", path, strerror(errno));
	return S_ISREG(st.st_mode) ? each(context, name, (uint64_t)st.st_size) : 0;
}

static int list_folder(const char *run_id, const char *folder,
		       int (*each)(void *context, const char *name, uint64_t bytes), void *context,
		       struct error *err)
{
	char path[PATH_BYTES];
	struct dirent **entries;
	int count, r = 0;

	count = scandir(spool_path(run_id, folder, path), &entries, NULL, alphasort);
	if (count < 0)
		return errno == ENOENT
			       ? 0
			       : error_set(err, -errno, "%s: cannot list it: %s", path, strerror(errno));
	for (int i = 0; i < count; i++) {
		char name[SPOOL_NAME_BYTES];

		(void)snprintf(name, sizeof(name), "%s%s%s", folder, *folder ? "/" : "", entries[i]->d_name);
		if (r == 0 && is_finished_file(entries[i]->d_name))
			r = list_file(run_id, name, each, context, err);
		free(entries[i]);
	}
	free(entries);
	return r;
}

int spool_list(const char *run_id, int (*each)(void *context, const char *name, uint64_t bytes),
	       void *context, struct error *err)
{
	for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
		int r = list_folder(run_id, folders[i], each, context, err);

		if (r != 0)
			return r;
	}
	return 0;
}

static int note_newest(void *context, const char *name, uint64_t bytes)
{
	int64_t *newest = context, step = spool_checkpoint_step(name);

	(void)bytes;
	if (step > *newest)
		*newest = step;
	return 0;
}

int spool_find_step(const char *run_id, int64_t *ret_step, struct error *err)
{
	int64_t newest = -1;
	int r = spool_list(run_id, note_newest, &newest, err);

	if (r == 0)
		*ret_step = newest;
	return r;
}

int64_t spool_newest_step(const char *run_id, struct error *err)
{
	int64_t newest = -1;
	int r = spool_find_step(run_id, &newest, err);

	if (r < 0)
		return r;
	return newest >= 0 ? newest : error_set(err, -ENOENT, "%s: no checkpoint in the spool", run_id);
}

/* Opens one name of a path below `folder`. */
static int open_below(int folder, const char *name, size_t bytes, bool last)
{
	char segment[NAME_MAX + 1];

	if (bytes >= sizeof(segment))
		return -ENAMETOOLONG;
	memcpy(segment, name, bytes);
	segment[bytes] = '\0';
	folder = openat(folder, segment,
			O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | (last ? 0 : O_DIRECTORY));
	return folder < 0 ? -errno : folder;
}

int spool_open(const char *run_id, const char *name, int *ret_fd, struct error *err)
{
	char path[PATH_BYTES], spool[PATH_BYTES];
	const char *rest = spool_path(run_id, name, path) + strlen(path_of(PATH_SPOOL, NULL, spool)) + 1;
	CLEANUP(close_fd) int fd = open(spool, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct stat st;
	int r = fd < 0 ? -errno : 0;

	for (size_t bytes; r >= 0 && *rest; rest += bytes + (rest[bytes] == '/')) {
		bytes = strcspn(rest, "/");
		r = open_below(fd, rest, bytes, !rest[bytes]);
		if (r >= 0) {
			close_fd(&fd);
			fd = r;
		}
	}
	if (r == -ELOOP || r == -ENOTDIR || (r >= 0 && fstat(fd, &st) == 0 && !S_ISREG(st.st_mode)))
		return error_set(err, -EINVAL, "%s: found a link or another kind of file, expected a file",
				 path);
	if (r < 0)
		return error_set(err, r, "%s: %s", path, strerror(-r));
	*ret_fd = take_fd(&fd);
	return 0;
}

int spool_runs(int (*each)(void *context, const char *run_id), void *context, struct error *err)
{
	char path[PATH_BYTES];
	struct dirent **entries;
	int count, r = 0;

	count = scandir(path_of(PATH_SPOOL, SPOOL_WRITER, path), &entries, NULL, alphasort);
	if (count < 0)
		return errno == ENOENT
			       ? 0
			       : error_set(err, -errno, "%s: cannot list it: %s", path, strerror(errno));
	for (int i = 0; i < count; i++) {
		if (r == 0 && entries[i]->d_name[0] != '.')
			r = each(context, entries[i]->d_name);
		free(entries[i]);
	}
	free(entries);
	return r;
}

bool spool_has(const char *run_id)
{
	char path[PATH_BYTES];

	return file_exists(spool_path(run_id, "", path), NULL) != 0;
}

int spool_remove(const char *run_id, struct error *err)
{
	char path[PATH_BYTES];

	for (size_t i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
		path_empty(spool_path(run_id, folders[i], path));
		if (rmdir(path) < 0 && errno != ENOENT)
			return error_set(err, -errno, "%s: cannot remove it: %s", path, strerror(errno));
	}
	return 0;
}
