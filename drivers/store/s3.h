/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The s3:// backend. Each file uses only files that stand below it in this list:
 *
 *     s3.c             opens, closes, the table of operations
 *     s3_request.c     ranged gets, several at once
 *     s3_hedge.c       a second request for a range that is slow
 *     s3_multipart.c   uploads in parts; s3_stale.c removes unfinished uploads
 *     s3_list.c        pages of keys
 *     s3_object.c      stat, whole gets, puts, delete
 *     s3_document.c    XML answers
 *     s3_call.c        one call: all attempts, redirects and retries
 *     s3_sign.c        URL and signature of an attempt
 *     s3_error.c, s3_redirect.c, s3_reply.c, s3_xml.c   parse and judge answers
 *     sigv4.c, credential.c   signatures and keys
 */
#pragma once

#include "drivers/store/s3_call.h"

/* ---- Operations; contracts in store.h ---- */

int s3_list(struct store *store, const char *glob,
	    int (*each)(void *context, const struct store_object *object), void *context, struct error *err);
int s3_list_versions(struct store *store, const char *glob,
		     int (*each)(void *context, const struct store_object *object), void *context,
		     struct error *err);
const char *s3_versions_refused(const struct store *store);
int s3_stat(struct store *store, const char *key, struct store_object *ret_object, struct error *err);
int s3_get_all(struct store *store, const char *key, uint64_t max, char **ret_data, uint64_t *ret_bytes,
	       struct error *err);
int s3_put(struct store *store, const char *key, const void *data, uint64_t bytes, bool only_new,
	   struct error *err);
int s3_put_file(struct store *store, const char *key, int fd, uint64_t bytes, uint8_t *ret_sha256,
		struct error *err);
int s3_delete(struct store *store, const char *key, struct error *err);
int s3_abort_stale(struct store *store, struct error *err);

/* The check() callback of a put: compares the ETag in the answer with the MD5 of the body. call->context
 * points to the MD5 as 32 hex digits and a NUL. Errors: -EIO the server stored other bytes; the put is then
 * tried again. */
int s3_check_put(struct s3_call *call, enum retry_class *retry, struct error *err);
