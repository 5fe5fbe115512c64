/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Posts JSON to one URL, for notifications. Any status 2xx is success; the body of the answer is not read.
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

/* Sends the POST. One attempt takes at most 30 s, and the call at most wait_ms and 30 s. The pauses between
 * attempts are random (http/retry.h), and never shorter than the server's Retry-After. Messages name only
 * scheme, host and port of the URL: the rest may be a secret, user and password as well as the path, so what
 * of it and of the token the server's answer repeats is hidden. Errors: -EACCES refused (401, 403), -ENOENT
 * (404), -EPERM another status 4xx that stays, -ENOKEY, -ETIMEDOUT, -EIO and the like. */
MUST_CHECK int webhook_post(const struct webhook *webhook, const char *body, uint64_t bytes,
			    struct error *err);
