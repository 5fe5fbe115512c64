/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A put writes a temporary file beside its target under flock(2), syncs it, renames it and syncs the folder,
 * so readers, also after a power cut, see either the old object or the new one. With `only_new` link() takes
 * the place of the rename: it fails where the name exists.
 */
#include "drivers/store/file.h"

#include <dirent.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>

#define COPY_BYTES   (1u << 20)
#define PUT_ATTEMPTS 4u

static int sync_folder(const char *path)
{
	CLEANUP(close_fd) int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	return fd < 0 || fsync(fd) < 0 ? -errno : 0;
}

/* Makes the folders above the file at `path`, and syncs each new one into its parent. Changes `path` while it
 * runs, but restores it. */
static int make_folders(char *path)
{
	for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		char *before;
		int r = 0;

		*slash = 0;
		if (mkdir(path, 0775) == 0) {
			before = strrchr(path, '/');
			*before = 0;
			r = sync_folder(before == path ? "/" : path);
			*before = '/';
		} else if (errno != EEXIST) {
			r = -errno;
		}
		*slash = '/';
		if (r < 0)
			return r;
	}
	return 0;
}

struct source {
	const char *data; /* the bytes to write; NULL: they are read from `fd` */
	int fd;
	uint64_t bytes;
	bool only_new;
	const struct store *store;
};

static int copy_data(int to, const char *data, uint64_t bytes)
{
	while (bytes) {
		ssize_t put = write(to, data, bytes);

		if (put < 0)
			return -errno;
		data += put;
		bytes -= (uint64_t)put;
	}
	return 0;
}

static int copy_file(int to, const struct source *source)
{
	CLEANUP(free_ptr) char *chunk = malloc(COPY_BYTES);

	if (!chunk)
		return -ENOMEM;
	for (uint64_t done = 0; done < source->bytes; store_awake(source->store)) {
		uint64_t left = source->bytes - done;
		ssize_t got = pread(source->fd, chunk, left < COPY_BYTES ? left : COPY_BYTES, (off_t)done);
		int r = got < 0 ? -errno : got == 0 ? -ESTALE : copy_data(to, chunk, (uint64_t)got);

		if (r < 0)
			return r;
		done += (uint64_t)got;
	}
	return 0;
}

static int put_in_place(const char *path, const char *temporary, bool only_new)
{
	if (!only_new)
		return rename(temporary, path);
	return link(temporary, path) < 0 || unlink(temporary) < 0 ? -1 : 0;
}

static int write_and_rename(const char *path, const char *temporary, int fd, const struct source *source)
{
	char folder[FILE_PATH_BYTES];
	int r = source->data || !source->bytes ? copy_data(fd, source->data, source->bytes)
					       : copy_file(fd, source);

	if (r < 0)
		return r;
	if (fchmod(fd, 0644) < 0 || fsync(fd) < 0 || put_in_place(path, temporary, source->only_new) < 0)
		return -errno;
	(void)snprintf(folder, sizeof(folder), "%.*s", (int)(strrchr(path, '/') - path), path);
	return sync_folder(folder[0] ? folder : "/");
}

/* Locks a new file. Fails with -EAGAIN where another process has taken the file for a stale one
 * (remove_if_stale()) before it was locked. */
static int lock_new(int fd)
{
	struct stat st;

	if (flock(fd, LOCK_EX | LOCK_NB) < 0 || fstat(fd, &st) < 0)
		return -errno;
	return st.st_nlink == 0 ? -EAGAIN : 0;
}

static int try_temporary(char *path, char temporary[static FILE_PATH_BYTES], int *ret_fd)
{
	int folder = (int)(strrchr(path, '/') - path), r = make_folders(path);

	if (r < 0)
		return r;
	(void)snprintf(temporary, FILE_PATH_BYTES, "%.*s/%sXXXXXX", folder, path, FILE_TEMPORARY_PREFIX);
	*ret_fd = mkostemp(temporary, O_CLOEXEC);
	return *ret_fd < 0 ? -errno : lock_new(*ret_fd);
}

/* Makes and locks a temporary file. Between the steps another process may remove the folder, because it is
 * empty, or the file, because nobody has locked it: then both are made again. */
static int make_temporary(char *path, char temporary[static FILE_PATH_BYTES], int *ret_fd)
{
	int r = -EAGAIN;

	for (uint32_t attempt = 0; (r == -ENOENT || r == -EAGAIN) && attempt < PUT_ATTEMPTS; attempt++) {
		close_fd(ret_fd);
		*ret_fd = -1;
		r = try_temporary(path, temporary, ret_fd);
	}
	return r;
}

static int put_source(struct file_store *file, const char *key, const struct source *source,
		      struct error *err)
{
	char path[FILE_PATH_BYTES], temporary[FILE_PATH_BYTES] = "";
	CLEANUP(close_fd) int fd = -1;
	int r = file_key_path(file, key, path, err);

	if (r < 0)
		return r;
	r = make_temporary(path, temporary, &fd);
	if (r == 0)
		r = write_and_rename(path, temporary, fd, source);
	if (r < 0) {
		if (fd >= 0)
			(void)unlink(temporary);
		return error_set(err, r, "%s: %s", path, strerror(-r));
	}
	file->counters.requests++;
	file->counters.bytes_out += source->bytes;
	return 0;
}

int file_put(struct store *store, const char *key, const void *data, uint64_t bytes, bool only_new,
	     struct error *err)
{
	struct source source = {
		.data = data, .fd = -1, .bytes = bytes, .only_new = only_new, .store = store
	};

	return put_source(file_store_of(store), key, &source, err);
}

int file_put_file(struct store *store, const char *key, int fd, uint64_t bytes, uint8_t *ret_sha256,
		  struct error *err)
{
	struct source source = { .fd = fd, .bytes = bytes, .store = store };
	struct store_hashes hashes = { .ret_sha256 = ret_sha256 };
	int r = ret_sha256 ? store_hash_file(fd, 0, bytes, &hashes, NULL, NULL, err) : 0;

	return r < 0 ? r : put_source(file_store_of(store), key, &source, err);
}

/* Also removes folders that become empty, as in a bucket, where a folder exists only while it has objects. */
int file_delete(struct store *store, const char *key, struct error *err)
{
	struct file_store *file = file_store_of(store);
	char path[FILE_PATH_BYTES];
	size_t root = strlen(file->root);
	char *slash;
	int r = file_key_path(file, key, path, err);

	if (r < 0)
		return r;
	file->counters.requests++;
	if (unlink(path) < 0)
		return errno == ENOENT || errno == ENOTDIR
			       ? 0
			       : error_set(err, -errno, "%s: %s", path, strerror(errno));
	while ((slash = strrchr(path, '/')) > path + root) {
		*slash = 0;
		if (rmdir(path) < 0)
			break;
	}
	r = sync_folder(slash > path + root ? path : file->root);
	return r == 0 || r == -ENOENT ? 0 : error_set(err, r, "%s: %s", path, strerror(-r));
}

/* Removes a temporary file, unless it is locked: then its writer is still alive. */
static void remove_if_stale(int folder, const char *name)
{
	CLEANUP(close_fd) int fd = openat(folder, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);

	if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0)
		(void)unlinkat(folder, name, 0);
}

static void remove_stale_below(char path[static FILE_PATH_BYTES]) // NOLINT(misc-no-recursion)
{
	DIR *folder = opendir(path);
	size_t bytes = strlen(path);
	struct dirent *entry;

	while (folder && (entry = readdir(folder))) {
		size_t name = strlen(entry->d_name);

		if (!strncmp(entry->d_name, FILE_TEMPORARY_PREFIX, sizeof(FILE_TEMPORARY_PREFIX) - 1)) {
			remove_if_stale(dirfd(folder), entry->d_name);
		} else if (entry->d_type == DT_DIR && file_segment_is_safe(entry->d_name, name) &&
			   bytes + name + 2 < FILE_PATH_BYTES) {
			(void)snprintf(path + bytes, FILE_PATH_BYTES - bytes, "/%s", entry->d_name);
			remove_stale_below(path);
			path[bytes] = 0;
		}
	}
	if (folder)
		(void)closedir(folder);
}

int file_abort_stale(struct store *store, struct error *err)
{
	char path[FILE_PATH_BYTES];

	(void)err;
	(void)snprintf(path, sizeof(path), "%s", file_store_of(store)->root);
	remove_stale_below(path);
	return 0;
}
