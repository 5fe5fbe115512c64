/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whole objects of a store on a disk of this box. The files are all there is: no index can disagree with
 * them.
 *
 *     objects/ab/abcd...    an object's bytes, named by SHA-256 of endpoint, bucket, key and pin; the xattr
 *                           user.kiln holds its length, a CRC-32 and those four
 *     tree/HOST/BUCKET/KEY  symbolic links to them under readable names, for any other program; best effort
 *     new/                  files that are being written
 *     pins.json             what is never evicted: pins.h
 *     preload.json          how the last preload goes, written by kiln-oneshot preload: state (running,
 * finished, failed), text, started_us, updated_s; objects, bytes: what there is to have; objects_done,
 * bytes_done: what is there by now; objects_fetched, bytes_fetched: of these, what came from the store;
 * left_out: no room; failed: not to be had
 *
 * A file appears by rename with its label, synchronised: whoever is killed, or whatever power is cut, leaves
 * it whole or not at all. It is never changed. Any process may add, read and remove at any time; a file that
 * is removed stays good for who has it mapped.
 *
 * Order: cache_open -> (cache_map -> cache_view_done; cache_create -> cache_append* -> cache_commit;
 * cache_remove) -> cache_closep. A struct cache has no state besides its folder: any thread may call with it.
 * Everything blocks on the disk. What to keep is the caller's, who
 * finds list.h of help.
 */
#pragma once

#include "drivers/store/store.h"

#define CACHE_PRELOAD_FILE "preload.json"
#define CACHE_NAME_BYTES   65u /* 64 hex digits and a NUL */

struct cache;

/* One object: where, which, and the pin that it must have. */
struct cache_object {
	const char *endpoint; /* as configured; "" = AWS */
	const char *bucket;
	const char *key; /* the whole one, a source's prefix included */
	const struct store_pin *pin;
};

/* Whether a store's objects can be cached: s3://, and of a pin, whether it tells versions apart. */
bool cache_accepts_store(const struct config_store *store);
bool cache_accepts_pin(const struct store_pin *pin);

/* However they are written. */
bool cache_same_endpoint(const char *one, const char *other);

/* An object of a store: `room` gets the parts of its url that are not strings of their own. */
struct cache_strings {
	char bucket[CONFIG_BUCKET_MAX + 1], key[CONFIG_PREFIX_MAX + 1 + STORE_KEY_MAX + 1];
};
struct cache_object cache_object_of(const struct config_store *store, const char *key,
				    const struct store_pin *pin, struct cache_strings *strings);

/* The folder; CACHE_WRITE makes it, and sees whether it takes files with extended attributes.
 * Errors: -errno; -ENOENT there is none to read; -EOPNOTSUPP the file system has no extended attributes. */
enum cache_use { CACHE_READ, CACHE_WRITE };
MUST_CHECK int cache_open(const char *folder, enum cache_use use, struct cache **ret_cache,
			  struct error *err);
void cache_closep(struct cache **cache);
const char *cache_folder(const struct cache *cache);

/* The name of its file. */
void cache_name(const struct cache_object *object, char ret_name[static CACHE_NAME_BYTES]);

/* ---- Reading ---- */

/* A mapping of a whole object. */
struct cache_view {
	const uint8_t *data; /* NULL = none */
	uint64_t bytes;
	uint32_t crc32;
	int fd; /* until cache_view_close(), then -1 */
};

/* Map an object and note the use. Returns 1, or 0 where it is not there.
 * Errors: -EBADMSG label or length are not the object's: the file is removed; -errno. */
MUST_CHECK int cache_map(const struct cache *cache, const struct cache_object *object,
			 struct cache_view *ret_view, struct error *err);
/* Start reading [offset, offset + bytes) from the disk, as far as the object goes; does not wait. */
void cache_read_ahead(const struct cache_view *view, uint64_t offset, uint64_t bytes);
/* Wait until they are in memory, where the kernel keeps them as long as there is room: what is read again
 * later and fails then is a SIGBUS. Errors: -EIO. */
MUST_CHECK int cache_read(const struct cache_view *view, uint64_t offset, uint64_t bytes, struct error *err);
/* Whether nearly all of it is in memory already. */
bool cache_is_resident(const struct cache_view *view);
/* Read [offset, offset + bytes) past the kernel's memory into `to`. `offset` and `to` are multiples of
 * CACHE_DIRECT_ALIGN, and so is the room behind `to`: of what lies behind the object's end nothing, or
 * anything, is written. Errors: -EINVAL the file system cannot; -EIO. */
#define CACHE_DIRECT_ALIGN 4096u
MUST_CHECK int cache_read_direct(const struct cache_view *view, uint64_t offset, uint64_t bytes, void *to,
				 struct error *err);
/* Whether the object's bytes, which `data` are, have the CRC of the label. Records with checksums of their
 * own need it not. */
bool cache_is_sound(const struct cache_view *view, const void *data);
/* What is wanted of it has been read: close its file, of which a process may have few. The mapping stays, and
 * what is called but cache_view_done() is about that alone: cache_is_resident(), cache_is_sound(). */
void cache_view_close(struct cache_view *view);
/* Unmap; accepts a zeroed one. */
void cache_view_done(struct cache_view *view);

/* Note a use without reading. Returns 1, or 0 where it is not there. */
int cache_touch(const struct cache *cache, const struct cache_object *object);

/* ---- Writing ---- */

/* What a file's xattr holds: this, then the identity. */
#define CACHE_LABEL_MAX 3072u /* ext4 without ea_inode keeps less than 4 KiB a file */
struct cache_label {
	uint32_t magic, crc32;
	uint64_t bytes;
	char identity[]; /* endpoint, bucket, key, pin, each with its NUL */
};

/* In the caller's memory, so that nothing is allocated a file; zeroed = none. The members are write.c's. */
struct cache_writer {
	const struct cache *cache; /* NULL = none, or it is over */
	int fd;
	char temporary[64]; /* "" = renamed */
	uint64_t bytes, expected;
	size_t label_bytes;
	union {
		struct cache_label label;
		char label_buffer[CACHE_LABEL_MAX];
	};
};

/* Errors: -ENAMETOOLONG; -errno: there is no writer then. */
MUST_CHECK int cache_create(const struct cache *cache, const struct cache_object *object,
			    struct cache_writer *writer, struct error *err);
/* The next bytes of it. Errors: -ENOSPC the disk is full; -errno. */
MUST_CHECK int cache_append(struct cache_writer *writer, const void *data, uint64_t bytes, struct error *err);
/* It stands; the writer is over, also on failure. Errors: -EBADMSG fewer or more bytes than the pin has. */
MUST_CHECK int cache_commit(struct cache_writer *writer, struct error *err);
/* Nothing was written. Accepts one that is none, or over. */
void cache_abandon(struct cache_writer *writer);

/* Remove a file and its link. What is not there is no error. */
int cache_remove(const struct cache *cache, const char name[static CACHE_NAME_BYTES], struct error *err);
/* Remove what killed writers left, and links that lead nowhere. */
void cache_sweep(const struct cache *cache);

/* ---- All of it ---- */

struct cache_item {
	const char *name; /* of the file */
	uint64_t bytes;
	int64_t used_s;                                 /* Unix time of the last use */
	const char *endpoint, *bucket, *key, *pin_text; /* as labelled */
};

/* Calls `each` for every file in no order; non-zero stops and is returned. Files without a good label are
 * removed where the folder is open for writing. Errors: -errno of a folder. */
MUST_CHECK int cache_each(const struct cache *cache,
			  int (*each)(void *context, const struct cache_item *item), void *context,
			  struct error *err);

/* A mark that changes when cache_changed() was called, by any process: who adds and removes says so, so that
 * the others count anew. */
uint64_t cache_mark(const struct cache *cache);
void cache_changed(const struct cache *cache);

/* Bytes that the file system has free for us. */
uint64_t cache_free_bytes(const struct cache *cache);
