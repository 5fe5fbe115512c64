/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Posts JSON to one URL, for notifications. Any status 2xx is success; the body of the answer is ignored.
 * Redirects are not followed: the token is for one host. Threads: none; the caller's thread drives the
 * transfer. Owns: the strings and the body belong to the caller, and stay valid during the call. Crash:
 * nothing is stored; the server may have received the POST or not.
 */
#pragma once

#include "core/base/error.h"

#include <stdint.h>

struct webhook {
	const char *url;     /* http:// or https:// */
	const char *token;   /* token to send as "Authorization: Bearer TOKEN"; "" = none */
	const char *ca_file; /* "" = the certificate authorities of the system */
	/* how long to try again where the server gives no answer or is busy; 0 = one attempt only */
	uint64_t wait_ms;
};

/* Sends the POST. Blocks for at most wait_ms plus the time of one attempt. The pauses between attempts are
 * random (http/retry.h), and never shorter than the server's Retry-After. Messages name only scheme and host
 * of the URL: the rest may be a secret, so what of it and of the token the server's answer repeats is hidden.
 * Errors: -EACCES refused (401, 403), -ENOENT (404), -ENOKEY, -EIO and the
 * like.
 */
MUST_CHECK int webhook_post(const struct webhook *webhook, const char *body, uint64_t bytes,
			    struct error *err);
