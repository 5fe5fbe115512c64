/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Follows redirects (3xx answers). A 307 may send a get to a presigned URL on another host (lakeFS), or to
 * AWS's endpoint of another region. A presigned URL is followed as it is, without Authorization; another
 * endpoint gets a new signature for its host. A redirect from https to http is never followed.
 *
 * The target of a redirect has ETags of its own: the ETag that the list gave means nothing there. So the ETag
 * of the first data answer is remembered by key, and later answers must have the same.
 */
#pragma once

#include "core/base/error.h"

#include <stddef.h>
#include <stdint.h>

struct s3_call;

struct s3_seen {
	struct s3_seen_etag {
		uint64_t key, etag; /* hashes; key 0 = free */
	} * slots;
	size_t size, used;
};

/* Returns HTTP_AGAIN: call->location or call->host tells where to go on; 0: the answer is no redirect;
 * negative: it may not be followed. */
int s3_redirect_follow(struct s3_call *call, struct error *err);
/* Compares the ETag of an answer behind a redirect with the first one of this key, or remembers it.
 * Errors: -ESTALE it is another one; -ENOMEM. */
MUST_CHECK int s3_seen_check(struct s3_call *call, const char *etag, struct error *err);
