/* SPDX-License-Identifier: Apache-2.0 */
/* What only the files of drivers/cache use: names and labels (name.c), links (link.c), files (cache.c,
 * write.c, walk.c), claims (claim.c). */
#pragma once

#include "drivers/cache/cache.h"

#include <limits.h>

#define CACHE_XATTR          "user.kiln"
#define CACHE_PIN_TEXT_BYTES (STORE_ETAG_MAX + 32u)
#define CACHE_LINK_TEMPORARY "tree/%new-" /* escaped names never contain "%n" */

struct cache {
	int fd;     /* open descriptor of the cache's folder */
	int claims; /* open descriptor of the file "claims"; -1 = none */
	enum cache_use use;
	char folder[];
};

/* Opens the file of the claims, where that is possible. */
void cache_claims_open(struct cache *cache);

#define CACHE_LABEL_MAGIC UINT32_C(0x31434b4b) /* "KKC1" */

/* Writes the identity of an object (endpoint, bucket, key, pin) into `out`. Returns the number of bytes, or 0
 * where `out` is too small. */
size_t cache_identity(const struct cache_object *object, char *out, size_t size);
void cache_name_of_identity(const char *identity, size_t bytes, char ret_name[static CACHE_NAME_BYTES]);
#define CACHE_PATH_BYTES 96u
/* Writes the path of a file below the folder: "objects/ab/abcd...". Returns `out`. */
const char *cache_path(const char name[static CACHE_NAME_BYTES], char out[static CACHE_PATH_BYTES]);
/* Sets the members of *ret_item, which point into the label. Returns false where the bytes are not a valid
 * label. */
bool cache_label_parse(const struct cache_label *label, size_t bytes, struct cache_item *ret_item);
/* Reads the label of a file, at most CACHE_LABEL_MAX bytes. Returns its length or -errno. */
ssize_t cache_label_read(int fd, struct cache_label *label);

/* Writes "tree/HOST/BUCKET/KEY", escaped: no key leads out of the tree, and no two keys have the same path.
 * Returns false where a name would be too long for the file system. */
bool cache_link_path(const char *endpoint, const char *bucket, const char *key, char out[static PATH_MAX]);
/* Make and remove the symbolic link with the readable name of a file. Failures are ignored. */
void cache_link(const struct cache *cache, const struct cache_item *item);
void cache_unlink(const struct cache *cache, const struct cache_item *item);
