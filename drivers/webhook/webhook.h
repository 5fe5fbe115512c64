/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A POST of JSON to one URL, for notifications. The only result is success, which is any status 2xx.
 * Redirects are not followed: the token is for one host. Threads: the caller's, which drives the transfer.
 */
#pragma once

#include "core/base/error.h"

#include <stdint.h>

struct webhook {
	const char *url;     /* http:// or https:// */
	const char *token;   /* "Authorization: Bearer", "" = none */
	const char *ca_file; /* "" = the system's */
	uint64_t wait_ms;    /* how long to try a server that is away or busy; 0 = one attempt */
};

/* Sends the POST. Blocks for about wait_ms and one attempt at most; the pauses between attempts have full
 * jitter (http/retry.h), and Retry-After is honoured. Messages name only scheme and host of the URL: the rest
 * may be a secret. Errors: -EACCES refused (401, 403), -ENOENT (404), -EIO and the like. */
MUST_CHECK int webhook_post(const struct webhook *webhook, const char *body, uint64_t bytes,
			    struct error *err);
