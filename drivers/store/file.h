/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inside the file:// backend: each object is a file below a folder. Its pin is the file's size, mtime and
 * inode.
 *
 *     file.c        opens, reads, serves requests; the table of operations
 *     file_list.c   walks folders in the order of keys
 *     file_put.c    writes, deletes, removes temporaries of killed writers
 *     file_keys.c   keys, paths and pins
 */
#pragma once

#include "drivers/store/backend.h"

#include <sys/stat.h>

#define FILE_PATH_BYTES       4096u
#define FILE_TEMPORARY_PREFIX ".kiln-put-"

struct file_store {
	struct store store;
	char root[FILE_PATH_BYTES / 2];
	int wake_fd;
	struct store_counters counters;
	struct store_request *queue, *queue_last;
};

static inline struct file_store *file_store_of(struct store *store)
{
	return (struct file_store *)store;
}

/* Returns whether one segment of a key (the text between two '/') may be the name of a file or folder. It
 * must not be empty, "." or "..", contain control characters, or look like the name of a temporary file. */
bool file_segment_is_safe(const char *segment, size_t bytes);
/* Writes the path of a key's file. Errors: -EINVAL the path could be outside the folder, or the key cannot be
 * a file's name. */
int file_key_path(const struct file_store *file, const char *key, char path[static FILE_PATH_BYTES],
		  struct error *err);
void file_pin_of(const struct stat *st, struct store_pin *pin);

int file_list(struct store *store, const char *glob,
	      int (*each)(void *context, const struct store_object *object), void *context,
	      struct error *err);
int file_put(struct store *store, const char *key, const void *data, uint64_t bytes, bool only_new,
	     struct error *err);
int file_put_file(struct store *store, const char *key, int fd, uint64_t bytes, uint8_t *ret_sha256,
		  struct error *err);
int file_abort_stale(struct store *store, struct error *err);
int file_delete(struct store *store, const char *key, struct error *err);
