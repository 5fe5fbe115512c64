/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lists the files below a folder in the bytewise order of whole keys. Memory holds the names of one folder
 * per level. Symbolic links to files are followed; links to folders are not, so there can be no loop.
 */
#include "drivers/store/file.h"

#include <dirent.h>
#include <fcntl.h>
#include <string.h>

/* The entries of one folder. A folder's name is stored with a '/' at its end: so the order of the names is
 * the bytewise order of the whole keys. */
struct entries {
	char **names;
	size_t count, size;
};

static void entries_done(struct entries *entries)
{
	for (size_t i = 0; i < entries->count; i++)
		free(entries->names[i]);
	free(entries->names);
}

static int entries_add(struct entries *entries, const char *name, bool folder, struct error *err)
{
	char *copy;

	if (entries->count == entries->size) {
		size_t size = entries->size ? 2 * entries->size : 64;
		char **names = realloc(entries->names, size * sizeof(*names));

		if (!names)
			return error_set(err, -ENOMEM, "%s: no memory for its folder", name);
		entries->names = names;
		entries->size = size;
	}
	if (asprintf(&copy, "%s%s", name, folder ? "/" : "") < 0)
		return error_set(err, -ENOMEM, "%s: no memory for its folder", name);
	entries->names[entries->count++] = copy;
	return 0;
}

static int compare_names(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

struct listing {
	struct file_store *file;
	const char *glob;
	int (*each)(void *context, const struct store_object *object);
	void *context;
	char path[FILE_PATH_BYTES];
	size_t root_bytes; /* length of the root in `path`, with the slash after it */
};

/* Returns the error of a stat(2) that failed; 0: the file was removed meanwhile, or is a link that leads
 * nowhere. Any other failure must not hide an object. */
static int error_of_stat(const char *path, const char *name, struct error *err)
{
	if (errno == ENOENT || errno == ENOTDIR || errno == ELOOP)
		return 0;
	return error_set(err, -errno, "%s%s: %s", path, name, strerror(errno));
}

/* Returns whether a key that begins with `start` can match the glob: the part of the glob before its first
 * special character must agree with `start`. */
static bool may_match(const char *glob, const char *start)
{
	size_t literal = store_glob_literal(glob), bytes = strlen(start);

	return !glob || !strncmp(glob, start, literal < bytes ? literal : bytes);
}

static int read_folder(const struct listing *listing, struct entries *entries, struct error *err)
{
	DIR *folder = opendir(listing->path);
	struct dirent *entry;
	int r = 0;

	if (!folder)
		return errno == ENOENT ? 0 : error_set(err, -errno, "%s: %s", listing->path, strerror(errno));
	while (r == 0 && (errno = 0, entry = readdir(folder))) {
		bool link = entry->d_type == DT_LNK;
		struct stat st;

		if (!file_segment_is_safe(entry->d_name, strlen(entry->d_name)))
			continue;
		if (fstatat(dirfd(folder), entry->d_name, &st,
			    entry->d_type == DT_UNKNOWN ? AT_SYMLINK_NOFOLLOW : 0) < 0)
			r = error_of_stat(listing->path, entry->d_name, err);
		else if (S_ISREG(st.st_mode) || (S_ISDIR(st.st_mode) && !link))
			r = entries_add(entries, entry->d_name, S_ISDIR(st.st_mode), err);
	}
	if (r == 0 && errno)
		r = error_set(err, -EIO, "%s: %s", listing->path, strerror(errno));
	(void)closedir(folder);
	return r;
}

static int list_file(struct listing *listing, struct error *err)
{
	const char *key = listing->path + listing->root_bytes;
	struct store_object object = { 0 };
	struct stat st;

	if (!store_glob_matches(listing->glob, key))
		return 0;
	if (stat(listing->path, &st) < 0)
		return error_of_stat(listing->path, "", err);
	(void)snprintf(object.key, sizeof(object.key), "%s", key);
	object.mtime_s = st.st_mtim.tv_sec;
	file_pin_of(&st, &object.pin);
	return listing->each(listing->context, &object);
}

/* Lists the folder at listing->path, which ends in '/'. The recursion is bounded by the length of a key. */
static int list_folder(struct listing *listing, struct error *err) // NOLINT(misc-no-recursion)
{
	CLEANUP(entries_done) struct entries entries = { 0 };
	size_t bytes = strlen(listing->path);
	int r = read_folder(listing, &entries, err);

	if (r < 0)
		return r;
	if (entries.count)
		qsort(entries.names, entries.count, sizeof(*entries.names), compare_names);
	for (size_t i = 0; r == 0 && i < entries.count; i++) {
		size_t name = strlen(entries.names[i]);

		if (bytes - listing->root_bytes + name > STORE_KEY_MAX)
			continue;
		memcpy(listing->path + bytes, entries.names[i], name + 1);
		if (!may_match(listing->glob, listing->path + listing->root_bytes))
			continue;
		r = listing->path[bytes + name - 1] == '/' ? list_folder(listing, err)
							   : list_file(listing, err);
	}
	listing->path[bytes] = 0;
	return r;
}

int file_list(struct store *store, const char *glob,
	      int (*each)(void *context, const struct store_object *object), void *context, struct error *err)
{
	struct file_store *file = file_store_of(store);
	struct listing listing = { .file = file, .glob = glob, .each = each, .context = context };

	listing.root_bytes = (size_t)snprintf(listing.path, sizeof(listing.path), "%s/", file->root);
	return list_folder(&listing, err);
}
