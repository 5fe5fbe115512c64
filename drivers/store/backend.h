/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inside drivers/store: what a backend (file.c, s3.c) gives to store.c, and what both share.
 *
 * A backend embeds `struct store` first. Its submit() takes a request; its drive() moves requests on and
 * hands each finished one to store_complete(), which queues it for store_poll(). Everything else blocks.
 */
#pragma once

#include "drivers/store/store.h"

#include <stdatomic.h>
#include <stdbool.h>

#include <mbedtls/sha256.h>

struct store_ops {
	void (*close)(struct store *store);
	int (*list)(struct store *store, const char *glob,
		    int (*each)(void *context, const struct store_object *object), void *context,
		    struct error *err);
	int (*stat)(struct store *store, const char *key, struct store_object *ret_object, struct error *err);
	int (*get_all)(struct store *store, const char *key, uint64_t max, char **ret_data,
		       uint64_t *ret_bytes, struct error *err);
	/* `only_new`: -EEXIST where there is one. */
	int (*put)(struct store *store, const char *key, const void *data, uint64_t bytes, bool only_new,
		   struct error *err);
	/* `fd` is open at a file of `bytes` bytes; *ret_sha256 may be NULL. */
	int (*put_file)(struct store *store, const char *key, int fd, uint64_t bytes, uint8_t *ret_sha256,
			struct error *err);
	int (*abort_stale)(struct store *store, struct error *err);
	int (*delete)(struct store *store, const char *key, struct error *err);
	int (*submit)(struct store *store, struct store_request *request, struct error *err);
	/* Until a request was completed (`until`, or any when that is NULL), store_wake() was called, or time
	 * is over. */
	int (*drive)(struct store *store, uint32_t timeout_ms, const struct store_request *until,
		     struct error *err);
	void (*wake)(struct store *store);
	/* One that is in flight: the backend forgets it. */
	void (*cancel)(struct store *store, struct store_request *request);
	void (*cancel_all)(struct store *store);
	struct store_counters (*counters)(const struct store *store);
};

struct store {
	const struct store_ops *ops;
	char *url;
	struct store_options options; /* without zeros: defaults are filled in */
	struct store_request *done, *done_last;
};

int store_file_open(const struct config_store *where, const struct store_options *options,
		    struct store **ret_store, struct error *err);
int store_s3_open(const struct config_store *where, const struct store_options *options,
		  struct store **ret_store, struct error *err);

/* A blocking call goes on: say so to whom it matters. */
void store_awake(const struct store *store);

/* Store the result and queue the request for store_poll(). */
void store_complete(struct store *store, struct store_request *request, int result);

/* Bytes of a glob before its first special character: what every matching key begins with. */
size_t store_glob_literal(const char *glob);
bool store_glob_matches(const char *glob, const char *key);

/* A key as it may stand in a sentence: control characters become \xNN. */
#define STORE_KEY_TEXT (4u * STORE_KEY_MAX + 1)
const char *store_key_text(const char *key, char out[static STORE_KEY_TEXT]);

/* What a stretch of a file is hashed into; each may be NULL. */
struct store_hashes {
	mbedtls_sha256_context *whole; /* goes on with these bytes */
	uint8_t *ret_sha256, *ret_md5;
};

/* `bytes` bytes of a file from `offset`. `between` (or NULL) is called every 256 KiB, so that others may go
 * on. Errors: -EIO; -ESTALE the file ends before. */
MUST_CHECK int store_hash_file(int fd, uint64_t offset, uint64_t bytes, const struct store_hashes *hashes,
			       void (*between)(void *context), void *context, struct error *err);
