/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inside drivers/store: what all files of the folder share, and the table of operations (struct store_ops)
 * that each backend provides.
 *
 *     store.c        chooses the backend and fills in defaults                 on top
 *     get_file.c     gets an object into a file, a few ranges at a time
 *     file*.c        the file:// backend                                       file.h
 *     s3*.c          the s3:// backend                                         s3.h
 *     operations.c   store_put() and the other operations: each calls the backend's struct store_ops
 *     requests.c     store_submit(), store_poll(): requests and their completion
 *     keys.c, hash_file.c   what both backends need
 *
 * `struct store` is the first member of a backend's own structure. A backend's submit() accepts a request;
 * its drive() sends and receives, and passes each finished request to store_complete(), which queues it for
 * store_poll(). All other operations block.
 */
#pragma once

#include "drivers/digest/mbedtls.h"
#include "drivers/store/store.h"

#include <stdatomic.h>
#include <stdbool.h>

struct store_ops {
	void (*close)(struct store *store);
	int (*list)(struct store *store, const char *glob,
		    int (*each)(void *context, const struct store_object *object), void *context,
		    struct error *err);
	int (*list_versions)(struct store *store, const char *glob,
			     int (*each)(void *context, const struct store_object *object), void *context,
			     struct error *err);
	const char *(*versions_refused)(const struct store *store); /* NULL = never */
	int (*stat)(struct store *store, const char *key, struct store_object *ret_object, struct error *err);
	int (*get_all)(struct store *store, const char *key, uint64_t max, char **ret_data,
		       uint64_t *ret_bytes, struct error *err);
	/* `only_new`: fails with -EEXIST where an object with this key exists. */
	int (*put)(struct store *store, const char *key, const void *data, uint64_t bytes, bool only_new,
		   struct error *err);
	/* `fd` is an open file of `bytes` bytes; `ret_sha256` may be NULL. */
	int (*put_file)(struct store *store, const char *key, int fd, uint64_t bytes, uint8_t *ret_sha256,
			struct error *err);
	int (*abort_stale)(struct store *store, struct error *err);
	int (*delete)(struct store *store, const char *key, struct error *err);
	int (*submit)(struct store *store, struct store_request *request, struct error *err);
	/* Sends and receives until the request `until` (NULL = any request) is completed, store_wake() is
	 * called, or `timeout_ms` have passed. */
	int (*drive)(struct store *store, uint32_t timeout_ms, const struct store_request *until,
		     struct error *err);
	void (*wake)(struct store *store);
	/* Cancels a request that is in flight, without store_complete(). */
	void (*cancel)(struct store *store, struct store_request *request);
	void (*cancel_all)(struct store *store);
	struct store_counters (*counters)(const struct store *store);
};

struct store {
	const struct store_ops *ops;
	char *url;
	struct store_options options; /* the caller's options, with defaults in place of zeros */
	/* queue of completed requests that store_poll() has not returned yet */
	struct store_request *done, *done_last;
};

int store_file_open(const struct config_store *where, const struct store_options *options,
		    struct store **ret_store, struct error *err);
int store_s3_open(const struct config_store *where, const struct store_options *options,
		  struct store **ret_store, struct error *err);
int store_s3_host(const struct config_store *where, char out[static STORE_HOST_BYTES], struct error *err);

/* Calls store_options.awake, if set: a blocking call is still running. */
void store_awake(const struct store *store);
/* Returns how many milliseconds a blocking call may wait now, at most STORE_DRIVE_MS; 0 = the deadline of the
 * store's options has passed. */
#define STORE_DRIVE_MS 1000u
uint32_t store_wait_ms(const struct store *store);
/* Sets the error of a call that gives up at the deadline. Returns -ETIMEDOUT. */
int store_is_late(struct error *err);

/* Sets the result and queues the request for store_poll(). */
void store_complete(struct store *store, struct store_request *request, int result);
/* Drives the store until `request` is completed, and returns its result. Other requests that complete
 * meanwhile stay queued for store_poll(). */
MUST_CHECK int store_wait(struct store *store, struct store_request *request, struct error *err);

/* Returns the length of the part of a glob before its first special character. Every matching key begins with
 * this part. */
size_t store_glob_literal(const char *glob);
bool store_glob_matches(const char *glob, const char *key);

#define STORE_KEY_TEXT (4u * STORE_KEY_MAX + 1)
/* Writes the visible form of a key (core/base/visible.h), for messages. */
const char *store_key_text(const char *key, char out[static STORE_KEY_TEXT]);

/* What store_hash_file() computes of a range of a file; each pointer may be NULL. */
struct store_hashes {
	mbedtls_sha256_context *whole; /* running hash of a larger whole, to which these bytes are added */
	uint8_t *ret_sha256, *ret_md5;
};

/* Hashes `bytes` bytes of a file from `offset`. Calls `between` (may be NULL) every 256 KiB, so that
 * transfers can go on meanwhile. Errors: -EIO; -ESTALE the file is shorter. */
MUST_CHECK int store_hash_file(int fd, uint64_t offset, uint64_t bytes, const struct store_hashes *hashes,
			       void (*between)(void *context), void *context, struct error *err);
