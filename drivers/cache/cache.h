/* SPDX-License-Identifier: Apache-2.0 */
/* clang-format off */
/*
 * A cache of whole objects of a store, on a disk of this box. The files in the folder are the only record of
 * what the cache has: there is no index that could disagree with them.
 *
 *     objects/ab/abcd...    an object's bytes, named by SHA-256 of endpoint, bucket, key and pin; the xattr
 *                           user.kiln holds its length, a CRC-32 and those four
 *     tree/HOST/BUCKET/KEY  symbolic links to the objects under readable names, for other programs; best effort
 *     new/                  files that are being written
 *     claims                empty; a process locks a byte of it for each object that it fetches
 *     pins.json             prefixes that are never evicted: pins.h
 *     preload.json          progress of the last kiln-oneshot preload, which writes it:
 *                             state ("running", "finished", "failed"), text, started_us, updated_s
 *                             objects, bytes                  that the next run reads, or pinned
 *                             objects_done, bytes_done        in the cache by now
 *                             objects_fetched, bytes_fetched  copied from the store by this preload
 *                             left_out                        objects without space in the cache
 *                             failed                          objects that the store could not deliver
 *
 * A file gets its label, is flushed, and then appears under its name by rename, so that a kill or a power cut
 * at any moment leaves it whole or not at all. It is never changed afterwards. The name contains the pin, which
 * is the object's version: a new version is a new file, so a file never becomes stale.
 *
 * Any process may add, read and remove at any time: fetchd and kiln-oneshot preload fill the cache, controld
 * drops from it. A removed file stays valid for a process that has it mapped.
 *
 * Eviction: the caller decides which files go, because only the caller knows which object is read when; list.h
 * removes them. Objects of pins.h are never evicted.
 *
 * Order: cache_open -> (cache_map -> cache_view_done; cache_create -> cache_append* -> cache_commit;
 * cache_claim -> cache_unclaim; cache_remove) -> cache_closep.
 * Threads: none of its own. A struct cache has no state but the folder: any thread may call with it.
 * Blocks: everything, on the disk.
 * Crash: leaves unfinished files below new/, which cache_sweep() removes.
 */
/* clang-format on */
#pragma once

#include "drivers/store/store.h"

#define CACHE_PRELOAD_FILE "preload.json"
#define CACHE_NAME_BYTES   65u /* 64 hex digits and a NUL */

struct cache;

/* An object in a store, with the pin (size and version) that it must have. */
struct cache_object {
	const char *endpoint; /* URL as configured; "" = AWS */
	const char *bucket;
	const char *key; /* the whole key, including the prefix of a source */
	const struct store_pin *pin;
};

/* Returns whether the objects of a store can be cached: true for s3:// and lakefs://, false for file://. */
bool cache_accepts_store(const struct config_store *store);
/* Returns whether a pin identifies one version of an object. Only objects with such a pin can be cached. */
bool cache_accepts_pin(const struct store_pin *pin);

/* Returns whether two endpoints are the same. A slash at the end makes no difference. */
bool cache_same_endpoint(const char *one, const char *other);

struct cache_strings {
	char bucket[CONFIG_BUCKET_MAX + 1], key[CONFIG_PREFIX_MAX + 1 + STORE_KEY_MAX + 1];
};
/* Describes an object of a store. The result has pointers into `strings` and `store`, and to `pin`. */
struct cache_object cache_object_of(const struct config_store *store, const char *key,
				    const struct store_pin *pin, struct cache_strings *strings);

enum cache_use { CACHE_READ, CACHE_WRITE };
/* Opens the cache in `folder`. CACHE_WRITE makes the folder, and checks that its files can have extended
 * attributes. Errors: -errno; -ENOENT with CACHE_READ where the folder does not exist; -EOPNOTSUPP the file
 * system has no extended attributes. */
MUST_CHECK int cache_open(const char *folder, enum cache_use use, struct cache **ret_cache,
			  struct error *err);
void cache_closep(struct cache **cache);
const char *cache_folder(const struct cache *cache);

/* Gives the name of an object's file: a SHA-256 in hex digits. */
void cache_name(const struct cache_object *object, char ret_name[static CACHE_NAME_BYTES]);

/* ---- Reading ---- */

/* A mapping of a whole object. */
struct cache_view {
	const uint8_t *data; /* the object's bytes; NULL = nothing is mapped */
	uint64_t bytes;
	uint32_t crc32;
	int fd; /* the open file; -1 after cache_view_close() */
};

/* Maps an object into memory and sets its time of use. Returns 1, or 0 where the cache does not have it.
 * Errors: -EBADMSG the file's label or length is not that of the object, so it was removed; -errno. */
MUST_CHECK int cache_map(const struct cache *cache, const struct cache_object *object,
			 struct cache_view *ret_view, struct error *err);
/* Asks the kernel to read [offset, offset + bytes) from the disk, at most up to the object's end. Does not
 * wait. */
void cache_read_ahead(const struct cache_view *view, uint64_t offset, uint64_t bytes);
/* Waits until [offset, offset + bytes) are in memory. The kernel may drop them later, when memory is short;
 * they are then read again on access, and a disk error at that time is a SIGBUS. Errors: -EIO. */
MUST_CHECK int cache_read(const struct cache_view *view, uint64_t offset, uint64_t bytes, struct error *err);
/* Looks at a sample of the object's pages and returns whether nearly all of them are in memory already. */
bool cache_is_resident(const struct cache_view *view);
#define CACHE_DIRECT_ALIGN 4096u
/* Reads [offset, offset + bytes) into `to` without the kernel's page cache (O_DIRECT). `offset`, `to` and the
 * length of the buffer `to` are multiples of CACHE_DIRECT_ALIGN; the buffer's contents after the object's end
 * are undefined. Errors: -EINVAL the file system does not support O_DIRECT; -EIO. */
MUST_CHECK int cache_read_direct(const struct cache_view *view, uint64_t offset, uint64_t bytes, void *to,
				 struct error *err);
/* Returns whether the bytes of the whole object, `data`, have the CRC of the label. Not needed for data whose
 * records have checksums themselves. */
bool cache_is_sound(const struct cache_view *view, const void *data);
/* Closes the file but leaves it mapped: the number of open files of a process is limited. Afterwards only
 * cache_is_resident(), cache_is_sound() and cache_view_done() may be called. */
void cache_view_close(struct cache_view *view);
/* Unmaps and closes; accepts a zeroed view. */
void cache_view_done(struct cache_view *view);

/* Notes that the object is used now, without reading it. Returns 1, or 0 where the cache does not have the
 * object. */
int cache_touch(const struct cache *cache, const struct cache_object *object);

/* ---- Claims ---- */

/* Which process fetches an object that the cache lacks. A claim holds against other processes, and against
 * another struct cache of this process; it ends with cache_unclaim(), cache_closep() or the process, however
 * that ends. Nobody must have a claim to write or read a file. */

#define CACHE_CLAIM_NONE UINT64_C(0) /* no claim has this number */
/* Claims an object. Returns 1, also where this process has the claim already, or 0 where another one has it.
 * Errors: -EBADF the cache has no claims: it is open for reading, or its file "claims" cannot be written;
 * -ENOLCK. Does not wait. Cost: grows with the number of claims. */
int cache_claim(const struct cache *cache, const char name[static CACHE_NAME_BYTES], uint64_t *ret_claim);
void cache_unclaim(const struct cache *cache, uint64_t claim);

/* ---- Writing ---- */

/* The label of a file: the contents of its xattr user.kiln. */
#define CACHE_LABEL_MAX 3072u /* ext4 without ea_inode stores less than 4 KiB of xattrs per file */
struct cache_label {
	uint32_t magic, crc32;
	uint64_t bytes;
	char identity[]; /* endpoint, bucket, key and pin as text, each ended by a NUL */
};

/* The state of a file that is being written. The caller provides the memory, so that a file needs no
 * allocation. The members belong to write.c. Zeroed = nothing is being written. */
struct cache_writer {
	const struct cache *cache; /* NULL = nothing is being written */
	int fd;
	char temporary[64]; /* name of the file below new/; "" = renamed already */
	uint64_t bytes, expected;
	size_t label_bytes;
	union {
		struct cache_label label;
		char label_buffer[CACHE_LABEL_MAX];
	};
};

/* Starts a file. Errors: -ENAMETOOLONG the label would be too long; -errno. After an error `writer` is
 * zeroed. */
MUST_CHECK int cache_create(const struct cache *cache, const struct cache_object *object,
			    struct cache_writer *writer, struct error *err);
/* Appends the next bytes. Errors: -ENOSPC the disk is full; -errno. */
MUST_CHECK int cache_append(struct cache_writer *writer, const void *data, uint64_t bytes, struct error *err);
/* Flushes the file to the disk and renames it to its final name. The writer cannot be used afterwards, also
 * after a failure. Errors: -EBADMSG fewer or more bytes than the pin has. */
MUST_CHECK int cache_commit(struct cache_writer *writer, struct error *err);
/* Removes the unfinished file. Accepts a writer that is zeroed, or whose file was committed or removed. */
void cache_abandon(struct cache_writer *writer);

/* Removes a file and its link. A missing file is no error. */
int cache_remove(const struct cache *cache, const char name[static CACHE_NAME_BYTES], struct error *err);
/* Removes unfinished files of killed writers, and links that lead nowhere. */
void cache_sweep(const struct cache *cache);

/* ---- The whole cache ---- */

struct cache_item {
	const char *name; /* name of the file */
	uint64_t bytes;
	int64_t used_s;                                 /* Unix time of the last use */
	const char *endpoint, *bucket, *key, *pin_text; /* from the label */
};

/* Calls `each` for every file, in no order; a result other than 0 stops the walk and is returned. Removes
 * files without a good label where the cache is open for writing. Errors: -errno of a folder. */
MUST_CHECK int cache_each(const struct cache *cache,
			  int (*each)(void *context, const struct cache_item *item), void *context,
			  struct error *err);

/* cache_changed() changes the cache's mark, and cache_mark() returns it. A process calls cache_changed()
 * after it added or removed files, so that the other processes see a new mark and list the cache again. */
uint64_t cache_mark(const struct cache *cache);
void cache_changed(const struct cache *cache);

/* Returns how many bytes of the file system are free for this user. */
uint64_t cache_free_bytes(const struct cache *cache);
