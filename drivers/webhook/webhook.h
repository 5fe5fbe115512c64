/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A POST of JSON to whoever wants to be told. Only whether it was taken comes back: any 2xx. Redirects are
 * not followed, for the token is one host's.
 */
#pragma once

#include "core/base/error.h"

#include <stdint.h>

struct webhook {
	const char *url;     /* http:// or https:// */
	const char *token;   /* "Authorization: Bearer", "" = none */
	const char *ca_file; /* "" = the system's */
	uint64_t wait_ms;    /* a server that is away, or busy, is tried so long; 0 = once */
};

/* Blocks for about wait_ms and one attempt at most; attempts are a full-jitter back-off apart (http/retry.h),
 * Retry-After is kept to. Messages name scheme and host: what is behind them may be meant for nobody else.
 * Errors: -EACCES refused (401, 403), -ENOENT (404), -EIO and the like. */
MUST_CHECK int webhook_post(const struct webhook *webhook, const char *body, uint64_t bytes,
			    struct error *err);
