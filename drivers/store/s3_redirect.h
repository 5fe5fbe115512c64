/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decides where a call is sent next after a 3xx answer. A 307 may send a get to a presigned URL on another
 * host (lakeFS), or to AWS's endpoint of another region. A presigned URL is used unchanged, without an
 * Authorization header; for another endpoint the request is signed anew. A redirect from https to http is
 * never followed. A request that writes follows a redirect only on its own host, or to AWS's other endpoint:
 * what a run made is sent to no host but the store's.
 *
 * The host to which a redirect leads may have other ETags than the store's list has. So the ETag of the first
 * answer for a key is remembered, and later answers for this key must have the same ETag.
 */
#pragma once

#include "core/base/error.h"

#include <stddef.h>
#include <stdint.h>

struct s3_call;

struct s3_seen {
	struct s3_seen_etag {
		uint64_t key, etag; /* hashes of the key and of its ETag; key 0 = free slot */
	} * slots;
	size_t size, used;
};

/* Returns HTTP_AGAIN where call->location or call->host says where to send the call next; 0 where the answer
 * is not a redirect. Errors: -EBADMSG the redirect makes no sense; -ENONET it leads a write to another host.
 */
int s3_redirect_follow(struct s3_call *call, struct error *err);
/* Compares the ETag of an answer that came after a redirect with the first such ETag of this key, or
 * remembers it as the first. Errors: -ESTALE the ETags differ; -ENOMEM. */
MUST_CHECK int s3_seen_check(struct s3_call *call, const char *etag, struct error *err);
