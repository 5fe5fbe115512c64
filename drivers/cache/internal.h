/* SPDX-License-Identifier: Apache-2.0 */
/* Inside drivers/cache: names and labels (name.c), links (link.c), files (cache.c, write.c, walk.c). */
#pragma once

#include "drivers/cache/cache.h"

#include <limits.h>

#define CACHE_XATTR          "user.kiln"
#define CACHE_PIN_TEXT_BYTES (STORE_ETAG_MAX + 32u)
#define CACHE_LINK_TEMPORARY "tree/%new-" /* no escaped name begins so */

struct cache {
	int fd; /* of the folder */
	enum cache_use use;
	char folder[];
};

#define CACHE_LABEL_MAGIC UINT32_C(0x31434b4b) /* "KKC1" */

/* The object's identity into `out`; its length, or 0 where it does not fit. */
size_t cache_identity(const struct cache_object *object, char *out, size_t size);
void cache_name_of_identity(const char *identity, size_t bytes, char ret_name[static CACHE_NAME_BYTES]);
/* "objects/ab/abcd...". */
#define CACHE_PATH_BYTES 96u
const char *cache_path(const char name[static CACHE_NAME_BYTES], char out[static CACHE_PATH_BYTES]);
/* A label as read from a file: false where it is none. */
bool cache_label_parse(const struct cache_label *label, size_t bytes, struct cache_item *ret_item);
/* The label of a file, at most CACHE_LABEL_MAX bytes. Returns its length or -errno. */
ssize_t cache_label_read(int fd, struct cache_label *label);

/* "tree/HOST/BUCKET/KEY", escaped: no key leads out of the tree, or to another's name. False where a name
 * would be too long for the file system. */
bool cache_link_path(const char *endpoint, const char *bucket, const char *key, char out[static PATH_MAX]);
/* Best effort, both. */
void cache_link(const struct cache *cache, const struct cache_item *item);
void cache_unlink(const struct cache *cache, const struct cache_item *item);
